//! Writes batches as CSV or TSV.

use std::borrow::Cow;
use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema};

use super::delimiter::check_delimiter;
use super::quote::{needs_quotes, quote_into};
use crate::cast::spelled_text;
use crate::error::{Error, Result};
use crate::number;
use crate::spelling;
use crate::text::input::BOM;

/// Writes batches as CSV, one row per line.
///
/// Cells are spelled as the metadata of their fields say, see [`spelling`].
///
/// A cell is quoted only if it must be: if it contains the delimiter, a quote or a line
/// end, if it would be read as null in a nullable column, if it is an empty cell that
/// would make a blank line, and if it is the first cell of the file and starts with a
/// byte order mark.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    delimiter: u8,
    null_word: Option<Vec<u8>>,
    buffer: Vec<u8>,
    /// No printed number contains the delimiter or equals the null word.
    plain_numbers: bool,
    guards_formulas: bool,
    /// The start of the file has been flushed.
    begun: bool,
}

/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

/// Every byte that a printed number can contain.
const IN_NUMBERS: &[u8] = b"0123456789.-eNaInfity";

impl<W: Write> Writer<W> {
    /// Returns a writer that separates cells with `delimiter` and writes null as nothing.
    pub fn new(out: W, delimiter: u8) -> Self {
        let buffer = Vec::with_capacity(BUFFER_BYTES);
        let plain_numbers = !IN_NUMBERS.contains(&delimiter);
        Self {
            out,
            delimiter,
            null_word: None,
            buffer,
            plain_numbers,
            guards_formulas: false,
            begun: false,
        }
    }

    /// Writes an apostrophe before names and texts that a spreadsheet would take for formulas: those
    /// that start with `=`, `+`, `-`, `@`, a tab or a line end. Columns of other types than text stay
    /// as they are.
    ///
    /// The apostrophe is part of the cell: the file does not have the same values any more.
    #[must_use]
    pub fn with_guarded_formulas(mut self, guard: bool) -> Self {
        self.guards_formulas = guard;
        self
    }

    /// Writes null as this word.
    #[must_use]
    pub fn with_null_word(mut self, word: &str) -> Self {
        self.null_word = Some(word.as_bytes().to_vec());
        let like_number = word.bytes().all(|byte| IN_NUMBERS.contains(&byte));
        self.plain_numbers &= word.is_empty() || !like_number;
        self
    }

