//! The cases of `.onpair` files.

#![expect(clippy::indexing_slicing, reason = "indices are in range by construction")]

use hypostyle::formats::ColumnType::Text;

use super::{Case, Cases, UNICODE_TEXTS, maybe, texts};
use crate::build::BuiltFile;
use crate::build::onpair::{Column, ColumnChunk, File, cpp, dictionary, numbers};

fn some<'a>(values: &[&'a str]) -> Vec<Option<&'a str>> {
    values.iter().copied().map(Some).collect()
}

const NAMES: [Option<&str>; 4] = [Some("Alice"), None, Some("Bob"), Some("")];
const CITIES: [&str; 4] = ["Berlin", "Potsdam", "Berlin-Mitte", "Paris"];

fn example() -> File {
    let columns = vec![Column::texts("name", &NAMES), Column::texts("city", &some(&CITIES))];
    File::new(&[4], columns)
}

fn example_values() -> super::Columns<'static> {
    vec![("name", Text, maybe(&NAMES)), ("city", Text, texts(&CITIES))]
}

fn one(rows: u32, chunk: ColumnChunk) -> File {
    File::new(&[rows], vec![Column::new("s", chunk)])
}

/// Sorted tokens, rows of codes for them, and the decoded rows.
const TOKENS: [&[u8]; 4] = [b"a", b"ab", b"abcdefghijklmnop", b"b"];
const CODES: [&[u16]; 4] = [&[0, 3], &[], &[2, 1, 0], &[1]];
const CODED: [&str; 4] = ["ab", "", "abcdefghijklmnopaba", "ab"];

fn packed() -> ColumnChunk {
    ColumnChunk::packed(9, &TOKENS, &CODES)
}

/// Returns the example with a change.
fn alter(change: impl FnOnce(&mut File)) -> BuiltFile {
    let mut file = example();
    change(&mut file);
    file.build()
}

/// Returns the example with a change of its first column chunk.
fn alter_chunk(change: impl FnOnce(&mut ColumnChunk)) -> BuiltFile {
    alter(|file| change(&mut file.columns[0].chunks[0]))
}

/// Returns a file of packed rows with a change.
fn alter_packed(change: impl FnOnce(&mut ColumnChunk)) -> BuiltFile {
    let mut chunk = packed();
    change(&mut chunk);
    one(4, chunk).build()
}

/// Returns a file of indexed rows with a change.
fn alter_indexed(change: impl FnOnce(&mut ColumnChunk)) -> BuiltFile {
    let mut chunk = ColumnChunk::indexed(&some(&["x", "yy", "x", "x"]));
    change(&mut chunk);
    one(4, chunk).build()
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Cases::new("onpair");
    good(&mut cases);
    good_in_other_forms(&mut cases);
    bad_ends(&mut cases);
    bad_footers(&mut cases);
    bad_entries(&mut cases);
    bad_sections(&mut cases);
    of_cpp(&mut cases);
    cases.all
}

fn good(cases: &mut Cases) {
    cases.canonical("types/example", example().build(), example_values());
    cases.canonical(
        "types/unicode",
        one(8, ColumnChunk::plain(&some(&UNICODE_TEXTS))).build(),
        vec![("s", Text, texts(&UNICODE_TEXTS))],
    );
    let empties = ["", "a", "", "bc"];
    cases.canonical(
        "rows/empty-texts",
        one(4, ColumnChunk::plain(&some(&empties))).build(),
        vec![("s", Text, texts(&empties))],
    );
    cases.canonical(
        "rows/zero-rows",
        one(0, ColumnChunk::plain::<&str>(&[])).build(),
        vec![("s", Text, vec![])],
    );
    let nulls = [None, None, None];
    cases.canonical(
        "rows/nothing-but-nulls",
        one(3, ColumnChunk::plain::<&str>(&nulls)).build(),
        vec![("s", Text, maybe(&nulls))],
    );
    let many: Vec<String> =
        (0..300).map(|i| if i % 7 == 0 { "xyz" } else { "x" }.repeat(i % 3)).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    cases.canonical(
        "values/distinct-ones-once",
        one(300, ColumnChunk::indexed(&some(&many))).build(),
        vec![("s", Text, texts(&many))],
    );
    let long = ["y".repeat(31), "y".repeat(33), "y".repeat(32)];
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    cases.canonical(
        "bounds/of-31-and-33-bytes",
        one(3, ColumnChunk::plain(&some(&long))).build(),
        vec![("s", Text, texts(&long))],
    );
    cases.canonical(
        "names/empty-and-unicode",
        File::new(&[1], vec![Column::texts("", &[Some("x")]), Column::texts("名 😀", &[None])])
            .build(),
        vec![("", Text, texts(&["x"])), ("名 😀", Text, maybe(&[None]))],
    );
}

