//! `.xz` streams of blocks that are each compressed in their own way.
//!
//! A block is LZMA2 data behind a header that names its filters. Blocks are made
//! one by one, in any order and on any thread, and [`stream`] puts them into one
//! stream. No checks are written: who uses these streams has a hash of his own.

use super::encoder::{Encoder, Options, refused};
use super::{MAGIC, tail_for};
use crate::error::Result;
use crate::wire::put;

/// The id of the delta filter, and of LZMA2.
const DELTA: u8 = 0x03;
const LZMA2: u8 = 0x21;

/// Bytes that are compressed between two looks at whether to go on.
const STEP: usize = 256 << 10;

/// Bytes that the encoder writes at once.
const OUTPUT_BUFFER: usize = 16 << 10;

/// How a block is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuning {
    /// Bits of the byte before that literals depend on; with `lp` at most 4.
    pub lc: u8,
    /// Bits of the position that literals depend on.
    pub lp: u8,
    /// Bits of the position that everything else depends on.
    pub pb: u8,
    /// Bytes between those that are subtracted from each other; 0 for none.
    pub delta: u8,
    /// How hard matches are searched for.
    pub effort: Effort,
}

/// How hard matches are searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Effort {
    /// Chains, and the longest match there is: a few times as quick, and a tenth larger.
    Rough,
    /// A tree, and matches up to 32 bytes looked at closely; for trials.
    Quick,
    /// A tree, and matches of any length.
    Full,
    /// The same, and deeper: what xz does for `-9e`.
    Extreme,
}

impl Tuning {
    /// What `xz -9e` uses, but for the size of the dictionary.
    pub const XZ_9E: Self = Self { lc: 3, lp: 0, pb: 2, delta: 0, effort: Effort::Extreme };

    /// Bytes that do not depend on their position.
    pub const fn flat(lc: u8) -> Self {
        Self { lc, lp: 0, pb: 0, delta: 0, effort: Effort::Full }
    }

    /// Bytes in pairs.
    pub const fn pairs(lc: u8) -> Self {
        Self { lc, lp: 1, pb: 1, delta: 0, effort: Effort::Full }
    }

    /// The same with another effort.
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
}

impl Block {
    /// Compresses `raw`.
    pub fn new(raw: &[u8], tuning: Tuning) -> Result<Self> {
        Self::new_while(raw, tuning, || true)?.ok_or_else(refused)
    }

    /// Compresses `raw`; `None` if `go_on` said no before the end.
    pub fn new_while(raw: &[u8], tuning: Tuning, go_on: impl Fn() -> bool) -> Result<Option<Self>> {
        let dictionary = dictionary_for(raw.len());
        // What is declared is rounded up; memory is taken for what there is.
        let size = dictionary_size(dictionary).min(u32::try_from(raw.len()).unwrap_or(u32::MAX));
        let mut encoder = Encoder::raw(&tuning.options(size.max(dictionary_size(0))))?;
        // What does not compress takes three bytes more for each 64 KiB.
        let mut data = Vec::with_capacity(raw.len() / 4 + 64);
        let mut buffer = [0; OUTPUT_BUFFER];
        let (mut pieces, mut piece) = (raw.chunks(STEP), &[][..]);
        loop {
            if piece.is_empty() {
                if !go_on() {
                    return Ok(None);
                }
                piece = pieces.next().unwrap_or_default();
            }
            let progress = encoder.encode(piece, &mut buffer, pieces.len() == 0)?;
            piece = piece.get(progress.consumed..).unwrap_or_default();
            data.extend_from_slice(buffer.get(..progress.written).unwrap_or_default());
            if progress.is_finished {
                break;
            }
        }
        data.shrink_to_fit();
        Ok(Some(Self { delta: tuning.delta, dictionary, data, raw: raw.len() as u64 }))
    }

    /// Holds `raw` as it is, which takes no time, where nothing is to be had.
    pub fn stored(raw: &[u8]) -> Self {
        /// Bytes of a chunk at most, and what begins the first and the others.
        const CHUNK: usize = 64 << 10;
        const FIRST: u8 = 1;
        const NEXT: u8 = 2;
        let chunks = raw.len().div_ceil(CHUNK);
        let mut data = Vec::with_capacity(raw.len() + 3 * chunks + 1);
        for (index, chunk) in raw.chunks(CHUNK).enumerate() {
            data.push(if index == 0 { FIRST } else { NEXT });
            data.extend_from_slice(&u16::try_from(chunk.len() - 1).unwrap_or(0).to_be_bytes());
            data.extend_from_slice(chunk);
        }
        data.push(0);
        Self { delta: 0, dictionary: 0, data, raw: raw.len() as u64 }
    }

