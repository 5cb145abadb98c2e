//! Scans of tables that are larger than their memory limit.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::at1::{self, Choice, PackOptions};
use hypostyle::formats::{self, Format};
use hypostyle::{FileKind, RangeCache, ReadOptions, Table, Writer, WriterOptions};
use hypostyle_testkit::build::{Block, clmn, colf, colm};
use hypostyle_testkit::source::CountingSource;

use super::{alone, cost};

const ROWS: u32 = 256 << 10;
const TEXT: &[u8] = &[b'x'; 1000];
const MEMORY: usize = 32 << 20;

/// Returns a file in each format with four columns of 256 MB of text, in one block that they
/// share, and a column of numbers.
fn large_files() -> Vec<(&'static dyn Format, Bytes)> {
    let texts = vec![TEXT; ROWS as usize];
    let numbers: Vec<i32> = (0..ROWS.cast_signed()).collect();
    let name = |index: usize| format!("s{index}").into_bytes();
    let shared = |block: &Block| Block::shared(1, block.raw);

    let block = Block::of(&colm::strings(&texts));
    let mut columns = vec![colm::Column::int32("n", &numbers)];
    columns.extend((0..4).map(|index| {
        let block = if index == 0 { block.clone() } else { shared(&block) };
        colm::Column { name: name(index), code: 3, block }
    }));
    let colm = colm::File::new(ROWS, columns).build().bytes;

    let block = Block::of(&clmn::strings(&texts));
    let mut columns = vec![clmn::Column::int32("n", &numbers)];
    columns.extend((0..4).map(|index| {
        let block = if index == 0 { block.clone() } else { shared(&block) };
        clmn::Column { name: name(index), code: 3, block }
    }));
    let clmn = clmn::File::new(ROWS.into(), columns).build().bytes;

    // Every eighth row is null, and its text belongs to the row before.
    let mut values = Vec::new();
    for row in 0..ROWS {
        values.extend_from_slice(&(row * 1000).to_le_bytes());
    }
    values.extend(texts.concat());
    let bits = vec![0x80; ROWS as usize / 8];
    let block = Block::of(&colf::payload(3, Some(&bits), &values));
    drop(values);
    let mut ints = Vec::new();
    numbers.iter().for_each(|number| ints.extend_from_slice(&number.to_le_bytes()));
    let mut columns = vec![colf::Column::new("n", "int32", &colf::payload(1, None, &ints))];
    columns.extend((0..4).map(|index| {
        let block = if index == 0 { block.clone() } else { shared(&block) };
        let name = format!("s{index}");
        colf::Column { flag: 1, block, ..colf::Column::new(&name, "utf8", &[]) }
    }));
    let colf = colf::File::new(ROWS.into(), columns).build().bytes;

    let files = [("colm", colm), ("colf", colf), ("clmn", clmn)];
    files.map(|(name, file)| (formats::by_name(name).unwrap(), Bytes::from(file))).into()
}

#[test]
fn a_scan_of_a_gigabyte_stays_within_its_memory() {
    let _alone = alone();
    for (format, file) in large_files() {
        // A source whose bytes do not count as being in memory.
        let source = Arc::new(CountingSource::new(Arc::new(file)));
        let cache = Arc::new(RangeCache::over(source));
        let reader = format.open(cache.clone(), &ReadOptions::default()).unwrap();
        let table = Table::new(reader, cache);
        let mut rows = 0;
        let (bytes, _) = cost(|| {
            let scan = table.scan().memory_limit(MEMORY as u64);
            let mut batches = scan.batches().unwrap();
            while let Some(batch) = batches.next_batch().unwrap() {
                rows += batch.num_rows();
            }
        });
        assert_eq!(rows, ROWS as usize);
        assert!(bytes <= MEMORY, "{format:?}: {bytes} bytes");

        // Ten rows decode little of the file.
        let (bytes, _) = cost(|| {
            let mut batches = table.scan().limit(10).batches().unwrap();
            assert_eq!(batches.next_batch().unwrap().unwrap().num_rows(), 10);
        });
        assert!(bytes <= 4 << 20, "{format:?}: {bytes} bytes for ten rows");
    }
}

