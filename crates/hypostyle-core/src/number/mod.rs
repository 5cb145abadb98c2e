//! Numbers as text: one way to print them, two ways to read them.
//!
//! *Exact* reading takes a cell only if printing the value gives the very same
//! bytes, so that a column can be typed and still come back unchanged. *Liberal*
//! reading takes anything that people would call a number.

pub mod decimal;
mod digits;

/// How NaN is spelled in every text this crate writes.
pub const NAN: &str = "NaN";
/// How positive infinity is spelled.
pub const INFINITY: &str = "Infinity";
/// How negative infinity is spelled.
pub const NEG_INFINITY: &str = "-Infinity";

/// Whole numbers up to this size are exact in a float.
const EXACT_IN_FLOAT: u64 = 1 << 53;

/// The least number of more than 15 digits.
const FIFTEEN_DIGITS: u64 = 1_000_000_000_000_000;

/// Powers of ten that a float holds exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Appends an integer in decimal.
pub fn put_int(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0_u8; 20];
    let mut rest = value.unsigned_abs();
    let mut len = 0;
    for slot in digits.iter_mut().rev() {
        *slot = b'0' + u8::try_from(rest % 10).unwrap_or_default();
        rest /= 10;
        len += 1;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(digits.get(20 - len..).unwrap_or_default());
}

/// Appends a float: the shortest digits that read back to the same value, always
/// with a point or an exponent, so that it never looks like an integer.
pub fn put_float(value: f64, out: &mut Vec<u8>) {
    let mut buffer = ryu::Buffer::new();
    let text = if value.is_nan() {
        NAN
    } else if value == f64::INFINITY {
        INFINITY
    } else if value == f64::NEG_INFINITY {
        NEG_INFINITY
    } else {
        buffer.format_finite(value)
    };
    out.extend_from_slice(text.as_bytes());
}

/// Appends a float of 32 bits, with the digits that tell it from its neighbours.
pub fn put_float32(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else {
        put_float(f64::from(value), out);
    }
}

/// The integer that prints as exactly these bytes, if there is one.
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

/// The float that prints as exactly these bytes, if there is one.
pub fn exact_float(cell: &[u8]) -> Option<f64> {
    match exact_float_by_shape(cell) {
        Shape::Exact(value) => Some(value),
        Shape::Other => None,
        Shape::Unclear => {
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

/// Whether a finite float, read from `text`, prints as exactly that.
#[cfg(any(test, feature = "json"))]
pub(crate) fn prints_as(value: f64, text: &str) -> bool {
    match exact_float_by_shape(text.as_bytes()) {
        Shape::Exact(_) => true,
        Shape::Other => false,
        Shape::Unclear => ryu::Buffer::new().format_finite(value) == text,
    }
}

enum Shape {
    Exact(f64),
    Unclear,
    Other,
}

/// Settles the common case without printing.
///
/// A decimal of at most 15 digits comes back from a float unchanged, and no
/// shorter decimal gives the same float: so `digits.digits` without needless
/// zeros is what printing would give, as long as printing uses no exponent.
fn exact_float_by_shape(cell: &[u8]) -> Shape {
    let (negative, body) = match cell.split_first() {
        Some((b'-', body)) => (true, body),
        _ => (false, cell),
    };
    let (mantissa, point) = match short_decimal(body).map_or_else(|| decimal(body), Ok) {
        Ok(parts) => parts,
        Err(shape) => return shape,
    };
    let (whole, fraction) = (body.get(..point), body.get(point + 1..));
    let (Some(whole), Some(fraction)) = (whole, fraction) else { return Shape::Other };
    let needless_zero = (whole.len() > 1 && whole.first() == Some(&b'0'))
        || (fraction.len() > 1 && fraction.last() == Some(&b'0'));
    if whole.is_empty() || fraction.is_empty() || needless_zero {
        return Shape::Other;
    }
    // Printing turns to an exponent below 1e-5.
    let tiny = whole == b"0" && fraction.len() > 4 && fraction.iter().take(5).all(|&b| b == b'0');
    match POWERS.get(fraction.len()) {
        Some(power) if mantissa < FIFTEEN_DIGITS && !tiny => {
            #[expect(clippy::cast_precision_loss, reason = "15 digits are below 2^53")]
            let value = mantissa as f64 / power;
            Shape::Exact(if negative { -value } else { value })
        }
        _ => Shape::Unclear,
    }
}

/// The digits of `digits.digits` as one number, and the place of the point.
fn decimal(body: &[u8]) -> Result<(u64, usize), Shape> {
    if body.len() > 20 {
        return Err(Shape::Unclear);
    }
    let mut mantissa = 0_u64; // 19 digits and a point stay below 2^64
    let mut point = None;
    for (at, &byte) in body.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
            }
            b'.' if point.is_none() => point = Some(at),
            b'e' | b'N' | b'I' => return Err(Shape::Unclear),
            _ => return Err(Shape::Other),
        }
    }
    point.map(|point| (mantissa, point)).ok_or(Shape::Other)
}

/// The same for a few digits; `None` if there are more, or something else.
#[inline]
fn short_decimal(body: &[u8]) -> Option<(u64, usize)> {
    let word = digits::word(body)?;
    let point = digits::point(word)?;
    let mantissa = digits::number(digits::without(word, point), body.len() - 1)?;
    Some((mantissa, point))
}

/// What a cell is when anything that looks like a number will do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Liberal {
    /// A whole number.
    Int(i64),
    /// Any other number.
    Float(f64),
}

