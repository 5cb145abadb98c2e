//! Checks before a table is written: what the format cannot store is refused.

use super::block_format::{BlockFormat, ColumnToWrite};
use hypostyle_core::column_source::ColumnStats;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::types::ColumnType;

/// Refuses a column of a type that the format lacks, or one that `check` refuses.
pub(crate) fn check_columns<F: BlockFormat>(
    columns: &[ColumnToWrite],
    check: impl Fn(&ColumnToWrite) -> Result<()>,
) -> Result<()> {
    columns.iter().try_for_each(|column| {
        let checked = match column.column_type {
            ColumnType::Int64 if !F::CAPABILITIES.int64 => Err(no_int64::<F>(&column.stats)),
            _ => check(column),
        };
        checked.map_err(|err| err.in_column(column.index, &column.name))
    })
}

fn no_int64<F: BlockFormat>(stats: &ColumnStats) -> Error {
    let format = F::ID.name().to_ascii_uppercase();
    match stats.first_beyond_i32 {
        Some((row, value)) => {
            let why = format!("{value} is beyond int32, and {format} has no 64-bit integers");
            let way_out = "store the column as text or float64, or write CLMN";
            Error::refused(Refusal::IntegerTooWide, why, way_out).in_row(row)
        }
        None => {
            let why = format!("{format} has no 64-bit integers");
            Error::refused(
                Refusal::IntegerTooWide,
                why,
                "store the column as int32: every value fits",
            )
        }
    }
}

/// Refuses a table in which `normalize` maps the names of two columns to the same name.
pub(crate) fn refuse_duplicates(
    columns: &[ColumnToWrite],
    normalize: impl Fn(&str) -> &str,
    way_out: &'static str,
) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for column in columns {
        if let Some(first) = seen.insert(normalize(&column.name), column.index) {
            let first: usize = first;
            return Err(Error::refused(
                Refusal::DuplicateName,
                format!("has the same name as column {}", first.saturating_add(1)),
                way_out,
            )
            .in_column(column.index, &column.name));
        }
    }
    Ok(())
}
