//! Huffman coding of the number of codes per row.
//!
//! The rows of a column mostly have one of a few lengths, so a common count gets a short code.
//! Codes have 1 to 12 bits and are canonical, numbered as in deflate.
//!
//! ```text
//! max u8 │ the code length of each count from 0 to max, 4 bits each, 0 if it does not occur
//!        │ the codes, lowest bit first │ zeros up to a whole byte
//! ```
//!
//! Two code lengths share a byte, the first one in the low half. If `max` is 255, its code is
//! an escape for all counts from 255 on, and 32 bits with the count follow it.

use crate::error::{Error, ErrorKind, Result, Section};

/// Maximum length of a code.
const MAX_CODE_BITS: u32 = 12;

/// The symbol of all counts from 255 on.
const ESCAPE: usize = 255;

/// Packs counts; returns no bytes if all counts are equal, or all are 255 or more.
pub fn pack_counts(counts: &[u32]) -> Vec<u8> {
    let mut uses = [0_u64; ESCAPE + 1];
    for &count in counts {
        uses.get_mut(symbol(count)).into_iter().for_each(|uses| *uses += 1);
    }
    let Some(max_symbol) = uses.iter().rposition(|&uses| uses > 0) else { return Vec::new() };
    if uses.iter().filter(|&&uses| uses > 0).count() < 2 {
        return Vec::new();
    }
    let lengths = code_lengths(&uses);
    let codes = canonical_codes(&lengths);
    let mut out = Vec::with_capacity(counts.len() / 2 + ESCAPE);
    out.push(u8::try_from(max_symbol).unwrap_or(u8::MAX));
    for pair in lengths.get(..=max_symbol).unwrap_or_default().chunks(2) {
        out.push(pair.iter().rev().fold(0, |byte, &length| byte << 4 | length));
    }
    let (mut word, mut filled) = (0_u64, 0_u32);
    for &count in counts {
        let symbol = symbol(count);
        let (code, length) = codes.get(symbol).copied().unwrap_or_default();
        word |= u64::from(code) << filled;
        filled += u32::from(length);
        if symbol == ESCAPE {
            flush(&mut word, &mut filled, &mut out);
            word |= u64::from(count) << filled;
            filled += u32::BITS;
        }
        // At most 31 bits remain, so that a code or a count still fits.
        flush(&mut word, &mut filled, &mut out);
    }
    out.extend(word.to_le_bytes().iter().take(filled.div_ceil(8) as usize));
    out
}

fn flush(word: &mut u64, filled: &mut u32, out: &mut Vec<u8>) {
    while *filled >= u32::BITS {
        out.extend(word.to_le_bytes().first_chunk::<4>().map_or(&[][..], |four| four));
        *word >>= u32::BITS;
        *filled -= u32::BITS;
    }
}

fn symbol(count: u32) -> usize {
    (count as usize).min(ESCAPE)
}

/// Returns the code lengths of symbols with these numbers of uses.
fn code_lengths(uses: &[u64; ESCAPE + 1]) -> [u8; ESCAPE + 1] {
    let mut uses = *uses;
    loop {
        let lengths = huffman_lengths(&uses);
        if lengths.iter().all(|&length| u32::from(length) <= MAX_CODE_BITS) {
            return lengths;
        }
        // Flatten the distribution until no code is too long.
        uses.iter_mut().filter(|uses| **uses > 0).for_each(|uses| *uses = *uses / 2 + 1);
    }
}

/// Returns the code lengths without a limit, by merging the two rarest groups until one is
/// left.
fn huffman_lengths(uses: &[u64; ESCAPE + 1]) -> [u8; ESCAPE + 1] {
    let mut lengths = [0_u8; ESCAPE + 1];
    // The number of uses and the symbols of each group.
    let mut groups: Vec<(u64, Vec<usize>)> = uses
        .iter()
        .enumerate()
        .filter(|(_, uses)| **uses > 0)
        .map(|(at, &it)| (it, vec![at]))
        .collect();
    while groups.len() > 1 {
        groups.sort_by(|one, other| other.cmp(one));
        let (Some((uses, mut rare)), Some((more, also))) = (groups.pop(), groups.pop()) else {
            break;
        };
        rare.extend(also);
        for &at in &rare {
            lengths.get_mut(at).into_iter().for_each(|length| *length += 1);
        }
        groups.push((uses + more, rare));
    }
    lengths
}

