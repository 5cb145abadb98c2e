//! COLF, number by number (docs/specs/colf.md, section 4).

use std::sync::Arc;

use arrow_array::Int32Array;
use hypostyle::{Compat, DuplicateNames, Limits, ReadOptions, TextPolicy, WriteOptions};
use hypostyle_testkit::build::colf::{Column, File, int32s as int32_cells, payload, texts};
use hypostyle_testkit::build::{Block, BuiltFile};
use hypostyle_testkit::content::Cell;
use hypostyle_testkit::laws;

use crate::deviations::{
    Boast, Subject, float, float64s, int, int32s, int64s, maybe, maybe_strings, no_columns,
    strings, table, text,
};

const COLF: Subject = Subject("colf");

const NUMBERS: [&str; 24] = [
    "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9", "F10", "F11", "F12", "F13", "F14", "F15",
    "F16", "F17", "F18", "F19", "F20", "F21", "F22", "F23", "F24",
];

#[test]
fn every_number_of_the_spec_has_a_test() {
    COLF.numbers_are_those_of_the_spec(&NUMBERS, include_str!("deviations_colf.rs"));
}

/// Returns the table of the spec's example: two columns, three rows.
fn example() -> File {
    let columns = vec![
        Column::int32("id", &[1, 2, 3]),
        Column::utf8_parts("name", Some(&[0b010]), &[0, 2, 2], b"abcde"),
    ];
    File::new(3, columns)
}

