//! COLM's type codes (§2.2).

use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;

const INT32: u8 = 1;
const FLOAT64: u8 = 2;
const STRING: u8 = 3;

/// The kind that a type code stands for.
pub(super) fn kind(code: u8) -> Result<ColumnType> {
    match code {
        INT32 => Ok(ColumnType::Int32),
        FLOAT64 => Ok(ColumnType::Float64),
        STRING => Ok(ColumnType::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 1, 2 or 3"))),
    }
}

/// The code of a kind, if COLM has it (M13).
pub(super) fn code(kind: ColumnType) -> Option<u8> {
    match kind {
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
    fn codes_and_kinds_agree_in_both_directions() {
        for code in 0..=u8::MAX {
            assert!(
                kind(code).is_ok_and(|kind| self::code(kind) == Some(code))
                    == (1..=3).contains(&code)
            );
        }
    }
}
