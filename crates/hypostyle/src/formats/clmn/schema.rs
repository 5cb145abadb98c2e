//! CLMN's type codes (§2.2).

use crate::error::{Error, Result};
use crate::formats::Kind;

/// The kind that a type code stands for.
pub(super) fn kind(code: u8) -> Result<Kind> {
    match code {
        0 => Ok(Kind::Int32),
        1 => Ok(Kind::Int64),
        2 => Ok(Kind::Float64),
        3 => Ok(Kind::Text),
        _ => Err(Error::malformed("data type", format!("{code} is not 0, 1, 2 or 3"))),
    }
}

/// The code of a kind.
pub(super) fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Int32 => 0,
        Kind::Int64 => 1,
        Kind::Float64 => 2,
        Kind::Text => 3,
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
