//! The cases of COLF files.

use hypostyle::formats::ColumnType::{Float64, Int32, Text};

use super::{Case, Cases, SPECIAL_FLOATS, UNICODE_TEXTS, floats, ints, maybe, maybe_ints, texts};
use crate::build::colf::{Column, File, int32s, payload, texts as text_values};
use crate::build::{Block, BuiltFile, zlib_by_hand, zlib_with_dictionary};
use crate::content::Cell;

fn example() -> File {
    let columns = vec![
        Column::int32("id", &[1, 2, 3]),
        Column::utf8_parts("name", Some(&[0b010]), &[0, 2, 2], b"abcde"),
    ];
    File::new(3, columns)
}

fn example_values() -> super::Columns<'static> {
    let names = maybe(&[Some("ab"), None, Some("cde")]);
    vec![("id", Int32, ints(&[1, 2, 3])), ("name", Text, names)]
}

fn one(rows: u64, column: Column) -> BuiltFile {
    File::new(rows, vec![column]).build()
}

fn alter(change: impl FnOnce(&mut File)) -> BuiltFile {
    let mut file = example();
    change(&mut file);
    file.build()
}

/// Changes the second column.
fn alter_column(change: impl FnOnce(&mut Column)) -> BuiltFile {
    alter(|file| change(file.columns.last_mut().unwrap()))
}

fn with_schema(schema: &str) -> BuiltFile {
    let file = File::new(3, vec![Column::int32("id", &[1, 2, 3])]);
    File { schema: Some(schema.into()), ..file }.build()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Cases::new("colf");
    good(&mut cases);
    nulls(&mut cases);
    liberal(&mut cases);
    schemas(&mut cases);
    bad_headers(&mut cases);
    bad_blocks(&mut cases);
    cases.all
}

fn good(cases: &mut Cases) {
    cases.canonical("types/example", example().build(), example_values());
    let values = [0, 1, -1, i32::MIN, i32::MAX];
    let wide: Vec<i64> = values.iter().map(|&v| v.into()).collect();
    cases.canonical(
        "types/int32-extremes",
        one(5, Column::int32("n", &values)),
        vec![("n", Int32, ints(&wide))],
    );
    cases.canonical(
        "types/float64-bits",
        one(12, Column::float64("f", &SPECIAL_FLOATS)),
        vec![("f", Float64, floats(&SPECIAL_FLOATS))],
    );
    cases.canonical(
        "types/utf8-unicode",
        one(8, Column::utf8("s", &UNICODE_TEXTS)),
        vec![("s", Text, texts(&UNICODE_TEXTS))],
    );
    let empties = ["", "ab", "", "", "cde", ""];
    cases.canonical(
        "strings/empty-is-not-null",
        one(6, Column::utf8("s", &empties)),
        vec![("s", Text, texts(&empties))],
    );
    let spaces = [" ", "\t\n", "\u{3000}"];
    cases.canonical(
        "strings/white-space",
        one(3, Column::utf8("s", &spaces)),
        vec![("s", Text, texts(&spaces))],
    );
    let name = "naïve\u{1}\n\"\\/名😀\u{2028}";
    cases.canonical(
        "names/escaped-and-plain",
        one(1, Column::int32(name, &[7])),
        vec![(name, Int32, ints(&[7]))],
    );
    let zero = [("i", "int32", 1), ("f", "float64", 2), ("s", "utf8", 3)];
    let columns = zero.map(|(name, kind, code)| Column::new(name, kind, &[code, 0])).to_vec();
    let values = vec![("i", Int32, vec![]), ("f", Float64, vec![]), ("s", Text, vec![])];
    cases.canonical("rows/zero-rows", File::new(0, columns).build(), values);
}

