//! COLM's blocks: bytes to arrays (§3).

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use crate::formats::columnfile::{ColumnEntry, DecodeContext, plain};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::U32Le;

/// Decodes the content of a block.
pub(super) fn block(
    content: MutableBuffer,
    entry: &ColumnEntry,
    rows: usize,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    if let Some(width) = entry.column_type.width() {
        check_fixed(content.len() as u64, rows as u64, width)?;
    }
    plain::decode::<U32Le>(content, Order::Little, entry, rows, "M9", cx)
}

/// Decodes a block of zero bytes, which only a column of zero rows has (M11).
pub(super) fn absent(entry: &ColumnEntry, rows: usize, cx: &DecodeContext<'_>) -> Result<ArrayRef> {
    let array = plain::decode_absent(entry, rows)?;
    cx.deviations.report("M11", entry.entry_offset, "zero rows are stored as no bytes at all")?;
    Ok(array)
}

/// Checks that numbers fill their block exactly (M9, M19).
fn check_fixed(len: u64, rows: u64, width: u64) -> Result<()> {
    if rows.checked_mul(width) == Some(len) {
        return Ok(());
    }
    let why = format!("{len} bytes are not {rows} rows of {width} bytes");
    Err(Error::malformed("uncompressed size", why))
}