/// Returns the canonical codes, first bit lowest, and their lengths.
fn canonical_codes(lengths: &[u8]) -> Vec<(u16, u8)> {
    let mut next = [0_u32; MAX_CODE_BITS as usize + 2];
    for &length in lengths.iter().filter(|&&length| length > 0) {
        next.get_mut(usize::from(length) + 1).into_iter().for_each(|count| *count += 1);
    }
    // The first code of a length follows the last code of the length before.
    let mut first = 0;
    for count in &mut next {
        first = (first + *count) << 1;
        *count = first;
    }
    let code = |&length: &u8| {
        let Some(next) = next.get_mut(usize::from(length)).filter(|_| length > 0) else {
            return (0, 0);
        };
        let code = *next;
        *next += 1;
        let reversed = code.reverse_bits().checked_shr(u32::BITS - u32::from(length));
        (reversed.and_then(|code| u16::try_from(code).ok()).unwrap_or(0), length)
    };
    lengths.iter().map(code).collect()
}

/// Unpacks `counts` counts from all of the bytes.
///
/// # Errors
///
/// Fails if the bytes are not `counts` packed counts.
pub fn unpack_counts(packed: &[u8], counts: usize) -> Result<Vec<u32>> {
    let fail = |at: usize, kind: ErrorKind| Error::new(Section::Counts, at, kind);
    let (&max_symbol, rest) = packed.split_first().ok_or_else(|| fail(0, ErrorKind::TooShort))?;
    let listed = (usize::from(max_symbol) + 1).div_ceil(2);
    let (listed, body) =
        rest.split_at_checked(listed).ok_or_else(|| fail(packed.len(), ErrorKind::TooShort))?;
    let mut lengths: Vec<u8> = listed.iter().flat_map(|byte| [byte & 0xF, byte >> 4]).collect();
    let spare = lengths.split_off(usize::from(max_symbol) + 1);
    let is_last = lengths.last().is_some_and(|&last| last > 0);
    // The code must be complete: no code is a prefix of another, and every bit string decodes.
    let share = |&length: &u8| if length == 0 { 0 } else { (1_u32 << 15) >> length };
    let is_complete = lengths.iter().map(share).sum::<u32>() == 1 << 15;
    let is_short = lengths.iter().all(|&length| u32::from(length) <= MAX_CODE_BITS);
    if !is_last || !is_complete || !is_short || spare.iter().any(|&length| length > 0) {
        return Err(fail(1, ErrorKind::Code));
    }
    // A code has at least one bit, so `counts` is bounded by the size of the input before it
    // becomes a capacity.
    if counts.div_ceil(8) > body.len() {
        return Err(fail(packed.len(), ErrorKind::TooShort));
    }
    let table = decode_table(&lengths);
    let start = packed.len() - body.len();
    let mut reader = BitReader { body, bit: 0 };
    let mut out = Vec::with_capacity(counts);
    while out.len() < counts {
        let mut word = reader.word();
        let mut used = 0;
        // The word always contains four codes.
        for _ in 0..(counts - out.len()).min(4) {
            let index = usize::try_from(word & ((1 << MAX_CODE_BITS) - 1)).unwrap_or(0);
            let Some(&(symbol, length)) = table.get(index) else { break };
            word >>= length;
            used += usize::from(length);
            if usize::from(symbol) == ESCAPE {
                reader.bit += used;
                used = u32::BITS as usize;
                let [a, b, c, d, ..] = reader.word().to_le_bytes();
                let count = u32::from_le_bytes([a, b, c, d]);
                if self::symbol(count) != ESCAPE {
                    return Err(fail(start + reader.bit / 8, ErrorKind::Code));
                }
                out.push(count);
                break;
            }
            out.push(symbol.into());
        }
        reader.bit += used;
    }
    let is_exact = reader.bit.div_ceil(8) == body.len();
    let spare = body.last().map_or(0, |&last| u32::from(last) >> ((reader.bit + 7) % 8) >> 1);
    if reader.bit > body.len() * 8 {
        return Err(fail(packed.len(), ErrorKind::TooShort));
    }
    if !is_exact || spare != 0 {
        return Err(fail(start + reader.bit / 8, ErrorKind::Size));
    }
    Ok(out)
}

