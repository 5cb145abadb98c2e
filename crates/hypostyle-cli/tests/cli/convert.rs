//! `hyp convert`.

use std::fs;
use std::process::{Command, Stdio};

use crate::{Folder, TRICKY};

const KINDS: [(&str, &str); 8] = [
    ("colm", "colm"),
    ("colf", "colf"),
    ("clmn", "clmn"),
    ("csv", "csv"),
    ("tsv", "tsv"),
    ("jsonl", "jsonl"),
    ("parquet", "parquet"),
    ("arrow", "arrow"),
];

#[test]
fn any_kind_converts_to_any_other_and_back() {
    // Without gaps, since not every kind has nulls.
    let table = "id,name,ratio\n1,Ada,0.5\n2,\"a,b\",-2.25\n3,名,1e-7\n";
    let folder = Folder::new().with("start.csv", table);
    for (from, _) in KINDS {
        folder.hyp(&format!("convert start.csv from.{from} -f -q")).ok();
        for (to, _) in KINDS {
            folder.hyp(&format!("convert from.{from} to.{to} -f -q")).ok();
            folder.hyp(&format!("convert to.{to} back.csv -f -q")).ok();
            assert_eq!(folder.read("back.csv"), table, "{from} to {to}");
        }
    }
}

#[test]
fn every_column_format_restores_each_cell_of_a_csv() {
    let folder = Folder::new().with("a.csv", TRICKY);
    for format in ["colm", "colfile", "colf", "clmn"] {
        folder.hyp(&format!("convert a.csv b.{format} -q")).ok();
        folder.hyp(&format!("convert b.{format} c.csv -f -q")).ok();
        assert_eq!(folder.read("c.csv"), TRICKY, "{format}");
    }
}

#[test]
fn the_summary_says_what_was_written_and_quiet_does_not() {
    let folder = Folder::new().with("a.csv", "x\n1\n");
    let said = folder.hyp("convert a.csv a.colm").ok();
    assert!(said.starts_with("a.colm: colm, 1 row, 1 column, "), "{said}");
    assert_eq!(folder.hyp("convert a.csv b.colm --quiet").ok(), "");
}

#[test]
fn exact_inference_types_only_columns_that_are_restored_exactly() {
    let folder = Folder::new().with(
        "a.csv",
        "int,zip,price,plus,exp,zero,big,float,gap\n7,00501,1.50,+5,1e3,-0,3000000000,0.5,1\n8,1,2.5,6,1,0,1,2.5,\n",
    );
    folder.hyp("convert a.csv a.colf -q").ok();
    let schema = folder.hyp("schema a.colf --json").ok();
    let types: Vec<&str> = schema
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"type\": \""))
        .map(|rest| &rest[..rest.find('"').unwrap()])
        .collect();
    let want = ["int32", "text", "text", "text", "text", "text", "text", "float64", "int32"];
    assert_eq!(types, want);
    folder.hyp("convert a.csv a.clmn -q").ok();
    let schema = folder.hyp("schema a.clmn").ok();
    let line = |name: &str| schema.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(line("big").contains("int64"), "{schema}");
    assert!(line("gap").contains("text"), "{schema}");
}

#[test]
fn types_follow_infer_numeric_all_text_and_types() {
    let folder = Folder::new().with("a.csv", "zip,price\n00501,1.50\n1,2\n");
    folder.hyp("convert a.csv a.colm -q --infer numeric").ok();
    assert_eq!(folder.hyp("cat a.colm").ok(), "zip,price\n501,1.5\n1,2.0\n");
    folder.hyp("convert a.csv a.colm -f -q --all-text").ok();
    assert_eq!(folder.hyp("cat a.colm").ok(), "zip,price\n00501,1.50\n1,2\n");
    folder.hyp("convert a.csv a.colm -f -q --types price=float64").ok();
    assert_eq!(folder.hyp("cat a.colm").ok(), "zip,price\n00501,1.5\n1,2.0\n");
    folder.hyp("convert a.csv b.colm --types nope=int32").fails(2, &["no column named `nope`"]);
    folder.hyp("convert a.csv b.colm --types price=dates").fails(2, &["`dates` is not int32"]);
    folder
        .hyp("convert a.csv b.colm --types price=date")
        .fails(1, &["column 2 `price`", "row 1", "`1.50` is not of the type Date32"]);
    folder
        .hyp("convert a.csv b.colm --types price=int32")
        .fails(1, &["column 2 `price`", "row 1", "`1.50`"]);
    // A type can be given for inputs of any kind.
    folder.hyp("convert a.colm c.colm -q --types zip=int32").ok();
    assert_eq!(folder.hyp("cat c.colm").ok(), "zip,price\n501,1.5\n1,2.0\n");
}

