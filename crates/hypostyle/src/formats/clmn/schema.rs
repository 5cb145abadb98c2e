//! CLMN's type codes (§2.2).

use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;

/// Returns the column type of a type code.
pub(super) fn column_type(code: u8) -> Result<ColumnType> {
    match code {
        0 => Ok(ColumnType::Int32),
        1 => Ok(ColumnType::Int64),
        2 => Ok(ColumnType::Float64),
        3 => Ok(ColumnType::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 0, 1, 2 or 3"))),
    }
}

/// Returns the type code of a column type.
pub(super) fn code(column_type: ColumnType) -> u8 {
    match column_type {
        ColumnType::Int32 => 0,
        ColumnType::Int64 => 1,
        ColumnType::Float64 => 2,
        ColumnType::Text => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_types_agree_in_both_directions() {
        for code in 0..=u8::MAX {
            assert_eq!(column_type(code).ok().map(self::code), (code <= 3).then_some(code));
        }
    }
}
