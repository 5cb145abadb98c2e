//! Builders that write files byte by byte, without the encoders.
//!
//! A file is a list of columns, each with a [`Block`]. By default a builder follows the spec; a
//! test can override every stated number, so that a file deviates from its spec in one way only.

use std::ops::Range;

use hypostyle_core::compress::zlib;

pub mod at1;
pub mod clmn;
pub mod colf;
pub mod colm;
pub mod onpair;

/// The block of a column, and the fields of the column table that describe it.
#[derive(Clone, Debug, Default)]
pub struct Block {
    /// The bytes in the file.
    pub stored: Vec<u8>,
    /// The stated uncompressed size.
    pub raw: u64,
    /// The number of unused bytes before the block.
    pub gap: usize,
    /// The column whose block this one refers to, instead of a block of its own.
    pub shares: Option<usize>,
    /// Overrides the stated offset.
    pub offset: Option<u64>,
    /// Overrides the stated compressed size.
    pub size: Option<u64>,
}

impl Block {
    /// Compresses the content with zlib at level 6.
    pub fn of(content: &[u8]) -> Self {
        Self::stored(&zlib::compress(content, 6).unwrap(), content.len() as u64)
    }

    /// Stores these bytes with `raw` as the stated uncompressed size.
    pub fn stored(stored: &[u8], raw: u64) -> Self {
        Self { stored: stored.to_vec(), raw, ..Self::default() }
    }

    /// A block of no bytes.
    pub fn absent() -> Self {
        Self::default()
    }

    /// Refers to the block of another column.
    pub fn shared(with: usize, raw: u64) -> Self {
        Self { shares: Some(with), raw, ..Self::default() }
    }
}

/// A file, and the offsets of its parts.
#[derive(Clone, Debug)]
pub struct BuiltFile {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// The offset of each column's entry.
    pub entries: Vec<u64>,
    /// The offset after the column table.
    pub table_end: u64,
    /// The stated byte range of each block.
    pub blocks: Vec<Range<u64>>,
}

impl BuiltFile {
    /// Overwrites the bytes at `at`.
    #[must_use]
    pub fn patched(mut self, at: u64, bytes: &[u8]) -> Self {
        let at = usize::try_from(at).unwrap();
        self.bytes.get_mut(at..at + bytes.len()).unwrap().copy_from_slice(bytes);
        self
    }
}

/// The offset and sizes in a column's entry.
#[derive(Clone, Copy, Debug)]
struct StatedPlace {
    offset: u64,
    stored: u64,
    raw: u64,
}

/// Concatenates blocks behind a header of `start` bytes, in the given order.
///
/// An empty `order` means schema order. Returns the entries and the bytes of all blocks.
fn place(start: u64, blocks: &[&Block], order: &[usize]) -> (Vec<StatedPlace>, Vec<u8>) {
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
        StatedPlace {
            offset: block.offset.unwrap_or(*true_offsets.get(owner).unwrap()),
            stored: block.size.unwrap_or(blocks.get(owner).unwrap().stored.len() as u64),
            raw: block.raw,
        }
    });
    (stated.collect(), data)
}

fn ranges(stated: &[StatedPlace]) -> Vec<Range<u64>> {
    stated.iter().map(|s| s.offset..s.offset.saturating_add(s.stored)).collect()
}

/// Writes a zlib stream of stored deflate blocks with this CMF byte.
///
/// `0x78` declares a window of 32 KiB, `0x08` one of 256 bytes.
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

/// Writes a zlib stream that needs a preset dictionary.
pub fn zlib_with_dictionary(content: &[u8]) -> Vec<u8> {
    let plain = zlib_by_hand(content, 0x78);
    let flg = (0x20..0x3F).find(|flg| (0x7800_u16 + flg).is_multiple_of(31)).unwrap();
    let mut out = vec![0x78, u8::try_from(flg).unwrap()];
    out.extend_from_slice(&adler32(b"dictionary").to_be_bytes());
    out.extend_from_slice(plain.get(2..).unwrap());
    out
}

/// Computes the checksum of RFC 1950 from its definition.
pub fn adler32(bytes: &[u8]) -> u32 {
    let (a, b) = bytes.iter().fold((1_u32, 0_u32), |(a, b), &byte| {
        let a = (a + u32::from(byte)) % 65_521;
        (a, (b + a) % 65_521)
    });
    b << 16 | a
}

/// Reads the `N` bytes at an offset.
fn read_array<const N: usize>(file: &[u8], at: usize) -> [u8; N] {
    *file.get(at..).unwrap().first_chunk::<N>().unwrap()
}
