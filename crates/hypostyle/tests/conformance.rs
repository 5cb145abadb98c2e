//! Reads every file under `conformance/` and compares it with its expectation.
//!
//! The expectation of a column file is its values, that of an archive its original, and that of
//! an invalid file its error. A file without an expectation, or of an unknown kind, fails.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside `#[test]`"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::Archive;
use hypostyle::formats::{self, Format};
use hypostyle::{Deviation, Error, ErrorKind, ReadOptions, Result, WriteOptions};
use hypostyle_testkit::conformance::{entries, type_name, value};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::laws::{self, Original};
use serde_json::{Value, json};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

fn list(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|err| panic!("{}: {err}", folder.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// The folder of predicates, which another test reads; all others are named after a format.
const PREDICATES: &str = "predicates";

/// Returns the folders with files of a format.
fn folders() -> Vec<PathBuf> {
    let folders = list(&root()).into_iter();
    folders.filter(|path| path.is_dir() && name(path) != PREDICATES).collect()
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// A file and its format.
struct Vector {
    format: &'static dyn Format,
    path: PathBuf,
    bytes: Vec<u8>,
}

impl Vector {
    /// Returns the content of the expectation with this extension.
    fn expected(&self, extension: &str) -> Vec<u8> {
        let path = self.path.with_extension(extension);
        fs::read(&path).unwrap_or_else(|err| panic!("expected {}: {err}", path.display()))
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.expected("json")).unwrap()
    }

    /// Returns the path in failures.
    fn place(&self) -> String {
        self.path.strip_prefix(root()).unwrap().display().to_string()
    }
}

/// Returns the files of one verdict; `beside` lists the extensions of expectations.
fn vectors(verdict: &str, beside: &[&str]) -> Vec<Vector> {
    let mut all = Vec::new();
    for folder in folders() {
        let format = formats::by_name(name(&folder));
        let format = format.unwrap_or_else(|| panic!("no format is called {}", name(&folder)));
        let before = all.len();
        for path in list(&folder.join(verdict)).iter().flat_map(|topic| list(topic)) {
            let kind = path.extension().unwrap_or_default().to_str().unwrap();
            if beside.contains(&kind) {
                let file = path.with_extension(format.id().name());
                assert!(file.is_file(), "{} expects something of nothing", path.display());
                continue;
            }
            assert_eq!(kind, format.id().name(), "what is {}?", path.display());
            all.push(Vector { format, bytes: fs::read(&path).unwrap(), path });
        }
        let files = all.len() - before;
        assert!(files > 10, "{format:?} has only {files} {verdict} files");
    }
    all
}

fn codes(met: &[Deviation]) -> Vec<&str> {
    met.iter().map(|found| found.code).collect()
}

/// Checks that strict reading accepts a file without deviations, and otherwise refuses it for
/// one of them.
fn check_strict<T>(strict: Result<T>, met: &[Deviation], place: &str) {
    match strict {
        Ok(_) => assert!(met.is_empty(), "strict reading takes {place}"),
        Err(err) => assert!(
            matches!(err.kind(), ErrorKind::Strict(first) if codes(met).contains(&first.code)),
            "{place}: {err}"
        ),
    }
}

#[test]
fn every_folder_is_known() {
    for path in list(&root()) {
        if path.is_dir() {
            let parts = list(&path);
            let parts: Vec<_> = parts.iter().map(|part| name(part)).collect();
            let known: &[&str] = match name(&path) {
                PREDICATES => &["cases.jsonl", "check_duckdb.py", "table.json"],
                _ => &["invalid", "valid"],
            };
            assert_eq!(parts, known, "{}", path.display());
        } else {
            assert!([".gitattributes", "README.md"].contains(&name(&path)), "{}", path.display());
        }
    }
    for format in formats::ALL {
        assert!(root().join(format.id().name()).is_dir(), "{format:?} has no files");
    }
}

#[test]
fn valid_files_hold_what_they_should() {
    for vector in vectors("valid", &["json", "original"]) {
        if vector.format.holds_tables() {
            check_values(&vector)
        } else {
            check_original(&vector)
        }
        let detected = laws::at_most_one_format_claims(&vector.bytes);
        assert_eq!(detected.map(Format::id), Some(vector.format.id()), "{}", vector.place());
    }
}

/// Checks the values of a column file.
fn check_values(vector: &Vector) {
    let Vector { format, bytes, .. } = vector;
    let place = vector.place();
    let (batches, met) = laws::decode(*format, bytes, &ReadOptions::default())
        .unwrap_or_else(|err| panic!("{place}: {err}"));
    let content = Content::of(&batches);
    let columns: Vec<Value> = content
        .columns
        .iter()
        .map(|column| {
            let values: Vec<Value> = column.cells.iter().map(value).collect();
            json!({ "name": column.name, "type": type_name(column.kind), "values": values })
        })
        .collect();
    let (mut again, options) = (Vec::new(), WriteOptions::default());
    let written = batches.first().map(|batch| format.encode(batch, &mut again, &options));
    let canonical = written.is_some_and(|written| written.is_ok()) && again == *bytes;
    let found = json!({
        "format": format.id().name(),
        "rows": content.rows,
        "columns": columns,
        "deviations": codes(&met),
        "canonical": canonical,
    });
    assert_eq!(found, vector.json(), "{place}");
    let strict = laws::decode(*format, bytes, &ReadOptions::default().with_strict(true));
    check_strict(strict, &met, &place);
}

/// Checks the original of an archive.
fn check_original(vector: &Vector) {
    let Vector { format, bytes, .. } = vector;
    let place = vector.place();
    let (liberal, strict) = (ReadOptions::default(), ReadOptions::default().with_strict(true));
    let (original, met) =
        laws::unpack(bytes, &liberal).unwrap_or_else(|err| panic!("{place}: {err}"));
    let archive = Archive::open(Arc::new(Bytes::copy_from_slice(bytes)), &liberal).unwrap();
    let mut found = json!({
        "format": format.id().name(),
        "codec": archive.codec().name(),
        "streaming": archive.chunk_lines().is_some(),
        "hash": archive.hash().is_some(),
        "deviations": codes(&met),
    });
    match &original {
        Original::File(original) => {
            assert!(*original == vector.expected("original"), "{place} unpacks to other bytes");
            found["bytes"] = json!(original.len());
        }
        Original::Folder(files) => found["entries"] = entries(files),
    }
    let mut expected = vector.json();
    let in_table = expected.as_object_mut().unwrap().remove("table_deviations");
    assert_eq!(found, expected, "{place}");
    check_strict(laws::unpack(bytes, &strict), &met, &place);
    if let Some(in_table) = in_table {
        archive.describe().unwrap();
        assert_eq!(json!(codes(&archive.deviations())), in_table, "{place} as a table");
        let archive = Archive::open(Arc::new(Bytes::copy_from_slice(bytes)), &strict);
        let described = archive.and_then(|archive| archive.describe());
        assert!(described.is_err(), "{place}: strict");
    }
    laws::any_archive_returns_or_fails(bytes);
    laws::any_archive_shows_itself_or_fails(bytes);
}

#[test]
fn invalid_files_are_refused_for_their_own_reason() {
    for vector in vectors("invalid", &["txt"]) {
        let err = refusal(&vector);
        let expected = String::from_utf8(vector.expected("txt")).unwrap();
        assert_eq!(format!("{err}\n"), expected, "{}", vector.place());
        formats::tables().for_each(|format| laws::any_bytes_return_or_fail(format, &vector.bytes));
        laws::any_archive_returns_or_fails(&vector.bytes);
        laws::any_archive_shows_itself_or_fails(&vector.bytes);
    }
}

/// Returns the error for a file, and checks that every way to read it fails.
fn refusal(vector: &Vector) -> Error {
    let Vector { format, bytes, .. } = vector;
    let read = if format.holds_tables() {
        let thorough = ReadOptions::default().with_thorough(true);
        let detected = formats::open(Arc::new(Bytes::copy_from_slice(bytes)), &thorough)
            .and_then(|reader| laws::read_everything(&reader));
        assert!(detected.is_err(), "{} was accepted once detected", vector.place());
        laws::decode(*format, bytes, &thorough).map(drop)
    } else {
        laws::unpack(bytes, &ReadOptions::default()).map(drop)
    };
    read.map_or_else(|err| err, |()| panic!("{} was accepted", vector.place()))
}

/// A number of section 8 of AT-1's spec, and its judgement: `yes`, `no` or `error`.
type Judgement<'a> = (&'a str, &'a str);

/// Returns every number and judgement in the tables of section 8.
fn judgements(spec: &str) -> BTreeSet<Judgement<'_>> {
    let section = spec.split("\n## 8 ").nth(1).unwrap().split("\n## ").next().unwrap();
    let mut number = "";
    let mut all = BTreeSet::new();
    for line in section.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, first, .., judgement, _, _] = cells[..] else { panic!("what is {line}?") };
        match first.strip_prefix('A').map(str::parse::<u8>) {
            Some(Ok(_)) => number = first,
            // A row that continues the number above.
            None if first.is_empty() => {}
            _ => continue,
        }
        let word = judgement.split(',').next().unwrap();
        assert!(["yes", "no", "error"].contains(&word), "{number}: what is {judgement}?");
        all.insert((number, word));
    }
    all
}

