//! COLM's blocks: arrays to bytes, in the form that every known reader accepts (§5).

use arrow_array::ArrayRef;

use super::Colm;
use crate::formats::columnfile::{ColumnToWrite, check_columns, plain, refuse_duplicates};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::{Prefix, U32Le};

/// Refuses a table that COLM cannot store.
pub(super) fn check(columns: &[ColumnToWrite], rows: u64, options: &WriteOptions) -> Result<()> {
    if u32::try_from(rows).is_err() {
        let why = format!("COLM counts rows in 32 bits, and there are {rows}");
        return Err(Error::refused(Refusal::TooLarge, why, "split the table"));
    }
    if options.duplicate_names == DuplicateNames::Refuse {
        refuse_duplicates(columns, |name| name, "rename one, or set `DuplicateNames::Keep`")?;
    }
    check_columns::<Colm>(columns, check_column)
}

fn check_column(column: &ColumnToWrite) -> Result<()> {
    if let Some(row) = column.stats.first_null {
        return Err(Error::refused(
            Refusal::NullsNotSupported,
            "COLM has no nulls",
            "write COLF, or store the column as text with a word for null",
        )
        .in_row(row));
    }
    if let Some((row, len)) = column.stats.longest
        && len > U32Le::MAX
    {
        let why = format!("a text of {len} bytes is over COLM's limit of {}", U32Le::MAX);
        return Err(Error::refused(Refusal::TextTooLong, why, "shorten the text").in_row(row));
    }
    Ok(())
}

/// Appends the content of a block.
pub(super) fn block(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
    match column.column_type.width() {
        Some(_) => plain::put_numbers(arrays, Order::Little, column.value_bytes(), out),
        None => plain::put_texts::<U32Le>(arrays, &column.stats, out),
    }
}
