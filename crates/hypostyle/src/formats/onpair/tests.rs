//! Round trips of tables, chunks and dictionaries, and forged footers.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BinaryArray, Int32Array, LargeBinaryArray, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::DataType;
use bytes::Bytes;

use super::column_chunk::{ChunkSection, ColumnChunk};
use super::layout::{self, MAGIC};
use super::{OnPair, encode};
use crate::{ErrorKind, Limits, ReadOptions, RowSelection, WriteOptions};
use hypostyle_core::format::Format;
use hypostyle_core::predicate::Predicate;
use hypostyle_core::reader::Reader;
use hypostyle_core::scan::Table;
use hypostyle_core::source::RangeCache;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let columns = columns.into_iter().map(|(name, array)| (name, array, true));
    RecordBatch::try_from_iter_with_nullable(columns).unwrap()
}

fn texts(cells: impl IntoIterator<Item = Option<String>>) -> ArrayRef {
    Arc::new(StringArray::from_iter(cells))
}

fn write(batch: &RecordBatch, max_rows: u32) -> Vec<u8> {
    let mut file = Vec::new();
    encode::write_chunks(batch, &mut file, &WriteOptions::default(), max_rows).unwrap();
    file
}

fn open(file: &[u8]) -> Arc<dyn Reader> {
    let options = ReadOptions::default().with_strict(true);
    OnPair.open(Arc::new(Bytes::copy_from_slice(file)), &options).unwrap()
}

/// Reads all columns and chunks, and returns them as one batch of binary columns.
fn read(file: &[u8]) -> RecordBatch {
    let reader = open(file);
    let columns: Vec<usize> = (0..reader.schema().fields().len()).collect();
    let chunks: Vec<RecordBatch> =
        (0..reader.row_groups()).map(|chunk| reader.read(chunk, &columns).unwrap()).collect();
    for (chunk, batch) in chunks.iter().enumerate() {
        assert_eq!(reader.row_group_rows(chunk), batch.num_rows() as u64);
    }
    let arrays = columns.iter().map(|&column| {
        let pieces: Vec<&dyn Array> = chunks.iter().map(|b| b.column(column).as_ref()).collect();
        let whole: Vec<Option<Vec<u8>>> = pieces.iter().flat_map(|piece| cells(*piece)).collect();
        Arc::new(BinaryArray::from_iter(whole)) as ArrayRef
    });
    let arrays: Vec<ArrayRef> = arrays.collect();
    let names = reader.schema();
    let fields = names.fields().iter().zip(arrays).map(|(f, a)| (f.name().clone(), a, true));
    RecordBatch::try_from_iter_with_nullable(fields).unwrap()
}

fn cells(array: &dyn Array) -> Vec<Option<Vec<u8>>> {
    let owned = |cell: Option<&[u8]>| cell.map(<[u8]>::to_vec);
    match array.data_type() {
        DataType::Utf8 => {
            array.as_string::<i32>().iter().map(|c| owned(c.map(str::as_bytes))).collect()
        }
        DataType::LargeUtf8 => {
            array.as_string::<i64>().iter().map(|c| owned(c.map(str::as_bytes))).collect()
        }
        DataType::Binary => array.as_binary::<i32>().iter().map(owned).collect(),
        _ => array.as_binary::<i64>().iter().map(owned).collect(),
    }
}

/// Checks that a table round-trips in chunks of `max_rows` rows, on any number of threads.
fn round_trip(batch: &RecordBatch, max_rows: u32) -> Vec<u8> {
    let file = write(batch, max_rows);
    let back = read(&file);
    for (index, column) in batch.columns().iter().enumerate() {
        assert!(cells(column) == cells(back.column(index)), "column {index}");
    }
    let reader = OnPair.open(Arc::new(Bytes::from(file.clone())), &ReadOptions::default()).unwrap();
    check_read_rows(&reader);
    check_read_rows(&open(&file));
    for threads in [1, 3] {
        let mut again = Vec::new();
        let options = WriteOptions::default().with_threads(NonZeroUsize::new(threads));
        encode::write_chunks(batch, &mut again, &options, max_rows).unwrap();
        assert!(again == file, "{threads} threads");
    }
    file
}

/// Checks that `read_rows` returns the same rows as `read`.
fn check_read_rows(reader: &Arc<dyn Reader>) {
    let columns: Vec<usize> = (0..reader.schema().fields().len()).rev().collect();
    for chunk in 0..reader.row_groups() {
        let whole = reader.read(chunk, &columns).unwrap();
        let all = whole.num_rows();
        for step in [1, 2, 3, 50, all + 1] {
            for range in [0..all, 0..all / 2, all / 3..all, all / 2..(all / 2 + 1).min(all)] {
                let rows: RowSelection = range.step_by(step).collect();
                let some = reader.read_rows(chunk, &columns, &rows).unwrap();
                assert_eq!(some, rows.of(&whole).unwrap(), "{rows:?} of {all}");
            }
        }
        let beyond = reader.read_rows(chunk, &columns, &RowSelection::from(all..all + 1));
        assert!(matches!(beyond.unwrap_err().kind(), ErrorKind::InvalidArgument(_)));
    }
    assert!(reader.read_rows(reader.row_groups(), &columns, &RowSelection::default()).is_err());
}

