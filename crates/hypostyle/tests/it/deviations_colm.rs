//! COLM, number by number (docs/specs/colm.md, section 4).

use std::sync::Arc;

use bytes::Bytes;
use hypostyle::{DuplicateNames, ReadOptions, TextPolicy, WriteOptions, formats};
use hypostyle_testkit::build::colm::{Column, File, strings as string_block};
use hypostyle_testkit::build::{Block, BuiltFile, zlib_by_hand, zlib_with_dictionary};
use hypostyle_testkit::laws;
use hypostyle_testkit::source::SparseSource;

use crate::deviations::{
    Boast, Subject, float, float64s, int, int32s, int64s, maybe_strings, no_columns, strings,
    table, text,
};

const COLM: Subject = Subject("colm");

const NUMBERS: [&str; 23] = [
    "M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9", "M10", "M11", "M12", "M13", "M14", "M15",
    "M16", "M17", "M18", "M19", "M20", "M21", "M22", "M23",
];

#[test]
fn every_number_of_the_spec_has_a_test() {
    COLM.numbers_are_those_of_the_spec(&NUMBERS, include_str!("deviations_colm.rs"));
}

/// Returns the table of the spec's example: two columns, three rows.
fn example() -> File {
    let names = ["Alice", "Bob", "Charlie"];
    File::new(3, vec![Column::int32("id", &[1, 2, 3]), Column::string("name", &names)])
}

fn example_values() -> [(&'static str, Vec<hypostyle_testkit::content::Cell>); 2] {
    [("id", int(&[1, 2, 3])), ("name", text(&["Alice", "Bob", "Charlie"]))]
}

fn example_table() -> arrow_array::RecordBatch {
    table(vec![("id", int32s(&[1, 2, 3])), ("name", strings(&["Alice", "Bob", "Charlie"]))])
}

/// Returns a file of one column `x` with this block.
fn one(rows: u32, code: u8, block: Block) -> BuiltFile {
    File::new(rows, vec![Column { name: b"x".to_vec(), code, block }]).build()
}

#[test]
fn m01_the_table_may_start_at_32_or_later_but_not_before() {
    COLM.reads(&example().build(), &example_values(), &[]);
    let later = File { gap: vec![0xAA; 32], ..example() }.build();
    assert_eq!(later.entries[0], 64);
    COLM.reads(&later, &example_values(), &[]);
    for offset in [0, 31] {
        let err = COLM.refuses(
            &File { table_at: Some(offset), ..example() }.build(),
            "lies inside the header",
        );
        assert_eq!(err.offset(), Some(16));
    }
    let file = COLM.writes(&example_table());
    assert_eq!(file[16..24], 32_u64.to_le_bytes());
}

#[test]
fn m02_entries_stand_back_to_back() {
    let made = example().build();
    assert_eq!((made.entries[0], made.entries[1], made.table_end), (32, 63, 96));
    COLM.reads(&made, &example_values(), &[]);
    assert_eq!(COLM.writes(&example_table()), made.bytes);
}

#[test]
fn m03_sizes_are_those_of_the_file_not_of_the_example() {
    // The published example says 43 for the 27 bytes of `name`.
    let mut wrong = example();
    wrong.columns[1].block.raw = 43;
    COLM.refuses(&wrong.build(), "decompresses to 27 bytes, but 43 are declared");
    let file = COLM.writes(&example_table());
    assert_eq!(file[47..55], 12_u64.to_le_bytes());
    assert_eq!(file[80..88], 27_u64.to_le_bytes());
    // Section 8 of the spec, byte for byte.
    let sample = concat!(
        "434f4c4d01000000020000000300000020000000000000006000000000000000",
        "0200000069640111000000000000000c000000000000006000000000000000",
        "040000006e616d650320000000000000001b000000000000007100000000000000",
        "789c6364606060026266200600",
        "00340007",
        "789c636560",
        "6070ccc94c4e6506329cf293d88194734662514e662a004060",
        "05b9",
    );
    let bytes = (0..sample.len() / 2)
        .map(|i| u8::from_str_radix(&sample[2 * i..2 * i + 2], 16).unwrap())
        .collect::<Vec<_>>();
    assert_eq!(bytes.len(), 145);
    COLM.reads(&BuiltFile { bytes, ..example().build() }, &example_values(), &[]);
}

#[test]
fn m04_integers_are_twos_complement_and_floats_eight_bytes() {
    let content = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0x80];
    COLM.reads(&one(2, 1, Block::of(&content)), &[("x", int(&[-1, i32::MIN.into()]))], &[]);
    let bits = 0xC009_21FB_5444_2D18_u64;
    COLM.reads(&one(1, 2, Block::of(&bits.to_le_bytes())), &[("x", float(&[bits]))], &[]);
    let made = one(2, 1, Block::of(&content));
    assert_eq!(COLM.writes(&table(vec![("x", int32s(&[-1, i32::MIN]))])), made.bytes);
}

