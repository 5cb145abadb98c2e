//! Reads every prefix of a small file, and ten mutations of every byte.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray};
use hypostyle::WriteOptions;
use hypostyle::formats::{self, Format};
use hypostyle_testkit::build::onpair;
use hypostyle_testkit::{batches, conformance, laws, sweeps};

/// Returns small files of every type, with nulls where possible, with rows and without.
fn files(format: &dyn Format) -> Vec<Vec<u8>> {
    let able = format.capabilities();
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
    let whole = batches::coerced(format, &whole);
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

/// Changes every byte of every section, with valid checksums.
#[test]
fn sections_of_strings_changed_behind_true_checksums_return_or_fail() {
    let tokens: [&[u8]; 3] = [b"a", b"ab", b"abcdefghijklmnop"];
    let mut packed = onpair::ColumnChunk::packed(9, &tokens, &[&[0, 1], &[], &[2, 2, 0]]);
    packed.flags |= 2;
    packed.sections[3] = onpair::numbers(&[3, 0, 33]);
    let indexed = onpair::ColumnChunk::indexed(&[Some("x"), None, Some("x")]);
    let format = formats::by_name("onpair").unwrap();
    for part in [packed, indexed, onpair::ColumnChunk::plain(&[Some("é"), Some(""), None])] {
        let check = |part: &onpair::ColumnChunk| {
            let column = onpair::Column::new("s", part.clone());
            let file = onpair::File::new(&[3], vec![column]).build().bytes;
            laws::any_bytes_return_or_fail(format, &file);
            laws::decode(format, &file, &hypostyle::ReadOptions::default()).is_ok()
        };
        assert!(check(&part));
        for section in 0..part.sections.len() {
            for at in 0..part.sections[section].len() {
                let was = part.sections[section][at];
                for now in [0, 0xFF].into_iter().chain((0..8).map(|bit| was ^ (1 << bit))) {
                    let mut changed = part.clone();
                    changed.sections[section][at] = now;
                    check(&changed);
                }
            }
        }
    }
}

/// A file of the C++ implementation has no checksums.
#[test]
fn a_file_of_the_cpp_implementation_cut_and_changed_returns_or_fails() {
    let file = onpair::cpp(9, &[b"a", b"bc"], &[&[0, 1], &[], &[1]]).bytes;
    let format = formats::by_name("onpair").unwrap();
    sweeps::every_prefix_is_refused(format, &file);
    sweeps::ten_mutations_of_every_byte(format, &file);
}

/// The archives under `conformance/` cover every codec and container.
#[test]
fn archives_cut_and_changed_return_or_fail() {
    let cases = conformance::cases();
    let archives = cases.iter().filter(|case| case.format() == "at1");
    let small = archives.map(conformance::Case::bytes).filter(|file| file.len() < 150);
    small.for_each(sweeps::an_archive_cut_and_changed);
}
