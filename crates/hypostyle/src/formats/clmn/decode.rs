//! CLMN's blocks: bytes to arrays (§3).

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, new_empty_array};

use crate::formats::columnfile::{Content, Context, Plot, text};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{self, Order};
use hypostyle_core::wire::prefixed::U16Be;

/// The array in a block.
pub(super) fn block(
    mut content: Content,
    plot: &Plot,
    rows: usize,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    if let Some(width) = plot.kind.width() {
        let have = content.buffer.len();
        let need = usize::try_from(width).ok().and_then(|width| width.checked_mul(rows));
        let Some(need) = need.filter(|&need| need <= have) else {
            let why = format!("{have} bytes are not {rows} rows of {width} bytes");
            return Err(Error::malformed("uncompressed size", why));
        };
        text::report_leftover(have, need, plot, "N17", cx)?;
        content.buffer.truncate(need);
    }
    let buffer = content.buffer;
    Ok(match plot.kind {
        ColumnType::Int32 => Arc::new(Int32Array::new(numbers::in_place(buffer, Order::Big), None)),
        ColumnType::Int64 => Arc::new(Int64Array::new(numbers::in_place(buffer, Order::Big), None)),
        ColumnType::Float64 => {
            Arc::new(Float64Array::new(numbers::in_place(buffer, Order::Big), None))
        }
        ColumnType::Text => {
            let content = Content { buffer, headroom: content.headroom };
            text::from_prefixed::<U16Be>(content, plot, rows, "N17", cx)?
        }
    })
}

/// The array of a block of no bytes: only zero rows have one (N9).
pub(super) fn absent(plot: &Plot, rows: usize) -> Result<ArrayRef> {
    if rows != 0 || plot.raw != 0 {
        let why = format!("is 0, with {rows} rows and {} uncompressed bytes", plot.raw);
        return Err(Error::malformed("compressed size", why));
    }
    Ok(new_empty_array(&plot.kind.data_type()))
}
