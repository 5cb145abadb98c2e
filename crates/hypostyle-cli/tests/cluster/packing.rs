//! `hyp pack --cluster`.

use std::fs;

use crate::processes::{Cluster, Folder};
use crate::tables;

#[test]
fn archives_are_the_same_as_those_of_one_process() {
    let folder = Folder::new();
    tables::flights(&folder);
    let lines: String = (0..3000)
        .map(|n| format!("{{\"id\":{n},\"path\":\"/page/{}\",\"ms\":{}}}\n", n % 7, n * 37 % 991))
        .collect();
    fs::write(folder.path("log.jsonl"), &lines).unwrap();
    fs::write(folder.path("noise.bin"), [7; 999]).unwrap();
    fs::write(folder.path("empty.csv"), "").unwrap();
    let allowed = folder.path("");
    let cluster = Cluster::start(&folder, 2, &[allowed.to_str().unwrap()]);
    let files = ["flights.csv", "log.jsonl", "noise.bin", "empty.csv"];
    let forms: [&[&str]; 4] = [
        &["-1"],
        &["--query", "-2"],
        &["-1", "--stream", "--chunk-lines", "700"],
        &["-1", "--stream", "--chunk-lines", "700", "--query"],
    ];
    for options in forms {
        let here = [&["pack", "-q", "-f", "-o", "here"], options, &files].concat();
        folder.ok(&here);
        let there = ["pack", "-q", "-f", "-o", "there", "--cluster", &cluster.address];
        folder.ok(&[&there, options, &files].concat());
        for file in files {
            let archive = |of: &str| fs::read(folder.path(&format!("{of}/{file}.at1"))).unwrap();
            assert!(archive("here") == archive("there"), "{file} {options:?}");
        }
    }
    let printed = folder.ok(&["pack", "-f", "-1", "log.jsonl", "--cluster", &cluster.address]);
    assert!(printed.starts_with("log.jsonl.at1: "), "{printed}");
    // Both executors had frames.
    for executor in &cluster.executors {
        assert!(!executor.reads(&folder.path("flights.csv")).is_empty());
    }
}

#[test]
fn only_files_that_executors_may_read_are_packed() {
    let folder = Folder::new();
    fs::create_dir(folder.path("allowed")).unwrap();
    fs::write(folder.path("a.csv"), "a\n1\n").unwrap();
    let allowed = folder.path("allowed");
    let cluster = Cluster::start(&folder, 1, &[allowed.to_str().unwrap()]);
    let err = folder.fails(&["pack", "a.csv", "--cluster", &cluster.address]);
    assert!(err.contains("--allow"), "{err}");
    assert!(!folder.path("a.csv.at1").exists());
    let err = folder.fails(&["pack", "allowed", "--cluster", &cluster.address]);
    assert!(err.contains("files that executors can read"), "{err}");
}
