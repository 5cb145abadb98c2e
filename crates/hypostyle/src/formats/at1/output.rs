//! What decoders write to: counted, hashed, and stopped at the limit.

use std::io::Write;

use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// Bytes that are collected before they are handed on.
const BUFFER: usize = 1 << 20;

/// The unpacked bytes on their way out.
pub(super) struct Output<'a> {
    out: &'a mut dyn Write,
    hash: Option<Sha256>,
    buffer: Vec<u8>,
    written: u64,
    limit: u64,
}

impl<'a> Output<'a> {
    /// Hashes only if there is a hash to compare with.
    pub(super) fn new(out: &'a mut dyn Write, hashed: bool, limits: &Limits) -> Self {
        Self {
            out,
            hash: hashed.then(Sha256::new),
            buffer: Vec::with_capacity(BUFFER + (64 << 10)),
            written: 0,
            limit: limits.output_bytes,
        }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.written.saturating_add(self.buffer.len() as u64)
    }

    /// Adds bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Adds one byte.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) -> Result<()> {
        self.buffer.push(byte);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// A buffer to append to directly; [`Output::settle`] must follow now and then.
    #[inline]
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Hands on what has been collected, if it is much.
    #[inline]
    pub(super) fn settle(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.written = self.written.saturating_add(self.buffer.len() as u64);
        if self.written > self.limit {
            let (what, asked, limit) = ("unpacked size", self.written, self.limit);
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        if let Some(hash) = &mut self.hash {
            hash.update(&self.buffer);
        }
        self.out.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the output and compares the hash; gives the number of bytes.
    pub(super) fn finish(mut self, expected: Option<&[u8; 32]>) -> Result<u64> {
        self.flush()?;
        if let (Some(hash), Some(expected)) = (self.hash, expected)
            && hash.finalize().as_slice() != expected
        {
            return Err(Error::malformed(
                "trailer",
                "the hash of the unpacked bytes does not agree",
            ));
        }
        self.out.flush()?;
        Ok(self.written)
    }
}
