//! The cases of COLM files.

use hypostyle::formats::ColumnType::{Float64, Int32, Text};

use super::{Case, Cases, SPECIAL_FLOATS, UNICODE_TEXTS, floats, ints, texts};
use crate::build::colm::{Column, File, strings};
use crate::build::{Block, BuiltFile, zlib_by_hand, zlib_with_dictionary};

fn example() -> File {
    let names = ["Alice", "Bob", "Charlie"];
    File::new(3, vec![Column::int32("id", &[1, 2, 3]), Column::string("name", &names)])
}

fn example_values() -> super::Columns<'static> {
    vec![("id", Int32, ints(&[1, 2, 3])), ("name", Text, texts(&["Alice", "Bob", "Charlie"]))]
}

fn one(rows: u32, code: u8, block: Block) -> BuiltFile {
    File::new(rows, vec![Column { name: b"x".to_vec(), code, block }]).build()
}

fn alter(change: impl FnOnce(&mut File)) -> BuiltFile {
    let mut file = example();
    change(&mut file);
    file.build()
}

/// Changes the entry and block of the second column.
fn alter_block(change: impl FnOnce(&mut Block)) -> BuiltFile {
    alter(|file| change(&mut file.columns.last_mut().unwrap().block))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Cases::new("colm");
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
    let empties = ["", "a", "", ""];
    cases.canonical(
        "strings/empty",
        File::new(4, vec![Column::string("s", &empties)]).build(),
        vec![("s", Text, texts(&empties))],
    );
    let long = "x".repeat(65_536);
    cases.canonical(
        "strings/of-65536-bytes",
        File::new(1, vec![Column::string("s", &[&long])]).build(),
        vec![("s", Text, texts(&[&long]))],
    );
    cases.canonical(
        "names/measured-in-bytes",
        File::new(1, vec![Column::int32("naïve-名😀", &[7])]).build(),
        vec![("naïve-名😀", Int32, ints(&[7]))],
    );
    cases.canonical(
        "names/outer-spaces",
        File::new(1, vec![Column::int32("  id ", &[7])]).build(),
        vec![("  id ", Int32, ints(&[7]))],
    );
    cases.canonical(
        "rows/zero-rows",
        File::new(
            0,
            vec![Column::int32("i", &[]), Column::float64("f", &[]), Column::string("s", &[])],
        )
        .build(),
        vec![("i", Int32, vec![]), ("f", Float64, vec![]), ("s", Text, vec![])],
    );
}

fn liberal(cases: &mut Cases) {
    let doubtful = || vec![("id", Int32, ints(&[1])), ("id", Int32, ints(&[2]))];
    cases.other(
        "names/duplicate",
        File::new(1, vec![Column::int32("id", &[1]), Column::int32("id", &[2])]).build(),
        doubtful(),
        &["M17"],
    );
    // Our writer writes such a name, so the file is canonical although it has a deviation.
    cases.push(
        "names/empty",
        File::new(1, vec![Column::int32("", &[1])]).build(),
        vec![("", Int32, ints(&[1]))],
        vec!["M17"],
        true,
    );
    cases.other(
        "rows/zero-rows-no-bytes",
        one(0, 1, Block::absent()),
        vec![("x", Int32, vec![])],
        &["M11"],
    );
    cases.other("layout/table-at-64", alter(|f| f.gap = vec![0xAA; 32]), example_values(), &[]);
    cases.other(
        "layout/wrong-data-offset",
        alter(|f| f.data_at = Some(176)),
        example_values(),
        &["M7"],
    );
    cases.other("layout/blocks-reversed", alter(|f| f.order = vec![1, 0]), example_values(), &[]);
    cases.other("layout/gap-between-blocks", alter_block(|b| b.gap = 11), example_values(), &[]);
    cases.other(
        "layout/bytes-after-the-last-block",
        alter(|f| f.tail = b"tail".to_vec()),
        example_values(),
        &["M23"],
    );
    let twin = Column { name: b"b".to_vec(), code: 1, block: Block::shared(0, 12) };
    cases.other(
        "layout/shared-block",
        File::new(3, vec![Column::int32("a", &[1, 2, 3]), twin]).build(),
        vec![("a", Int32, ints(&[1, 2, 3])), ("b", Int32, ints(&[1, 2, 3]))],
        &["M8"],
    );
    let content: Vec<u8> = (0..300_i32).flat_map(i32::to_le_bytes).collect();
    let values: Vec<i64> = (0..300).collect();
    for (name, cmf) in [("zlib/stored-blocks", 0x78), ("zlib/window-of-256-bytes", 0x08)] {
        let block = Block::stored(&zlib_by_hand(&content, cmf), 1200);
        cases.other(name, one(300, 1, block), vec![("x", Int32, ints(&values))], &[]);
    }
    cases.other(
        "zlib/bytes-after-the-stream",
        alter_block(|b| b.stored.extend(b"junk")),
        example_values(),
        &["M16"],
    );
    let twice = |b: &mut Block| b.stored.extend_from_within(b.stored.len() - 4..);
    cases.other("zlib/checksum-twice", alter_block(twice), example_values(), &["M16"]);
    let left = [strings(&["ab", ""]), b"left".to_vec()].concat();
    cases.other(
        "values/left-over-in-strings",
        one(2, 3, Block::of(&left)),
        vec![("x", Text, texts(&["ab", ""]))],
        &["M9"],
    );
}

