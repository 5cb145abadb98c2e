//! COLF's blocks: bytes to arrays (§3).

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, OffsetSizeTrait};
use arrow_buffer::{Buffer, MutableBuffer, NullBuffer, ScalarBuffer};

use super::layout::{ColfEntry, parse_null_flag};
use super::schema;
use crate::formats::columnfile::{ColumnEntry, DecodeContext, text};
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{Number, Order};
use hypostyle_core::wire::{Cursor, bitmap};

/// Length of the data type and the null flag, with which a block starts.
pub(super) const PREAMBLE_BYTES: usize = 2;

/// Returns the bytes to leave free so that the values of this column are aligned.
pub(super) fn headroom(entry: &ColfEntry, rows: usize) -> usize {
    let bits = if entry.null_flag { bitmap::len(rows) } else { 0 };
    let values_start = PREAMBLE_BYTES.saturating_add(bits);
    values_start.wrapping_neg() % 8
}

/// Decodes the content of a block, which follows [`headroom`] bytes.
pub(super) fn block(
    content: MutableBuffer,
    entry: &ColfEntry,
    rows: usize,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    let column = &entry.column;
    let headroom = headroom(entry, rows);
    let buffer = Buffer::from(content).slice(headroom);
    let mut cursor = Cursor::new(&buffer, 0);
    let in_block = read_preamble(&mut cursor, column).map_err(|err| err.at(column.block.offset))?;
    let has_bitmap = resolve_null_flags(in_block, buffer.len() as u64, rows, entry, cx)?;
    let mut nulls = None;
    let mut start = PREAMBLE_BYTES;
    if has_bitmap {
        let bits = at_block(cursor.take(bitmap::len(rows), "null bitmap"), column)?;
        nulls = bitmap::nulls_from_set_bits(bits, rows);
        start = start.saturating_add(bits.len());
    }
    if nulls.is_some() && !entry.nullable {
        report_unexpected_null(column.entry_offset, cx)?;
    }
    match column.column_type {
        ColumnType::Int32 => {
            let values = fixed(&buffer, start, rows, headroom)?;
            Ok(Arc::new(Int32Array::try_new(values, nulls)?))
        }
        ColumnType::Float64 => {
            let values = fixed(&buffer, start, rows, headroom)?;
            Ok(Arc::new(Float64Array::try_new(values, nulls)?))
        }
        ColumnType::Text if i32::try_from(column.block.raw).is_ok() => {
            texts::<i32>(&buffer, start, rows, nulls, column, cx)
        }
        ColumnType::Text => texts::<i64>(&buffer, start, rows, nulls, column, cx),
        ColumnType::Int64 => Err(Error::unsupported("int64")),
    }
}

/// Checks a block of zero bytes: every row is null (F14).
pub(super) fn check_absent(column: &ColumnEntry, rows: u64, cx: &DecodeContext<'_>) -> Result<()> {
    // The reader has checked that the size of the file backs the row count.
    let asked = column.column_type.width().unwrap_or(4).saturating_mul(rows);
    let (what, limit) = ("size of a column that is stored as no bytes", cx.limits.block_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
    }
    let message = format!("the column `{}` is stored as no bytes at all", clipped(&column.name));
    cx.deviations.report("F14", column.entry_offset, message)
}

/// Reports a null in a column that the schema calls not nullable (F3).
pub(super) fn report_unexpected_null(entry_offset: u64, cx: &DecodeContext<'_>) -> Result<()> {
    let message = "a column that the schema calls not nullable has nulls";
    cx.deviations.report("F3", entry_offset, message)
}

/// Reports text before the start of the first row (F17).
pub(super) fn report_unowned_text(
    bytes: usize,
    column: &ColumnEntry,
    cx: &DecodeContext<'_>,
) -> Result<()> {
    let name = clipped(&column.name);
    let message = format!("the first {bytes} bytes of text belong to no row of `{name}`");
    cx.deviations.report("F17", column.block.offset, message)
}

/// Returns the error for numbers that do not fill their block.
pub(super) fn wrong_length(len: u64, rows: u64, width: usize) -> Error {
    let why = format!("{len} bytes are not {rows} rows of {width} bytes");
    Error::malformed("uncompressed size", why)
}

/// Returns the error for a text that starts after its end (F15).
pub(super) fn past(start: u64, end: u64) -> Error {
    let why = format!("{start} is past {end}, the start of the next text or the end of the block");
    Error::malformed("string offset", why)
}

/// Checks the data type of a block against the schema (F4), and returns its null flag.
pub(super) fn read_preamble(cursor: &mut Cursor<'_>, column: &ColumnEntry) -> Result<bool> {
    let code = at_block(cursor.u8("data type"), column)?;
    if Some(code) != schema::code(column.column_type) {
        let why = format!("is {code} in the block, which the schema contradicts");
        return Err(Error::malformed("data type", why));
    }
    parse_null_flag(at_block(cursor.u8("has nulls"), column)?)
}

