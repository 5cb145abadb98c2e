//! Logs, JSON and variant calls in archives: packed, explained and queried.

use std::fmt::Write;
use std::fs;

use crate::Folder;

fn log(lines: usize) -> String {
    let mut text = String::new();
    for i in 0..lines {
        let _ =
            write!(text, "2024-05-06 10:{:02}:{:02},{:03} ", i / 60 % 60, i % 60, i * 37 % 1000);
        let _ = match i * i % 7 {
            0 => writeln!(text, "INFO [main] started worker {} of {}", i % 13, i * 31 % 97),
            1 => writeln!(
                text,
                "WARN [io-{}] block blk_{} is late by {} ms",
                i % 3,
                i * 7919,
                i % 211
            ),
            _ => {
                writeln!(text, "INFO [io-{}] wrote {} bytes to /data/part-{:05}", i % 3, i * 131, i)
            }
        };
    }
    text
}

#[test]
fn explain_lists_the_codecs_that_were_tried() {
    let folder = Folder::new().with("server.log", log(900));
    let said = folder.hyp("pack server.log --explain").ok();
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].starts_with("server.log.at1: "), "{said}");
    assert!(lines[1].ends_with("the smallest"), "{said}");
    for codec in ["columnar", "log", "jsondoc", "raw"] {
        assert!(lines.iter().any(|line| line.trim().starts_with(codec)), "{codec}: {said}");
    }
    assert!(said.contains("does not look like it: ") && said.contains("ssh"), "{said}");
    assert_eq!(folder.hyp("unpack server.log.at1 -c").ok(), log(900));
    // Each file of a folder is explained.
    fs::create_dir(folder.path("in")).unwrap();
    let folder = folder.with("in/a.log", log(50)).with("in/b.csv", "a,b\n1,2\n");
    let said = folder.hyp("pack in --explain").ok();
    assert!(said.contains("\na.log: ") && said.contains("\nb.csv: "), "{said}");
    // A requested codec is used without trying others.
    let said = folder.hyp("pack server.log --codec log --explain -o l.at1").ok();
    assert!(
        said.contains(", log\n") && said.contains("was requested") && !said.contains("columnar"),
        "{said}"
    );
    folder.hyp("pack server.log --codec nothing").fails(2, &["nothing", "columnar", "log"]);
    folder.hyp("pack server.log --codec bundle").fails(2, &["bundle"]);
}

#[test]
fn logs_can_be_queried_whatever_their_codec() {
    let folder = Folder::new().with("server.log", log(600));
    let late = log(600).lines().filter(|line| line.contains("is late")).count();
    for codec in ["log", "jsondoc"] {
        folder.hyp(&format!("pack server.log -q -f --codec {codec} -o s.at1")).ok();
        let all = folder.hyp("cat s.at1 --columns time,line --format csv").ok();
        assert_eq!(all.lines().count(), 601);
        assert!(all.contains("2024-05-06 10:00:01.037"), "{all}");
        let words =
            ["cat", "s.at1", "--where", "line like '%is late%'", "--columns", "template,variables"];
        let found = folder.hyp_words(&[&words[..], &["--format", "csv"]].concat()).ok();
        let rows: Vec<&str> = found.lines().skip(1).collect();
        assert_eq!(rows.len(), late, "{codec}");
        // All of them match one template.
        let templates = rows.iter().filter_map(|row| row.split(',').next());
        let mut templates: Vec<&str> = templates.collect();
        templates.dedup();
        assert_eq!(templates.len(), 1, "{codec}: {found}");
        let words = ["cat", "s.at1", "--where", "time < '2024-05-06 10:01:00'", "--format", "csv"];
        assert_eq!(folder.hyp_words(&words).ok().lines().count(), 61);
    }
}

#[test]
fn one_json_document_is_restored_though_it_is_not_a_table() {
    let document = format!("[\n{}\n]\n", vec!["  {\"a\": 1, \"b\": \"x\"}"; 300].join(",\n"));
    let folder = Folder::new().with("d.json", &document);
    folder.hyp("pack d.json -q --codec jsondoc").ok();
    assert_eq!(folder.hyp("unpack d.json.at1 -c").ok(), document);
    folder.hyp("verify d.json.at1").ok();
}

#[test]
fn templates_are_listed_with_counts_times_and_an_example() {
    let folder = Folder::new().with("server.log", log(600)).with("t.csv", "a,b\n1,2\n");
    folder.hyp("pack server.log").ok();
    let listed = folder.hyp("templates server.log --format jsonl").ok();
    assert_eq!(folder.hyp("templates server.log.at1 --format jsonl").ok(), listed);
    let rows: Vec<serde_json::Value> =
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let lines: Vec<i64> = rows.iter().map(|row| row["lines"].as_i64().unwrap()).collect();
    assert_eq!(lines.iter().sum::<i64>(), 600);
    assert!(lines.is_sorted_by(|one, other| one >= other), "{lines:?}");
    let late = log(600).lines().filter(|line| line.contains("is late")).count();
    let row =
        rows.iter().find(|row| row["template"].as_str().unwrap().contains("is late")).unwrap();
    assert_eq!(row["lines"], late);
    let times: Vec<String> = log(600)
        .lines()
        .filter(|line| line.contains("is late"))
        .map(|line| line[..23].replace(',', "."))
        .collect();
    assert_eq!(row["first"], *times.iter().min().unwrap());
    assert_eq!(row["last"], *times.iter().max().unwrap());
    let example = log(600).lines().find(|line| line.contains("is late")).unwrap().to_owned();
    assert_eq!(row["example"], example);
    let rare = folder.hyp("templates server.log --rare -n 1").ok();
    assert_eq!(rare.lines().count(), 2, "{rare}");
    folder.hyp("templates t.csv").fails(2, &["not a log", "--from log"]);
}
