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
use hypostyle_core::spelling::Spelling;
use hypostyle_core::text::{
    ColumnState, DecimalRange, InferredState, SpelledRange, TextOptions, TextSummary,
};
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

fn packed_days(codec: Choice) -> Vec<u8> {
    let row = |i: usize| {
        let day = format!("2024-{:02}-{:02}", i % 12 + 1, i % 28 + 1);
        let n = if i % 9 == 4 { "NA".to_owned() } else { (i % 7).to_string() };
        format!("{day},{day} {:02}:00:00,{i}.{:02},n{},{n}\n", i % 24, i % 100, i * i % 401)
    };
    let text = "day,at,price,name,n\n".to_owned() + &(0..ROWS).map(row).collect::<String>();
    let options = PackOptions::default().with_level(1).with_codec(codec).with_name(Some("t.csv"));
    pack(text.as_bytes(), &options).unwrap().0
}

fn spelled_state(cell: &str) -> ColumnState {
    let spelling = Spelling::of(cell.as_bytes()).unwrap();
    let value = spelling.read(cell.as_bytes()).unwrap();
    let spelled = Some(SpelledRange { spelling, min: value, max: value });
    let (liberal_ints, liberal_floats) = (false, false);
    let texts = true;
    let state =
        InferredState { texts, liberal_ints, liberal_floats, spelled, ..InferredState::NONE };
    ColumnState::Cells(state)
}

/// A change of what is stated, and whether reading then fails.
type Lie<'a> = (&'a dyn Fn(&mut TextSummary), bool);

/// A type that the cells do not have is an error, and other lies are found by a check.
#[test]
fn types_that_cells_do_not_have_are_errors() {
    let lies: [Lie<'_>; 8] = [
        (&|table| table.columns[3].state = spelled_state("2024-01-04"), true),
        (&|table| table.columns[3].state = spelled_state("2024-01-04 12:00:00"), true),
        (&|table| table.columns[3].state = spelled_state("true"), true),
        (&|table| table.columns[0].state = spelled_state("2024-01-04T12:00:00Z"), false),
        (&|table| table.columns[1].state = spelled_state("2024-01-04"), true),
        // The values are the same, but are printed in another way.
        (&|table| table.columns[1].state = spelled_state("2024-01-04T12:00:00"), false),
        (
            &|table| {
                let scale = 1;
                let range = Some(Box::new(DecimalRange { scale, min: 0, max: 9 }));
                let state = InferredState { texts: true, decimals: range, ..InferredState::NONE };
                table.columns[2].state = ColumnState::Cells(state);
            },
            true,
        ),
        (&|table| table.columns[4].odd_token.as_mut().unwrap().text = "NULL".to_owned(), true),
    ];
    for codec in [Choice::Auto, Choice::Query] {
        let archive = packed_days(codec);
        assert_eq!(rows(archive.clone()).unwrap().len(), ROWS);
        let (opened, _) = open(archive.clone());
        assert!(opened.check_table().unwrap().is_none());
        let metadata = opened.table_metadata().unwrap().unwrap().clone();
        for (number, (lie, fails)) in lies.iter().enumerate() {
            let mut lying: TableMetadata = metadata.clone();
            lie(lying.summary.as_mut().unwrap());
            let lying = with_content(&archive, &lying.content().unwrap());
            assert_eq!(rows(lying.clone()).is_err(), *fails, "{codec:?}, lie {number}");
            let said = open(lying).0.check_table();
            assert!(!matches!(said, Ok(None)), "{codec:?}, lie {number} is not reported");
        }
    }
}

/// An archive whose metadata know no spellings is a table of numbers and texts, as it was, and no
/// check finds fault with it.
#[test]
fn archives_of_the_first_version_are_read() {
    for codec in [Choice::Auto, Choice::Query] {
        let archive = packed_days(codec);
        let metadata = open(archive.clone()).0.table_metadata().unwrap().unwrap().clone();
        let mut older = TableMetadata { has_spellings: false, ..metadata };
        for column in &mut older.summary.as_mut().unwrap().columns {
            column.odd_token = column.odd_token.take().filter(|odd| odd.others.ints);
        }
        let older = with_content(&archive, &older.content().unwrap());
        assert_eq!(rows(older.clone()).unwrap().len(), ROWS);
        let (opened, _) = open(older);
        let table = opened.table(None, &TextOptions::default()).unwrap();
        let schema = table.schema();
        let types: Vec<String> =
            schema.fields().iter().map(|field| field.data_type().to_string()).collect();
        assert_eq!(types, ["Utf8", "Utf8", "Utf8", "Utf8", "Int32"]);
        assert!(opened.check_table().unwrap().is_none(), "{codec:?}");
    }
}

/// Nothing in an archive without checksums is trusted before its text matches the hash.
#[test]
fn an_archive_without_checksums_is_compared_with_its_hash_before_the_first_row() {
    for codec in [Choice::Auto, Choice::Query] {
        let archive = packed(codec);
        let mut metadata = open(archive.clone()).0.table_metadata().unwrap().unwrap().clone();
        assert!(metadata.checksums.take().is_some());
        let content = metadata.content().unwrap();
        assert_eq!(content[0], 2);
        let older = with_content(&archive, &content);
        assert_eq!(rows(older.clone()).unwrap(), rows(archive).unwrap());
        // A flip in the last kilobyte before the trailer, which is in the columns.
        let mut found = 0;
        for at in older.len() - 1000..older.len() - 36 {
            let mut damaged = older.clone();
            damaged[at] ^= 4;
            let (archive, source) = open(damaged);
            let Ok(reader) = archive.table(None, &TextOptions::default()) else { continue };
            let first = Table::new(reader, source).scan().limit(1).batches().unwrap().next();
            let first = first.unwrap();
            let is_right = first.as_ref().is_ok_and(|batch| batch.num_rows() == 1);
            assert!(is_right || first.is_err(), "byte {at}");
            found += usize::from(first.is_err());
        }
        assert!(found > 900, "{found}");
    }
}
