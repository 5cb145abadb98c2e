//! Files of other implementations, and edge cases from other test suites.
//!
//! They are not part of this repository. The folder is `../shared/vectors` beside it, or
//! `HYPOSTYLE_VECTORS`. Without the folder the tests print a line and pass; with it, they must
//! know every file.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside `#[test]`"
)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::{self, ColumnType, Format};
use hypostyle::{Deviation, ReadOptions, Result, TextPolicy};
use hypostyle_core::compress::zlib;
use hypostyle_testkit::build::{clmn, colm};
use hypostyle_testkit::content::{Cell, ColumnContent, Content};
use hypostyle_testkit::laws;
use serde_json::Value;

/// The three formats with the extension that their vectors have.
const FOLDERS: [(&str, &str); 3] = [("colm", "colfile"), ("colf", "colf"), ("clmn", "clmn")];

/// Crafted files that may be read or refused, and that we read without a deviation.
const TAKEN_IN_SILENCE: [(&str, &str); 0] = [];

/// Returns the folder, or prints a line and returns `None`.
fn vectors() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("HYPOSTYLE_VECTORS").map_or(beside, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    // Bypass the capture of test output, so that the line shows although the tests pass.
    let line = format!("skipped: there is no folder of shared vectors at `{}`\n", folder.display());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

/// Returns the paths in a folder, sorted.
fn list(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

fn read(format: &dyn Format, file: &[u8]) -> Result<(Content, Vec<Deviation>)> {
    let (batches, met) = laws::decode(format, file, &ReadOptions::default())?;
    Ok((Content::of(&batches), met))
}

/// Reads a file after detecting its format.
fn read_detected(file: &[u8]) -> Result<Content> {
    let source = Arc::new(Bytes::copy_from_slice(file));
    let reader = formats::open(source, &ReadOptions::default())?;
    Ok(Content::of(&laws::read_everything(&reader)?))
}

#[test]
fn every_folder_is_known() {
    let Some(root) = vectors() else { return };
    let parts = ["written", "written-allstring", "crafted"];
    for (folder, _) in FOLDERS {
        for part in list(&root.join(folder)) {
            assert!(parts.contains(&name(&part)), "no test walks {}", part.display());
        }
    }
}

#[test]
fn written_files_hold_what_is_expected() {
    let Some(root) = vectors() else { return };
    for (folder, extension) in FOLDERS {
        let format = formats::by_name(folder).unwrap();
        for part in ["written", "written-allstring"] {
            let part = root.join(folder).join(part);
            if part.is_dir() {
                check_written(format, &part, extension);
            }
        }
    }
}

fn check_written(format: &dyn Format, folder: &Path, extension: &str) {
    let paths = list(folder);
    let files: BTreeSet<&str> =
        paths.iter().filter_map(|path| name(path).strip_suffix(&format!(".{extension}"))).collect();
    for path in &paths {
        let Some(stem) = name(path).strip_suffix(&format!(".{extension}")) else {
            let of = [".expected.json", ".roundtrip.csv"]
                .iter()
                .find_map(|suffix| name(path).strip_suffix(suffix));
            assert!(of.is_some_and(|of| files.contains(of)), "what is {}?", path.display());
            continue;
        };
        let file = fs::read(path).unwrap();
        let expected = folder.join(format!("{stem}.expected.json"));
        if !expected.is_file() {
            assert!(read(format, &file).is_err(), "{stem} has no values, and is read");
            assert!(read_detected(&file).is_err());
            continue;
        }
        check_written_file(format, stem, &file, &json(&expected));
    }
}

fn check_written_file(format: &dyn Format, stem: &str, file: &[u8], expected: &Value) {
    let (content, _) = read(format, file).unwrap_or_else(|err| panic!("{stem}: {err}"));
    assert_eq!(content, read_detected(file).unwrap());
    assert!(expected["format"].as_str().unwrap().eq_ignore_ascii_case(format.id().name()));
    assert_eq!(Some(content.rows as u64), expected["rows"].as_u64());
    let columns = expected["columns"].as_array().unwrap();
    assert_eq!(content.columns.len(), columns.len());
    for (column, expected) in content.columns.iter().zip(columns) {
        assert_eq!(column.name, expected["name"].as_str().unwrap());
        assert_eq!(column.kind, kind(expected["type"].as_str().unwrap()));
        assert_cells(stem, column, expected["values"].as_array().unwrap());
    }
    let reader = laws::open(format, file, &ReadOptions::default()).unwrap();
    for part in reader.sections() {
        let Some(expected) = part.column.map(|column| &columns[column]) else { continue };
        assert_eq!(Some(part.offset), expected["_offset"].as_u64());
        assert_eq!(Some(part.stored), expected["_csize"].as_u64());
        assert_eq!(part.raw, expected["_usize"].as_u64());
    }
}

fn kind(name: &str) -> ColumnType {
    match name {
        "int32" => ColumnType::Int32,
        "int64" => ColumnType::Int64,
        "float64" => ColumnType::Float64,
        "string" | "utf8" => ColumnType::Text,
        other => panic!("no type is called {other}"),
    }
}

fn assert_cells(stem: &str, column: &ColumnContent, values: &[Value]) {
    let cells: Vec<Cell> = values.iter().map(|value| cell(value, column.kind)).collect();
    assert_eq!(column.cells, cells, "{stem}: {}", column.name);
}

fn cell(value: &Value, kind: ColumnType) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::String(text) => Cell::Text(text.clone()),
        Value::Object(float) => {
            Cell::Float(u64::from_str_radix(float["b"].as_str().unwrap(), 16).unwrap())
        }
        Value::Number(number) if kind == ColumnType::Float64 => {
            Cell::Float(number.as_f64().unwrap().to_bits())
        }
        Value::Number(number) => Cell::Int(number.as_i64().unwrap()),
        other => panic!("no value looks like {other}"),
    }
}

