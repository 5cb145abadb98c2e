//! Batches as CSV or TSV.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Schema};

use super::check_delimiter;
use super::quote::{is_special, put_cell, put_quoted};
use crate::cast::cast;
use crate::error::{Error, Result};
use crate::number;
use crate::text::BOM;

/// Writes batches as text, one row a line.
///
/// Cells are quoted only where they must be: if they hold the delimiter, a
/// quote or a line end, if they would be taken for null in a column that can
/// have nulls, if an empty cell alone would make a blank line, and if the first
/// cell of the file would be taken for a byte order mark.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    delimiter: u8,
    null_word: Vec<u8>,
    buffer: Vec<u8>,
    /// No number can hold the delimiter or look like the word for null.
    plain_numbers: bool,
    /// Some of the file has left the buffer.
    begun: bool,
}

/// Bytes collected before they are handed on.
const BUFFER: usize = 256 << 10;

/// Every byte that a printed number can have.
const IN_NUMBERS: &[u8] = b"0123456789.-eNaInfity";

impl<W: Write> Writer<W> {
    /// Cells between `delimiter`; null is written as nothing.
    pub fn new(out: W, delimiter: u8) -> Self {
        let buffer = Vec::with_capacity(BUFFER);
        let plain_numbers = !IN_NUMBERS.contains(&delimiter);
        Self { out, delimiter, null_word: Vec::new(), buffer, plain_numbers, begun: false }
    }

    /// Writes null as this word instead.
    #[must_use]
    pub fn with_null_word(mut self, word: &str) -> Self {
        self.null_word = word.as_bytes().to_vec();
        let like_number = word.bytes().all(|byte| IN_NUMBERS.contains(&byte));
        self.plain_numbers &= word.is_empty() || !like_number;
        self
    }

    /// Writes the names.
    pub fn header(&mut self, schema: &Schema) -> Result<()> {
        self.check()?;
        let alone = schema.fields().len() == 1;
        for (index, field) in schema.fields().iter().enumerate() {
            if index > 0 {
                self.buffer.push(self.delimiter);
            }
            let name = field.name().as_bytes();
            // A lone empty name would be a blank line.
            self.text(name, alone && name.is_empty());
        }
        self.buffer.push(b'\n');
        self.flush_if_full()
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    ///
    /// A delimiter or a word for null with which no reader could tell cells apart.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.check()?;
        let schema = batch.schema();
        let alone = batch.num_columns() == 1;
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns
            .map(|(field, array)| Column::new(array, Null::new(field.is_nullable(), alone)))
            .collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for (index, column) in columns.iter().enumerate() {
                if index > 0 {
                    self.buffer.push(self.delimiter);
                }
                self.cell(column, row);
            }
            self.buffer.push(b'\n');
            self.flush_if_full()?;
        }
        Ok(())
    }

    /// Hands everything on and gives the sink back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn check(&self) -> Result<()> {
        check_delimiter(self.delimiter)?;
        if self.null_word.iter().any(is_special(self.delimiter)) {
            let why = "the word for null cannot hold the delimiter, a quote or a line end";
            return Err(Error::invalid_argument(why));
        }
        Ok(())
    }

    fn cell(&mut self, column: &Column, row: usize) {
        match column {
            Column::Int32(array) if array.is_valid(row) => {
                self.number(|out| number::put_int(i64::from(array.value(row)), out));
            }
            Column::Int64(array) if array.is_valid(row) => {
                self.number(|out| number::put_int(array.value(row), out));
            }
            Column::Float64(array) if array.is_valid(row) => {
                self.number(|out| number::put_float(array.value(row), out));
            }
            Column::Text(array, null) if array.is_valid(row) => {
                let text = array.value(row).as_bytes();
                self.text(text, null.is_like(text, &self.null_word));
            }
            Column::LargeText(array, null) if array.is_valid(row) => {
                let text = array.value(row).as_bytes();
                self.text(text, null.is_like(text, &self.null_word));
            }
            _ => self.buffer.extend_from_slice(&self.null_word),
        }
    }

    fn number(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        let start = self.buffer.len();
        put(&mut self.buffer);
        if !self.plain_numbers {
            let printed = self.buffer.split_off(start);
            self.text(&printed, printed == self.null_word);
        }
    }

    fn text(&mut self, text: &[u8], must_quote: bool) {
        let like_mark = self.buffer.is_empty() && !self.begun && text.starts_with(BOM);
        let must_quote = must_quote || like_mark;
        if must_quote {
            put_quoted(text, &mut self.buffer);
        } else {
            put_cell(text, self.delimiter, &mut self.buffer);
        }
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
            self.begun = true;
        }
        Ok(())
    }
}

/// A column in one of the types that are printed directly.
enum Column {
    Int32(Int32Array),
    Int64(Int64Array),
    Float64(Float64Array),
    Text(StringArray, Null),
    LargeText(LargeStringArray, Null),
}

/// Which texts of a column would be taken for something else if not quoted.
#[derive(Clone, Copy)]
struct Null {
    nullable: bool,
    alone: bool,
}

impl Null {
    fn new(nullable: bool, alone: bool) -> Self {
        Self { nullable, alone }
    }

    fn is_like(self, text: &[u8], null_word: &[u8]) -> bool {
        (self.nullable && text == null_word) || (self.alone && text.is_empty())
    }
}

impl Column {
    fn new(array: &ArrayRef, null: Null) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Int32 => Self::Int32(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().clone()),
            // Has 64-bit offsets because 32-bit ones may not do.
            DataType::LargeUtf8 => Self::LargeText(array.as_string::<i64>().clone(), null),
            _ => Self::Text(cast(array, &DataType::Utf8)?.as_string::<i32>().clone(), null),
        })
    }
}