fn bad_headers(cases: &mut Cases) {
    cases.invalid_bytes("header/no-bytes", Vec::new());
    cases.invalid_bytes("header/magic-only", b"COLM".to_vec());
    cases.invalid_bytes("header/cut", example().build().bytes.get(..31).unwrap().to_vec());
    cases.invalid("header/other-magic", alter(|f| f.magic = *b"COLD"));
    cases.invalid("header/reversed-magic", alter(|f| f.magic = *b"MLOC"));
    cases.invalid("header/version-0", alter(|f| f.version = 0));
    cases.invalid("header/version-2", alter(|f| f.version = 2));
    cases.invalid("header/no-columns", File::new(0, Vec::new()).build());
    cases.invalid("header/column-count-not-backed", alter(|f| f.column_count = Some(u32::MAX)));
    cases.invalid("header/table-inside-the-header", alter(|f| f.table_at = Some(31)));
    cases.invalid("header/table-past-the-end", alter(|f| f.table_at = Some(1 << 60)));
    cases.invalid(
        "table/cut",
        BuiltFile {
            bytes: example().build().bytes.get(..70).unwrap().to_vec(),
            ..example().build()
        },
    );
    cases.invalid("table/name-past-the-end", example().build().patched(32, &[0xFF; 4]));
    let name = Column { name: b"n\xFF".to_vec(), ..Column::int32("", &[1]) };
    cases.invalid("table/name-not-utf8", File::new(1, vec![name]).build());
    cases.invalid("table/type-0", one(1, 0, Block::of(&[0; 4])));
    cases.invalid("table/type-4", one(1, 4, Block::of(&[0; 8])));
    cases.invalid("table/block-in-the-header", alter_block(|b| b.offset = Some(0)));
    cases.invalid("table/block-in-the-table", alter_block(|b| b.offset = Some(95)));
    cases.invalid("table/block-past-the-end", alter_block(|b| b.size = Some(1000)));
    cases.invalid("table/block-offset-wraps", alter_block(|b| b.offset = Some(u64::MAX - 7)));
    cases.invalid("table/block-size-wraps", alter_block(|b| b.size = Some(u64::MAX)));
}

fn bad_blocks(cases: &mut Cases) {
    let flip = |b: &mut Block| *b.stored.last_mut().unwrap() ^= 1;
    cases.invalid("zlib/wrong-checksum", alter_block(flip));
    let hidden = |b: &mut Block| {
        let sum = b.stored.split_off(b.stored.len() - 4);
        b.stored.extend_from_slice(b"\xDE\xAD\xBE\xEFjunk");
        b.stored.extend_from_slice(&sum);
    };
    cases.invalid("zlib/right-checksum-in-the-wrong-place", alter_block(hidden));
    cases.invalid("zlib/cut-stream", alter_block(|b| b.stored.truncate(b.stored.len() - 5)));
    cases.invalid("zlib/five-bytes", alter_block(|b| b.stored.truncate(5)));
    cases.invalid("zlib/not-zlib", alter_block(|b| b.stored.fill(b'A')));
    let dictionary = zlib_with_dictionary(&[0; 12]);
    cases.invalid("zlib/preset-dictionary", one(3, 1, Block::stored(&dictionary, 12)));
    cases.invalid("zlib/size-too-large", alter_block(|b| b.raw += 1));
    cases.invalid("zlib/size-too-small", alter_block(|b| b.raw -= 1));
    cases.invalid("bombs/claims-2-to-the-60", alter_block(|b| b.raw = 1 << 60));
    cases.invalid(
        "bombs/claims-what-deflate-could",
        alter_block(|b| b.raw = 1032 * b.stored.len() as u64),
    );
    let bomb = Block { raw: 12, ..Block::of(&vec![0; 1 << 20]) };
    cases.invalid("bombs/says-it-is-small", one(3, 1, bomb));
    cases.invalid("bombs/row-count-max", one(u32::MAX, 1, Block::of(&[0; 12])));
    cases.invalid("bombs/row-count-max-strings", one(u32::MAX, 3, Block::of(&[0; 12])));
    cases.invalid("bombs/string-of-4-gib", one(1, 3, Block::of(b"\xFF\xFF\xFF\xFFabc")));
    cases.invalid("values/int32-left-over", one(2, 1, Block::of(&[0; 9])));
    cases.invalid("values/int32-too-few", one(2, 1, Block::of(&[0; 4])));
    cases.invalid("values/float64-too-few", one(2, 2, Block::of(&[0; 8])));
    cases.invalid("values/string-past-the-end", one(1, 3, Block::of(b"\x05\0\0\0four")));
    cases.invalid("values/no-bytes-but-rows", one(1, 1, Block::absent()));
    cases.invalid("values/text-not-utf8", one(2, 3, Block::of(&strings(&[&b"ok"[..], b"a\xFFb"]))));
    cases.invalid(
        "values/character-in-two-rows",
        one(2, 3, Block::of(&strings(&[b"\xC3", b"\xA9"]))),
    );
    cases.invalid(
        "values/text-in-surrogates",
        one(1, 3, Block::of(&strings(&[b"\xED\xA0\xBD\xED\xB8\x80"]))),
    );
}
