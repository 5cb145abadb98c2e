//! Batches as CSV or TSV.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray,
};
use arrow_schema::{DataType, Schema};

use crate::bridge::cast::cast;
use crate::error::Result;
use crate::text::number;

/// Writes batches as text, one row a line.
///
/// Cells are quoted only where they must be: if they hold the delimiter, a
/// quote or a line end, if they would be taken for null in a column that can
/// have nulls, and if an empty cell alone would make a blank line.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    delimiter: u8,
    null_word: Vec<u8>,
    buffer: Vec<u8>,
}

/// Bytes collected before they are handed on.
const BUFFER: usize = 256 << 10;

impl<W: Write> Writer<W> {
    /// Cells between `delimiter`; null is written as nothing.
    pub fn new(out: W, delimiter: u8) -> Self {
        Self { out, delimiter, null_word: Vec::new(), buffer: Vec::with_capacity(BUFFER) }
    }

    /// Writes null as this word instead.
    #[must_use]
    pub fn with_null_word(mut self, word: &str) -> Self {
        self.null_word = word.as_bytes().to_vec();
        self
    }

    /// Writes the names.
    pub fn header(&mut self, schema: &Schema) -> Result<()> {
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
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let alone = batch.num_columns() == 1;
        let columns = schema.fields().iter().zip(batch.columns());
        let columns = columns
            .map(|(field, array)| Column::new(array, field.is_nullable(), alone))
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

    fn cell(&mut self, column: &Column, row: usize) {
        match column {
            Column::Int32(array) if array.is_valid(row) => {
                number::put_int(i64::from(array.value(row)), &mut self.buffer);
            }
            Column::Int64(array) if array.is_valid(row) => {
                number::put_int(array.value(row), &mut self.buffer);
            }
            Column::Float64(array) if array.is_valid(row) => {
                number::put_float(array.value(row), &mut self.buffer);
            }
            Column::Text { array, nullable, alone } if array.is_valid(row) => {
                let text = array.value(row).as_bytes();
                let like_null = *nullable && text == self.null_word;
                self.text(text, like_null || (*alone && text.is_empty()));
            }
            _ => self.buffer.extend_from_slice(&self.null_word),
        }
    }

    fn text(&mut self, text: &[u8], must_quote: bool) {
        let special = |&byte: &u8| byte == self.delimiter || matches!(byte, b'"' | b'\n' | b'\r');
        if !must_quote && !text.iter().any(special) {
            self.buffer.extend_from_slice(text);
            return;
        }
        self.buffer.push(b'"');
        for part in text.split_inclusive(|&byte| byte == b'"') {
            self.buffer.extend_from_slice(part);
            if part.last() == Some(&b'"') {
                self.buffer.push(b'"');
            }
        }
        self.buffer.push(b'"');
    }

    fn flush_if_full(&mut self) -> Result<()> {
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// A column in one of the types that are printed directly.
enum Column {
    Int32(Int32Array),
    Int64(Int64Array),
    Float64(Float64Array),
    Text { array: StringArray, nullable: bool, alone: bool },
}

impl Column {
    fn new(array: &ArrayRef, nullable: bool, alone: bool) -> Result<Self> {
        Ok(match array.data_type() {
            DataType::Int32 => Self::Int32(array.as_primitive::<Int32Type>().clone()),
            DataType::Int64 => Self::Int64(array.as_primitive::<Int64Type>().clone()),
            DataType::Float64 => Self::Float64(array.as_primitive::<Float64Type>().clone()),
            _ => {
                let array = cast(array, &DataType::Utf8)?.as_string::<i32>().clone();
                Self::Text { array, nullable, alone }
            }
        })
    }
}
