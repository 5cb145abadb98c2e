//! Generates the files under `conformance/` and the expectation for each.
//!
//! No file comes from an encoder and no expected value from a reader: [`build`](crate::build)
//! writes the bytes, and the cases state values and originals. Only the error messages of refused
//! files come from the reader, so the author of a case reviews them before committing.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hypostyle::formats::{self, ColumnType};
use hypostyle::{Error, ReadOptions};
use serde_json::{Value, json};

use crate::build::BuiltFile;
use crate::content::Cell;
use crate::laws::{self, Original};

mod at1;
mod clmn;
mod colf;
mod colm;
mod onpair;

/// A file and its expectation.
#[derive(Debug)]
pub struct Case {
    format: &'static str,
    /// Topic and name, such as `types/int32-extremes`.
    name: &'static str,
    bytes: Vec<u8>,
    expected: Expected,
}

#[derive(Debug)]
enum Expected {
    Values {
        rows: u64,
        columns: Vec<(String, ColumnType, Vec<Cell>)>,
        deviations: Vec<&'static str>,
        canonical: bool,
    },
    Archive(ExpectedArchive),
    Refusal,
}

/// The expectation for an archive.
#[derive(Debug)]
struct ExpectedArchive {
    codec: &'static str,
    streaming: bool,
    hash: bool,
    original: Original,
    deviations: Vec<&'static str>,
    /// Deviations that only the table reports.
    table_deviations: Vec<&'static str>,
}

/// Returns every case of every format.
pub fn cases() -> Vec<Case> {
    let all = [colm::cases(), colf::cases(), clmn::cases(), at1::cases(), onpair::cases()];
    all.into_iter().flatten().collect()
}

/// Writes every case with its expectation into the folder `root`.
pub fn write(root: &Path) -> io::Result<()> {
    for case in cases() {
        let path = case.path(root);
        if let Some(topic) = path.parent() {
            fs::create_dir_all(topic)?;
        }
        fs::write(&path, &case.bytes)?;
        match &case.expected {
            Expected::Values { .. } => fs::write(path.with_extension("json"), case.json())?,
            Expected::Archive(archive) => {
                fs::write(path.with_extension("json"), archive.json())?;
                if let Original::File(original) = &archive.original {
                    fs::write(path.with_extension("original"), original)?;
                }
            }
            Expected::Refusal => {
                fs::write(path.with_extension("txt"), format!("{}\n", case.refusal()))?;
            }
        }
    }
    Ok(())
}

impl Case {
    /// Returns the name of the format.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// Returns the bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn path(&self, root: &Path) -> PathBuf {
        let verdict = match self.expected {
            Expected::Values { .. } | Expected::Archive(_) => "valid",
            Expected::Refusal => "invalid",
        };
        let name = format!("{}.{}", self.name, self.format);
        root.join(self.format).join(verdict).join(name)
    }

    fn refusal(&self) -> Error {
        let format = formats::by_name(self.format).unwrap();
        // Only thorough reading finds some of the damage.
        let options = ReadOptions::default().with_thorough(true);
        let read = if format.holds_tables() {
            laws::decode(format, &self.bytes, &options).map(drop)
        } else {
            laws::unpack(&self.bytes, &options).map(drop)
        };
        read.expect_err(self.name)
    }

    /// Formats the expectation as JSON, one column per line.
    fn json(&self) -> String {
        let Expected::Values { rows, columns, deviations, canonical } = &self.expected else {
            unreachable!("only values are written as JSON")
        };
        let columns: Vec<String> = columns
            .iter()
            .map(|(name, kind, cells)| {
                let values: Vec<Value> = cells.iter().map(value).collect();
                format!(
                    "    {{\"name\": {}, \"type\": \"{}\", \"values\": {}}}",
                    json!(name),
                    type_name(*kind),
                    json!(values)
                )
            })
            .collect();
        format!(
            "{{\n  \"format\": \"{}\",\n  \"rows\": {rows},\n  \"columns\": [\n{}\n  ],\n  \
             \"deviations\": {},\n  \"canonical\": {canonical}\n}}\n",
            self.format,
            columns.join(",\n"),
            json!(deviations)
        )
    }
}

impl ExpectedArchive {
    fn json(&self) -> String {
        let mut expected = json!({
            "format": "at1",
            "codec": self.codec,
            "streaming": self.streaming,
            "hash": self.hash,
        });
        let object = expected.as_object_mut().unwrap();
        match &self.original {
            Original::File(original) => drop(object.insert("bytes".into(), json!(original.len()))),
            Original::Folder(files) => drop(object.insert("entries".into(), entries(files))),
        }
        object.insert("deviations".into(), json!(self.deviations));
        if !self.table_deviations.is_empty() {
            object.insert("table_deviations".into(), json!(self.table_deviations));
        }
        serde_json::to_string_pretty(&expected).unwrap() + "\n"
    }
}

