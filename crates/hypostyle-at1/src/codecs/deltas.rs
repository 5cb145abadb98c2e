//! Sums of differences, and numbers as text (§1.2, §5.5).

#![deny(clippy::arithmetic_side_effects)]

use std::borrow::Cow;

use super::context::DecodeContext;
use crate::streams::{StreamCursor, Streams};
use hypostyle_core::error::{Error, Result};

/// A stream of differences, and the sum so far.
#[derive(Debug)]
pub(super) struct Deltas<'a> {
    name: &'a str,
    stream: StreamCursor<'a>,
    sum: i128,
    /// The offset of the number that was read last.
    start: u64,
    /// Whether a sum of more than 64 bits was reported; one report is enough.
    reported: bool,
}

impl<'a> Deltas<'a> {
    pub(super) fn new(streams: &'a Streams, name: &'a str) -> Self {
        Self { name, stream: streams.read(name), sum: 0, start: 0, reported: false }
    }

    /// Returns the next number.
    #[inline]
    pub(super) fn next(&mut self, what: &'static str, context: &DecodeContext<'_>) -> Result<i128> {
        self.start = self.stream.offset();
        let delta = self.stream.sv(what)?;
        let sum = self.sum.checked_add(delta);
        self.sum = sum.ok_or_else(|| self.malformed(what, "the sum has more than 128 bits"))?;
        if i64::try_from(self.sum).is_err() && !self.reported {
            self.reported = true;
            let message = format!("`{}`: {what} {} has more than 64 bits", self.name, self.sum);
            context.deviations.report("A11", context.offset_of(self.name), message)?;
        }
        Ok(self.sum)
    }

    /// Returns an error at the number that was read last.
    pub(super) fn malformed(&self, what: &'static str, why: impl Into<Cow<'static, str>>) -> Error {
        self.stream.malformed_at(self.start, what, why)
    }
}

/// Appends a number as decimal text.
#[inline]
pub(super) fn decimal(value: i128, out: &mut Vec<u8>) {
    if value < 0 {
        out.push(b'-');
    }
    digits(value.unsigned_abs(), 1, out);
}

/// Appends the digits of a number, with leading zeros up to `min_digits` digits.
pub(super) fn digits(value: u128, min_digits: usize, out: &mut Vec<u8>) {
    let start = out.len();
    // Division by a constant is inlined for 64 bits, but a call for 128.
    let mut high = value;
    while u64::try_from(high).is_err() {
        out.push(digit(u8::try_from(high % 10).unwrap_or(0)));
        high /= 10;
    }
    let mut low = u64::try_from(high).unwrap_or(0);
    while low > 0 {
        out.push(digit(u8::try_from(low % 10).unwrap_or(0)));
        low /= 10;
    }
    let end = start.saturating_add(min_digits);
    while out.len() < end {
        out.push(b'0');
    }
    out.get_mut(start..).unwrap_or_default().reverse();
}

#[inline]
fn digit(value: u8) -> u8 {
    b'0'.saturating_add(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_they_do_elsewhere() {
        let wide = [i128::MIN, i128::MAX, i128::from(i64::MIN), i128::from(u64::MAX) + 1];
        for value in (-1001..1001).chain(wide) {
            let mut out = Vec::new();
            decimal(value, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn digits_are_padded_with_zeros() {
        let padded = |value, min_digits| {
            let mut out = b"x".to_vec();
            digits(value, min_digits, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert_eq!(padded(7, 4), "x0007");
        assert_eq!(padded(12345, 4), "x12345");
        assert_eq!(padded(0, 1), "x0");
    }
}