fn nulls(cases: &mut Cases) {
    let eight: Vec<i32> = vec![0, 1, 2, 3, 4, 5, 6, 0];
    let mut expected: Vec<Option<i64>> = (0..8).map(Some).collect();
    *expected.last_mut().unwrap() = None;
    cases.canonical(
        "nulls/eight-rows-one-byte",
        one(8, Column::int32_nulls("n", &[0b1000_0000], &eight)),
        vec![("n", Int32, maybe_ints(&expected))],
    );
    let nine = [eight.get(..7).unwrap(), &[7, 0]].concat();
    let mut expected: Vec<Option<i64>> = (0..9).map(Some).collect();
    *expected.last_mut().unwrap() = None;
    cases.canonical(
        "nulls/nine-rows-two-bytes",
        one(9, Column::int32_nulls("n", &[0, 1], &nine)),
        vec![("n", Int32, maybe_ints(&expected))],
    );
    let bits: Vec<u8> =
        SPECIAL_FLOATS.get(5..8).unwrap().iter().flat_map(|v| v.to_le_bytes()).collect();
    let values = [&[0; 8][..], &bits].concat();
    let cells = [vec![Cell::Null], floats(SPECIAL_FLOATS.get(5..8).unwrap())].concat();
    cases.canonical(
        "nulls/nan-is-not-null",
        one(4, Column::new("f", "float64", &payload(2, Some(&[1]), &values))),
        vec![("f", Float64, cells)],
    );
    let columns = vec![
        Column::int32_nulls("i", &[0b111], &[0, 0, 0]),
        Column::new("f", "float64", &payload(2, Some(&[0b111]), &[0; 24])),
        Column::utf8_parts("s", Some(&[0b111]), &[0, 0, 0], b""),
    ];
    let none = || vec![Cell::Null; 3];
    cases.canonical(
        "nulls/nothing-but-nulls",
        File::new(3, columns).build(),
        vec![("i", Int32, none()), ("f", Float64, none()), ("s", Text, none())],
    );
    let edges = maybe(&[None, Some("ab"), None, None]);
    cases.canonical(
        "nulls/first-and-last-strings",
        one(4, Column::utf8_parts("s", Some(&[0b1101]), &[0, 0, 2, 2], b"ab")),
        vec![("s", Text, edges)],
    );
    for (name, start) in [("nulls/offset-0", 0), ("nulls/offset-past-the-end", u32::MAX)] {
        let column = Column::utf8_parts("s", Some(&[0b010]), &[0, start, 2], b"abcde");
        cases.other(
            name,
            one(3, column),
            vec![("s", Text, maybe(&[Some("ab"), None, Some("cde")]))],
            &[],
        );
    }
    let gap = || maybe_ints(&[Some(4), None, Some(6)]);
    let column = Column::int32_nulls("n", &[0b1111_1010], &[4, 999, 6]);
    cases.other(
        "nulls/cells-and-padding-mean-nothing",
        one(3, column),
        vec![("n", Int32, gap())],
        &[],
    );
    let column = Column::int32_nulls("n", &[0], &[4, 5, 6]);
    cases.other(
        "nulls/bitmap-without-a-null",
        one(3, column),
        vec![("n", Int32, ints(&[4, 5, 6]))],
        &[],
    );
    let with = || Column::int32_nulls("n", &[0b010], &[4, 0, 6]);
    cases.other(
        "nulls/only-the-payload-has-the-flag",
        one(3, Column { flag: 0, ..with() }),
        vec![("n", Int32, gap())],
        &["F3"],
    );
    let column = Column { flag: 1, ..Column::int32("n", &[4, 5, 6]) };
    cases.other(
        "nulls/only-the-entry-has-the-flag",
        one(3, column),
        vec![("n", Int32, ints(&[4, 5, 6]))],
        &["F3"],
    );
    cases.other(
        "nulls/not-nullable",
        one(3, Column { nullable: false, ..with() }),
        vec![("n", Int32, gap())],
        &["F3"],
    );
    let column = Column { nullable: true, ..Column::int32("n", &[4, 5, 6]) };
    cases.other(
        "nulls/nullable-without-a-null",
        one(3, column),
        vec![("n", Int32, ints(&[4, 5, 6]))],
        &[],
    );
    let column = Column { block: Block::absent(), ..Column::int32("n", &[]) };
    cases.other("nulls/no-bytes-at-all", one(3, column), vec![("n", Int32, none())], &["F14"]);
}

fn liberal(cases: &mut Cases) {
    let columns = vec![Column::int32("id", &[1]), Column::int32("id", &[2])];
    cases.other(
        "names/duplicate",
        File::new(1, columns).build(),
        vec![("id", Int32, ints(&[1])), ("id", Int32, ints(&[2]))],
        &["F19"],
    );
    // Our writer writes such a name, so the file is canonical although it has a deviation.
    cases.push(
        "names/empty",
        one(1, Column::int32("", &[1])),
        vec![("", Int32, ints(&[1]))],
        vec!["F19"],
        true,
    );
    cases.other(
        "layout/wrong-header-size",
        alter(|f| f.header_size = Some(182)),
        example_values(),
        &["F6"],
    );
    cases.other("layout/blocks-reversed", alter(|f| f.order = vec![1, 0]), example_values(), &[]);
    cases.other(
        "layout/gap-between-blocks",
        alter_column(|c| c.block.gap = 11),
        example_values(),
        &[],
    );
    cases.other(
        "layout/bytes-after-the-last-block",
        alter(|f| f.tail = b"tail".to_vec()),
        example_values(),
        &["F24"],
    );
    let twin = Column { block: Block::shared(0, 14), ..Column::int32("b", &[]) };
    cases.other(
        "layout/shared-block",
        File::new(3, vec![Column::int32("a", &[1, 2, 3]), twin]).build(),
        vec![("a", Int32, ints(&[1, 2, 3])), ("b", Int32, ints(&[1, 2, 3]))],
        &["F23"],
    );
    let raw = payload(1, None, &int32s(&[1, 2, 3]));
    for (name, cmf) in [("zlib/stored-blocks", 0x78), ("zlib/window-of-256-bytes", 0x08)] {
        let block = Block::stored(&zlib_by_hand(&raw, cmf), 14);
        let column = Column { block, ..Column::int32("n", &[]) };
        cases.other(name, one(3, column), vec![("n", Int32, ints(&[1, 2, 3]))], &[]);
    }
    cases.other(
        "zlib/bytes-after-the-stream",
        alter_column(|c| c.block.stored.extend(b"junk")),
        example_values(),
        &["F22"],
    );
    let column = Column::utf8_parts("s", None, &[3, 5], b"xxxabcde");
    cases.other(
        "strings/bytes-of-no-row",
        one(2, column),
        vec![("s", Text, texts(&["ab", "cde"]))],
        &["F17"],
    );
}

