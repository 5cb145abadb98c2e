//! Pieces of a column on their way into a block.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;

use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::table::ColumnStats;
use hypostyle_core::wire::numbers::{Number, Order};
use hypostyle_core::wire::prefixed::Prefix;

/// Appends the numbers of every piece.
pub(in crate::formats) fn put_numbers(
    pieces: &[ArrayRef],
    order: Order,
    total: u64,
    out: &mut Vec<u8>,
) -> Result<()> {
    reserve(total, out)?;
    for piece in pieces {
        match piece.data_type() {
            DataType::Int32 => i32::put(piece.as_primitive::<Int32Type>().values(), order, out),
            DataType::Int64 => i64::put(piece.as_primitive::<Int64Type>().values(), order, out),
            DataType::Float64 => f64::put(piece.as_primitive::<Float64Type>().values(), order, out),
            other => return Err(mixed(other)),
        }
    }
    Ok(())
}

/// Appends the texts of every piece, each behind its length.
pub(in crate::formats) fn put_prefixed<P: Prefix>(
    pieces: &[ArrayRef],
    stats: &ColumnStats,
    out: &mut Vec<u8>,
) -> Result<()> {
    let prefixes = stats.rows.saturating_mul(P::BYTES as u64);
    reserve(stats.text_bytes.saturating_add(prefixes), out)?;
    for_each_text(pieces, |text| {
        P::put(text.len(), out);
        out.extend_from_slice(text);
    })
}

/// Calls `each` with the bytes of every text in row order; nulls give no bytes.
pub(in crate::formats) fn for_each_text(
    pieces: &[ArrayRef],
    mut each: impl FnMut(&[u8]),
) -> Result<()> {
    for piece in pieces {
        match piece.data_type() {
            DataType::Utf8 => texts::<i32>(piece, &mut each),
            DataType::LargeUtf8 => texts::<i64>(piece, &mut each),
            other => return Err(mixed(other)),
        }
    }
    Ok(())
}

fn texts<O: OffsetSizeTrait>(piece: &ArrayRef, each: &mut impl FnMut(&[u8])) {
    let array = piece.as_string::<O>();
    let data = array.value_data();
    for (row, pair) in array.value_offsets().windows(2).enumerate() {
        let &[start, end] = pair else { continue };
        // A null slot may cover bytes; they are nobody's.
        let end = if array.is_null(row) { start } else { end };
        each(data.get(start.as_usize()..end.as_usize()).unwrap_or_default());
    }
}

/// Takes memory for `total` bytes, which have been counted, or fails.
pub(in crate::formats) fn reserve(total: u64, out: &mut Vec<u8>) -> Result<()> {
    let taken = usize::try_from(total).ok().and_then(|total| out.try_reserve_exact(total).ok());
    taken.ok_or_else(|| {
        Error::refused(Refusal::TooLarge, "the column does not fit in memory", "split the table")
    })
}

fn mixed(data_type: &DataType) -> Error {
    Error::invalid_argument(format!("a piece of type {data_type} in a column of another type"))
}
