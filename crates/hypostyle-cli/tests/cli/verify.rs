//! `hyp verify`, and the other commands on corrupt files.

use crate::Folder;

fn made() -> Folder {
    let folder = Folder::new().with("a.csv", "id,name\n1,Ada\n2,Grace\n");
    for format in ["colm", "colf", "clmn"] {
        folder.hyp(&format!("convert a.csv a.{format} -q")).ok();
    }
    folder
}

#[test]
fn what_we_write_has_no_deviation() {
    let folder = made();
    let out = folder.hyp("verify --strict a.colm a.colf a.clmn").ok();
    assert_eq!(
        out,
        "a.colm: ok: COLM, 2 rows, 2 columns\na.colf: ok: COLF, 2 rows, 2 columns\n\
         a.clmn: ok: CLMN, 2 rows, 2 columns\n"
    );
}

#[test]
fn deviations_are_listed_and_strict_fails_on_them() {
    let folder = made();
    for (format, code) in [("colm", "M23"), ("colf", "F24"), ("clmn", "N19")] {
        let mut bytes = folder.bytes(&format!("a.{format}"));
        let end = bytes.len();
        bytes.extend_from_slice(b"more");
        let folder = Folder::new().with("b", bytes);
        let out = folder.hyp("verify b").ok();
        assert!(out.contains(&format!("deviation {code} at byte {end}: 4 bytes after")), "{out}");
        let ran = folder.hyp("verify --strict b").fails(1, &[]);
        assert!(ran.out.contains(code) && ran.out.contains("failed"), "{}", ran.out);
        let json = folder.hyp("verify --json b").ok();
        assert!(json.contains(&format!("\"code\":\"{code}\"")) && json.contains("\"ok\":true"));
        assert!(folder.hyp("cat b").ok().contains("Grace"));
        folder.hyp("cat --strict b").fails(1, &[code]);
    }
}

#[test]
fn corrupt_files_are_exit_code_four_with_column_and_byte() {
    let folder = made();
    let mut bytes = folder.bytes("a.colm");
    *bytes.last_mut().unwrap() ^= 1; // the checksum of the last block
    let folder = Folder::new().with("bad.colm", &bytes);
    let ran = folder.hyp("verify bad.colm").fails(4, &[]);
    assert!(ran.out.contains("corrupt"), "{}", ran.out);
    assert!(ran.out.contains("column 2 `name`") && ran.out.contains("checksum"), "{}", ran.out);
    folder.hyp("cat bad.colm").fails(4, &["bad.colm", "colm", "column 2 `name`", "byte"]);
    // The other column can still be read.
    assert_eq!(folder.hyp("cat bad.colm --columns id").ok(), "id\n1\n2\n");
    bytes.truncate(40);
    let folder =
        Folder::new().with("cut.colm", &bytes).with("no.colm", b"\0\0\0\0").with("empty.colm", "");
    for name in ["cut", "no", "empty"] {
        folder.hyp(&format!("cat {name}.colm")).fails(4, &[name]);
        folder.hyp(&format!("verify {name}.colm")).fails(4, &[]);
    }
}

#[test]
fn the_worst_file_determines_the_exit_code() {
    let folder = made().with("bad.colm", "COLM");
    let ran = folder.hyp("verify a.colm bad.colm a.clmn");
    assert_eq!(ran.code, 4);
    assert_eq!(ran.out.matches(": ok:").count(), 2, "{}", ran.out);
    folder.hyp("verify a.colm missing.colm").fails(3, &["missing.colm"]);
}

