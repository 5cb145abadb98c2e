//! Columns of numbers: deltas to values, values to text (§5.2, §5.5).

use crate::error::Result;
use crate::formats::at1::page::{Page, Slot};
use crate::formats::at1::streams::Stream;

/// Values in the narrowest type that holds them all.
///
/// The vendor's decoder wraps at 64 bits. Whatever it reads right fits 64 bits;
/// what it reads wrong comes back right from 128 (A11).
#[derive(Debug)]
pub(super) enum Values {
    Small(Vec<i32>),
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

impl Values {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Small(values) => values.len(),
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    /// The values from one on.
    pub(super) fn from(&self, start: usize) -> Numbers<'_> {
        match self {
            Self::Small(values) => Numbers::Small(values.get(start..).unwrap_or_default()),
            Self::Narrow(values) => Numbers::Narrow(values.get(start..).unwrap_or_default()),
            Self::Wide(values) => Numbers::Wide(values.get(start..).unwrap_or_default()),
        }
    }
}

/// Values that are still to be printed.
#[derive(Clone, Debug)]
pub(super) enum Numbers<'a> {
    Small(&'a [i32]),
    Narrow(&'a [i64]),
    Wide(&'a [i128]),
}

impl Numbers<'_> {
    /// Prints the next one; `false` if there is none.
    #[inline]
    pub(super) fn put(&mut self, scale: Scale, page: &mut Page) -> bool {
        match self {
            Self::Small(values) => {
                let Some((&value, rest)) = values.split_first() else { return false };
                match scale {
                    Scale::Whole => page.integer(value.into()),
                    Scale::Digits(digits) => page.decimal(value.into(), digits),
                }
                *values = rest;
            }
            Self::Narrow(values) => {
                let Some((&value, rest)) = values.split_first() else { return false };
                match scale {
                    Scale::Whole => page.integer(value),
                    Scale::Digits(digits) => page.decimal(value, digits),
                }
                *values = rest;
            }
            Self::Wide(values) => {
                let Some((&value, rest)) = values.split_first() else { return false };
                match scale {
                    Scale::Whole => page.wide(value, None),
                    Scale::Digits(digits) => page.wide(value, Some(digits)),
                }
                *values = rest;
            }
        }
        true
    }
}

/// Sums `count` deltas, or all up to the end of the stream; says whether a delta
/// or a sum has more than 64 bits.
pub(super) fn sums(stream: &mut Stream<'_>, count: Option<usize>) -> Result<(Values, bool)> {
    let bytes = stream.clone().rest();
    if let Some(values) = narrow_sums(bytes, count) {
        return Ok((Values::Small(values), false));
    }
    match narrow_sums(bytes, count) {
        Some(values) => Ok((Values::Narrow(values), false)),
        None => wide_sums(stream, count),
    }
}

/// Sums of 64 bits that fit the type, of deltas of 64 bits; `None` if they do
/// not, or if anything else is odd.
fn narrow_sums<T: TryFrom<i64>>(bytes: &[u8], count: Option<usize>) -> Option<Vec<T>> {
    // Each number ends with a byte below 128.
    let there = bytes.iter().filter(|&&byte| byte < 0x80).count();
    let to_the_end = count.is_none();
    let count = count.unwrap_or(there);
    if count > there {
        return None;
    }
    let mut values = Vec::with_capacity(count);
    let mut sum = 0_i64;
    let mut rest = bytes;
    for _ in 0..count {
        let (value, after) = short_number(rest)?;
        rest = after;
        let half = (value >> 1).cast_signed();
        let delta = half ^ (value & 1).cast_signed().wrapping_neg();
        sum = sum.checked_add(delta)?;
        values.push(T::try_from(sum).ok()?);
    }
    (!to_the_end || rest.is_empty()).then_some(values)
}

/// A number of at most 56 bits in the shortest possible time, or one of up to 64
/// bits, and what follows it.
#[inline]
pub(super) fn short_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    const MORE: u64 = 0x8080_8080_8080_8080;
    if let Some((&first, rest)) = bytes.split_first()
        && first < 0x80
    {
        return Some((u64::from(first), rest));
    }
    let Some(head) = bytes.first_chunk::<8>() else { return long_number(bytes) };
    let word = u64::from_le_bytes(*head);
    let ends = !word & MORE;
    if ends == 0 {
        return long_number(bytes);
    }
    // Keep what belongs to the number, then close the gaps between groups of 7.
    let word = word & (ends ^ ends.wrapping_sub(1)) & !MORE;
    let word = (word & 0x007F_007F_007F_007F) | ((word & 0x7F00_7F00_7F00_7F00) >> 1);
    let word = (word & 0x0000_3FFF_0000_3FFF) | ((word & 0x3FFF_0000_3FFF_0000) >> 2);
    let word = (word & 0x0FFF_FFFF) | ((word & 0x0FFF_FFFF_0000_0000) >> 4);
    let len = (ends.trailing_zeros() / 8) as usize + 1;
    Some((word, bytes.get(len..).unwrap_or_default()))
}

