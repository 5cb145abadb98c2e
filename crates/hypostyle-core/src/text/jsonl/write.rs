//! Writes batches as JSON Lines.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use crate::cast::cast;
use crate::error::{Error, Result};
use crate::number;

/// Writes an object for each row.
///
/// Numbers are written as numbers and null as `null`. JSON has no NaN and no infinities,
/// so these become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    buffer: Vec<u8>,
}

/// Bytes that are buffered before they are written.
const BUFFER_BYTES: usize = 256 << 10;

impl<W: Write> Writer<W> {
    /// Returns a writer to `out`.
    pub fn new(out: W) -> Self {
        Self { out, buffer: Vec::with_capacity(BUFFER_BYTES) }
    }

    /// Writes the rows of a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let schema = batch.schema();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            let mut key = Vec::new();
            put_text(field.name(), &mut key)?;
            key.push(b':');
            columns.push((key, printable(array)?));
        }
        for row in 0..batch.num_rows() {
            self.buffer.push(b'{');
            for (index, (key, array)) in columns.iter().enumerate() {
                if index > 0 {
                    self.buffer.push(b',');
                }
                self.buffer.extend_from_slice(key);
                put_value(array, row, &mut self.buffer)?;
            }
            self.buffer.extend_from_slice(b"}\n");
            if self.buffer.len() >= BUFFER_BYTES {
                self.out.write_all(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    /// Flushes the buffer and returns the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Casts an array to one of the types that [`put_value`] prints.
fn printable(array: &ArrayRef) -> Result<ArrayRef> {
    use DataType::{
        Boolean, Dictionary, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeUtf8,
        RunEndEncoded, UInt8, UInt16, UInt32, UInt64, Utf8,
    };
    match array.data_type() {
        Int32 | Int64 | UInt64 | Float32 | Float64 | Utf8 | LargeUtf8 | Boolean => {
            Ok(array.clone())
        }
        Int8 | Int16 | UInt8 | UInt16 | UInt32 => cast(array, &Int64),
        Float16 => Ok(arrow_cast::cast(array, &Float32)?),
        // Encoded arrays are decoded first.
        Dictionary(_, values) => printable(&arrow_cast::cast(array, values)?),
        RunEndEncoded(_, values) => printable(&arrow_cast::cast(array, values.data_type())?),
        _ => cast(array, &Utf8),
    }
}

fn put_value(array: &ArrayRef, row: usize, out: &mut Vec<u8>) -> Result<()> {
    if array.is_null(row) {
        out.extend_from_slice(b"null");
        return Ok(());
    }
    match array.data_type() {
        DataType::Int32 => {
            number::put_int(i64::from(array.as_primitive::<Int32Type>().value(row)), out);
        }
        DataType::Int64 => number::put_int(array.as_primitive::<Int64Type>().value(row), out),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            out.extend_from_slice(value.to_string().as_bytes());
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            let quote: &[u8] = if value.is_finite() { b"" } else { b"\"" };
            out.extend_from_slice(quote);
            number::put_float(value, out);
            out.extend_from_slice(quote);
        }
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            let quote: &[u8] = if value.is_finite() { b"" } else { b"\"" };
            out.extend_from_slice(quote);
            number::put_float32(value, out);
            out.extend_from_slice(quote);
        }
        DataType::Boolean => {
            let value = array.as_boolean().value(row);
            out.extend_from_slice(if value { b"true" } else { b"false" });
        }
        DataType::LargeUtf8 => put_text(array.as_string::<i64>().value(row), out)?,
        _ => put_text(array.as_string::<i32>().value(row), out)?,
    }
    Ok(())
}

fn put_text(text: &str, out: &mut Vec<u8>) -> Result<()> {
    serde_json::to_writer(out, text).map_err(|err| Error::from(io::Error::from(err)))
}
