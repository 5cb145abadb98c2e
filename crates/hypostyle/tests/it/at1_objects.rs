//! JSON Lines in archives of codec columnar: the cells of any fields are the table of the text.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions};
use hypostyle::predicate::Predicate;
use hypostyle::text::TextOptions;
use hypostyle::{RangeCache, ReadOptions, ScanStats, Table};
use hypostyle_testkit::scans::collected;
use hypostyle_testkit::text_tables::{
    an_archive_is_the_table_of_its_text, archive_table, text_table,
};
use proptest::prelude::*;

use crate::archives::opened;

const NAME: Option<&str> = Some("t.jsonl");

fn options(rows: usize) -> PackOptions {
    PackOptions::default()
        .with_level(1)
        .with_name(NAME)
        .with_codec(Choice::Only(Codec::Columnar))
        .with_rows_per_group(NonZeroUsize::new(rows))
}

fn packed(text: &str, rows: usize, frames: Option<u64>) -> Vec<u8> {
    crate::archives::packed(text, &options(rows), frames)
}

/// Returns whether the archive says where the values are: then its row groups are those of the
/// table.
fn row_groups(archive: &[u8]) -> usize {
    archive_table(NAME, archive, &TextOptions::default()).unwrap().reader().unwrap().row_groups()
}

fn holds(text: &str, archive: &[u8]) {
    an_archive_is_the_table_of_its_text(NAME, text.as_bytes(), archive, &TextOptions::default());
    assert!(opened(archive).check_groups().unwrap().is_empty());
    let mut unpacked = Vec::new();
    opened(archive).unpack(&mut unpacked).unwrap();
    assert!(unpacked == text.as_bytes());
}

/// Returns objects with a value of each kind.
fn events(rows: u64) -> String {
    let mut text = String::new();
    let mut dice = 7_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (dice >> 33) % sides
    };
    for row in 0..rows {
        let (spot, word, code) = (row / 8 + roll(11), roll(23), roll(1 << 30));
        let name = ["Oslo", r"a\tb", "Zürich", r"\u00e9\ud83d\ude00", "", "NA"];
        let name = name[usize::try_from(word).unwrap() % 6];
        let odd = ["1e3", "-0", "0.50", "null", "12345678901234567890"];
        let odd = odd[usize::try_from(spot).unwrap() % 5];
        let _ = writeln!(
            text,
            r#"{{"id":{row},"name": "{name}","odd":{odd},"code":"{code:x}","ok":{},"spot":{{"x":{spot},"y":[{word},null]}},"none":[],"nil":{{"a":{{}}}}}}"#,
            ["true", "false", "null"][usize::try_from(word).unwrap() % 3],
        );
    }
    text
}

fn filtered(table: &Table, test: &str) -> (RecordBatch, ScanStats) {
    let test: Predicate = test.parse().unwrap();
    let mut batches = table.scan().threads(1).filter(test.clone()).batches().unwrap();
    batches.by_ref().for_each(|batch| drop(batch.unwrap()));
    (collected(table.scan().filter(test)).unwrap(), batches.stats())
}

#[test]
fn objects_of_one_shape_are_read_from_columns() {
    let text = events(600);
    for (frames, groups) in [(None, 10), (Some(250), 3)] {
        let archive = packed(&text, 64, frames);
        assert!(row_groups(&archive) >= groups);
        holds(&text, &archive);
    }
    let archive = packed(&text, 64, None);
    let table = archive_table(NAME, &archive, &TextOptions::default()).unwrap();
    let want = text_table(NAME, text.as_bytes(), &TextOptions::default()).unwrap();
    for (test, most) in [
        ("id between 100 and 120", 1),
        ("id = 599", 1),
        ("name = 'Zürich'", 10),
        ("name > 'ê'", 10),
        ("name = 'é😀'", 10),
        ("odd = 1000", 10),
        ("odd is null", 10),
        ("spot.x = 40", 3),
        ("spot.x > 500", 0),
        ("spot.x is null", 10),
        ("ok is null and id > 500", 3),
    ] {
        let (found, stats) = filtered(&table, test);
        assert_eq!(found, filtered(&want, test).0, "{test}");
        assert!(stats.row_groups_read <= most, "{test}: {stats:?}");
    }
}

