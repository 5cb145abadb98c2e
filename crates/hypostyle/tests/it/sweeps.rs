//! Every prefix of a small file, and ten mutations of every byte.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use hypostyle::WriteOptions;
use hypostyle::formats::{self, Format};
use hypostyle_testkit::{conformance, laws, sweeps};

/// Small files with every type, with nulls where they exist, and without rows.
fn files(format: &dyn Format) -> Vec<Vec<u8>> {
    let able = format.abilities();
    let null = |some: i32| if able.nulls { None } else { Some(some) };
    let ints: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), null(2), Some(-3)]));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![0.5, -0.0, f64::NAN]));
    let texts = vec![Some("ab"), null(0).map(|_| ""), Some("é")];
    let texts: ArrayRef = Arc::new(StringArray::from(texts));
    let longs: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX]));
    let mut columns = vec![("i", ints), ("f", floats), ("s", texts)];
    if able.int64 {
        columns.push(("l", longs));
    }
    let whole = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, able.nulls)),
    )
    .unwrap();
    [0, 3]
        .into_iter()
        .map(|rows| laws::encode(format, &whole.slice(0, rows), &WriteOptions::default()))
        .collect()
}

#[test]
fn every_prefix_is_refused() {
    for format in formats::tables() {
        for file in files(format) {
            sweeps::every_prefix_is_refused(format, &file);
        }
    }
}

#[test]
fn ten_mutations_of_every_byte_return_or_fail() {
    for format in formats::tables() {
        for file in files(format) {
            sweeps::ten_mutations_of_every_byte(format, &file);
        }
    }
}

/// The archives under `conformance/`, which have every codec and container.
#[test]
fn archives_cut_and_changed_return_or_fail() {
    let cases = conformance::cases();
    let archives = cases.iter().filter(|case| case.format() == "at1");
    let small = archives.map(conformance::Case::bytes).filter(|file| file.len() < 150);
    small.for_each(sweeps::an_archive_cut_and_changed);
}