#[test]
fn tables_of_every_other_kind_are_decoded_too() {
    let rows: String = (0..3000).map(|i| format!("{i},n{},{}.5\n", i * 7919 % 997, i)).collect();
    let folder = Folder::new().with("a.csv", format!("id,name,v\n{rows}"));
    for kind in ["tsv", "jsonl", "parquet", "arrow"] {
        folder.hyp(&format!("convert a.csv a.{kind} -q")).ok();
        let want = format!("a.{kind}: ok: {}, 3000 rows, 3 columns\n", kind.to_uppercase());
        assert_eq!(folder.hyp(&format!("verify a.{kind}")).ok(), want);
    }
    let folder = folder.with("a.txt", "one\ntwo\n").with("server.log", "10:00:01 INFO x=5\n");
    let out = folder.hyp("verify a.csv a.txt server.log").ok();
    assert_eq!(out.matches(": ok: ").count(), 3, "{out}");
    assert!(folder.hyp("verify --json a.parquet").ok().contains("\"format\":\"parquet\""));
}

#[test]
fn malformed_text_is_named_by_row_and_byte() {
    let folder = Folder::new()
        .with("a.csv", "id,name\n1,Ada\n2\n")
        .with("a.jsonl", "{\"a\":1}\n{\"a\":2\n")
        .with("a.tsv", b"id\tname\n1\t\xFF\n");
    for (name, place) in [
        ("a.csv", "csv: row 2: byte 14: row: has 1 cells"),
        ("a.jsonl", "jsonl: row 2: byte 13"),
        ("a.tsv", "tsv: byte 10: "),
    ] {
        let ran = folder.hyp(&format!("verify {name}")).fails(4, &[]);
        assert!(ran.out.contains("corrupt") && ran.out.contains(place), "{}", ran.out);
        let json = folder.hyp(&format!("verify --json {name}"));
        assert!(json.code == 4 && json.out.contains("\"ok\":false"), "{}", json.out);
    }
}

/// Every damaged column chunk is listed, and none hides another.
#[test]
fn damaged_parquet_and_arrow_files_are_named_by_column_rows_and_byte() {
    let rows: String = (0..3000).map(|i| format!("{i},n{}\n", i * 7919 % 2999)).collect();
    let folder = Folder::new().with("a.csv", format!("id,name\n{rows}"));
    folder.hyp("convert a.csv a.parquet -q").ok();
    let good = folder.bytes("a.parquet");
    let mut found = 0;
    for at in (4..good.len() - 200).step_by(37) {
        let mut bytes = good.clone();
        bytes[at..at + 16].fill(0xFF);
        let folder = Folder::new().with("bad.parquet", &bytes);
        let ran = folder.hyp("verify bad.parquet");
        assert!(ran.code == 0 || ran.code == 4, "{}: {}", ran.code, ran.out);
        if ran.code == 4 && ran.out.contains("stored from byte") {
            assert!(ran.out.contains("parquet: column "), "{}", ran.out);
            assert!(ran.out.contains("(rows 1 to 3000, "), "{}", ran.out);
            found += 1;
        }
    }
    assert!(found > 10, "{found}");
    let cut = Folder::new().with("cut.parquet", &good[..good.len() - 9]);
    let ran = cut.hyp("verify cut.parquet").fails(4, &[]);
    assert!(ran.out.contains("parquet: byte "), "{}", ran.out);
    folder.hyp("convert a.csv a.arrow -q").ok();
    let arrow = folder.bytes("a.arrow");
    let cut = Folder::new().with("cut.arrow", &arrow[..arrow.len() / 2]);
    let ran = cut.hyp("verify cut.arrow").fails(4, &[]);
    assert!(ran.out.contains("arrow: "), "{}", ran.out);
}

#[test]
fn limits_hold_and_can_be_raised() {
    let rows: String = (0..100_000).map(|_| "7\n").collect();
    let folder = Folder::new().with("a.csv", format!("n\n{rows}"));
    folder.hyp("convert a.csv a.colm -q").ok();
    folder.hyp("cat a.colm --max-decoded 100K").fails(4, &["over the limit of 102400"]);
    assert_eq!(folder.hyp("cat a.colm --max-decoded 1M").ok().lines().count(), 100_001);
}
