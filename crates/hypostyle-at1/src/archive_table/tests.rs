//! Streams `hyp.table` that lie are found out, and never give other rows.

use std::sync::Arc;

use bytes::Bytes;

use crate::archive::Archive;
use crate::pack::{Choice, PackOptions, pack};
use crate::table_metadata::TableMetadata;
use hypostyle_core::error::Result;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::scan::Table;
use hypostyle_core::source::RangeCache;
use hypostyle_core::text::{ColumnState, InferredState, TextOptions, TextSummary};
use hypostyle_core::wire::{Cursor, put};

const ROWS: usize = 900;

fn packed(codec: Choice) -> Vec<u8> {
    let row = |i: usize| format!("{i},{},{}.5,n{}\n", i % 7, i % 90, i * i % 401);
    let text = "id,kind,price,name\n".to_owned() + &(0..ROWS).map(row).collect::<String>();
    let options = PackOptions::default().with_level(1).with_codec(codec).with_name(Some("t.csv"));
    pack(text.as_bytes(), &options).unwrap().0
}

fn open(archive: Vec<u8>) -> (Archive, Arc<RangeCache>) {
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::from(archive))));
    (Archive::open(source.clone(), &ReadOptions::default()).unwrap(), source)
}

/// Returns an archive whose first stream has another content.
fn with_content(archive: &[u8], content: &[u8]) -> Vec<u8> {
    let mut cursor = Cursor::new(&archive[5..], 5);
    let count = cursor.uv("streams").unwrap();
    let name = cursor.lp("name").unwrap();
    cursor.u8("backend").unwrap();
    cursor.lp("payload").unwrap();
    let mut out = archive[..5].to_vec();
    put::uv(&mut out, count);
    put::lp(&mut out, name);
    out.push(2);
    put::lp(&mut out, content);
    out.extend_from_slice(cursor.rest());
    out
}

/// Reads all rows as lines of text.
fn rows(archive: Vec<u8>) -> Result<Vec<String>> {
    let (archive, source) = open(archive);
    let table = Table::new(archive.table(None, &TextOptions::default())?, source);
    let mut batches = table.scan().batches()?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1)));
            rows.push(cells.collect::<String>());
        }
    }
    Ok(rows)
}

#[test]
fn a_stream_that_lies_gives_an_error_or_the_same_rows() {
    let lies: [&dyn Fn(&mut TextSummary); 8] = [
        &|table| table.rows -= 1,
        &|table| table.rows += 1,
        &|table| table.bytes += 1,
        &|table| table.columns[1].name.push('x'),
        &|table| table.columns[3].state = ColumnState::Cells(int_state(0..9)),
        &|table| table.columns[2].nulls = Some(5),
        &|table| table.columns[0].state = ColumnState::Cells(int_state(3..4)),
        &|table| table.columns.truncate(3),
    ];
    for codec in [Choice::Auto, Choice::Query] {
        let archive = packed(codec);
        let truth = rows(archive.clone()).unwrap();
        assert_eq!(truth.len(), ROWS);
        let (opened, _) = open(archive.clone());
        assert!(opened.check_table().unwrap().is_none());
        let metadata = opened.table_metadata().unwrap().unwrap().clone();
        for (number, lie) in lies.iter().enumerate() {
            let mut lying: TableMetadata = metadata.clone();
            lie(lying.summary.as_mut().unwrap());
            let lying = with_content(&archive, &lying.content().unwrap());
            if let Ok(found) = rows(lying.clone()) {
                assert_eq!(found, truth, "{codec:?}, lie {number}");
            }
            let said = open(lying).0.check_table();
            assert!(!matches!(said, Ok(None)), "{codec:?}, lie {number} is not reported");
        }
    }
}

fn int_state(range: std::ops::Range<i64>) -> InferredState {
    InferredState { ints: true, range: (range.start, range.end), ..InferredState::NONE }
}

#[test]
fn damage_in_any_byte_of_the_stream_is_an_error_of_the_table_only() {
    let archive = packed(Choice::Query);
    let content = open(archive.clone()).0.table_metadata().unwrap().unwrap().content().unwrap();
    for at in 1..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 0x41;
        let damaged = with_content(&archive, &damaged);
        assert!(rows(damaged.clone()).is_err(), "byte {at}");
        let (opened, _) = open(damaged);
        assert!(opened.check_table().unwrap().is_some(), "byte {at}");
        opened.unpack(&mut std::io::sink()).unwrap();
    }
}
