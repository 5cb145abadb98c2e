//! Packs and opens the archives of the AT-1 tests.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, Layout, PackOptions, Packed};
use hypostyle::text::TextOptions;
use hypostyle::text::jsonl::Writer;
use hypostyle::{ReadOptions, Table};
use hypostyle_testkit::scans::collected;
use hypostyle_testkit::text_tables::archive_table;

/// Packs a text as a whole archive, or in frames of this many lines.
pub(crate) fn packed(text: &str, options: &PackOptions, frames: Option<u64>) -> Vec<u8> {
    match frames {
        None => at1::pack(text.as_bytes(), options).unwrap().0,
        Some(lines) => {
            let mut archive = Vec::new();
            let options = options.clone().with_chunk_lines(lines);
            at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
            archive
        }
    }
}

/// Returns options that select one codec.
pub(crate) fn only(codec: Codec) -> PackOptions {
    PackOptions::default().with_codec(Choice::Only(codec))
}

pub(crate) fn opened(archive: &[u8]) -> Archive {
    let source = Arc::new(Bytes::copy_from_slice(archive));
    Archive::open(source, &ReadOptions::default()).unwrap()
}

/// Checks that content round-trips as a whole archive and in frames of `lines` lines.
///
/// Only the published layout may have deviations.
#[track_caller]
pub(crate) fn comes_back(original: &[u8], options: &PackOptions, lines: u64) -> (Vec<u8>, Packed) {
    let (whole, packed) = at1::pack(original, options).unwrap();
    let mut stream = Vec::new();
    let framed = options.clone().with_chunk_lines(lines);
    at1::pack_stream(original, &mut stream, &framed, |_, _| {}).unwrap();
    let expected: &[&str] = match options.layout {
        Layout::Published => &["A1", "A2", "A3"],
        _ => &[],
    };
    for archive in [&whole, &stream] {
        let archive = opened(archive);
        let mut text = Vec::new();
        archive.unpack(&mut text).unwrap();
        assert!(text == original);
        assert!(archive.deviations().iter().all(|met| expected.contains(&met.code)));
    }
    (whole, packed)
}

/// Counts the lines of content.
pub(crate) fn lines(content: &[u8]) -> u64 {
    content.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Opens the table of an archive.
pub(crate) fn table(archive: &[u8]) -> Table {
    archive_table(None, archive, &TextOptions::default()).unwrap()
}

/// Returns the table of an archive as JSON objects; `name` is the name of its text.
pub(crate) fn objects(name: Option<&str>, archive: &[u8]) -> Vec<serde_json::Value> {
    let table = archive_table(name, archive, &TextOptions::default()).unwrap();
    let mut writer = Writer::new(Vec::new());
    writer.write(&collected(table.scan()).unwrap()).unwrap();
    let text = writer.finish().unwrap();
    let lines = text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice(line).unwrap()).collect()
}

/// Returns the cells of a batch as text, row by row; a null is an empty text.
pub(crate) fn cells(batch: &RecordBatch) -> Vec<Vec<String>> {
    let columns: Vec<ArrayRef> =
        batch.columns().iter().map(|column| cast(column, &DataType::Utf8).unwrap()).collect();
    let cell = |column: &ArrayRef, row: usize| match column.is_null(row) {
        true => String::new(),
        false => column.as_string::<i32>().value(row).to_owned(),
    };
    let row = |row: usize| columns.iter().map(|column| cell(column, row)).collect();
    (0..batch.num_rows()).map(row).collect()
}
