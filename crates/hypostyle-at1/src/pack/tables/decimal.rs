//! Decimal numbers in text that print as the same bytes again (§1.3).
//!
//! `hypostyle_core::number::decimal` serves predicates: it accepts every spelling of a
//! number and keeps the value only. Here the spelling must be restored, so only one is
//! accepted, and the scale is part of the number.

use std::cmp::Ordering;

/// Magnitudes stay below this, so that the difference of two numbers fits in 64 bits (§12).
const MAGNITUDE_LIMIT: u64 = 1 << 62;

/// Maximum number of digits after the point that the format can store.
pub(in crate::pack) const MAX_SCALE: usize = 18;

/// A number whose printed form is exactly the text that it was parsed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pack) struct CanonicalNumber {
    /// The number times 10 to the power of `scale`.
    pub(in crate::pack) value: i64,
    /// Digits after the point; 0 if there is no point.
    pub(in crate::pack) scale: u8,
}

impl CanonicalNumber {
    /// Parses a cell; returns `None` if the number would be printed differently, or is
    /// too large.
    pub(in crate::pack) fn parse(text: &[u8]) -> Option<Self> {
        let (negative, magnitude) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let point = magnitude.iter().position(|&byte| byte == b'.');
        let whole = magnitude.get(..point.unwrap_or(magnitude.len()))?;
        let fraction =
            point.map_or(&[][..], |point| magnitude.get(point + 1..).unwrap_or_default());
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
            return None;
        }
        if fraction.len() > MAX_SCALE || point.is_some() && fraction.is_empty() {
            return None;
        }
        let value = digits(whole.iter().chain(fraction))?;
        if value >= MAGNITUDE_LIMIT || negative && value == 0 {
            return None;
        }
        let value = i64::try_from(value).ok()?;
        let value = if negative { -value } else { value };
        Some(Self { value, scale: u8::try_from(fraction.len()).ok()? })
    }

    /// Compares two numbers approximately, as floats.
    ///
    /// This is exact enough to sort a dictionary; the caller breaks ties by text.
    pub(in crate::pack) fn compare(self, other: Self) -> Ordering {
        let float = |number: Self| number.value as f64 / 10_f64.powi(number.scale.into());
        float(self).total_cmp(&float(other))
    }
}

/// Returns the integer that prints as exactly this text; `None` if there is none, or if it
/// is too large.
pub(in crate::pack) fn canonical(text: &[u8]) -> Option<i64> {
    CanonicalNumber::parse(text).filter(|number| number.scale == 0).map(|number| number.value)
}

/// Returns the value of a text of exactly `width` digits, which may start with zeros.
pub(in crate::pack) fn padded(text: &[u8], width: usize) -> Option<i64> {
    (text.len() == width).then(|| digits(text))?.and_then(|value| i64::try_from(value).ok())
}

/// Returns the value of some digits; `None` for any other byte, and if it exceeds 64 bits.
fn digits<'a>(digits: impl IntoIterator<Item = &'a u8>) -> Option<u64> {
    digits.into_iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_print_as_they_are_are_parsed() {
        let number = |value, scale| Some(CanonicalNumber { value, scale });
        for (text, want) in [
            ("0", number(0, 0)),
            ("-1", number(-1, 0)),
            ("10.50", number(1050, 2)),
            ("-0.05", number(-5, 2)),
            ("0.000000000000000001", number(1, 18)),
            ("4611686018427387903", number((1 << 62) - 1, 0)),
            ("4611686018427387904", None),
            ("0.0000000000000000001", None),
            ("+5", None),
            ("007", None),
            ("00.5", None),
            ("-0", None),
            ("-0.0", None),
            (".5", None),
            ("5.", None),
            ("1e3", None),
            (" 1", None),
            ("", None),
            ("-", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(CanonicalNumber::parse(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn integers_are_those_that_print_the_same() {
        for value in [0, 1, -1, 10, 99, -4_611_686_018_427_387_903, 4_611_686_018_427_387_903] {
            assert_eq!(canonical(value.to_string().as_bytes()), Some(value));
        }
        for text in ["", "-", "-0", "00", "007", "+1", " 1", "1 ", "1.0", "1e3", "x", "--1", "1-"] {
            assert_eq!(canonical(text.as_bytes()), None, "{text}");
        }
        for text in ["4611686018427387904", "-9223372036854775808", "99999999999999999999"] {
            assert_eq!(canonical(text.as_bytes()), None, "{text}");
        }
        assert_eq!(padded(b"0042", 4), Some(42));
        assert_eq!(padded(b"042", 4), None);
        assert_eq!(padded(b"-042", 4), None);
    }
}
