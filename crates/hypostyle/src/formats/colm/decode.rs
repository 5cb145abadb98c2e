//! COLM's blocks: bytes to arrays (§3).

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use crate::formats::columnfile::{
    BlockStreams, ColumnEntry, ColumnStream, DecodeContext, plain, plain_stream,
};
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

/// Starts to decode a block as a scan moves on.
pub(super) fn stream(
    blocks: &BlockStreams,
    entry: &ColumnEntry,
    rows: u64,
    _: &DecodeContext<'_>,
) -> Result<Box<dyn ColumnStream>> {
    if let Some(width) = entry.column_type.width() {
        check_fixed(entry.block.raw, rows, width)?;
    }
    plain_stream::open::<U32Le>(blocks, Order::Little, entry, rows, "M9")
}

/// Checks a block of zero bytes, which only a column of zero rows has (M11).
pub(super) fn check_absent(entry: &ColumnEntry, rows: u64, cx: &DecodeContext<'_>) -> Result<()> {
    plain::check_absent(entry, rows)?;
    cx.deviations.report("M11", entry.entry_offset, "zero rows are stored as no bytes at all")
}

/// Checks that numbers fill their block exactly (M9, M19).
fn check_fixed(len: u64, rows: u64, width: u64) -> Result<()> {
    if rows.checked_mul(width) == Some(len) {
        return Ok(());
    }
    let why = format!("{len} bytes are not {rows} rows of {width} bytes");
    Err(Error::malformed("uncompressed size", why))
}
