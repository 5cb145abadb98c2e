//! Strings behind a length, back to back.
//!
//! Arrow wants the string bytes without the lengths between them. [`unprefix`]
//! closes the gaps in place: every string moves left, never right, so no second
//! buffer is needed and the block that was inflated becomes the array's values.

use crate::error::{Error, Result};

/// How a format writes the length of a string.
pub trait Prefix {
    /// Bytes of the length itself.
    const BYTES: usize;

    /// The longest string that the length can state.
    const MAX: u64;

    /// Reads the length at the front of `bytes`.
    fn read(bytes: &[u8]) -> Option<usize>;

    /// Appends the length; the caller has checked [`Prefix::MAX`].
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

/// What [`unprefix`] found.
#[derive(Debug, PartialEq, Eq)]
pub struct Unprefixed<O> {
    /// Where each string starts in the closed-up bytes, and where the last ends.
    pub offsets: Vec<O>,
    /// Bytes of the block that the strings and their lengths took.
    pub consumed: usize,
}

/// Removes the lengths from `block`, so that its front holds only string bytes.
///
/// `O` is the offset type of the array to be; the caller picks one that can
/// count to `block.len()`.
///
/// # Errors
///
/// A length that runs past the block, or more rows than the block can back;
/// the error carries the row.
pub fn unprefix<P: Prefix, O: arrow_array::OffsetSizeTrait>(
    block: &mut [u8],
    rows: usize,
) -> Result<Unprefixed<O>> {
    if rows > block.len() / P::BYTES {
        let row = (block.len() / P::BYTES) as u64;
        return Err(Error::malformed("row count", "is more than the block can hold").in_row(row));
    }
    let mut offsets = Vec::with_capacity(rows + 1);
    offsets.push(O::usize_as(0));
    let (mut from, mut to) = (0_usize, 0_usize);
    for row in 0..rows {
        let len = block.get(from..).and_then(P::read);
        let start = from + P::BYTES;
        let end = len.and_then(|len| start.checked_add(len)).filter(|&end| end <= block.len());
        let (Some(len), Some(end)) = (len, end) else {
            return Err(past_the_end(row));
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

/// Moves `W` bytes from `from` down to `to`, if that harms nothing.
///
/// Most strings are short, and a move of fixed width is a pair of registers
/// where a `memmove` is a call. Moving too much is harmless as long as what is
/// overwritten lies before `from`: those bytes have been moved already.
#[inline]
fn move_wide<const W: usize>(block: &mut [u8], from: usize, to: usize) -> bool {
    if from - to < W {
        return false;
    }
    let Some(&wide) = block.get(from..).and_then(<[u8]>::first_chunk::<W>) else {
        return false;
    };
    let Some(hole) = block.get_mut(to..).and_then(<[u8]>::first_chunk_mut::<W>) else {
        return false;
    };
    *hole = wide;
    true
}

#[cold]
fn past_the_end(row: usize) -> Error {
    Error::malformed("string length", "runs past the end of the block").in_row(row as u64)
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
        let mut mine = block.to_vec();
        let got = unprefix::<P, i32>(&mut mine, rows).ok();
        let want = naive::<P>(block, rows);
        assert_eq!(got.is_some(), want.is_some());
        if let (Some(got), Some((bytes, offsets, consumed))) = (got, want) {
            assert_eq!(got.offsets, offsets);
            assert_eq!(got.consumed, consumed);
            assert_eq!(&mine[..bytes.len()], &bytes[..]);
        }
    }

    proptest::proptest! {
        /// The wide moves give what a plain walk gives, for every mix of lengths.
        #[test]
        fn unprefix_agrees_with_a_plain_walk(
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
    fn a_huge_row_count_allocates_nothing() {
        let err = unprefix::<U16Be, i32>(&mut [0; 8], usize::MAX).unwrap_err();
        assert_eq!(err.row(), Some(4));
    }
}
