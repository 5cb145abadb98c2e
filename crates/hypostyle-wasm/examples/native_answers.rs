//! Prints what the native build answers about every file in a folder, one JSON object per line.
//!
//! `web/tests/conformance.test.mjs` asks the module in WebAssembly the same.

use std::error::Error;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use hypostyle_view::Session;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// The requests that are asked of every file; those with a predicate follow from its columns.
const REQUESTS: [&str; 12] = [
    r#"{"op":"describe"}"#,
    r#"{"op":"map"}"#,
    r#"{"op":"table"}"#,
    r#"{"op":"rows","from":0,"count":1000,"whole":true}"#,
    r#"{"op":"rows","from":3,"count":2}"#,
    r#"{"op":"profile","column":0,"rows":1000}"#,
    r#"{"op":"export","format":"csv"}"#,
    r#"{"op":"export","format":"jsonl"}"#,
    r#"{"op":"unpack"}"#,
    r#"{"op":"members"}"#,
    r#"{"op":"templates"}"#,
    r#"{"op":"verify"}"#,
];

/// Extensions of expectations, which are no files to ask about.
const EXPECTATIONS: [&str; 5] = ["json", "txt", "original", "md", "py"];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("give a folder")?;
    let mut files = Vec::new();
    list(Path::new(&folder), &mut files)?;
    files.sort();
    let mut out = BufWriter::new(io::stdout().lock());
    for path in files {
        let bytes = Bytes::from(fs::read(&path)?);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut requests: Vec<String> = REQUESTS.map(str::to_owned).to_vec();
        requests.extend(predicates(&name, &bytes));
        for request in requests {
            let (answers, written) = Session::run(&name, &bytes, &request);
            let sum = Sha256::digest(&written);
            let sum: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
            let line = json!({
                "path": path, "name": name, "request": request, "answers": answers, "sha256": sum,
            });
            writeln!(out, "{line}")?;
        }
    }
    Ok(out.flush()?)
}

fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            list(&path, files)?;
        } else if !EXPECTATIONS.contains(&extension.as_str()) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns requests with predicates on the first column, and one that names no column.
fn predicates(name: &str, bytes: &Bytes) -> Vec<String> {
    let (answers, _) = Session::run(name, bytes, r#"{"op":"table"}"#);
    let answer: Value =
        answers.first().and_then(|answer| serde_json::from_str(answer).ok()).unwrap_or_default();
    let Some(column) = answer.pointer("/done/columns/0/name").and_then(Value::as_str) else {
        return Vec::new();
    };
    let quoted = format!("\"{}\"", column.replace('"', "\"\""));
    let tests = [
        format!("{quoted} is not null"),
        format!("{quoted} >= '5' or {quoted} is null"),
        "nosuchcolumn = 1".to_owned(),
        format!("{quoted} ="),
    ];
    tests.iter().map(|test| json!({ "op": "filter", "predicate": test }).to_string()).collect()
}