/// The partitions of one row group share columns that fit in the memory, and only those.
#[test]
fn partitions_of_a_gigabyte_stay_within_the_memory_of_a_scan() {
    let _alone = alone();
    for (format, file) in large_files() {
        let source = Arc::new(CountingSource::new(Arc::new(file)));
        let cache = Arc::new(RangeCache::over(source));
        let reader = format.open(cache.clone(), &ReadOptions::default()).unwrap();
        let table = Table::new(reader, cache);
        let partitions = table.partitions(3).unwrap();
        assert_eq!(partitions.len(), 3);
        for columns in [&["n"][..], &["n", "s0", "s1"]] {
            let mut rows = 0;
            let (bytes, _) = cost(|| {
                for partition in &partitions {
                    let scan = table.scan().columns(columns.iter().copied());
                    let scan = scan.partition(partition).memory_limit(MEMORY as u64);
                    let mut batches = scan.batches().unwrap();
                    while let Some(batch) = batches.next_batch().unwrap() {
                        rows += batch.num_rows();
                    }
                }
            });
            assert_eq!(rows, ROWS as usize);
            assert!(bytes <= MEMORY, "{format:?} {columns:?}: {bytes} bytes");
        }
    }
}

/// Rows of the table that every kind of file stores.
const TABLE_ROWS: u32 = 320_000;

/// Bytes of its text column, which is as long in memory.
const CELL_BYTES: usize = 150;

fn batches() -> impl Iterator<Item = RecordBatch> {
    let part = 10_000;
    (0..TABLE_ROWS / part).map(move |index| {
        let rows = index * part..(index + 1) * part;
        let numbers = Int32Array::from_iter_values(rows.clone().map(u32::cast_signed));
        let text = |row: u32| format!("{:0CELL_BYTES$}", u64::from(row) * 0x9E37_79B1 % 9_973);
        let texts = StringArray::from_iter_values(rows.map(text));
        let columns = [("n", Arc::new(numbers) as ArrayRef), ("s", Arc::new(texts))];
        RecordBatch::try_from_iter(columns).unwrap()
    })
}

/// A table of 50 MB is scanned within a third of its size, in every kind of file that has no
/// whole columns.
#[test]
fn a_scan_of_every_kind_of_file_stays_within_its_memory() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let kinds = ["csv", "jsonl", "parquet", "arrow", "onpair", "at1"];
    let known = |kind: &&str| FileKind::by_extension(kind).is_some();
    for kind in kinds.into_iter().filter(known) {
        let path = folder.path().join(format!("table.{kind}"));
        let mut packed = "n,s\n".to_owned();
        if kind == "at1" {
            for batch in batches() {
                let (numbers, texts) = (batch.column(0), batch.column(1));
                let numbers = numbers.as_primitive::<Int32Type>().iter().flatten();
                for (number, text) in numbers.zip(texts.as_string::<i32>().iter().flatten()) {
                    writeln!(packed, "{number},{text}").unwrap();
                }
            }
            let options = PackOptions::default().with_level(1).with_codec(Choice::Query);
            let options = options.with_rows_per_group(NonZeroUsize::new(20_000));
            let (archive, _) = at1::pack(packed.as_bytes(), &options).unwrap();
            std::fs::write(&path, archive).unwrap();
        } else {
            let schema = batches().next().unwrap().schema();
            let mut writer = Writer::create(
                &path,
                FileKind::by_extension(kind).unwrap().id(),
                schema,
                &WriterOptions::default(),
            )
            .unwrap();
            batches().for_each(|batch| writer.write(&batch).unwrap());
            writer.finish().unwrap();
        }
        drop(packed);
        for threads in [1, 2] {
            let mut rows = 0;
            let (bytes, _) = cost(|| {
                let table = hypostyle::open(&path).unwrap();
                let scan = table.scan().memory_limit(8 << 20).threads(threads);
                let mut batches = scan.batches().unwrap();
                while let Some(batch) = batches.next_batch().unwrap() {
                    rows += batch.num_rows();
                }
            });
            assert_eq!(rows, TABLE_ROWS as usize);
            assert!(bytes <= 16 << 20, "{kind}, {threads} threads: {bytes} bytes");
        }
    }
}