fn example_values() -> [(&'static str, Vec<Cell>); 2] {
    [("id", int(&[1, 2, 3])), ("name", maybe(&[Some("ab"), None, Some("cde")]))]
}

fn example_table() -> arrow_array::RecordBatch {
    let names = maybe_strings(&[Some("ab"), None, Some("cde")]);
    table(vec![("id", int32s(&[1, 2, 3])), ("name", names)])
}

/// Returns a file of one column.
fn one(rows: u64, column: Column) -> BuiltFile {
    File::new(rows, vec![column]).build()
}

/// Returns a file of three integers with this schema.
fn with_schema(schema: &str) -> BuiltFile {
    let file = File::new(3, vec![Column::int32("id", &[1, 2, 3])]);
    File { schema: Some(schema.into()), ..file }.build()
}

fn ids() -> [(&'static str, Vec<Cell>); 1] {
    [("id", int(&[1, 2, 3]))]
}

fn four_null_six() -> Vec<Cell> {
    vec![Cell::Int(4), Cell::Null, Cell::Int(6)]
}

#[test]
fn f01_a_string_ends_where_the_next_that_is_not_null_starts() {
    for null_start in [0, 2, 1, 77, u32::MAX] {
        let starts = [0, null_start, 2];
        let made = one(3, Column::utf8_parts("s", Some(&[0b010]), &starts, b"abcde"));
        COLF.reads(&made, &[("s", maybe(&[Some("ab"), None, Some("cde")]))], &[]);
        let last = one(3, Column::utf8_parts("s", Some(&[0b110]), &[0, null_start, 0], b"ab"));
        COLF.reads(&last, &[("s", maybe(&[Some("ab"), None, None]))], &[]);
    }
    // Our writer gives a null row the running offset, which is right by every rule.
    assert_eq!(COLF.writes(&example_table()), example().build().bytes);
    let edges = table(vec![("s", maybe_strings(&[None, Some("ab"), None, None]))]);
    let made = one(4, Column::utf8_parts("s", Some(&[0b1101]), &[0, 0, 2, 2], b"ab"));
    assert_eq!(COLF.writes(&edges), made.bytes);
}

#[test]
fn f02_equal_offsets_are_empty_strings() {
    let values = ["", "ab", "", "", "cde", ""];
    let made = one(6, Column::utf8("s", &values));
    COLF.reads(&made, &[("s", text(&values))], &[]);
    assert_eq!(COLF.writes(&table(vec![("s", strings(&values))])), made.bytes);
    // The option for a reader that misreads empty texts writes nulls.
    let compat = Compat::default().with("colf-empty-as-null").unwrap();
    let options = WriteOptions::default().with_compat(compat);
    let bytes = COLF.writes_with(&table(vec![("s", strings(&values))]), &options);
    let starts = [0, 0, 2, 2, 2, 5];
    let nulls = one(6, Column::utf8_parts("s", Some(&[0b10_1101]), &starts, b"abcde"));
    assert_eq!(bytes, nulls.bytes);
}

#[test]
fn f03_the_flag_in_the_payload_counts() {
    let with = Column::int32_nulls("n", &[0b010], &[4, 5, 6]);
    let made = one(3, Column { flag: 0, ..with.clone() });
    COLF.reads(&made, &[("n", four_null_six())], &[("F3", made.entries[0] + 24)]);
    let made = one(3, Column { flag: 1, ..Column::int32("n", &[4, 5, 6]) });
    COLF.reads(&made, &[("n", int(&[4, 5, 6]))], &[("F3", made.entries[0] + 24)]);
    let texts = Column::utf8_parts("s", Some(&[0b10]), &[0, 2], b"ab");
    let made = one(2, Column { flag: 0, ..texts });
    COLF.reads(&made, &[("s", maybe(&[Some("ab"), None]))], &[("F3", made.entries[0] + 24)]);
    let hint = one(3, Column { nullable: false, ..with });
    COLF.reads(&hint, &[("n", four_null_six())], &[("F3", hint.entries[0])]);

    // If only the flag of the entry fits the size of the block, the flag of the block is wrong.
    let bitmap_unannounced = [&[1, 0, 0b010][..], &int32_cells(&[4, 5, 6])].concat();
    let made = one(3, Column { flag: 1, ..Column::new("n", "int32", &bitmap_unannounced) });
    let met = [("F3", made.entries[0]), ("F3", made.entries[0] + 24)];
    COLF.reads(&made, &[("n", four_null_six())], &met);
    let no_bitmap = [&[1, 1][..], &int32_cells(&[4, 5, 6])].concat();
    COLF.refuses(&one(3, Column::new("n", "int32", &no_bitmap)), "11 bytes are not 3 rows");
    for flag in [2, 255] {
        let err =
            COLF.refuses(&one(3, Column { flag, ..Column::int32("n", &[4, 5, 6]) }), "neither");
        assert_eq!(err.column().unwrap().name, "n");
        let odd = [&[1, flag][..], &int32_cells(&[4, 5, 6])].concat();
        COLF.refuses(&one(3, Column { flag: 0, ..Column::new("n", "int32", &odd) }), "neither");
    }
    // Our writer sets all three equal: see the bytes in `f01` and `f12`.
}

#[test]
fn f04_both_types_must_agree() {
    let column = Column::int32("n", &[1, 2]);
    for kind in ["float64", "utf8"] {
        let made = one(2, Column { kind, ..column.clone() });
        COLF.refuses(&made, "is 1 in the block, which the schema contradicts");
    }
    let made = one(2, Column { kind: "int64", ..column.clone() });
    COLF.refuses(&made, "`int64` is not int32, float64 or utf8");
    COLF.refuses(&one(2, Column { kind: "INT32", ..column }), "`INT32` is not int32");
}

#[test]
fn f05_only_little_endian_files_are_known() {
    let err = COLF.refuses(&File { endianness: 0, ..example() }.build(), "big-endian");
    assert_eq!(err.offset(), Some(5));
    let err = COLF.refuses(&File { endianness: 2, ..example() }.build(), "2 is neither 0 nor 1");
    assert_eq!(err.offset(), Some(5));
    COLF.refuses(&File { version: 2, ..example() }.build(), "version 2 is not supported");
    assert_eq!(COLF.writes(&example_table())[4..6], [1, 1]);
}

#[test]
fn f06_a_wrong_header_size_is_reported_and_ignored() {
    let right = 172;
    for wrong in [0, right - 4, right + 10, u32::MAX] {
        let made = File { header_size: Some(wrong), ..example() }.build();
        COLF.reads(&made, &example_values(), &[("F6", 6)]);
    }
    assert_eq!(COLF.writes(&example_table())[6..10], right.to_le_bytes());
}

#[test]
fn f07_string_offsets_have_32_bits() {
    let made = one(2, Column::utf8_parts("s", None, &[0, 1], b"ab"));
    COLF.reads(&made, &[("s", text(&["a", "b"]))], &[]);
    let large = |stats: &mut hypostyle::ColumnStats| stats.text_bytes = 1 << 32;
    let err = COLF.will_not_write(&Boast::new(&strings(&["x"]), large), "4294967296 bytes of text");
    assert_eq!(err.column().unwrap().name, "boast");
}

#[test]
fn f08_rows_are_a_whole_number_however_spelled() {
    for rows in ["3.0", "3e0", "30e-1", "0.3e1"] {
        let file =
            File { rows: rows.into(), ..File::new(3, vec![Column::int32("id", &[1, 2, 3])]) };
        COLF.reads(&file.build(), &ids(), &[("F8", 14)]);
    }
    let wrong =
        ["-3", "3.5", "\"3\"", "null", "[3]", "true", "1e16", "18446744073709551616", "-0.5"];
    for rows in wrong {
        let file = File { rows: rows.into(), ..example() };
        let err = COLF.refuses(&file.build(), "num_rows: ");
        assert_eq!(err.offset(), Some(14));
    }
    let missing = r#"{"columns":[{"name":"id","type":"int32"}]}"#;
    COLF.refuses(&with_schema(missing), "num_rows: is missing");
    COLF.refuses(&File { rows: "4".into(), ..example() }.build(), "12 bytes are not 4 rows");
    COLF.refuses(&File { rows: u64::MAX.to_string(), ..example() }.build(), "bytes are not");
    let text = String::from_utf8_lossy(&COLF.writes(&example_table())[14..28]).into_owned();
    assert_eq!(text, r#"{"num_rows":3,"#);
}

#[test]
fn f09_any_json_of_the_right_meaning_will_do() {
    for schema in [
        r#"{"columns":[{"type":"int32","name":"id"}],"num_rows":3}"#,
        " {\t\"num_rows\" : 3 ,\r\n \"columns\" : [ { \"name\":\"id\", \"type\" : \"int32\" } ] }\n",
        r#"{"x":[1,{"y":null}],"num_rows":3,"columns":[{"z":{},"name":"id","type":"int32"}]}"#,
        r#"{"num_rows":3,"columns":[{"name":"\u0069\u0064","type":"int32","nullable":true}]}"#,
        r#"{"num_rows":3,"columns":[{"name":"id","type":"int32","nullable":"perhaps"}]}"#,
        // The last of several equal keys counts.
        r#"{"num_rows":9,"num_rows":3,"columns":[],"columns":[{"name":"id","type":"int32"}]}"#,
    ] {
        COLF.reads(&with_schema(schema), &ids(), &[]);
    }
    let deep = format!(
        r#"{{"x":{}{},"num_rows":3,"columns":[{{"name":"id","type":"int32"}}]}}"#,
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    COLF.reads(&with_schema(&deep), &ids(), &[]);
    let odd = r#"{"num_rows":3,"columns":[{"name":"naïve-\ud83d\ude00\"","type":"int32"}]}"#;
    COLF.reads(&with_schema(odd), &[("naïve-😀\"", int(&[1, 2, 3]))], &[]);
    for bad in [
        "",
        "[]",
        "{}",
        "{\"num_rows\":3}",
        "{\"num_rows\":3,\"columns\":{}}",
        "\u{feff}{\"num_rows\":3,\"columns\":[{\"name\":\"id\",\"type\":\"int32\"}]}",
        r#"{"num_rows":3,"columns":[{"name":"id","type":"int32"}]} x"#,
        r#"{"num_rows":3,"columns":[{"name":"id","type":"int32"},]}"#,
        r#"{"num_rows":3,"columns":[{"name":"\ud83d","type":"int32"}]}"#,
        r#"{"num_rows":3,"columns":[{"name":7,"type":"int32"}]}"#,
        r#"{"num_rows":3,"columns":[{"type":"int32"}]}"#,
        r#"{"num_rows":3,"columns":[7]}"#,
        r#"{"num_rows":3,"columns":[{"name":"id"}]}"#,
    ] {
        COLF.refuses(&with_schema(bad), "");
    }
    let made = with_schema(r#"{"num_rows":3,"columns":[{"name":"id","type":"int32"}]}"#);
    let at = made.bytes.windows(2).position(|pair| pair == b"id").unwrap() as u64;
    let err = COLF.refuses_with(&made.patched(at, b"\xFF"), TextPolicy::Lossy, "schema: ");
    assert_eq!(err.offset(), Some(14));
    // Our writer's schema is compact UTF-8 without escapes.
    let schema = r#"{"num_rows":1,"columns":[{"name":"é\n\"","type":"int32","nullable":false}]}"#;
    let file = COLF.writes(&table(vec![("é\n\"", int32s(&[1]))]));
    assert_eq!(&file[14..14 + schema.len()], schema.as_bytes());
}

#[test]
fn f10_a_long_schema_is_a_matter_of_limits() {
    let name = "n".repeat(11_000_000);
    let made = one(1, Column::int32(&name, &[1]));
    COLF.reads(&made, &[(&name, int(&[1]))], &[]);
    let small = ReadOptions::default().with_limits(Limits::default().with_header_bytes(1 << 20));
    let err = laws::decode(COLF.format(), &made.bytes, &small).unwrap_err();
    assert!(err.to_string().contains("over the limit of 1048576"), "{err}");
    // A length beyond the file is malformed, not over a limit.
    COLF.refuses(&File { schema_len: Some(u32::MAX), ..example() }.build(), "schema needs");

    let frame = File::new(1, vec![Column::int32("", &[1])]).schema_text().len();
    let longest = "n".repeat(10_000_000 - frame);
    let file = COLF.writes(&table(vec![(&longest, int32s(&[1]))]));
    assert_eq!(file[10..14], 10_000_000_u32.to_le_bytes());
    let over = format!("{longest}n");
    COLF.will_not_write(&table(vec![(&over, int32s(&[1]))]), "takes 10000001 bytes");
}

#[test]
fn f11_what_stands_in_place_of_a_null_means_nothing() {
    let made = one(3, Column::int32_nulls("n", &[0b1111_1010], &[4, 999, 6]));
    COLF.reads(&made, &[("n", four_null_six())], &[]);
    let hidden = Int32Array::new(vec![4, 999, 6].into(), Some(vec![true, false, true].into()));
    let written = COLF.writes(&table(vec![("n", Arc::new(hidden))]));
    assert_eq!(written, one(3, Column::int32_nulls("n", &[0b010], &[4, 0, 6])).bytes);
}

#[test]
fn f12_a_bitmap_without_a_null_is_in_order() {
    let made = one(3, Column::int32_nulls("n", &[0], &[4, 5, 6]));
    COLF.reads(&made, &[("n", int(&[4, 5, 6]))], &[]);
    let made = one(3, Column { nullable: true, ..Column::int32("n", &[4, 5, 6]) });
    COLF.reads(&made, &[("n", int(&[4, 5, 6]))], &[]);
    // Our writer stores no bitmap without nulls, even for a nullable field.
    let file = COLF.writes(&table(vec![("n", int32s(&[4, 5, 6]))]));
    assert_eq!(file, one(3, Column::int32("n", &[4, 5, 6])).bytes);
    let nine: Vec<Option<i32>> = (0..9).map(|i| (i != 8).then_some(i)).collect();
    let file = COLF.writes(&table(vec![("n", Arc::new(Int32Array::from(nine)))]));
    let cells = [0, 1, 2, 3, 4, 5, 6, 7, 0];
    assert_eq!(file, one(9, Column::int32_nulls("n", &[0, 1], &cells)).bytes);
}

#[test]
fn f13_zero_rows_have_a_payload_of_two_bytes() {
    for (code, kind) in [(1, "int32"), (2, "float64"), (3, "utf8")] {
        let made = one(0, Column::new("x", kind, &[code, 0]));
        COLF.reads(&made, &[("x", Vec::new())], &[]);
        COLF.reads(&one(0, Column::new("x", kind, &[code, 1])), &[("x", Vec::new())], &[]);
    }
    let file = COLF.writes(&table(vec![("x", strings(&[]))]));
    assert_eq!(file, one(0, Column::new("x", "utf8", &[3, 0])).bytes);
}

#[test]
fn f14_a_block_of_no_bytes_is_all_null() {
    for kind in ["int32", "float64", "utf8"] {
        for raw in [0, 14, 1 << 60] {
            let block = Block { raw, ..Block::absent() };
            let made = one(3, Column { kind, block, ..Column::int32("n", &[]) });
            COLF.reads(&made, &[("n", vec![Cell::Null; 3])], &[("F14", made.entries[0])]);
        }
    }
    // Only the size of the file bounds these rows.
    let absent = || Column { block: Block::absent(), ..Column::int32("n", &[]) };
    let size = one(0, absent()).bytes.len() as u64;
    let max_rows = size * 1032 / 4;
    let err = COLF.refuses(&one(max_rows + 3_000, absent()), "stored as no bytes");
    assert!(matches!(err.kind(), hypostyle::ErrorKind::LimitExceeded { .. }));
    let made = one(max_rows, absent());
    let (batches, _) = laws::decode(COLF.format(), &made.bytes, &ReadOptions::default()).unwrap();
    assert_eq!(batches[0].column(0).null_count() as u64, max_rows);
    let two = File::new(max_rows, vec![absent(), Column { name: "m".into(), ..absent() }]).build();
    let reader = laws::open(COLF.format(), &two.bytes, &ReadOptions::default()).unwrap();
    assert!(reader.read(0, &[1]).is_ok());
    assert!(reader.read(0, &[0, 1, 0]).is_err(), "together they are over it");
}

#[test]
fn f15_offsets_neither_fall_nor_pass_the_end() {
    for (starts, row) in [([0, 2, 1], 1), ([3, 0, 0], 0), ([0, 0, 4], 2), ([0, u32::MAX, 3], 1)] {
        let made = one(3, Column::utf8_parts("s", None, &starts, b"abc"));
        let err = COLF.refuses(&made, "string offset: ");
        assert_eq!(err.row(), Some(row), "{err}");
    }
    let made = one(3, Column::utf8_parts("s", Some(&[0b010]), &[0, 99, 2], b"abc"));
    COLF.reads(&made, &[("s", maybe(&[Some("ab"), None, Some("c")]))], &[]);
    let short = payload(3, None, &texts(&[0, 1], b""))[..9].to_vec();
    COLF.refuses(&one(2, Column::new("s", "utf8", &short)), "string offsets: needs 8 bytes");
}

#[test]
fn f16_every_string_is_utf8_by_itself() {
    let made = one(2, Column::utf8_parts("s", None, &[0, 2], "aéb".as_bytes()));
    assert_eq!(COLF.refuses(&made, "text: is not UTF-8").row(), Some(0));
    let at = made.blocks[0].start;
    let lossy = [("s", text(&["a\u{FFFD}", "\u{FFFD}b"]))];
    COLF.reads_with(&made, TextPolicy::Lossy, &lossy, &[("F16", at), ("F16", at)]);
    COLF.refuses_with(&made, TextPolicy::Java, "text: is not UTF-8");
    let java = one(1, Column::utf8_parts("s", None, &[0], b"\xC0\x80"));
    let met = [("F16", java.blocks[0].start)];
    COLF.reads_with(&java, TextPolicy::Java, &[("s", text(&["\0"]))], &met);
    // Bytes that belong to no row need not be UTF-8.
    let stray = one(1, Column::utf8_parts("s", None, &[2], b"\xFF\xFEab"));
    COLF.reads(&stray, &[("s", text(&["ab"]))], &[("F17", stray.blocks[0].start)]);
}

#[test]
fn f17_string_bytes_of_no_row_are_reported_and_dropped() {
    let made = one(2, Column::utf8_parts("s", None, &[3, 5], b"xxxabcde"));
    let at = made.blocks[0].start;
    COLF.reads(&made, &[("s", text(&["ab", "cde"]))], &[("F17", at)]);
    let made = one(2, Column::utf8_parts("s", Some(&[0b11]), &[0, 0], b"xxx"));
    COLF.reads(&made, &[("s", maybe(&[None, None]))], &[("F17", made.blocks[0].start)]);
    let made = one(0, Column::utf8_parts("s", None, &[], b"xxx"));
    COLF.reads(&made, &[("s", Vec::new())], &[("F17", made.blocks[0].start)]);
}

#[test]
fn f18_there_is_no_64_bit_integer() {
    COLF.will_not_write(&table(vec![("x", int64s(&[1]))]), "no 64-bit integers");
}

#[test]
fn f19_every_column_of_a_doubtful_name_is_kept() {
    let names = ["id", "", "id", " "];
    let columns = names.iter().map(|name| Column::int32(name, &[7])).collect();
    let made = File::new(1, columns).build();
    let met = [1, 2, 3].map(|index| ("F19", made.entries[index]));
    COLF.reads(&made, &names.map(|name| (name, int(&[7]))), &met);

    let twice = table(vec![("id", int32s(&[1])), ("id", int32s(&[3]))]);
    COLF.will_not_write(&twice, "same name as column 1");
    let keep = WriteOptions::default().with_duplicate_names(DuplicateNames::Keep);
    let kept = File::new(1, vec![Column::int32("id", &[1]), Column::int32("id", &[3])]).build();
    assert_eq!(COLF.writes_with(&twice, &keep), kept.bytes);
    let nameless = one(1, Column::int32("", &[1]));
    assert_eq!(COLF.writes(&table(vec![("", int32s(&[1]))])), nameless.bytes);
}

#[test]
fn f20_white_space_is_text() {
    let values = [" ", "\t\n", "\u{3000}"];
    let made = one(3, Column::utf8("s", &values));
    COLF.reads(&made, &[("s", text(&values))], &[]);
    assert_eq!(COLF.writes(&table(vec![("s", strings(&values))])), made.bytes);
}

#[test]
fn f21_no_columns_are_refused_both_ways() {
    COLF.refuses(&File::new(0, Vec::new()).build(), "has no columns");
    COLF.will_not_write(&no_columns(), "no columns");
}

#[test]
fn f22_bytes_after_the_stream_are_reported_and_ignored() {
    let bits = [0x7FF8_0000_0000_1234, 0x8000_0000_0000_0000];
    let mut column = Column::float64("f", &bits);
    column.block.stored.extend_from_slice(b"junk");
    let made = one(2, column);
    COLF.reads(&made, &[("f", float(&bits))], &[("F22", made.blocks[0].end - 4)]);
    let written = COLF.writes(&table(vec![("f", float64s(&bits))]));
    assert_eq!(written, one(2, Column::float64("f", &bits)).bytes);
}

#[test]
fn f23_blocks_may_stand_anywhere_and_sharing_is_reported() {
    COLF.reads(&File { order: vec![1, 0], ..example() }.build(), &example_values(), &[]);
    let mut gaps = example();
    gaps.columns[0].block.gap = 9;
    gaps.columns[1].block.gap = 9;
    COLF.reads(&gaps.build(), &example_values(), &[]);

    let twin = Column { block: Block::shared(0, 14), ..Column::int32("b", &[]) };
    let shared = File::new(3, vec![Column::int32("a", &[1, 2, 3]), twin]).build();
    let values = [("a", int(&[1, 2, 3])), ("b", int(&[1, 2, 3]))];
    COLF.reads(&shared, &values, &[("F23", shared.blocks[0].start)]);

    for offset in [0, 13, 14, 181] {
        let mut inside = example();
        inside.columns[1].block.offset = Some(offset);
        COLF.refuses(&inside.build(), "lies inside the header or the column table");
    }
    let mut past = example();
    past.columns[1].block.size = Some(1 << 40);
    COLF.refuses(&past.build(), "block needs");
}

#[test]
fn f24_bytes_after_the_last_block_are_reported_and_ignored() {
    let made = File { tail: b"tail".to_vec(), ..example() }.build();
    COLF.reads(&made, &example_values(), &[("F24", made.bytes.len() as u64 - 4)]);
}

/// The worked example in section 8 of the spec, compressed by another library.
#[test]
fn the_worked_example_reads_as_it_says() {
    let made = example().build();
    let mut bytes = made.bytes[..182].to_vec();
    for (at, number) in [(140, 19_u64), (157, 201), (165, 21)] {
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    }
    let blocks = [
        0x78, 0x9c, 0x63, 0x64, 0x60, 0x64, 0x60, 0x60, 0x60, 0x02, 0x62, 0x66, 0x20, 0x06, 0x00,
        0x00, 0x44, 0x00, 0x08, 0x78, 0x9c, 0x63, 0x66, 0x64, 0x62, 0x00, 0x02, 0x26, 0x28, 0x4e,
        0x4c, 0x4a, 0x4e, 0x49, 0x05, 0x00, 0x06, 0x76, 0x01, 0xfa,
    ];
    bytes.extend_from_slice(&blocks);
    assert_eq!(bytes.len(), 222);
    COLF.reads(&BuiltFile { bytes, ..made }, &example_values(), &[]);
}
