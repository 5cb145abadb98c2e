//! Arrays of a column, appended to the content of a block.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;

use hypostyle_core::error::{Error, Refusal, Result};

/// Calls `each` with the bytes of every text in row order, and with no bytes for a null.
pub(crate) fn for_each_text(arrays: &[ArrayRef], mut each: impl FnMut(&[u8])) -> Result<()> {
    for array in arrays {
        match array.data_type() {
            DataType::Utf8 => texts::<i32>(array, &mut each),
            DataType::LargeUtf8 => texts::<i64>(array, &mut each),
            other => return Err(wrong_type(other)),
        }
    }
    Ok(())
}

fn texts<O: OffsetSizeTrait>(array: &ArrayRef, each: &mut impl FnMut(&[u8])) {
    let array = array.as_string::<O>();
    let data = array.value_data();
    for (row, pair) in array.value_offsets().windows(2).enumerate() {
        let &[start, end] = pair else { continue };
        // The offsets of a null may cover bytes, which are no value.
        let end = if array.is_null(row) { start } else { end };
        each(data.get(start.as_usize()..end.as_usize()).unwrap_or_default());
    }
}

/// Reserves memory for `total` more bytes, or fails.
pub(crate) fn reserve(total: u64, out: &mut Vec<u8>) -> Result<()> {
    let reserved = usize::try_from(total).ok().and_then(|total| out.try_reserve_exact(total).ok());
    reserved.ok_or_else(|| {
        Error::refused(Refusal::TooLarge, "the column does not fit in memory", "split the table")
    })
}

/// Returns the error for an array whose type is not that of its column.
pub(crate) fn wrong_type(data_type: &DataType) -> Error {
    Error::invalid_argument(format!("an array of type {data_type} in a column of another type"))
}
