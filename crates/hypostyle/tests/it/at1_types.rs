//! Columns of booleans, dates, timestamps and decimals, with words for null, in every codec.

use std::num::NonZeroUsize;

use arrow_schema::DataType;
use hypostyle::formats::at1::{self, Choice, Codec, PackOptions};
use hypostyle::text::TextOptions;
use hypostyle::{OpenOptions, Result, Table, Writer, WriterOptions, convert, open_source};
use hypostyle_testkit::scans::collected;
use hypostyle_testkit::text_tables::{
    an_archive_is_the_table_of_its_text, archive_table, text_table,
};
use proptest::prelude::*;

fn choices() -> Vec<Choice> {
    let codecs = Codec::ALL.into_iter().filter(|&codec| codec != Codec::Bundle);
    [Choice::Auto, Choice::Query].into_iter().chain(codecs.map(Choice::Only)).collect()
}

fn quick() -> PackOptions {
    PackOptions::default().with_level(1).with_rows_per_group(NonZeroUsize::new(7))
}

/// Tables of at most four columns each, because scans test the first four.
fn texts() -> Vec<(&'static str, String)> {
    let table = |header: &str, row: &dyn Fn(usize) -> String| {
        header.to_owned() + &(0..60).map(row).collect::<String>()
    };
    let day = |i: usize| format!("2024-01-{:02}", i / 3 + 1);
    let or_null = |i: usize, word: &str, text: String| if i % 5 == 2 { word.into() } else { text };
    vec![
        (
            "types.csv",
            table("day,at,ok,price\n", &|i| {
                let at = format!("{}T{:02}:00:00Z", day(i), i % 24);
                format!("{},{at},{},{}.{:02}\n", day(i), i % 3 == 0, i * 7, i % 100)
            }),
        ),
        (
            "nulls.csv",
            table("day,at,ok,price\n", &|i| {
                let at = or_null(i, "\\N", format!("{} {:02}:30:00.250", day(i), i % 24));
                let ok = or_null(i, "-", if i % 2 == 0 { "TRUE" } else { "FALSE" }.into());
                let price = or_null(i, "NaN", format!("{}.{:02}", i * 7, i % 100));
                format!("{},{at},{ok},{price}\n", or_null(i, "NA", day(i)))
            }),
        ),
        (
            "gaps.csv",
            table("day,n,f,big\n", &|i| {
                let n = or_null(i, "NA", (i * 1000).to_string());
                let f = or_null(i, "NULL", format!("{}.5", i));
                let big = or_null(i, "", format!("1844674407370955{:04}", i));
                format!("{},{n},{f},{big}\n", or_null(i, "\"\"", day(i)))
            }),
        ),
        (
            "offsets.tsv",
            table("at\tsame\tnanos\tmixed\n", &|i| {
                let at = format!("{}T{:02}:00+02:00", day(i), i % 24);
                let nanos = format!("{} 00:00:00.0000000{:02}", day(i), i);
                let mixed = if i == 41 { day(i) } else { at.clone() };
                format!("{at}\t2024-01-04 12:00:00-0330\t{nanos}\t{mixed}\n")
            }),
        ),
        (
            "tokens.jsonl",
            table("", &|i| {
                let day = or_null(i, "\"NA\"", format!("\"{}\"", day(i)));
                let n = or_null(i, "\"-\"", i.to_string());
                let ok = or_null(i, "\"N/A\"", (i % 2 == 0).to_string());
                let nested = or_null(i, "\"NA\"", format!("\"{i}\""));
                format!("{{\"day\":{day},\"n\":{n},\"ok\":{ok},\"in\":{{\"x\":{nested}}}}}\n")
            }),
        ),
        (
            "events.jsonl",
            table("", &|i| {
                let (day, hour) = (day(i), i % 24);
                // Nested values have no word for null.
                let no = or_null(i, "\"NA\"", i.to_string());
                match i % 7 {
                    3 => {
                        format!("{{\"id\":{i},\"day\":null,\"at\":\"{day}T{hour:02}:00:00.5Z\"}}\n")
                    }
                    _ => format!(
                        "{{\"id\":{i},\"day\":\"{day}\",\"at\":\"{day}T{hour:02}:00:00.0Z\",\
                         \"in\":{{\"at\":[\"{day}\"],\"no\":{no}}}}}\n"
                    ),
                }
            }),
        ),
    ]
}