#[test]
fn line_ends_marks_and_spaces_belong_to_the_text_around_values() {
    let text = events(200);
    let crlf = text.replace('\n', "\r\n");
    let spaced = text.replace(",\"", " ,  \"").replace('{', "{ ");
    let open = text.trim_end().to_owned();
    let marked = format!("\u{feff}{text}");
    for text in [crlf, spaced, open, marked] {
        let archive = packed(&text, 32, None);
        assert!(row_groups(&archive) >= 6, "{}", &text[..80]);
        holds(&text, &archive);
    }
}

#[test]
fn other_lines_are_verbatim_or_the_text_is_read() {
    let lines: Vec<String> = events(400).lines().map(str::to_owned).collect();
    let with = |odd: &str, every: usize| {
        let mut text = String::new();
        for (at, line) in lines.iter().enumerate() {
            let _ = writeln!(text, "{line}");
            if at % every == every / 2 {
                let _ = writeln!(text, "{odd}");
            }
        }
        text
    };
    let objects = [
        r#"{"id":7}"#,
        r#"{"id":7,"name": "x","odd":1,"code":"a","ok":null,"spot":{"x":1,"y":2}}"#,
        r#"{"id":7,"name": "x","odd":1,"code":"a","ok":null,"spot":null,"more":{"a":[2]}}"#,
        r#"{"name": "x","id":7,"odd":1,"code":"a","ok":true,"spot":{"x":1,"y":[1,null]}}"#,
        r#"{"id":"7","name": "x","odd":[1,2],"code":"a","ok":{"id":3},"spot":"y"}"#,
        r#" {"id":7,"name": "a,b","odd":1,"code":"a","ok":true,"spot":{"x":1,"y":[1,null]}}"#,
    ];
    let others = [
        r#"{"more":[1,{"a":2}]}"#,
        "",
        "  ",
        "x",
        r#"{"id":7,"id":8}"#,
        "[1]",
        r#"{"id":7"#,
        "\u{feff}{}",
        "\u{c}{\"id\":7}",
    ];
    for odd in objects {
        let text = with(odd, 400);
        let archive = packed(&text, 32, None);
        assert!(row_groups(&archive) > 10, "{odd}");
        holds(&text, &archive);
    }
    for odd in objects.iter().chain(&others) {
        for (every, frames) in [(3, None), (40, Some(150)), (400, None)] {
            let text = with(odd, every);
            let archive = packed(&text, 32, frames);
            let options = TextOptions::default();
            an_archive_is_the_table_of_its_text(NAME, text.as_bytes(), &archive, &options);
        }
    }
}

#[test]
fn a_small_archive_is_not_made_larger() {
    for rows in [1, 2, 5, 40] {
        let text = events(rows);
        let pack = |index| {
            let options = PackOptions::default().with_name(NAME).with_index(index);
            at1::pack(text.as_bytes(), &options).unwrap().0.len()
        };
        assert!(pack(true) <= pack(false) + pack(false) / 50, "{rows}");
    }
}

#[test]
fn lines_are_appended_as_columns() {
    let (old, new) = (events(300), events(20));
    let archive = packed(&old, 64, None);
    let mut longer = Vec::new();
    let options = PackOptions::default();
    let appended =
        at1::append(&opened(&archive), new.as_bytes(), &mut longer, &options, |_, _| {}).unwrap();
    assert_eq!(appended.frames, (1, 0));
    assert_eq!(row_groups(&longer), 6);
    holds(&(old.clone() + &new), &longer);
    // Lines of another shape, and archives that say nothing about values.
    let other = "{\"else\":[1,2,3]}\n";
    let plain =
        at1::pack(old.as_bytes(), &super::archives::only(Codec::Columnar).with_index(false));
    for archive in [archive, plain.unwrap().0] {
        let mut longer = Vec::new();
        at1::append(&opened(&archive), other.as_bytes(), &mut longer, &options, |_, _| {}).unwrap();
        holds(&format!("{old}{other}"), &longer);
    }
}

