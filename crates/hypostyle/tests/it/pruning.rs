//! Reading K of N columns reads the header and K blocks, and no other byte.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::{self, Format, FormatId};
use hypostyle::{ReadOptions, WriteOptions};
use hypostyle_testkit::build::{clmn, colf, colm, onpair};
use hypostyle_testkit::source::{CountingSource, merge_ranges};
use hypostyle_testkit::{batches, laws};

/// Returns the ranges of the header and of each block, from an independent parser.
fn places(format: &dyn Format, file: &[u8]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
    let (front, blocks) = match format.id() {
        FormatId::OnPair => return onpair::places(file),
        FormatId::Colm => colm::places(file),
        FormatId::Colf => colf::places(file),
        FormatId::Clmn => clmn::places(file),
        other => unreachable!("say here how {other} is laid out"),
    };
    (std::iter::once(0..front).collect(), blocks)
}

fn wide(columns: usize, rows: i32, name: impl Fn(usize) -> String) -> RecordBatch {
    let ints: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values((0..rows).map(f64::from)));
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| i.to_string())));
    let column = |index: usize| (name(index), [&ints, &floats, &texts][index % 3].clone());
    RecordBatch::try_from_iter((0..columns).map(column)).unwrap()
}

/// Opens the file, reads some columns, and returns the number of reads for opening.
fn check(format: &'static dyn Format, batch: &RecordBatch, picks: &[&[usize]]) -> usize {
    let batch = &batches::coerced(format, batch);
    let file = laws::encode(format, batch, &WriteOptions::default());
    let (front, blocks) = places(format, &file);
    assert_eq!(blocks.len(), batch.num_columns());
    let front = merge_ranges(front);
    let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(file))));

    let reader = format.open(source.clone(), &ReadOptions::default()).unwrap();
    assert_eq!(source.covered(), front, "opening reads everything but the blocks");
    let opening = source.reads().len();
    let whole: u64 = source.reads().iter().map(|(_, len)| *len as u64).sum();
    let front_bytes: u64 = front.iter().map(|range| range.end - range.start).sum();
    assert_eq!(whole, front_bytes, "no byte is read twice");
    source.clear_reads();

    for &pick in picks {
        let part = reader.read(0, pick).unwrap();
        assert_eq!(part.columns(), batch.project(pick).unwrap().columns());
        let expected = merge_ranges(pick.iter().map(|&column| blocks[column].clone()));
        assert_eq!(source.covered(), expected, "{pick:?}");
        assert_eq!(source.reads().len(), pick.len(), "one read for each block");
        source.clear_reads();
    }

    // Detection reads no other byte either.
    formats::open(source.clone(), &ReadOptions::default()).unwrap();
    assert_eq!(source.covered(), front);
    opening
}

#[test]
fn a_few_columns_cost_their_blocks_and_no_more() {
    for format in formats::tables() {
        let batch = wide(7, 300, |index| format!("column {index}"));
        let picks: [&[usize]; 7] =
            [&[], &[0], &[6], &[3, 1], &[0, 2, 4], &[5, 6], &[6, 5, 4, 3, 2, 1, 0]];
        check(format, &batch, &picks);
    }
}

#[test]
fn wide_tables_open_in_few_reads() {
    type Name = fn(usize) -> String;
    let short: Name = |index| format!("c{index}");
    let long: Name = |index| format!("{index:064}");
    let mixed: Name = |index| match index % 50 {
        0 => format!("{index:0500}"),
        _ => format!("{index}"),
    };
    let growing: Name = |index| format!("{index}{}", "x".repeat(index / 200));
    for format in formats::tables() {
        for columns in [1_000, 10_000] {
            for name in [short, long, mixed, growing] {
                let batch = wide(columns, 2, name);
                let last = columns - 1;
                let opening = check(format, &batch, &[&[last], &[0, 500, last], &[]]);
                assert!(opening < 40, "{format:?}, {columns} columns: {opening} reads");
            }
        }
    }
}
