//! The files under `conformance/`, and what is expected of each.
//!
//! Nothing here is made by an encoder, and no expected value by a reader: bytes
//! come from [`build`](crate::build), values and originals are written down beside
//! them. Only
//! the messages of refused files are what the reader says; whoever adds a case
//! reads them before they are committed.

use std::path::{Path, PathBuf};
use std::{fs, io};

use hypostyle::formats::{self, ColumnType};
use hypostyle::{Error, ReadOptions};
use serde_json::{Value, json};

use crate::build::Made;
use crate::content::Cell;
use crate::laws::{self, Original};

mod at1;
mod clmn;
mod colf;
mod colm;
mod onpair;

/// One file and what is expected of it.
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
    Archive(Archive),
    Refusal,
}

/// What is expected of an archive.
#[derive(Debug)]
struct Archive {
    codec: &'static str,
    streaming: bool,
    hash: bool,
    original: Original,
    deviations: Vec<&'static str>,
    /// Those that only the table view meets, where there are any.
    table_deviations: Vec<&'static str>,
}

/// Every case of every format.
pub fn cases() -> Vec<Case> {
    let all = [colm::cases(), colf::cases(), clmn::cases(), at1::cases(), onpair::cases()];
    all.into_iter().flatten().collect()
}

/// Writes every case into the folder `root`, each with its expectation.
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
    /// The name of the format.
    pub fn format(&self) -> &'static str {
        self.format
    }

    /// The file.
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
        // Some damage shows only on a closer look.
        let options = ReadOptions::default().with_thorough(true);
        let read = match format.holds_tables() {
            true => laws::decode(format, &self.bytes, &options).map(drop),
            false => laws::unpack(&self.bytes, &options).map(drop),
        };
        read.expect_err(self.name)
    }

    /// The expectation, one column to a line.
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

impl Archive {
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

/// The files of a bundle in expectations: all of them hold text.
pub fn entries(files: &[(String, Vec<u8>)]) -> Value {
    let entry = |(name, bytes): &(String, Vec<u8>)| json!({ "name": name, "text": std::str::from_utf8(bytes).unwrap() });
    files.iter().map(entry).collect()
}

/// The name of a type in expectations.
pub fn type_name(kind: ColumnType) -> &'static str {
    match kind {
        ColumnType::Int32 => "int32",
        ColumnType::Int64 => "int64",
        ColumnType::Float64 => "float64",
        ColumnType::Text => "string",
    }
}

/// A value in expectations; a float is its spelling for people, and its bits.
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

    /// A file in the one form that our writer writes.
    fn canonical(&mut self, name: &'static str, made: Made, columns: Columns<'_>) {
        self.push(name, made, columns, Vec::new(), true);
    }

    /// A file that is good, with these deviations or none, but in another form.
    fn other(
        &mut self,
        name: &'static str,
        made: Made,
        columns: Columns<'_>,
        deviations: &[&'static str],
    ) {
        self.push(name, made, columns, deviations.to_vec(), false);
    }

    fn push(
        &mut self,
        name: &'static str,
        made: Made,
        columns: Columns<'_>,
        deviations: Vec<&'static str>,
        canonical: bool,
    ) {
        let rows = columns.first().map_or(0, |(_, _, cells)| cells.len() as u64);
        let columns = columns.into_iter().map(|(name, kind, cells)| (name.to_owned(), kind, cells));
        let expected = Expected::Values { rows, columns: columns.collect(), deviations, canonical };
        self.all.push(Case { format: self.format, name, bytes: made.bytes, expected });
    }

    /// A file that must be refused.
    fn invalid(&mut self, name: &'static str, made: Made) {
        self.invalid_bytes(name, made.bytes);
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

/// Texts, and nulls where there is `None`.
fn maybe(values: &[Option<&str>]) -> Vec<Cell> {
    values.iter().map(|text| text.map_or(Cell::Null, |text| Cell::Text(text.to_owned()))).collect()
}

/// Integers, and nulls where there is `None`.
fn maybe_ints(values: &[Option<i64>]) -> Vec<Cell> {
    values.iter().map(|value| value.map_or(Cell::Null, Cell::Int)).collect()
}

/// Floats whose bits must come through: NaNs, zeros, ends of the range.
const SPECIAL: [u64; 12] = [
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

/// Texts of one to four bytes a character, and characters that escape.
const UNICODE: [&str; 8] =
    ["ascii", "naïve", "日本語", "😀", "e\u{301}", "\u{202e}rtl", "a\tb\n\"\\", "\0"];
