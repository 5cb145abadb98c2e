//! Text tables with small blocks and row groups, so that every boundary occurs.

use std::io::{self, Read};
use std::sync::Arc;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use bytes::Bytes;
use proptest::prelude::*;

use super::{CSV, JSON, batches, naive, options, read, read_in_all_ways, seekable, sizes, whole};
use crate::cast::cast;
use crate::error::{Error, ErrorKind};
use crate::limits::Limits;
use crate::reader::{Reader, RowGroupRequest};
use crate::source::{ByteSource, MissingRanges, RangeCache};
use crate::text::sizes::TextSizes;
use crate::text::table::TextTable;
use crate::text::{
    ColumnState, Encoding, Infer, Ragged, SourceText, TextFormat, TextKind, TextOptions,
    TextSummary, jsonl, lines,
};
use crate::types::Capabilities;

const NO_NULLS: Capabilities =
    Capabilities { nulls: false, int64: false, numbers: true, binary: false, arrow_types: false };

pub(super) fn many_options() -> Vec<TextOptions> {
    let mut all = Vec::new();
    for infer in [Infer::Exact, Infer::Numeric, Infer::Text] {
        for capabilities in [Capabilities::EVERYTHING, NO_NULLS] {
            for words in [&[][..], &["NA"], &["NA", "-"], &["7"]] {
                all.push(TextOptions {
                    infer,
                    capabilities,
                    null_words: words.iter().map(|word| (*word).to_owned()).collect(),
                    ..options(1)
                });
            }
        }
    }
    all
}

#[test]
fn every_block_and_row_group_gives_the_same_table() {
    for text in [
        "a,b\n1,x\n2,y\n",
        "a,b\r\n1,\"x\r\ny\"\r\n\r\n2,\"\"\r\n,\n",
        "\u{FEFF}é,b\n1,日\n2.5,\"q\"\"\"\n",
        "a\n\n1\n\n2\n",
        "a,b\n1,2\n3\n",
        "a,b\n1,\"x\n",
        "a,b\n",
        "",
        "a,b\r1,2\r3,4\r",
        "n\n1\nNA\n2\nNA\n",
        "n\n1\nNA\n\"NA\"\n",
        "n\n1\nNA\n-\n7\n",
        "n\n0.5\n007\n1e3\n",
        "n\n3000000000\n1\n",
        "a,b\n1,2\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n3,4\n",
    ] {
        for options in many_options() {
            let found = read_in_all_ways(text.as_bytes(), CSV, &options);
            assert_eq!(found, naive::csv(text.as_bytes(), &options), "{text:?} {options:?}");
        }
    }
}

/// A summary that was made without null words answers for null words.
#[test]
fn a_summary_answers_for_other_options() {
    let texts = [
        "n,t\n1,x\nNA,NA\n2,\n",
        "n,t\n1,NA\nNA,NA\n\"NA\",7\n",
        "n,t\n1,NA\n-,-\nNA,7\n",
        "n,t\n7,0.5\n7,NA\n3000000000,1\n",
        "n,t\nNA,\"\"\nNA,\n",
    ];
    for text in texts {
        let summary = TextSummary::of(&mut text.as_bytes(), CSV, &options(1)).unwrap();
        for options in many_options() {
            let want = read(seekable(text.as_bytes()), CSV, &options, TextSizes::default());
            let source = seekable(text.as_bytes());
            let table = TextTable::open(source, CSV, &options, Some(summary.clone())).unwrap();
            assert_eq!(whole(table).map_err(|err| err.to_string()), want, "{text:?} {options:?}");
        }
    }
    // A summary of another header or encoding is not used.
    let mut headless = options(1);
    headless.header = Some(false);
    let summary = TextSummary::of(&mut "a\n1\n".as_bytes(), CSV, &options(1)).unwrap();
    let table = TextTable::open(seekable(b"a\n1\n"), CSV, &headless, Some(summary)).unwrap();
    assert_eq!((table.rows(), table.schema().field(0).name().as_str()), (2, "column_1"));
}

