//! CLMN's blocks: arrays to bytes, in the form that every known reader accepts (§5).

use arrow_array::ArrayRef;

use super::Clmn;
use crate::formats::columnfile::{ColumnToWrite, check_columns, plain, refuse_duplicates};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::options::{DuplicateNames, WriteOptions};
use hypostyle_core::types::ColumnType;
use hypostyle_core::wire::numbers::Order;
use hypostyle_core::wire::prefixed::{Prefix, U16Be};

/// The largest content of a block.
///
/// It stays below 2^31, since a known reader treats sizes as signed (N5); the margin is for what
/// deflate adds to incompressible data.
const MAX_RAW_BYTES: u64 = (1 << 31) - (1 << 20);

/// Refuses a table that CLMN cannot store.
pub(super) fn check(columns: &[ColumnToWrite], options: &WriteOptions) -> Result<()> {
    if i32::try_from(columns.len()).is_err() {
        return Err(Error::refused(
            Refusal::TooLarge,
            "CLMN has at most 2^31-1 columns",
            "split the table",
        ));
    }
    check_columns::<Clmn>(columns, check_column)?;
    let way_out = match options.duplicate_names {
        DuplicateNames::Refuse => "rename one",
        DuplicateNames::Keep => "rename one: readers of CLMN refuse both",
    };
    refuse_duplicates(columns, trimmed, way_out) // N11, N12
}

/// Appends the content of a block.
pub(super) fn block(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()> {
    if column.column_type.width().is_some() {
        return plain::put_numbers(arrays, Order::Big, column.value_bytes(), out);
    }
    plain::put_texts::<U16Be>(arrays, &column.stats, out)?;
    if column.options.compat.clmn_pad_last_empty && column.stats.ends_empty {
        out.push(0); // N10
    }
    Ok(())
}

/// Trims a name as a known reader does, which uses Java's `trim` (N12).
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c| c <= ' ')
}

fn check_column(column: &ColumnToWrite) -> Result<()> {
    let stats = &column.stats;
    if trimmed(&column.name).is_empty() {
        return Err(Error::refused(
            Refusal::EmptyName,
            "CLMN has no columns without a name",
            "give it a name",
        ));
    }
    if column.name.len() as u64 > U16Be::MAX {
        let why = format!("a name of {} bytes is over CLMN's limit of 65535", column.name.len());
        return Err(Error::refused(
            Refusal::NamesTooLong,
            why,
            "shorten it, or write COLM or COLF",
        )); // N7
    }
    if let Some(row) = stats.first_null {
        return Err(Error::refused(
            Refusal::NullsNotSupported,
            "CLMN has no nulls",
            "write COLF, or store the column as text with a word for null",
        )
        .in_row(row)); // N14
    }
    if let Some((row, len)) = stats.longest
        && len > U16Be::MAX
    {
        let why = format!("a text of {len} bytes is over CLMN's limit of 65535");
        return Err(Error::refused(Refusal::TextTooLong, why, "write COLM or COLF").in_row(row)); // N7
    }
    let prefixes = if column.column_type == ColumnType::Text {
        stats.rows.saturating_mul(U16Be::BYTES as u64)
    } else {
        0
    };
    let raw = column.value_bytes().saturating_add(prefixes);
    if raw > MAX_RAW_BYTES {
        let why = format!("{raw} bytes are over CLMN's limit of {MAX_RAW_BYTES} a column");
        return Err(Error::refused(Refusal::TooLarge, why, "split the table, or write COLM")); // N5, N6
    }
    Ok(())
}
