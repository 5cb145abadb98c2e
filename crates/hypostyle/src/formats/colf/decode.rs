//! COLF's blocks: bytes to arrays (§3).

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, OffsetSizeTrait, new_null_array};
use arrow_buffer::{Buffer, NullBuffer, ScalarBuffer};

use super::{layout, schema};
use crate::formats::columnfile::{Content, Context, Plot, text};
use hypostyle_core::error::{Error, ErrorKind, Result, clipped};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{Number, Order};
use hypostyle_core::wire::{Cursor, bitmap};

/// Type and null flag at the front of a block.
const LEAD: usize = 2;

/// Bytes to leave free so that the values of this column end up aligned.
pub(super) fn headroom(plot: &Plot, rows: usize) -> usize {
    let bits = if plot.null_flag { bitmap::len(rows) } else { 0 };
    let values = LEAD.saturating_add(bits);
    values.wrapping_neg() % 8
}

/// The array in a block.
pub(super) fn block(
    content: Content,
    plot: &Plot,
    rows: usize,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    let buffer = Buffer::from(content.buffer).slice(content.headroom);
    let mut cursor = Cursor::new(&buffer, 0);
    let lead = read_lead(&mut cursor, plot).map_err(|err| err.at(plot.offset))?;
    let has_bitmap = settle_flags(lead, buffer.len() as u64, rows, plot, cx)?;
    let mut nulls = None;
    let mut start = LEAD;
    if has_bitmap {
        let bits = inside(cursor.take(bitmap::len(rows), "null bitmap"), plot)?;
        nulls = bitmap::nulls_from_set_bits(bits, rows);
        start = start.saturating_add(bits.len());
    }
    if nulls.is_some() && !plot.nullable {
        let message = "a column that the schema calls not nullable has nulls";
        cx.deviations.report("F3", plot.entry, message)?;
    }
    match plot.kind {
        ColumnType::Int32 => {
            let values = fixed(&buffer, start, rows, content.headroom)?;
            Ok(Arc::new(Int32Array::try_new(values, nulls)?))
        }
        ColumnType::Float64 => {
            let values = fixed(&buffer, start, rows, content.headroom)?;
            Ok(Arc::new(Float64Array::try_new(values, nulls)?))
        }
        ColumnType::Text if i32::try_from(plot.raw).is_ok() => {
            texts::<i32>(&buffer, start, rows, nulls, plot, cx)
        }
        ColumnType::Text => texts::<i64>(&buffer, start, rows, nulls, plot, cx),
        ColumnType::Int64 => Err(Error::unsupported("int64")),
    }
}

/// The array of a block of no bytes: every row is null (F14).
pub(super) fn absent(plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
    // `File` has checked that the size of the file backs the row count.
    let asked = plot.kind.width().unwrap_or(4).saturating_mul(rows as u64);
    let (what, limit) = ("size of a column that is stored as no bytes", cx.limits.block_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
    }
    let message = format!("the column `{}` is stored as no bytes at all", clipped(&plot.name));
    cx.deviations.report("F14", plot.entry, message)?;
    Ok(new_null_array(&plot.kind.data_type_for(plot.raw), rows))
}

/// The null flag of the block, once its type agrees with the schema (F4).
fn read_lead(cursor: &mut Cursor<'_>, plot: &Plot) -> Result<bool> {
    let code = inside(cursor.u8("data type"), plot)?;
    if Some(code) != schema::code(plot.kind) {
        let why = format!("is {code} in the block, which the schema contradicts");
        return Err(Error::malformed("data type", why));
    }
    layout::flag(inside(cursor.u8("has nulls"), plot)?)
}

/// Decides whether there is a bitmap (F3).
///
/// The flag in the block counts, unless it contradicts the column table and only
/// the other reading fits the size of the block.
fn settle_flags(
    in_block: bool,
    have: u64,
    rows: usize,
    plot: &Plot,
    cx: &Context<'_>,
) -> Result<bool> {
    if in_block == plot.null_flag {
        return Ok(in_block);
    }
    let message = format!(
        "the column table says {} nulls, the block says {}",
        if plot.null_flag { "with" } else { "without" },
        if in_block { "with" } else { "without" },
    );
    cx.deviations.report("F3", plot.entry.saturating_add(24), message)?;
    let Some(width) = plot.kind.width() else { return Ok(in_block) };
    let size_with = |bits: bool| {
        let bits = if bits { bitmap::len(rows) } else { 0 };
        width.checked_mul(rows as u64).and_then(|values| values.checked_add((LEAD + bits) as u64))
    };
    Ok(if size_with(in_block) != Some(have) && size_with(plot.null_flag) == Some(have) {
        plot.null_flag
    } else {
        in_block
    })
}

/// The numbers from `start` to the end of the block, which they must fill.
fn fixed<T: Number>(
    buffer: &Buffer,
    start: usize,
    rows: usize,
    headroom: usize,
) -> Result<ScalarBuffer<T>> {
    let have = buffer.len().saturating_sub(start);
    if rows.checked_mul(T::WIDTH) != Some(have) {
        let why = format!("{have} bytes are not {rows} rows of {} bytes", T::WIDTH);
        return Err(Error::malformed("uncompressed size", why));
    }
    let aligned = headroom.saturating_add(start).is_multiple_of(T::WIDTH);
    if aligned && cfg!(target_endian = "little") {
        return Ok(ScalarBuffer::new(buffer.slice(start), 0, rows));
    }
    Ok(T::copied(buffer.get(start..).unwrap_or_default(), Order::Little))
}

/// The texts of a block: where each starts, then all bytes (§3.3).
fn texts<O: OffsetSizeTrait>(
    buffer: &Buffer,
    start: usize,
    rows: usize,
    nulls: Option<NullBuffer>,
    plot: &Plot,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    let mut cursor = Cursor::new(buffer.get(start..).unwrap_or_default(), start as u64);
    let starts_len = rows.saturating_mul(4);
    let (starts, _) = inside(cursor.take(starts_len, "string offsets"), plot)?.as_chunks::<4>();
    let blob = buffer.slice(start.saturating_add(starts_len));
    let offsets = offsets::<O>(starts, blob.len(), nulls.as_ref())?;
    if let Some(first) = offsets.first().filter(|first| first.as_usize() > 0) {
        let first = first.as_usize();
        let name = clipped(&plot.name);
        let message = format!("the first {first} bytes of text belong to no row of `{name}`");
        cx.deviations.report("F17", plot.offset, message)?;
    }
    text::array::<O>(offsets, blob, nulls, plot, cx)
}

/// Arrow's offsets from the start of each row (F1, F2, F15).
///
/// A row ends where the next row that is not null starts, and the last one at
/// the end of the bytes; what a null row gives as its start means nothing. So
/// the rows are walked backwards, and a null row gets no bytes.
fn offsets<O: OffsetSizeTrait>(
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
                let why = format!("{start} is past {end}, where the next text or the block ends");
                return Err(Error::malformed("string offset", why).in_row(row as u64));
            }
            end = start;
        }
        *slot = O::usize_as(end);
    }
    Ok(offsets)
}

/// Places an error inside the expanded block at the block itself.
fn inside<T>(result: Result<T>, plot: &Plot) -> Result<T> {
    result.map_err(|err| match err.kind() {
        ErrorKind::Truncated { what, needed, left } => {
            let why = format!("needs {needed} bytes of the block, {left} left");
            Error::malformed(what, why).at(plot.offset)
        }
        _ => err,
    })
}
