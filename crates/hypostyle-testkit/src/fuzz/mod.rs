//! The bodies of the fuzz targets, so that a plain test can run them too.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{ReadOptions, WriteOptions};

use crate::batches::Features;
use crate::laws;

mod onpair;

pub use onpair::{onpair_cpp, onpair_file, onpair_parts};

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