#[test]
fn null_words_become_nulls_if_the_format_has_nulls() {
    let folder = Folder::new().with("a.csv", "n,s\n1,x\nNA,NA\n,-\n");
    folder.hyp("convert a.csv a.colf -q --null NA --null -").ok();
    let json = folder.hyp("cat a.colf --format jsonl").ok();
    assert_eq!(json, "{\"n\":1,\"s\":\"x\"}\n{\"n\":null,\"s\":null}\n{\"n\":null,\"s\":null}\n");
    assert_eq!(folder.hyp("cat a.colf --null NA").ok(), "n,s\n1,x\nNA,NA\nNA,NA\n");
    // Without nulls, the word stays text.
    folder.hyp("convert a.csv a.colm -q --null NA").ok();
    assert_eq!(folder.hyp("cat a.colm").ok(), "n,s\n1,x\nNA,NA\n,-\n");
}

#[test]
fn flags_set_the_syntax_of_csv() {
    let folder = Folder::new()
        .with("semicolon.txt", "a;b\n1;2\n")
        .with("plain.csv", "1,2\n3,4\n")
        .with("dos.csv", "\u{FEFF}a,b\r\n1,\"x\r\ny\"\r\n\r\n2,z\r\n")
        .with("latin.csv", b"name\nJos\xE9\n")
        .with("ragged.csv", "a,b,c\n1,2,3\n4,5\n");
    assert_eq!(folder.hyp("cat semicolon.txt --delimiter ;").ok(), "a,b\n1,2\n");
    assert_eq!(folder.hyp("cat plain.csv --no-header").ok(), "column_1,column_2\n1,2\n3,4\n");
    assert_eq!(folder.hyp("cat dos.csv").ok(), "a,b\n1,\"x\r\ny\"\n2,z\n");
    folder.hyp("cat latin.csv").fails(4, &["byte 8", "not UTF-8", "--encoding latin1"]);
    assert_eq!(folder.hyp("cat latin.csv --encoding latin1").ok(), "name\nJosé\n");
    folder.hyp("cat ragged.csv").fails(4, &["row 2", "2 cells", "--ragged pad"]);
    assert_eq!(folder.hyp("cat ragged.csv --ragged pad").ok(), "a,b,c\n1,2,3\n4,5,\n");
    // Padding does not help with a row that is too long.
    let long = folder.hyp_with("cat -", b"a,b\n1,2,3\n").fails(4, &["row 1", "3 cells"]);
    assert!(!long.err.contains("hint"), "{}", long.err);
}

#[test]
fn a_refused_table_writes_nothing_and_gives_a_hint() {
    let long = "x".repeat(65_536);
    let folder = Folder::new()
        .with("nulls.jsonl", "{\"a\":1}\n{\"a\":null}\n")
        .with("big.jsonl", "{\"a\":1}\n{\"a\":3000000000}\n")
        .with("long.csv", format!("s\nok\n{long}\n"))
        .with("twice.csv", "a,a\n1,2\n")
        .with("blank.csv", "a,\n1,2\n");
    let before = folder.names();
    for to in ["colm", "clmn"] {
        folder
            .hyp(&format!("convert nulls.jsonl x.{to}"))
            .fails(1, &["column 1 `a`", "row 2", "no nulls", "--null-as"]);
    }
    for to in ["colm", "colf"] {
        folder
            .hyp(&format!("convert big.jsonl x.{to}"))
            .fails(1, &["column 1 `a`", "row 2", "64-bit", "3000000000", "--types"]);
        folder.hyp(&format!("convert twice.csv x.{to}")).fails(1, &["column 2 `a`", "--names"]);
    }
    folder.hyp("convert long.csv x.clmn").fails(1, &["column 1 `s`", "row 2", "65535", "COLM"]);
    folder.hyp("convert blank.csv x.clmn").fails(1, &["column 2", "name", "--names rename"]);
    assert_eq!(folder.names(), before);

    folder.hyp("convert nulls.jsonl x.colm -q --null-as NA").ok();
    assert_eq!(folder.hyp("cat x.colm").ok(), "a\n1\nNA\n");
    folder.hyp("convert big.jsonl y.colm -q --types a=text").ok();
    assert_eq!(folder.hyp("cat y.colm").ok(), "a\n1\n3000000000\n");
    folder.hyp("convert twice.csv z.colm -q --names keep").ok();
    assert_eq!(folder.hyp("cat z.colm").ok(), "a,a\n1,2\n");
    folder.hyp("convert twice.csv w.clmn -q --names rename").ok();
    assert_eq!(folder.hyp("cat w.clmn").ok(), "a,a_2\n1,2\n");
}

