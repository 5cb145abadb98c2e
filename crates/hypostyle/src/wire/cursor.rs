//! A checked reader over a slice.

#![deny(clippy::arithmetic_side_effects)]

use crate::error::{Error, ErrorKind, Result};

/// Reads fixed-width values off the front of a slice.
///
/// Every method either consumes exactly what it returns, or fails and consumes
/// nothing. None of them panics, and none allocates. Offsets in errors count
/// from the start of the file.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    offset: u64,
}

impl<'a> Cursor<'a> {
    /// Starts at `bytes`, which lie `offset` bytes into the file.
    pub fn new(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset }
    }

    /// The offset of the next byte in the file.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The number of bytes left.
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

    fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        let Some((head, tail)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.truncated(N, what));
        };
        self.advance(tail, N);
        Ok(*head)
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
    }

    #[test]
    fn bad_text_names_its_byte_and_stays_unread() {
        let mut cursor = Cursor::new(b"ab\xFFd", 100);
        assert_eq!(cursor.text(4, "name").unwrap_err().offset(), Some(102));
        assert_eq!(cursor.text(2, "name").unwrap(), "ab");
    }
}