fn good_in_other_forms(cases: &mut Cases) {
    let coded = || vec![("s", Text, texts(&CODED))];
    cases.other("values/packed", one(4, packed()).build(), coded(), &[]);
    for bits in 10..=16 {
        let name = [
            "values/packed-in-10-bits",
            "values/packed-in-11-bits",
            "values/packed-in-12-bits",
            "values/packed-in-13-bits",
            "values/packed-in-14-bits",
            "values/packed-in-15-bits",
            "values/packed-in-16-bits",
        ][usize::from(bits) - 10];
        cases.other(name, one(4, ColumnChunk::packed(bits, &TOKENS, &CODES)).build(), coded(), &[]);
    }
    let lengths = CODED.map(|text| u32::try_from(text.len()).unwrap());
    let with_lengths = |chunk: &mut ColumnChunk| {
        chunk.flags |= 2;
        chunk.sections[3] = numbers(&lengths);
    };
    cases.other("values/packed-with-lengths", alter_packed(with_lengths), coded(), &[]);
    let complete = |chunk: &mut ColumnChunk| {
        // Code 257 is token 0xFF: the 256 single bytes and `ab` precede it.
        let rows: [&[u16]; 4] = [&[0x61, 0x63], &[], &[0x62], &[0x62, 0x0A]];
        let singles: Vec<Vec<u8>> = (0..=255).map(|byte| vec![byte]).collect();
        let mut tokens: Vec<&[u8]> = singles.iter().map(Vec::as_slice).collect();
        tokens.insert(0x62, b"ab");
        *chunk = ColumnChunk::packed(9, &tokens, &rows);
        chunk.sections[0] = dictionary(true, &[b"ab"]);
    };
    cases.other(
        "values/packed-with-every-byte",
        alter_packed(complete),
        vec![("s", Text, texts(&["ab", "", "ab", "ab\n"]))],
        &[],
    );
    let mut shared = packed();
    shared.sections[0].clear();
    let mut later = packed();
    later.dictionary = 2;
    let column = |chunks| Column { name: b"s".to_vec(), code: 0, chunks };
    cases.other(
        "chunks/shared-dictionary",
        File::new(&[4, 4, 4], vec![column(vec![packed(), shared, later])]).build(),
        vec![("s", Text, texts(&[CODED, CODED, CODED].concat()))],
        &[],
    );
    cases.other(
        "chunks/of-unequal-size",
        File::new(
            &[1, 2],
            vec![column(vec![
                ColumnChunk::plain(&[Some("a")]),
                ColumnChunk::plain(&[None, Some("c")]),
            ])],
        )
        .build(),
        vec![("s", Text, maybe(&[Some("a"), None, Some("c")]))],
        &[],
    );
    cases.other(
        "values/indexed-where-it-does-not-pay",
        alter_indexed(|_| {}),
        vec![("s", Text, texts(&["x", "yy", "x", "x"]))],
        &[],
    );
}

fn bad_ends(cases: &mut Cases) {
    cases.invalid_bytes("ends/no-bytes", Vec::new());
    cases.invalid_bytes("ends/magic-only", b"HYPOPAIR".to_vec());
    let whole = example().build().bytes;
    cases.invalid_bytes("ends/cut", whole[..whole.len() - 1].to_vec());
    cases.invalid_bytes("ends/longer", [&whole[..], b"\0"].concat());
    cases.invalid("ends/other-magic", alter(|file| file.magic = *b"HYPOPAIL"));
    cases.invalid("ends/version-2", alter(|file| file.versions[0] = 2));
    cases.invalid("ends/version-2-in-the-tail", alter(|file| file.versions[1] = 2));
    let mut odd = whole;
    odd[12] = 1;
    cases.invalid_bytes("ends/reserved-bytes", odd);
}