#[test]
fn the_odd_token_of_a_column_of_numbers_is_kept() {
    let summary = |text: &str, block| {
        let sizes = sizes(block, 8);
        let source = seekable(text.as_bytes());
        let table = TextTable::open_sized(source, CSV, &options(2), None, sizes).unwrap();
        let mut summary = table.summary().clone();
        summary.columns.iter_mut().for_each(|column| column.texts = None);
        summary
    };
    let text = "a,b,c\n1,NA,x\nNA,0.5,y\n\"NA\",NA,1\n,NA,z\n";
    let want = summary(text, 1 << 20);
    let odd: Vec<_> = want
        .columns
        .iter()
        .map(|column| {
            column.odd_token.as_ref().map(|odd| (odd.text.as_str(), odd.count, odd.is_quoted))
        })
        .collect();
    assert_eq!(odd, [Some(("NA", 2, true)), Some(("NA", 3, false)), None]);
    let numbers = &want.columns[1].odd_token.as_ref().unwrap().others;
    assert_eq!(numbers.resolve(Infer::Exact, Capabilities::EVERYTHING), DataType::Float64);
    for block in 1..text.len() {
        assert_eq!(summary(text, block).columns, want.columns, "blocks of {block}");
    }
}

#[test]
fn rows_are_lines_if_each_line_is_a_row() {
    let facts = |format: TextFormat, text: &str| {
        let summary = TextSummary::of(&mut text.as_bytes(), format, &options(1)).unwrap();
        (summary.rows_are_lines, summary.ends_open, summary.row_index[0].line)
    };
    assert_eq!(facts(CSV, "a,b\n1,2\n3,4\n"), (true, false, 1));
    assert_eq!(facts(CSV, "\n\na,b\r\n1,2\r\n3,\"4\""), (true, true, 3));
    assert_eq!(facts(CSV, "a\n1\n\n2\n"), (true, false, 1));
    for text in
        ["a,b\n1,2\n\n3,4\n", "a,b\n1,\"2\n\"\n", "a,b\n1,2\r3,4\n", "a,b\n\n\n", "a,b\r1,2\r"]
    {
        assert!(!facts(CSV, text).0, "{text:?}");
    }
    assert_eq!(facts(JSON, "{\"a\":1}\r\n{}\n"), (true, false, 0));
    assert!(!facts(JSON, "{\"a\":1}\n\n{}\n").0);
    assert_eq!(facts(TextFormat::new(TextKind::Lines), "a\n\nb"), (true, true, 0));
}

#[test]
fn statistics_are_the_bounds_of_the_values() {
    let text = "i,l,f,t\n5,3000000000,1.5,b\n-7,1,-2.0,abc\n,2,,\"\"\n";
    let source = seekable(text.as_bytes());
    let table = TextTable::open(source, CSV, &options(1), None).unwrap();
    let bounds = |column| {
        let found = table.column_statistics(column);
        let text = |array: Option<arrow_array::ArrayRef>| {
            cast(&array.unwrap(), &DataType::Utf8).unwrap().as_string::<i32>().value(0).to_owned()
        };
        assert!(found.is_exact);
        (text(found.min), text(found.max), found.null_count.unwrap())
    };
    let owned = |min: &str, max: &str, nulls| (min.to_owned(), max.to_owned(), nulls);
    assert_eq!(bounds(0), owned("-7", "5", 1));
    assert_eq!(bounds(1), owned("1", "3000000000", 0));
    assert_eq!(bounds(2), owned("-2.0", "1.5", 1));
    assert_eq!(bounds(3), owned("", "b", 0));
}

#[test]
fn variant_calls_are_cells_without_quotes() {
    let format = TextFormat::new(TextKind::VariantCalls);
    let text = "##fileformat=VCFv4.2\n##x=\"\n#CHROM\tPOS\tALT\n1\t10\t\"A\n2\t20\tC,\"\n";
    let found = read_in_all_ways(text.as_bytes(), format, &options(2)).unwrap();
    let cells = |cells: [&str; 2]| cells.map(|cell| Some(cell.to_owned())).to_vec();
    let want = [
        ("CHROM".to_owned(), DataType::Int32, cells(["1", "2"])),
        ("POS".to_owned(), DataType::Int32, cells(["10", "20"])),
        ("ALT".to_owned(), DataType::Utf8, cells(["\"A", "C,\""])),
    ];
    assert_eq!(found, want);
    assert!(read_in_all_ways(b"##fileformat=VCF", format, &options(1)).is_err());
    assert!(
        read_in_all_ways(b"##a\n#CHROM\tPOS\n1\n", format, &options(1))
            .unwrap_err()
            .contains("row 1: byte 15:")
    );
}