/// Formats the files of a bundle, which must be UTF-8, for an expectation.
pub fn entries(files: &[(String, Vec<u8>)]) -> Value {
    let entry = |(name, bytes): &(String, Vec<u8>)| json!({ "name": name, "text": std::str::from_utf8(bytes).unwrap() });
    files.iter().map(entry).collect()
}

/// Returns the name of a type in expectations.
pub fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Int32 => "int32",
        ColumnType::Int64 => "int64",
        ColumnType::Float64 => "float64",
        ColumnType::Text => "string",
    }
}

/// Formats a value for an expectation; a float has a readable form and its bits.
pub fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Null => Value::Null,
        Cell::Int(value) => json!(value),
        Cell::Float(bits) => {
            json!({ "r": format!("{:?}", f64::from_bits(*bits)), "b": format!("{bits:016x}") })
        }
        Cell::Text(text) => json!(text),
        Cell::Bytes(bytes) => {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            json!({ "hex": hex })
        }
    }
}

/// Collects the cases of one format.
struct Cases {
    format: &'static str,
    all: Vec<Case>,
}

type Columns<'a> = Vec<(&'a str, ColumnType, Vec<Cell>)>;

impl Cases {
    fn new(format: &'static str) -> Self {
        Self { format, all: Vec::new() }
    }

    /// Adds a canonical file: our writer writes these bytes for these values.
    fn canonical(&mut self, name: &'static str, file: BuiltFile, columns: Columns<'_>) {
        self.push(name, file, columns, Vec::new(), true);
    }

    /// Adds a valid file that is not canonical, with these deviations.
    fn other(
        &mut self,
        name: &'static str,
        file: BuiltFile,
        columns: Columns<'_>,
        deviations: &[&'static str],
    ) {
        self.push(name, file, columns, deviations.to_vec(), false);
    }

    fn push(
        &mut self,
        name: &'static str,
        file: BuiltFile,
        columns: Columns<'_>,
        deviations: Vec<&'static str>,
        canonical: bool,
    ) {
        let rows = columns.first().map_or(0, |(_, _, cells)| cells.len() as u64);
        let columns = columns.into_iter().map(|(name, kind, cells)| (name.to_owned(), kind, cells));
        let expected = Expected::Values { rows, columns: columns.collect(), deviations, canonical };
        self.all.push(Case { format: self.format, name, bytes: file.bytes, expected });
    }

    /// Adds a file that must be refused.
    fn invalid(&mut self, name: &'static str, file: BuiltFile) {
        self.invalid_bytes(name, file.bytes);
    }

    fn invalid_bytes(&mut self, name: &'static str, bytes: Vec<u8>) {
        self.all.push(Case { format: self.format, name, bytes, expected: Expected::Refusal });
    }
}

fn ints(values: &[i64]) -> Vec<Cell> {
    values.iter().copied().map(Cell::Int).collect()
}

fn floats(bits: &[u64]) -> Vec<Cell> {
    bits.iter().copied().map(Cell::Float).collect()
}

fn texts(values: &[&str]) -> Vec<Cell> {
    values.iter().map(|&text| Cell::Text(text.to_owned())).collect()
}

/// Returns strings, with nulls for `None`.
fn maybe(values: &[Option<&str>]) -> Vec<Cell> {
    values.iter().map(|text| text.map_or(Cell::Null, |text| Cell::Text(text.to_owned()))).collect()
}

/// Returns integers, with nulls for `None`.
fn maybe_ints(values: &[Option<i64>]) -> Vec<Cell> {
    values.iter().map(|value| value.map_or(Cell::Null, Cell::Int)).collect()
}

/// Floats whose bits must be preserved: NaNs, zeros, extremes of the range.
const SPECIAL_FLOATS: [u64; 12] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x3FF8_0000_0000_0000,
    0x7FF0_0000_0000_0000,
    0xFFF0_0000_0000_0000,
    0x7FF8_0000_0000_0000,
    0xFFF8_0000_DEAD_BEEF,
    0x7FF0_0000_0000_0001,
    0x0000_0000_0000_0001,
    0x0010_0000_0000_0000,
    0x7FEF_FFFF_FFFF_FFFF,
    0x4009_21FB_5444_2D18,
];

/// Strings with characters of one to four bytes, and characters that JSON escapes.
const UNICODE_TEXTS: [&str; 8] =
    ["ascii", "naïve", "日本語", "😀", "e\u{301}", "\u{202e}rtl", "a\tb\n\"\\", "\0"];
