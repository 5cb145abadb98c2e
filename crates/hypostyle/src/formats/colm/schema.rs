//! COLM's type codes (§2.2).

use crate::error::{Error, Result};
use crate::formats::Kind;

const INT32: u8 = 1;
const FLOAT64: u8 = 2;
const STRING: u8 = 3;

/// The kind that a type code stands for.
pub(super) fn kind(code: u8) -> Result<Kind> {
    match code {
        INT32 => Ok(Kind::Int32),
        FLOAT64 => Ok(Kind::Float64),
        STRING => Ok(Kind::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 1, 2 or 3"))),
    }
}

/// The code of a kind, if COLM has it (M13).
pub(super) fn code(kind: Kind) -> Option<u8> {
    match kind {
        Kind::Int32 => Some(INT32),
        Kind::Float64 => Some(FLOAT64),
        Kind::Text => Some(STRING),
        Kind::Int64 => None,
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