#[test]
fn lines_and_logs_are_read_line_by_line() {
    let format = TextFormat::new(TextKind::Lines);
    for text in [&b"a\n\nb\r\nc"[..], b"", b"\n", b"x\n\xFF\n", "é\n日".as_bytes()] {
        let found = TextTable::open_sized(seekable(text), format, &options(1), None, sizes(2, 3));
        let table = Arc::new(found.unwrap());
        let is_utf8 = std::str::from_utf8(text).is_ok();
        let want = if is_utf8 { DataType::Utf8 } else { DataType::Binary };
        assert_eq!(table.schema().field(0).data_type(), &want);
        let mut back = Vec::new();
        let columns = [0];
        for group in 0..table.row_groups() {
            let batch = (table.clone() as Arc<dyn Reader>).read(group, &columns).unwrap();
            let bytes = arrow_cast::cast(batch.column(0), &DataType::Binary).unwrap();
            for line in bytes.as_binary::<i32>().iter() {
                back.extend_from_slice(line.unwrap());
                back.push(b'\n');
            }
        }
        if !text.is_empty() && !text.ends_with(b"\n") {
            back.pop();
        }
        assert_eq!(back, text);
    }
    let mut marked = options(1);
    marked.mark_open_line = true;
    let texts: [&[u8]; 10] = [
        b"",
        b"\n",
        b"\n\n",
        b"a",
        b"a\n",
        b"a\nb",
        b"a\n\nb\r\n",
        b"\n\n\nx",
        b"\xFF\nab\n",
        b"ab\n\xC3\xA9\n\xC3\n\xA9",
    ];
    for text in texts {
        for block in [1, 2, 3, 1 << 20] {
            let sizes = sizes(block, 3);
            let table =
                TextTable::open_sized(seekable(text), format, &marked, None, sizes).unwrap();
            let mut writer = lines::Writer::new(Vec::new());
            for batch in batches(&Arc::new(table), 2).unwrap() {
                writer.write(&batch).unwrap();
            }
            assert_eq!(writer.finish().unwrap(), text, "blocks of {block}");
        }
    }
    let found = read_in_all_ways(b"a\nb", format, &marked).unwrap();
    assert_eq!(found[0].2, [Some("a".to_owned()), Some("b".to_owned()), None]);
    assert_eq!(read_in_all_ways(b"a\nb\n", format, &marked).unwrap()[0].2.len(), 2);

    let text = "2015-10-18 18:01:47,978 INFO x=5\nno time here\n";
    let format = TextFormat::new(TextKind::Log);
    let source = seekable(text.as_bytes());
    let table = Arc::new(TextTable::open(source, format, &options(1), None).unwrap());
    let batch = batches(&table, 10).unwrap().remove(0);
    assert_eq!(batch.column(1).as_string::<i32>().value(0), "2015-10-18 18:01:47.978");
    assert!(batch.column(1).is_null(1));
    assert_eq!(batch.column(2).as_string::<i32>().value(0), "<*> <*>:<*>:<*>,<*> INFO x=<*>");
    let variables = batch.column(3).as_list::<i32>();
    assert_eq!((variables.value(0).len(), variables.value(1).len()), (6, 0));
    assert_eq!(variables.value(0).as_string::<i32>().value(5), "5");
}