fn bad_footers(cases: &mut Cases) {
    cases.invalid("footer/length-too-great", alter(|file| file.footer_len = Some(1 << 40)));
    cases.invalid("footer/length-too-small", alter(|file| file.footer_len = Some(40)));
    cases.invalid("footer/false-checksum", alter(|file| file.false_sum = true));
    cases.invalid("footer/no-columns", alter(|file| file.columns.clear()));
    cases.invalid("footer/no-chunks", alter(|file| file.chunks.clear()));
    cases.invalid("footer/column-count-max", alter(|file| file.column_count = Some(u32::MAX)));
    cases.invalid("footer/more-bytes", alter(|file| file.more = vec![0; 8]));
    cases.invalid("footer/gap-before-it", alter(|file| file.gap = vec![0; 8]));
    cases.invalid("footer/other-row-count", alter(|file| file.rows = Some(5)));
    let hollow = |file: &mut File| {
        file.chunks.push(0);
        file.columns
            .iter_mut()
            .for_each(|column| column.chunks.push(ColumnChunk::plain::<&str>(&[])));
    };
    cases.invalid("footer/chunk-of-no-rows", alter(hollow));
    cases.invalid("footer/chunk-of-too-many-rows", alter(|file| file.chunks = vec![(1 << 20) + 1]));
    cases.invalid("names/not-utf8", alter(|file| file.columns[0].name = vec![0xFF]));
    cases.invalid("names/twice", alter(|file| file.columns[0].name = b"city".to_vec()));
    cases.invalid("names/other-type", alter(|file| file.columns[0].code = 2));
}

fn bad_entries(cases: &mut Cases) {
    cases.invalid("entries/other-encoding", alter_chunk(|chunk| chunk.encoding = 2));
    cases.invalid("entries/other-flag", alter_chunk(|chunk| chunk.flags |= 16));
    cases.invalid("entries/plain-with-codes", alter_chunk(|chunk| chunk.codes = 1));
    cases.invalid("entries/more-nulls-than-rows", alter_chunk(|chunk| chunk.nulls = 5));
    cases.invalid("entries/other-value-count", alter_chunk(|chunk| chunk.values = 4));
    cases.invalid("entries/other-text-length", alter_chunk(|chunk| chunk.text += 1));
    cases.invalid("entries/text-of-a-gigabyte", alter_chunk(|chunk| chunk.text = 1 << 30));
    cases.invalid(
        "entries/bitmap-without-nulls",
        alter_chunk(|chunk| (chunk.nulls, chunk.values) = (0, 4)),
    );
    cases.invalid("entries/width-8", alter_packed(|chunk| chunk.bits = 8));
    cases.invalid("entries/other-way-of-cutting", alter_packed(|chunk| chunk.parse = 3));
    cases.invalid("entries/other-code-count", alter_packed(|chunk| chunk.codes += 1));
    cases.invalid("entries/no-dictionary", alter_packed(|chunk| chunk.sections[0].clear()));
    cases
        .invalid("entries/dictionary-of-a-later-chunk", alter_packed(|chunk| chunk.dictionary = 1));
    cases.invalid("entries/no-lengths", alter_packed(|chunk| chunk.flags |= 2));
    cases.invalid("entries/bound-of-33-bytes", alter_chunk(|chunk| chunk.max = vec![b'x'; 33]));
    cases.invalid("entries/other-bound", alter_chunk(|chunk| chunk.max = b"Bobby".to_vec()));
    cases.invalid("entries/bounds-out-of-order", alter_chunk(|chunk| chunk.min = b"C".to_vec()));
    cases.invalid("entries/bound-cut-too-short", alter_chunk(|chunk| chunk.flags |= 8));
    let mut narrow = packed();
    narrow.sections[0].clear();
    let wide = ColumnChunk::packed(10, &TOKENS, &CODES);
    let column = Column { name: b"s".to_vec(), code: 0, chunks: vec![wide, narrow] };
    cases.invalid("entries/dictionary-of-another-width", File::new(&[4, 4], vec![column]).build());
}

