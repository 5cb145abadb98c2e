//! Plain text as a table with one column of lines, named `line`.
//!
//! A line ends with a newline, which is not part of it; a carriage return is. If the
//! text does not end with a newline and the caller wants an exact copy, one more row
//! follows that is null, so that [`Writer`] restores the text byte for byte. Lines that
//! are not UTF-8 make the column binary.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use crate::cast::cast;
use crate::error::{Error, Refusal, Result};

/// The name of the column.
pub const NAME: &str = "line";

/// Writes a column of lines as text.
///
/// A null in the last row omits the last newline; other nulls are empty lines.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Whether the last line still lacks its newline.
    open: bool,
    /// The number of nulls that were not written yet.
    nulls: u64,
}

impl<W: Write> Writer<W> {
    /// Returns a writer to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, open: false, nulls: 0 }
    }

    /// Writes the lines of a batch.
    ///
    /// # Errors
    ///
    /// Fails unless the batch has exactly one column, and if writing fails.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let [column] = batch.columns() else {
            let count = batch.num_columns();
            let why = format!("plain text has one column, but the table has {count}");
            return Err(Error::refused(
                Refusal::SeveralColumns,
                why,
                "select one column, or write CSV",
            ));
        };
        let text = match column.data_type() {
            DataType::Binary => column.clone(),
            DataType::LargeBinary => cast(column, &DataType::Binary)?,
            _ => cast(&cast(column, &DataType::Utf8)?, &DataType::Binary)?,
        };
        text.as_binary::<i32>().iter().try_for_each(|line| self.line(line))
    }

    fn line(&mut self, line: Option<&[u8]>) -> Result<()> {
        let Some(line) = line else {
            self.nulls += 1;
            return Ok(());
        };
        self.flush_nulls(0)?;
        self.end_line()?;
        self.out.write_all(line)?;
        self.open = true;
        Ok(())
    }

    fn end_line(&mut self) -> Result<()> {
        if self.open {
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Writes nulls as empty lines until `left` remain.
    fn flush_nulls(&mut self, left: u64) -> Result<()> {
        while self.nulls > left {
            self.end_line()?;
            self.open = true;
            self.nulls -= 1;
        }
        Ok(())
    }

    /// Ends the last line and returns the output.
    pub fn finish(mut self) -> Result<W> {
        self.flush_nulls(1)?;
        if self.nulls == 0 {
            self.end_line()?;
        }
        self.out.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};

    use super::*;
    #[test]
    fn only_one_column_can_be_lines() {
        let two = [("a", "x"), ("b", "y")]
            .map(|(name, text)| (name, Arc::new(StringArray::from(vec![text])) as ArrayRef));
        let err = Writer::new(Vec::new()).write(&RecordBatch::try_from_iter(two).unwrap());
        assert!(err.unwrap_err().to_string().contains("one column"));
    }
}