#[test]
fn nested_json_gets_nested_types() {
    let types = |text: &str| {
        let sizes = sizes(8, 16);
        let source = seekable(text.as_bytes());
        let table = TextTable::open_sized(source, JSON, &options(2), None, sizes).unwrap();
        let table = Arc::new(table);
        let batches = batches(&table, 2).unwrap();
        let mut out = jsonl::Writer::new(Vec::new());
        batches.iter().for_each(|batch| out.write(batch).unwrap());
        let written = String::from_utf8(out.finish().unwrap()).unwrap();
        let schema = table.schema();
        let types = schema.fields().iter().map(|field| field.data_type().to_string());
        (types.collect::<Vec<_>>().join("; "), written)
    };
    let (found, written) = types(
        "{\"o\":{\"a\":1,\"l\":[1,2.5]}}\n{\"o\":null}\n{\"o\":{\"l\":[],\"z\":{\"b\":true}}}\n",
    );
    assert_eq!(found, "Struct(\"a\": Int32, \"l\": List(Float64), \"z\": Struct(\"b\": Boolean))");
    assert_eq!(
        written,
        "{\"o\":{\"a\":1,\"l\":[1.0,2.5],\"z\":null}}\n{\"o\":null}\n\
         {\"o\":{\"a\":null,\"l\":[],\"z\":{\"b\":true}}}\n"
    );
    for (text, want, cell) in [
        ("{\"a\":[1]}\n{\"a\":2}\n", "Utf8", "{\"a\":\"[1]\"}\n{\"a\":\"2\"}\n"),
        ("{\"a\":{\"b\":1}}\n{\"a\":[]}\n", "Utf8", "{\"a\":\"{\\\"b\\\":1}\"}\n{\"a\":\"[]\"}\n"),
        ("{\"a\":{}}\n", "Utf8", "{\"a\":\"{}\"}\n"),
        ("{\"a\":{\"b\":1,\"b\":2}}\n", "Utf8", "{\"a\":\"{\\\"b\\\":1,\\\"b\\\":2}\"}\n"),
        ("{\"a\":[]}\n", "List(Utf8)", "{\"a\":[]}\n"),
        ("{\"a\":[null,1]}\n", "List(Int32)", "{\"a\":[null,1]}\n"),
        ("{\"a\":[1,\"x\"]}\n", "List(Utf8)", "{\"a\":[\"1\",\"x\"]}\n"),
        (
            "{\"a\":[{\"b\":1},{}]}\n",
            "List(Struct(\"b\": Int32))",
            "{\"a\":[{\"b\":1},{\"b\":null}]}\n",
        ),
    ] {
        assert_eq!(types(text), (want.to_owned(), cell.to_owned()), "{text}");
    }
    // Levels beyond the maximum stay text.
    let deep = format!("{{\"a\":{}1{}}}\n", "[".repeat(200), "]".repeat(200));
    let (found, written) = types(&deep);
    assert_eq!((found.matches("List(").count(), found.contains("Utf8")), (64, true));
    assert!(written.contains(&format!("\"{}1{}\"", "[".repeat(136), "]".repeat(136))));
}

#[test]
fn an_object_of_many_keys_stays_text() {
    let members: Vec<_> = (0..1001).map(|key| format!("\"k{key}\":1")).collect();
    let text = format!("{{\"a\":{{{}}}}}\n{{\"a\":{{}}}}\n", members.join(","));
    let found = read_in_all_ways(text.as_bytes(), JSON, &options(1)).unwrap();
    assert_eq!((found[0].1.clone(), found[0].2[1].as_deref()), (DataType::Utf8, Some("{}")));
    // The same if the keys are spread over many lines.
    let text: String = members.iter().map(|member| format!("{{\"a\":{{{member}}}}}\n")).collect();
    let found = read_in_all_ways(text.as_bytes(), JSON, &options(1)).unwrap();
    assert_eq!(found[0].1, DataType::Utf8);
    let fewer: String = members[1..].iter().map(|m| format!("{{\"a\":{{{m}}}}}\n")).collect();
    let found = read(seekable(fewer.as_bytes()), JSON, &options(1), TextSizes::default()).unwrap();
    assert!(matches!(&found[0].1, DataType::Struct(fields) if fields.len() == 1000));
}

#[test]
fn limits_stop_hostile_texts() {
    let refused = |text: &str, format, limits: Limits| -> Error {
        let mut input = text.as_bytes().chain(io::repeat(b'x'));
        let options = TextOptions { limits, ..options(1) };
        TextSummary::of(&mut input, format, &options).unwrap_err()
    };
    let limits = Limits::default().with_columns(3).with_row_bytes(1 << 21);
    let err = refused("{\"a\":1,\"b\":{\"c\":1,\"d\":2}}\n", JSON, limits.clone());
    assert_eq!(err.to_string(), "number of keys is 4, over the limit of 3");
    let err = refused("a,b,c,d\n", CSV, limits.clone());
    assert_eq!(err.to_string(), "number of columns is 4, over the limit of 3");
    for format in [CSV, JSON, TextFormat::new(TextKind::Lines)] {
        let err =
            refused(if format == CSV { "a\n1\n" } else { "{\"a\":1}\n" }, format, limits.clone());
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
        assert!(err.row().is_some() && err.offset().is_some(), "{err}");
    }
}

