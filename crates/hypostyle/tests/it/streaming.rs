//! Column files are decompressed as a scan moves on: the same values as whole columns, few bytes
//! for few rows.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{FormatId, RangeCache, ReadOptions, Scan, Table, WriteOptions};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::source::CountingSource;
use hypostyle_testkit::{batches, laws, scans};

const ROWS: i32 = 60_000;

/// Returns the formats whose columns are blocks of numbers and texts.
fn column_formats() -> impl Iterator<Item = &'static dyn Format> {
    formats::tables().filter(|format| format.capabilities().numbers)
}

/// Returns a table whose blocks take several pieces, with long runs of nulls.
fn table(format: &dyn Format, rows: i32) -> RecordBatch {
    let able = format.capabilities().nulls;
    let mixed = |row: i32| row.wrapping_mul(row).wrapping_mul(0x9E37_79B1_u32.cast_signed()) >> 7;
    // Every seventh row, rows in the middle, and rows at the end.
    let null =
        |row: i32| able && (row % 7 == 3 || (20_000..29_000).contains(&row) || row > rows - 2_000);
    let ints = (0..rows).map(|row| (!null(row)).then(|| mixed(row)));
    let floats = (0..rows).map(|row| (!null(row + 1)).then(|| f64::from(mixed(row)) / 3.0));
    let texts = (0..rows).map(|row| {
        let len = usize::try_from(row % 5).unwrap() * if row % 1_000 == 0 { 3_000 } else { 3 };
        (!null(row)).then(|| format!("{row}é{}", "x".repeat(len)))
    });
    let column = |name, array: ArrayRef| (name, array, able);
    let batch = RecordBatch::try_from_iter_with_nullable([
        column("i", Arc::new(Int32Array::from_iter(ints)) as ArrayRef),
        column("f", Arc::new(Float64Array::from_iter(floats))),
        column("s", Arc::new(StringArray::from_iter(texts))),
        column(
            "n",
            Arc::new(Int32Array::from_iter(
                (0..rows).map(|row| (row % 9 > 0 || !able).then_some(row)),
            )),
        ),
    ]);
    batches::coerced(format, &batch.unwrap())
}

#[test]
fn windows_of_any_size_give_the_rows_of_whole_columns() {
    for format in column_formats() {
        let whole = table(format, ROWS);
        let file = laws::encode(format, &whole, &WriteOptions::default());
        let check = |rows: std::ops::Range<usize>, request: &dyn Fn(Scan) -> Scan| {
            let (found, _) = scans::scan(format, &file, &ReadOptions::default(), request).unwrap();
            let want = whole.slice(rows.start, rows.len());
            assert_eq!(Content::of(&found), Content::of(&[want]), "{format:?} {rows:?}");
        };
        let all = 0..whole.num_rows();
        for (batch_size, memory) in [(1_000, 1), (8_192, 200_000), (100_000, 4 << 20)] {
            let small = |scan: Scan| scan.batch_size(batch_size).memory_limit(memory).threads(2);
            check(all.clone(), &small);
            check(0..10, &|scan| small(scan).limit(10));
            check(25_003..25_010, &|scan| small(scan).rows(25_003..25_010));
            check(19_990..55_001, &|scan| small(scan).rows(19_990..55_001));
            check(59_000..60_000, &|scan| small(scan).rows(59_000..70_000));
        }
    }
}

#[test]
fn columns_that_a_filter_leaves_out_catch_up_when_they_are_read() {
    for format in column_formats() {
        let whole = table(format, ROWS);
        let file = laws::encode(format, &whole, &WriteOptions::default());
        let request = |scan: Scan| {
            let filter = "n >= 12345 and n < 12348 or n = 50001".parse().unwrap();
            scan.columns(["s", "i"]).filter(filter).memory_limit(1)
        };
        let (found, _) = scans::scan(format, &file, &ReadOptions::default(), request).unwrap();
        let rows = [12_345_usize, 12_346, 12_347, 50_001];
        let n = whole.column(3);
        let want: Vec<RecordBatch> = rows
            .into_iter()
            .filter(|&row| n.is_valid(row))
            .map(|row| whole.project(&[2, 0]).unwrap().slice(row, 1))
            .collect();
        assert_eq!(Content::of(&found), Content::of(&want), "{format:?}");
    }
}

#[test]
fn single_rows_come_in_the_order_asked_for() {
    for format in column_formats() {
        let whole = table(format, ROWS);
        let file = Bytes::from(laws::encode(format, &whole, &WriteOptions::default()));
        let reader = format.open(Arc::new(file.clone()), &ReadOptions::default()).unwrap();
        let cache = Arc::new(RangeCache::over(Arc::new(file)));
        let rows = [40_000_u64, 3, 28_999, 3, 59_999];
        let scan = Table::new(reader, cache).scan().memory_limit(1).take(&rows);
        let found: Vec<RecordBatch> = scan.batches().unwrap().map(Result::unwrap).collect();
        let want = rows.map(|row| whole.slice(usize::try_from(row).unwrap(), 1));
        assert_eq!(Content::of(&found), Content::of(&want), "{format:?}");
    }
}

