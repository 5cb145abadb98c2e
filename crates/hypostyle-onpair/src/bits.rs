//! Codes of 9 to 16 bits, packed from the lowest bit on.
//!
//! Code `j` starts at bit `j * bits`. Eight codes take `bits` bytes at any width, so every
//! eighth code starts at a byte boundary.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result, Section};

/// Calls a function that is generic over the width of codes.
macro_rules! of_width {
    ($bits:expr, $function:ident($($argument:expr),*)) => {
        match $bits {
            9 => $function::<9>($($argument),*),
            10 => $function::<10>($($argument),*),
            11 => $function::<11>($($argument),*),
            12 => $function::<12>($($argument),*),
            13 => $function::<13>($($argument),*),
            14 => $function::<14>($($argument),*),
            15 => $function::<15>($($argument),*),
            _ => $function::<16>($($argument),*),
        }
    };
}
pub(crate) use of_width;

/// Number of codes per group: groups start and end at byte boundaries.
pub(crate) const GROUP: usize = 8;

/// Returns the packed size of `codes` codes in bytes; `None` if it exceeds `usize`.
pub(crate) fn packed_len(codes: usize, bits: u32) -> Option<usize> {
    let whole = (codes / GROUP).checked_mul(bits as usize)?;
    whole.checked_add(((codes % GROUP) * bits as usize).div_ceil(8))
}

/// Returns the code at an index.
///
/// Bits after the end are zero.
#[inline]
pub(crate) fn code(packed: &[u8], bits: u32, index: usize) -> u16 {
    // At most 7 bits precede the code in its first byte, so it ends within 23 bits.
    let start = index / GROUP * bits as usize;
    let within = index % GROUP * bits as usize;
    let (at, shift) = (start + within / 8, within % 8);
    let word = match packed.get(at..at + 4) {
        Some(&[a, b, c, d]) => u32::from_le_bytes([a, b, c, d]),
        _ => {
            let byte = |at: usize| packed.get(at).copied().unwrap_or(0);
            u32::from_le_bytes([byte(at), byte(at + 1), byte(at + 2), 0])
        }
    };
    low(word >> shift, bits)
}

/// Returns the lowest bits of a word.
#[inline]
pub(crate) fn low(word: u32, bits: u32) -> u16 {
    let [a, b, ..] = (word & ((1 << bits) - 1)).to_le_bytes();
    u16::from_le_bytes([a, b])
}

/// Returns the whole groups among codes that start at a group boundary.
#[inline]
pub(crate) fn groups<const BITS: usize>(packed: &[u8], codes: Range<usize>) -> &[[u8; BITS]] {
    let first = codes.start / GROUP * BITS;
    let last = first + codes.len() / GROUP * BITS;
    packed.get(first..last).unwrap_or_default().as_chunks().0
}

/// Returns the codes of a group.
///
/// Four codes take half of the bytes: the first eight bytes contain the first four codes, and
/// the last eight bytes contain the others.
#[inline(always)]
pub(crate) fn group<const BITS: usize>(packed: &[u8; BITS]) -> [u16; GROUP] {
    let (Some(low), Some(high)) = (packed.first_chunk(), packed.last_chunk()) else {
        return [0; GROUP];
    };
    let (low, high) = (u64::from_le_bytes(*low), u64::from_le_bytes(*high) >> (64 - 4 * BITS));
    std::array::from_fn(|at| {
        let word = if at < 4 { low } else { high };
        let [a, b, ..] = ((word >> (at % 4 * BITS)) & ((1 << BITS) - 1)).to_le_bytes();
        u16::from_le_bytes([a, b])
    })
}

/// Returns the index of the first code at or above `limit`.
pub(crate) fn first_beyond(packed: &[u8], bits: u32, count: usize, limit: usize) -> Option<usize> {
    // Skip whole groups by their maximum; search only the first group that has such a code.
    let start = of_width!(bits, groups_below(packed, count, limit)) * GROUP;
    (start..count).find(|&index| usize::from(code(packed, bits, index)) >= limit)
}