#[test]
fn m05_values_of_a_column_stand_together_in_row_order() {
    let content: Vec<u8> = (0..100_i32).flat_map(i32::to_le_bytes).collect();
    let values: Vec<i64> = (0..100).collect();
    COLM.reads(&one(100, 1, Block::of(&content)), &[("x", int(&values))], &[]);
}

#[test]
fn m06_a_name_is_measured_in_bytes() {
    let name = "naïve-名";
    let made = File::new(1, vec![Column::int32(name, &[7])]).build();
    assert_eq!(made.bytes[32..36], 10_u32.to_le_bytes());
    COLM.reads(&made, &[(name, int(&[7]))], &[]);
    assert_eq!(COLM.writes(&table(vec![(name, int32s(&[7]))])), made.bytes);
}

#[test]
fn m07_a_wrong_data_offset_is_reported_and_ignored() {
    for wrong in [0, 95, 97, 176, u64::MAX] {
        let made = File { data_at: Some(wrong), ..example() }.build();
        COLM.reads(&made, &example_values(), &[("M7", 24)]);
    }
    let file = COLM.writes(&example_table());
    assert_eq!(file[24..32], 96_u64.to_le_bytes(), "the end of the column table");
}

#[test]
fn m08_blocks_may_stand_anywhere_and_sharing_is_reported() {
    let reversed = File { order: vec![1, 0], ..example() };
    COLM.reads(&reversed.build(), &example_values(), &[]);
    let mut gaps = example();
    gaps.columns[0].block.gap = 7;
    gaps.columns[1].block.gap = 100;
    COLM.reads(&gaps.build(), &example_values(), &[]);

    // The spec allows a block between the header and the column table.
    let mut before = example();
    let block = std::mem::take(&mut before.columns[0].block);
    before.columns[0].block = Block {
        offset: Some(40),
        size: Some(block.stored.len() as u64),
        raw: 12,
        ..Block::absent()
    };
    before.gap = [&[0xAA; 8][..], &block.stored].concat();
    COLM.reads(&before.build(), &example_values(), &[]);

    let shared = File::new(
        3,
        vec![
            Column::int32("a", &[1, 2, 3]),
            Column { name: b"b".to_vec(), code: 1, block: Block::shared(0, 12) },
        ],
    )
    .build();
    let values = [("a", int(&[1, 2, 3])), ("b", int(&[1, 2, 3]))];
    COLM.reads(&shared, &values, &[("M8", shared.blocks[0].start)]);

    // The last bytes of a block also belong to the next one.
    let mut overlap = example();
    overlap.columns[0].block.size = Some(overlap.columns[0].block.stored.len() as u64 + 5);
    let made = overlap.build();
    let stream_end = made.blocks[0].end - 5;
    COLM.reads(&made, &example_values(), &[("M16", stream_end), ("M8", made.blocks[1].start)]);

    let inside = |offset| {
        let mut file = example();
        file.columns[1].block.offset = Some(offset);
        file.build()
    };
    for offset in [0, 31, 32, 95] {
        COLM.refuses(&inside(offset), "lies inside the header or the column table");
    }
}

