//! OnPair compared with FSST, a dictionary and zstd blocks, each with random access to rows.

use std::collections::HashMap;
use std::fmt;

use hypostyle_onpair::{Column, Joined, compress};
use hypostyle_testkit::rng::Rng;

use super::columns::StringColumn;
use super::{codes_size, config, ratio, rows_size, size};
use crate::Result;
use crate::measure::{Cost, once};

/// A string encoding with random access.
#[derive(Clone, Copy, Debug)]
pub(super) enum StringEncoding {
    OnPair,
    Fsst,
    Dictionary,
    Zstd,
}

impl StringEncoding {
    pub(super) const ALL: [Self; 4] = [Self::OnPair, Self::Fsst, Self::Dictionary, Self::Zstd];
}

impl fmt::Display for StringEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnPair => "OnPair",
            Self::Fsst => "FSST",
            Self::Dictionary => "dictionary",
            Self::Zstd => "zstd blocks",
        })
    }
}

/// The measurements of one encoding.
#[derive(Clone, Copy, Debug)]
pub(super) struct CandidateResult {
    /// Compression ratio.
    pub(super) ratio: f64,
    /// MB per second.
    pub(super) compress: f64,
    pub(super) decode: f64,
    /// Nanoseconds per random row.
    pub(super) row: f64,
}

/// The number of random rows; zstd blocks are slow to access.
const RANDOM_ROWS: usize = 100_000;

/// The block size and the level of zstd.
const ZSTD_BLOCK_BYTES: usize = 32 << 10;
const ZSTD_LEVEL: i32 = 3;

/// An encoded column.
trait EncodedStrings {
    fn stored(&self) -> usize;
    fn decode(&self, out: &mut Vec<u8>) -> Result<()>;
    fn rows(&self, rows: &[usize], out: &mut Vec<u8>) -> Result<()>;
}

/// Measures all encodings on one column.
pub(super) fn measure(
    strings: &StringColumn,
    rounds: usize,
) -> Result<Vec<(StringEncoding, CandidateResult)>> {
    let measured = |encoding: StringEncoding| {
        let found = match encoding {
            StringEncoding::OnPair => timed(strings, rounds, OnPair::new),
            StringEncoding::Fsst => timed(strings, rounds, Fsst::new),
            StringEncoding::Dictionary => timed(strings, rounds, Dictionary::new),
            StringEncoding::Zstd => timed(strings, rounds, ZstdBlocks::new),
        };
        Ok((encoding, found.map_err(|err| format!("{}, {encoding}: {err}", strings.name))?))
    };
    StringEncoding::ALL.into_iter().map(measured).collect()
}

fn timed<'a, K: EncodedStrings>(
    strings: &'a StringColumn,
    rounds: usize,
    encode: impl Fn(&'a StringColumn) -> Result<K>,
) -> Result<CandidateResult> {
    let (cost, encoded) = once(|| encode(strings));
    let encoded = encoded?;
    let mut compress = cost;
    for _ in 1..rounds.min(3) {
        compress = compress.min(once(|| encode(strings)).0);
    }
    let mut out = Vec::with_capacity(strings.bytes.len() + 64);
    let decode = best(rounds, || {
        out.clear();
        encoded.decode(&mut out)
    })?;
    if out != strings.bytes {
        return Err("the decoded strings differ from the original".into());
    }
    let mut rng = Rng::new(11);
    let rows: Vec<usize> = (0..RANDOM_ROWS).map(|_| rng.below(strings.len())).collect();
    let take = best(rounds.min(3), || {
        out.clear();
        encoded.rows(&rows, &mut out)
    })?;
    let expected: usize = rows.iter().map(|&row| strings.get(row).len()).sum();
    if out.len() != expected || !out.ends_with(strings.get(rows[RANDOM_ROWS - 1])) {
        return Err("the decoded rows differ from the original".into());
    }
    let speed = |cost: Cost| strings.bytes.len() as f64 / 1e6 / cost.cpu;
    Ok(CandidateResult {
        ratio: ratio(strings.bytes.len(), encoded.stored()),
        compress: speed(compress),
        decode: speed(decode),
        row: take.cpu * 1e9 / RANDOM_ROWS as f64,
    })
}