#[test]
fn malformed_rows_are_skipped_on_request() {
    let skip = TextOptions { skip: true, ..options(2) };
    let found = read_in_all_ways(b"a,b\n1,2\n3\n4,5,6\n7,8\n", CSV, &skip).unwrap();
    assert_eq!(found[0].2, [Some("1".to_owned()), Some("7".to_owned())]);
    let text = b"{\"a\":1}\n{\"a\":1,\"a\":2}\n[]\n{\"a\":\"\\ud800\"}\n{\"a\":{\"b\":\"\\ud800\"}}\n{\"a\":5}\n";
    let found = read_in_all_ways(text, JSON, &skip).unwrap();
    assert_eq!(found[0].2, [Some("1".to_owned()), Some("5".to_owned())]);
    let table = TextTable::open(seekable(text), JSON, &skip, None).unwrap();
    assert_eq!((table.summary().skipped.count, table.notes().len()), (4, 1));
    let err = read_in_all_ways(b"{\"a\":{\"b\":\"\\ud800\"}}\n", JSON, &options(1)).unwrap_err();
    assert_eq!(
        err,
        "row 1: byte 5: line: is not a JSON object: a string has an escape that is not valid"
    );
}

/// A reader without a source below asks for bytes, and goes on when it has them.
#[test]
fn missing_bytes_are_asked_for() {
    let text: String = "a,b\n".to_owned() + &"12,xyz\n".repeat(40);
    let full: Arc<dyn ByteSource> = Arc::new(Bytes::from(text.clone()));
    let summary = TextTable::open_sized(
        Arc::new(SourceText(full.clone())),
        CSV,
        &options(1),
        None,
        sizes(16, 64),
    );
    let summary = summary.unwrap().summary().clone();
    let cache = Arc::new(RangeCache::of_size(full.size()));
    let source = Arc::new(SourceText(cache.clone()));
    let table =
        TextTable::open_sized(source, CSV, &options(1), Some(summary), sizes(16, 64)).unwrap();
    let table = Arc::new(table);
    assert!(table.row_groups() > 2);
    let mut rows = 0;
    for group in 0..table.row_groups() {
        let mut open = table.clone().open_row_group(group, &RowGroupRequest::new(&[1])).unwrap();
        let supply = |err: &Error| {
            let MissingRanges(ranges) = MissingRanges::of(err).unwrap();
            for range in ranges {
                let len = usize::try_from(range.end - range.start).unwrap();
                let whole = table.ranges(group, &[1]);
                assert!(whole[0].start <= range.start && range.end <= whole[0].end);
                cache.supply([(range.clone(), full.read(range.start, len).unwrap())]);
            }
        };
        let skipped = loop {
            match open.skip(4) {
                Ok(skipped) => break skipped,
                Err(err) => supply(&err),
            }
        };
        rows += skipped;
        loop {
            match open.next_window(2) {
                Ok(0) => break,
                Ok(count) => rows += count as u64,
                Err(err) => {
                    supply(&err);
                    continue;
                }
            }
            let array = open.read(&[1], None).unwrap().remove(0);
            assert!(array.as_string::<i32>().iter().all(|cell| cell == Some("xyz")));
        }
    }
    assert_eq!(rows, 40);
}

/// A summary of another text gives an error, not other rows.
#[test]
fn a_wrong_summary_is_noticed() {
    for format in [CSV, TextFormat::new(TextKind::Lines)] {
        let text = "a,b\n1,2\n3,4\n5,6\n";
        let good = TextSummary::of(&mut text.as_bytes(), format, &options(1)).unwrap();
        let outcome = |summary: TextSummary| {
            let source = seekable(text.as_bytes());
            TextTable::open(source, format, &options(1), Some(summary)).and_then(whole)
        };
        assert!(outcome(good.clone()).is_ok());
        for rows in [0, 1, 2, 100, u64::MAX] {
            let mut bad = good.clone();
            bad.rows = rows;
            if rows > 0 {
                assert!(outcome(bad).is_err(), "{rows}");
            }
        }
        let mut bad = good.clone();
        bad.row_index[0].offset = 1 << 40;
        assert!(outcome(bad).is_err());
    }
    let text = "{\"a\":1}\n";
    let mut bad = TextSummary::of(&mut text.as_bytes(), JSON, &options(1)).unwrap();
    bad.columns[0].name = "b".to_owned();
    let table = TextTable::open(seekable(text.as_bytes()), JSON, &options(1), Some(bad)).unwrap();
    assert!(whole(table).unwrap_err().to_string().contains("unknown key `a`"));
}

