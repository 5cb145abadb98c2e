//! Compresses `.xz` streams whose blocks each have their own settings.
//!
//! A block is LZMA2 data after a header that names its filters. Callers compress
//! blocks one by one, in any order and on any thread, and [`stream`] joins them.
//! Most streams carry no check values: the archives that use them store their own hash. The
//! blocks of a [`checked_stream`] can be verified one by one.

use super::encoder::{Encoder, Options, refused};
use super::index::{MAGIC, index_and_footer};
use crate::error::Result;
use crate::wire::{crc32, put};

/// The filter id of delta.
const DELTA: u8 = 0x03;
/// The filter id of LZMA2.
const LZMA2: u8 = 0x21;

/// Bytes that are compressed between two calls of `go_on`.
const STEP_BYTES: usize = 256 << 10;

/// Bytes that the encoder writes at once.
const OUTPUT_BUFFER_BYTES: usize = 16 << 10;

/// The LZMA2 settings of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Literal context bits: high bits of the previous byte; `lc + lp` is at most 4.
    pub lc: u8,
    /// Literal position bits.
    pub lp: u8,
    /// Position bits, for everything but literals.
    pub pb: u8,
    /// Distance of the delta filter in bytes; 0 for no delta filter.
    pub delta: u8,
    /// How hard the encoder searches for matches.
    pub effort: Effort,
}

/// How hard the encoder searches for matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// Hash chains and greedy matches: a few times faster, about a tenth larger.
    Rough,
    /// A binary tree with a nice length of 32 bytes; for estimates.
    Quick,
    /// A binary tree with the longest nice length.
    Full,
    /// The same with a deeper search, as `xz -9e` does.
    Extreme,
}

impl Tuning {
    /// The settings of `xz -9e`, except for the size of the dictionary.
    pub const XZ_9E: Self = Self { lc: 3, lp: 0, pb: 2, delta: 0, effort: Effort::Extreme };

    /// Settings for bytes that do not depend on their position.
    pub const fn flat(lc: u8) -> Self {
        Self { lc, lp: 0, pb: 0, delta: 0, effort: Effort::Full }
    }

    /// Settings for values of two bytes.
    pub const fn pairs(lc: u8) -> Self {
        Self { lc, lp: 1, pb: 1, delta: 0, effort: Effort::Full }
    }

    /// Sets [`Tuning::effort`].
    #[must_use]
    pub const fn with_effort(mut self, effort: Effort) -> Self {
        self.effort = effort;
        self
    }

    fn options(self, dictionary: u32) -> Options {
        let (nice_len, depth) = match self.effort {
            Effort::Rough => (64, 24),
            Effort::Quick => (32, 0),
            Effort::Full => (273, 0),
            Effort::Extreme => (273, 512),
        };
        Options {
            dictionary,
            lc: self.lc.into(),
            lp: self.lp.into(),
            pb: self.pb.into(),
            is_fast: self.effort == Effort::Rough,
            nice_len,
            depth,
            delta: self.delta.into(),
        }
    }
}

/// A compressed block.
#[derive(Clone, Debug)]
pub struct Block {
    delta: u8,
    dictionary: u8,
    data: Vec<u8>,
    raw: u64,
    /// The CRC-32 of the content.
    crc: u32,
}

/// The kind of check that follows the data of each block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Check {
    None,
    Crc32,
}

impl Check {
    /// Returns the flags of a stream with this check.
    fn flags(self) -> [u8; 2] {
        match self {
            Self::None => [0, 0],
            Self::Crc32 => [0, 1],
        }
    }

    /// Returns the bytes of a check.
    fn len(self) -> usize {
        match self {
            Self::None => 0,
            Self::Crc32 => 4,
        }
    }
}

impl Block {
    /// Compresses `raw`.
    pub fn new(raw: &[u8], tuning: Tuning) -> Result<Self> {
        Self::new_while(raw, tuning, |_| true)?.ok_or_else(refused)
    }

