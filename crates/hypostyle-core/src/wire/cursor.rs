//! A bounds-checked reader over a slice.

#![deny(clippy::arithmetic_side_effects)]

use crate::error::{Error, ErrorKind, Result};

/// The maximum number of bytes of an unsigned varint.
const MAX_UV_BYTES: usize = 10;

/// Reads values from the front of a slice.
///
/// Every method either consumes exactly what it returns, or fails and consumes nothing.
/// No method panics or allocates. Offsets in errors count from the start of the file.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Cursor<'a> {
    /// Returns a cursor over `bytes`, which start at `offset` in the file.
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    /// Returns the offset of the next byte in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the number of bytes left.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Takes the next `n` bytes; `what` names the field in the error.
    pub fn take(&mut self, n: usize, what: &'static str) -> Result<&'a [u8]> {
        let Some((head, tail)) = self.rest.split_at_checked(n) else {
            return Err(self.truncated(n, what));
        };
        self.advance(tail, n);
        Ok(head)
    }

    /// Takes one byte.
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    /// Takes a big-endian `u16`.
    pub fn u16_be(&mut self, what: &'static str) -> Result<u16> {
        self.array(what).map(u16::from_be_bytes)
    }

    /// Takes a big-endian `u32`.
    pub fn u32_be(&mut self, what: &'static str) -> Result<u32> {
        self.array(what).map(u32::from_be_bytes)
    }

    /// Takes a big-endian `u64`.
    pub fn u64_be(&mut self, what: &'static str) -> Result<u64> {
        self.array(what).map(u64::from_be_bytes)
    }

    /// Takes a little-endian `u32`.
    pub fn u32_le(&mut self, what: &'static str) -> Result<u32> {
        self.array(what).map(u32::from_le_bytes)
    }

    /// Takes a little-endian `u64`.
    pub fn u64_le(&mut self, what: &'static str) -> Result<u64> {
        self.array(what).map(u64::from_le_bytes)
    }

    /// Takes UTF-8 text of `n` bytes.
    pub fn text(&mut self, n: usize, what: &'static str) -> Result<&'a str> {
        let start = self.offset;
        let mut peek = self.clone();
        match std::str::from_utf8(peek.take(n, what)?) {
            Ok(text) => {
                *self = peek;
                Ok(text)
            }
            Err(bad) => Err(Error::malformed(what, "is not UTF-8")
                .at(start.saturating_add(bad.valid_up_to() as u64))),
        }
    }

    /// Takes all bytes that are left.
    pub fn rest(&mut self) -> &'a [u8] {
        let rest = self.rest;
        self.advance(&[], rest.len());
        rest
    }

    /// Returns whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes an unsigned LEB128 number of at most 64 bits and 10 bytes (at1 §1.2).
    #[inline]
    pub fn uv(&mut self, what: &'static str) -> Result<u64> {
        // Most numbers in most streams are below 128.
        if let Some((&byte, tail)) = self.rest.split_first()
            && byte < 0x80
        {
            self.advance(tail, 1);
            return Ok(u64::from(byte));
        }
        self.long_uv(what)
    }

    /// The slow path of [`Cursor::uv`].
    ///
    /// Uses 64-bit arithmetic, because 128-bit arithmetic is several times slower.
    #[inline(never)]
    fn long_uv(&mut self, what: &'static str) -> Result<u64> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        for (at, &byte) in self.rest.iter().take(MAX_UV_BYTES).enumerate() {
            let group = u64::from(byte & 0x7F);
            let placed = group.wrapping_shl(shift);
            value |= placed;
            if byte < 0x80 {
                // Only the tenth byte can have bits that do not fit.
                if placed.wrapping_shr(shift) != group {
                    return Err(self.malformed(what, "a number of more than 64 bits"));
                }
                let used = at.saturating_add(1);
                self.advance(self.rest.get(used..).unwrap_or_default(), used);
                return Ok(value);
            }
            shift = shift.saturating_add(7);
        }
        Err(self.endless(MAX_UV_BYTES, what))
    }

    /// Takes an unsigned varint that counts items in memory.
    #[inline]
    pub fn size(&mut self, what: &'static str) -> Result<usize> {
        // The fast path of `uv` again: its result would be returned through memory.
        if let Some((&byte, tail)) = self.rest.split_first()
            && byte < 0x80
        {
            self.advance(tail, 1);
            return Ok(usize::from(byte));
        }
        let mut peek = self.clone();
        let value = peek.uv(what)?;
        let value =
            usize::try_from(value).map_err(|_| self.malformed(what, "is larger than memory"))?;
        *self = peek;
        Ok(value)
    }

    /// Takes a count of items that each take at least `min_item_bytes` of the bytes that
    /// follow.
    ///
    /// Fails if the remaining bytes cannot hold that many items, so the result is safe to
    /// use as a capacity.
    pub fn count(&mut self, min_item_bytes: usize, what: &'static str) -> Result<usize> {
        let mut peek = self.clone();
        let count = peek.size(what)?;
        let max_count = peek.rest.len().checked_div(min_item_bytes.max(1)).unwrap_or(0);
        if count > max_count {
            return Err(self.malformed(what, "is more than the bytes that follow can hold"));
        }
        *self = peek;
        Ok(count)
    }

    /// Takes a zigzag LEB128 number of at most 128 bits and 19 bytes (at1 §5.5).
    #[inline]
    pub fn sv(&mut self, what: &'static str) -> Result<i128> {
        if let Some((&byte, tail)) = self.rest.split_first()
            && byte < 0x80
        {
            self.advance(tail, 1);
            return Ok(unzigzag(u128::from(byte)));
        }
        // Most longer numbers have few bytes, and 64-bit arithmetic is quicker.
        let (mut value, mut shift) = (0_u64, 0_u32);
        for (at, &byte) in self.rest.iter().take(9).enumerate() {
            value |= u64::from(byte & 0x7F).wrapping_shl(shift);
            shift = shift.saturating_add(7);
            if byte < 0x80 {
                let used = at.saturating_add(1);
                self.advance(self.rest.get(used..).unwrap_or_default(), used);
                return Ok(unzigzag(u128::from(value)));
            }
        }
        self.varint(19, what).map(unzigzag)
    }

    /// Takes a length and that many bytes.
    #[inline]
    pub fn lp(&mut self, what: &'static str) -> Result<&'a [u8]> {
        if let Some((&len, tail)) = self.rest.split_first()
            && len < 0x80
            && let Some((bytes, tail)) = tail.split_at_checked(usize::from(len))
        {
            self.advance(tail, usize::from(len).saturating_add(1));
            return Ok(bytes);
        }
        self.long_lp(what)
    }

    /// The slow path of [`Cursor::lp`].
    #[inline(never)]
    fn long_lp(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let mut peek = self.clone();
        let len = peek.size(what)?;
        let bytes = peek.take(len, what)?;
        *self = peek;
        Ok(bytes)
    }

    /// Returns an error at the offset of the next byte.
    pub fn malformed(
        &self,
        what: &'static str,
        why: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Error {
        Error::malformed(what, why).at(self.offset)
    }

    fn varint(&mut self, max_bytes: usize, what: &'static str) -> Result<u128> {
        let mut value = 0_u128;
        for (at, &byte) in self.rest.iter().take(max_bytes).enumerate() {
            // At most 19 groups of 7 bits, so the shift stays below 133; it must not push set
            // bits out of the 128.
            let group = u128::from(byte & 0x7F);
            let shift = u32::try_from(at.saturating_mul(7)).unwrap_or(u32::MAX);
            let placed = group.checked_shl(shift).unwrap_or(0);
            if placed.checked_shr(shift) != Some(group) {
                return Err(self.malformed(what, "a number of more than 128 bits"));
            }
            value |= placed;
            if byte < 0x80 {
                let used = at.saturating_add(1);
                let tail = self.rest.get(used..).unwrap_or_default();
                self.advance(tail, used);
                return Ok(value);
            }
        }
        Err(self.endless(max_bytes, what))
    }

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N, what));
        };
        self.advance(tail, N);
        Ok(*head)
    }

    /// Returns the error for a varint that does not end within `max_bytes` or the input.
    fn endless(&self, max_bytes: usize, what: &'static str) -> Error {
        if self.rest.len() >= max_bytes {
            return self.malformed(what, "a number that does not end");
        }
        self.truncated(self.rest.len().saturating_add(1), what)
    }

    fn advance(&mut self, tail: &'a [u8], by: usize) {
        self.rest = tail;
        self.offset = self.offset.saturating_add(by as u64);
    }

    fn truncated(&self, needed: usize, what: &'static str) -> Error {
        let (needed, left) = (needed as u64, self.rest.len() as u64);
        Error::new(ErrorKind::Truncated { what, needed, left }).at(self.offset)
    }
}