/// Decides whether the block has a bitmap (F3).
///
/// The flag in the block decides, unless it contradicts the column table and only the flag of
/// the column table fits the size of the block.
pub(super) fn resolve_null_flags(
    in_block: bool,
    len: u64,
    rows: usize,
    entry: &ColfEntry,
    cx: &DecodeContext<'_>,
) -> Result<bool> {
    let in_table = entry.null_flag;
    if in_block == in_table {
        return Ok(in_block);
    }
    let word = |flag: bool| if flag { "with" } else { "without" };
    let message = format!(
        "the column table says {} nulls, the block says {}",
        word(in_table),
        word(in_block),
    );
    cx.deviations.report("F3", entry.column.entry_offset.saturating_add(24), message)?;
    let Some(width) = entry.column.column_type.width() else { return Ok(in_block) };
    let len_with = |has_bitmap: bool| {
        let bits = if has_bitmap { bitmap::len(rows) } else { 0 };
        let values = width.checked_mul(rows as u64);
        values.and_then(|values| values.checked_add((PREAMBLE_BYTES + bits) as u64))
    };
    let only_table_fits = len_with(in_block) != Some(len) && len_with(in_table) == Some(len);
    Ok(if only_table_fits { in_table } else { in_block })
}

/// Decodes the numbers from `start` on, which must fill the block.
fn fixed<T: Number>(
    buffer: &Buffer,
    start: usize,
    rows: usize,
    headroom: usize,
) -> Result<ScalarBuffer<T>> {
    let len = buffer.len().saturating_sub(start);
    if rows.checked_mul(T::WIDTH) != Some(len) {
        return Err(wrong_length(len as u64, rows as u64, T::WIDTH));
    }
    let aligned = headroom.saturating_add(start).is_multiple_of(T::WIDTH);
    if aligned && cfg!(target_endian = "little") {
        return Ok(ScalarBuffer::new(buffer.slice(start), 0, rows));
    }
    Ok(T::copied(buffer.get(start..).unwrap_or_default(), Order::Little))
}

/// Decodes the texts of a block: the start of each, then all bytes (§3.3).
fn texts<O: OffsetSizeTrait>(
    buffer: &Buffer,
    start: usize,
    rows: usize,
    nulls: Option<NullBuffer>,
    column: &ColumnEntry,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    let mut cursor = Cursor::new(buffer.get(start..).unwrap_or_default(), start as u64);
    let starts_len = rows.saturating_mul(4);
    let (starts, _) = at_block(cursor.take(starts_len, "string offsets"), column)?.as_chunks::<4>();
    let blob = buffer.slice(start.saturating_add(starts_len));
    let offsets = offsets::<O>(starts, blob.len(), nulls.as_ref())?;
    if let Some(first) = offsets.first().filter(|first| first.as_usize() > 0) {
        report_unowned_text(first.as_usize(), column, cx)?;
    }
    text::array::<O>(offsets, blob, nulls, 0, column, cx)
}

/// Computes Arrow's offsets from the start of each row (F1, F2, F15).
///
/// A row ends where the next row that is not null starts, and the last row ends with the bytes.
/// The start of a null row is meaningless. So this walks the rows backwards and gives a null
/// row no bytes.
pub(super) fn offsets<O: OffsetSizeTrait>(
    starts: &[[u8; 4]],
    blob: usize,
    nulls: Option<&NullBuffer>,
) -> Result<Vec<O>> {
    let mut offsets = vec![O::usize_as(0); starts.len().saturating_add(1)];
    let mut end = blob;
    if let Some(last) = offsets.last_mut() {
        *last = O::usize_as(blob);
    }
    for (row, (slot, start)) in offsets.iter_mut().zip(starts).enumerate().rev() {
        if nulls.is_none_or(|nulls| nulls.is_valid(row)) {
            let start = u32::from_le_bytes(*start) as usize;
            if start > end {
                return Err(past(start as u64, end as u64).in_row(row as u64));
            }
            end = start;
        }
        *slot = O::usize_as(end);
    }
    Ok(offsets)
}

/// Replaces an offset in the decompressed content by the offset of the block.
fn at_block<T>(result: Result<T>, column: &ColumnEntry) -> Result<T> {
    result.map_err(|err| match err.kind() {
        ErrorKind::Truncated { what, needed, left } => {
            let why = format!("needs {needed} bytes of the block, {left} left");
            Error::malformed(what, why).at(column.block.offset)
        }
        _ => err,
    })
}
