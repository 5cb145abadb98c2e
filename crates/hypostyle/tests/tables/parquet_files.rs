//! Parquet files by the `parquet` crate itself, with what its users write.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, TimestampNanosecondArray,
};
use arrow_schema::{DataType, Field};
use bytes::Bytes;
use hypostyle::{OpenOptions, RangeCache, Result, Step, Table};
use parquet::arrow::ArrowWriter;
use parquet::basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::all_rows;

fn table(rows: i32) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..rows));
    let names = (0..rows).map(|row| (row % 5 != 0).then(|| format!("name {}", row % 100)));
    let names: ArrayRef = Arc::new(StringArray::from_iter(names));
    let floats = (0..rows).map(|row| if row % 9 == 0 { f64::NAN } else { f64::from(row) });
    let floats: ArrayRef = Arc::new(Float64Array::from_iter_values(floats));
    let mut lists = ListBuilder::new(Int32Builder::new());
    (0..rows).for_each(|row| lists.append_value((0..row % 4).map(Some)));
    let utc = TimestampMicrosecondArray::from_iter_values((0..rows).map(i64::from));
    let zoned = TimestampNanosecondArray::from_iter_values((0..rows).map(i64::from));
    let inner: ArrayRef =
        Arc::new(BooleanArray::from_iter((0..rows).map(|row| Some(row % 2 == 0))));
    let nested = StructArray::from(vec![
        (Arc::new(Field::new("flag", DataType::Boolean, true)), inner),
        (Arc::new(Field::new("id", DataType::Int32, true)), ids.clone()),
    ]);
    RecordBatch::try_from_iter_with_nullable([
        ("id", ids, true),
        ("name", names, true),
        ("score", floats, true),
        ("list", Arc::new(lists.finish()) as ArrayRef, true),
        ("utc", Arc::new(utc.with_timezone("UTC")) as ArrayRef, true),
        ("zoned", Arc::new(zoned.with_timezone("Europe/Berlin")) as ArrayRef, true),
        ("nested", Arc::new(nested) as ArrayRef, true),
    ])
    .unwrap()
}

fn file(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_max_row_group_row_count(Some(1000))
        .set_data_page_row_count_limit(100)
        .set_write_batch_size(50)
        .build();
    let mut out = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut out, batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
    out
}

fn open(file: Vec<u8>) -> Result<Table> {
    hypostyle::open_source(Arc::new(Bytes::from(file)), &OpenOptions::default())
}

#[test]
fn every_compression_nested_values_and_time_zones_are_read() {
    let batch = table(5000);
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::GZIP(GzipLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ] {
        let table = open(file(&batch, compression)).unwrap();
        assert_eq!(table.schema().unwrap().fields(), batch.schema().fields());
        assert_eq!(all_rows(&table).unwrap().columns(), batch.columns(), "{compression}");
    }
}

#[test]
fn statistics_come_from_the_footer_and_prune_row_groups() {
    let table = open(file(&table(5000), Compression::SNAPPY)).unwrap();
    let ids = table.column_statistics(0).unwrap();
    let value = |array: Option<ArrayRef>| array.unwrap().as_primitive::<Int32Type>().value(0);
    assert_eq!((value(ids.min), value(ids.max)), (0, 4999));
    assert_eq!((ids.null_count, ids.is_exact), (Some(0), true));
    assert_eq!(table.column_statistics(1).unwrap().null_count, Some(1000));
    for (predicate, rows, pruned) in [
        ("id >= 4500", 500, 4),
        ("id < 0", 0, 5),
        ("name = 'name 1'", 50, 0),
        ("name = 'zebra'", 0, 5),
        ("name is null", 1000, 0),
        ("id is null", 0, 5),
        // The footer does not say whether there is a NaN, which is greater than all numbers.
        ("score > 4900 and score < 4910", 8, 0),
        ("nested.id = 7", 1, 0),
        ("nested.flag and id < 10", 5, 4),
        ("list[0] = 0 and id < 100", 75, 4),
    ] {
        let mut batches = table.scan().filter(predicate.parse().unwrap()).batches().unwrap();
        let mut found = 0;
        while let Some(batch) = batches.next_batch().unwrap() {
            found += batch.num_rows();
        }
        assert_eq!(found, rows, "{predicate}");
        assert_eq!(batches.stats().row_groups_pruned, pruned, "{predicate}");
    }
}

