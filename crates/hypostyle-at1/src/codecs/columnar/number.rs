//! Columns of numbers: sums deltas, and prints values (§5.2, §5.5).

use crate::row_buffer::{InlineCell, RowBuffer};
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;

/// Values in the narrowest type that holds them all.
///
/// The vendor's decoder wraps at 64 bits. Values that overflow 64 bits there are restored
/// correctly from 128 bits here (A11).
#[derive(Debug)]
pub(crate) enum NumberValues {
    Tiny(Vec<i16>),
    Small(Vec<i32>),
    Narrow(Vec<i64>),
    Wide(Vec<i128>),
}

impl NumberValues {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Tiny(values) => values.len(),
            Self::Small(values) => values.len(),
            Self::Narrow(values) => values.len(),
            Self::Wide(values) => values.len(),
        }
    }

    /// Returns the values from `start` on.
    pub(super) fn from(&self, start: usize) -> NumberCursor<'_> {
        match self {
            Self::Tiny(values) => NumberCursor::Tiny(values.get(start..).unwrap_or_default()),
            Self::Small(values) => NumberCursor::Small(values.get(start..).unwrap_or_default()),
            Self::Narrow(values) => NumberCursor::Narrow(values.get(start..).unwrap_or_default()),
            Self::Wide(values) => NumberCursor::Wide(values.get(start..).unwrap_or_default()),
        }
    }

    /// Appends values; `capacity` is the final number of values.
    fn extend(&mut self, more: &[i64], capacity: usize) {
        match self {
            Self::Tiny(values) => {
                if !narrowed(more, values) {
                    let mut wider = Vec::with_capacity(capacity);
                    wider.extend(values.iter().map(|&value| i32::from(value)));
                    *self = Self::Small(wider);
                    self.extend(more, capacity);
                }
            }
            Self::Small(values) => {
                if !narrowed(more, values) {
                    let mut wider = Vec::with_capacity(capacity);
                    wider.extend(values.iter().map(|&value| i64::from(value)));
                    *self = Self::Narrow(wider);
                    self.extend(more, capacity);
                }
            }
            Self::Narrow(values) => values.extend_from_slice(more),
            Self::Wide(values) => values.extend(more.iter().map(|&value| i128::from(value))),
        }
    }
}

/// Appends values if all of them fit the type.
fn narrowed<T: TryFrom<i64> + Default>(more: &[i64], values: &mut Vec<T>) -> bool {
    let fit = more.iter().fold(true, |fit, &value| fit & T::try_from(value).is_ok());
    if fit {
        values.extend(more.iter().map(|&value| T::try_from(value).unwrap_or_default()));
    }
    fit
}