fn best(rounds: usize, mut work: impl FnMut() -> Result<()>) -> Result<Cost> {
    let mut best = Cost::MAX;
    for _ in 0..rounds {
        let (cost, done) = once(&mut work);
        done?;
        best = best.min(cost);
    }
    Ok(best)
}

struct OnPair {
    column: Column<'static>,
    stored: usize,
    bytes: usize,
}

impl OnPair {
    fn new(strings: &StringColumn) -> Result<Self> {
        let parts = compress(&Joined::new(&strings.bytes, &strings.offsets)?, &config(None))?;
        let stored = size(&parts, strings);
        Ok(Self { column: Column::new(parts)?, stored, bytes: strings.bytes.len() })
    }
}

impl EncodedStrings for OnPair {
    fn stored(&self) -> usize {
        self.stored
    }

    fn decode(&self, out: &mut Vec<u8>) -> Result<()> {
        out.resize(self.bytes, 0);
        Ok(self.column.decode_into(out)?)
    }

    fn rows(&self, rows: &[usize], out: &mut Vec<u8>) -> Result<()> {
        Ok(self.column.take(rows, out, &mut Vec::with_capacity(rows.len()))?)
    }
}

struct Fsst {
    compressor: fsst::Compressor,
    bytes: Vec<u8>,
    ends: Vec<u64>,
    /// The length of the longest row.
    longest: usize,
}

impl Fsst {
    fn new(strings: &StringColumn) -> Result<Self> {
        let rows = strings.rows();
        let compressor = fsst::Compressor::train(&rows);
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        compressor.compress_bulk_into::<{ fsst::Compressor::DEFAULT_BULK_LANES }>(
            &rows, &mut bytes, &mut ends,
        );
        let longest = rows.iter().map(|row| row.len()).max().unwrap_or(0);
        Ok(Self { compressor, bytes, ends, longest })
    }

    fn row(&self, row: usize) -> Result<&[u8]> {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        Ok(&self.bytes[usize::try_from(start)?..usize::try_from(self.ends[row])?])
    }
}

impl EncodedStrings for Fsst {
    fn stored(&self) -> usize {
        let start = |row: usize| row.checked_sub(1).map_or(0, |before| self.ends[before]);
        let lens = (0..self.ends.len()).map(|row| self.ends[row] - start(row));
        let lens = lens.map(|len| usize::try_from(len).unwrap_or(usize::MAX));
        let symbols = 9 * self.compressor.symbol_table().len();
        self.bytes.len() + symbols + rows_size(lens, self.ends.len())
    }

    fn decode(&self, out: &mut Vec<u8>) -> Result<()> {
        *out = self.compressor.decompressor().decompress(&self.bytes);
        Ok(())
    }

    fn rows(&self, rows: &[usize], out: &mut Vec<u8>) -> Result<()> {
        let decompressor = self.compressor.decompressor();
        out.reserve(rows.len() * self.longest.min(256));
        for &row in rows {
            let compressed = self.row(row)?;
            out.reserve(decompressor.max_decompression_capacity(compressed) + 8);
            let start = out.len();
            let len = decompressor.decompress_into(compressed, out.spare_capacity_mut());
            set_len(out, start + len);
        }
        Ok(())
    }
}

/// Sets the length after bytes of the spare capacity were written.
#[expect(unsafe_code, reason = "the rival writes into uninitialized bytes")]
fn set_len(out: &mut Vec<u8>, len: usize) {
    assert!(len <= out.capacity());
    // SAFETY: the capacity suffices, and `decompress_into` has written the bytes that it reports.
    unsafe { out.set_len(len) };
}

struct Dictionary<'a> {
    values: Vec<&'a [u8]>,
    rows: Vec<u32>,
}