    /// Writes the column names.
    pub fn header(&mut self, schema: &Schema) -> Result<()> {
        self.check()?;
        let alone = schema.fields().len() == 1;
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                self.buffer.push(self.delimiter);
            }
            let name = field.name().as_bytes();
            let name: &[u8] = &self.guarded(name, true);
            // Without quotes, a single empty name would be a blank line.
            self.text(name, alone && name.is_empty());
        }
        self.buffer.push(b'\n');
        self.flush_if_full()
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    ///
    /// Fails if the delimiter or the null word conflicts with the CSV syntax, and if
    /// writing fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check()?;
        let schema = batch.schema();
        let alone = batch.num_columns() == 1;
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns
            .map(|(field, array)| {
                let rule = TextRule::new(field, alone);
                Ok((CsvColumn::new(array, field, rule)?, self.null_word_of(field)))
            })
            .collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for (index, (column, null_word)) in columns.iter().enumerate() {
                if index > 0 {
                    self.buffer.push(self.delimiter);
                }
                self.cell(column, null_word.as_deref(), row);
            }
            self.buffer.push(b'\n');
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Flushes the buffer and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn null_bytes(&self) -> &[u8] {
        self.null_word.as_deref().unwrap_or_default()
    }

    fn check(&self) -> Result<()> {
        check_delimiter(self.delimiter)?;
        if needs_quotes(self.null_bytes(), self.delimiter) {
            let why = "the null word cannot contain the delimiter, a quote or a line end";
            return Err(Error::invalid_argument(why));
        }
        Ok(())
    }

    /// Returns the word for null that the text of a column had, unless the caller chose one.
    fn null_word_of(&self, field: &Field) -> Option<Vec<u8>> {
        let token = spelling::null_token(field)?.as_bytes();
        let is_free = self.null_word.is_none() && !needs_quotes(token, self.delimiter);
        is_free.then(|| token.to_vec())
    }

    fn cell(&mut self, column: &CsvColumn, null_word: Option<&[u8]>, row: usize) {
        match column {
            CsvColumn::Int32(array) if array.is_valid(row) => {
                self.number(|out| number::put_int(i64::from(array.value(row)), out));
            }
            CsvColumn::Int64(array) if array.is_valid(row) => {
                self.number(|out| number::put_int(array.value(row), out));
            }
            CsvColumn::Float64(array) if array.is_valid(row) => {
                self.number(|out| number::put_float(array.value(row), out));
            }
            CsvColumn::Text(array, rule) if array.is_valid(row) => {
                let text = self.guarded(array.value(row).as_bytes(), rule.is_text);
                self.text(&text, rule.is_like(&text, self.null_bytes()));
            }
            CsvColumn::LargeText(array, rule) if array.is_valid(row) => {
                let text = self.guarded(array.value(row).as_bytes(), rule.is_text);
                self.text(&text, rule.is_like(&text, self.null_bytes()));
            }
            _ => {
                let word = null_word.or(self.null_word.as_deref()).unwrap_or_default();
                self.buffer.extend_from_slice(word);
            }
        }
    }

    fn number(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        put(&mut self.buffer);
        if !self.plain_numbers {
            let printed = self.buffer.split_off(start);
            self.text(&printed, printed == self.null_bytes());
        }
    }

    /// Returns a text as it is written.
    fn guarded<'t>(&self, text: &'t [u8], is_text: bool) -> Cow<'t, [u8]> {
        let is_formula =
            matches!(text.first(), Some(b'=' | b'+' | b'-' | b'@' | b'\t' | b'\r' | b'\n'));
        if self.guards_formulas && is_text && is_formula {
            return Cow::Owned([b"'", text].concat());
        }
        Cow::Borrowed(text)
    }

    fn text(&mut self, text: &[u8], must_quote: bool) {
        let like_bom = self.buffer.is_empty() && !self.begun && text.starts_with(BOM);
        let must_quote = must_quote || like_bom;
        if !must_quote && !needs_quotes(text, self.delimiter) {
            self.buffer.extend_from_slice(text);
            return;
        }
        quote_into(text, &mut self.buffer);
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER_BYTES {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
            self.begun = true;
        }
        Ok(())
    }
}

/// A column in one of the types that the writer prints directly.
enum CsvColumn {
    Int32(Int32Array),
    Int64(Int64Array),
    Float64(Float64Array),
    Text(StringArray, TextRule),
    LargeText(LargeStringArray, TextRule),
}

/// Decides which texts of a column would be read as null, as a blank line, or as a formula.
#[derive(Clone, Copy)]
struct TextRule {
    nullable: bool,
    alone: bool,
    /// The column is text, and not a date or a decimal, which are printed as texts.
    is_text: bool,
}

impl TextRule {
    fn new(field: &Field, alone: bool) -> Self {
        let is_text = |data_type: &DataType| {
            matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
        };
        let is_text = match field.data_type() {
            DataType::Dictionary(_, values) => is_text(values),
            data_type => is_text(data_type),
        };
        Self { nullable: field.is_nullable(), alone, is_text }
    }

    fn is_like(self, text: &[u8], null_word: &[u8]) -> bool {
        (self.nullable && text == null_word) || (self.alone && text.is_empty())
    }
}

impl CsvColumn {
    fn new(array: &ArrayRef, field: &Field, rule: TextRule) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Int32 => Self::Int32(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().clone()),
            // The text may be too long for 32-bit offsets.
            DataType::LargeUtf8 => Self::LargeText(array.as_string::<i64>().clone(), rule),
            _ => Self::Text(spelled_text(array, field)?.as_string::<i32>().clone(), rule),
        })
    }
}
