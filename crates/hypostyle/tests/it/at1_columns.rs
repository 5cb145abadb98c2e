//! Reads some columns of an archive without decoding the others.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::Capabilities;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions, TableOptions};
use hypostyle::spill::SpillBuffer;
use hypostyle::text::{ImportOptions, Imported};
use hypostyle::{ColumnSource, ReadOptions, Result};

/// Returns a table in which one column takes most of the archive.
fn table(rows: u64) -> String {
    let mut text = String::from("city,land,noise,code\n");
    let mut dice = 1_u64;
    for _ in 0..rows {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (city, land) = if dice >> 63 == 0 { ("Oslo", "NO") } else { ("Rome", "IT") };
        let _ = writeln!(text, "{city},{land},{:012x},{}", dice >> 16, dice >> 60);
    }
    text
}

fn import(archive: &[u8], columns: Option<&[&str]>) -> Result<Imported> {
    let source = Arc::new(Bytes::copy_from_slice(archive));
    let columns = columns.map(|names| names.iter().map(|&name| name.to_owned()).collect());
    let table = TableOptions { columns, ..TableOptions::default() };
    let options = ImportOptions::new(Capabilities::EVERYTHING);
    Archive::open(source, &ReadOptions::default())?.import(
        &table,
        &options,
        SpillBuffer::in_memory(),
    )
}

fn names(table: &Imported) -> Vec<String> {
    table.schema().fields().iter().map(|field| field.name().clone()).collect()
}

#[test]
fn a_damaged_column_does_not_keep_others_from_being_read() {
    let text = table(4000);
    let (mut archive, _) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
    let whole = import(&archive, None).unwrap();
    assert_eq!(names(&whole), ["city", "land", "noise", "code"]);
    let some = import(&archive, Some(&["land", "code"])).unwrap();
    assert_eq!(some.rows(), 4000);
    assert!(!names(&some).contains(&"noise".to_owned()));

    let middle = archive.len() / 2;
    archive[middle] ^= 0x55;
    assert!(import(&archive, None).is_err());
    assert!(import(&archive, Some(&["noise"])).is_err());
    let again = import(&archive, Some(&["land", "code"])).unwrap();
    assert_eq!(again.batch(0).unwrap(), some.batch(0).unwrap());
}

#[test]
fn names_that_are_not_there_and_tables_with_odd_lines_are_read_whole() {
    let text = table(500);
    let (archive, _) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
    let whole = import(&archive, Some(&["land", "nothing"])).unwrap();
    assert_eq!(names(&whole), ["city", "land", "noise", "code"]);

    let odd = text.replacen('\n', "\nno row\n", 1);
    let (archive, _) = at1::pack(odd.as_bytes(), &PackOptions::default()).unwrap();
    let whole = import(&archive, Some(&["land"])).unwrap();
    assert_eq!((names(&whole).len(), whole.rows()), (4, 500));
    assert_eq!(whole.skipped().count, 1);
}

#[test]
fn damage_anywhere_is_an_error_at_worst() {
    let options = PackOptions::default().with_codec(Choice::Only(Codec::Columnar));
    for level in [1, 6] {
        let options = options.clone().with_level(level);
        let (archive, _) = at1::pack(table(40).as_bytes(), &options).unwrap();
        assert!(import(&archive, Some(&["land"])).is_ok());
        for at in 0..archive.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bad = archive.clone();
                bad[at] ^= flip;
                let _ = import(&bad, Some(&["land"]));
                let _ = import(&bad[..at], Some(&["land", "code"]));
            }
        }
    }
}
