//! Prints numbers, each in exactly one way.

/// The spelling of NaN in all text that this crate writes.
pub const NAN: &str = "NaN";
/// The spelling of positive infinity.
pub const INFINITY: &str = "Infinity";
/// The spelling of negative infinity.
pub const NEG_INFINITY: &str = "-Infinity";

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

/// Appends a float: the shortest digits that read back to the same value.
///
/// The text always has a point or an exponent, so it never looks like an integer.
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

/// Appends a 32-bit float: the shortest digits that distinguish it from other 32-bit
/// floats.
pub fn put_float32(value: f32, out: &mut Vec<u8>) {
    if value.is_finite() {
        out.extend_from_slice(ryu::Buffer::new().format_finite(value).as_bytes());
    } else {
        put_float(f64::from(value), out);
    }
}
