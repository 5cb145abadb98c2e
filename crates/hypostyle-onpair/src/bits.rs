//! Codes of 9 to 16 bits, packed from the lowest bit on.
//!
//! Code `j` takes the bits from `j * bits` on. Eight codes take `bits` bytes whatever
//! the width, so every eighth code starts at a byte.

use std::ops::Range;

use crate::error::{Error, ErrorKind, Result, Section};

/// Calls a function of the width of codes.
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

/// Codes that end where a byte does.
pub(crate) const GROUP: usize = 8;

/// Bytes that so many codes take; `None` if no address has so many.
pub(crate) fn packed_len(codes: usize, bits: u32) -> Option<usize> {
    let whole = (codes / GROUP).checked_mul(bits as usize)?;
    whole.checked_add(((codes % GROUP) * bits as usize).div_ceil(8))
}

/// The code that starts at this place.
///
/// Bits past the end are zero.
#[inline]
pub(crate) fn code(packed: &[u8], bits: u32, index: usize) -> u16 {
    // At most 7 bits before it in its first byte, so 23 in all.
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

/// The lowest bits of a word.
#[inline]
pub(crate) fn low(word: u32, bits: u32) -> u16 {
    let [a, b, ..] = (word & ((1 << bits) - 1)).to_le_bytes();
    u16::from_le_bytes([a, b])
}

/// The whole groups among codes, the first of which starts at a byte.
#[inline]
pub(crate) fn groups<const BITS: usize>(packed: &[u8], codes: Range<usize>) -> &[[u8; BITS]] {
    let first = codes.start / GROUP * BITS;
    let last = first + codes.len() / GROUP * BITS;
    packed.get(first..last).unwrap_or_default().as_chunks().0
}

/// The codes of a group.
///
/// Four codes take half of its bytes: so its first eight bytes have the first four, and its
/// last eight the rest.
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

/// The first code at or above `limit`.
pub(crate) fn first_beyond(packed: &[u8], bits: u32, count: usize, limit: usize) -> Option<usize> {
    // Whole groups are looked at at once; only a group with such a code one by one.
    let start = of_width!(bits, groups_below(packed, count, limit)) * GROUP;
    (start..count).find(|&index| usize::from(code(packed, bits, index)) >= limit)
}

/// Groups before the first that has such a code.
fn groups_below<const BITS: usize>(packed: &[u8], count: usize, limit: usize) -> usize {
    let groups = groups(packed, 0..count);
    let is_beyond = |packed: &[u8; BITS]| {
        let largest = group(packed).into_iter().fold(0, u16::max);
        usize::from(largest) >= limit
    };
    groups.iter().position(is_beyond).unwrap_or(groups.len())
}

/// Packs codes behind those that are there.
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
            // Room for one more code is left: 48 bits and 16.
            if self.filled >= 48 {
                let bytes = self.word.to_le_bytes();
                self.out.extend_from_slice(bytes.first_chunk::<6>().map_or(&[], |six| six));
                self.word >>= 48;
                self.filled -= 48;
            }
        }
        self.codes += codes.len();
    }

    /// The packed bytes, and how many codes they are.
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
/// A width that is not 9 to 16, and a code that has more bits.
pub fn pack(codes: &[u16], bits: u32) -> Result<Vec<u8>> {
    check_width(bits)?;
    if let Some(at) = codes.iter().position(|&code| u32::from(code) >> bits != 0) {
        return Err(Error::new(Section::Codes, at, ErrorKind::NoSuchToken));
    }
    let mut packer = Packer::new(bits);
    packer.extend(codes);
    Ok(packer.finish().0)
}

/// Unpacks so many codes. Bytes past them are ignored.
///
/// # Errors
///
/// A width that is not 9 to 16, and too few bytes.
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
                let most = (1_u32 << bits) - 1;
                let codes: Vec<u16> = (0..count)
                    .map(|i: u32| low(i.wrapping_mul(2_654_435_761) & most, bits))
                    .collect();
                let mut packed = pack(&codes, bits).unwrap();
                assert_eq!(packed.len(), (count as usize * bits as usize).div_ceil(8));
                assert_eq!(unpack(&packed, bits, codes.len()).unwrap(), codes);
                // What follows is ignored, such as the zero word of another writer.
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