impl Liberal {
    /// The number as a float; `None` if that would change a whole number.
    pub fn to_float(self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "the guard has excluded any loss")]
            Self::Int(int) if int.unsigned_abs() <= EXACT_IN_FLOAT => Some(int as f64),
            Self::Int(_) => None,
            Self::Float(float) => Some(float),
        }
    }
}

/// Reads a number with signs, leading zeros, exponents and outer spaces allowed.
///
/// `nan`, `inf` and `infinity` count in any case. Digit groups, suffixes and
/// hexadecimal do not. A whole number beyond 64 bits is not a number here, since
/// a float would change its digits, and nor is `1e400`, which would be infinite.
pub fn liberal(cell: &[u8]) -> Option<Liberal> {
    let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.parse().ok().map(Liberal::Int);
    }
    let value: f64 = text.parse().ok()?;
    let spelled_out = unsigned.starts_with(['i', 'I']);
    (!value.is_infinite() || spelled_out).then_some(Liberal::Float(value))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn printed(value: f64) -> String {
        let mut out = Vec::new();
        put_float(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn exact_takes_only_what_comes_back_the_same() {
        for good in ["0", "-1", "9223372036854775807", "-9223372036854775808", "10"] {
            assert!(exact_int(good.as_bytes()).is_some(), "{good}");
        }
        let no_int = [
            "",
            "-",
            "-0",
            "00501",
            "+5",
            "1_000",
            "9223372036854775808",
            " 5",
            "5 ",
            "1.0",
            "1e3",
            "99999999999999999999",
            "0x1",
            "٣",
        ];
        for bad in no_int {
            assert_eq!(exact_int(bad.as_bytes()), None, "{bad}");
        }
        for good in [
            "1.5",
            "-0.0",
            "0.0",
            "68000.25",
            "1e16",
            "1e-6",
            "0.00001",
            "5e-324",
            "1.7976931348623157e308",
            "0.30000000000000004",
            "NaN",
            "Infinity",
            "-Infinity",
        ] {
            let value = exact_float(good.as_bytes()).unwrap_or_else(|| panic!("{good}"));
            assert_eq!(printed(value), good);
        }
        for bad in [
            "1.50",
            "1",
            "1.",
            ".5",
            "1e3",
            "+1.5",
            "01.5",
            "-01.5",
            "1.5 ",
            "nan",
            "inf",
            "0.000001",
            "1e+16",
            "1E16",
            "00.5",
            "0.10000000000000001",
            "1.0e16",
            "10D",
            "5f",
            "0x1p3",
            "",
            "-",
            ".",
            "-.",
            "1..5",
            "1.5.",
            "infinity",
            "1000000000000000000000.0",
        ] {
            assert_eq!(exact_float(bad.as_bytes()).map(printed), None, "{bad}");
        }
    }

    #[test]
    fn liberal_takes_what_people_call_numbers() {
        assert_eq!(liberal(b"+5"), Some(Liberal::Int(5)));
        assert_eq!(liberal(b" 00501 "), Some(Liberal::Int(501)));
        assert_eq!(liberal(b"1.50"), Some(Liberal::Float(1.5)));
        assert_eq!(liberal(b"1e3"), Some(Liberal::Float(1000.0)));
        assert_eq!(liberal(b"-inf"), Some(Liberal::Float(f64::NEG_INFINITY)));
        assert_eq!(liberal(b"+Infinity"), Some(Liberal::Float(f64::INFINITY)));
        assert_eq!(liberal(b"1e-400"), Some(Liberal::Float(0.0)));
        let no_number = [
            "",
            "-",
            "10D",
            "5f",
            "0x1p3",
            "1_000",
            "99999999999999999999",
            "two",
            "1e400",
            "-1.5e309",
            "+ 5",
            "--5",
            "1 2",
            "e5",
            "infinit",
            "in",
        ];
        for bad in no_number {
            assert_eq!(liberal(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(Liberal::Int((1 << 53) + 1).to_float(), None);
    }

    proptest! {
        #[test]
        fn every_float_is_read_back_exactly(bits: u64) {
            let value = f64::from_bits(bits);
            let text = printed(value);
            let back = exact_float(text.as_bytes()).expect("its own print");
            prop_assert!(back.to_bits() == bits || (back.is_nan() && value.is_nan()));
            prop_assert!(!value.is_finite() || prints_as(value, &text));
        }

        #[test]
        fn every_integer_is_read_back_exactly(value: i64) {
            let mut out = Vec::new();
            put_int(value, &mut out);
            prop_assert_eq!(&out, &value.to_string().into_bytes());
            prop_assert_eq!(exact_int(&out), Some(value));
        }

        /// The short cut gives what printing gives, on anything that looks like a number.
        #[test]
        fn exact_means_exact(text in "-?[0-9]{0,20}\\.?[0-9]{0,20}(e-?[0-9]{1,3})?") {
            if let Some(value) = exact_float(text.as_bytes()) {
                prop_assert_eq!(printed(value), text);
            } else if let Ok(value) = text.parse::<f64>() {
                prop_assert_ne!(printed(value), text.clone());
                prop_assert!(!value.is_finite() || !prints_as(value, &text));
            }
        }

        #[test]
        fn short_decimals_are_settled_by_shape(m in 0_u64..100_000_000_000_000, k in 0_usize..20) {
            let value: f64 = format!("{m}e-{k}").parse().unwrap();
            let text = printed(value);
            if !text.contains('e') {
                prop_assert!(matches!(exact_float_by_shape(text.as_bytes()), Shape::Exact(v) if v == value));
            }
        }
    }
}
