//! The cases of CLMN files.

use hypostyle::formats::ColumnType::{Float64, Int32, Int64, Text};

use super::{Case, Cases, SPECIAL_FLOATS, UNICODE_TEXTS, floats, ints, texts};
use crate::build::clmn::{Column, File, strings};
use crate::build::{Block, BuiltFile, zlib_by_hand, zlib_with_dictionary};

fn example() -> File {
    let columns = vec![
        Column::int32("id", &[1, 2]),
        Column::string("name", &["Alice", "Bob"]),
        Column::int32("age", &[30, 25]),
    ];
    File::new(2, columns)
}

fn example_values() -> super::Columns<'static> {
    vec![
        ("id", Int32, ints(&[1, 2])),
        ("name", Text, texts(&["Alice", "Bob"])),
        ("age", Int32, ints(&[30, 25])),
    ]
}

fn one(rows: u64, code: u8, block: Block) -> BuiltFile {
    File::new(rows, vec![Column { name: b"x".to_vec(), code, block }]).build()
}

fn alter(change: impl FnOnce(&mut File)) -> BuiltFile {
    let mut file = example();
    change(&mut file);
    file.build()
}

/// Changes the entry and block of the last column.
fn alter_block(change: impl FnOnce(&mut Block)) -> BuiltFile {
    alter(|file| change(&mut file.columns.last_mut().unwrap().block))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Cases::new("clmn");
    good(&mut cases);
    liberal(&mut cases);
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
        File::new(5, vec![Column::int32("n", &values)]).build(),
        vec![("n", Int32, ints(&wide))],
    );
    let longs = [0, -1, i64::MIN, i64::MAX, 9_007_199_254_740_993, 0x0102_0304_0506_0708];
    cases.canonical(
        "types/int64-extremes",
        File::new(6, vec![Column::int64("n", &longs)]).build(),
        vec![("n", Int64, ints(&longs))],
    );
    cases.canonical(
        "types/float64-bits",
        File::new(12, vec![Column::float64("f", &SPECIAL_FLOATS)]).build(),
        vec![("f", Float64, floats(&SPECIAL_FLOATS))],
    );
    cases.canonical(
        "types/string-unicode",
        File::new(8, vec![Column::string("s", &UNICODE_TEXTS)]).build(),
        vec![("s", Text, texts(&UNICODE_TEXTS))],
    );
    for (name, values) in
        [("strings/last-is-empty", &["a", ""][..]), ("strings/all-are-empty", &["", "", ""])]
    {
        let file = File::new(values.len() as u64, vec![Column::string("s", values)]).build();
        cases.canonical(name, file, vec![("s", Text, texts(values))]);
    }
    let long = "x".repeat(65_535);
    let file = File::new(1, vec![Column::string("s", &[&long])]).build();
    cases.canonical("strings/of-65535-bytes", file, vec![("s", Text, texts(&[&long]))]);
    for (name, column) in [
        ("names/outer-spaces", "  id "),
        ("names/no-break-space", "\u{a0}"),
        ("names/unicode", "naïve-名😀"),
    ] {
        let file = File::new(1, vec![Column::int32(column, &[7])]).build();
        cases.canonical(name, file, vec![(column, Int32, ints(&[7]))]);
    }
    let absent = |name: &str, code| Column { name: name.into(), code, block: Block::absent() };
    let columns = vec![absent("i", 0), absent("l", 1), absent("f", 2), absent("s", 3)];
    let empty = || {
        vec![
            ("i", Int32, vec![]),
            ("l", Int64, vec![]),
            ("f", Float64, vec![]),
            ("s", Text, vec![]),
        ]
    };
    cases.canonical("rows/zero-rows", File::new(0, columns.clone()).build(), empty());
    let stream = |column: Column| Column { block: Block::of(&[]), ..column };
    let columns = columns.into_iter().map(stream).collect();
    cases.other("rows/zero-rows-streams-of-nothing", File::new(0, columns).build(), empty(), &[]);
}