/// Returns the symbol and the length of the code that each string of 12 bits starts with.
fn decode_table(lengths: &[u8]) -> Vec<(u8, u8)> {
    let mut table = vec![(0, 1); 1 << MAX_CODE_BITS];
    for ((code, length), symbol) in canonical_codes(lengths).into_iter().zip(0..=u8::MAX) {
        if length > 0 {
            let starts = table.iter_mut().skip(code.into()).step_by(1 << length);
            starts.for_each(|entry| *entry = (symbol, length));
        }
    }
    table
}

/// Reads bits, lowest first, and zeros after the end.
struct BitReader<'b> {
    body: &'b [u8],
    bit: usize,
}

impl BitReader<'_> {
    /// Returns at least 57 bits.
    #[inline]
    fn word(&self) -> u64 {
        let rest = self.body.get(self.bit / 8..).unwrap_or_default();
        let word = match rest.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight),
            None => rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)),
        };
        word >> (self.bit % 8)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn comes_back(counts: &[u32]) {
        let packed = pack_counts(counts);
        if packed.is_empty() {
            assert!(counts.windows(2).all(|pair| symbol(pair[0]) == symbol(pair[1])));
            return;
        }
        assert_eq!(unpack_counts(&packed, counts.len()).unwrap(), counts);
        assert!(unpack_counts(&packed[..packed.len() - 1], counts.len()).is_err());
        let longer = [&packed[..], &[0]].concat();
        assert!(unpack_counts(&longer, counts.len()).is_err());
    }

    #[test]
    fn code_lengths_stay_within_the_limit() {
        // Each count occurs twice as often as the one before.
        let counts: Vec<u32> = (0..18).flat_map(|count| vec![count; 1 << count]).collect();
        comes_back(&counts);
        comes_back(&[255, 256, u32::MAX, 3, 0, 255]);
        comes_back(&[]);
        comes_back(&[7; 100]);
        // Half of the counts take one bit, a quarter two, and so on; the limit makes the rarest
        // take more.
        let bits = pack_counts(&counts).len() * 8;
        assert!(bits < counts.len() * 21 / 10, "{bits} for {}", counts.len());
    }

    #[test]
    fn invalid_codes_are_refused() {
        // Counts 0 and 1 with a code of one bit each.
        let good = [1, 0x11, 0b0110];
        assert_eq!(unpack_counts(&good, 4).unwrap(), [0, 1, 1, 0]);
        let bad: [(&[u8], usize); 8] = [
            (&[], 1),
            (&[1], 1),
            (&[1, 0x21, 0], 4),        // an incomplete code
            (&[1, 0x01, 0], 4),        // the maximum has no code
            (&[0, 0x01, 0], 4),        // only one code
            (&[1, 0x11, 0b1_0110], 4), // a bit after the last code
            (&[1, 0x11, 0], 9),        // too few bytes
            (&[2, 0x11, 0x11, 0], 2),  // an overfull code, and a spare half byte
        ];
        for (bytes, counts) in bad {
            assert!(unpack_counts(bytes, counts).is_err(), "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn any_counts_come_back(
            few in prop::collection::vec(0_u32..20, 0..300),
            many in prop::collection::vec(any::<u32>(), 0..20),
        ) {
            comes_back(&[few, many].concat());
        }

        #[test]
        fn any_bytes_are_counts_or_not(bytes: Vec<u8>, counts in 0_usize..100) {
            if let Ok(unpacked) = unpack_counts(&bytes, counts) {
                prop_assert_eq!(unpacked.len(), counts);
            }
        }
    }
}