#[test]
fn standard_input_and_output_are_a_dash() {
    let folder = Folder::new();
    let colm = folder.hyp_with("convert - - --to colm", b"a,b\n1,x\n");
    assert_eq!((colm.code, colm.err.as_str()), (0, ""));
    assert!(colm.raw.starts_with(b"COLM"));
    assert_eq!(folder.hyp_with("cat -", &colm.raw).ok(), "a,b\n1,x\n");
    let parquet = folder.hyp_with("convert - - --to parquet", &colm.raw);
    assert_eq!(folder.hyp_with("convert - - --to tsv", &parquet.raw).ok(), "a\tb\n1\tx\n");
    let jsonl = folder.hyp_with("convert - - --to jsonl --from csv", b"a\n1\n");
    assert_eq!(folder.hyp_with("schema -", jsonl.raw.as_slice()).ok().lines().count(), 3);
    folder.hyp_with("convert - -", b"a\n1\n").fails(2, &["--to"]);
}

#[test]
fn an_existing_file_is_kept_unless_forced() {
    let folder = Folder::new().with("a.csv", "x\n1\n").with("a.colm", "precious");
    folder.hyp("convert a.csv a.colm").fails(2, &["a.colm", "-f"]);
    assert_eq!(folder.read("a.colm"), "precious");
    folder.hyp("convert a.csv a.colm -f").ok();
    assert!(folder.bytes("a.colm").starts_with(b"COLM"));
    assert_eq!(folder.names(), ["a.colm", "a.csv"]);
}

#[test]
fn a_failure_leaves_the_target_as_it_was() {
    let folder = Folder::new().with("bad.csv", "a,b\n1,2\n3\n").with("out.colm", "precious");
    folder.hyp("convert bad.csv out.colm -f").fails(4, &["row 2"]);
    folder.hyp("convert missing.csv out.colm -f").fails(3, &["missing.csv"]);
    assert_eq!(folder.read("out.colm"), "precious");
    assert_eq!(folder.names(), ["bad.csv", "out.colm"]);
}

#[test]
fn a_kill_leaves_the_target_as_it_was() {
    let folder = Folder::new().with("out.colm", "precious");
    // It waits for more input, with the output begun.
    let mut child = Command::new(env!("CARGO_BIN_EXE_hyp"))
        .args(["convert", "-", "out.colm", "-f"])
        .current_dir(folder.path("."))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // More than a pipe holds, so that the output is begun before all of it is read.
    let mut pipe = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut pipe, "id,name\n1,a\n".repeat(50_000).as_bytes()).unwrap();
    assert!(child.try_wait().unwrap().is_none(), "ended by itself");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(folder.read("out.colm"), "precious");
    if cfg!(target_os = "linux") {
        assert_eq!(folder.names(), ["out.colm"]);
    }
}

#[cfg(unix)]
#[test]
fn devices_are_written_to_and_links_are_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = Folder::new().with("a.csv", "x\n1\n").with("real.colm", "old");
    folder.hyp("convert a.csv /dev/null --to colm -q").ok();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    symlink("real.colm", folder.path("link.colm")).unwrap();
    folder.hyp("convert a.csv link.colm -f -q").ok();
    assert!(fs::symlink_metadata(folder.path("link.colm")).unwrap().is_symlink());
    assert!(folder.bytes("real.colm").starts_with(b"COLM"));
    folder.hyp("convert a.csv new.colm -q").ok();
    let mode = fs::metadata(folder.path("new.colm")).unwrap().permissions().mode();
    assert_eq!(mode & 0o600, 0o600);
    assert_eq!(mode & 0o111, 0, "not executable");
}

