//! Helpers to read and write text, and a reference parser.

use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::{self, Capabilities, Format};
use hypostyle::text::{
    SourceText, TextFormat, TextKind, TextOptions, TextSource, TextTable, csv, jsonl,
};
use hypostyle::{ColumnSource, DuplicateNames, ReadOptions, Result, WriteOptions};

/// Rows of cells, the header included.
pub(crate) type Cells = Vec<Vec<String>>;

/// A target with nulls and 64-bit integers.
pub(crate) const EVERYTHING: Capabilities = Capabilities::EVERYTHING;

/// A target with neither nulls nor 64-bit integers: COLM.
pub(crate) fn nothing() -> Capabilities {
    capabilities("colm")
}

pub(crate) fn capabilities(format: &str) -> Capabilities {
    formats::by_name(format).unwrap().capabilities()
}

/// Returns the names and types of a table.
pub(crate) fn shape(table: &dyn ColumnSource) -> Vec<(String, DataType)> {
    let schema = table.schema();
    schema.fields().iter().map(|f| (f.name().clone(), f.data_type().clone())).collect()
}

/// Returns the types of a table.
pub(crate) fn types(table: &dyn ColumnSource) -> Vec<DataType> {
    shape(table).into_iter().map(|(_, data_type)| data_type).collect()
}

/// Returns literals in the form of [`column`].
pub(crate) fn some(cells: &[&str]) -> Vec<Option<String>> {
    cells.iter().map(|cell| Some((*cell).to_owned())).collect()
}

/// Returns the names, types and cells of all columns.
pub(crate) fn whole(table: &ReadText) -> Vec<(String, DataType, Vec<Option<String>>)> {
    let shape = shape(table).into_iter().enumerate();
    shape.map(|(at, (name, data_type))| (name, data_type, column(table, at))).collect()
}

/// A text table of which all rows have been read.
#[derive(Debug)]
pub(crate) struct ReadText {
    pub(crate) table: Arc<TextTable>,
    pub(crate) batches: Vec<RecordBatch>,
}

impl ReadText {
    /// Reads all rows of a text.
    pub(crate) fn of(
        source: Arc<dyn TextSource>,
        kind: TextKind,
        options: &TextOptions,
    ) -> Result<Self> {
        let table = TextTable::open(source, TextFormat::new(kind), options, None)?;
        let table: Arc<TextTable> = Arc::new(table);
        let reader: Arc<dyn formats::Reader> = table.clone();
        Ok(Self { table, batches: batches(&reader)? })
    }
}

impl ColumnSource for ReadText {
    fn schema(&self) -> SchemaRef {
        formats::Reader::schema(self.table.as_ref())
    }

    fn rows(&self) -> u64 {
        formats::Reader::rows(self.table.as_ref())
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        self.batches
            .iter()
            .map(|batch| cast(batch.column(index), self.schema().field(index).data_type()))
            .collect()
    }
}

/// Returns the text of a file.
pub(crate) fn text_of(text: impl AsRef<[u8]>) -> Arc<dyn TextSource> {
    Arc::new(SourceText(Arc::new(Bytes::copy_from_slice(text.as_ref()))))
}

/// Returns options for a target with these capabilities.
pub(crate) fn for_target(capabilities: Capabilities) -> TextOptions {
    let mut options = TextOptions::default();
    options.capabilities = capabilities;
    options
}

/// Returns options for cells with this delimiter.
pub(crate) fn delimited(delimiter: u8) -> TextOptions {
    let mut options = TextOptions::default();
    options.delimiter = Some(delimiter);
    options
}

/// Reads CSV with default options, for a target that stores everything.
pub(crate) fn read(text: impl AsRef<[u8]>) -> Result<ReadText> {
    read_with(text, &TextOptions::default())
}

/// Reads CSV.
pub(crate) fn read_with(text: impl AsRef<[u8]>, options: &TextOptions) -> Result<ReadText> {
    ReadText::of(text_of(text), TextKind::Delimited { delimiter: b',' }, options)
}

/// Reads JSON Lines for a target that stores everything.
pub(crate) fn read_json(text: impl AsRef<[u8]>) -> Result<ReadText> {
    read_json_with(text, &TextOptions::default())
}

/// Reads JSON Lines.
pub(crate) fn read_json_with(text: impl AsRef<[u8]>, options: &TextOptions) -> Result<ReadText> {
    ReadText::of(text_of(text), TextKind::JsonLines, options)
}

pub(crate) fn threads(count: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(count)
}

/// Returns one column as text; `None` is null.
pub(crate) fn column(table: &dyn ColumnSource, index: usize) -> Vec<Option<String>> {
    let mut cells = Vec::new();
    for chunk in table.column(index).unwrap() {
        cells.extend(texts(&chunk));
    }
    cells
}

fn texts(array: &ArrayRef) -> Vec<Option<String>> {
    let text = cast(array, &DataType::Utf8).unwrap();
    text.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect()
}

