//! Decodes `.xz` streams with liblzma.

use liblzma::stream::{
    Action, Error as LzmaError, IGNORE_CHECK, Status, Stream, TELL_UNSUPPORTED_CHECK,
};

use super::limit::{WHAT, check_limit, dictionary_too_large};
use crate::compress::capacity::initial_capacity;
use crate::error::{Error, Result};
use crate::limits::Limits;

/// Memory that a decoder may use: enough for the dictionary of preset 9 and more.
const DECODER_MEMORY: u64 = 2 << 30;

/// Decodes one stream, given in parts, and returns its content and its length.
///
/// `raw` is the length that the content claims to have, or more. Bytes after the stream are
/// ignored. Without `verifies`, the caller verifies the checksums of blocks.
pub(super) fn decode_stream(
    parts: &[&[u8]],
    raw: u64,
    limits: &Limits,
    verifies: bool,
) -> Result<(Vec<u8>, usize)> {
    let stored = parts.iter().map(|part| part.len()).sum();
    let check = if verifies { TELL_UNSUPPORTED_CHECK } else { IGNORE_CHECK };
    let mut decoder = Decoder::new(limits, raw, stored, check)?;
    for part in parts {
        decoder.feed(part)?;
    }
    let used = usize::try_from(decoder.stream.total_in()).unwrap_or(stored);
    Ok((decoder.finish()?, used))
}

/// Decodes the first `len` bytes; see [`super::decompress_start`].
pub(super) fn decode_start(stream: &[u8], len: usize, limits: &Limits) -> Result<(Vec<u8>, usize)> {
    let mut decoder = Decoder::new(limits, len as u64, stream.len(), TELL_UNSUPPORTED_CHECK)?;
    let mut used = 0_usize;
    while decoder.out.len() < len
        && !decoder.ended
        && let Some(rest) = stream.get(used..).filter(|rest| !rest.is_empty())
    {
        decoder.step(rest)?;
        used = usize::try_from(decoder.stream.total_in()).unwrap_or(stream.len());
    }
    Ok((decoder.out, used))
}

/// A liblzma decoder whose output stays within the limits.
struct Decoder<'a> {
    stream: Stream,
    out: Vec<u8>,
    limits: &'a Limits,
    ended: bool,
}

impl<'a> Decoder<'a> {
    /// Returns a decoder that checks as `check` says: without [`TELL_UNSUPPORTED_CHECK`], liblzma
    /// skips a kind of check that it does not support.
    fn new(limits: &'a Limits, raw: u64, stored: usize, check: u32) -> Result<Self> {
        let stream = Stream::new_stream_decoder(DECODER_MEMORY, check)
            .map_err(|_| Error::malformed(WHAT, "cannot be decompressed: out of memory"))?;
        let claimed = usize::try_from(raw.min(limits.block_bytes)).unwrap_or(usize::MAX);
        Ok(Self {
            stream,
            out: Vec::with_capacity(initial_capacity(stored, claimed)),
            limits,
            ended: false,
        })
    }

    /// Decompresses `input`, up to the end of the stream.
    fn feed(&mut self, mut input: &[u8]) -> Result<()> {
        while !input.is_empty() && !self.ended {
            let used = self.step(input)?;
            input = input.get(used..).unwrap_or_default();
        }
        Ok(())
    }

    /// Decompresses a part of `input`; returns how long it is.
    fn step(&mut self, input: &[u8]) -> Result<usize> {
        self.reserve()?;
        let (before_in, before_out) = (self.stream.total_in(), self.out.len());
        let status = self.stream.process_vec(input, &mut self.out, Action::Run);
        let used = usize::try_from(self.stream.total_in() - before_in).unwrap_or(input.len());
        match status {
            Ok(Status::StreamEnd) => self.ended = true,
            Ok(_) if used == 0 && self.out.len() == before_out => {
                return Err(Error::malformed(WHAT, "is damaged: the decoder makes no progress"));
            }
            Ok(_) => {}
            Err(LzmaError::UnsupportedCheck) => {
                return Err(Error::unsupported("an xz stream with an unknown kind of check"));
            }
            Err(LzmaError::MemLimit) => return Err(dictionary_too_large()),
            Err(err) => {
                let why = format!("is damaged after {} bytes of data: {err}", self.out.len());
                return Err(Error::malformed(WHAT, why));
            }
        }
        Ok(used)
    }

    /// Reserves output space if none is left, within the limits.
    fn reserve(&mut self) -> Result<()> {
        if self.out.len() < self.out.capacity() {
            return Ok(());
        }
        check_limit((self.out.len() as u64).saturating_add(1), self.limits)?;
        let limit = usize::try_from(self.limits.block_bytes).unwrap_or(usize::MAX);
        let more = self.out.len().max(1 << 16).min(limit - self.out.len());
        self.out.reserve_exact(more);
        Ok(())
    }

    /// Returns the output; fails unless the stream has ended.
    fn finish(mut self) -> Result<Vec<u8>> {
        if !self.ended {
            // The decoder may have consumed all input without having reported the end yet.
            self.reserve()?;
            self.ended = matches!(
                self.stream.process_vec(&[], &mut self.out, Action::Finish),
                Ok(Status::StreamEnd)
            );
        }
        if !self.ended {
            let why = format!("is cut off after {} bytes of data", self.out.len());
            return Err(Error::malformed(WHAT, why));
        }
        Ok(self.out)
    }
}
