//! `.onpair` files: columns of strings, lines of text, and the files of another program.

use std::fmt::Write;

use crate::{Folder, TRICKY};

#[test]
fn lines_are_restored_byte_for_byte() {
    let long = (0..3000).fold(String::new(), |mut text, row| {
        let _ = writeln!(text, "GET /api/v1/users/{}/orders?page={} 200", row * 37 % 977, row % 5);
        text
    });
    let texts: [&[u8]; 6] = [b"", b"\n", b"one", b"a\r\n\n b", long.as_bytes(), b"\xFF\xFE\nraw\n"];
    for text in texts {
        let folder = Folder::new().with("in.txt", text);
        folder.hyp("convert in.txt lines.onpair -q").ok();
        folder.hyp("convert lines.onpair out.txt -q").ok();
        assert!(folder.bytes("out.txt") == text);
        folder.hyp("verify lines.onpair --strict").ok();
        folder.hyp("convert lines.onpair again.onpair -q").ok();
        assert!(folder.bytes("again.onpair") == folder.bytes("lines.onpair"));
    }
    let folder = Folder::new().with("in.txt", &long);
    let said = folder.hyp("convert in.txt lines.onpair").ok();
    assert!(said.contains("onpair, 3000 rows, 1 column,"), "{said}");
    assert!(folder.bytes("lines.onpair").len() * 3 < long.len());
    assert_eq!(
        folder.hyp("head lines.onpair -n 1").ok(),
        "line\nGET /api/v1/users/0/orders?page=0 200\n"
    );
    assert_eq!(
        folder.hyp("cat lines.onpair --rows 2..3").ok(),
        "line\nGET /api/v1/users/74/orders?page=2 200\n"
    );
    assert_eq!(
        folder.hyp("get lines.onpair 2 --format tsv").ok(),
        "line\nGET /api/v1/users/74/orders?page=2 200\n"
    );
    folder.hyp("get lines.onpair 3000").fails(2, &["row 3000 is out of range", "3000 rows"]);
    let map = folder.hyp("inspect lines.onpair").ok();
    for word in
        ["ONPAIR, 3000 rows", "dictionary `line`", "codes `line`", "footer", "ratio", "bits"]
    {
        assert!(map.contains(word), "no `{word}` in {map}");
    }
}

#[test]
fn every_column_of_a_csv_is_text_as_it_is() {
    let folder = Folder::new().with("t.csv", TRICKY);
    folder.hyp("convert t.csv t.onpair -q").ok();
    assert_eq!(folder.hyp("cat t.onpair").ok(), folder.hyp("cat t.csv --all-text").ok());
    let schema = folder.hyp("schema t.onpair --json").ok();
    assert_eq!(schema.matches("\"type\": \"text\"").count(), 6, "{schema}");
    // Numbers of other formats become text; --types turns text into numbers.
    folder.hyp("convert t.csv t.colf -q").ok();
    folder.hyp("convert t.colf u.onpair -q").ok();
    assert_eq!(folder.hyp("cat u.onpair").ok(), folder.hyp("cat t.colf").ok());
    folder.hyp("convert u.onpair back.colf -q --types id=int32").ok();
    assert!(folder.hyp("schema back.colf").ok().contains("int32"));
    folder.hyp("convert t.onpair t.txt").fails(1, &["one column", "6"]);
    folder.hyp_with("convert - stdin.onpair --from csv -q", TRICKY.as_bytes()).ok();
    assert!(folder.bytes("stdin.onpair") == folder.bytes("t.onpair"));
    let piped = folder.bytes("t.onpair");
    assert_eq!(folder.hyp_with("cat -", &piped).ok(), folder.hyp("cat t.onpair").ok());
}

#[test]
fn queries_and_rows_read_only_chunks_that_may_have_them() {
    let mut text = String::new();
    (0..(1 << 20) + 5000).for_each(|row| {
        let _ = writeln!(text, "{:05}", row / 1000);
    });
    let folder = Folder::new().with("n.txt", &text);
    folder.hyp("convert n.txt n.onpair -q").ok();
    let ask = |words: &[&str]| {
        let ran = folder.hyp_words(&[words, &["--stats"]].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let rows = ran.out.lines().count() - 1;
        let said = format!("{rows} rows; 1 of 2 row groups read, 1 skipped; ");
        assert!(ran.err.starts_with(&said), "{}", ran.err);
        rows
    };
    assert_eq!(ask(&["cat", "n.onpair", "--where", "line like '0004%'"]), 10_000);
    assert_eq!(ask(&["cat", "n.onpair", "--where", "line = '01050'"]), 1000);
    assert_eq!(ask(&["cat", "n.onpair", "--rows", "1048580..1048590"]), 10);
    assert_eq!(ask(&["get", "n.onpair", "1048576", "1050000"]), 2);
    assert_eq!(folder.hyp("get n.onpair 1050000 3").ok(), "line\n01050\n00000\n");
}

#[test]
fn damage_is_found_and_named() {
    let folder = Folder::new().with("t.csv", TRICKY);
    folder.hyp("convert t.csv t.onpair -q").ok();
    let mut bytes = folder.bytes("t.onpair");
    if let Some(byte) = bytes.get_mut(17) {
        *byte ^= 1;
    }
    let folder = folder.with("bad.onpair", &bytes);
    let ran = folder.hyp("verify bad.onpair");
    assert_eq!(ran.code, 4, "{}", ran.out);
    assert!(ran.out.contains("column 1 `id`") && ran.out.contains("checksum"), "{}", ran.out);
    let cut = bytes.get(..bytes.len() - 1).unwrap_or_default();
    folder
        .with("cut.onpair", cut)
        .hyp("cat cut.onpair")
        .fails(4, &["truncated, or never finished"]);
}

/// A file as the C++ implementation writes it: tokens `a` and `bc`, rows `abc` and the empty string.
#[test]
fn files_of_the_cpp_implementation_are_read() {
    let mut file = b"ONPAIR01\x09".to_vec();
    file.extend_from_slice(&[3, 0, 0, 0]);
    file.extend_from_slice(b"abc");
    for array in [&[0_u32, 1, 3][..], &[0, 2, 2]] {
        file.extend_from_slice(&3_u32.to_le_bytes());
        array.iter().for_each(|number| file.extend_from_slice(&number.to_le_bytes()));
        if array == [0, 1, 3] {
            // The packed codes 0 and 1, of 9 bits each, in one word.
            file.extend_from_slice(&1_u32.to_le_bytes());
            file.extend_from_slice(&(1_u64 << 9).to_le_bytes());
        }
    }
    let folder = Folder::new().with("x.onpair", &file);
    assert_eq!(folder.hyp("cat x.onpair").ok(), "value\nabc\n\"\"\n");
    folder.hyp("verify x.onpair").ok();
    assert!(folder.hyp("inspect x.onpair").ok().contains("C++"));
    file.pop();
    folder.with("y.onpair", &file).hyp("cat y.onpair").fails(4, &["row boundaries"]);
}