/// Writes a table in a format and opens the file.
pub(crate) fn store(
    format: &dyn Format,
    table: &dyn ColumnSource,
) -> Result<Arc<dyn formats::Reader>> {
    let options = WriteOptions::default()
        .with_level(1)
        .with_threads(threads(1))
        .with_duplicate_names(DuplicateNames::Keep);
    let coerced = CoercedTable::try_new(table, format.capabilities(), &CoerceOptions::default())?;
    let mut file = Vec::new();
    format.encode(&coerced, &mut file, &options)?;
    format.open(Arc::new(Bytes::from(file)), &ReadOptions::default())
}

/// Returns all chunks of a file as batches.
pub(crate) fn batches(reader: &Arc<dyn formats::Reader>) -> Result<Vec<RecordBatch>> {
    let columns: Vec<usize> = (0..reader.schema().fields().len()).collect();
    (0..reader.row_groups()).map(|chunk| reader.read(chunk, &columns)).collect()
}

/// Returns batches as CSV with a header.
pub(crate) fn to_csv(batches: &[RecordBatch], delimiter: u8) -> Vec<u8> {
    let mut writer = csv::Writer::new(Vec::new(), delimiter);
    if let Some(batch) = batches.first() {
        writer.header(&batch.schema()).unwrap();
    }
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap()
}

/// Returns batches as JSON Lines.
pub(crate) fn to_json(batches: &[RecordBatch]) -> String {
    let mut writer = jsonl::Writer::new(Vec::new());
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    String::from_utf8(writer.finish().unwrap()).unwrap()
}

/// Reads CSV for a format, encodes and decodes the table, and exports it as CSV.
pub(crate) fn there_and_back(
    format: &dyn Format,
    text: &[u8],
    options: &TextOptions,
) -> Result<Vec<u8>> {
    let mut options = options.clone();
    options.capabilities = format.capabilities();
    options.threads = threads(1);
    let table = read_with(text, &options)?;
    let reader = store(format, &table)?;
    Ok(to_csv(&batches(&reader)?, options.delimiter.unwrap_or(b',')))
}

/// A simple CSV parser: a state machine over single bytes.
///
/// A row of one empty unquoted cell is a blank line, and is dropped unless the table has
/// one column.
pub(crate) fn reference(text: &[u8], delimiter: u8) -> Cells {
    #[derive(PartialEq)]
    enum State {
        CellStart,
        Plain,
        Quoted,
        QuoteInQuoted,
    }
    let mut rows: Vec<(bool, Vec<Vec<u8>>)> = Vec::new();
    let mut row: Vec<Vec<u8>> = vec![Vec::new()];
    let (mut state, mut any_quotes, mut open) = (State::CellStart, false, false);
    let text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        open = true;
        let cell = row.last_mut().unwrap();
        match state {
            State::Quoted if byte == b'"' => state = State::QuoteInQuoted,
            State::Quoted => cell.push(byte),
            State::QuoteInQuoted if byte == b'"' => {
                cell.push(byte);
                state = State::Quoted;
            }
            State::CellStart if byte == b'"' => {
                any_quotes = true;
                state = State::Quoted;
            }
            _ if byte == delimiter => {
                row.push(Vec::new());
                state = State::CellStart;
            }
            _ if byte == b'\n' || byte == b'\r' => {
                if byte == b'\r' && bytes.peek() == Some(&b'\n') {
                    bytes.next();
                }
                rows.push((any_quotes, std::mem::replace(&mut row, vec![Vec::new()])));
                (state, any_quotes, open) = (State::CellStart, false, false);
            }
            _ => {
                cell.push(byte);
                state = State::Plain;
            }
        }
    }
    assert!(state != State::Quoted, "the input of the reference has an open quote");
    if open {
        rows.push((any_quotes, row));
    }
    let is_blank = |row: &(bool, Vec<Vec<u8>>)| !row.0 && row.1.len() == 1 && row.1[0].is_empty();
    let Some(first) = rows.iter().position(|row| !is_blank(row)) else { return Vec::new() };
    let width = rows[first].1.len();
    rows.into_iter()
        .enumerate()
        .filter(|(at, row)| !is_blank(row) || (width == 1 && *at > first))
        .map(|(_, (_, row))| row)
        .map(|row| row.into_iter().map(|cell| String::from_utf8(cell).unwrap()).collect())
        .collect()
}

#[test]
fn the_reference_reads_what_rfc_4180_shows() {
    let rows = reference(b"\"aaa\",\"b \r\nbb\",\"ccc\"\r\nzzz,\"y\"\"y\",\r\n\r\nx,,\"\"", b',');
    assert_eq!(rows, [["aaa", "b \r\nbb", "ccc"], ["zzz", "y\"y", ""], ["x", "", ""]]);
    assert_eq!(reference(b"\n\na\n\n1\r\r\n", b','), [["a"], [""], ["1"], [""]]);
}
