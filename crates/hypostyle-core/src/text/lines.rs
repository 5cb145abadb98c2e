//! Plain text as a table with one column of lines, named `line`.
//!
//! A line ends with a newline, which is not part of it; a carriage return is. If the
//! text does not end with a newline and the caller wants an exact copy, one more row
//! follows that is null, so that [`Writer`] restores the text byte for byte. Lines that
//! are not UTF-8 make the column binary.

use std::io::{Read, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};

use super::infer::Imported;
use super::input::{MAX_ROW_BYTES, Progress};
use crate::cast::cast;
use crate::error::{Error, Refusal, Result};
use crate::spill::SpillBuffer;

/// The name of the column.
pub const NAME: &str = "line";

/// Bytes that are read at a time.
const BLOCK_BYTES: usize = 4 << 20;

/// Reads text to its end.
///
/// With `exact`, a null row follows a last line that has no newline.
///
/// # Errors
///
/// Fails if the input fails, and for a line of more than 2 GiB.
pub fn import(
    text: &mut dyn Read,
    exact: bool,
    spill: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_blocks(text, exact, spill, progress, BLOCK_BYTES)
}

fn import_blocks(
    text: &mut dyn Read,
    exact: bool,
    mut spill: SpillBuffer,
    progress: Progress<'_>,
    block: usize,
) -> Result<Imported> {
    let (mut binary, mut total) = (false, 0_u64);
    let mut pending = Vec::new();
    loop {
        let before = pending.len();
        let read = text.take(block as u64).read_to_end(&mut pending)?;
        total += read as u64;
        progress(total);
        let fresh = pending.get(before..).unwrap_or_default();
        let whole = match memchr::memrchr(b'\n', fresh) {
            Some(at) => before + at + 1,
            None if read > 0 => {
                check_length(pending.len(), spill.rows())?;
                continue;
            }
            None => pending.len(),
        };
        // A line without a newline is complete only at the end of the input.
        let last = read == 0;
        if whole > 0 || (last && spill.chunks() == 0) {
            let lines = pending.get(..whole).unwrap_or_default();
            let chunk = lines_array(lines, last && whole > 0 && exact)?;
            binary |= chunk.data_type() == &DataType::Binary;
            spill.push(chunk.len(), vec![chunk])?;
        }
        if last {
            break;
        }
        pending.drain(..whole);
        check_length(pending.len(), spill.rows())?;
    }
    let data_type = if binary { DataType::Binary } else { DataType::Utf8 };
    let schema = Schema::new(vec![Field::new(NAME, data_type, true)]);
    Ok(Imported::from_spill(Arc::new(schema), spill))
}

fn check_length(len: usize, row: u64) -> Result<()> {
    if len > MAX_ROW_BYTES {
        return Err(Error::malformed("line", "is longer than 2 GiB").in_row(row));
    }
    Ok(())
}

/// Returns the lines of some text; with `open`, followed by a null.
fn lines_array(text: &[u8], open: bool) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut offsets = vec![0_i32];
    let mut end = |bytes: &Vec<u8>| -> Result<()> {
        let len = i32::try_from(bytes.len());
        offsets.push(len.map_err(|_| Error::malformed("line", "is longer than 2 GiB"))?);
        Ok(())
    };
    let mut rest = text;
    while !rest.is_empty() {
        let at = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        bytes.extend_from_slice(rest.get(..at).unwrap_or_default());
        end(&bytes)?;
        rest = rest.get(at + 1..).unwrap_or_default();
    }
    if open {
        end(&bytes)?;
    }
    let rows = offsets.len() - 1;
    let nulls = open.then(|| NullBuffer::from_iter((0..rows).map(|row| row + 1 < rows)));
    let (offsets, bytes) = (OffsetBuffer::new(offsets.into()), Buffer::from_vec(bytes));
    Ok(match StringArray::try_new(offsets.clone(), bytes.clone(), nulls.clone()) {
        Ok(texts) => Arc::new(texts),
        Err(_) => Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?),
    })
}

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
    use super::*;
    use crate::column_source::ColumnSource;

    fn read(text: &[u8], exact: bool, block: usize) -> Imported {
        import_blocks(&mut &text[..], exact, SpillBuffer::in_memory(), &mut |_| {}, block).unwrap()
    }

    fn written(table: &Imported) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        (0..table.batches()).for_each(|at| writer.write(&table.batch(at).unwrap()).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn text_is_restored_byte_for_byte() {
        let texts: [&[u8]; 10] = [
            b"",
            b"\n",
            b"\n\n",
            b"a",
            b"a\n",
            b"a\nb",
            b"a\n\nb\r\n",
            b"\n\n\nx",
            b"\xFF\nab\n",
            b"ab\n\xC3\xA9\n\xC3\n\xA9",
        ];
        for text in texts {
            for block in [1, 2, 3, 1 << 20] {
                let table = read(text, true, block);
                assert_eq!(written(&table), text, "{block}");
                let lines = text.split(|&byte| byte == b'\n').count() as u64;
                let open = !text.is_empty() && !text.ends_with(b"\n");
                // Text after the last newline is a line unless it is empty.
                assert_eq!(table.rows(), lines - u64::from(!open) + u64::from(open), "{text:?}");
                let short = read(text, false, block);
                assert_eq!(short.rows(), table.rows() - u64::from(open));
            }
        }
    }

    #[test]
    fn lines_that_are_not_text_make_the_column_binary() {
        let data_type = |text: &[u8]| read(text, true, 2).schema().field(0).data_type().clone();
        assert_eq!(data_type("né\n".as_bytes()), DataType::Utf8);
        assert_eq!(data_type(b"a\nb\nc\n\xFF\n"), DataType::Binary);
        assert_eq!(data_type(b""), DataType::Utf8);
    }

    #[test]
    fn only_one_column_can_be_lines() {
        let two = [("a", "x"), ("b", "y")]
            .map(|(name, text)| (name, Arc::new(StringArray::from(vec![text])) as ArrayRef));
        let err = Writer::new(Vec::new()).write(&RecordBatch::try_from_iter(two).unwrap());
        assert!(err.unwrap_err().to_string().contains("one column"));
    }
}
