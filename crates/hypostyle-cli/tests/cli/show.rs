//! `hyp cat`, `head`, `schema`, `inspect`, `demo`, `completions`, `man`.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::Folder;

fn numbers() -> Folder {
    let rows: String = (0..100).map(|i| format!("{i},name {i},{}.5\n", i * 2)).collect();
    let folder = Folder::new().with("a.csv", format!("n,s,f\n{rows}"));
    folder.hyp("convert a.csv a.colf -q").ok();
    folder
}

#[test]
fn cat_prints_columns_and_rows_in_the_requested_order() {
    let folder = numbers();
    let out = folder.hyp("cat a.colf --columns f,n --rows 3..5").ok();
    assert_eq!(out, "f,n\n6.5,3\n8.5,4\n");
    assert_eq!(folder.hyp("cat a.colf --columns #2 --rows 98..").ok(), "s\nname 98\nname 99\n");
    assert_eq!(folder.hyp("cat a.colf --column n --rows 50.. --limit 1").ok(), "n\n50\n");
    assert_eq!(folder.hyp("cat a.colf --columns n --rows 200..300").ok(), "n\n");
    assert_eq!(folder.hyp("cat a.colf --limit 0 --columns n").ok(), "n\n");
    folder.hyp("cat a.colf --columns N").fails(2, &["no column named `N`", "did you mean `n`?"]);
    folder
        .hyp("cat a.colf --columns #4")
        .fails(2, &["column 4 is out of range: the table has 3 columns"]);
    folder.hyp("cat a.colf --rows 5").fails(2, &["A..B"]);
}

#[test]
fn names_with_commas_and_duplicates_can_be_reached() {
    let folder = Folder::new().with("a.csv", "\"x,y\",d,d\n1,2,3\n");
    folder.hyp("convert a.csv a.colm -q --names keep").ok();
    assert_eq!(folder.hyp("cat a.colm --column x,y").ok(), "\"x,y\"\n1\n");
    assert_eq!(folder.hyp("cat a.colm --columns #3").ok(), "d\n3\n");
    folder.hyp("cat a.colm --columns d").fails(2, &["columns 2 and 3", "position"]);
}

#[test]
fn head_prints_ten_rows_or_the_given_number() {
    let folder = numbers();
    assert_eq!(folder.hyp("head a.colf").ok().lines().count(), 11);
    assert_eq!(folder.hyp("head a.colf -n 3 --format jsonl").ok().lines().count(), 3);
    assert_eq!(folder.hyp("head a.csv -n 1 --format tsv").ok(), "n\ts\tf\n0\tname 0\t0.5\n");
}

#[test]
fn jsonl_has_numbers_nulls_and_words_for_what_json_lacks() {
    let folder = Folder::new()
        .with("a.csv", "f,s,i\n1.5,\"q\"\"\\\",1\nNaN,\"\",\n-Infinity,,-3\nInfinity,\u{7}é,4\n");
    folder.hyp("convert a.csv a.colf -q").ok();
    let want = concat!(
        "{\"f\":1.5,\"s\":\"q\\\"\\\\\",\"i\":1}\n",
        "{\"f\":\"NaN\",\"s\":\"\",\"i\":null}\n",
        "{\"f\":\"-Infinity\",\"s\":null,\"i\":-3}\n",
        "{\"f\":\"Infinity\",\"s\":\"\\u0007é\",\"i\":4}\n",
    );
    assert_eq!(folder.hyp("cat a.colf --format jsonl").ok(), want);
}

#[test]
fn a_table_is_plain_when_piped() {
    let folder = numbers();
    let out = folder.hyp("head a.colf -n 2 --format table").ok();
    let want = "n │ s      │   f\n──┼────────┼────\n0 │ name 0 │ 0.5\n1 │ name 1 │ 2.5\n";
    assert_eq!(out, want);
    assert!(!out.contains('\u{1B}'));
}

#[test]
fn schema_prints_types_as_text_and_as_json() {
    let folder = numbers();
    let out = folder.hyp("schema a.colf").ok();
    assert!(out.contains("1 │ n    │ int32"), "{out}");
    let json = folder.hyp("schema a.colf --json").ok();
    for part in ["\"format\": \"colf\"", "\"rows\": 100", "\"type\": \"float64\""] {
        assert!(json.contains(part), "{json}");
    }
}