fn urls(count: usize) -> impl Iterator<Item = Option<String>> {
    let word = |i: usize| ["alpha", "beta", "gamma", "delta"][i % 4];
    let url = move |i: usize| {
        let page = i.wrapping_mul(2_654_435_761) >> 8 & 0xFFFF;
        format!("https://www.example.com/{}/{}/page-{page}.html", word(i / 3), word(i))
    };
    (0..count).map(move |i| (i % 11 != 5).then(|| url(i)))
}

fn column_chunks(file: &[u8]) -> Vec<ColumnChunk> {
    let source = Bytes::copy_from_slice(file);
    let layout = layout::parse(&source, &layout::head(), &Limits::default()).unwrap();
    (0..layout.columns.len()).flat_map(|column| layout.column_chunks(column).to_vec()).collect()
}

#[test]
fn small_tables_of_every_type_round_trip() {
    let some = |cells: &[&str]| texts(cells.iter().map(|cell| Some((*cell).to_owned())));
    round_trip(&batch(vec![("s", some(&[]))]), 9);
    round_trip(&batch(vec![("s", some(&[""]))]), 9);
    round_trip(&batch(vec![("s", some(&["", "a", "", "\0", "naïve 名😀"]))]), 9);
    round_trip(&batch(vec![("s", texts([None, None, None]))]), 9);
    round_trip(&batch(vec![("s", texts([None])), ("t", texts([Some(String::new())]))]), 9);
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"\xFF\0"[..], b"", b"x"]));
    let large: ArrayRef = Arc::new(LargeBinaryArray::from(vec![&[0xFF; 100][..], b"", b"x"]));
    let wide: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("a"), None, Some("")]));
    let file = round_trip(&batch(vec![("b", bytes), ("l", large), ("", wide)]), 2);
    let types: Vec<DataType> =
        open(&file).schema().fields().iter().map(|field| field.data_type().clone()).collect();
    assert_eq!(types, [DataType::Binary, DataType::Binary, DataType::Utf8]);
    assert_eq!(open(&file).row_groups(), 2);
}

#[test]
fn strings_are_stored_as_codes_and_later_chunks_share_a_dictionary() {
    let table = batch(vec![("url", texts(urls(6000)))]);
    let file = round_trip(&table, 2000);
    let text: usize = table.column(0).as_string::<i32>().value_data().len();
    assert!(file.len() * 3 < text, "{} of {text}", file.len());
    let chunks = column_chunks(&file);
    let owners = |chunks: &[ColumnChunk]| -> Vec<usize> {
        chunks.iter().map(|chunk| chunk.coding.unwrap().dictionary_chunk).collect()
    };
    assert_eq!(owners(&chunks), [0, 0, 0]);
    for chunk in &chunks {
        assert!(chunk.section_offset(ChunkSection::Values).is_multiple_of(8));
        assert!(!chunk.indexed && chunk.section(ChunkSection::Nulls).len > 0);
    }

    // Other strings get a new dictionary, and the next chunk uses the latest one.
    let other = (0..4000_u64).map(|i| {
        Some(format!(
            "{:032X}",
            u128::from(i).wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835)
        ))
    });
    let table = batch(vec![("x", texts(urls(2000).chain(other)))]);
    assert_eq!(owners(&column_chunks(&round_trip(&table, 2000))), [0, 1, 1]);
}

#[test]
fn few_distinct_strings_are_stored_once() {
    let colours = ["red", "green", "blue", ""];
    let cells = (0..5000_usize).map(|i| (i % 7 > 0).then(|| colours[i * i % 31 % 4].to_owned()));
    let file = round_trip(&batch(vec![("colour", texts(cells))]), 1 << 20);
    let [chunk] = &column_chunks(&file)[..] else { unreachable!() };
    assert!(chunk.indexed && chunk.coding.is_none());
    assert_eq!((chunk.values, chunk.text_len > 10_000), (4, true));
    assert!(file.len() < 5000 * 2 / 8 + 5000 / 8 + 400, "{}", file.len());
    // A constant column takes almost no bytes.
    let same =
        round_trip(&batch(vec![("s", texts((0..5000).map(|_| Some("same".to_owned()))))]), 1 << 20);
    assert!(same.len() < 350, "{}", same.len());
    // Many distinct strings are themselves stored as codes.
    let twice = urls(3000).chain(urls(3000)).chain(urls(3000)).chain(urls(3000));
    let file = round_trip(&batch(vec![("u", texts(twice))]), 1 << 20);
    let [chunk] = &column_chunks(&file)[..] else { unreachable!() };
    assert!(chunk.indexed && chunk.coding.is_some());
}

#[test]
fn every_level_gives_the_same_strings() {
    let table = batch(vec![("url", texts(urls(300)))]);
    for level in [0, 1, 6, 12] {
        let mut file = Vec::new();
        OnPair.encode(&table, &mut file, &WriteOptions::default().with_level(level)).unwrap();
        assert!(cells(table.column(0)) == cells(read(&file).column(0)));
        assert_eq!(column_chunks(&file)[0].coding.is_none(), level == 0);
    }
}