#[cold]
fn long_number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    for (at, &byte) in bytes.iter().enumerate().take(10) {
        let group = u64::from(byte & 0x7F);
        if at == 9 && group > 1 {
            return None;
        }
        value |= group << (7 * at);
        if byte < 0x80 {
            return Some((value, bytes.get(at + 1..).unwrap_or_default()));
        }
    }
    None
}

/// Sums of any width; finds what is wrong, where something is.
fn wide_sums(stream: &mut Stream<'_>, count: Option<usize>) -> Result<(Values, bool)> {
    let mut values = Vec::new();
    let (mut sum, mut is_wide) = (0_i128, false);
    while count.map_or_else(|| !stream.is_empty(), |count| values.len() < count) {
        let start = stream.offset();
        let delta = stream.sv("delta")?;
        let next = sum.checked_add(delta);
        sum = next.ok_or_else(|| stream.malformed_at(start, "delta", "leads beyond 128 bits"))?;
        is_wide |= i64::try_from(delta).is_err() || i64::try_from(sum).is_err();
        values.push(sum);
    }
    Ok((Values::Wide(values), is_wide))
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
}

impl Slot {
    /// Whether all numbers of 32 bits fit, behind a lead.
    pub(super) fn fits(scale: Scale) -> bool {
        match scale {
            Scale::Whole => true,
            Scale::Digits(digits) => (1..=Self::DIGITS).contains(&digits),
        }
    }

    /// A byte and a number, if it [`fits`](Slot::fits).
    #[inline]
    pub(super) fn number(lead: u8, value: i32, scale: Scale) -> Self {
        match scale {
            Scale::Whole => Self::integer(lead, value),
            Scale::Digits(digits) => Self::decimal(lead, value, digits),
        }
    }
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
    let most = min.checked_add(most.into())?;
    if let (Ok(min), Ok(_)) = (i32::try_from(min), i32::try_from(most)) {
        // No value is over `most`, so none is cut short.
        let value = |offset: u64| min.wrapping_add_unsigned(u32::try_from(offset).unwrap_or(0));
        return Some(Values::Small(values.into_iter().map(value).collect()));
    }
    match (i64::try_from(min), i64::try_from(most)) {
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

    fn number(mut value: u64, filler: usize) -> Vec<u8> {
        let mut out = Vec::new();
        while value >= 0x80 {
            out.push(0x80 | (value & 0x7F) as u8);
            value >>= 7;
        }
        out.push(value as u8);
        for _ in 0..filler {
            *out.last_mut().unwrap() |= 0x80;
            out.push(0);
        }
        out
    }

    #[test]
    fn short_numbers_are_what_the_plain_reader_says() {
        let values = (0..64).flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) + 1]);
        for value in values.chain([u64::MAX, u64::MAX - 1]) {
            for (filler, tail) in [(0, 0), (0, 12), (1, 0), (1, 12), (2, 3)] {
                let mut bytes = number(value, filler);
                let len = bytes.len();
                bytes.resize(len + tail, 0xAA);
                let plain = Stream::new("", &bytes).uv("number");
                let quick = short_number(&bytes);
                match plain {
                    Ok(plain) => assert_eq!(quick, Some((plain, &bytes[len..])), "{bytes:x?}"),
                    Err(_) => assert_eq!(quick, None, "{bytes:x?}"),
                }
            }
        }
        assert_eq!(short_number(&[]), None);
        assert_eq!(short_number(&[0x80; 7]), None);
        assert_eq!(short_number(&[0x80; 20]), None);
    }

    #[test]
    fn sums_are_the_same_on_both_ways() {
        let zigzag = |value: i64| ((value << 1) ^ (value >> 63)).cast_unsigned();
        let deltas = [0, 1, -1, 63, -64, 64, 1 << 40, -(1 << 40), 1 << 62, -(1 << 62), 5];
        let bytes: Vec<u8> = deltas.iter().flat_map(|&delta| number(zigzag(delta), 0)).collect();
        for count in [None, Some(0), Some(4), Some(11), Some(12)] {
            for cut in 0..=bytes.len() {
                let bytes = &bytes[..cut];
                let quick: Option<Vec<i64>> = narrow_sums(bytes, count);
                let slow = wide_sums(&mut Stream::new("", bytes), count);
                match (quick, slow) {
                    (Some(quick), Ok((Values::Wide(slow), false))) => {
                        assert!(quick.iter().map(|&value| i128::from(value)).eq(slow));
                    }
                    (None, Err(_)) => {}
                    (quick, slow) => panic!("{quick:?} {slow:?}"),
                }
            }
        }
    }
}
