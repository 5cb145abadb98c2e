//! Numbers in text that come back the same when they are printed (§1.3).

use crate::pack::tables::column::Number;

/// The number that prints as this text, if there is one and it is not too large.
pub(in crate::pack) fn canonical(text: &[u8]) -> Option<i64> {
    Number::parse(text)?.integer()
}

/// The value of digits; `None` if there is anything else, or too many of them.
fn magnitude(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |value, &byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// The value of a text that is this many digits, with zeros in front or not.
pub(in crate::pack) fn padded(text: &[u8], width: usize) -> Option<i64> {
    (text.len() == width).then(|| magnitude(text))?.and_then(|value| i64::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_print_the_same() {
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