#[test]
fn an_archive_for_queries_takes_the_smaller_form() {
    let text = events(3000);
    let options = PackOptions::default().with_name(NAME).with_codec(Choice::Query);
    let (archive, packed) = at1::pack(text.as_bytes(), &options).unwrap();
    assert!(packed.is_queryable);
    let size = |codec| {
        let options = options.clone().with_codec(Choice::Only(codec));
        at1::pack(text.as_bytes(), &options).unwrap().0.len()
    };
    assert!(archive.len() <= size(Codec::QJson));
    assert!(row_groups(&archive) > 1);
    holds(&text, &archive);
}

#[test]
fn a_query_reads_what_it_needs() {
    let text = events(4000);
    let archive = packed(&text, 256, None);
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::from(archive.clone()))));
    let opened = Archive::open(source.clone(), &ReadOptions::default()).unwrap();
    let table = Table::new(opened.table(NAME, &TextOptions::default()).unwrap(), source);
    let mut batches = table
        .scan()
        .threads(1)
        .columns(["id"])
        .filter("id = 1234".parse().unwrap())
        .batches()
        .unwrap();
    let rows: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    let stats = batches.stats();
    assert_eq!((rows, stats.row_groups_read), (1, 1));
    assert!(stats.bytes_read * 3 < archive.len() as u64, "{stats:?} of {}", archive.len());
}

#[derive(Clone, Debug)]
enum Value {
    Int(i32),
    Number(&'static str),
    Text(String),
    Word(&'static str),
}

impl Value {
    fn json(&self) -> String {
        match self {
            Self::Int(value) => value.to_string(),
            Self::Number(text) | Self::Word(text) => (*text).to_owned(),
            Self::Text(text) => format!("{text:?}").replace("\\'", "'").replace("\\0", "\\u0000"),
        }
    }
}

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (-40..40).prop_map(Value::Int),
        1 => prop::sample::select(&["0", "-0", "1.50", "1e3", "-2E-2", "9007199254740993"][..])
            .prop_map(Value::Number),
        2 => prop::sample::select(&["", "a", "é", "a\"b", "a,b", "x: y", "NA", "2024-01-05", "\t"][..])
            .prop_map(|text| Value::Text(text.to_owned())),
        1 => prop::sample::select(&["null", "true", "false"][..]).prop_map(Value::Word),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn generated_lines_are_the_same_table(
        rows in prop::collection::vec((value(), value(), value(), 0..60_u8), 20..90),
        space in prop::sample::select(&["", " "][..]),
        end in prop::sample::select(&["\n", "\r\n"][..]),
        frames in prop::option::of(7_u64..50),
        group in 8_usize..40,
    ) {
        let mut text = String::new();
        for (a, b, c, odd) in &rows {
            let [a, b, c] = [a, b, c].map(Value::json);
            let _ = match odd {
                0 => write!(text, "{{\"b\":{b}}}{end}"),
                1 => write!(text, "{{\"a\":{a},\"b\":[{b},{c}]}}{end}"),
                _ => write!(
                    text,
                    "{{\"a\":{space}{a},{space}\"b\":{space}{b},\"in\":{{\"c\":{c},\"d\":{a}}}}}{end}"
                ),
            };
        }
        let archive = packed(&text, group, frames);
        an_archive_is_the_table_of_its_text(NAME, text.as_bytes(), &archive, &TextOptions::default());
        let table = archive_table(NAME, &archive, &TextOptions::default()).unwrap();
        let want = text_table(NAME, text.as_bytes(), &TextOptions::default()).unwrap();
        for test in ["a = 3", "a > 7 or b = 'a'", "b like 'a%'", "a is null", "\"in\" is null", "a = '-0.0'"] {
            let Ok(parsed) = Predicate::parse(test) else { continue };
            let found = collected(table.scan().filter(parsed.clone()));
            let wanted = collected(want.scan().filter(parsed));
            match (found, wanted) {
                (Ok(found), Ok(wanted)) => prop_assert_eq!(found, wanted, "{}", test),
                (found, wanted) => prop_assert_eq!(found.is_ok(), wanted.is_ok(), "{}", test),
            }
        }
        prop_assert!(opened(&archive).check_groups().unwrap().is_empty());
    }
}
