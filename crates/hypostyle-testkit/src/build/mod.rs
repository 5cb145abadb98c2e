//! Files put together byte by byte, without the encoders.
//!
//! A file is a list of columns, each with a [`Block`]. Left alone, everything is
//! as the specs want it; every stated number can be overridden, so that a file
//! departs from its spec in just one way.

use std::ops::Range;

use hypostyle_core::compress::zlib;

pub mod at1;
pub mod clmn;
pub mod colf;
pub mod colm;
pub mod onpair;

/// A column's block, and what the column table says about it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The bytes in the file.
    pub stored: Vec<u8>,
    /// The uncompressed size that is stated.
    pub raw: u64,
    /// Unused bytes in front of it.
    pub gap: usize,
    /// Takes the place of the block of this column instead of one of its own.
    pub shares: Option<usize>,
    /// States this offset instead of the true one.
    pub offset: Option<u64>,
    /// States this compressed size instead of the true one.
    pub size: Option<u64>,
}

impl Block {
    /// A zlib stream of this content at the usual level.
    pub fn of(content: &[u8]) -> Self {
        Self::stored(&zlib::compress(content, 6).unwrap(), content.len() as u64)
    }

    /// These bytes as they are, said to expand to `raw`.
    pub fn stored(stored: &[u8], raw: u64) -> Self {
        Self { stored: stored.to_vec(), raw, ..Self::default() }
    }

    /// No bytes at all.
    pub fn absent() -> Self {
        Self::default()
    }

    /// The block of another column.
    pub fn shared(with: usize, raw: u64) -> Self {
        Self { shares: Some(with), raw, ..Self::default() }
    }
}

/// A file, and where its parts are.
#[derive(Clone, Debug)]
pub struct Made {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// Where each column's entry starts.
    pub entries: Vec<u64>,
    /// The first byte after the column table.
    pub table_end: u64,
    /// Where the table says that each block is.
    pub blocks: Vec<Range<u64>>,
}

impl Made {
    /// The same file with other bytes at `at`.
    #[must_use]
    pub fn patched(mut self, at: u64, bytes: &[u8]) -> Self {
        let at = usize::try_from(at).unwrap();
        self.bytes.get_mut(at..at + bytes.len()).unwrap().copy_from_slice(bytes);
        self
    }
}

/// What an entry states: offset, stored size, uncompressed size.
#[derive(Clone, Copy, Debug)]
struct Stated {
    offset: u64,
    stored: u64,
    raw: u64,
}

/// Puts blocks behind a header of `start` bytes, in the given order.
///
/// An empty order is that of the schema.
fn place(start: u64, blocks: &[&Block], order: &[usize]) -> (Vec<Stated>, Vec<u8>) {
    let schema_order: Vec<usize> = (0..blocks.len()).collect();
    let order = if order.is_empty() { &schema_order } else { order };
    let mut data = Vec::new();
    let mut true_offsets = vec![start; blocks.len()];
    for &column in order {
        let block = blocks.get(column).unwrap();
        data.resize(data.len() + block.gap, 0xAA);
        *true_offsets.get_mut(column).unwrap() = start + data.len() as u64;
        data.extend_from_slice(&block.stored);
    }
    let stated = blocks.iter().enumerate().map(|(column, block)| {
        let owner = block.shares.unwrap_or(column);
        Stated {
            offset: block.offset.unwrap_or(*true_offsets.get(owner).unwrap()),
            stored: block.size.unwrap_or(blocks.get(owner).unwrap().stored.len() as u64),
            raw: block.raw,
        }
    });
    (stated.collect(), data)
}

fn ranges(stated: &[Stated]) -> Vec<Range<u64>> {
    stated.iter().map(|s| s.offset..s.offset.saturating_add(s.stored)).collect()
}

/// A zlib stream of stored deflate blocks, made by hand, with this first byte.
///
/// `0x78` announces a window of 32 KiB, `0x08` one of 256 bytes.
pub fn zlib_by_hand(content: &[u8], cmf: u8) -> Vec<u8> {
    let flg = (0..31).find(|flg| (u16::from(cmf) * 256 + flg).is_multiple_of(31)).unwrap();
    let mut out = vec![cmf, u8::try_from(flg).unwrap()];
    let mut chunks = content.chunks(65_535).peekable();
    if chunks.peek().is_none() {
        out.extend_from_slice(&[1, 0, 0, 0xFF, 0xFF]);
    }
    while let Some(chunk) = chunks.next() {
        out.push(u8::from(chunks.peek().is_none()));
        let len = u16::try_from(chunk.len()).unwrap();
        out.extend_from_slice(&len.to_le_bytes());
        out.extend_from_slice(&(!len).to_le_bytes());
        out.extend_from_slice(chunk);
    }
    out.extend_from_slice(&adler32(content).to_be_bytes());
    out
}

/// A zlib stream that asks for a preset dictionary.
pub fn zlib_with_dictionary(content: &[u8]) -> Vec<u8> {
    let plain = zlib_by_hand(content, 0x78);
    let flg = (0x20..0x3F).find(|flg| (0x7800_u16 + flg).is_multiple_of(31)).unwrap();
    let mut out = vec![0x78, u8::try_from(flg).unwrap()];
    out.extend_from_slice(&adler32(b"dictionary").to_be_bytes());
    out.extend_from_slice(plain.get(2..).unwrap());
    out
}

/// The checksum of RFC 1950, straight from its definition.
pub fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

/// A number of the width that the caller names, off a file.
fn number<const N: usize>(file: &[u8], at: usize) -> [u8; N] {
    *file.get(at..).unwrap().first_chunk::<N>().unwrap()
}
