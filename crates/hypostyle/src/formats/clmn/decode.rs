//! CLMN's blocks: bytes to arrays (§3).

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use crate::formats::columnfile::{ColumnEntry, DecodeContext, plain};
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
    if let Some(width) = entry.column_type.width() {
        let len = content.len();
        let needed = usize::try_from(width).ok().and_then(|width| width.checked_mul(rows));
        let Some(needed) = needed.filter(|&needed| needed <= len) else {
            let why = format!("{len} bytes are not {rows} rows of {width} bytes");
            return Err(Error::malformed("uncompressed size", why));
        };
        plain::report_leftover(len, needed, entry, "N17", cx)?;
        content.truncate(needed);
    }
    plain::decode::<U16Be>(content, Order::Big, entry, rows, "N17", cx)
}

/// Decodes a block of zero bytes, which only a column of zero rows has (N9).
pub(super) fn absent(entry: &ColumnEntry, rows: usize) -> Result<ArrayRef> {
    plain::decode_absent(entry, rows)
}
