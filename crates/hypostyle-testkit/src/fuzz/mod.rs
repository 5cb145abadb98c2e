//! The bodies of the fuzz targets, so that a plain test can run them too.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{ReadOptions, WriteOptions};

use crate::batches::Holds;
use crate::laws;

mod onpair;

pub use onpair::{onpair_cpp, onpair_file, onpair_parts};

/// Detects, opens and reads whatever the bytes are.
pub fn open_any(bytes: &[u8]) {
    let _ = laws::at_most_one_format_claims(bytes);
    let options = ReadOptions::default().with_limits(laws::small_limits());
    let source = Arc::new(Bytes::copy_from_slice(bytes));
    if let Ok(reader) = formats::open(source, &options) {
        let _ = laws::read_everything(reader.as_ref());
    }
}

/// Opens and reads bytes as one format, whatever they are.
pub fn decode_any(format: &dyn Format, bytes: &[u8]) {
    if format.holds_tables() {
        return laws::any_bytes_return_or_fail(format, bytes);
    }
    laws::any_archive_returns_or_fails(bytes);
    laws::any_archive_shows_itself_or_fails(bytes);
}

/// Makes a table of the bytes, and sends it through a format and back.
pub fn roundtrip(format: &'static dyn Format, bytes: &[u8]) {
    let batch = table_of(bytes, Holds::of(format));
    laws::decode_undoes_encode(format, &batch);
    let file = laws::encode(format, &batch, &WriteOptions::default());
    laws::a_canonical_file_encodes_to_itself(format, &file);
}

/// A table that depends on nothing but the bytes; they may be few or none.
///
/// Small changes of the bytes make small changes of the table, which is what a
/// fuzzer lives on: one byte each for width, rows, and the kind of a column, and
/// then the values as they stand.
pub fn table_of(bytes: &[u8], holds: Holds) -> RecordBatch {
    let mut seed = Seed(bytes);
    let width = 1 + usize::from(seed.byte() % 6);
    let rows = usize::from(seed.byte() % 70);
    let columns = (0..width).map(|index| {
        let kind = seed.byte() % if holds.int64 { 4 } else { 3 };
        let kind = if holds.numbers { kind } else { 2 };
        let nulls = holds.nulls && seed.byte() % 2 == 1;
        let name = format!("{index}{}", seed.text());
        (name, seed.array(kind, rows, nulls), holds.nulls)
    });
    RecordBatch::try_from_iter_with_nullable(columns.collect::<Vec<_>>()).unwrap()
}

/// Bytes that are used up, and zeros after that.
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
        // No rows left to take from the seed is no reason to stop: zeros follow.
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
