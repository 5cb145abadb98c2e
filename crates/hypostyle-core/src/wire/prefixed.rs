//! Length-prefixed strings, one after the other.
//!
//! Arrow stores the bytes of strings without lengths between them. [`unprefix`] removes
//! the lengths in place: strings only move towards the front, so no second buffer is
//! needed, and the decompressed block becomes the values buffer of the array.

use crate::error::{Error, Result};

/// The encoding of a string length.
pub trait Prefix {
    /// The bytes of the length itself.
    const BYTES: usize;

    /// The maximum length that can be encoded.
    const MAX: u64;

    /// Reads the length at the front of `bytes`.
    fn read(bytes: &[u8]) -> Option<usize>;

    /// Appends the length; the caller must have checked [`Prefix::MAX`].
    fn put(len: usize, out: &mut Vec<u8>);
}

/// A little-endian `u32` before each string (colm §3.3).
#[derive(Debug)]
pub struct U32Le;

impl Prefix for U32Le {
    const BYTES: usize = 4;
    const MAX: u64 = u32::MAX as u64;

    #[inline]
    fn read(bytes: &[u8]) -> Option<usize> {
        bytes.first_chunk().map(|len| u32::from_le_bytes(*len) as usize)
    }

    #[inline]
    fn put(len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&u32::try_from(len).unwrap_or(u32::MAX).to_le_bytes());
    }
}

/// A big-endian `u16` before each string (clmn §3.3).
#[derive(Debug)]
pub struct U16Be;

impl Prefix for U16Be {
    const BYTES: usize = 2;
    const MAX: u64 = u16::MAX as u64;

    #[inline]
    fn read(bytes: &[u8]) -> Option<usize> {
        bytes.first_chunk().map(|len| usize::from(u16::from_be_bytes(*len)))
    }

    #[inline]
    fn put(len: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes());
    }
}

/// The result of [`unprefix`].
#[derive(Debug, PartialEq, Eq)]
pub struct Unprefixed<O> {
    /// The start of each string in the remaining bytes, and the end of the last.
    pub offsets: Vec<O>,
    /// The bytes of the block that the strings and their lengths occupied.
    pub consumed: usize,
}

/// Removes the lengths from `block`, so that it starts with the bytes of all strings.
///
/// `O` is the offset type of the array; it must be able to represent `block.len()`.
///
/// # Errors
///
/// Fails for a length that runs past the block and for more rows than the block can hold.
/// The error has the row.
pub fn unprefix<P: Prefix, O: arrow_array::OffsetSizeTrait>(
    block: &mut [u8],
    rows: usize,
) -> Result<Unprefixed<O>> {
    check_rows::<P>(block.len() as u64, rows as u64)?;
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(O::usize_as(0));
    let (mut from, mut to) = (0_usize, 0_usize);
    for row in 0..rows {
        let len = block.get(from..).and_then(P::read);
        let start = from + P::BYTES;
        let end = len.and_then(|len| start.checked_add(len)).filter(|&end| end <= block.len());
        let (Some(len), Some(end)) = (len, end) else {
            return Err(past_the_end(row as u64));
        };
        let moved = match len {
            0..=16 => move_wide::<16>(block, start, to),
            17..=32 => move_wide::<32>(block, start, to),
            _ => false,
        };
        if !moved {
            block.copy_within(start..end, to);
        }
        to += len;
        from = end;
        offsets.push(O::usize_as(to));
    }
    Ok(Unprefixed { offsets, consumed: from })
}

/// Moves `W` bytes from `from` down to `to` and returns true, if that is safe.
///
/// Most strings are short, and a move of fixed width takes two instructions where a
/// `memmove` is a call. Moving too many bytes is safe as long as the overwritten bytes are
/// before `from`: those have been moved already.
#[inline]
fn move_wide<const W: usize>(block: &mut [u8], from: usize, to: usize) -> bool {
    if from - to < W {
        return false;
    }
    let Some(&wide) = block.get(from..).and_then(<[u8]>::first_chunk::<W>) else {
        return false;
    };
    let Some(target) = block.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<W>) else {
        return false;
    };
    *target = wide;
    true
}

/// Fails if a block of `len` bytes is too short for the lengths of `rows` strings.
pub fn check_rows<P: Prefix>(len: u64, rows: u64) -> Result<()> {
    let most = len / P::BYTES as u64;
    if rows > most {
        return Err(Error::malformed("row count", "is more than the block can hold").in_row(most));
    }
    Ok(())
}

/// The part of a block that some strings take up, as far as it has been seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Strings that were found.
    pub rows: usize,
    /// The bytes of these strings and their lengths.
    pub bytes: usize,
}