#[test]
fn typed_columns_are_the_same_in_every_codec() {
    let (plain, mut none) = (TextOptions::default(), TextOptions::default());
    none.null_words = vec![String::new()];
    for (name, text) in texts() {
        for choice in choices() {
            let pack = quick().with_codec(choice).with_name(Some(name));
            let (archive, _) = at1::pack(text.as_bytes(), &pack).unwrap();
            for options in [&plain, &none] {
                let (name, text) = (Some(name), text.as_bytes());
                an_archive_is_the_table_of_its_text(name, text, &archive, options);
            }
            let mut framed = Vec::new();
            let pack = pack.with_chunk_lines(13);
            at1::pack_stream(text.as_bytes(), &mut framed, &pack, |_, _| {}).unwrap();
            an_archive_is_the_table_of_its_text(Some(name), text.as_bytes(), &framed, &plain);
        }
    }
}

fn types(table: &Table) -> Vec<String> {
    let schema = table.schema().unwrap();
    schema.fields().iter().map(|field| field.data_type().to_string()).collect()
}

#[test]
fn the_types_are_those_that_people_expect() {
    let options = TextOptions::default();
    for (at, want) in [
        ["Date32", "Timestamp(µs, \"UTC\")", "Boolean", "Decimal128(18, 2)"],
        ["Date32", "Timestamp(µs)", "Boolean", "Decimal128(18, 2)"],
        ["Date32", "Int32", "Float64", "Decimal128(38, 0)"],
        ["Timestamp(µs, \"+02:00\")", "Timestamp(µs, \"-03:30\")", "Timestamp(ns)", "Utf8"],
        ["Date32", "Int32", "Boolean", "Struct(\"x\": Utf8)"],
    ]
    .into_iter()
    .enumerate()
    {
        let (name, text) = &texts()[at];
        assert_eq!(types(&text_table(Some(name), text.as_bytes(), &options).unwrap()), want);
    }
}

/// Writes a table as a file of another kind, in memory.
fn written(table: &Table, format: &str) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let kind: hypostyle::FileKind = format.parse()?;
    convert(table.scan(), &mut out, kind, &WriterOptions::default())?;
    Ok(out)
}

fn opened(file: Vec<u8>, name: &str) -> Table {
    let options = OpenOptions::default().with_name(name);
    open_source(std::sync::Arc::new(bytes::Bytes::from(file)), &options).unwrap()
}

/// Cells come back as they were, through archives, Parquet and Arrow.
#[test]
fn a_text_is_printed_as_it_was() {
    let options = TextOptions::default();
    for (name, text) in texts() {
        let format = name.split_once('.').unwrap().1;
        let table = text_table(Some(name), text.as_bytes(), &options).unwrap();
        // An empty text is null in a column of dates.
        let want = text.replace("\"\"", "");
        if format != "jsonl" || name == "tokens.jsonl" {
            assert_eq!(String::from_utf8(written(&table, format).unwrap()).unwrap(), want);
        }
        let (archive, _) = at1::pack(text.as_bytes(), &quick().with_name(Some(name))).unwrap();
        let archive = archive_table(Some(name), &archive, &options).unwrap();
        assert_eq!(written(&archive, format).unwrap(), written(&table, format).unwrap());
        // A build may leave them out.
        let is_known = |name: &&str| name.parse::<hypostyle::FileKind>().is_ok();
        for through in ["parquet", "arrow"].into_iter().filter(is_known) {
            let file = opened(written(&archive, through).unwrap(), through);
            assert_eq!(file.schema().unwrap().fields(), table.schema().unwrap().fields());
            assert_eq!(written(&file, format).unwrap(), written(&table, format).unwrap(), "{name}");
        }
    }
}

