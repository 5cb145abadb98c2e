//! Decompression piece by piece, for blocks that are larger than the memory for them.

use std::fmt;

use zlib_rs::{Inflate, InflateFlush, Status};

use super::{WHAT, check_start};
use crate::error::{Error, Result};

/// Decompresses one zlib stream piece by piece.
///
/// It takes a bounded amount of memory, some 48 KB. [`decompress`](super::decompress) is
/// faster for a stream that fits in memory. Both fail with the same errors, but this one
/// finds only the damage in the part that it has read; the checksum is the last part.
pub struct Inflater {
    inflate: Inflate,
    declared: u64,
    is_complete: bool,
}

/// The progress of one call of [`Inflater::inflate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inflated {
    /// Bytes that were read from the front of the input.
    pub read: usize,
    /// Bytes that were written to the front of the output.
    pub written: usize,
}

impl Inflater {
    /// Returns a decompressor of a stream that claims to become `declared` bytes.
    pub fn new(declared: u64) -> Self {
        Self { inflate: Inflate::new(true, 15), declared, is_complete: false }
    }

    /// Returns the number of compressed bytes that were read.
    pub fn total_in(&self) -> u64 {
        self.inflate.total_in()
    }

    /// Returns the number of decompressed bytes so far.
    pub fn total_out(&self) -> u64 {
        self.inflate.total_out()
    }

    /// Decompresses the next bytes, as many as fit in `out`.
    ///
    /// `input` starts with the first byte that was not read before. The first call takes
    /// the whole stream or at least six bytes of it. `is_last` means that no bytes follow
    /// `input`.
    ///
    /// # Errors
    ///
    /// Fails if the stream is damaged, or ends before the declared number of bytes.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8], is_last: bool) -> Result<Inflated> {
        if self.total_in() == 0 {
            check_start(input)?;
        }
        let progress = self.step(input, out)?;
        if self.is_complete && self.total_out() < self.declared {
            let written = self.total_out();
            let why =
                format!("decompresses to {written} bytes, but {} are declared", self.declared);
            return Err(Error::malformed(WHAT, why));
        }
        if progress.written == 0 && !out.is_empty() && is_last && progress.read == input.len() {
            return Err(self.ends_early());
        }
        Ok(progress)
    }

    /// Reads the rest of the stream after the last byte: the checksum. Returns whether the
    /// end was reached, and how many bytes were read.
    ///
    /// # Errors
    ///
    /// Fails if more data follows, if the checksum does not agree, and if the stream ends
    /// before it.
    pub fn finish(&mut self, input: &[u8], is_last: bool) -> Result<(bool, usize)> {
        if self.is_complete {
            return Ok((true, 0));
        }
        if self.total_in() == 0 {
            check_start(input)?;
        }
        let mut spill = [0; 1];
        let Inflated { read, .. } = self.step(input, &mut spill)?;
        if !self.is_complete && is_last && read == input.len() {
            return Err(self.ends_early());
        }
        Ok((self.is_complete, read))
    }

    fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<Inflated> {
        let (before_in, before_out) = (self.total_in(), self.total_out());
        let status = self.inflate.decompress(input, out, InflateFlush::NoFlush);
        match status {
            _ if self.total_out() > self.declared => {
                let why = format!("decompresses to more than the {} bytes declared", self.declared);
                return Err(Error::malformed(WHAT, why));
            }
            Ok(Status::StreamEnd) => self.is_complete = true,
            Ok(_) => {}
            Err(_) if self.total_out() == self.declared => {
                return Err(Error::malformed(WHAT, "is damaged: the checksum does not agree"));
            }
            Err(_) => {
                let why = format!("is damaged after {} bytes of data", self.total_out());
                return Err(Error::malformed(WHAT, why));
            }
        }
        let count = |total: u64, before: u64| usize::try_from(total - before).unwrap_or(usize::MAX);
        Ok(Inflated {
            read: count(self.total_in(), before_in),
            written: count(self.total_out(), before_out),
        })
    }

    fn ends_early(&self) -> Error {
        Error::malformed(WHAT, format!("ends early, after {} bytes of data", self.total_out()))
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inflate, declared, is_complete } = self;
        f.debug_struct("Inflater")
            .field("total_in", &inflate.total_in())
            .field("total_out", &inflate.total_out())
            .field("declared", declared)
            .field("is_complete", is_complete)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Care, compress, decompress};
    use super::*;

    /// Inflates with pieces of input and output of these sizes.
    fn in_pieces(block: &[u8], raw: usize, input: usize, output: usize) -> Result<(Vec<u8>, u64)> {
        let mut inflater = Inflater::new(raw as u64);
        let (mut out, mut at) = (Vec::new(), 0);
        let end = |at: usize| block.len().min((at + input).max(6));
        while out.len() < raw {
            let mut buffer = vec![0; output.min(raw - out.len())];
            let to = end(at);
            let Inflated { read, written } =
                inflater.inflate(&block[at..to], &mut buffer, to == block.len())?;
            at += read;
            out.extend_from_slice(&buffer[..written]);
        }
        loop {
            let to = end(at);
            let (done, read) = inflater.finish(&block[at..to], to == block.len())?;
            at += read;
            if done {
                return Ok((out, inflater.total_in()));
            }
        }
    }

    fn agrees(block: &[u8], raw: usize) {
        let mut whole = vec![0; raw];
        let want = decompress(block, &mut whole, Care::Thorough);
        for (input, output) in [(6, 1), (7, 100), (100, 7), (5000, 5000)] {
            let got = in_pieces(block, raw, input, output);
            match (&want, got) {
                (Ok(used), Ok((bytes, total_in))) => {
                    assert_eq!((bytes, total_in), (whole.clone(), *used as u64));
                }
                (Err(want), Err(got)) => assert_eq!(want.to_string(), got.to_string()),
                (want, got) => panic!("{want:?} {got:?}"),
            }
        }
    }

    #[test]
    fn pieces_give_what_the_whole_gives_and_fail_as_it_does() {
        let raw: Vec<u8> = (0..900_u32).flat_map(|i| (i * i % 997).to_le_bytes()).collect();
        let block = compress(&raw, 6).unwrap();
        agrees(&block, raw.len());
        agrees(&compress(b"", 6).unwrap(), 0);
        agrees(&[&block[..], b"JUNK"].concat(), raw.len());
        for size in [0, 1, raw.len() - 1, raw.len() + 1, raw.len() * 2] {
            agrees(&block, size);
        }
        for cut in 0..block.len() {
            agrees(&block[..cut], raw.len());
        }
        for at in 0..block.len() {
            let mut bad = block.clone();
            bad[at] ^= 1 << (at % 8);
            agrees(&bad, raw.len());
        }
    }
}