    /// Compresses `raw`; returns `None` if `go_on`, given the bytes written so far, returned
    /// false before the end.
    pub fn new_while(
        raw: &[u8],
        tuning: Tuning,
        go_on: impl Fn(usize) -> bool,
    ) -> Result<Option<Self>> {
        let dictionary = dictionary_for(raw.len());
        // The header declares a rounded size; the encoder needs only as much as the input.
        let size = dictionary_size(dictionary).min(u32::try_from(raw.len()).unwrap_or(u32::MAX));
        let mut encoder = Encoder::raw(&tuning.options(size.max(dictionary_size(0))))?;
        let mut data = Vec::with_capacity(raw.len() / 4 + 64);
        let mut buffer = [0; OUTPUT_BUFFER_BYTES];
        let (mut steps, mut step) = (raw.chunks(STEP_BYTES), &[][..]);
        loop {
            if step.is_empty() {
                if !go_on(data.len()) {
                    return Ok(None);
                }
                step = steps.next().unwrap_or_default();
            }
            let progress = encoder.encode(step, &mut buffer, steps.len() == 0)?;
            step = step.get(progress.consumed..).unwrap_or_default();
            data.extend_from_slice(buffer.get(..progress.written).unwrap_or_default());
            if progress.is_finished {
                break;
            }
        }
        data.shrink_to_fit();
        let (delta, crc) = (tuning.delta, crc32(raw));
        Ok(Some(Self { delta, dictionary, data, raw: raw.len() as u64, crc }))
    }

    /// Stores `raw` uncompressed, for data that does not compress.
    pub fn stored(raw: &[u8]) -> Self {
        /// Bytes that an LZMA2 chunk holds at most.
        const CHUNK_BYTES: usize = 64 << 10;
        /// Control byte of an uncompressed chunk that resets the dictionary.
        const FIRST: u8 = 1;
        /// Control byte of an uncompressed chunk that does not.
        const NEXT: u8 = 2;
        let chunks = raw.len().div_ceil(CHUNK_BYTES);
        let mut data = Vec::with_capacity(raw.len() + 3 * chunks + 1);
        for (index, chunk) in raw.chunks(CHUNK_BYTES).enumerate() {
            data.push(if index == 0 { FIRST } else { NEXT });
            data.extend_from_slice(&u16::try_from(chunk.len() - 1).unwrap_or(0).to_be_bytes());
            data.extend_from_slice(chunk);
        }
        data.push(0);
        Self { delta: 0, dictionary: 0, data, raw: raw.len() as u64, crc: crc32(raw) }
    }

    /// Returns the bytes that the block adds to a stream without checks, its index record
    /// included.
    pub fn cost(&self) -> usize {
        let mut record = Vec::new();
        let (unpadded, raw) = self.sizes(Check::None);
        put::uv(&mut record, unpadded);
        put::uv(&mut record, raw);
        (self.header().len() + self.data.len()).next_multiple_of(4) + record.len()
    }

    /// Returns the unpadded and the uncompressed size, as the index stores them.
    fn sizes(&self, check: Check) -> (u64, u64) {
        ((self.header().len() + self.data.len() + check.len()) as u64, self.raw)
    }

    fn header(&self) -> Vec<u8> {
        let mut header = vec![0, 0];
        if let Some(distance) = self.delta.checked_sub(1) {
            header.extend_from_slice(&[DELTA, 1, distance]);
        }
        let filters = (header.len() - 2) / 3;
        header.extend_from_slice(&[LZMA2, 1, self.dictionary]);
        header.resize(header.len().next_multiple_of(4), 0);
        let words = u8::try_from(header.len() / 4).unwrap_or_default();
        for (slot, byte) in header.iter_mut().zip([words, u8::try_from(filters).unwrap_or(0)]) {
            *slot = byte;
        }
        let crc = crc32(&header);
        header.extend_from_slice(&crc.to_le_bytes());
        header
    }
}

/// Joins blocks into one stream without checks, in the order given.
pub fn stream<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<u8> {
    joined(blocks, Check::None)
}

/// Joins blocks into one stream in which each has a CRC-32, in the order given.
pub fn checked_stream<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<u8> {
    joined(blocks, Check::Crc32)
}

fn joined<'a>(blocks: impl IntoIterator<Item = &'a Block>, check: Check) -> Vec<u8> {
    let flags = check.flags();
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&flags);
    out.extend_from_slice(&crc32(&flags).to_le_bytes());
    let mut sizes = Vec::new();
    for block in blocks {
        out.extend_from_slice(&block.header());
        out.extend_from_slice(&block.data);
        // The padding comes before the check, and the check is a multiple of 4 bytes.
        out.resize(out.len().next_multiple_of(4), 0);
        if check == Check::Crc32 {
            out.extend_from_slice(&block.crc.to_le_bytes());
        }
        sizes.push(block.sizes(check));
    }
    out.extend_from_slice(&index_and_footer(&sizes, &flags));
    out
}