impl Extent {
    /// Walks over strings at the front of `bytes` until `rows` were found, or `bytes` ends.
    ///
    /// Returns the number of bytes that are needed to find the next string, or `None` if
    /// all were found. `left` is the number of bytes that the block has from the front of
    /// `bytes` on.
    ///
    /// # Errors
    ///
    /// Fails for a length that runs past the block, with the row counted from the front.
    pub fn walk<P: Prefix>(
        &mut self,
        bytes: &[u8],
        rows: usize,
        left: u64,
    ) -> Result<Option<usize>> {
        while self.rows < rows {
            let prefix = self.bytes.saturating_add(P::BYTES);
            let len = bytes.get(self.bytes..).and_then(P::read);
            let end = prefix.saturating_add(len.unwrap_or(0));
            if end as u64 > left {
                return Err(past_the_end(self.rows as u64));
            }
            if len.is_none() || end > bytes.len() {
                return Ok(Some(end));
            }
            self.bytes = end;
            self.rows += 1;
        }
        Ok(None)
    }
}

#[cold]
fn past_the_end(row: u64) -> Error {
    Error::malformed("string length", "runs past the end of the block").in_row(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naive<P: Prefix>(mut block: &[u8], rows: usize) -> Option<(Vec<u8>, Vec<i32>, usize)> {
        let (all, mut bytes, mut offsets) = (block.len(), Vec::new(), vec![0]);
        for _ in 0..rows {
            let len = P::read(block)?;
            block = block.get(P::BYTES..)?;
            bytes.extend_from_slice(block.get(..len)?);
            block = &block[len..];
            offsets.push(i32::try_from(bytes.len()).unwrap());
        }
        Some((bytes, offsets, all - block.len()))
    }

    fn agrees<P: Prefix>(block: &[u8], rows: usize) {
        let mut bytes_in_place = block.to_vec();
        let got = unprefix::<P, i32>(&mut bytes_in_place, rows).ok();
        let want = naive::<P>(block, rows);
        assert_eq!(got.is_some(), want.is_some());
        if let (Some(got), Some((bytes, offsets, consumed))) = (got, want) {
            assert_eq!(got.offsets, offsets);
            assert_eq!(got.consumed, consumed);
            assert_eq!(&bytes_in_place[..bytes.len()], &bytes[..]);
        }
    }

    proptest::proptest! {
        /// The wide moves give the same result as a simple loop, for any lengths.
        #[test]
        fn unprefix_agrees_with_a_simple_loop(
            lens in proptest::collection::vec(0_usize..70, 0..60),
            short in proptest::bool::ANY,
            slack in 0_usize..40,
            extra_rows in 0_usize..2,
        ) {
            for_each::<U32Le>(&lens, short, slack, extra_rows);
            for_each::<U16Be>(&lens, short, slack, extra_rows);
        }

        #[test]
        fn unprefix_agrees_on_any_bytes(block: Vec<u8>, rows in 0_usize..20) {
            agrees::<U32Le>(&block, rows);
            agrees::<U16Be>(&block, rows);
        }
    }

    fn for_each<P: Prefix>(lens: &[usize], short: bool, slack: usize, extra_rows: usize) {
        let mut block = Vec::new();
        for (i, &len) in lens.iter().enumerate() {
            let len = if short { len % 9 } else { len };
            P::put(len, &mut block);
            block.extend((0..len).map(|j| u8::try_from((i * 31 + j * 7) % 251).unwrap()));
        }
        block.extend(std::iter::repeat_n(0xEE, slack));
        agrees::<P>(&block, lens.len() + extra_rows);
    }

    #[test]
    fn an_extent_asks_for_the_bytes_that_it_lacks() {
        let block = b"\0\x02ab\0\0\0\x03cde";
        let mut extent = Extent::default();
        assert_eq!(extent.walk::<U16Be>(&block[..1], 3, 11).unwrap(), Some(2));
        assert_eq!(extent.walk::<U16Be>(&block[..3], 3, 11).unwrap(), Some(4));
        assert_eq!(extent.walk::<U16Be>(&block[..6], 3, 11).unwrap(), Some(8));
        assert_eq!(extent, Extent { rows: 2, bytes: 6 });
        assert_eq!(extent.walk::<U16Be>(block, 3, 11).unwrap(), None);
        assert_eq!(extent, Extent { rows: 3, bytes: 11 });
        let err = extent.walk::<U16Be>(block, 4, 11).unwrap_err();
        assert_eq!(err.row(), Some(3));
        assert!(Extent::default().walk::<U16Be>(block, 3, 10).is_err());
    }

    #[test]
    fn a_huge_row_count_allocates_nothing() {
        let err = unprefix::<U16Be, i32>(&mut [0; 8], usize::MAX).unwrap_err();
        assert_eq!(err.row(), Some(4));
    }
}
