//! Writes batches as JSON Lines.

use std::io::{self, Write};

use arrow_array::RecordBatch;

use crate::cast::{JsonPrinter, json_key, put_json_text};
use crate::error::Result;
use crate::spelling;

/// Writes an object for each row; see [`JsonPrinter`] for how values are written.
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
            let mut null = b"null".to_vec();
            if let Some(string) = spelling::null_string(field) {
                null.clear();
                put_json_text(string, &mut null);
            }
            columns.push((json_key(field.name()), JsonPrinter::of_field(array, field)?, null));
        }
        for row in 0..batch.num_rows() {
            self.buffer.push(b'{');
            for (index, (key, values, null)) in columns.iter().enumerate() {
                if index > 0 {
                    self.buffer.push(b',');
                }
                self.buffer.extend_from_slice(key);
                match values.is_null(row) {
                    true => self.buffer.extend_from_slice(null),
                    false => values.put(row, &mut self.buffer),
                }
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
