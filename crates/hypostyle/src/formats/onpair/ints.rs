//! Lists of small integers: bit-packed in blocks of 128, each with a base and a width, or
//! Huffman-coded (§5.3).

use hypostyle_onpair::{pack_counts, unpack_counts};

use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{Cursor, put};

/// The number of integers in a block.
const BLOCK_LEN: usize = 128;

/// The first bytes of a Huffman-coded list, a base and a width that no block has.
const HUFFMAN_MARK: [u8; 2] = [0, 0xFF];

/// Returns the smaller of the two forms of a list.
pub(super) fn pack(numbers: &[u32]) -> Vec<u8> {
    let blocks = pack_blocks(numbers);
    let codes = pack_counts(numbers);
    if codes.is_empty() || codes.len() + HUFFMAN_MARK.len() >= blocks.len() {
        blocks
    } else {
        [&HUFFMAN_MARK[..], &codes].concat()
    }
}

fn pack_blocks(numbers: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in numbers.chunks(BLOCK_LEN) {
        let (min, max) = block
            .iter()
            .fold((u32::MAX, 0), |(min, max), &number| (min.min(number), max.max(number)));
        let width = u32::BITS - max.saturating_sub(min).leading_zeros();
        put::uv(&mut out, u64::from(min));
        out.extend(u8::try_from(width));
        let (mut word, mut filled) = (0_u64, 0_u32);
        for &number in block {
            word |= u64::from(number.saturating_sub(min)) << filled;
            filled += width;
            // At most 31 bits remain, so the next 32 fit too.
            if filled >= 32 {
                out.extend(word.to_le_bytes().iter().take(4));
                word >>= 32;
                filled -= 32;
            }
        }
        out.extend(word.to_le_bytes().iter().take(filled.div_ceil(8) as usize));
    }
    out
}

/// Unpacks exactly `count` numbers, which must take all of `bytes`; `at` is their offset.
pub(super) fn unpack(bytes: &[u8], count: usize, at: u64, what: &'static str) -> Result<Vec<u32>> {
    // A block takes at least two bytes, so the bytes back the count.
    if count.div_ceil(BLOCK_LEN).saturating_mul(2) > bytes.len() {
        let why = format!("{} bytes are too few for {count} numbers", bytes.len());
        return Err(Error::malformed(what, why).at(at));
    }
    if let Some(codes) = bytes.strip_prefix(&HUFFMAN_MARK) {
        return unpack_counts(codes, count).map_err(|err| {
            let at = at.saturating_add(HUFFMAN_MARK.len() as u64).saturating_add(err.at);
            Error::malformed(what, err.kind.to_string()).at(at)
        });
    }
    let mut cursor = Cursor::new(bytes, at);
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let len = BLOCK_LEN.min(count - numbers.len());
        unpack_block(&mut cursor, len, what, &mut numbers)?;
    }
    if !cursor.is_empty() {
        return Err(cursor.malformed(what, "bytes are left over"));
    }
    Ok(numbers)
}

fn unpack_block(
    cursor: &mut Cursor<'_>,
    len: usize,
    what: &'static str,
    numbers: &mut Vec<u32>,
) -> Result<()> {
    let start = cursor.clone();
    let base = u32::try_from(cursor.uv(what)?)
        .map_err(|_| start.malformed(what, "a base of more than 32 bits"))?;
    let width = u32::from(cursor.u8(what)?);
    if width > u32::BITS {
        return Err(start.malformed(what, format!("a width of {width} bits")));
    }
    let packed = cursor.take((len * width as usize).div_ceil(8), what)?;
    let overflow = || start.malformed(what, "a number of more than 32 bits");
    let mask = (1_u64 << width) - 1;
    let (mut word, mut filled) = (0_u64, 0_u32);
    let mut bytes = packed.iter();
    for _ in 0..len {
        while filled < width {
            word |= u64::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        let delta = u32::try_from(word & mask).map_err(|_| overflow())?;
        numbers.push(base.checked_add(delta).ok_or_else(overflow)?);
        word >>= width;
        filled -= width;
    }
    if word != 0 {
        return Err(start.malformed(what, "bits past the last number are not 0"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_round_trip() {
        for width in 0..=32 {
            let mask = u32::try_from((1_u64 << width) - 1).unwrap();
            for count in [0, 1, 7, 127, 128, 129, 300] {
                let number = |i: u32| i.wrapping_mul(2_654_435_761) & mask;
                let mut numbers: Vec<u32> = (0..count).map(number).collect();
                numbers.extend((count > 0).then_some(mask));
                let bytes = pack(&numbers);
                assert_eq!(unpack(&bytes, numbers.len(), 0, "n").unwrap(), numbers);
                assert!(unpack(&bytes, numbers.len() + 128, 0, "n").is_err());
                for cut in 0..bytes.len() {
                    assert!(unpack(&bytes[..cut], numbers.len(), 0, "n").is_err());
                }
            }
        }
    }

    #[test]
    fn frequent_numbers_take_few_bits() {
        let numbers: Vec<u32> = (0..1000).map(|at| if at % 50 == 0 { at } else { 3 }).collect();
        let bytes = pack(&numbers);
        assert!(bytes.len() < 400 && bytes.starts_with(&HUFFMAN_MARK), "{} bytes", bytes.len());
        assert_eq!(unpack(&bytes, numbers.len(), 0, "n").unwrap(), numbers);
        let err = unpack(&bytes[..bytes.len() - 1], numbers.len(), 100, "n").unwrap_err();
        assert!(err.to_string().contains("the data ends too early"), "{err}");
        assert!(unpack(&bytes, 1 << 40, 0, "n").unwrap_err().to_string().contains("too few"));
    }

    #[test]
    fn equal_numbers_take_two_bytes_a_block() {
        assert_eq!(pack(&[36; 128]), [36, 0]);
        assert_eq!(pack(&[5, 6, 7]), [5, 2, 0b10_01_00]);
        assert!(pack(&[]).is_empty());
    }

    #[test]
    fn malformed_lists_are_refused() {
        let refused = |bytes: &[u8], count| unpack(bytes, count, 9, "n").unwrap_err().to_string();
        assert_eq!(refused(&[0, 33, 0, 0, 0, 0, 0], 1), "byte 9: n: a width of 33 bits");
        assert!(refused(&[5, 2, 0b0100_0000], 3).contains("bits past the last"));
        assert!(refused(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 1], 1).contains("32 bits"));
        assert!(refused(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0], 1).contains("32 bits"));
        assert!(refused(&[1, 0, 7], 1).contains("left over"));
        assert!(refused(&[0, 0], 1 << 40).contains("too few"));
    }
}
