//! CLMN's blocks: bytes to arrays (§3).

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use crate::formats::columnfile::{
    BlockStreams, ColumnEntry, ColumnStream, DecodeContext, plain, plain_stream,
};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::U16Be;

/// Decodes the content of a block.
pub(super) fn block(
    mut content: MutableBuffer,
    entry: &ColumnEntry,
    rows: usize,
    cx: &DecodeContext<'_>,
) -> Result<ArrayRef> {
    if let Some(used) = used_by_numbers(entry, rows as u64)? {
        plain::report_leftover(content.len() as u64, used, entry, "N17", cx)?;
        content.truncate(usize::try_from(used).unwrap_or(usize::MAX));
    }
    plain::decode::<U16Be>(content, Order::Big, entry, rows, "N17", cx)
}

/// Starts to decode a block as a scan moves on.
pub(super) fn stream(
    blocks: &BlockStreams,
    entry: &ColumnEntry,
    rows: u64,
    _: &DecodeContext<'_>,
) -> Result<Box<dyn ColumnStream>> {
    used_by_numbers(entry, rows)?;
    plain_stream::open::<U16Be>(blocks, Order::Big, entry, rows, "N17")
}

/// Returns how many bytes of a block its numbers take; `None` for texts.
fn used_by_numbers(entry: &ColumnEntry, rows: u64) -> Result<Option<u64>> {
    let (Some(width), len) = (entry.column_type.width(), entry.block.raw) else { return Ok(None) };
    match width.checked_mul(rows).filter(|&used| used <= len) {
        Some(used) => Ok(Some(used)),
        None => {
            let why = format!("{len} bytes are not {rows} rows of {width} bytes");
            Err(Error::malformed("uncompressed size", why))
        }
    }
}

/// Checks a block of zero bytes, which only a column of zero rows has (N9).
pub(super) fn check_absent(entry: &ColumnEntry, rows: u64, _: &DecodeContext<'_>) -> Result<()> {
    plain::check_absent(entry, rows)
}
