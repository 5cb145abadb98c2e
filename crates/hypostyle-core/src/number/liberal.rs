//! Reads numbers liberally: any text that people would call a number.

/// Integers up to this size are exact in a float.
const EXACT_IN_FLOAT: u64 = 1 << 53;

/// A number that was read liberally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Liberal {
    /// An integer.
    Int(i64),
    /// Any other number.
    Float(f64),
}

impl Liberal {
    /// Returns the number as a float; `None` if the float would change an integer.
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
/// `nan`, `inf` and `infinity` are accepted in any case. Digit groups, suffixes and
/// hexadecimal are not. Integers beyond 64 bits are refused because a float would change
/// their digits, and `1e400` because it would become infinite.
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