#[test]
fn latin1_and_padding_are_read_from_the_middle() {
    let text: Vec<u8> = [&b"n\xE4me,b\n"[..], &b"\xE9t\xE9,1\nx\n".repeat(9)].concat();
    let with = TextOptions { encoding: Encoding::Latin1, ragged: Ragged::Pad, ..options(2) };
    let found = read_in_all_ways(&text, CSV, &with).unwrap();
    assert_eq!((found[0].0.as_str(), found[0].2.len()), ("näme", 18));
    assert_eq!(found[0].2[16].as_deref(), Some("été"));
    assert_eq!(found[1].2[17], None);
}

proptest! {
    #[test]
    fn a_csv_table_is_what_its_cells_say(
        text in "([a-b0-9,\"\r\n.-]|NA){0,60}",
        pick in 0..24_usize,
        header: bool,
    ) {
        let mut with = many_options().swap_remove(pick);
        with.header = Some(header);
        let want = naive::csv(text.as_bytes(), &with);
        let found = read_in_all_ways(text.as_bytes(), CSV, &with);
        prop_assert_eq!(found, want);
    }

    #[test]
    fn a_json_table_is_what_its_values_say(
        rows in prop::collection::vec(
            prop::collection::vec(
                (
                    prop::sample::select(vec!["a", "b", "c", "\\u0061"]),
                    prop::sample::select(vec![
                        "null", "1", "-1", "3000000000", "1.5", "1.50", "1e3", "-0", "true",
                        "\"\"", "\"x\"", "99999999999999999999", "1e400", "9007199254740993",
                    ]),
                ),
                0..3,
            ),
            0..12,
        ),
    ) {
        let line = |row: &Vec<(&str, &str)>| {
            let members: Vec<_> = row.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
            format!("{{{}}}\n", members.join(","))
        };
        let text: String = rows.iter().map(line).collect();
        let found = read_in_all_ways(text.as_bytes(), JSON, &options(1));
        prop_assert_eq!(found.ok(), naive::json(&rows));
    }

    /// Nested values are written as they were read, up to spaces, nulls and number spelling.
    #[test]
    fn nested_values_survive(
        values in prop::collection::vec(
            prop::sample::select(vec![
                "{\"k\":{\"x\":[1,2],\"y\":\"a\"}}",
                "{\"k\":{\"x\":[3],\"y\":\"\\u00e9\"}}",
                "{\"k\":null}",
                "{\"k\":{\"x\":[null,4],\"y\":null}}",
            ]),
            1..9,
        ),
        block in 1..40_usize,
    ) {
        let text = values.join("\n");
        let sizes = sizes(block, 10);
        let table = TextTable::open_sized(seekable(text.as_bytes()), JSON, &options(2), None, sizes);
        let mut out = jsonl::Writer::new(Vec::new());
        for batch in batches(&Arc::new(table.unwrap()), 4).unwrap() {
            out.write(&batch).unwrap();
        }
        let written = String::from_utf8(out.finish().unwrap()).unwrap();
        if values.iter().any(|value| value.contains('[')) {
            prop_assert_eq!(written.trim_end(), text.replace("\\u00e9", "é"));
        }
    }
}

#[test]
fn summaries_do_not_depend_on_blocks_or_threads() {
    let text = "a,b,c\n1,x,0.5\n2,\"\",\n,yy,1e3\n9,zz,NA\n";
    let of = |threads, block| {
        let options = options(threads);
        let source = seekable(text.as_bytes());
        let table = TextTable::open_sized(source, CSV, &options, None, sizes(block, 1 << 20));
        let mut summary = table.unwrap().summary().clone();
        // Blocks that seem to be numeric look for no bounds.
        summary.columns.iter_mut().for_each(|column| column.texts = None);
        summary
    };
    let want = of(1, 1 << 20);
    for block in 1..text.len() {
        for threads in [1, 3] {
            assert_eq!(of(threads, block), want, "{block}");
        }
    }
    assert!(matches!(want.columns[0].state, ColumnState::Cells(_)));
}
