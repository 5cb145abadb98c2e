//! Blocks without nulls: numbers one after the other, or texts each after its length.
//!
//! COLM and CLMN store all columns like this; Parquet calls it the plain encoding.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int32Array, Int64Array, OffsetSizeTrait};
use arrow_buffer::MutableBuffer;
use arrow_schema::DataType;

use super::block_format::DecodeContext;
use super::layout::ColumnEntry;
use super::{text, values};
use hypostyle_core::column_source::ColumnStats;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{self, Number, Order};
use hypostyle_core::wire::prefixed::{Prefix, unprefix};

/// Decodes a block: numbers in this byte order, or texts after a prefix `P`.
///
/// Numbers must fill the content. Bytes after the last text are reported under `leftover_code`.
pub(crate) fn decode<P: Prefix>(
    content: MutableBuffer,
    order: Order,
    entry: &ColumnEntry,
    rows: usize,
    leftover_code: &'static str,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    Ok(match entry.column_type {
        ColumnType::Int32 => Arc::new(Int32Array::new(numbers::in_place(content, order), None)),
        ColumnType::Int64 => Arc::new(Int64Array::new(numbers::in_place(content, order), None)),
        ColumnType::Float64 => Arc::new(Float64Array::new(numbers::in_place(content, order), None)),
        ColumnType::Text if i32::try_from(entry.block.raw).is_ok() => {
            decode_texts::<P, i32>(content, entry, rows, leftover_code, cx)?
        }
        ColumnType::Text => decode_texts::<P, i64>(content, entry, rows, leftover_code, cx)?,
    })
}

fn decode_texts<P: Prefix, O: OffsetSizeTrait>(
    mut content: MutableBuffer,
    entry: &ColumnEntry,
    rows: usize,
    leftover_code: &'static str,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    let found = unprefix::<P, O>(content.as_slice_mut(), rows)?;
    report_leftover(content.len() as u64, found.consumed as u64, entry, leftover_code, cx)?;
    let text_len = found.offsets.last().map_or(0, |end| end.as_usize());
    content.truncate(text_len);
    text::array::<O>(found.offsets, content.into(), None, 0, entry, cx)
}

/// Reports bytes of a block after the last value.
pub(crate) fn report_leftover(
    len: u64,
    used: u64,
    entry: &ColumnEntry,
    code: &'static str,
    cx: &DecodeContext<'_>,
) -> Result<()> {
    match len.checked_sub(used) {
        None | Some(0) => Ok(()),
        Some(extra) => {
            let message = format!("{extra} bytes are left over after the last value of a block");
            cx.deviations.report(code, entry.block.offset, message)
        }
    }
}

/// Checks a column that is stored as zero bytes: it must have zero rows.
pub(crate) fn check_absent(entry: &ColumnEntry, rows: u64) -> Result<()> {
    if rows != 0 || entry.block.raw != 0 {
        let why = format!("is 0, with {rows} rows and {} uncompressed bytes", entry.block.raw);
        return Err(Error::malformed("compressed size", why));
    }
    Ok(())
}

/// Appends the numbers of every array; they take `total` bytes.
pub(crate) fn put_numbers(
    arrays: &[ArrayRef],
    order: Order,
    total: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    values::reserve(total, out)?;
    for array in arrays {
        match array.data_type() {
            DataType::Int32 => i32::put(array.as_primitive::<Int32Type>().values(), order, out),
            DataType::Int64 => i64::put(array.as_primitive::<Int64Type>().values(), order, out),
            DataType::Float64 => f64::put(array.as_primitive::<Float64Type>().values(), order, out),
            other => return Err(values::wrong_type(other)),
        }
    }
    Ok(())
}

/// Appends the texts of every array, each after its length.
pub(crate) fn put_texts<P: Prefix>(
    arrays: &[ArrayRef],
    stats: &ColumnStats,
    out: &mut Vec<u8>,
) -> Result<()> {
    let prefixes = stats.rows.saturating_mul(P::BYTES as u64);
    values::reserve(stats.text_bytes.saturating_add(prefixes), out)?;
    values::for_each_text(arrays, |text| {
        P::put(text.len(), out);
        out.extend_from_slice(text);
    })
}