fn bad_sections(cases: &mut Cases) {
    cases.invalid("sections/false-checksum", alter_chunk(|chunk| chunk.false_sum = Some(1)));
    cases.invalid("sections/padding", alter_chunk(|chunk| chunk.padding = 1));
    cases.invalid(
        "sections/lengths-add-up-to-less",
        alter_chunk(|chunk| chunk.sections[2] = vec![0, 0]),
    );
    cases.invalid(
        "sections/numbers-of-33-bits",
        alter_chunk(|chunk| chunk.sections[2] = vec![0, 33, 0]),
    );
    cases.invalid("sections/numbers-cut", alter_chunk(|chunk| chunk.sections[2] = vec![0, 3]));
    cases.invalid("sections/numbers-left-over", alter_chunk(|chunk| chunk.sections[2].push(0)));
    cases.invalid("sections/one-null-more", alter_chunk(|chunk| chunk.sections[5] = vec![0b0011]));
    cases.invalid(
        "sections/null-past-the-end",
        alter_chunk(|chunk| chunk.sections[5] = vec![0b1_0010]),
    );
    let not_utf8 = |chunk: &mut ColumnChunk| {
        *chunk = ColumnChunk::plain(&[Some(&b"ok"[..]), None, Some(b"\xC3"), Some(b"\xA9")])
    };
    cases.invalid("sections/character-in-two-rows", alter_chunk(not_utf8));

    let tokens = |tokens: Vec<u8>| alter_packed(|chunk| chunk.sections[0] = tokens);
    cases.invalid("dictionary/other-flags", tokens(vec![2, 0, 0, 0]));
    cases.invalid("dictionary/out-of-order", tokens(dictionary(false, &[b"b", b"a", b"c", b"d"])));
    cases.invalid("dictionary/twice-the-same", tokens(b"\0\x02\0\0\x00a\x00a".to_vec()));
    cases.invalid("dictionary/shares-too-little", tokens(b"\0\x02\0\0\x01ab\x01ac".to_vec()));
    cases.invalid("dictionary/shares-what-is-not-there", tokens(b"\0\x01\0\0\x12ab".to_vec()));
    cases.invalid("dictionary/cut", tokens(b"\0\x02\0\0\x01ab".to_vec()));
    cases.invalid("dictionary/left-over", tokens(b"\0\x01\0\0\x01abc".to_vec()));
    cases.invalid("dictionary/more-than-codes-name", tokens(b"\x01\x01\x01\0".to_vec()));
    cases.invalid("codes/of-no-token", tokens(dictionary(false, &TOKENS[..3])));
    cases.invalid(
        "codes/bits-past-the-last",
        alter_packed(|chunk| *chunk.sections[1].last_mut().unwrap() |= 0x80),
    );
    cases.invalid(
        "codes/counts-add-up-to-more",
        alter_packed(|chunk| chunk.sections[2] = numbers(&[2, 1, 3, 1])),
    );
    cases.invalid("codes/other-text-length", alter_packed(|chunk| chunk.text += 1));
    let lengths = |chunk: &mut ColumnChunk| {
        chunk.flags |= 2;
        chunk.sections[3] = numbers(&[2, 0, 18, 3]);
    };
    cases.invalid("codes/other-lengths", alter_packed(lengths));
    cases.invalid(
        "indexes/of-no-value",
        alter_indexed(|chunk| chunk.sections[4] = numbers(&[0, 2, 0, 0])),
    );
    cases.invalid("indexes/of-too-few-rows", alter_indexed(|chunk| chunk.sections[4] = vec![0, 1]));
    cases.invalid("indexes/other-text-length", alter_indexed(|chunk| chunk.text += 1));
    let unused = |chunk: &mut ColumnChunk| {
        chunk.sections[4] = numbers(&[0, 0, 0, 0]);
        chunk.text = 4;
    };
    cases.invalid("indexes/a-value-that-no-row-has", alter_indexed(unused));
    let swapped = |chunk: &mut ColumnChunk| {
        chunk.sections[1] = b"yyx".to_vec();
        chunk.sections[2] = numbers(&[2, 1]);
        chunk.sections[4] = numbers(&[1, 0, 1, 1]);
    };
    cases.invalid("indexes/values-out-of-order", alter_indexed(swapped));
}

/// Files that start with `ONPAIR01`.
fn of_cpp(cases: &mut Cases) {
    let values = || vec![("value", Text, texts(&CODED))];
    cases.other("cpp/example", cpp(9, &TOKENS, &CODES), values(), &[]);
    cases.other("cpp/of-16-bits", cpp(16, &TOKENS, &CODES), values(), &[]);
    cases.other("cpp/no-rows", cpp(12, &TOKENS, &[]), vec![("value", Text, vec![])], &[]);
    let whole = cpp(9, &TOKENS, &CODES).bytes;
    let at = |at: usize, byte: u8| {
        let mut bytes = whole.clone();
        bytes[at] = byte;
        bytes
    };
    cases.invalid_bytes("cpp/magic-only", b"ONPAIR01\x0C".to_vec());
    cases.invalid_bytes("cpp/cut", whole[..whole.len() - 1].to_vec());
    cases.invalid_bytes("cpp/left-over", [&whole[..], b"\0"].concat());
    cases.invalid_bytes("cpp/width-17", at(8, 17));
    cases.invalid_bytes("cpp/tokens-of-4-gib", at(12, 0xFF));
    cases.invalid("cpp/code-of-no-token", cpp(9, &TOKENS[..3], &CODES));
    cases.invalid("cpp/token-of-17-bytes", cpp(9, &[&[b'x'; 17]], &[&[0]]));
    cases.invalid("cpp/not-utf8", cpp(9, &[b"\xFF"], &[&[], &[0]]));
}
