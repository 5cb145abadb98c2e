//! Reads numbers exactly: only text that is the printed form of its value.

use super::digits;
use super::print::put_float;

/// The smallest number of 16 digits.
const SIXTEEN_DIGITS: u64 = 1_000_000_000_000_000;

/// Powers of ten that an `f64` represents exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Returns the integer that prints as exactly these bytes, if there is one.
#[inline]
pub fn exact_int(cell: &[u8]) -> Option<i64> {
    let (negative, digits) = match cell.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, cell),
    };
    let (&first, rest) = digits.split_first()?;
    if first == b'0' && (negative || !rest.is_empty()) {
        return None; // `-0`, `007`
    }
    if let Some(word) = digits::word(digits) {
        let sum = digits::number(word, digits.len())?.cast_signed();
        return Some(if negative { -sum } else { sum });
    }
    long_int(negative, digits)
}

/// Returns the integer that the `len` lowest bytes of `word` spell, the first byte lowest, as
/// [`exact_int`] reads them; `len` is 1 to 8.
///
/// Text in a buffer is loaded without a look at its length, which would mispredict a branch
/// for each number.
#[cfg(any(test, feature = "csv"))]
#[inline]
pub(crate) fn exact_int_in_word(word: u64, len: usize) -> Option<i64> {
    let negative = word & 0xFF == u64::from(b'-');
    let (digits, len) = if negative { (word >> 8, len - 1) } else { (word, len) };
    if digits & 0xFF == u64::from(b'0') && (negative || len > 1) {
        return None; // `-0`, `007`
    }
    let sum = digits::number(digits, len)?.cast_signed();
    Some(if negative { -sum } else { sum })
}

/// Returns the integer of more than eight digits.
fn long_int(negative: bool, digits: &[u8]) -> Option<i64> {
    if digits.len() > 19 {
        return None;
    }
    let mut sum = 0_u64; // 19 digits stay below 2^64
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum * 10 + u64::from(digit);
    }
    if negative { 0_i64.checked_sub_unsigned(sum) } else { i64::try_from(sum).ok() }
}

/// Returns the float that prints as exactly these bytes, if there is one.
pub fn exact_float(cell: &[u8]) -> Option<f64> {
    match float_spelling(cell) {
        FloatSpelling::Exact(value) => Some(value),
        FloatSpelling::Other => None,
        FloatSpelling::Unclear => {
            let value = match cell {
                b"NaN" => f64::NAN,
                b"Infinity" => f64::INFINITY,
                b"-Infinity" => f64::NEG_INFINITY,
                _ => std::str::from_utf8(cell).ok()?.parse().ok()?,
            };
            let mut printed = Vec::with_capacity(24);
            put_float(value, &mut printed);
            (printed == cell).then_some(value)
        }
    }
}

/// A number with a point, such as `1.50`.
#[cfg(any(test, feature = "csv"))]
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fraction {
    /// All digits as one number.
    pub(crate) mantissa: i128,
    /// The number of digits after the point.
    pub(crate) scale: u8,
    /// The nearest float.
    pub(crate) value: f64,
    /// Whether the float prints as the same text.
    pub(crate) is_exact_float: bool,
}

