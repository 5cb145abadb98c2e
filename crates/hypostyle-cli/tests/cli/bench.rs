//! `hyp bench`: correct sizes, times, and no files left behind.

use std::fmt::Write;
use std::fs::File;

use serde_json::Value;

use crate::Folder;

const USUAL: [&str; 15] = [
    "at1-1",
    "at1-6",
    "at1-9",
    "at1-query",
    "colm",
    "colf",
    "clmn",
    "onpair",
    "parquet",
    "xz-6",
    "xz-9e",
    "zstd-3",
    "zstd-19",
    "gzip-6",
    "gzip-9",
];

fn table(rows: usize) -> String {
    let mut text = String::from("id,city,price\n");
    for row in 0..rows {
        let city = if row * row % 7 < 3 { "Oslo" } else { "Rome" };
        let _ = writeln!(text, "{row},{city},{}.{:02}", row * 7 % 100, row * 13 % 100);
    }
    text
}

/// Returns bytes that are not a table.
fn noise(len: usize) -> Vec<u8> {
    let mut dice = 1_u32;
    let mut next = || {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        dice.to_be_bytes()[0]
    };
    [0].into_iter().chain((1..len).map(|_| next())).collect()
}

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.hyp(line).ok()).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect()
}

#[test]
fn every_candidate_is_listed_the_smallest_first() {
    let folder = Folder::new().with("t.csv", table(200));
    let out = folder.hyp("bench t.csv --rounds 1").ok();
    assert!(out.starts_with(&format!("t.csv: {} bytes, csv\n", table(200).len())), "{out}");
    let rows: Vec<Vec<&str>> = out
        .lines()
        .skip(4)
        .take(USUAL.len())
        .map(|line| line.split('│').map(str::trim).collect())
        .collect();
    let mut listed: Vec<_> = rows.iter().map(|row| row[0]).collect();
    listed.sort_unstable();
    let mut usual = USUAL;
    usual.sort_unstable();
    assert_eq!(listed, usual, "{out}");
    let sizes = rows.iter().map(|row| row[1].trim_end_matches('*').parse::<u64>().unwrap());
    assert!(sizes.is_sorted(), "{out}");
    assert!(rows[0][1].ends_with('*') && rows.iter().any(|row| row[3].ends_with('*')), "{out}");
    assert!(rows.iter().all(|row| row[7].starts_with(['█', '▏', '▎', '▍', '▌'])), "{out}");
    for (name, gives) in [("at1-6", "bytes"), ("xz-9e", "bytes"), ("colf", "rows")] {
        assert!(rows.iter().any(|row| row[0] == name && row[6] == gives), "{out}");
    }
    assert!(out.contains("codec: columnar by"), "{out}");
    assert!(!out.contains("left out") && !out.contains('\u{1B}'), "{out}");
    assert_eq!(folder.names(), ["t.csv"]);
}

#[test]
fn sizes_are_those_of_the_files_that_hyp_writes() {
    let folder = Folder::new().with("t.csv", table(150));
    let report = json(&folder, "bench t.csv --rounds 1 --json");
    assert_eq!(report["bytes"], table(150).len());
    assert_eq!((&report["file"], &report["kind"]), (&"t.csv".into(), &"csv".into()));
    let mut listed = names(&report["contenders"]);
    listed.sort_unstable();
    let mut usual = USUAL;
    usual.sort_unstable();
    assert_eq!(listed, usual);
    for (name, line) in [
        ("at1-1", "pack t.csv -q -1 -o made"),
        ("at1-6", "pack t.csv -q -6 -o made"),
        ("at1-9", "pack t.csv -q -9 -o made"),
        ("at1-query", "pack t.csv -q --query -o made"),
        ("colm", "convert t.csv made -q --to colm"),
        ("colf", "convert t.csv made -q --to colf"),
        ("clmn", "convert t.csv made -q --to clmn"),
        ("onpair", "convert t.csv made -q --to onpair"),
        ("parquet", "convert t.csv made -q --to parquet"),
    ] {
        folder.hyp(&format!("{line} -f")).ok();
        let contenders = report["contenders"].as_array().unwrap();
        let found = contenders.iter().find(|it| it["name"] == name).unwrap();
        assert_eq!(found["bytes"], folder.bytes("made").len(), "{name}");
        assert_eq!((&found["verified"], &found["rounds"]), (&true.into(), &1.into()));
        for key in ["share", "make_seconds", "make_mb_per_second", "back_seconds"] {
            assert!(found[key].as_f64().unwrap() > 0.0, "{name} {key}");
        }
    }
    let rival = folder.hyp("pack t.csv -f -o made --compare").ok();
    let xz = report["contenders"].as_array().unwrap().iter().find(|it| it["name"] == "xz-9e");
    let size = format!("xz -9e takes {},", xz.unwrap()["bytes"]);
    assert!(rival.contains(&size), "{size} {rival}");
}