/// Every window, selection and order of reads gives the rows of the file.
#[test]
fn windows_and_selections_match_the_whole() {
    let batch = table(5000);
    let opened = open(file(&batch, Compression::SNAPPY)).unwrap();
    for size in [11, 100, 3000] {
        for predicate in ["id % 97 = 0", "id % 2 = 0", "id > 2500 and id % 400 < 3", "true"] {
            let ids = batch.column(0).as_primitive::<Int32Type>();
            let matches = |id: &i32| match predicate {
                "id % 97 = 0" => id % 97 == 0,
                "id % 2 = 0" => id % 2 == 0,
                "true" => true,
                _ => *id > 2500 && id % 400 < 3,
            };
            let want: Vec<i32> = ids.values().iter().copied().filter(matches).collect();
            let scan = opened.scan().filter(predicate.parse().unwrap()).batch_size(size);
            let scan = scan.columns(["list", "name", "id"]);
            let mut got = Vec::new();
            for part in scan.batches().unwrap() {
                let part = part.unwrap();
                assert!(part.num_rows() <= size);
                let ids = part.column(2).as_primitive::<Int32Type>();
                for (row, &id) in ids.values().iter().enumerate() {
                    let at = usize::try_from(id).unwrap();
                    assert_eq!(&part.column(0).slice(row, 1), &batch.column(3).slice(at, 1));
                    assert_eq!(&part.column(1).slice(row, 1), &batch.column(1).slice(at, 1));
                }
                got.extend_from_slice(ids.values());
            }
            assert_eq!(got, want, "{predicate} in batches of {size}");
        }
    }
    let mut taken = opened.scan().columns(["id"]).take(&[4999, 0, 2500, 0]).batches().unwrap();
    let taken = taken.next_batch().unwrap().unwrap();
    assert_eq!(taken.column(0).as_primitive::<Int32Type>().values(), &[4999, 0, 2500, 0]);
}

#[test]
fn bytes_are_asked_for_and_only_those_that_are_needed() {
    let file = Bytes::from(file(&table(20_000), Compression::UNCOMPRESSED));
    let cache = Arc::new(RangeCache::of_size(file.len() as u64));
    let fetch = |ranges: &[std::ops::Range<u64>]| {
        let slice = |range: &std::ops::Range<u64>| {
            let at = usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
            (range.clone(), file.slice(at))
        };
        ranges.iter().map(slice).collect::<Vec<_>>()
    };
    let options = OpenOptions::default();
    let opened = loop {
        match hypostyle::open_cache(cache.clone(), &options) {
            Ok(table) => break table,
            Err(err) => {
                cache.supply(fetch(&hypostyle::MissingRanges::of(&err).unwrap().0));
            }
        }
    };
    let scan = opened.scan().columns(["id"]).filter("id >= 19990".parse().unwrap());
    let mut decoder = scan.decoder().unwrap();
    let (mut rows, mut bytes, mut steps) = (0, 0, 0);
    loop {
        match decoder.step().unwrap() {
            Step::Batch(batch) => rows += batch.num_rows(),
            Step::Done => break,
            Step::Missing(ranges) => {
                steps += 1;
                bytes += ranges.iter().map(|range| range.end - range.start).sum::<u64>();
                decoder.supply(fetch(&ranges));
            }
        }
    }
    // The last rows may be next to the footer, which is fetched when the file is opened.
    assert_eq!(rows, 10);
    assert!(steps <= 1, "{steps} rounds");
    assert!(bytes * 10 < file.len() as u64, "{bytes} of {}", file.len());
}