#[test]
fn crafted_files_are_taken_or_refused_as_they_should() {
    let Some(root) = vectors() else { return };
    for (folder, extension) in FOLDERS {
        let format = formats::by_name(folder).unwrap();
        let folder = root.join(folder).join("crafted");
        let paths = list(&folder);
        let extension = format!(".{extension}");
        for path in &paths {
            if let Some(of) = name(path).strip_suffix(".case.json") {
                assert!(folder.join(of).is_file(), "{} is about nothing", path.display());
                continue;
            }
            assert!(name(path).ends_with(&extension), "what is {}?", path.display());
            let case = json(&folder.join(format!("{}.case.json", name(path))));
            check_crafted(format, name(path), &fs::read(path).unwrap(), &case);
        }
    }
}

fn check_crafted(format: &dyn Format, name: &str, file: &[u8], case: &Value) {
    assert_eq!(case["file"].as_str(), Some(name));
    let (own, detected) = (read(format, file), read_detected(file));
    match case["verdict"].as_str() {
        Some("accept") => {
            let (content, _) = own.unwrap_or_else(|err| panic!("{name}: {err}"));
            assert_eq!(detected.unwrap(), content);
            assert_values(name, &content, &case["values"]);
        }
        Some("reject") => {
            assert!(own.is_err(), "{name} was taken: {}", case["why"]);
            assert!(detected.is_err(), "{name} was taken once detected: {}", case["why"]);
        }
        Some("either") => {
            assert_eq!(own.is_ok(), detected.is_ok(), "{name}");
            if let Ok((content, met)) = own {
                assert_values(name, &content, &case["values"]);
                let excused = TAKEN_IN_SILENCE.iter().any(|(known, _)| *known == name);
                assert!(!met.is_empty() || excused, "{name} is taken without a remark");
            }
        }
        other => panic!("{name}: no verdict is called {other:?}"),
    }
}