fn schemas(cases: &mut Cases) {
    let ids = || vec![("id", Int32, ints(&[1, 2, 3]))];
    cases.other(
        "schema/other-order-and-space",
        with_schema(
            " {\n\"columns\" : [ {\"type\":\"int32\" , \"name\":\"id\"} ],\t\"num_rows\":3 }\r\n",
        ),
        ids(),
        &[],
    );
    cases.other("schema/unknown-keys", with_schema(r#"{"v":[1,{"w":null}],"num_rows":3,"columns":[{"name":"id","type":"int32","unit":"m"}]}"#), ids(), &[]);
    let deep = format!(
        r#"{{"x":{}{},"num_rows":3,"columns":[{{"name":"id","type":"int32"}}]}}"#,
        "[".repeat(300),
        "]".repeat(300)
    );
    cases.other("schema/unknown-key-nested-300-deep", with_schema(&deep), ids(), &[]);
    cases.other(
        "schema/escaped-name",
        with_schema(
            r#"{"num_rows":3,"columns":[{"name":"\u0069\u0064\ud83d\ude00","type":"int32"}]}"#,
        ),
        vec![("id😀", Int32, ints(&[1, 2, 3]))],
        &[],
    );
    cases.other("schema/repeated-keys", with_schema(r#"{"num_rows":9,"num_rows":3,"columns":[],"columns":[{"name":"no","name":"id","type":"int32"}]}"#), ids(), &[]);
    cases.other(
        "schema/rows-as-float",
        with_schema(r#"{"num_rows":3.0,"columns":[{"name":"id","type":"int32"}]}"#),
        ids(),
        &["F8"],
    );
    for (name, rows) in [
        ("schema/rows-negative", "-3"),
        ("schema/rows-fractional", "2.5"),
        ("schema/rows-text", "\"3\""),
        ("schema/rows-over-64-bits", "18446744073709551616"),
        ("schema/rows-null", "null"),
        ("bombs/row-count-max", "18446744073709551615"),
    ] {
        cases.invalid(name, alter(|f| f.rows = rows.to_owned()));
    }
    for (name, schema) in [
        ("schema/rows-missing", r#"{"columns":[{"name":"id","type":"int32"}]}"#),
        ("schema/columns-missing", r#"{"num_rows":3}"#),
        ("schema/columns-no-array", r#"{"num_rows":3,"columns":{}}"#),
        ("schema/no-columns", r#"{"num_rows":3,"columns":[]}"#),
        ("schema/column-no-object", r#"{"num_rows":3,"columns":[7]}"#),
        ("schema/name-missing", r#"{"num_rows":3,"columns":[{"type":"int32"}]}"#),
        ("schema/name-no-text", r#"{"num_rows":3,"columns":[{"name":7,"type":"int32"}]}"#),
        (
            "schema/name-half-a-surrogate",
            r#"{"num_rows":3,"columns":[{"name":"\ud83d","type":"int32"}]}"#,
        ),
        ("schema/type-missing", r#"{"num_rows":3,"columns":[{"name":"id"}]}"#),
        ("schema/type-unknown", r#"{"num_rows":3,"columns":[{"name":"id","type":"int64"}]}"#),
        ("schema/type-in-capitals", r#"{"num_rows":3,"columns":[{"name":"id","type":"INT32"}]}"#),
        ("schema/no-json", "num_rows=3"),
        ("schema/no-object", "[3]"),
        ("schema/empty", ""),
        ("schema/cut", r#"{"num_rows":3,"columns":[{"name":"id""#),
        (
            "schema/text-after-the-object",
            r#"{"num_rows":3,"columns":[{"name":"id","type":"int32"}]}x"#,
        ),
        (
            "schema/byte-order-mark",
            "\u{feff}{\"num_rows\":3,\"columns\":[{\"name\":\"id\",\"type\":\"int32\"}]}",
        ),
    ] {
        cases.invalid(name, with_schema(schema));
    }
    let file = with_schema(r#"{"num_rows":3,"columns":[{"name":"id","type":"int32"}]}"#);
    let at = file.bytes.windows(2).position(|pair| pair == b"id").unwrap() as u64;
    cases.invalid("schema/not-utf8", file.patched(at, b"\xFF"));
    let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
    cases.invalid("schema/nested-10000-deep", with_schema(&deep));
}

fn bad_headers(cases: &mut Cases) {
    cases.invalid_bytes("header/no-bytes", Vec::new());
    cases.invalid_bytes("header/magic-only", b"COLF".to_vec());
    cases.invalid("header/reversed-magic", alter(|f| f.magic = *b"FLOC"));
    cases.invalid("header/version-2", alter(|f| f.version = 2));
    cases.invalid("header/big-endian", alter(|f| f.endianness = 0));
    cases.invalid("header/endianness-2", alter(|f| f.endianness = 2));
    cases.invalid("header/schema-past-the-end", alter(|f| f.schema_len = Some(u32::MAX)));
    cases.invalid_bytes("table/cut", example().build().bytes.get(..181).unwrap().to_vec());
    cases.invalid("table/flag-2", alter_column(|c| c.flag = 2));
    cases.invalid("table/block-in-the-schema", alter_column(|c| c.block.offset = Some(14)));
    cases.invalid("table/block-in-the-table", alter_column(|c| c.block.offset = Some(181)));
    cases.invalid("table/block-past-the-end", alter_column(|c| c.block.size = Some(1000)));
    cases
        .invalid("table/block-offset-wraps", alter_column(|c| c.block.offset = Some(u64::MAX - 7)));
}

fn bad_blocks(cases: &mut Cases) {
    cases
        .invalid("zlib/wrong-checksum", alter_column(|c| *c.block.stored.last_mut().unwrap() ^= 1));
    cases.invalid(
        "zlib/cut-stream",
        alter_column(|c| c.block.stored.truncate(c.block.stored.len() - 5)),
    );
    let dictionary = zlib_with_dictionary(&payload(1, None, &int32s(&[1, 2, 3])));
    let column = Column { block: Block::stored(&dictionary, 14), ..Column::int32("n", &[]) };
    cases.invalid("zlib/preset-dictionary", one(3, column));
    cases.invalid("zlib/size-too-large", alter_column(|c| c.block.raw += 1));
    cases.invalid("zlib/size-too-small", alter_column(|c| c.block.raw -= 1));
    cases.invalid("bombs/claims-2-to-the-60", alter_column(|c| c.block.raw = 1 << 60));
    let absent = |name: &str| Column { block: Block::absent(), ..Column::int32(name, &[]) };
    cases.invalid("bombs/no-bytes-and-2-to-the-60-rows", one(1 << 60, absent("n")));
    let many = (0..100).map(|index| absent(&index.to_string())).collect();
    cases.invalid("bombs/many-columns-of-no-bytes", File::new(1_500_000, many).build());
    cases.invalid("values/other-type-in-the-payload", alter_column(|c| c.kind = "float64"));
    cases.invalid("values/no-payload", one(3, Column::new("n", "int32", &[])));
    cases.invalid("values/payload-of-one-byte", one(3, Column::new("n", "int32", &[1])));
    cases.invalid(
        "values/flag-2",
        one(1, Column { flag: 0, ..Column::new("n", "int32", &[1, 2, 0, 0, 0, 0]) }),
    );
    cases.invalid("values/bitmap-too-short", one(9, Column::new("n", "int32", &[1, 1, 0])));
    cases.invalid(
        "values/int32-left-over",
        one(1, Column::new("n", "int32", &payload(1, None, &[0; 5]))),
    );
    cases.invalid(
        "values/int32-too-few",
        one(2, Column::new("n", "int32", &payload(1, None, &[0; 4]))),
    );
    cases.invalid("values/zero-rows-with-values", one(0, Column::int32("n", &[1])));
    cases.invalid(
        "strings/offsets-missing",
        one(3, Column::new("s", "utf8", &payload(3, None, &text_values(&[0, 0], b"")))),
    );
    cases
        .invalid("strings/offsets-fall", one(3, Column::utf8_parts("s", None, &[0, 2, 1], b"abc")));
    cases.invalid(
        "strings/offset-past-the-end",
        one(3, Column::utf8_parts("s", None, &[0, 0, 4], b"abc")),
    );
    cases.invalid(
        "strings/character-in-two-rows",
        one(2, Column::utf8_parts("s", None, &[0, 2], "aé".as_bytes())),
    );
    cases.invalid("strings/not-utf8", one(1, Column::utf8_parts("s", None, &[0], b"a\xFFb")));
}