#[test]
fn every_deviation_of_at1_has_files_that_show_it() {
    let spec = fs::read_to_string(root().join("../docs/specs/at1.md")).unwrap();
    let judgements = judgements(&spec);
    let numbers: BTreeSet<u8> =
        judgements.iter().map(|(number, _)| number[1..].parse().unwrap()).collect();
    assert!(numbers.iter().copied().eq(1..=24), "the numbers of section 8: {numbers:?}");

    // Files in the folders `deviations` have names that start with a number.
    let mut shown: BTreeSet<Judgement<'_>> = BTreeSet::new();
    let folders = [("valid", &["json", "original"][..]), ("invalid", &["txt"])];
    for (verdict, beside) in folders {
        for vector in vectors(verdict, beside) {
            let topic = vector.path.parent().unwrap();
            if vector.format.holds_tables() || name(topic) != "deviations" {
                continue;
            }
            let file = name(&vector.path);
            let digits = file.strip_prefix('a').and_then(|rest| rest.get(..2));
            let number: u8 = digits.and_then(|digits| digits.parse().ok()).unwrap();
            let number = judgements.iter().find(|(known, _)| known[1..] == number.to_string());
            let (number, _) = *number.unwrap_or_else(|| panic!("{file}: no such number"));
            let word = match verdict {
                "invalid" => "error",
                _ if is_recorded(&vector.json(), number) => "yes",
                _ => "no",
            };
            shown.insert((number, word));
        }
    }
    let missing: Vec<_> = judgements.difference(&shown).collect();
    assert!(missing.is_empty(), "no file shows {missing:?}");
}

fn is_recorded(expected: &Value, number: &str) -> bool {
    let lists = ["deviations", "table_deviations"].map(|key| expected.get(key));
    let mut all = lists.into_iter().flatten().flat_map(|list| list.as_array().unwrap());
    all.any(|code| code == number)
}