/// Compresses `raw` as a stream of one block.
pub fn compress(raw: &[u8], tuning: Tuning) -> Result<Vec<u8>> {
    compress_while(raw, tuning, |_| true)?.ok_or_else(refused)
}

/// Compresses `raw` as a stream of one block; returns `None` if `go_on`, given the bytes
/// written so far, returned false before the end.
pub fn compress_while(
    raw: &[u8],
    tuning: Tuning,
    go_on: impl Fn(usize) -> bool,
) -> Result<Option<Vec<u8>>> {
    match raw {
        [] => Ok(Some(stream([]))),
        _ => Ok(Block::new_while(raw, tuning, go_on)?.map(|block| stream([&block]))),
    }
}

/// Compresses `raw` as `xz` does with this preset, CRC-64 included.
pub fn compress_preset(raw: &[u8], preset: u32) -> Result<Vec<u8>> {
    let mut encoder = Encoder::preset(preset)?;
    let (mut rest, mut stream, mut buffer) = (raw, Vec::new(), [0; OUTPUT_BUFFER_BYTES]);
    loop {
        let progress = encoder.encode(rest, &mut buffer, true)?;
        rest = rest.get(progress.consumed..).unwrap_or_default();
        stream.extend_from_slice(buffer.get(..progress.written).unwrap_or_default());
        if progress.is_finished {
            return Ok(stream);
        }
    }
}

/// Returns the LZMA2 code of the smallest dictionary that holds `len` bytes, up to
/// 128 MiB.
fn dictionary_for(len: usize) -> u8 {
    (0..=40).find(|&code| dictionary_size(code) as usize >= len).unwrap_or(40).min(30)
}

/// Returns the dictionary size of an LZMA2 code: 4 KiB, 6 KiB, 8 KiB, 12 KiB, ...
fn dictionary_size(code: u8) -> u32 {
    (2 | u32::from(code & 1)).checked_shl(u32::from(code / 2) + 11).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{Blocks, decompress};
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn streams_of_differently_tuned_blocks_decompress() {
        let parts: Vec<Vec<u8>> = [0_usize, 1, 2000, 100_000, 3_000_000]
            .iter()
            .map(|&len| (0..len).map(|i| u8::try_from(i / 3 * i % 251).unwrap()).collect())
            .collect();
        let delta = Tuning { delta: 4, ..Tuning::flat(1) };
        let quick = Tuning::flat(3).with_effort(Effort::Quick);
        let tunings = [Tuning::XZ_9E, Tuning::flat(4), Tuning::pairs(2), delta, quick];
        let blocks: Vec<Block> = parts
            .iter()
            .zip(tunings)
            .map(|(part, tuning)| Block::new(part, tuning).unwrap())
            .chain([Block::stored(parts.last().unwrap())])
            .collect();
        let file = stream(&blocks);
        let costs: usize = blocks.iter().map(Block::cost).sum();
        assert!((file.len() - costs) <= 12 + 2 + 3 + 4 + 12);
        let all: Vec<u8> = [parts.concat(), parts.last().unwrap().clone()].concat();
        for threads in [1, 2] {
            let (got, used) = decompress(&file, &Limits::default(), threads).unwrap();
            assert!(got == all);
            assert_eq!(used, file.len());
        }
        assert_eq!(Blocks::find(&file).unwrap().len(), 6);
        let checked = checked_stream(&blocks);
        assert_eq!(checked.len(), file.len() + 4 * blocks.len());
        for threads in [1, 2] {
            assert!(decompress(&checked, &Limits::default(), threads).unwrap().0 == all);
        }
        // The last block is stored, so that only the check reveals a flipped bit.
        let mut damaged = checked;
        let at = damaged.len() - 1000;
        damaged[at] ^= 1;
        assert!(Blocks::find(&damaged).unwrap().decompress(5, &Limits::default()).is_err());
        let empty = compress(&[], Tuning::XZ_9E).unwrap();
        assert!(decompress(&empty, &Limits::default(), 1).unwrap().0.is_empty());
    }

    #[test]
    fn dictionaries_hold_what_they_must() {
        assert_eq!(dictionary_for(0), 0);
        assert_eq!(dictionary_for(4096), 0);
        assert_eq!(dictionary_size(dictionary_for(4097)), 6144);
        assert_eq!(dictionary_size(dictionary_for(1 << 20)), 1 << 20);
        assert_eq!(dictionary_size(dictionary_for(usize::MAX)), 128 << 20);
    }
}