#[test]
fn m09_left_over_bytes_pass_in_strings_and_nowhere_else() {
    let mut content = string_block(&["ab", ""]);
    content.extend_from_slice(b"left");
    let made = one(2, 3, Block::of(&content));
    COLM.reads(&made, &[("x", text(&["ab", ""]))], &[("M9", made.blocks[0].start)]);
    for (code, len) in [(1, 9), (1, 12), (1, 4), (2, 17), (2, 8), (1, 0), (2, 0)] {
        let made = one(2, code, Block::of(&vec![0; len]));
        COLM.refuses(&made, &format!("{len} bytes are not 2 rows"));
    }
    COLM.refuses(&one(3, 3, Block::of(&content[..8])), "is more than the block can hold");
}

#[test]
fn m10_no_columns_are_refused_both_ways() {
    let err = COLM.refuses(&File::new(0, Vec::new()).build(), "column count: is 0");
    assert_eq!(err.offset(), Some(8));
    COLM.will_not_write(&no_columns(), "no columns");
}

#[test]
fn m11_zero_rows_have_a_stream_of_nothing_or_no_bytes() {
    const NOTHING: [u8; 8] = [0x78, 0x9C, 0x03, 0, 0, 0, 0, 1];
    for code in 1..=3 {
        let made = one(0, code, Block::stored(&NOTHING, 0));
        COLM.reads(&made, &[("x", Vec::new())], &[]);
        let made = one(0, code, Block::absent());
        COLM.reads(&made, &[("x", Vec::new())], &[("M11", made.entries[0])]);
        COLM.refuses(&one(1, code, Block::absent()), "compressed size: is 0, with 1 rows");
        let made = one(0, code, Block { raw: 4, ..Block::absent() });
        COLM.refuses(&made, "4 uncompressed bytes");
    }
    for level in [0, 1, 6, 12] {
        let empty = example_table().slice(0, 0);
        let file = COLM.writes_with(&empty, &WriteOptions::default().with_level(level));
        assert_eq!(file[96..], [NOTHING, NOTHING].concat());
    }
}

#[test]
fn m12_nothing_stands_for_a_null() {
    let made = one(3, 3, Block::of(&string_block(&["", "null", ""])));
    COLM.reads(&made, &[("x", text(&["", "null", ""]))], &[]);
    COLM.reads(&one(1, 1, Block::of(&[0; 4])), &[("x", int(&[0]))], &[]);
    let gap = table(vec![("x", maybe_strings(&[Some("a"), None]))]);
    assert_eq!(COLM.will_not_write(&gap, "no nulls").row(), Some(1));
}

#[test]
fn m13_there_is_no_64_bit_integer() {
    COLM.will_not_write(&table(vec![("x", int64s(&[1]))]), "no 64-bit integers");
    for code in [0, 4, 255] {
        let err = COLM.refuses(&one(1, code, Block::of(&[0; 8])), "is not 1, 2 or 3");
        assert_eq!(err.offset(), Some(37), "where the type stands");
    }
}

#[test]
fn m14_only_version_1_is_known() {
    for version in [0, 2, 0x100, u32::MAX] {
        let made = File { version, ..example() }.build();
        let err = COLM.refuses(&made, &format!("version {version} is not supported"));
        assert_eq!(err.offset(), Some(4));
        assert!(laws::at_most_one_format_claims(&made.bytes).is_none());
    }
    assert_eq!(COLM.writes(&example_table())[4..8], 1_u32.to_le_bytes());
}

#[test]
fn m15_any_zlib_stream_will_do_without_a_dictionary() {
    let content: Vec<u8> = [1, 2, 3_i32].iter().flat_map(|v| v.to_le_bytes()).collect();
    for cmf in [0x08, 0x18, 0x48, 0x78] {
        let made = one(3, 1, Block::stored(&zlib_by_hand(&content, cmf), 12));
        COLM.reads(&made, &[("x", int(&[1, 2, 3]))], &[]);
    }
    for level in 0..=12 {
        let stream = hypostyle_core::compress::zlib::compress(&content, level).unwrap();
        COLM.reads(&one(3, 1, Block::stored(&stream, 12)), &[("x", int(&[1, 2, 3]))], &[]);
    }
    let made = one(3, 1, Block::stored(&zlib_with_dictionary(&content), 12));
    COLM.refuses(&made, "preset dictionary");
    let mut no_zlib = zlib_by_hand(&content, 0x78);
    no_zlib[0] = 0x79;
    COLM.refuses(&one(3, 1, Block::stored(&no_zlib, 12)), "has no zlib header");
    // Our writer declares a window of 32 KiB.
    assert_eq!(COLM.writes(&table(vec![("x", int32s(&[1, 2, 3]))]))[62], 0x78);
}