fn liberal(cases: &mut Cases) {
    for (name, names) in [
        ("names/duplicate", ["id", "id"]),
        ("names/empty", ["id", ""]),
        ("names/blank", ["id", " \t"]),
    ] {
        let columns = names.iter().map(|name| Column::int32(name, &[1])).collect();
        let values = names.iter().map(|&name| (name, Int32, ints(&[1]))).collect();
        cases.other(name, File::new(1, columns).build(), values, &["N11"]);
    }
    cases.other(
        "layout/gap-before-the-blocks",
        alter(|f| f.columns.first_mut().unwrap().block.gap = 5),
        example_values(),
        &["N1"],
    );
    cases.other("layout/gap-between-blocks", alter_block(|b| b.gap = 3), example_values(), &["N1"]);
    cases.other(
        "layout/blocks-reversed",
        alter(|f| f.order = vec![2, 1, 0]),
        example_values(),
        &["N8", "N8"],
    );
    cases.other(
        "layout/bytes-after-the-last-block",
        alter(|f| f.tail = b"tail".to_vec()),
        example_values(),
        &["N19"],
    );
    let twin = Column { name: b"b".to_vec(), code: 0, block: Block::shared(0, 8) };
    cases.other(
        "layout/shared-block",
        File::new(2, vec![Column::int32("a", &[1, 2]), twin]).build(),
        vec![("a", Int32, ints(&[1, 2])), ("b", Int32, ints(&[1, 2]))],
        &["N8"],
    );
    let content: Vec<u8> = (0..300_i32).flat_map(i32::to_be_bytes).collect();
    let values: Vec<i64> = (0..300).collect();
    for (name, cmf) in [("zlib/stored-blocks", 0x78), ("zlib/window-of-256-bytes", 0x08)] {
        let block = Block::stored(&zlib_by_hand(&content, cmf), 1200);
        cases.other(name, one(300, 0, block), vec![("x", Int32, ints(&values))], &[]);
    }
    cases.other(
        "zlib/bytes-after-the-stream",
        alter_block(|b| b.stored.extend(b"junk")),
        example_values(),
        &["N18"],
    );
    cases.other(
        "values/int32-left-over",
        one(1, 0, Block::of(&[0, 0, 0, 7, 9])),
        vec![("x", Int32, ints(&[7]))],
        &["N17"],
    );
    cases.other(
        "values/string-left-over",
        one(1, 3, Block::of(&[0, 1, b'a', 0])),
        vec![("x", Text, texts(&["a"]))],
        &["N17"],
    );
}

fn bad_headers(cases: &mut Cases) {
    cases.invalid_bytes("header/no-bytes", Vec::new());
    cases.invalid_bytes("header/magic-only", b"CLMN".to_vec());
    cases.invalid("header/reversed-magic", alter(|f| f.magic = *b"NMLC"));
    cases.invalid_bytes("header/magic-at-the-end", b"data of another format, CLMN".to_vec());
    cases.invalid("header/version-0", alter(|f| f.version = 0));
    cases.invalid("header/version-256", alter(|f| f.version = 256));
    cases.invalid("header/no-columns", File::new(0, Vec::new()).build());
    cases.invalid("header/column-count-not-backed", alter(|f| f.column_count = Some(u32::MAX)));
    cases.invalid("header/row-count-with-a-sign", alter(|f| f.rows = 1 << 63));
    cases.invalid_bytes("table/cut", example().build().bytes.get(..80).unwrap().to_vec());
    cases.invalid("table/name-past-the-end", example().build().patched(18, &[0xFF; 2]));
    let name = Column { name: b"n\xFF".to_vec(), ..Column::int32("", &[1]) };
    cases.invalid("table/name-not-utf8", File::new(1, vec![name]).build());
    cases.invalid("table/type-4", one(1, 4, Block::of(&[0; 8])));
    cases.invalid("table/block-in-the-header", alter_block(|b| b.offset = Some(0)));
    cases.invalid("table/block-in-the-table", alter_block(|b| b.offset = Some(83)));
    cases.invalid("table/block-past-the-end", alter_block(|b| b.size = Some(1000)));
    cases.invalid("table/block-offset-wraps", alter_block(|b| b.offset = Some(u64::MAX - 7)));
}

fn bad_blocks(cases: &mut Cases) {
    cases.invalid("zlib/wrong-checksum", alter_block(|b| *b.stored.last_mut().unwrap() ^= 1));
    cases.invalid("zlib/cut-stream", alter_block(|b| b.stored.truncate(b.stored.len() - 5)));
    let dictionary = zlib_with_dictionary(&[0; 8]);
    cases.invalid("zlib/preset-dictionary", one(2, 0, Block::stored(&dictionary, 8)));
    cases.invalid("zlib/size-too-large", alter_block(|b| b.raw = 14));
    cases.invalid("zlib/size-too-small", alter_block(|b| b.raw = 7));
    cases.invalid("bombs/claims-4-gib", alter_block(|b| b.raw = 0xFFFF_FFFF));
    cases.invalid("bombs/row-count-max", one((1 << 63) - 1, 1, Block::of(&[0; 16])));
    cases.invalid("bombs/row-count-max-strings", one((1 << 63) - 1, 3, Block::of(&[0; 16])));
    cases.invalid("bombs/row-count-that-wraps", one((1 << 61) + 1, 1, Block::of(&[0; 8])));
    cases.invalid("values/too-few", one(3, 0, Block::of(&[0; 8])));
    cases.invalid("values/no-bytes-but-rows", one(1, 0, Block::absent()));
    cases.invalid("values/string-past-the-end", one(1, 3, Block::of(&[0, 5, b'a'])));
    cases.invalid("values/last-string-missing", one(3, 3, Block::of(&[0, 2, b'a', b'b', 0, 0])));
    cases.invalid("values/text-not-utf8", one(2, 3, Block::of(&strings(&[&b"ok"[..], b"a\xFFb"]))));
    cases.invalid("values/text-in-modified-utf8", one(1, 3, Block::of(&strings(&[b"\xC0\x80"]))));
}
