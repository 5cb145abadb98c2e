//! Plain text as a table: one column of lines, which is called `line`.
//!
//! A line ends with a newline, which is no part of it; anything else is, a carriage
//! return too. If the text does not end with a newline, and the target is to know, one
//! more row follows that is null: so text comes back byte for byte. Lines that are not
//! UTF-8 make the column binary.

use std::io::{Read, Write};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, RecordBatch, StringArray};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Schema};

use super::infer::Imported;
use super::{Progress, ROW};
use crate::cast::cast;
use crate::error::{Error, Refusal, Result};
use crate::spill::SpillBuffer;

/// The name of the column.
pub const NAME: &str = "line";

/// Bytes that are read at a time.
const BLOCK: usize = 4 << 20;

/// Reads text to its end.
///
/// With `exact`, a last line without a newline is followed by a row that is null.
///
/// # Errors
///
/// What reading fails with, and a line of more than 2 GiB.
pub fn import(
    text: &mut dyn Read,
    exact: bool,
    stage: SpillBuffer,
    progress: Progress<'_>,
) -> Result<Imported> {
    import_blocks(text, exact, stage, progress, BLOCK)
}

fn import_blocks(
    text: &mut dyn Read,
    exact: bool,
    mut stage: SpillBuffer,
    progress: Progress<'_>,
    block: usize,
) -> Result<Imported> {
    let (mut binary, mut done) = (false, 0_u64);
    let mut waiting = Vec::new();
    loop {
        let before = waiting.len();
        let read = text.take(block as u64).read_to_end(&mut waiting)?;
        done += read as u64;
        progress(done);
        let fresh = waiting.get(before..).unwrap_or_default();
        let whole = match memchr::memrchr(b'\n', fresh) {
            Some(at) => before + at + 1,
            None if read > 0 => {
                check_length(waiting.len(), stage.rows())?;
                continue;
            }
            None => waiting.len(),
        };
        // Without a newline at its end only once there is nothing more to read.
        let last = read == 0;
        if whole > 0 || (last && stage.pieces() == 0) {
            let lines = waiting.get(..whole).unwrap_or_default();
            let piece = piece(lines, last && whole > 0 && exact)?;
            binary |= piece.data_type() == &DataType::Binary;
            stage.push(piece.len(), vec![piece])?;
        }
        if last {
            break;
        }
        waiting.drain(..whole);
        check_length(waiting.len(), stage.rows())?;
    }
    let data_type = if binary { DataType::Binary } else { DataType::Utf8 };
    let schema = Schema::new(vec![Field::new(NAME, data_type, true)]);
    Ok(Imported::staged(Arc::new(schema), stage))
}

fn check_length(len: usize, row: u64) -> Result<()> {
    match len > ROW {
        true => Err(Error::malformed("line", "has more than 2 GiB").in_row(row)),
        false => Ok(()),
    }
}

/// The lines of some text; with `open`, one more that is null.
fn piece(text: &[u8], open: bool) -> Result<ArrayRef> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut offsets = vec![0_i32];
    let mut end = |bytes: &Vec<u8>| -> Result<()> {
        let len = i32::try_from(bytes.len());
        offsets.push(len.map_err(|_| Error::malformed("line", "has more than 2 GiB"))?);
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
/// A null at the very end takes away the last newline; other nulls are empty lines.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    /// Whether the line that was written last has no newline yet.
    open: bool,
    /// Nulls that were not written yet.
    nulls: u64,
}

impl<W: Write> Writer<W> {
    /// Writes to `out`, which should be buffered.
    pub fn new(out: W) -> Self {
        Self { out, open: false, nulls: 0 }
    }

    /// Writes the lines of a batch.
    ///
    /// # Errors
    ///
    /// More than one column, or none; and what writing fails with.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let [column] = batch.columns() else {
            let count = batch.num_columns();
            let why = format!("lines are one column, and the table has {count}");
            return Err(Error::refused(Refusal::SeveralColumns, why, "choose one, or write CSV"));
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

    /// Writes nulls as empty lines until so many are left.
    fn flush_nulls(&mut self, left: u64) -> Result<()> {
        while self.nulls > left {
            self.end_line()?;
            self.open = true;
            self.nulls -= 1;
        }
        Ok(())
    }

    /// Ends the last line.
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
    use crate::table::Table;

    fn read(text: &[u8], exact: bool, block: usize) -> Imported {
        import_blocks(&mut &text[..], exact, SpillBuffer::in_memory(), &mut |_| {}, block).unwrap()
    }

    fn written(table: &Imported) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        (0..table.batches()).for_each(|at| writer.write(&table.batch(at).unwrap()).unwrap());
        writer.finish().unwrap()
    }

    #[test]
    fn text_comes_back_byte_for_byte() {
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
                // The part behind the last newline is a line if there is anything in it.
                assert_eq!(table.rows(), lines - u64::from(!open) + u64::from(open), "{text:?}");
                let short = read(text, false, block);
                assert_eq!(short.rows(), table.rows() - u64::from(open));
            }
        }
    }

    #[test]
    fn lines_that_are_not_text_make_the_column_binary() {
        let kind = |text: &[u8]| read(text, true, 2).schema().field(0).data_type().clone();
        assert_eq!(kind("né\n".as_bytes()), DataType::Utf8);
        assert_eq!(kind(b"a\nb\nc\n\xFF\n"), DataType::Binary);
        assert_eq!(kind(b""), DataType::Utf8);
    }

    #[test]
    fn only_one_column_can_be_lines() {
        let two = [("a", "x"), ("b", "y")]
            .map(|(name, text)| (name, Arc::new(StringArray::from(vec![text])) as ArrayRef));
        let err = Writer::new(Vec::new()).write(&RecordBatch::try_from_iter(two).unwrap());
        assert!(err.unwrap_err().to_string().contains("one column"));
    }
}