#[test]
fn m16_bytes_after_the_stream_are_reported_and_ignored() {
    for code in [1, 3] {
        let content = if code == 1 { vec![7, 0, 0, 0] } else { string_block(&["seven"]) };
        let values = if code == 1 { int(&[7]) } else { text(&["seven"]) };
        let block = Block::of(&content);
        let stored = [&block.stored[..], b"junk"].concat();
        let made = one(1, code, Block { stored, ..block });
        COLM.reads(&made, &[("x", values)], &[("M16", made.blocks[0].end - 4)]);
    }
}

#[test]
fn m17_every_column_of_a_doubtful_name_is_kept() {
    let columns = vec![
        Column::int32("id", &[1]),
        Column::int32("", &[2]),
        Column::int32("id", &[3]),
        Column::int32(" ", &[4]),
    ];
    let made = File::new(1, columns).build();
    let values = [("id", int(&[1])), ("", int(&[2])), ("id", int(&[3])), (" ", int(&[4]))];
    let [_, second, third, fourth] = made.entries[..] else { unreachable!() };
    COLM.reads(&made, &values, &[("M17", second), ("M17", third), ("M17", fourth)]);

    let twice = table(vec![("id", int32s(&[1])), ("id", int32s(&[3]))]);
    COLM.will_not_write(&twice, "same name as column 1");
    let keep = WriteOptions::default().with_duplicate_names(DuplicateNames::Keep);
    let kept = File::new(1, vec![Column::int32("id", &[1]), Column::int32("id", &[3])]).build();
    assert_eq!(COLM.writes_with(&twice, &keep), kept.bytes);
    let nameless = File::new(1, vec![Column::int32("", &[1])]).build();
    assert_eq!(COLM.writes(&table(vec![("", int32s(&[1]))])), nameless.bytes);
}

#[test]
fn m18_bad_utf8_is_an_error_or_repaired_when_asked() {
    let made = one(2, 3, Block::of(&string_block(&[&b"ok"[..], b"a\xFFb"])));
    let err = COLM.refuses(&made, "text: is not UTF-8");
    assert_eq!((err.row(), err.column().unwrap().index), (Some(1), 0));
    let at = made.blocks[0].start;
    let repaired = [("x", text(&["ok", "a\u{FFFD}b"]))];
    COLM.reads_with(&made, TextPolicy::Lossy, &repaired, &[("M18", at)]);
    COLM.refuses_with(&made, TextPolicy::Java, "text: is not UTF-8");

    let java =
        one(2, 3, Block::of(&string_block(&[&b"\xC0\x80"[..], b"\xED\xA0\xBD\xED\xB8\x80"])));
    COLM.refuses(&java, "text: is not UTF-8");
    let met = [("M18", java.blocks[0].start), ("M18", java.blocks[0].start)];
    COLM.reads_with(&java, TextPolicy::Java, &[("x", text(&["\0", "😀"]))], &met);

    let name = Column { name: b"n\xFF".to_vec(), ..Column::int32("", &[1]) };
    let made = File::new(1, vec![name]).build();
    let err = COLM.refuses(&made, "column name: is not UTF-8");
    assert_eq!(err.offset(), Some(37), "the first bad byte");
    let met = [("M18", made.entries[0] + 4)];
    COLM.reads_with(&made, TextPolicy::Lossy, &[("n\u{FFFD}", int(&[1]))], &met);
}

