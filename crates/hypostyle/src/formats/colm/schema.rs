//! COLM's type codes (§2.2).

use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;

const INT32: u8 = 1;
const FLOAT64: u8 = 2;
const STRING: u8 = 3;

/// Returns the column type of a type code.
pub(super) fn column_type(code: u8) -> Result<ColumnType> {
    match code {
        INT32 => Ok(ColumnType::Int32),
        FLOAT64 => Ok(ColumnType::Float64),
        STRING => Ok(ColumnType::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 1, 2 or 3"))),
    }
}

/// Returns the type code of a column type, if COLM has the type (M13).
pub(super) fn code(column_type: ColumnType) -> Option<u8> {
    match column_type {
        ColumnType::Int32 => Some(INT32),
        ColumnType::Float64 => Some(FLOAT64),
        ColumnType::Text => Some(STRING),
        ColumnType::Int64 => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_types_agree_in_both_directions() {
        for code in 0..=u8::MAX {
            let back = column_type(code).ok().and_then(self::code);
            assert_eq!(back, (1..=3).contains(&code).then_some(code));
        }
    }
}
