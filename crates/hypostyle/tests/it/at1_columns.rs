//! Reads some columns of an archive without decoding the others.

use std::fmt::Write;

use arrow_array::RecordBatch;
use hypostyle::Result;
use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use hypostyle::text::TextOptions;
use hypostyle_testkit::scans::collected;
use hypostyle_testkit::text_tables::archive_table;

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

fn read(archive: &[u8], columns: &[&str]) -> Result<RecordBatch> {
    let table = archive_table(None, archive, &TextOptions::default())?;
    collected(table.scan().columns(columns.iter().copied()))
}

#[test]
fn a_damaged_column_does_not_keep_others_from_being_read() {
    let text = table(4000);
    let (mut archive, _) = at1::pack(text.as_bytes(), &PackOptions::default()).unwrap();
    let all = ["city", "land", "noise", "code"];
    assert_eq!(read(&archive, &all).unwrap().num_rows(), 4000);
    let some = read(&archive, &["land", "code"]).unwrap();
    assert_eq!((some.num_rows(), some.num_columns()), (4000, 2));

    let middle = archive.len() / 2;
    archive[middle] ^= 0x55;
    assert!(read(&archive, &all).is_err());
    assert!(read(&archive, &["noise"]).is_err());
    assert_eq!(read(&archive, &["land", "code"]).unwrap(), some);
}

#[test]
fn damage_anywhere_is_an_error_at_worst() {
    let options = PackOptions::default().with_codec(Choice::Only(Codec::Columnar));
    for level in [1, 6] {
        let options = options.clone().with_level(level);
        let (archive, _) = at1::pack(table(40).as_bytes(), &options).unwrap();
        assert!(read(&archive, &["land"]).is_ok());
        for at in 0..archive.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bad = archive.clone();
                bad[at] ^= flip;
                let _ = read(&bad, &["land"]);
                let _ = read(&bad[..at], &["land", "code"]);
            }
        }
    }
}
