//! COLF's blocks: arrays to bytes, in the form that every known reader accepts (§5).

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Float64Type, Int32Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::Colf;
use super::schema::{self, has_nulls};
use crate::formats::columnfile::{ColumnToWrite, check_columns, refuse_duplicates, values};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::bitmap;
use hypostyle_core::wire::numbers::{Number, Order};

/// Refuses a table that COLF cannot store.
pub(super) fn check(columns: &[ColumnToWrite], options: &WriteOptions) -> Result<()> {
    if options.duplicate_names == DuplicateNames::Refuse {
        refuse_duplicates(columns, |name| name, "rename one, or set `DuplicateNames::Keep`")?;
    }
    check_columns::<Colf>(columns, check_column)
}

fn check_column(column: &ColumnToWrite) -> Result<()> {
    if u32::try_from(column.stats.text_bytes).is_err() && column.column_type == ColumnType::Text {
        let bytes = column.stats.text_bytes;
        let why = format!("{bytes} bytes of text are over COLF's limit of {} a column", u32::MAX);
        return Err(Error::refused(Refusal::TooLarge, why, "split the table, or write COLM")); // F7
    }
    Ok(())
}

/// Appends the content of a block.
pub(super) fn block(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
    let rows = column.stats.rows;
    let starts = if column.column_type == ColumnType::Text { rows.saturating_mul(4) } else { 0 };
    let bits = rows.div_ceil(8).saturating_add(2);
    values::reserve(column.value_bytes().saturating_add(starts).saturating_add(bits), out)?;
    out.push(schema::code(column.column_type).unwrap_or_default());
    out.push(u8::from(has_nulls(column)));
    if has_nulls(column) {
        let nulls: Vec<_> = arrays.iter().map(|array| nulls_of(array, column)).collect();
        let runs = arrays.iter().zip(&nulls).map(|(array, nulls)| (array.len(), nulls.as_ref()));
        bitmap::put_null_bits(runs, out);
    }
    match column.column_type {
        ColumnType::Int32 => put_fixed::<Int32Type>(arrays, out),
        ColumnType::Float64 => put_fixed::<Float64Type>(arrays, out),
        _ => put_texts(arrays, out),
    }
}

/// Returns the validity of an array; with `colf_empty_as_null`, empty texts are null too (F2).
fn nulls_of(array: &ArrayRef, column: &ColumnToWrite) -> Option<NullBuffer> {
    if !column.options.compat.colf_empty_as_null {
        return array.nulls().cloned();
    }
    match array.data_type() {
        DataType::Utf8 => Some(not_empty::<i32>(array)),
        DataType::LargeUtf8 => Some(not_empty::<i64>(array)),
        _ => array.nulls().cloned(),
    }
}

fn not_empty<O: OffsetSizeTrait>(array: &ArrayRef) -> NullBuffer {
    array.as_string::<O>().iter().map(|text| text.is_some_and(|text| !text.is_empty())).collect()
}

/// Appends numbers, with 0 for a null (F11).
fn put_fixed<T: ArrowPrimitiveType>(arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()>
where
    T::Native: Number,
{
    for array in arrays {
        let array =
            array.as_primitive_opt::<T>().ok_or_else(|| values::wrong_type(array.data_type()))?;
        if array.null_count() == 0 {
            T::Native::put(array.values(), Order::Little, out);
        } else {
            let values: Vec<T::Native> = array.iter().map(Option::unwrap_or_default).collect();
            T::Native::put(&values, Order::Little, out);
        }
    }
    Ok(())
}

/// Appends the start of each text, then all bytes.
///
/// A null starts where the next row does, so that all known readers find the same ends (F1).
fn put_texts(arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
    let mut start = 0_u32;
    values::for_each_text(arrays, |text| {
        out.extend_from_slice(&start.to_le_bytes());
        start = start.saturating_add(u32::try_from(text.len()).unwrap_or(u32::MAX));
    })?;
    values::for_each_text(arrays, |text| out.extend_from_slice(text))
}
