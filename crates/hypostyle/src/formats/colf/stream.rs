//! COLF's blocks, decoded as a scan moves on (§3).
//!
//! A block has the bitmap of all rows before the values, and the starts of all texts before
//! the texts, but deflate has no random access. So each of these parts is decompressed by a
//! stream of its own over the same block. The memory is that of the windows; the price is
//! that the parts before the texts are decompressed again, up to three times.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, OffsetSizeTrait};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer};

use super::decode::{self, PREAMBLE_BYTES};
use super::layout::ColfEntry;
use crate::formats::columnfile::{
    BlockStream, BlockStreams, ColumnEntry, ColumnStream, DecodeContext, number_values, text,
};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{Number, Order};
use hypostyle_core::wire::{Cursor, bitmap};

/// Rows whose bits are looked at together in search of one that is not null.
const SEARCH_ROWS: u64 = 64 << 10;

/// Starts to decode a block.
pub(super) fn open(
    blocks: &BlockStreams,
    entry: &ColfEntry,
    rows: u64,
    cx: &DecodeContext<'_>,
) -> Result<Box<dyn ColumnStream>> {
    let column = &entry.column;
    let raw = column.block.raw;
    let mut values = blocks.open(&column.block);
    let preamble = values.fill(PREAMBLE_BYTES)?;
    let in_block = decode::read_preamble(&mut Cursor::new(preamble, 0), column)
        .map_err(|err| err.at(column.block.offset))?;
    let row_count = usize::try_from(rows).unwrap_or(usize::MAX);
    let has_bitmap = decode::resolve_null_flags(in_block, raw, row_count, entry, cx)?;
    let mut start = PREAMBLE_BYTES as u64;
    if has_bitmap {
        let len = bitmap::len(row_count) as u64;
        check_part("null bitmap", len, raw.saturating_sub(start), column)?;
        start = start.saturating_add(len);
    }
    let nulls = Nulls {
        bits: has_bitmap.then(|| blocks.open(&column.block)),
        nullable: entry.nullable,
        entry_offset: column.entry_offset,
    };
    let left = raw.saturating_sub(start);
    match column.column_type {
        ColumnType::Int32 => numbers::<i32>(entry, nulls, values, start, rows),
        ColumnType::Float64 => numbers::<f64>(entry, nulls, values, start, rows),
        ColumnType::Int64 => Err(Error::unsupported("int64")),
        ColumnType::Text => {
            let starts_len = rows.saturating_mul(START_BYTES);
            check_part("string offsets", starts_len, left, column)?;
            Ok(Box::new(Texts {
                column: column.clone(),
                nulls,
                starts: values,
                starts_at: start,
                text: blocks.open(&column.block),
                text_at: start.saturating_add(starts_len),
                text_len: left.saturating_sub(starts_len),
                rows,
                row: 0,
                null_until: 0,
                window: None,
            }))
        }
    }
}

fn check_part(what: &'static str, needed: u64, left: u64, column: &ColumnEntry) -> Result<()> {
    if needed <= left {
        return Ok(());
    }
    let why = format!("needs {needed} bytes of the block, {left} left");
    Err(Error::malformed(what, why).at(column.block.offset))
}

/// The bitmap of a block.
struct Nulls {
    /// The block, at the bits of the current row; `None` if it has no bitmap.
    bits: Option<BlockStream>,
    nullable: bool,
    entry_offset: u64,
}

impl Nulls {
    /// Returns which of the rows from `row` on are null; `None` if none is.
    ///
    /// Rows before `row` cannot be asked for again.
    fn of_rows(
        &mut self,
        row: u64,
        rows: usize,
        cx: &DecodeContext<'_>,
    ) -> Result<Option<NullBuffer>> {
        let Some(bits) = &mut self.bits else { return Ok(None) };
        bits.skip_to((PREAMBLE_BYTES as u64).saturating_add(row / 8))?;
        let first = usize::from(row.to_le_bytes()[0] % 8);
        let bytes = bits.fill(bitmap::len(first.saturating_add(rows)))?;
        let nulls = bitmap::nulls_from_set_bits_at(bytes, first, rows);
        if nulls.is_some() && !self.nullable {
            decode::report_unexpected_null(self.entry_offset, cx)?;
        }
        Ok(nulls)
    }
}