#[test]
fn candidates_that_cannot_store_the_content_are_left_out_with_the_reason() {
    let folder = Folder::new().with("noise", noise(2000)).with("odd.csv", "a,b\n1\n2,3\n");
    let report = json(&folder, "bench noise --quick --rounds 1 --json");
    assert_eq!(report["kind"], Value::Null);
    let tables = ["at1-query", "colm", "colf", "clmn", "onpair", "parquet"];
    assert_eq!(names(&report["left_out"]), tables);
    assert_eq!(names(&report["contenders"]).len(), 12 - tables.len());
    let out = folder.hyp("bench noise --quick --rounds 1").ok();
    assert!(
        out.contains("left out: colm, colf, clmn, onpair, parquet: is in no known format"),
        "{out}"
    );
    assert!(out.contains("left out: at1-query: the content is neither a table"), "{out}");
    let out = folder.hyp("bench odd.csv --only colm,gzip-6 --rounds 1").ok();
    assert!(out.contains("left out: colm: ") && out.contains("--ragged pad"), "{out}");
    let out = folder.hyp("bench odd.csv --only colm,gzip-6 --rounds 1 --ragged pad").ok();
    assert!(!out.contains("left out"), "{out}");
    folder.hyp("bench noise --only colm,parquet").fails(4, &["noise", "colm, parquet: "]);
    let folder = folder.with("twins.csv", "a,a\n1,2\n");
    let report = json(&folder, "bench twins.csv --only clmn,gzip-6 --rounds 1 --json");
    assert_eq!(names(&report["contenders"]), ["gzip-6"]);
    let why = report["left_out"][0]["why"].as_str().unwrap();
    assert!(why.starts_with("column 2 `a`: has the same name"), "{why}");
}

#[test]
fn candidates_can_be_chosen() {
    let folder = Folder::new().with("t.csv", table(60));
    let chosen = |flags: &str| {
        let report = json(&folder, &format!("bench t.csv --rounds 1 --json {flags}"));
        let mut names: Vec<String> =
            names(&report["contenders"]).into_iter().map(str::to_owned).collect();
        names.sort_unstable();
        names
    };
    assert_eq!(chosen("--only xz,COLM"), ["colm", "xz-6", "xz-9e"]);
    assert_eq!(chosen("--only at1-columnar,gzip-9"), ["at1-columnar", "gzip-9"]);
    let quick = chosen("--quick");
    assert_eq!(quick.len(), 12);
    assert!(["at1-9", "xz-9e", "zstd-19"].iter().all(|slow| !quick.contains(&slow.to_string())));
    let codecs = chosen("--only at1 --codecs");
    assert!(codecs.contains(&"at1-raw".to_owned()) && !codecs.contains(&"at1-vcf".to_owned()));
    folder.hyp("bench t.csv --only rar").fails(2, &["unknown name `rar`", "xz-9e"]);
    folder.hyp("bench t.csv --only xz --quick").fails(2, &["--quick"]);
    folder.hyp("bench t.csv --rounds 0").fails(2, &["rounds"]);
}

#[test]
fn short_rounds_are_repeated_unless_rounds_are_given() {
    let folder = Folder::new().with("t.csv", table(20));
    let rounds = |flags: &str| {
        let report = json(&folder, &format!("bench t.csv --only gzip-6 --json{flags}"));
        report["contenders"][0]["rounds"].as_u64().unwrap()
    };
    assert!(rounds("") > 3);
    assert_eq!(rounds(" --rounds 3"), 3);
}

#[test]
fn only_the_report_is_written() {
    let folder = Folder::new().with("t.csv", table(60));
    let line = "bench t.csv --only xz-6,colf --rounds 1 --report r.md";
    let shown = folder.hyp(line).ok();
    assert!(shown.starts_with("t.csv: "));
    assert_eq!(folder.names(), ["r.md", "t.csv"]);
    let text = folder.read("r.md");
    assert!(text.starts_with("# t.csv: ") && text.contains("\n| --- | ---: |"), "{text}");
    for row in ["| xz-6 | ", "| colf | "] {
        assert!(text.contains(row), "{text}");
    }
    folder.hyp(line).fails(2, &["r.md", "-f"]);
    folder.hyp(&format!("{line} -f --json")).ok();
    let printed = folder.hyp("bench t.csv --only xz-6 --rounds 1 --report -").ok();
    assert!(printed.starts_with("# t.csv: "), "{printed}");
    folder.hyp("bench t.csv --report - --json").fails(2, &["--report"]);
    // A failed measurement leaves no report.
    let folder = folder.with("empty", "");
    folder.hyp("bench empty --report s.md").fails(4, &["empty", "nothing to measure"]);
    assert_eq!(folder.names(), ["empty", "r.md", "t.csv"]);
}

#[test]
fn inputs_of_every_kind_are_measured_or_refused() {
    let folder = Folder::new().with("t.csv", table(60));
    for kind in ["jsonl", "txt", "parquet", "arrow", "colf"] {
        let content = if kind == "txt" { "line\nb\n\nc\n".repeat(9) } else { table(60) };
        let folder = Folder::new().with("t.csv", content);
        folder.hyp(&format!("convert t.csv t.{kind} -q")).ok();
        let line = format!("bench t.{kind} --only colm,colf,parquet,zstd-3 --rounds 1 --json");
        let report = json(&folder, &line);
        assert_eq!(report["kind"], kind);
        assert_eq!(report["left_out"], Value::Array(Vec::new()), "{kind}");
    }
    let out = folder.hyp_with("bench - --only colf,gzip-6 --rounds 1", table(60).as_bytes()).ok();
    assert!(out.starts_with("standard input: ") && out.contains("colf"), "{out}");
    folder.hyp("bench -").fails(4, &["standard input", "empty"]);
    folder.hyp("bench missing").fails(3, &["missing"]);
    folder.hyp("bench .").fails(2, &["directory"]);
    File::create(folder.path("huge")).unwrap().set_len((1 << 30) + 1).unwrap();
    folder.hyp("bench huge").fails(2, &["huge", "larger than 1073741824", "head -c"]);
}
