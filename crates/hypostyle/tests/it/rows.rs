//! Row selections: `read_rows` returns the same rows as `read`, and `.onpair` decodes no others.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use bytes::Bytes;
use hypostyle::formats::Format;
use hypostyle::formats::{self, Reader, onpair::OnPair};
use hypostyle::{ReadOptions, RowSelection, WriteOptions};
use hypostyle_testkit::build::onpair::{self, Column, ColumnChunk, File, numbers};
use hypostyle_testkit::laws;

fn open(file: Vec<u8>, options: &ReadOptions) -> Arc<dyn Reader> {
    OnPair.open(Arc::new(Bytes::from(file)), options).unwrap()
}

#[test]
fn every_format_gives_some_rows_as_it_gives_all() {
    for format in formats::tables() {
        let null = |row| format.capabilities().nulls && row % 7 == 0;
        let texts = (0..500).map(|row| (!null(row)).then(|| format!("{} of {row}", row % 3)));
        let texts: ArrayRef = Arc::new(StringArray::from_iter(texts));
        let same: ArrayRef = Arc::new(StringArray::from_iter_values((0..500).map(|_| "same")));
        let batch = RecordBatch::try_from_iter([("a", same), ("b", texts)]).unwrap();
        let file = laws::encode(format, &batch, &WriteOptions::default());
        let reader = laws::open(format, &file, &ReadOptions::default()).unwrap();
        let whole = reader.read(0, &[1, 0]).unwrap();
        for rows in [0..0, 0..1, 499..500, 100..300, 0..500] {
            let some = reader.read_rows(0, &[1, 0], &rows.clone().into()).unwrap();
            assert_eq!(some, whole.slice(rows.start, rows.len()));
        }
        let rows: RowSelection = (0..500).filter(|row| row * row % 11 < 4).collect();
        assert_eq!(reader.read_rows(0, &[1, 0], &rows).unwrap(), rows.of(&whole).unwrap());
        assert_eq!(reader.read_rows(0, &[], &rows).unwrap().num_rows(), rows.len());
        assert!(reader.read_rows(0, &[0], &RowSelection::from(499..501)).is_err());
        assert!(reader.read_rows(1, &[0], &rows).is_err());
    }
}

/// Returns files of three rows, the second of which is not UTF-8, in each encoding.
fn second_is_no_text() -> Vec<(&'static str, Vec<u8>)> {
    let cells: [Option<&[u8]>; 3] = [Some(b"ab"), Some(b"\xFFb"), Some(b"b")];
    let tokens: [&[u8]; 3] = [b"a", b"b", b"\xFF"];
    let rows: [&[u16]; 3] = [&[0, 1], &[2, 1], &[1]];
    let mut distinct = ColumnChunk::packed(9, &tokens, &[&[0, 1], &[1], &[2, 1]]);
    distinct.flags |= 1;
    distinct.sections[4] = numbers(&[0, 2, 1]);
    let file = |part| File::new(&[3], vec![Column::new("s", part)]).build().bytes;
    vec![
        ("plain", file(ColumnChunk::plain(&cells))),
        ("indexed", file(ColumnChunk::indexed(&cells))),
        ("packed", file(ColumnChunk::packed(9, &tokens, &rows))),
        ("packed and indexed", file(distinct)),
        ("cpp", onpair::cpp(9, &tokens, &rows).bytes),
    ]
}

#[test]
fn rows_that_are_not_selected_are_not_decoded() {
    for (form, file) in second_is_no_text() {
        let reader = open(file.clone(), &ReadOptions::default());
        assert!(reader.read(0, &[0]).is_err(), "{form}");
        let some = reader.read_rows(0, &[0], &[0, 2].into_iter().collect()).unwrap();
        let some = hypostyle::cast::cast(some.column(0), &arrow_schema::DataType::Utf8);
        let some: Vec<Option<String>> =
            some.unwrap().as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect();
        assert_eq!(some, [Some("ab".to_owned()), Some("b".to_owned())], "{form}");
        // The error counts the row from the start of the file.
        let err = reader.read_rows(0, &[0], &RowSelection::from(1..3)).unwrap_err();
        assert_eq!(
            (err.row(), err.to_string().contains("UTF-8")),
            (Some(1), true),
            "{form}: {err}"
        );
        // A thorough read decodes all rows.
        let thorough = open(file, &ReadOptions::default().with_thorough(true));
        let some = thorough.read_rows(0, &[0], &RowSelection::from(0..1));
        assert_eq!(some.is_ok(), form == "cpp", "{form}");
    }
}

/// The entry bounds the text of the rows, however many rows share a value.
#[test]
fn values_that_are_repeated_too_often_are_refused_before_they_are_copied() {
    let mut part = ColumnChunk::indexed(&[Some("x".repeat(1000))]);
    part.sections[4] = numbers(&[0; 1000]);
    part.text = 10_000;
    let reader = open(
        File::new(&[1000], vec![Column::new("s", part)]).build().bytes,
        &ReadOptions::default(),
    );
    assert_eq!(reader.read_rows(0, &[0], &RowSelection::from(0..10)).unwrap().num_rows(), 10);
    let err = reader.read_rows(0, &[0], &RowSelection::from(0..11)).unwrap_err().to_string();
    assert!(err.contains("some decode to 11000 bytes of text, but all have 10000"), "{err}");
}

#[test]
fn sections_are_checked_for_any_selection() {
    for at in 0..6 {
        let cells = [Some("a"), None, Some("b"), Some("a")];
        let mut part = ColumnChunk::indexed(&cells);
        if part.sections[at].is_empty() {
            continue;
        }
        part.false_sum = Some(at);
        let reader = open(
            File::new(&[4], vec![Column::new("s", part)]).build().bytes,
            &ReadOptions::default(),
        );
        let err = reader.read_rows(0, &[0], &RowSelection::from(0..1)).unwrap_err();
        assert!(err.to_string().contains("checksum"), "{at}: {err}");
    }
}

/// Counts whose sum is right only modulo 2^32 are refused, in every encoding.
#[test]
fn counts_that_add_up_past_32_bits_are_refused() {
    let tokens: [&[u8]; 1] = [b"a"];
    for mut part in [
        ColumnChunk::plain(&[Some("aa"), Some("aa")]),
        ColumnChunk::indexed(&[Some("aa"), Some("bb")]),
        ColumnChunk::packed(9, &tokens, &[&[0, 0], &[0, 0]]),
    ] {
        part.sections[2] = numbers(&[u32::MAX, 5]);
        let reader = open(
            File::new(&[2], vec![Column::new("s", part)]).build().bytes,
            &ReadOptions::default(),
        );
        for err in [
            reader.read(0, &[0]).unwrap_err(),
            reader.read_rows(0, &[0], &RowSelection::from(0..1)).unwrap_err(),
        ] {
            assert!(err.to_string().contains("add up to 4294967295, not to 4"), "{err}");
        }
    }
}

/// A slice of a table is written with its own rows only, wherever its offsets start.
#[test]
fn a_slice_is_written_with_its_own_rows() {
    let texts =
        StringArray::from_iter((0..400).map(|row| (row % 9 > 0).then(|| format!("{row:05}"))));
    let batch = RecordBatch::try_from_iter([("s", Arc::new(texts) as ArrayRef)]).unwrap();
    let slice = batch.slice(101, 222);
    let reader =
        open(laws::encode(&OnPair, &slice, &WriteOptions::default()), &ReadOptions::default());
    assert_eq!(reader.read(0, &[0]).unwrap().column(0), slice.column(0));
}