    /// Bytes that it adds to a stream, all told.
    pub fn cost(&self) -> usize {
        let mut record = Vec::new();
        let (unpadded, raw) = self.sizes();
        put::uv(&mut record, unpadded);
        put::uv(&mut record, raw);
        (self.header().len() + self.data.len()).next_multiple_of(4) + record.len()
    }

    /// As the index has them: without padding, and before compression.
    fn sizes(&self) -> (u64, u64) {
        ((self.header().len() + self.data.len()) as u64, self.raw)
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
        for (place, byte) in header.iter_mut().zip([words, u8::try_from(filters).unwrap_or(0)]) {
            *place = byte;
        }
        let crc = libdeflater::crc32(&header);
        header.extend_from_slice(&crc.to_le_bytes());
        header
    }
}

/// Puts blocks into one stream, in the order in which they come.
pub fn stream<'a>(blocks: impl IntoIterator<Item = &'a Block>) -> Vec<u8> {
    let flags = [0, 0];
    let mut out = MAGIC.to_vec();
    out.extend_from_slice(&flags);
    out.extend_from_slice(&libdeflater::crc32(&flags).to_le_bytes());
    let mut sizes = Vec::new();
    for block in blocks {
        out.extend_from_slice(&block.header());
        out.extend_from_slice(&block.data);
        out.resize(out.len().next_multiple_of(4), 0);
        sizes.push(block.sizes());
    }
    out.extend_from_slice(&tail_for(&sizes, &flags));
    out
}

/// Compresses `raw` as a stream of one block.
pub fn compress(raw: &[u8], tuning: Tuning) -> Result<Vec<u8>> {
    compress_while(raw, tuning, || true)?.ok_or_else(refused)
}

/// Compresses `raw` as a stream of one block; `None` if `go_on` said no before the end.
pub fn compress_while(
    raw: &[u8],
    tuning: Tuning,
    go_on: impl Fn() -> bool,
) -> Result<Option<Vec<u8>>> {
    match raw {
        [] => Ok(Some(stream([]))),
        _ => Ok(Block::new_while(raw, tuning, go_on)?.map(|block| stream([&block]))),
    }
}

/// Compresses `raw` as `xz` does with this preset, CRC-64 included.
pub fn compress_preset(raw: &[u8], preset: u32) -> Result<Vec<u8>> {
    let mut encoder = Encoder::preset(preset)?;
    let (mut rest, mut stream, mut buffer) = (raw, Vec::new(), [0; OUTPUT_BUFFER]);
    loop {
        let progress = encoder.encode(rest, &mut buffer, true)?;
        rest = rest.get(progress.consumed..).unwrap_or_default();
        stream.extend_from_slice(buffer.get(..progress.written).unwrap_or_default());
        if progress.is_finished {
            return Ok(stream);
        }
    }
}

/// The smallest dictionary that has room for `len` bytes, as LZMA2 writes it.
fn dictionary_for(len: usize) -> u8 {
    (0..=40).find(|&code| dictionary_size(code) as usize >= len).unwrap_or(40).min(30)
}

/// 4 KiB, 6 KiB, 8 KiB, 12 KiB, ... up to 64 MiB and beyond.
fn dictionary_size(code: u8) -> u32 {
    (2 | u32::from(code & 1)).checked_shl(u32::from(code / 2) + 11).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{Blocks, expand};
    use super::*;
    use crate::limits::Limits;

    #[test]
    fn streams_of_differently_tuned_blocks_expand() {
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
            let (got, used) = expand(&file, &Limits::default(), threads).unwrap();
            assert!(got == all);
            assert_eq!(used, file.len());
        }
        assert_eq!(Blocks::find(&file).unwrap().len(), 6);
        let nothing = compress(&[], Tuning::XZ_9E).unwrap();
        assert!(expand(&nothing, &Limits::default(), 1).unwrap().0.is_empty());
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