fn numbers<T: Number>(
    entry: &ColfEntry,
    nulls: Nulls,
    values: BlockStream,
    start: u64,
    rows: u64,
) -> Result<Box<dyn ColumnStream>> {
    let column = &entry.column;
    let len = column.block.raw.saturating_sub(start);
    if rows.checked_mul(T::WIDTH as u64) != Some(len) {
        return Err(decode::wrong_length(len, rows, T::WIDTH));
    }
    let (column_type, width) = (column.column_type, T::WIDTH as u64);
    Ok(Box::new(Numbers { column_type, width, nulls, values, start, row: 0 }))
}

/// Numbers, with a bitmap before them.
struct Numbers {
    column_type: ColumnType,
    width: u64,
    nulls: Nulls,
    values: BlockStream,
    /// The position of the first number in the block.
    start: u64,
    row: u64,
}

impl ColumnStream for Numbers {
    fn seek(&mut self, row: u64) -> Result<()> {
        self.row = row;
        Ok(())
    }

    fn read(&mut self, rows: usize, cx: &DecodeContext<'_>) -> Result<ArrayRef> {
        let nulls = self.nulls.of_rows(self.row, rows, cx)?;
        self.values.skip_to(self.start.saturating_add(self.row.saturating_mul(self.width)))?;
        let values = &mut self.values;
        let array: ArrayRef = match self.column_type {
            ColumnType::Int32 => {
                let values = number_values(values, rows, Order::Little)?;
                Arc::new(Int32Array::try_new(values, nulls)?)
            }
            _ => {
                let values = number_values(values, rows, Order::Little)?;
                Arc::new(Float64Array::try_new(values, nulls)?)
            }
        };
        self.row = self.row.saturating_add(rows as u64);
        Ok(array)
    }

    fn finish(&mut self, _: &DecodeContext<'_>) -> Result<u64> {
        self.values.finish()
    }
}

/// The bytes of the start of a text.
const START_BYTES: u64 = 4;

/// Texts: a bitmap, the start of each text, then all texts.
struct Texts {
    column: ColumnEntry,
    nulls: Nulls,
    starts: BlockStream,
    starts_at: u64,
    text: BlockStream,
    text_at: u64,
    text_len: u64,
    rows: u64,
    row: u64,
    /// All rows from the current one up to this one are null.
    null_until: u64,
    /// The window that is being read, if its last text has no end yet.
    window: Option<Window>,
}

/// Rows whose starts were read.
struct Window {
    row: u64,
    starts: Vec<[u8; 4]>,
    nulls: Option<NullBuffer>,
}

impl Texts {
    /// Reads the starts of the next rows.
    fn window(&mut self, rows: usize, cx: &DecodeContext<'_>) -> Result<Window> {
        let known_nulls = self.null_until.saturating_sub(self.row);
        let known_nulls = usize::try_from(known_nulls).unwrap_or(usize::MAX).min(rows);
        let (first, rest) = (self.row.saturating_add(known_nulls as u64), rows - known_nulls);
        let mut starts = vec![[0; 4]; known_nulls];
        let mut nulls = None;
        if rest > 0 {
            nulls = self.nulls.of_rows(first, rest, cx)?;
            self.skip_to_start(first)?;
            let (chunks, _) =
                self.starts.fill(rest.saturating_mul(START_BYTES as usize))?.as_chunks();
            starts.extend(chunks.iter().take(rest));
        }
        if known_nulls > 0 {
            let mut valid = BooleanBufferBuilder::new(rows);
            valid.append_n(known_nulls, false);
            match &nulls {
                Some(nulls) => valid.append_buffer(nulls.inner()),
                None => valid.append_n(rest, true),
            }
            nulls = Some(NullBuffer::new(valid.finish()));
        }
        Ok(Window { row: self.row, starts, nulls })
    }