#[test]
fn content_counts_more_than_the_name() {
    let folder = Folder::new().with("a.csv", "x\n1\n").with("fake.colm", "x\n1\n");
    folder.hyp("convert a.csv b.colm -q").ok();
    fs::rename(folder.path("b.colm"), folder.path("b.csv")).unwrap();
    assert_eq!(folder.hyp("cat b.csv").ok(), "x\n1\n");
    folder.hyp("cat fake.colm").fails(4, &["extension of colm", "starts with"]);
    assert_eq!(folder.hyp("cat fake.colm --from csv").ok(), "x\n1\n");
    // Text may start with the letters of a magic.
    assert_eq!(folder.hyp_with("cat -", b"AT1,b\n1,2\n").ok(), "AT1,b\n1,2\n");
    folder.hyp_with("cat -", b"AT1\x07rest").fails(4, &["at1", "version 7"]);
    folder.hyp_with("cat -", b"\x00\x01").fails(4, &["standard input", "in no known format"]);
}

#[test]
fn compat_switches_change_only_what_they_name() {
    let folder = Folder::new().with("a.csv", "s,t\n\"\",x\ny,\"\"\n");
    folder.hyp("convert a.csv a.colf -q --compat colf-empty-as-null").ok();
    assert_eq!(
        folder.hyp("cat a.colf --format jsonl").ok(),
        "{\"s\":null,\"t\":\"x\"}\n{\"s\":\"y\",\"t\":null}\n"
    );
    folder.hyp("convert a.csv a.clmn -q --compat clmn-pad-last-empty").ok();
    assert!(folder.hyp("verify a.clmn").ok().contains("N17"));
    folder.hyp("convert a.csv b.clmn --compat nonsense").fails(2, &["nonsense"]);
}

#[test]
fn levels_trade_time_for_size() {
    let rows: String = (0..5000).map(|i| format!("{},{}\n", i % 97, i * 7919 % 1000)).collect();
    let folder = Folder::new().with("a.csv", format!("a,b\n{rows}"));
    let mut sizes = Vec::new();
    for level in [0, 1, 6, 12] {
        folder.hyp(&format!("convert a.csv a.colm -f -q --level {level}")).ok();
        sizes.push(folder.bytes("a.colm").len());
    }
    assert!(sizes.is_sorted_by(|a, b| a > b), "{sizes:?}");
    folder.hyp("convert a.csv b.colm --level 13").fails(2, &["13"]);
}

/// Spreadsheets run cells that start with certain characters.
#[test]
fn formulas_in_csv_get_an_apostrophe_if_asked_for() {
    let text =
        "=name,n,day\n=1+1,-5,2024-01-02\n@x,3,2024-01-03\n\"-a,b\",,2024-01-04\n+,7,2024-01-05\n";
    let folder = Folder::new().with("a.csv", text);
    folder.hyp("convert a.csv a.colf -q").ok();
    folder.hyp("convert a.colf b.csv -q").ok();
    assert_eq!(folder.read("b.csv"), text);
    folder.hyp("convert a.colf b.csv -q -f --guard-formulas").ok();
    let guarded = "'=name,n,day\n'=1+1,-5,2024-01-02\n'@x,3,2024-01-03\n\"'-a,b\",,2024-01-04\n'+,7,2024-01-05\n";
    assert_eq!(folder.read("b.csv"), guarded);
}

#[test]
fn columns_and_rows_of_a_text_have_limits() {
    let text = format!("a,b,c\n1,2,{}\n", "x".repeat(9 << 20));
    let folder = Folder::new().with("a.csv", text);
    folder.hyp("schema a.csv --max-columns 2").fails(4, &["number of columns", "limit of 2"]);
    folder.hyp("schema a.csv --max-row 3M").fails(4, &["row length", "limit of 3145728"]);
    folder.hyp("schema a.csv --max-row 10M --max-columns 3").ok();
}