#[test]
fn m19_a_number_that_no_bytes_back_is_refused() {
    let claim = |rows, code, raw| {
        let block = Block { raw, ..Block::of(&[0; 12]) };
        one(rows, code, block)
    };
    COLM.refuses(&claim(u32::MAX, 1, 12), "12 bytes are not 4294967295 rows");
    COLM.refuses(&claim(u32::MAX, 3, 12), "is more than the block can hold");
    COLM.refuses(&claim(3, 1, 1 << 60), "cannot come from");
    COLM.refuses(&claim(3, 1, 100), "decompresses to 12 bytes, but 100 are declared");
    COLM.refuses(&claim(1, 1, 4), "decompresses to more than the 4 bytes declared");
    COLM.refuses(&one(1, 3, Block::of(b"\xFF\xFF\xFF\xFFabc")), "runs past the end of the block");
    COLM.refuses(&File { column_count: Some(u32::MAX), ..example() }.build(), "column table needs");
    COLM.refuses(&example().build().patched(32, &[0xFF; 4]), "column table needs");
    for (offset, size) in [(u64::MAX, None), (1 << 40, None), (96, Some(u64::MAX))] {
        let mut file = example();
        file.columns[0].block.offset = Some(offset);
        file.columns[0].block.size = size;
        COLM.refuses(&file.build(), "block needs");
    }
    let many = |stats: &mut hypostyle::ColumnStats| stats.rows = 1 << 32;
    COLM.will_not_write(&Boast::new(&int32s(&[1]), many), "counts rows in 32 bits");
}

#[test]
fn m20_a_reversed_magic_is_explained() {
    let made = File { magic: *b"MLOC", ..example() }.build();
    COLM.refuses(&made, "reversed");
    let err = formats::detect(&Bytes::from(made.bytes)).unwrap_err();
    assert!(err.to_string().contains("`MLOC`"), "{err}");
    COLM.refuses(&File { magic: *b"COLD", ..example() }.build(), "is not `COLM`");
    assert_eq!(COLM.writes(&example_table())[..4], *b"COLM");
}

#[test]
fn m21_a_file_may_be_larger_than_32_bits_can_count() {
    const FAR: u64 = (5 << 30) + 1;
    let near = example();
    let block = near.columns[1].block.stored.clone();
    let mut far = example();
    far.columns[1].block.offset = Some(FAR);
    let head = far.build().bytes;
    let size = FAR + block.len() as u64;
    let source = SparseSource::new(size, [(0, head), (FAR, block)]);
    let reader = formats::open(Arc::new(source), &ReadOptions::default()).unwrap();
    let content = hypostyle_testkit::content::Content::of(&[reader.read(0, &[0, 1]).unwrap()]);
    for (column, (name, cells)) in content.columns.iter().zip(example_values()) {
        assert_eq!((column.name.as_str(), &column.cells), (name, &cells));
    }
    assert!(reader.deviations().is_empty(), "{:?}", reader.deviations());
}

#[test]
fn m22_columns_come_as_asked_and_none_means_none() {
    let options = ReadOptions::default();
    let reader = laws::open(COLM.format(), &example().build().bytes, &options).unwrap();
    let names = |columns: &[usize]| {
        let batch = reader.read(0, columns).unwrap();
        assert_eq!(batch.num_rows(), 3);
        batch.schema().fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&[]), [""; 0]);
    assert_eq!(names(&[1, 0]), ["name", "id"]);
    assert_eq!(names(&[1, 1]), ["name", "name"]);
    let err = reader.read(0, &[0, 2]).unwrap_err();
    assert_eq!(err.to_string(), "colm: column 2 is out of range: the file has 2 columns");
    assert!(reader.read(1, &[]).is_err());
}

#[test]
fn m23_bytes_after_the_last_block_are_reported_and_ignored() {
    let made = File { tail: b"tail".to_vec(), ..example() }.build();
    let end = made.bytes.len() as u64 - 4;
    COLM.reads(&made, &example_values(), &[("M23", end)]);
    // A file of header and column table alone reports them too.
    let file = File { tail: b"x".to_vec(), ..File::new(0, Vec::new()) };
    let absent = Column { name: b"x".to_vec(), code: 1, block: Block::absent() };
    let made = File { columns: vec![absent], ..file }.build();
    let met = [("M11", made.entries[0]), ("M23", made.table_end)];
    COLM.reads(&made, &[("x", Vec::new())], &met);
    assert_eq!(COLM.writes(&example_table()).len() as u64, example().build().blocks[1].end);
    assert_eq!(COLM.writes(&table(vec![("f", float64s(&[1]))])).len() as u64, {
        File::new(1, vec![Column::float64("f", &[1])]).build().blocks[0].end
    });
}