    fn skip_to_start(&mut self, row: u64) -> Result<()> {
        let at = self.starts_at.saturating_add(row.saturating_mul(START_BYTES));
        self.starts.skip_to(at)
    }

    /// Returns the first row from `row` on that is not null, and the start of its text: the
    /// end of the text before. Without such a row, the texts end with the block.
    fn next_start(&mut self, row: u64, cx: &DecodeContext<'_>) -> Result<(u64, u64)> {
        let mut next = row.max(self.null_until);
        while next < self.rows {
            let count = usize::try_from(SEARCH_ROWS.min(self.rows - next)).unwrap_or(1);
            // Most rows are followed by one that is not null.
            let valid = match self.nulls.of_rows(next, 1, cx)? {
                None => Some(0),
                Some(_) => match self.nulls.of_rows(next, count, cx)? {
                    None => Some(0),
                    Some(nulls) => nulls.inner().set_indices().next(),
                },
            };
            next = next.saturating_add(valid.unwrap_or(count) as u64);
            self.null_until = next;
            if valid.is_some() {
                self.skip_to_start(next)?;
                let start = self.starts.fill(START_BYTES as usize)?.first_chunk();
                let start = start.map_or(0, |start| u64::from(u32::from_le_bytes(*start)));
                return Ok((next, start));
            }
        }
        Ok((self.rows, self.text_len))
    }

    fn decode_window(
        &mut self,
        window: &Window,
        after: u64,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef> {
        let (next, end) = self.next_start(after, cx)?;
        if end > self.text_len {
            let (_, its_end) = self.next_start(next.saturating_add(1), cx)?;
            return Err(decode::past(end, its_end.min(self.text_len)).in_row(next));
        }
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        match i32::try_from(self.column.block.raw) {
            Ok(_) => self.array::<i32>(window, end, cx),
            Err(_) => self.array::<i64>(window, end, cx),
        }
    }

    fn array<O: OffsetSizeTrait>(
        &mut self,
        window: &Window,
        end: usize,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef> {
        let Window { row: first_row, starts, nulls } = window;
        let mut offsets = decode::offsets::<O>(starts, end, nulls.as_ref()).map_err(|err| {
            let row = err.row().unwrap_or(0).saturating_add(*first_row);
            err.at_row(row)
        })?;
        let first = offsets.first().map_or(0, |first| first.as_usize());
        if *first_row == 0 && first > 0 {
            decode::report_unowned_text(first, &self.column, cx)?;
        }
        let done = self.text.position().saturating_sub(self.text_at);
        if done > first as u64 {
            // Only rows that were skipped can have hidden this.
            return Err(decode::past(done, first as u64).in_row(*first_row));
        }
        self.text.skip_to(self.text_at.saturating_add(first as u64))?;
        let bytes = self.text.fill(end - first)?;
        let values = Buffer::from(bytes.get(..end - first).unwrap_or(bytes));
        for offset in &mut offsets {
            *offset = O::usize_as(offset.as_usize() - first);
        }
        text::array::<O>(offsets, values, nulls.clone(), *first_row, &self.column, cx)
    }
}

impl ColumnStream for Texts {
    fn seek(&mut self, row: u64) -> Result<()> {
        if row != self.row {
            (self.row, self.window) = (row, None);
        }
        Ok(())
    }

    fn read(&mut self, rows: usize, cx: &DecodeContext<'_>) -> Result<ArrayRef> {
        // The search for the end of the last text moves the streams on, so the starts of
        // the window are kept for the case that bytes are missing.
        let window = match self.window.take() {
            Some(window) if window.starts.len() == rows => window,
            _ => self.window(rows, cx)?,
        };
        let after = self.row.saturating_add(rows as u64);
        match self.decode_window(&window, after, cx) {
            Ok(array) => {
                self.row = after;
                Ok(array)
            }
            Err(err) => {
                self.window = Some(window);
                Err(err)
            }
        }
    }

    fn finish(&mut self, _: &DecodeContext<'_>) -> Result<u64> {
        self.text.finish()
    }
}
