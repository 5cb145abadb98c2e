//! Many small numbers: blocks of 128, each with a base and a width, or codes of which common
//! numbers have short ones (§5.3).

use hypostyle_onpair::{pack_counts, unpack_counts};

use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{Cursor, put};

/// Numbers in a block.
pub(super) const BLOCK: usize = 128;

/// What a list of codes starts with: the base and width of no block.
const CODED: [u8; 2] = [0, 0xFF];

/// The bytes of numbers: of both forms the smaller one.
pub(super) fn packed(numbers: &[u32]) -> Vec<u8> {
    let blocks = in_blocks(numbers);
    let codes = pack_counts(numbers);
    match codes.is_empty() || codes.len() + CODED.len() >= blocks.len() {
        true => blocks,
        false => [&CODED[..], &codes].concat(),
    }
}

fn in_blocks(numbers: &[u32]) -> Vec<u8> {
    let mut out = Vec::new();
    for block in numbers.chunks(BLOCK) {
        let (least, most) = block
            .iter()
            .fold((u32::MAX, 0), |(least, most), &number| (least.min(number), most.max(number)));
        let width = u32::BITS - most.saturating_sub(least).leading_zeros();
        put::uv(&mut out, u64::from(least));
        out.extend(u8::try_from(width));
        let (mut word, mut filled) = (0_u64, 0_u32);
        for &number in block {
            word |= u64::from(number.saturating_sub(least)) << filled;
            filled += width;
            // At most 31 bits stay, and 32 more fit beside them.
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

/// Exactly `count` numbers, which take all of the bytes; `at` is where these are.
pub(super) fn unpack(bytes: &[u8], count: usize, at: u64, what: &'static str) -> Result<Vec<u32>> {
    // A block takes two bytes at least, so that a count cannot be made up.
    if count.div_ceil(BLOCK).saturating_mul(2) > bytes.len() {
        let why = format!("{} bytes are too few for {count} numbers", bytes.len());
        return Err(Error::malformed(what, why).at(at));
    }
    if let Some(codes) = bytes.strip_prefix(&CODED) {
        return unpack_counts(codes, count).map_err(|err| {
            let at = at.saturating_add(CODED.len() as u64).saturating_add(err.at);
            Error::malformed(what, err.kind.to_string()).at(at)
        });
    }
    let mut cursor = Cursor::new(bytes, at);
    let mut numbers = Vec::with_capacity(count);
    while numbers.len() < count {
        let len = BLOCK.min(count - numbers.len());
        block(&mut cursor, len, what, &mut numbers)?;
    }
    match cursor.is_empty() {
        true => Ok(numbers),
        false => Err(cursor.malformed(what, "bytes are left over")),
    }
}

fn block(
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
    let over = || start.malformed(what, "a number of more than 32 bits");
    let mask = (1_u64 << width) - 1;
    let (mut word, mut filled) = (0_u64, 0_u32);
    let mut bytes = packed.iter();
    for _ in 0..len {
        while filled < width {
            word |= u64::from(bytes.next().copied().unwrap_or(0)) << filled;
            filled += 8;
        }
        let more = u32::try_from(word & mask).map_err(|_| over())?;
        numbers.push(base.checked_add(more).ok_or_else(over)?);
        word >>= width;
        filled -= width;
    }
    match word {
        0 => Ok(()),
        _ => Err(start.malformed(what, "bits past the last number are not 0")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_width_come_back() {
        for width in 0..=32 {
            let mask = u32::try_from((1_u64 << width) - 1).unwrap();
            for count in [0, 1, 7, 127, 128, 129, 300] {
                let number = |i: u32| i.wrapping_mul(2_654_435_761) & mask;
                let mut numbers: Vec<u32> = (0..count).map(number).collect();
                numbers.extend((count > 0).then_some(mask));
                let bytes = packed(&numbers);
                assert_eq!(unpack(&bytes, numbers.len(), 0, "n").unwrap(), numbers);
                assert!(unpack(&bytes, numbers.len() + 128, 0, "n").is_err());
                for cut in 0..bytes.len() {
                    assert!(unpack(&bytes[..cut], numbers.len(), 0, "n").is_err());
                }
            }
        }
    }

    #[test]
    fn common_numbers_take_few_bits() {
        let numbers: Vec<u32> = (0..1000).map(|at| if at % 50 == 0 { at } else { 3 }).collect();
        let bytes = packed(&numbers);
        assert!(bytes.len() < 400 && bytes.starts_with(&CODED), "{} bytes", bytes.len());
        assert_eq!(unpack(&bytes, numbers.len(), 0, "n").unwrap(), numbers);
        let err = unpack(&bytes[..bytes.len() - 1], numbers.len(), 100, "n").unwrap_err();
        assert!(err.to_string().contains("the data ends too early"), "{err}");
        assert!(unpack(&bytes, 1 << 40, 0, "n").unwrap_err().to_string().contains("too few"));
    }

    #[test]
    fn equal_numbers_take_two_bytes_or_so() {
        assert_eq!(packed(&[36; 128]), [36, 0]);
        assert_eq!(packed(&[5, 6, 7]), [5, 2, 0b10_01_00]);
        assert!(packed(&[]).is_empty());
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let refused = |bytes: &[u8], count| unpack(bytes, count, 9, "n").unwrap_err().to_string();
        assert_eq!(refused(&[0, 33, 0, 0, 0, 0, 0], 1), "byte 9: n: a width of 33 bits");
        assert!(refused(&[5, 2, 0b0100_0000], 3).contains("bits past the last"));
        assert!(refused(&[0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 1], 1).contains("32 bits"));
        assert!(refused(&[0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0], 1).contains("32 bits"));
        assert!(refused(&[1, 0, 7], 1).contains("left over"));
        assert!(refused(&[0, 0], 1 << 40).contains("too few"));
    }
}
