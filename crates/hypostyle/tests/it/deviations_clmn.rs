//! CLMN, number by number (docs/specs/clmn.md, section 4).

use hypostyle::{Compat, TextPolicy, WriteOptions};
use hypostyle_testkit::build::clmn::{Column, File, strings as string_block};
use hypostyle_testkit::build::{Block, BuiltFile};
use hypostyle_testkit::laws;

use crate::deviations::{
    Boast, Subject, float, float64s, int, int32s, int64s, maybe_strings, strings, table, text,
};

const CLMN: Subject = Subject("clmn");

const NUMBERS: [&str; 19] = [
    "N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8", "N9", "N10", "N11", "N12", "N13", "N14", "N15",
    "N16", "N17", "N18", "N19",
];

#[test]
fn every_number_of_the_spec_has_a_test() {
    CLMN.numbers_are_those_of_the_spec(&NUMBERS, include_str!("deviations_clmn.rs"));
}

/// Returns the table of the spec's example: three columns, two rows.
fn example() -> File {
    File::new(
        2,
        vec![
            Column::int32("id", &[1, 2]),
            Column::string("name", &["Alice", "Bob"]),
            Column::int32("age", &[30, 25]),
        ],
    )
}

fn example_values() -> [(&'static str, Vec<hypostyle_testkit::content::Cell>); 3] {
    [("id", int(&[1, 2])), ("name", text(&["Alice", "Bob"])), ("age", int(&[30, 25]))]
}

fn example_table() -> arrow_array::RecordBatch {
    table(vec![
        ("id", int32s(&[1, 2])),
        ("name", strings(&["Alice", "Bob"])),
        ("age", int32s(&[30, 25])),
    ])
}

/// Returns a file of one column `x` with this block.
fn one(rows: u64, code: u8, block: Block) -> BuiltFile {
    File::new(rows, vec![Column { name: b"x".to_vec(), code, block }]).build()
}

#[test]
fn n01_a_gap_is_reported_and_skipped() {
    let mut file = example();
    file.columns[0].block.gap = 5;
    let made = file.build();
    assert_eq!(made.blocks[0].start, 89, "as in the published example");
    CLMN.reads(&made, &example_values(), &[("N1", 84)]);
    file.columns[2].block.gap = 3;
    let made = file.build();
    CLMN.reads(&made, &example_values(), &[("N1", 84), ("N1", made.blocks[1].end)]);
    assert_eq!(CLMN.writes(&example_table()), example().build().bytes, "our writer leaves none");
}

#[test]
fn n02_sizes_are_those_of_the_file_not_of_the_example() {
    // The published example says 14 for the 12 bytes of `name`.
    let mut wrong = example();
    wrong.columns[1].block.raw = 14;
    CLMN.refuses(&wrong.build(), "decompresses to 12 bytes, but 14 are declared");
    wrong.columns[1].block.raw = 11;
    CLMN.refuses(&wrong.build(), "decompresses to more than the 11 bytes declared");
    // Section 8 of the spec, byte for byte.
    let sample = concat!(
        "434c4d4e0001000000030000000000000002",
        "0002696400000000080000001000000000000000540004",
        "6e616d65030000000c000000140000000000000064",
        "0003616765000000000800000010000000000000",
        "0078",
        "789c63606060646060600200000f0004",
        "789c636075ccc94c4e656076ca4f02001106",
        "02fa789c636060906360609004",
        "0000b70038",
    );
    let bytes = (0..sample.len() / 2)
        .map(|i| u8::from_str_radix(&sample[2 * i..2 * i + 2], 16).unwrap())
        .collect::<Vec<_>>();
    assert_eq!(bytes.len(), 136);
    CLMN.reads(&BuiltFile { bytes, ..example().build() }, &example_values(), &[]);
}

#[test]
fn n03_r_rows_are_r_values() {
    let made = one(2, 0, Block::of(&[0, 0, 0, 1, 0, 0, 0, 2]));
    CLMN.reads(&made, &[("x", int(&[1, 2]))], &[]);
    CLMN.refuses(&one(3, 0, Block::of(&[0; 8])), "8 bytes are not 3 rows of 4 bytes");
}

#[test]
fn n04_doubles_are_big_endian_too() {
    let bits = [0x4009_21FB_5444_2D18, 0x8000_0000_0000_0000, 0xFFF8_0000_DEAD_BEEF, 1];
    let content: Vec<u8> = bits.iter().flat_map(|bits: &u64| bits.to_be_bytes()).collect();
    let made = one(4, 2, Block::of(&content));
    CLMN.reads(&made, &[("x", float(&bits))], &[]);
    assert_eq!(CLMN.writes(&table(vec![("x", float64s(&bits))])), made.bytes);
}

#[test]
fn n05_sizes_are_unsigned_and_ours_stay_below_the_sign() {
    // Opening treats no size as negative; decompression refuses impossible sizes.
    let made = one(2, 0, Block { raw: 0x8000_0000, ..Block::of(&[0; 8]) });
    let reader = laws::open(CLMN.format(), &made.bytes, &Default::default()).unwrap();
    let block = reader.sections().into_iter().find(|part| part.column == Some(0)).unwrap();
    assert_eq!(block.raw, Some(0x8000_0000));
    CLMN.refuses(&made, "2147483648 bytes cannot come from");
    CLMN.refuses(
        &one(2, 0, Block { size: Some(0xFFFF_FFFF), ..Block::of(&[0; 8]) }),
        "block needs",
    );
    CLMN.refuses(&File { column_count: Some(0x8000_0000), ..example() }.build(), "table needs");

    let large = |stats: &mut hypostyle::ColumnStats| stats.text_bytes = (1 << 31) - 8;
    let err = CLMN.will_not_write(&Boast::new(&strings(&["x"]), large), "split the table");
    assert_eq!(err.column().unwrap().name, "boast");
}

#[test]
fn n06_rows_are_backed_by_every_block() {
    let err = CLMN.refuses(&one(1 << 63, 0, Block::of(&[0; 8])), "bit 63");
    assert_eq!(err.offset(), Some(10));
    for rows in [3, 1 << 32, (1 << 62) + 2, (1 << 63) - 1] {
        CLMN.refuses(&one(rows, 0, Block::of(&[0; 8])), "8 bytes are not");
        CLMN.refuses(&one(rows, 1, Block::of(&[0; 16])), "16 bytes are not");
        CLMN.refuses(&one(rows, 3, Block::of(&[0; 4])), "is more than the block can hold");
    }
    let many = |stats: &mut hypostyle::ColumnStats| stats.rows = 300_000_000;
    CLMN.will_not_write(&Boast::new(&int64s(&[1]), many), "2400000000 bytes are over");
}

#[test]
fn n07_lengths_are_unsigned_16_bits() {
    for len in [32_767, 32_768, 40_000, 65_535] {
        let long = "x".repeat(len);
        let made = File::new(1, vec![Column::string(&long, &[&long])]).build();
        CLMN.reads(&made, &[(&long, text(&[&long]))], &[]);
        let written = CLMN.writes(&table(vec![(&long, strings(&[&long]))]));
        assert_eq!(written, made.bytes);
    }
    let over = "x".repeat(65_536);
    let err = CLMN.will_not_write(&table(vec![("x", strings(&["", &over]))]), "65536 bytes");
    assert_eq!(err.row(), Some(1));
    let err = CLMN.will_not_write(&table(vec![(&over, int32s(&[1]))]), "a name of 65536 bytes");
    assert_eq!(err.column().unwrap().index, 0);
    // A known writer writes such a name with a length that wraps to 0.
    let wrapped = File::new(1, vec![Column::int32("", &[1])]).build();
    let mut bytes = wrapped.bytes;
    bytes.splice(20..20, over.bytes());
    CLMN.refuses(
        &BuiltFile { bytes, entries: vec![18], ..example().build() },
        "is not 0, 1, 2 or 3",
    );
}

#[test]
fn n08_other_orders_and_shared_blocks_are_reported() {
    let reversed = File { order: vec![2, 1, 0], ..example() }.build();
    let met = [("N8", reversed.entries[1]), ("N8", reversed.entries[2])];
    CLMN.reads(&reversed, &example_values(), &met);

    let twin = Column { name: b"id2".to_vec(), code: 0, block: Block::shared(0, 8) };
    let shared = File::new(2, vec![Column::int32("id", &[1, 2]), twin]).build();
    let values = [("id", int(&[1, 2])), ("id2", int(&[1, 2]))];
    CLMN.reads(&shared, &values, &[("N8", shared.blocks[0].start)]);

    let mut overlap = example();
    overlap.columns[0].block.size = Some(overlap.columns[0].block.stored.len() as u64 + 3);
    let made = overlap.build();
    let met = [("N18", made.blocks[0].end - 3), ("N8", made.blocks[1].start)];
    CLMN.reads(&made, &example_values(), &met);

    for offset in [0, 17, 18, 83] {
        let mut inside = example();
        inside.columns[1].block.offset = Some(offset);
        CLMN.refuses(&inside.build(), "lies inside the header or the column table");
    }
}

#[test]
fn n09_zero_rows_have_no_bytes_or_a_stream_of_nothing() {
    for code in 0..=3 {
        CLMN.reads(&one(0, code, Block::absent()), &[("x", Vec::new())], &[]);
        CLMN.reads(&one(0, code, Block::of(&[])), &[("x", Vec::new())], &[]);
        CLMN.refuses(&one(1, code, Block::absent()), "compressed size: is 0, with 1 rows");
    }
    let file = CLMN.writes(&example_table().slice(0, 0));
    assert_eq!(file.len(), 84, "header and column table");
    let absent = |column: Column| Column { block: Block::absent(), ..column };
    let columns = example().columns.into_iter().map(absent).collect();
    assert_eq!(file, File::new(0, columns).build().bytes, "offsets are the end of the table");
}

#[test]
fn n10_an_empty_string_may_come_last() {
    for values in [&["a", ""][..], &["", ""], &[""]] {
        let made = File::new(values.len() as u64, vec![Column::string("x", values)]).build();
        CLMN.reads(&made, &[("x", text(values))], &[]);
        assert_eq!(CLMN.writes(&table(vec![("x", strings(values))])), made.bytes);
    }
    // The option for a reader that fails on it adds a byte, which our reader reports.
    let pad = Compat::default().with("clmn-pad-last-empty").unwrap();
    let options = WriteOptions::default().with_compat(pad);
    let bytes = CLMN.writes_with(&table(vec![("x", strings(&["a", ""]))]), &options);
    let made = one(2, 3, Block::of(&[0, 1, b'a', 0, 0, 0]));
    assert_eq!(bytes, made.bytes);
    CLMN.reads(&made, &[("x", text(&["a", ""]))], &[("N17", made.blocks[0].start)]);
    let full = table(vec![("x", strings(&["", "a"]))]);
    assert_eq!(CLMN.writes_with(&full, &options), CLMN.writes(&full));
}

#[test]
fn n11_every_column_of_a_doubtful_name_is_kept() {
    let names = ["id", "", "id", " \t", "\u{1}", "\u{a0}"];
    let columns = names.iter().map(|name| Column::int32(name, &[1])).collect();
    let made = File::new(1, columns).build();
    let values = names.map(|name| (name, int(&[1])));
    let met = [1, 2, 3, 4].map(|index| ("N11", made.entries[index]));
    CLMN.reads(&made, &values, &met);
    for names in [["id", "id"], ["id", ""], ["id", " "], ["id", " id "]] {
        let columns = names.iter().map(|&name| (name, int32s(&[1]))).collect();
        let mut file = Vec::new();
        let err = CLMN.format().encode(&table(columns), &mut file, &WriteOptions::default());
        assert_eq!(err.unwrap_err().column().unwrap().index, 1);
    }
}

#[test]
fn n12_outer_spaces_of_a_name_are_kept() {
    let made = File::new(1, vec![Column::int32("  id ", &[1])]).build();
    CLMN.reads(&made, &[("  id ", int(&[1]))], &[]);
    assert_eq!(CLMN.writes(&table(vec![("  id ", int32s(&[1]))])), made.bytes);
}

#[test]
fn n13_values_survive_whatever_their_spelling() {
    let floats = [68_000.0_f64, 1.5, 1e300, f64::INFINITY, 5e-324].map(f64::to_bits);
    let longs = [i64::MIN, -1, 0, i64::MAX, 501];
    let texts = ["00501", " 7", "7 ", "", "68000.00"];
    let given =
        table(vec![("f", float64s(&floats)), ("l", int64s(&longs)), ("s", strings(&texts))]);
    let columns = vec![
        Column::float64("f", &floats),
        Column::int64("l", &longs),
        Column::string("s", &texts),
    ];
    let made = File::new(5, columns).build();
    assert_eq!(CLMN.writes(&given), made.bytes);
    CLMN.reads(&made, &[("f", float(&floats)), ("l", int(&longs)), ("s", text(&texts))], &[]);
}

#[test]
fn n14_nothing_stands_for_a_null() {
    let gap = table(vec![("a", int32s(&[1, 2])), ("x", maybe_strings(&[Some(""), None]))]);
    let err = CLMN.will_not_write(&gap, "no nulls");
    assert_eq!((err.row(), err.column().unwrap().index), (Some(1), 1));
    CLMN.reads(&one(1, 3, Block::of(&[0, 0])), &[("x", text(&[""]))], &[]);
}

#[test]
fn n15_other_flavours_of_utf8_are_taken_when_asked() {
    let content =
        string_block(&[&b"a\xC0\x80b"[..], b"\xED\xA0\xBD\xED\xB8\x80", "é😀".as_bytes()]);
    let made = one(3, 3, Block::of(&content));
    let at = made.blocks[0].start;
    assert_eq!(CLMN.refuses(&made, "text: is not UTF-8").row(), Some(0));
    let java = [("x", text(&["a\0b", "😀", "é😀"]))];
    CLMN.reads_with(&made, TextPolicy::Java, &java, &[("N15", at), ("N15", at)]);
    let lossy = [("x", text(&["a\u{FFFD}\u{FFFD}b", &"\u{FFFD}".repeat(6), "é😀"]))];
    CLMN.reads_with(&made, TextPolicy::Lossy, &lossy, &[("N15", at), ("N15", at)]);
    for bad in [&b"\xED\xA0\xBD"[..], b"\xC1\x81", b"\xFF", b"\xE0\x80\x80"] {
        let made = one(2, 3, Block::of(&string_block(&[b"", bad])));
        assert_eq!(CLMN.refuses_with(&made, TextPolicy::Java, "is not UTF-8").row(), Some(1));
    }
    let name = Column { name: b"\xC0\x80".to_vec(), ..Column::int32("", &[1]) };
    let made = File::new(1, vec![Column::int32("a", &[1]), name]).build();
    CLMN.refuses(&made, "column name: is not UTF-8");
    let met = [("N11", made.entries[1]), ("N15", made.entries[1] + 2)];
    CLMN.reads_with(&made, TextPolicy::Java, &[("a", int(&[1])), ("\0", int(&[1]))], &met);
}

#[test]
fn n16_only_version_1_is_known() {
    for version in [0, 2, 0x100, u16::MAX] {
        let made = File { version, ..example() }.build();
        let err = CLMN.refuses(&made, &format!("version {version} is not supported"));
        assert_eq!(err.offset(), Some(4));
        assert!(laws::at_most_one_format_claims(&made.bytes).is_none());
    }
    assert_eq!(CLMN.writes(&example_table())[4..6], [0, 1]);
}

#[test]
fn n17_left_over_bytes_are_reported_and_dropped() {
    let contents = [
        (0, vec![0, 0, 0, 1, 9, 9, 9, 9], int(&[1])),
        (1, vec![0, 0, 0, 0, 0, 0, 0, 2, 9], int(&[2])),
        (2, vec![0, 0, 0, 0, 0, 0, 0, 3, 9, 9], float(&[3])),
        (3, vec![0, 1, b'a', 9], text(&["a"])),
    ];
    for (code, content, values) in contents {
        let made = one(1, code, Block::of(&content));
        CLMN.reads(&made, &[("x", values)], &[("N17", made.blocks[0].start)]);
    }
}

#[test]
fn n18_the_stream_ends_inside_its_block() {
    let block = Block::of(&[0, 0, 0, 7]);
    let stored = [&block.stored[..], b"junk"].concat();
    let made = one(1, 0, Block { stored, ..block.clone() });
    CLMN.reads(&made, &[("x", int(&[7]))], &[("N18", made.blocks[0].end - 4)]);
    for cut in 1..block.stored.len() {
        let stored = block.stored[..cut].to_vec();
        CLMN.refuses(&one(1, 0, Block { stored, ..block.clone() }), "zlib stream");
    }
}

#[test]
fn n19_bytes_after_the_last_block_are_reported_and_ignored() {
    let made = File { tail: b"tail".to_vec(), ..example() }.build();
    CLMN.reads(&made, &example_values(), &[("N19", made.bytes.len() as u64 - 4)]);
    let empty = File { tail: b"x".to_vec(), ..File::new(0, vec![Column::int32("x", &[])]) };
    let absent = Column { block: Block::absent(), ..Column::int32("x", &[]) };
    let made = File { columns: vec![absent], ..empty }.build();
    CLMN.reads(&made, &[("x", Vec::new())], &[("N19", made.table_end)]);
}