#[test]
fn inspect_maps_every_byte() {
    let folder = numbers();
    let out = folder.hyp("inspect a.colf").ok();
    for part in ["COLF, 100 rows, 3 columns", "header", "column table", "block `s`", "█"] {
        assert!(out.contains(part), "{out}");
    }
    let json = folder.hyp("inspect a.colf --json").ok();
    let stored: u64 = json
        .lines()
        .filter_map(|line| line.trim().strip_prefix("\"stored\": "))
        .map(|rest| rest.trim_end_matches(',').parse::<u64>().unwrap())
        .sum();
    assert_eq!(stored, folder.bytes("a.colf").len() as u64);
    folder.hyp("inspect a.csv").fails(2, &["is csv"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = Folder::new();
    let rows: String = (0..200_000).map(|i| format!("{i},some text to fill the pipe\n")).collect();
    let folder = folder.with("a.csv", format!("n,s\n{rows}"));
    for format in ["csv", "jsonl", "table"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hyp"))
            .args(["cat", "a.csv", "--format", format])
            .current_dir(folder.path("."))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = [0; 16];
        child.stdout.take().unwrap().read_exact(&mut first).unwrap();
        let ended = child.wait_with_output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{format}");
        assert!(ended.stderr.is_empty(), "{}", String::from_utf8_lossy(&ended.stderr));
    }
}

#[test]
fn the_demo_runs_every_command_it_shows() {
    let folder = Folder::new();
    let ran = folder.hyp("demo --keep tour");
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.err.contains("bytes read"), "{}", ran.err);
    let out = ran.out;
    for verb in ["pack", "schema", "cat", "grep", "stats", "convert", "diff", "unpack"] {
        assert!(out.contains(&format!("$ hyp {verb} ")), "{verb}");
    }
    assert!(out.contains("back.csv and flights.csv are the same 914239 bytes."));
    assert!(folder.path("tour/flights.parquet").exists());
    assert_eq!(folder.names(), ["tour"]);
}

#[test]
fn help_man_and_completions_exist_for_every_command() {
    let folder = Folder::new();
    let help = folder.hyp("--help").ok();
    assert!(folder.hyp("man").ok().contains(".TH"));
    let page = folder.hyp("man convert").ok();
    assert!(page.contains(".SH \"EXAMPLES\"") && page.contains(".SH \"EXIT STATUS\""), "{page}");
    for verb in [
        "convert",
        "cat",
        "head",
        "schema",
        "inspect",
        "verify",
        "unpack",
        "demo",
        "completions",
        "man",
    ] {
        assert!(help.contains(verb));
        assert!(folder.hyp(&format!("{verb} --help")).ok().contains("Usage:"), "{verb}");
        assert!(folder.hyp(&format!("man {verb}")).ok().contains(".TH"), "{verb}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(folder.hyp(&format!("completions {shell}")).ok().len() > 500);
    }
}

#[test]
fn wrong_usage_is_exit_code_two() {
    let folder = Folder::new();
    for line in ["", "nonsense", "cat", "convert a", "cat x --format pdf", "man nonsense"] {
        let words: Vec<&str> = line.split(' ').filter(|word| !word.is_empty()).collect();
        assert_eq!(folder.hyp_words(&words).code, 2, "{line}");
    }
    folder.hyp("cat .").fails(2, &["directory"]);
    folder.hyp("cat nowhere.csv").fails(3, &["nowhere.csv"]);
}

#[cfg(not(feature = "sql"))]
#[test]
fn a_build_without_the_sql_engine_says_how_to_get_it() {
    let ran = Folder::new().hyp_words(&["sql", "select 1", "--format", "json"]);
    ran.fails(2, &["cargo install hypostyle-cli --features sql"]);
}

#[cfg(not(feature = "remote"))]
#[test]
fn a_build_without_urls_says_how_to_get_one_with_them() {
    let folder = numbers();
    let features = if cfg!(feature = "sql") { "sql,remote" } else { "remote" };
    let how = format!("cargo install hypostyle-cli --features {features}");
    for command in [
        "cat https://me:secret@host/a.csv",
        "get s3://bucket/a.csv 1",
        "inspect gs://bucket/a.colf",
        "convert az://container/a.csv b.colf",
        "convert a.csv s3://bucket/a.colf",
        "pack http://host/a.csv",
    ] {
        let err = folder.hyp(command).fails(2, &[&how]).err;
        assert!(!err.contains("secret"), "{err}");
    }
}
