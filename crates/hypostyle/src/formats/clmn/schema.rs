//! CLMN's type codes (§2.2).

use hypostyle_core::error::{Error, Result};
use hypostyle_core::types::ColumnType;

/// The kind that a type code stands for.
pub(super) fn kind(code: u8) -> Result<ColumnType> {
    match code {
        0 => Ok(ColumnType::Int32),
        1 => Ok(ColumnType::Int64),
        2 => Ok(ColumnType::Float64),
        3 => Ok(ColumnType::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 0, 1, 2 or 3"))),
    }
}

/// The code of a kind.
pub(super) fn code(kind: ColumnType) -> u8 {
    match kind {
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
    fn codes_and_kinds_agree_in_both_directions() {
        for code in 0..=u8::MAX {
            assert_eq!(kind(code).ok().map(self::code), (code <= 3).then_some(code));
        }
    }
}