/// A cursor over values.
#[derive(Clone, Debug)]
pub(super) enum NumberCursor<'a> {
    Tiny(&'a [i16]),
    Small(&'a [i32]),
    Narrow(&'a [i64]),
    Wide(&'a [i128]),
}

impl NumberCursor<'_> {
    /// Prints the next value; `false` if there is none.
    #[inline]
    pub(super) fn put(&mut self, scale: Scale, buffer: &mut RowBuffer) -> bool {
        let value = match self {
            Self::Tiny(values) => first(values).map(i64::from),
            Self::Small(values) => first(values).map(i64::from),
            Self::Narrow(values) => first(values),
            Self::Wide(values) => {
                let Some(value) = first(values) else { return false };
                match scale {
                    Scale::Whole => buffer.wide(value, None),
                    Scale::Digits(digits) => buffer.wide(value, Some(digits)),
                }
                return true;
            }
        };
        match (value, scale) {
            (Some(value), Scale::Whole) => buffer.integer(value),
            (Some(value), Scale::Digits(digits)) => buffer.decimal(value, digits),
            (None, _) => {}
        }
        value.is_some()
    }
}

#[inline]
fn first<T: Copy>(values: &mut &[T]) -> Option<T> {
    let (&value, rest) = values.split_first()?;
    *values = rest;
    Some(value)
}

/// Sums `count` deltas, or all deltas up to the end of the stream.
///
/// Returns the sums, and whether a delta or a sum has more than 64 bits.
pub(super) fn sums(
    stream: &mut StreamCursor<'_>,
    count: Option<usize>,
) -> Result<(NumberValues, bool)> {
    match narrow_sums(stream.clone().rest(), 0, count) {
        Some((values, _)) => Ok((values, false)),
        None => wide_sums(stream, count),
    }
}

/// Sums deltas in 64 bits, from a sum on; also returns the last sum.
///
/// Returns `None` if a delta or a sum has more bits, or if the stream is malformed.
pub(super) fn narrow_sums(
    bytes: &[u8],
    start: i64,
    count: Option<usize>,
) -> Option<(NumberValues, i64)> {
    // The last byte of each number is below 128.
    let available = bytes.iter().filter(|&&byte| byte < 0x80).count();
    let to_the_end = count.is_none();
    let count = count.unwrap_or(available);
    if count > available {
        return None;
    }
    let mut values = NumberValues::Tiny(Vec::with_capacity(count));
    let mut sums = [0_i64; 512];
    let (mut sum, mut overflow) = (start, false);
    let (mut rest, mut left) = (bytes, count);
    while left > 0 {
        let now = left.min(sums.len());
        let part = sums.get_mut(..now).unwrap_or_default();
        let mut places = part.iter_mut();
        rest = numbers(rest, now, |value| {
            let half = (value >> 1).cast_signed();
            let delta = half ^ (value & 1).cast_signed().wrapping_neg();
            let (next, over) = sum.overflowing_add(delta);
            (sum, overflow) = (next, overflow | over);
            if let Some(place) = places.next() {
                *place = sum;
            }
        })?;
        if overflow {
            return None;
        }
        values.extend(part, count);
        left -= now;
    }
    (!to_the_end || rest.is_empty()).then_some((values, sum))
}

/// The continuation bits of eight bytes.
const CONTINUATION: u64 = 0x8080_8080_8080_8080;

/// Reads `count` numbers of at most 64 bits; returns the bytes after them.
///
/// Returns `None` if a number is longer, or if there are too few.
#[inline]
pub(super) fn numbers(bytes: &[u8], count: usize, mut each: impl FnMut(u64)) -> Option<&[u8]> {
    let (mut rest, mut left) = (bytes, count);
    // Eight bytes hold at most eight numbers.
    while left >= 8 {
        let Some((head, tail)) = rest.split_first_chunk::<8>() else { break };
        let mut word = u64::from_le_bytes(*head);
        let mut ends = !word & CONTINUATION;
        if ends == CONTINUATION {
            head.iter().for_each(|&byte| each(byte.into()));
            (rest, left) = (tail, left - 8);
            continue;
        }
        if ends == 0 {
            let (value, after) = long_number(rest)?;
            each(value);
            (rest, left) = (after, left - 1);
            continue;
        }
        rest = rest.get(8 - (ends.leading_zeros() / 8) as usize..)?;
        while ends != 0 {
            let last = ends.trailing_zeros();
            each(squeezed(word & (u64::MAX >> (63 - last))));
            (word, ends) = (word >> last >> 1, ends >> last >> 1);
            left -= 1;
        }
    }
    for _ in 0..left {
        let (value, after) = long_number(rest)?;
        each(value);
        rest = after;
    }
    Some(rest)
}

/// Numbers of one byte that are read together.
const RUN: usize = 32;

/// Reads `count` numbers that are indexes, which must not be more than the bytes; returns them,
/// the largest one, and the bytes after them. A number of more than 32 bits is the largest index.
///
/// Returns `None` if a number has more than 64 bits, or if there are too few.
pub(super) fn indexes(bytes: &[u8], count: usize) -> Option<(Vec<u32>, u64, &[u8])> {
    let mut ids = Vec::with_capacity(count);
    let (mut rest, mut most) = (bytes, 0);
    while ids.len() < count {
        let left = count - ids.len();
        if left >= RUN
            && let Some((head, tail)) = rest.split_first_chunk::<RUN>()
            && head.iter().fold(0, |all, byte| all | byte) < 0x80
        {
            ids.extend(head.iter().map(|&byte| u32::from(byte)));
            most = most.max(u64::from(head.iter().copied().max().unwrap_or_default()));
            rest = tail;
            continue;
        }
        let mut part = [0_u32; RUN];
        let part = part.get_mut(..left.min(RUN))?;
        let mut places = part.iter_mut();
        rest = numbers(rest, left.min(RUN), |id| {
            most = most.max(id);
            if let Some(place) = places.next() {
                *place = u32::try_from(id).unwrap_or(u32::MAX);
            }
        })?;
        ids.extend_from_slice(part);
    }
    Some((ids, most, rest))
}

/// Joins groups of seven bits, which are a byte apart.
#[inline]
fn squeezed(word: u64) -> u64 {
    if word <= 0x7FFF {
        return (word & 0x7F) | ((word & 0x7F00) >> 1);
    }
    let word = (word & 0x007F_007F_007F_007F) | ((word & 0x7F00_7F00_7F00_7F00) >> 1);
    let word = (word & 0x0000_3FFF_0000_3FFF) | ((word & 0x3FFF_0000_3FFF_0000) >> 2);
    (word & 0x0FFF_FFFF) | ((word & 0x0FFF_FFFF_0000_0000) >> 4)
}

#[inline]
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

/// Sums deltas in 128 bits; fails with the place of a malformed delta.
fn wide_sums(stream: &mut StreamCursor<'_>, count: Option<usize>) -> Result<(NumberValues, bool)> {
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
    Ok((NumberValues::Wide(values), is_wide))
}

/// The number of digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// An integer.
    Whole,
    /// A decimal with this number of digits after the point; 0 prints a bare point (A10).
    Digits(usize),
}

impl Scale {
    /// The largest number of digits after the point.
    const MAX_DIGITS: u8 = 18;

    pub(super) fn read(stream: &mut StreamCursor<'_>) -> Result<Self> {
        let at = stream.clone();
        match stream.u8("scale")? {
            scale @ 0..=Self::MAX_DIGITS => Ok(Self::Digits(usize::from(scale))),
            scale => Err(at.malformed("scale", format!("{scale} is over {}", Self::MAX_DIGITS))),
        }
    }
}

impl InlineCell {
    /// Returns whether all numbers of 32 bits fit, after a lead byte.
    pub(super) fn fits(scale: Scale) -> bool {
        match scale {
            Scale::Whole => true,
            Scale::Digits(digits) => (1..=Self::MAX_SCALE).contains(&digits),
        }
    }

    /// Returns a lead byte and a number, whose scale must [fit](InlineCell::fits).
    #[inline]
    pub(super) fn number(lead: u8, value: i32, scale: Scale) -> Self {
        match scale {
            Scale::Whole => Self::integer(lead, value),
            Scale::Digits(digits) => Self::decimal(lead, value, digits),
        }
    }
}

/// Decodes byte planes (SHUF): each value is `min` plus a number of `width` bytes.
///
/// Returns `None` if a sum has more than 128 bits.
pub(super) fn unshuffle(
    min: i128,
    width: usize,
    count: usize,
    planes: &[u8],
) -> Option<NumberValues> {
    let mut values = vec![0_u64; count];
    for (plane, bytes) in planes.chunks_exact(count.max(1)).take(width).enumerate() {
        for (value, &byte) in values.iter_mut().zip(bytes) {
            *value |= u64::from(byte) << (8 * plane);
        }
    }
    let max = values.iter().copied().max().unwrap_or_default();
    let last = min.checked_add(max.into())?;
    match (i64::try_from(min), i64::try_from(last)) {
        (Ok(min), Ok(_)) => {
            let mut narrow = NumberValues::Tiny(Vec::new());
            let mut part = Vec::with_capacity(512);
            for offsets in values.chunks(512) {
                part.clear();
                part.extend(offsets.iter().map(|offset| min.wrapping_add(offset.cast_signed())));
                narrow.extend(&part, count);
            }
            Some(narrow)
        }
        _ => {
            let value = |offset: u64| min.saturating_add(offset.into());
            Some(NumberValues::Wide(values.into_iter().map(value).collect()))
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
        out.push(u8::try_from(value).unwrap());
        for _ in 0..filler {
            *out.last_mut().unwrap() |= 0x80;
            out.push(0);
        }
        out
    }

    #[test]
    fn numbers_are_what_the_plain_reader_says() {
        let values: Vec<u64> = (0..64)
            .flat_map(|bit| [1_u64 << bit, (1 << bit) - 1, (1 << bit) + 1, bit, 3])
            .chain([u64::MAX, u64::MAX - 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 300, 1, 300])
            .collect();
        for filler in 0..3 {
            let bytes: Vec<u8> = values.iter().flat_map(|&value| number(value, filler)).collect();
            for cut in 0..=bytes.len() {
                let bytes = &bytes[..cut];
                let mut plain = Vec::new();
                let mut stream = StreamCursor::new("", bytes);
                while let Ok(value) = stream.uv("number") {
                    plain.push(value);
                }
                for count in [plain.len() / 2, plain.len(), plain.len() + 1] {
                    let mut quick = Vec::new();
                    let rest = numbers(bytes, count, |value| quick.push(value));
                    assert_eq!(rest.is_some(), count <= plain.len(), "{cut} {count}");
                    if count == plain.len() {
                        assert_eq!(rest.map(<[u8]>::len), Some(stream.left()));
                        assert_eq!(quick, plain);
                    }
                }
            }
        }
        assert_eq!(numbers(&[0x80; 20], 1, |_| {}), None);
    }

    #[test]
    fn indexes_are_what_the_plain_reader_says() {
        // Runs of bytes below 128 between longer numbers.
        let value = |at: u64| match at % 97 {
            40..44 => at * 1000,
            70 => u64::from(u32::MAX) + at,
            _ => at % 128,
        };
        for length in [0, 1, 31, 32, 33, 64, 500] {
            let values: Vec<u64> = (0..length).map(value).collect();
            let bytes: Vec<u8> = values.iter().flat_map(|&value| number(value, 0)).collect();
            let (ids, most, rest) = indexes(&bytes, values.len()).unwrap();
            let want = values.iter().map(|&value| u32::try_from(value).unwrap_or(u32::MAX));
            assert_eq!(ids, want.collect::<Vec<_>>());
            assert_eq!(most, values.iter().copied().max().unwrap_or(0));
            assert!(rest.is_empty());
            assert!(indexes(&bytes, values.len() + 1).is_none());
            let (_, _, rest) = indexes(&bytes, values.len() / 2).unwrap();
            assert_eq!(rest.is_empty(), values.is_empty());
        }
    }

    #[test]
    fn values_widen_where_they_must_and_stay_right() {
        for bits in [10, 15, 16, 20, 31, 32, 60] {
            for at in [0, 511, 512, 1500] {
                let mut want = vec![-3_i64; 2000];
                want[at] = -(1 << bits);
                let mut values = NumberValues::Tiny(Vec::new());
                want.chunks(512).for_each(|part| values.extend(part, 2000));
                let got: Vec<i64> = match values {
                    NumberValues::Tiny(values) => values.into_iter().map(i64::from).collect(),
                    NumberValues::Small(values) => values.into_iter().map(i64::from).collect(),
                    NumberValues::Narrow(values) => values,
                    NumberValues::Wide(_) => panic!(),
                };
                assert_eq!(got, want);
            }
        }
    }

    #[test]
    fn sums_of_both_widths_agree() {
        let zigzag = |value: i64| ((value << 1) ^ (value >> 63)).cast_unsigned();
        let deltas = [0, 1, -1, 63, -64, 64, 1 << 40, -(1 << 40), 1 << 62, -(1 << 62), 5];
        let bytes: Vec<u8> = deltas.iter().flat_map(|&delta| number(zigzag(delta), 0)).collect();
        for count in [None, Some(0), Some(4), Some(11), Some(12)] {
            for cut in 0..=bytes.len() {
                let bytes = &bytes[..cut];
                let quick = narrow_sums(bytes, 0, count).map(|(values, _)| values);
                let slow = wide_sums(&mut StreamCursor::new("", bytes), count);
                match (quick, slow) {
                    (Some(quick), Ok((NumberValues::Wide(slow), false))) => {
                        let print = |values: NumberValues| {
                            let mut buffer = RowBuffer::default();
                            let mut numbers = values.from(0);
                            while numbers.put(Scale::Whole, &mut buffer) {
                                buffer.byte(b' ');
                            }
                            buffer.text().to_vec()
                        };
                        assert_eq!(print(quick), print(NumberValues::Wide(slow)));
                    }
                    (None, Err(_)) => {}
                    (quick, slow) => panic!("{quick:?} {slow:?}"),
                }
            }
        }
    }
}
