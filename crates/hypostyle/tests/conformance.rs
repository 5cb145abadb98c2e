//! The files under `conformance/`: the folder is the list.
//!
//! A file that is not understood, or that comes without an expectation, fails.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, outside `#[test]`")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::{self, Format};
use hypostyle::{ErrorKind, ReadOptions, WriteOptions};
use hypostyle_testkit::conformance::{type_name, value};
use hypostyle_testkit::content::Content;
use hypostyle_testkit::laws;
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

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// Calls `check` with every file of one verdict; its expectation has `extension`.
fn walk(verdict: &str, extension: &str, check: impl Fn(&dyn Format, &Path, &[u8], &str)) {
    for folder in list(&root()).into_iter().filter(|path| path.is_dir()) {
        let format = formats::by_name(name(&folder));
        let format = format.unwrap_or_else(|| panic!("no format is called {}", name(&folder)));
        let mut files = 0;
        for topic in list(&folder.join(verdict)) {
            for path in list(&topic) {
                let kind = path.extension().unwrap_or_default().to_str().unwrap();
                if kind == extension {
                    let file = path.with_extension(format.id().name());
                    assert!(file.is_file(), "{} expects something of nothing", path.display());
                    continue;
                }
                assert_eq!(kind, format.id().name(), "what is {}?", path.display());
                let expected = fs::read_to_string(path.with_extension(extension))
                    .unwrap_or_else(|err| panic!("no expectation of {}: {err}", path.display()));
                check(format, &path, &fs::read(&path).unwrap(), &expected);
                files += 1;
            }
        }
        assert!(files > 10, "{format:?} has only {files} {verdict} files");
    }
}

#[test]
fn every_folder_is_known() {
    for path in list(&root()) {
        if path.is_dir() {
            let parts = list(&path);
            let parts: Vec<_> = parts.iter().map(|part| name(part)).collect();
            assert_eq!(parts, ["invalid", "valid"], "{}", path.display());
        } else {
            assert!([".gitattributes", "README.md"].contains(&name(&path)), "{}", path.display());
        }
    }
    for format in formats::tables() {
        assert!(root().join(format.id().name()).is_dir(), "{format:?} has no files");
    }
}

#[test]
fn valid_files_hold_what_they_should() {
    walk("valid", "json", |format, path, file, expected| {
        let expected: Value = serde_json::from_str(expected).unwrap();
        let (batches, met) = laws::decode(format, file, &ReadOptions::default())
            .unwrap_or_else(|err| panic!("{}: {err}", path.display()));
        let content = Content::of(&batches);
        let columns: Vec<Value> = content
            .columns
            .iter()
            .map(|column| {
                let values: Vec<Value> = column.cells.iter().map(value).collect();
                json!({ "name": column.name, "type": type_name(column.kind), "values": values })
            })
            .collect();
        let codes: Vec<&str> = met.iter().map(|found| found.code).collect();
        let (mut again, options) = (Vec::new(), WriteOptions::default());
        let written = batches.first().map(|batch| format.encode(batch, &mut again, &options));
        let canonical = written.is_some_and(|written| written.is_ok()) && again == file;
        let found = json!({
            "format": format.id().name(),
            "rows": content.rows,
            "columns": columns,
            "deviations": codes,
            "canonical": canonical,
        });
        assert_eq!(found, expected, "{}", path.display());

        let detected = laws::at_most_one_format_claims(file);
        assert_eq!(detected.map(Format::id), Some(format.id()), "{}", path.display());
        let strict = laws::decode(format, file, &ReadOptions::default().with_strict(true));
        match strict {
            Ok(_) => assert!(codes.is_empty(), "strict reading takes {}", path.display()),
            Err(err) => {
                assert!(
                    matches!(err.kind(), ErrorKind::Strict(first) if codes.contains(&first.code))
                );
            }
        }
    });
}

#[test]
fn invalid_files_are_refused_for_their_own_reason() {
    walk("invalid", "txt", |format, path, file, expected| {
        let thorough = ReadOptions::default().with_thorough(true);
        let Err(err) = laws::decode(format, file, &thorough) else {
            panic!("{} was accepted", path.display());
        };
        assert_eq!(format!("{err}\n"), expected, "{}", path.display());
        let source = Arc::new(Bytes::copy_from_slice(file));
        let detected = formats::open(source, &thorough)
            .and_then(|reader| laws::read_everything(reader.as_ref()));
        assert!(detected.is_err(), "{} was accepted once detected", path.display());
        formats::ALL.iter().for_each(|&format| laws::any_bytes_return_or_fail(format, file));
    });
}