#[test]
fn columns_that_are_not_strings_are_refused_with_a_way_out() {
    let table = batch(vec![("n", Arc::new(Int32Array::from(vec![1])))]);
    let err = OnPair.encode(&table, &mut Vec::new(), &WriteOptions::default()).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Refused { .. }));
    assert!(err.to_string().starts_with("onpair: column 1 `n`: columns of type Int32"), "{err}");
    assert!(err.to_string().contains("cast it to text"), "{err}");
}

#[test]
fn bounds_prune_chunks() {
    let cells = (0..400).map(|i| (i % 40 > 0).then(|| format!("{i:03}{}", "x".repeat(40))));
    let empties = (0..400).map(|i| (i >= 100).then(|| if i < 200 { "" } else { "b" }.to_owned()));
    let file = round_trip(&batch(vec![("k", texts(cells)), ("e", texts(empties))]), 100);
    let reader = open(&file);
    let kept = |test: &str| {
        let bound = Predicate::parse(test).unwrap().bind(&reader.schema()).unwrap();
        let may =
            |&chunk: &usize| bound.may_match(reader.pruning_statistics(chunk).unwrap().as_ref());
        (0..4).filter(may).collect::<Vec<_>>()
    };
    assert_eq!(kept("k like '25%'"), [2]);
    assert_eq!(kept("k >= '3'"), [3]);
    assert_eq!(kept("k < '15'"), [0, 1]);
    assert_eq!(kept("k between '15' and '17'"), [1]);
    assert_eq!(kept(&format!("k = '199{}'", "x".repeat(40))), [1]);
    assert!(kept("k = '4'").is_empty());
    assert_eq!(kept("k is null"), [0, 1, 2, 3]);
    assert_eq!(kept("e is not null"), [1, 2, 3]);
    assert_eq!(kept("e is null"), [0, 1]);
    assert_eq!(kept("e = ''"), [1]);
    assert!(kept("e = 'bc'").is_empty());
}

#[test]
fn limits_are_checked_before_memory_is_allocated() {
    let cells = (0..100_000).map(|_| Some("constant".to_owned()));
    let file = write(&batch(vec![("s", texts(cells))]), 1 << 20);
    assert!(file.len() < 4000, "{}", file.len());
    for limits in [
        Limits::default().with_block_bytes(1 << 20),
        Limits::default().with_read_bytes(1 << 20),
        Limits::default().with_header_bytes(10),
    ] {
        let options = ReadOptions::default().with_limits(limits);
        let reader = OnPair.open(Arc::new(Bytes::from(file.clone())), &options);
        let err = reader.and_then(|reader| reader.read(0, &[0])).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
    }
}

/// Changes the footer with `change`, and makes its checksum agree again.
fn forged(file: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let (rest, tail) = file.split_at(file.len() - 24);
    let len = usize::try_from(u64::from_le_bytes(tail[..8].try_into().unwrap())).unwrap();
    let (sections, footer) = rest.split_at(rest.len() - len);
    let mut footer = footer.to_vec();
    change(&mut footer);
    let sum = hypostyle_core::wire::crc32(&footer);
    let len = footer.len() as u64;
    [sections, &footer, &len.to_le_bytes(), &sum.to_le_bytes(), &1_u32.to_le_bytes(), &MAGIC]
        .concat()
}

/// A footer with any content and a valid checksum is read within the limits, or refused.
#[test]
fn a_forged_footer_returns_or_fails() {
    let cells = (0..300).map(|i| (i % 9 > 0).then(|| format!("value {}", i % 5)));
    let file = write(&batch(vec![("a", texts(cells)), ("url", texts(urls(300)))]), 150);
    let options = ReadOptions::default()
        .with_limits(Limits::default().with_block_bytes(1 << 20).with_read_bytes(1 << 21));
    let footer = open(&file).sections().iter().rev().nth(1).unwrap().stored;
    for at in 0..usize::try_from(footer).unwrap() {
        for change in [1, 2, 8, 0x80, 0xFF] {
            let forged = forged(&file, |footer| footer[at] ^= change);
            let Ok(reader) = OnPair.open(Arc::new(Bytes::from(forged)), &options) else { continue };
            for chunk in 0..reader.row_groups() {
                for column in 0..reader.schema().fields().len() {
                    let _ = reader.read(chunk, &[column]);
                    let rows = usize::try_from(reader.row_group_rows(chunk)).unwrap();
                    let some = (0..rows.min(1000)).step_by(7).collect();
                    let _ = reader.read_rows(chunk, &[column], &some);
                }
            }
            let test = Predicate::parse("a like '%e 3%' or url < 'i'").unwrap();
            let table = Table::new(reader, Arc::new(RangeCache::of_size(0)));
            if let Ok(batches) = table.scan().filter(test).batches() {
                batches.for_each(drop);
            }
        }
    }
}
