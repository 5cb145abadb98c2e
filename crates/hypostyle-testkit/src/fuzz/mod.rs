//! The bodies of the fuzz targets, so that a plain test can run them too.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{ReadOptions, WriteOptions};

use crate::batches::Features;
use crate::laws;

mod archives;
mod files;
mod onpair;
mod predicates;
mod table_scans;

pub use archives::{archive_count, bent_archive, every_archive_is_valid, pack_any, read_archive};
pub use files::{bent_columns, bent_foreign, scan_any, scan_as};
pub use onpair::{onpair_cpp, onpair_file, onpair_parts};
pub use predicates::any_predicate;
pub use table_scans::scan_in_all_ways;

/// A fuzz target: its name, and what it does with an input.
pub type Target = (&'static str, fn(&[u8]));

/// All fuzz targets. Each has a program in the crate `fuzz`, and a folder of seeds.
pub const TARGETS: [Target; 12] = [
    ("open_any", open_any),
    ("decode_all", decode_all),
    ("scan_any", scan_any),
    ("roundtrip_all", roundtrip_all),
    ("pack_any", pack_any),
    ("bent_archive", bent_archive),
    ("bent_columns", bent_columns),
    ("bent_foreign", bent_foreign),
    ("any_predicate", any_predicate),
    ("onpair_parts", onpair_parts),
    ("onpair_file", onpair_file),
    ("onpair_cpp", onpair_cpp),
];

/// Detects the format of any bytes, opens and reads them.
pub fn open_any(bytes: &[u8]) {
    let _ = laws::at_most_one_format_claims(bytes);
    let options = ReadOptions::default().with_limits(laws::small_limits());
    let source = Arc::new(Bytes::copy_from_slice(bytes));
    if let Ok(reader) = formats::open(source, &options) {
        let _ = laws::read_everything(&reader);
    }
}

/// Opens and reads any bytes as one format.
pub fn decode_any(format: &dyn Format, bytes: &[u8]) {
    if format.holds_tables() {
        return laws::any_bytes_return_or_fail(format, bytes);
    }
    laws::any_archive_returns_or_fails(bytes);
    laws::any_archive_shows_itself_or_fails(bytes);
}

/// Reads any bytes as every format.
pub fn decode_all(bytes: &[u8]) {
    for format in formats::ALL {
        decode_any(*format, bytes);
    }
}

/// Encodes and decodes a table with every format that stores tables.
pub fn roundtrip_all(bytes: &[u8]) {
    for format in formats::tables() {
        roundtrip(format, bytes);
    }
}

/// Builds a table from the bytes, encodes and decodes it.
pub fn roundtrip(format: &'static dyn Format, bytes: &[u8]) {
    let batch = table_of(bytes, Features::of(format));
    laws::decode_undoes_encode(format, &batch);
    let file = laws::encode(format, &batch, &WriteOptions::default());
    laws::a_canonical_file_encodes_to_itself(format, &file);
}

/// Builds a table from any bytes, deterministically.
///
/// Small changes of the bytes cause small changes of the table, which helps a fuzzer: one byte each
/// for the number of columns, the number of rows and the type of a column, then the values.
pub fn table_of(bytes: &[u8], features: Features) -> RecordBatch {
    let mut seed = Seed(bytes);
    let width = 1 + usize::from(seed.byte() % 6);
    let rows = usize::from(seed.byte() % 70);
    let columns = (0..width).map(|index| {
        let kind = seed.byte() % if features.int64 { 4 } else { 3 };
        let kind = if features.numbers { kind } else { 2 };
        let nulls = features.nulls && seed.byte() % 2 == 1;
        let name = format!("{index}{}", seed.text());
        (name, seed.array(kind, rows, nulls), features.nulls)
    });
    RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap()
}

/// Consumes bytes from the front, and returns zeros after the end.
struct Seed<'a>(&'a [u8]);

impl<'a> Seed<'a> {
    fn byte(&mut self) -> u8 {
        let (&first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        first
    }

    fn number(&mut self) -> i64 {
        i64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.byte() % 40).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }

    fn text(&mut self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }

    fn array(&mut self, kind: u8, rows: usize, nulls: bool) -> ArrayRef {
        let mut valid = || !nulls || !self.byte().is_multiple_of(4);
        let valid: Vec<bool> = (0..rows).map(|_| valid()).collect();
        let slots = valid.into_iter();
        #[expect(clippy::cast_possible_truncation, reason = "any 32 bits will do")]
        match kind {
            0 => Arc::new(Int32Array::from_iter(
                slots.map(|valid| valid.then(|| self.number() as i32)),
            )),
            1 => Arc::new(Float64Array::from_iter(
                slots.map(|valid| valid.then(|| f64::from_bits(self.number().cast_unsigned()))),
            )),
            2 => Arc::new(StringArray::from_iter(slots.map(|valid| valid.then(|| self.text())))),
            _ => Arc::new(Int64Array::from_iter(slots.map(|valid| valid.then(|| self.number())))),
        }
    }
}

/// Changes some bytes at one place, as the seed says: other bytes, fewer, more, or a number of
/// several bytes.
#[expect(clippy::indexing_slicing, reason = "places are in range by construction")]
fn change_bytes(bytes: &mut Vec<u8>, seed: &mut Seed<'_>) {
    let (what, high, low) = (seed.byte(), seed.byte(), seed.byte());
    let at = usize::from(u16::from_le_bytes([low, high]));
    let at = if bytes.is_empty() { 0 } else { at % bytes.len() };
    let rest = bytes.len() - at;
    match what % 9 {
        0 if rest > 0 => bytes[at] ^= 1 << (seed.byte() % 8),
        1 if rest > 0 => bytes[at] = seed.byte(),
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + usize::from(seed.byte()).min(rest))),
        4 => drop(bytes.splice(at..at, seed.bytes().iter().copied())),
        // A number that grows to any size, in LEB128.
        5 if rest > 0 => {
            let number = u128::from(seed.byte()) << (seed.byte() % 66);
            drop(bytes.splice(at..=at, crate::build::at1::uv(number)));
        }
        6 if rest >= 4 => {
            let number = u32::from_le_bytes(std::array::from_fn(|byte| bytes[at + byte]));
            let number = number.wrapping_add(u32::from(seed.byte())).wrapping_sub(128);
            bytes[at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        7 if rest >= 8 => {
            let number = 1_u64 << (seed.byte() % 64);
            bytes[at..at + 8].copy_from_slice(&number.wrapping_sub(1).to_le_bytes());
        }
        // A run appears a second time.
        _ => {
            let again = bytes[at..at + usize::from(seed.byte()).min(rest)].to_vec();
            drop(bytes.splice(at..at, again));
        }
    }
}