/// Reads a number with a point and no needless zeros before it, if it is also the printed form
/// of a decimal: all of `1.50`, but not `-0.0`, which no decimal prints as.
#[cfg(any(test, feature = "csv"))]
#[inline]
pub(crate) fn fraction(cell: &[u8]) -> Option<Fraction> {
    let (negative, body) = match cell.split_first() {
        Some((b'-', body)) => (true, body),
        _ => (false, cell),
    };
    let Some(Ok((mantissa, point))) =
        short_decimal(body).map(Ok).or_else(|| (body.len() <= 20).then(|| decimal(body)))
    else {
        return long_fraction(cell);
    };
    let (whole, fraction) = (body.get(..point)?, body.get(point + 1..)?);
    let has_zero = whole.len() > 1 && whole.first() == Some(&b'0');
    if whole.is_empty() || fraction.is_empty() || has_zero || (negative && mantissa == 0) {
        return None;
    }
    let scale = u8::try_from(fraction.len()).ok()?;
    let signed = if negative { -i128::from(mantissa) } else { i128::from(mantissa) };
    let has_zero = fraction.len() > 1 && fraction.last() == Some(&b'0');
    let tiny = whole == b"0" && fraction.len() > 4 && fraction.iter().take(5).all(|&b| b == b'0');
    match POWERS.get(fraction.len()) {
        Some(power) if mantissa < SIXTEEN_DIGITS => {
            #[expect(clippy::cast_precision_loss, reason = "15 digits are below 2^53")]
            let value = mantissa as f64 / power;
            let value = if negative { -value } else { value };
            // Printing uses an exponent below 1e-5.
            let is_exact_float = !has_zero && !tiny;
            Some(Fraction { mantissa: signed, scale, value, is_exact_float })
        }
        _ => with_float(cell, signed, scale),
    }
}

/// Reads a fraction of many digits.
#[cfg(any(test, feature = "csv"))]
fn long_fraction(cell: &[u8]) -> Option<Fraction> {
    let (mantissa, scale) = exact_decimal(cell).filter(|&(_, scale)| scale > 0)?;
    with_float(cell, mantissa, scale)
}

#[cfg(any(test, feature = "csv"))]
fn with_float(cell: &[u8], mantissa: i128, scale: u8) -> Option<Fraction> {
    let exact = exact_float(cell);
    let value = match exact {
        Some(value) => value,
        None => std::str::from_utf8(cell).ok()?.parse().ok()?,
    };
    Some(Fraction { mantissa, scale, value, is_exact_float: exact.is_some() })
}

/// Returns the digits as one number, and how many of them follow the point, of the decimal that
/// prints as exactly these bytes, if it has at most 38 digits.
pub fn exact_decimal(cell: &[u8]) -> Option<(i128, u8)> {
    let (negative, body) = match cell.split_first() {
        Some((b'-', body)) => (true, body),
        _ => (false, cell),
    };
    let point = body.iter().position(|&byte| byte == b'.');
    let (whole, fraction) = match point {
        Some(point) => (body.get(..point)?, body.get(point + 1..)?),
        None => (body, &b""[..]),
    };
    let has_zero = whole.len() > 1 && whole.first() == Some(&b'0');
    let is_spelled = !whole.is_empty() && (point.is_none() || !fraction.is_empty()) && !has_zero;
    if !is_spelled || whole.len() + fraction.len() > MAX_DECIMAL_DIGITS {
        return None;
    }
    let mut mantissa = 0_i128; // 38 digits stay below 2^127
    for byte in whole.iter().chain(fraction) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        mantissa = mantissa * 10 + i128::from(digit);
    }
    let scale = u8::try_from(fraction.len()).ok()?;
    match (negative, mantissa) {
        (true, 0) => None,
        (true, _) => Some((-mantissa, scale)),
        (false, _) => Some((mantissa, scale)),
    }
}

/// The digits of the longest decimals.
const MAX_DECIMAL_DIGITS: usize = 38;

/// The result of comparing a text with the printed form of a float.
enum FloatSpelling {
    /// The text is the printed form of this float.
    Exact(f64),
    /// Only parsing and printing can tell.
    Unclear,
    /// No float prints as this text.
    Other,
}