/// Returns the number of groups before the first one with a code at or above `limit`.
fn groups_below<const BITS: usize>(packed: &[u8], count: usize, limit: usize) -> usize {
    let groups = groups(packed, 0..count);
    let is_beyond = |packed: &[u8; BITS]| {
        let max = group(packed).into_iter().fold(0, u16::max);
        usize::from(max) >= limit
    };
    groups.iter().position(is_beyond).unwrap_or(groups.len())
}

/// Packs codes incrementally.
#[derive(Debug)]
pub(crate) struct Packer {
    bits: u32,
    out: Vec<u8>,
    word: u64,
    filled: u32,
    codes: usize,
}

impl Packer {
    pub(crate) fn new(bits: u32) -> Self {
        Self { bits, out: Vec::new(), word: 0, filled: 0, codes: 0 }
    }

    pub(crate) fn extend(&mut self, codes: &[u16]) {
        self.out.reserve(packed_len(codes.len(), self.bits).unwrap_or(0).saturating_add(8));
        for &code in codes {
            self.word |= u64::from(code) << self.filled;
            self.filled += self.bits;
            // Flushes 48 of the 64 bits, so that another code of 16 bits always fits.
            if self.filled >= 48 {
                let bytes = self.word.to_le_bytes();
                self.out.extend_from_slice(bytes.first_chunk::<6>().map_or(&[], |six| six));
                self.word >>= 48;
                self.filled -= 48;
            }
        }
        self.codes += codes.len();
    }

    /// Returns the packed bytes and the number of codes.
    pub(crate) fn finish(mut self) -> (Vec<u8>, usize) {
        let rest = self.filled.div_ceil(8) as usize;
        let bytes = self.word.to_le_bytes();
        self.out.extend_from_slice(bytes.get(..rest).unwrap_or_default());
        (self.out, self.codes)
    }
}

/// Packs codes.
///
/// # Errors
///
/// Fails if the width is not 9 to 16 or a code has more bits.
pub fn pack(codes: &[u16], bits: u32) -> Result<Vec<u8>> {
    check_width(bits)?;
    if let Some(at) = codes.iter().position(|&code| u32::from(code) >> bits != 0) {
        return Err(Error::new(Section::Codes, at, ErrorKind::NoSuchToken));
    }
    let mut packer = Packer::new(bits);
    packer.extend(codes);
    Ok(packer.finish().0)
}

/// Unpacks `codes` codes. Bytes after them are ignored.
///
/// # Errors
///
/// Fails if the width is not 9 to 16 or there are too few bytes.
pub fn unpack(packed: &[u8], bits: u32, codes: usize) -> Result<Vec<u16>> {
    check_width(bits)?;
    if packed_len(codes, bits).is_none_or(|len| len > packed.len()) {
        return Err(Error::new(Section::Codes, packed.len(), ErrorKind::TooShort));
    }
    Ok((0..codes).map(|index| code(packed, bits, index)).collect())
}

pub(crate) fn check_width(bits: u32) -> Result<()> {
    match bits {
        9..=16 => Ok(()),
        _ => Err(Error::new(Section::Bits, 0, ErrorKind::Width)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_width_come_back() {
        for bits in 9..=16 {
            for count in 0..40 {
                let mask = (1_u32 << bits) - 1;
                let codes: Vec<u16> = (0..count)
                    .map(|i: u32| low(i.wrapping_mul(2_654_435_761) & mask, bits))
                    .collect();
                let mut packed = pack(&codes, bits).unwrap();
                assert_eq!(packed.len(), (count as usize * bits as usize).div_ceil(8));
                assert_eq!(unpack(&packed, bits, codes.len()).unwrap(), codes);
                // Bytes after the codes are ignored, such as the zero word of the C++
                // implementation.
                packed.extend_from_slice(&[0xFF; 8]);
                assert_eq!(unpack(&packed, bits, codes.len()).unwrap(), codes);
                if count > 0 {
                    packed.truncate((count as usize * bits as usize).div_ceil(8) - 1);
                    assert!(unpack(&packed, bits, codes.len()).is_err());
                }
            }
        }
        // The first code is in the lowest bits.
        assert_eq!(pack(&[1, 2], 12).unwrap(), [0x01, 0x20, 0x00]);
        assert!(pack(&[512], 9).is_err() && pack(&[0], 8).is_err() && pack(&[0], 17).is_err());
    }
}