/// Decodes a zigzag number: 0, -1, 1, -2, ...
#[inline]
fn unzigzag(value: u128) -> i128 {
    let half = (value >> 1).cast_signed();
    if value & 1 == 0 { half } else { !half }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_consumes_nothing() {
        let mut cursor = Cursor::new(&[1, 0, 0], 10);
        assert!(cursor.u32_le("count").is_err());
        assert!(cursor.take(4, "name").is_err());
        assert_eq!((cursor.left(), cursor.offset()), (3, 10));
        assert_eq!(cursor.u8("type").unwrap(), 1);
        assert_eq!(cursor.offset(), 11);
        let err = cursor.u64_be("rows").unwrap_err();
        assert_eq!(err.to_string(), "byte 11: rows needs 8 bytes, 2 left");
        let wide = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02];
        let mut cursor = Cursor::new(&wide, 10);
        assert_eq!(cursor.uv("n").unwrap_err().offset(), Some(10));
        assert!(cursor.size("n").is_err());
        assert_eq!(cursor.offset(), 10);
        let mut cursor = Cursor::new(&[3, 0, 0], 10);
        assert_eq!(cursor.count(1, "n").unwrap_err().offset(), Some(10));
        assert_eq!(cursor.offset(), 10);
    }

    fn uv(bytes: &[u8]) -> Option<u64> {
        Cursor::new(bytes, 0).uv("n").ok()
    }

    #[test]
    fn varints_end_and_do_not_overflow() {
        assert_eq!(uv(&[0x7F]), Some(127));
        assert_eq!(uv(&[0x80, 0x01]), Some(128));
        assert_eq!(
            uv(&[0x80, 0x00]),
            Some(0),
            "padding is allowed, as in the reference implementation"
        );
        let max = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01];
        assert_eq!(uv(&max), Some(u64::MAX));
        assert_eq!(uv(&[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02]), None);
        assert_eq!(uv(&[0x80; 11]), None);
        assert_eq!(uv(&[0x80]), None);
        assert_eq!(uv(&[]), None);
    }

    #[test]
    fn signed_numbers_reach_128_bits() {
        let sv = |bytes: &[u8]| Cursor::new(bytes, 0).sv("n").ok();
        for (bytes, value) in [([0], 0), ([1], -1), ([2], 1), ([3], -2)] {
            assert_eq!(sv(&bytes), Some(value));
        }
        let mut widest = vec![0xFF; 18];
        widest.push(0x03);
        assert_eq!(sv(&widest), Some(i128::MIN));
        *widest.last_mut().unwrap() = 0x04;
        assert_eq!(sv(&widest), None);
    }

    #[test]
    fn a_count_must_not_exceed_the_remaining_bytes() {
        let mut cursor = Cursor::new(&[3, 0, 0, 0], 0);
        assert!(cursor.clone().count(2, "n").is_err());
        assert_eq!(cursor.count(1, "n").unwrap(), 3);
    }

    #[test]
    fn invalid_utf8_is_named_by_byte_and_not_consumed() {
        let mut cursor = Cursor::new(b"ab\xFFd", 100);
        assert_eq!(cursor.text(4, "name").unwrap_err().offset(), Some(102));
        assert_eq!(cursor.text(2, "name").unwrap(), "ab");
    }
}