/// The source is not in memory, so that every byte that is read counts.
#[test]
fn ten_rows_take_few_bytes() {
    for format in column_formats() {
        let rows = 3_000_000;
        let mixed = |row: i32| row.wrapping_mul(row).wrapping_mul(0x9E37_79B1_u32.cast_signed());
        let ints: ArrayRef = Arc::new(Int32Array::from_iter_values((0..rows).map(mixed)));
        let floats = (0..rows).map(|row| f64::from(mixed(row)) / 7.0);
        let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(floats));
        let batch = RecordBatch::try_from_iter([("i", ints), ("f", floats)]).unwrap();
        let file = laws::encode(format, &batch, &WriteOptions::default().with_level(1));
        let size = file.len() as u64;
        let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(file))));
        let cache = Arc::new(RangeCache::over(source.clone()));
        let reader = format.open(cache.clone(), &ReadOptions::default()).unwrap();
        source.clear_reads();
        let mut scan = Table::new(reader, cache).scan().limit(10).batches().unwrap();
        let first = scan.next_batch().unwrap().unwrap();
        assert_eq!(first.columns(), batch.slice(0, 10).columns());
        assert!(scan.next_batch().unwrap().is_none());
        let read: u64 = source.covered().iter().map(|range| range.end - range.start).sum();
        assert!(read * 100 < size, "{format:?}: {read} of {size} bytes");
        assert_eq!(source.reads().len(), 2, "one read for each block: {:?}", source.reads());
    }
}

/// Texts of COLF come after the offsets of all texts (spec §3.3), which take most of the bytes
/// here if texts are short, and few if they are long.
#[test]
fn ten_texts_take_few_bytes_beside_the_offsets_of_colf() {
    for format in column_formats() {
        for (rows, len) in [(400_000_u32, 10_usize), (6_000, 2_000)] {
            let mut dice = 1_u64;
            let mut text = || {
                let mut text = String::new();
                while text.len() < len {
                    dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(7);
                    text.extend(char::from_digit(u32::try_from(dice >> 59).unwrap(), 36));
                }
                text
            };
            let texts: ArrayRef =
                Arc::new(StringArray::from_iter_values((0..rows).map(|_| text())));
            let batch = RecordBatch::try_from_iter([("s", texts)]).unwrap();
            let file = laws::encode(format, &batch, &WriteOptions::default().with_level(1));
            let reader = laws::open(format, &file, &ReadOptions::default()).unwrap();
            let block = reader.sections().into_iter().find(|it| it.column == Some(0)).unwrap();
            let raw = block.raw.unwrap();
            let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(file))));
            let cache = Arc::new(RangeCache::over(source.clone()));
            let reader = format.open(cache.clone(), &ReadOptions::default()).unwrap();
            source.clear_reads();
            let mut scan = Table::new(reader, cache).scan().limit(10).batches().unwrap();
            let first = scan.next_batch().unwrap().unwrap();
            assert_eq!(first.columns(), batch.slice(0, 10).columns());
            let read: u64 = source.covered().iter().map(|range| range.end - range.start).sum();
            // Blocks are read in pieces that double, from 16 KiB on.
            let offsets = if format.id() == FormatId::Colf { u64::from(rows) * 4 } else { 0 };
            let bound = 2 * (block.stored * offsets / raw) + (32 << 10);
            assert!(read <= bound, "{format:?}: {read} of {} bytes, {bound}", block.stored);
        }
    }
}

/// Damage behind the rows that a scan reads goes unnoticed; a scan that reaches it fails.
#[test]
fn damage_is_found_when_a_scan_reaches_it() {
    for format in column_formats() {
        let whole = table(format, ROWS);
        let mut file = laws::encode(format, &whole, &WriteOptions::default());
        let reader = laws::open(format, &file, &ReadOptions::default()).unwrap();
        let sections = reader.sections();
        let block = sections.iter().find(|section| section.column == Some(0)).unwrap();
        let checksum = usize::try_from(block.offset + block.stored - 1).unwrap();
        file[checksum] ^= 1;
        let scan = |rows: u64| {
            scans::scan(format, &file, &ReadOptions::default(), |scan| {
                scan.limit(rows).memory_limit(1)
            })
        };
        assert_eq!(Content::of(&scan(10).unwrap().0), Content::of(&[whole.slice(0, 10)]));
        let err = scan(u64::MAX).unwrap_err();
        let want = laws::decode(format, &file, &ReadOptions::default()).unwrap_err();
        assert_eq!(err.to_string(), want.to_string());
    }
}

#[test]
fn the_header_tells_how_many_nulls_there_are() {
    for format in column_formats() {
        let whole = table(format, ROWS);
        let file = laws::encode(format, &whole, &WriteOptions::default());
        let reader = laws::open(format, &file, &ReadOptions::default()).unwrap();
        for (index, column) in whole.columns().iter().enumerate() {
            let known = reader.column_statistics(index).null_count;
            let want = (!format.capabilities().nulls).then_some(0);
            assert_eq!(known, want);
            assert!(known.is_none_or(|count| count == column.null_count() as u64));
        }
    }
}