/// Formats without such types hold the text.
#[test]
fn column_files_hold_the_text() {
    let (name, text) = &texts()[0];
    let options = OpenOptions::default().with_name(*name);
    let source = std::sync::Arc::new(bytes::Bytes::from(text.clone()));
    for (format, target) in [("colf", true), ("clmn", true), ("colm", true), ("colf", false)] {
        let kind: hypostyle::FileKind = format.parse().unwrap();
        let options = if target { options.clone().with_target(kind) } else { options.clone() };
        let table = open_source(source.clone(), &options).unwrap();
        let schema = table.schema().unwrap();
        let is_text = schema.fields().iter().all(|field| *field.data_type() == DataType::Utf8);
        assert_eq!(is_text, target);
        let mut file = Vec::new();
        let mut writer =
            Writer::create(&mut file, kind, schema, &WriterOptions::default()).unwrap();
        writer.write(&collected(table.scan()).unwrap()).unwrap();
        writer.finish().unwrap();
        let back = written(&opened(file, &format!("x.{format}")), "csv").unwrap();
        assert_eq!(String::from_utf8(back).unwrap(), *text, "{format}");
    }
}

/// A cell of a type, or nearly.
fn cell() -> impl Strategy<Value = String> {
    let cells = [
        "2024-01-04",
        "2024-01-05",
        "2024-02-30",
        "2024-01-04T12:00:00Z",
        "2024-01-04 12:00:00",
        "true",
        "TRUE",
        "1.50",
        "2.25",
        "NaN",
        "NA",
        "-",
        "",
        "\"NA\"",
        "7",
        "\"2024-01-06\"",
    ];
    prop::sample::select(cells.to_vec()).prop_map(str::to_owned)
}

fn column() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(cell(), 1..4)
        .prop_flat_map(|pool| prop::collection::vec(prop::sample::select(pool), 30))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_typed_table(
        columns in prop::collection::vec(column(), 3),
        rows in 0..30_usize,
        choice in prop::sample::select(choices()),
        lines in 1_u64..9,
    ) {
        let mut text = "a,b,c\n".to_owned();
        for row in 0..rows {
            let cells: Vec<&str> = columns.iter().map(|cells| cells[row].as_str()).collect();
            text += &(cells.join(",") + "\n");
        }
        let name = Some("t.csv");
        let options = TextOptions::default();
        let pack = quick().with_codec(choice).with_name(name);
        let (archive, _) = at1::pack(text.as_bytes(), &pack).unwrap();
        an_archive_is_the_table_of_its_text(name, text.as_bytes(), &archive, &options);
        let mut framed = Vec::new();
        let pack = pack.with_chunk_lines(lines);
        at1::pack_stream(text.as_bytes(), &mut framed, &pack, |_, _| {}).unwrap();
        an_archive_is_the_table_of_its_text(name, text.as_bytes(), &framed, &options);
    }
}

/// The bounds of texts are bounds of the values that they are, also beside words for null.
#[test]
fn dates_and_timestamps_prune_row_groups() {
    let mut text = "day,at,n\n".to_owned();
    for i in 0..4000 {
        let day = format!("2024-{:02}-{:02}", i / 340 + 1, i % 340 / 13 + 1);
        let at = if i % 50 == 7 { "NA".to_owned() } else { format!("{day}T{:02}:00:00Z", i % 24) };
        text += &format!("{day},{at},{}\n", i * 7919 % 10_007);
    }
    let rows = NonZeroUsize::new(100);
    for codec in [Choice::Query, Choice::Only(Codec::QColumnar)] {
        let pack = quick().with_codec(codec).with_name(Some("t.csv")).with_rows_per_group(rows);
        let (archive, _) = at1::pack(text.as_bytes(), &pack).unwrap();
        let table = archive_table(Some("t.csv"), &archive, &TextOptions::default()).unwrap();
        let filter = hypostyle::predicate::Predicate::parse("day >= '2024-11-18'").unwrap();
        let mut batches = table.scan().filter(filter).batches().unwrap();
        let mut rows = 0;
        while let Some(batch) = batches.next_batch().unwrap() {
            rows += batch.num_rows();
        }
        let stats = batches.stats();
        assert_eq!(rows, 379, "{codec:?}");
        let (read, all) = (stats.row_groups_read, stats.row_groups);
        assert!(all > 30 && read <= 8, "{codec:?}: {read} of {all}");
    }
}