impl<'a> Dictionary<'a> {
    fn new(strings: &'a StringColumn) -> Result<Self> {
        let mut numbers: HashMap<&[u8], u32> = HashMap::new();
        let mut it = Self { values: Vec::new(), rows: Vec::with_capacity(strings.len()) };
        for row in strings.rows() {
            let next = u32::try_from(it.values.len())?;
            let number = *numbers.entry(row).or_insert(next);
            if number == next {
                it.values.push(row);
            }
            it.rows.push(number);
        }
        Ok(it)
    }
}

impl EncodedStrings for Dictionary<'_> {
    fn stored(&self) -> usize {
        let lens = self.values.iter().map(|value| value.len());
        let bits = self.values.len().next_power_of_two().trailing_zeros();
        lens.clone().sum::<usize>()
            + rows_size(lens, self.values.len())
            + codes_size(self.rows.len(), bits)
    }

    fn decode(&self, out: &mut Vec<u8>) -> Result<()> {
        self.rows.iter().for_each(|&row| out.extend_from_slice(self.values[row as usize]));
        Ok(())
    }

    fn rows(&self, rows: &[usize], out: &mut Vec<u8>) -> Result<()> {
        for &row in rows {
            out.extend_from_slice(self.values[self.rows[row] as usize]);
        }
        Ok(())
    }
}

/// zstd blocks of whole rows.
struct ZstdBlocks<'a> {
    strings: &'a StringColumn,
    blocks: Vec<Vec<u8>>,
    /// The first row of each block, and the end of the last block.
    firsts: Vec<usize>,
}

impl<'a> ZstdBlocks<'a> {
    fn new(strings: &'a StringColumn) -> Result<Self> {
        let mut it = Self { strings, blocks: Vec::new(), firsts: vec![0] };
        let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL)?;
        let mut first = 0;
        while first < strings.len() {
            let start = strings.offsets[first];
            let limit = start.saturating_add(u32::try_from(ZSTD_BLOCK_BYTES)?);
            let fit = strings.offsets.partition_point(|&end| end <= limit) - 1;
            let end = fit.max(first + 1);
            let bytes = &strings.bytes[start as usize..strings.offsets[end] as usize];
            it.blocks.push(compressor.compress(bytes)?);
            it.firsts.push(end);
            first = end;
        }
        Ok(it)
    }

    fn plain_len(&self, block: usize) -> usize {
        let at = |row: usize| self.strings.offsets[row] as usize;
        at(self.firsts[block + 1]) - at(self.firsts[block])
    }
}

impl EncodedStrings for ZstdBlocks<'_> {
    fn stored(&self) -> usize {
        let rows = self.strings.len();
        let lens = (0..rows).map(|row| self.strings.get(row).len());
        // 12 bytes for the offset and the first row of a block.
        let blocks: usize = self.blocks.iter().map(|block| block.len() + 12).sum();
        blocks + rows_size(lens, rows)
    }

    fn decode(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut decompressor = zstd::bulk::Decompressor::new()?;
        out.resize(self.strings.bytes.len(), 0);
        let mut at = 0;
        for block in &self.blocks {
            at += decompressor.decompress_to_buffer(block, &mut out[at..])?;
        }
        Ok(())
    }

    fn rows(&self, rows: &[usize], out: &mut Vec<u8>) -> Result<()> {
        let mut decompressor = zstd::bulk::Decompressor::new()?;
        let mut plain = Vec::new();
        for &row in rows {
            let block = self.firsts.partition_point(|&first| first <= row) - 1;
            plain.resize(self.plain_len(block), 0);
            decompressor.decompress_to_buffer(&self.blocks[block], &mut plain[..])?;
            let offset = |row: usize| self.strings.offsets[row] as usize;
            let start = offset(self.firsts[block]);
            out.extend_from_slice(&plain[offset(row) - start..offset(row + 1) - start]);
        }
        Ok(())
    }
}
