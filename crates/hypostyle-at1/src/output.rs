//! The output of decoders: counts and hashes bytes, and enforces the output limit.

use std::io::Write;

use sha2::{Digest, Sha256};

use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;

/// Bytes that are collected before they are written.
const BUFFER: usize = 1 << 20;
/// Runs of at least so many bytes are written without a copy into the buffer.
const LONG_RUN: usize = 1 << 16;

/// A buffered writer of decoded bytes.
pub(super) struct Output<'a> {
    out: &'a mut dyn Write,
    hash: Option<Sha256>,
    buffer: Vec<u8>,
    written: u64,
    limit: u64,
}

impl<'a> Output<'a> {
    /// Returns an output that is hashed if there is a hash to compare with.
    pub(super) fn new(out: &'a mut dyn Write, hashed: bool, limits: &Limits) -> Self {
        Self {
            out,
            hash: hashed.then(Sha256::new),
            buffer: Vec::with_capacity(BUFFER + (64 << 10)),
            written: 0,
            limit: limits.output_bytes,
        }
    }

    /// The number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.written.saturating_add(self.buffer.len() as u64)
    }

    /// Fails if `more` bytes would exceed the limit.
    ///
    /// Must be called before a run whose length the file only states.
    pub(super) fn reserve(&self, more: u64) -> Result<()> {
        let (what, asked, limit) = ("unpacked size", self.len().saturating_add(more), self.limit);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Writes bytes.
    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.len() >= LONG_RUN {
            return self.put_long(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes one byte.
    #[inline]
    pub(super) fn byte(&mut self, byte: u8) -> Result<()> {
        self.buffer.push(byte);
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Returns the buffer to append to it directly; callers must call
    /// [`Output::flush_if_full`] regularly.
    #[inline]
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Writes the buffer out if it is full.
    #[inline]
    pub(super) fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    /// Writes a long run without a copy.
    fn put_long(&mut self, bytes: &[u8]) -> Result<()> {
        self.flush()?;
        self.write_out(bytes)
    }

    fn flush(&mut self) -> Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let written = self.write_out(&buffer);
        buffer.clear();
        self.buffer = buffer;
        written
    }

    fn write_out(&mut self, bytes: &[u8]) -> Result<()> {
        self.written = self.written.saturating_add(bytes.len() as u64);
        if self.written > self.limit {
            let (what, asked, limit) = ("unpacked size", self.written, self.limit);
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        if let Some(hash) = &mut self.hash {
            hash.update(bytes);
        }
        self.out.write_all(bytes)?;
        Ok(())
    }

    /// Writes the buffer out and compares the hash; returns the number of bytes.
    pub(super) fn finish(mut self, expected: Option<&[u8; 32]>) -> Result<u64> {
        self.flush()?;
        if let (Some(hash), Some(expected)) = (self.hash, expected)
            && hash.finalize().as_slice() != expected
        {
            return Err(Error::malformed(
                "trailer",
                "the hash of the unpacked bytes does not match",
            ));
        }
        self.out.flush()?;
        Ok(self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(limit: u64, work: impl FnOnce(&mut Output<'_>) -> Result<()>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limits = Limits::default().with_output_bytes(limit);
        let mut out = Output::new(&mut bytes, false, &limits);
        work(&mut out)?;
        assert_eq!(out.len(), out.finish(None)?);
        Ok(bytes)
    }

    #[test]
    fn long_and_short_runs_keep_their_order() {
        let long = vec![b'x'; 3 * BUFFER];
        let written = limited(u64::MAX, |out| {
            out.put(b"<")?;
            out.put(&long)?;
            out.byte(b'>')?;
            out.put(&long)
        });
        let written = written.unwrap();
        assert_eq!(written.len(), 2 * long.len() + 2);
        let odd: Vec<usize> = (0..written.len()).filter(|&at| written[at] != b'x').collect();
        assert_eq!(odd, [0, long.len() + 1]);
    }

    #[test]
    fn the_limit_holds_for_runs_of_any_length() {
        for len in [1, 100, BUFFER - 1, BUFFER, BUFFER + 1, 3 * BUFFER] {
            let run = vec![0; len];
            assert!(limited(len as u64, |out| out.put(&run)).is_ok());
            assert!(limited(len as u64 - 1, |out| out.put(&run)).is_err());
        }
    }

    #[test]
    fn what_is_reserved_counts_what_is_written() {
        let asked = |more| {
            let put = limited(100, |out| {
                out.put(&[0; 60])?;
                out.reserve(more)
            });
            put.is_ok()
        };
        assert!(asked(0) && asked(40));
        assert!(!asked(41) && !asked(u64::MAX));
    }
}