/// Decides the common case without printing.
///
/// A decimal of at most 15 digits survives the round trip through an `f64`, and no
/// shorter decimal gives the same float. So `digits.digits` without needless zeros is
/// the printed form, unless printing uses an exponent.
fn float_spelling(cell: &[u8]) -> FloatSpelling {
    let (negative, body) = match cell.split_first() {
        Some((b'-', body)) => (true, body),
        _ => (false, cell),
    };
    let (mantissa, point) = match short_decimal(body).map_or_else(|| decimal(body), Ok) {
        Ok(parts) => parts,
        Err(spelling) => return spelling,
    };
    let (whole, fraction) = (body.get(..point), body.get(point + 1..));
    let (Some(whole), Some(fraction)) = (whole, fraction) else { return FloatSpelling::Other };
    let needless_zero = (whole.len() > 1 && whole.first() == Some(&b'0'))
        || (fraction.len() > 1 && fraction.last() == Some(&b'0'));
    if whole.is_empty() || fraction.is_empty() || needless_zero {
        return FloatSpelling::Other;
    }
    // Printing uses an exponent below 1e-5.
    let tiny = whole == b"0" && fraction.len() > 4 && fraction.iter().take(5).all(|&b| b == b'0');
    match POWERS.get(fraction.len()) {
        Some(power) if mantissa < SIXTEEN_DIGITS && !tiny => {
            #[expect(clippy::cast_precision_loss, reason = "15 digits are below 2^53")]
            let value = mantissa as f64 / power;
            FloatSpelling::Exact(if negative { -value } else { value })
        }
        _ => FloatSpelling::Unclear,
    }
}

/// Returns the digits of `digits.digits` as one number, and the position of the point.
fn decimal(body: &[u8]) -> Result<(u64, usize), FloatSpelling> {
    if body.len() > 20 {
        return Err(FloatSpelling::Unclear);
    }
    let mut mantissa = 0_u64; // 19 digits and a point stay below 2^64
    let mut point = None;
    for (at, &byte) in body.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            b'.' if point.is_none() => point = Some(at),
            b'e' | b'N' | b'I' => return Err(FloatSpelling::Unclear),
            _ => return Err(FloatSpelling::Other),
        }
    }
    point.map(|point| (mantissa, point)).ok_or(FloatSpelling::Other)
}

/// Does the same for up to 8 bytes; returns `None` for longer or other text.
#[inline]
fn short_decimal(body: &[u8]) -> Option<(u64, usize)> {
    let word = digits::word(body)?;
    let point = digits::point(word)?;
    let mantissa = digits::number(digits::without(word, point), body.len() - 1)?;
    Some((mantissa, point))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn words_are_read_as_texts(text in "-?[0-9a:/-]{0,7}", after: u64) {
            if !text.is_empty() {
                let mut bytes = after.to_le_bytes();
                bytes[..text.len()].copy_from_slice(text.as_bytes());
                let found = exact_int_in_word(u64::from_le_bytes(bytes), text.len());
                prop_assert_eq!(found, exact_int(text.as_bytes()));
            }
        }

        /// The short cut for fractions agrees with the readers of decimals and floats.
        #[test]
        fn fractions_are_decimals_and_floats(text in "-?[0-9]{1,12}\\.[0-9]{1,12}|-?0\\.0{0,8}[0-9]{1,3}|[0-9.x-]{1,24}|[0-9]{10,25}\\.[0-9]{1,14}") {
            let cell = text.as_bytes();
            let found = fraction(cell);
            let want = exact_decimal(cell).filter(|&(_, scale)| scale > 0);
            prop_assert_eq!(found.map(|it| (it.mantissa, it.scale)), want);
            if let Some(found) = found {
                prop_assert_eq!(found.value, text.parse::<f64>().unwrap());
                prop_assert_eq!(found.is_exact_float, exact_float(cell).is_some());
            }
        }

        #[test]
        fn short_decimals_are_decided_by_their_spelling(m in 0_u64..100_000_000_000_000, k in 0_usize..20) {
            let value: f64 = format!("{m}e-{k}").parse().unwrap();
            let mut text = Vec::new();
            put_float(value, &mut text);
            if !text.contains(&b'e') {
                prop_assert!(matches!(float_spelling(&text), FloatSpelling::Exact(v) if v == value));
            }
        }
    }
}
