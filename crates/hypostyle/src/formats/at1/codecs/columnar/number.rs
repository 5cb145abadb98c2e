//! Columns of numbers: deltas to values, values to text (§5.2, §5.5).

use crate::error::Result;
use crate::formats::at1::streams::Stream;
use crate::text::number::put_int;

/// Values in the narrowest type that holds them all.
///
/// The vendor's decoder wraps at 64 bits. Whatever it reads right fits 64 bits;
/// what it reads wrong comes back right from 128 (A11).
#[derive(Debug)]
pub(super) enum Values {
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

/// Deltas added up, and whether a delta or a sum has more than 64 bits.
#[derive(Debug, Default)]
pub(super) struct Sum {
    value: i128,
    pub(super) wide: bool,
}

impl Sum {
    /// Adds a delta off the stream.
    #[inline]
    pub(super) fn next(&mut self, stream: &mut Stream<'_>) -> Result<i128> {
        let start = stream.offset();
        let delta = stream.sv("delta")?;
        let sum = self.value.checked_add(delta);
        self.value =
            sum.ok_or_else(|| stream.malformed_at(start, "delta", "leads beyond 128 bits"))?;
        self.wide |= i64::try_from(delta).is_err() || i64::try_from(self.value).is_err();
        Ok(self.value)
    }
}

impl Values {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self::Narrow(Vec::with_capacity(capacity))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: i128) {
        match self {
            Self::Narrow(values) => match i64::try_from(value) {
                Ok(value) => values.push(value),
                Err(_) => {
                    let mut wide: Vec<i128> = values.iter().map(|&value| value.into()).collect();
                    wide.push(value);
                    *self = Self::Wide(wide);
                }
            },
            Self::Wide(values) => values.push(value),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<i128> {
        match self {
            Self::Narrow(values) => values.get(index).map(|&value| value.into()),
            Self::Wide(values) => values.get(index).copied(),
        }
    }

    /// Appends the text of one value; `false` if there is none.
    #[inline]
    pub(super) fn put(&self, index: usize, scale: Scale, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Narrow(values) => match values.get(index) {
                Some(&value) => scale.put(value, out),
                None => return false,
            },
            Self::Wide(values) => match values.get(index) {
                Some(&value) => scale.put_wide(value, out),
                None => return false,
            },
        }
        true
    }
}

/// Sums deltas to the end of a stream; says whether any number is wide.
pub(super) fn sums(stream: &mut Stream<'_>) -> Result<(Values, bool)> {
    // Every delta takes a byte at least; most take one or two.
    let mut values = Values::with_capacity(stream.left() / 2);
    let mut sum = Sum::default();
    while !stream.is_empty() {
        values.push(sum.next(stream)?);
    }
    Ok((values, sum.wide))
}

/// How many digits stand behind the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scale {
    /// An integer.
    Whole,
    /// A decimal with so many digits behind the point; 0 leaves a bare point (A10).
    Digits(usize),
}

impl Scale {
    /// The largest number of digits behind the point.
    const MOST: u8 = 18;

    pub(super) fn read(stream: &mut Stream<'_>) -> Result<Self> {
        let at = stream.clone();
        match stream.u8("scale")? {
            scale @ 0..=Self::MOST => Ok(Self::Digits(usize::from(scale))),
            scale => Err(at.malformed("scale", format!("{scale} is over {}", Self::MOST))),
        }
    }

    #[inline]
    fn put(self, value: i64, out: &mut Vec<u8>) {
        match self {
            Self::Whole => put_int(value, out),
            Self::Digits(digits) => {
                if value < 0 {
                    out.push(b'-');
                }
                let mut text = itoa::Buffer::new();
                put_fixed(text.format(value.unsigned_abs()).as_bytes(), digits, out);
            }
        }
    }

    fn put_wide(self, value: i128, out: &mut Vec<u8>) {
        if value < 0 {
            out.push(b'-');
        }
        let mut text = itoa::Buffer::new();
        let text = text.format(value.unsigned_abs()).as_bytes();
        match self {
            Self::Whole => out.extend_from_slice(text),
            Self::Digits(digits) => put_fixed(text, digits, out),
        }
    }
}

/// Appends digits with a point before the last `digits`, and at least one before it.
fn put_fixed(text: &[u8], digits: usize, out: &mut Vec<u8>) {
    const ZEROS: [u8; 20] = [b'0'; 20];
    let (whole, fraction) = match text.len().checked_sub(digits) {
        Some(point @ 1..) => text.split_at_checked(point).unwrap_or((text, &[])),
        _ => (&b"0"[..], text),
    };
    out.extend_from_slice(whole);
    out.push(b'.');
    let missing = digits.saturating_sub(fraction.len());
    out.extend_from_slice(ZEROS.get(..missing).unwrap_or_default());
    out.extend_from_slice(fraction);
}

/// Undoes byte planes: `min` plus a number of `width` bytes each (SHUF).
///
/// `None` if a sum has more than 128 bits.
pub(super) fn unshuffle(min: i128, width: usize, count: usize, planes: &[u8]) -> Option<Values> {
    let mut values = vec![0_u64; count];
    for (plane, bytes) in planes.chunks_exact(count.max(1)).take(width).enumerate() {
        for (value, &byte) in values.iter_mut().zip(bytes) {
            *value |= u64::from(byte) << (8 * plane);
        }
    }
    let most = values.iter().copied().max().unwrap_or_default();
    match (i64::try_from(min), i64::try_from(min.checked_add(most.into())?)) {
        (Ok(min), Ok(_)) => {
            let value = |offset: u64| min.wrapping_add(offset.cast_signed());
            Some(Values::Narrow(values.into_iter().map(value).collect()))
        }
        _ => {
            let value = |offset: u64| min.saturating_add(offset.into());
            Some(Values::Wide(values.into_iter().map(value).collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixed(value: i128, digits: usize) -> String {
        let mut out = Vec::new();
        let mut values = Values::with_capacity(1);
        values.push(value);
        assert!(values.put(0, Scale::Digits(digits), &mut out));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn decimals_have_their_point_in_the_right_place() {
        assert_eq!(fixed(12345, 2), "123.45");
        assert_eq!(fixed(-5, 2), "-0.05");
        assert_eq!(fixed(0, 3), "0.000");
        assert_eq!(fixed(5, 0), "5.");
        assert_eq!(fixed(i64::MIN.into(), 18), "-9.223372036854775808");
        assert_eq!(fixed(-(1 << 100), 18), "-1267650600228.229401496703205376");
    }

    #[test]
    fn values_widen_once_and_stay_right() {
        let mut values = Values::with_capacity(0);
        let given = [1, i128::from(i64::MIN), i128::from(i64::MAX) + 1, -7];
        given.into_iter().for_each(|value| values.push(value));
        assert!(given.iter().enumerate().all(|(i, &value)| values.get(i) == Some(value)));
        assert_eq!(values.get(4), None);
    }
}
