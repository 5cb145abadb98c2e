//! COLM's blocks: bytes to arrays (§3).

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, new_empty_array};

use crate::formats::columnfile::{Content, Context, Plot, text};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::{self, Order};
use hypostyle_core::wire::prefixed::U32Le;

/// The array in a block.
pub(super) fn block(
    content: Content,
    plot: &Plot,
    rows: usize,
    cx: &Context<'_>,
) -> Result<ArrayRef> {
    if let Some(width) = plot.kind.width() {
        check_fixed(content.buffer.len() as u64, rows as u64, width)?;
    }
    match plot.kind {
        ColumnType::Int32 => {
            Ok(Arc::new(Int32Array::new(numbers::in_place(content.buffer, Order::Little), None)))
        }
        ColumnType::Float64 => {
            Ok(Arc::new(Float64Array::new(numbers::in_place(content.buffer, Order::Little), None)))
        }
        ColumnType::Text => text::from_prefixed::<U32Le>(content, plot, rows, "M9", cx),
        ColumnType::Int64 => Err(Error::unsupported("int64")),
    }
}

/// The array of a block of no bytes: only zero rows have one (M11).
pub(super) fn absent(plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef> {
    if rows != 0 || plot.raw != 0 {
        let why = format!("is 0, with {rows} rows and {} uncompressed bytes", plot.raw);
        return Err(Error::malformed("compressed size", why));
    }
    cx.deviations.report("M11", plot.entry, "zero rows are stored as no bytes at all")?;
    Ok(new_empty_array(&plot.kind.data_type()))
}

/// A column of fixed width takes exactly its rows (M9, M19).
fn check_fixed(have: u64, rows: u64, width: u64) -> Result<()> {
    if rows.checked_mul(width) == Some(have) {
        return Ok(());
    }
    let why = format!("{have} bytes are not {rows} rows of {width} bytes");
    Err(Error::malformed("uncompressed size", why))
}