/// Compares with expected values: an object by column name or, where names repeat, a list of
/// pairs. Columns may be missing from the expectation.
fn assert_values(name: &str, content: &Content, values: &Value) {
    let columns: Vec<(&str, &Value)> = match values {
        Value::Null => return,
        Value::Object(columns) => {
            columns.iter().map(|(name, values)| (name.as_str(), values)).collect()
        }
        Value::Array(columns) => {
            columns.iter().map(|column| (column[0].as_str().unwrap(), &column[1])).collect()
        }
        other => panic!("{name}: no values look like {other}"),
    };
    let mut rest = content.columns.iter();
    for (expected, values) in columns {
        let column = rest.find(|column| column.name == expected);
        let column = column.unwrap_or_else(|| panic!("{name} has no column {expected}"));
        assert_cells(name, column, values.as_array().unwrap());
    }
}

#[test]
fn bits_of_nan_survive() {
    let Some(root) = vectors() else { return };
    type Bits = fn([u8; 8]) -> u64;
    let cases: [(&str, &str, Bits); 2] = [
        ("colm", "m30_nan_payload_bits.colfile", u64::from_le_bytes),
        ("clmn", "n14_nan_payload.clmn", u64::from_be_bytes),
    ];
    for (folder, name, bits) in cases {
        let file = fs::read(root.join(folder).join("crafted").join(name)).unwrap();
        let (content, _) = read(formats::by_name(folder).unwrap(), &file).unwrap();
        let (_, blocks) = if folder == "colm" { colm::places(&file) } else { clmn::places(&file) };
        let block =
            usize::try_from(blocks[0].start).unwrap()..usize::try_from(blocks[0].end).unwrap();
        let mut raw = vec![0; content.rows * 8];
        zlib::decompress(&file[block], &mut raw, Default::default()).unwrap();
        let stored: Vec<Cell> =
            raw.as_chunks::<8>().0.iter().map(|bytes| Cell::Float(bits(*bytes))).collect();
        assert_eq!(content.columns[0].cells, stored);
        let odd = |cell: &Cell| match cell {
            Cell::Float(bits) => f64::from_bits(*bits).is_nan() && *bits != f64::NAN.to_bits(),
            _ => false,
        };
        assert!(stored.iter().any(odd), "{name} has a NaN with a payload");
    }
}

#[test]
fn foreign_files_are_never_taken_for_ours() {
    let Some(root) = vectors() else { return };
    for folder in list(&root.join("foreign")) {
        for path in list(&folder) {
            let extension = path.extension().unwrap().to_str().unwrap();
            assert!(["cold", "colm", "colf", "col"].contains(&extension), "{}", path.display());
            let file = fs::read(&path).unwrap();
            assert!(laws::at_most_one_format_claims(&file).is_none(), "{}", path.display());
            assert!(read_detected(&file).is_err());
            for &format in formats::ALL {
                assert!(read(format, &file).is_err(), "{format:?} reads {}", path.display());
            }
        }
    }
}

/// At most one format claims a file, and no reader panics on any of them.
#[test]
fn at_most_one_format_claims_a_file() {
    let Some(root) = vectors() else { return };
    for (folder, extension) in FOLDERS {
        for part in list(&root.join(folder)) {
            for path in list(&part) {
                let file = fs::read(&path).unwrap();
                let claim = laws::at_most_one_format_claims(&file);
                let ours = path.extension().is_some_and(|known| known == extension);
                assert!(ours || claim.is_none(), "{}", path.display());
                assert!(claim.is_none_or(|format| format.id().name() == folder));
                if ours && file.len() < 100_000 {
                    formats::ALL.iter().for_each(|&f| laws::any_bytes_return_or_fail(f, &file));
                }
            }
        }
    }
}

#[test]
fn bad_text_is_repaired_when_asked_for() {
    let Some(root) = vectors() else { return };
    let file = fs::read(root.join("clmn/crafted/n33_invalid_utf8.clmn")).unwrap();
    let options = ReadOptions::default().with_text(TextPolicy::Lossy);
    let clmn = formats::by_name("clmn").unwrap();
    assert!(read(clmn, &file).is_err());
    let (_, met) = laws::decode(clmn, &file, &options).unwrap();
    assert!(met.iter().any(|found| found.code == "N15"), "{met:?}");
}
