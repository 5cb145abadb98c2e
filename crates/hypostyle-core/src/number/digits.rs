//! Parses up to eight digits at once, as one 64-bit word.
//!
//! Most numbers in text have few digits. A loop over the digits mispredicts a branch for
//! each number, which costs more than all the arithmetic.

/// A word with 1 in every byte.
const ALL: u64 = 0x0101_0101_0101_0101;

/// Loads a text of one to eight bytes into a word, the first byte lowest.
///
/// Two overlapping reads cover any length; the remaining bytes are 0.
#[inline]
pub(super) fn word(text: &[u8]) -> Option<u64> {
    let len = text.len();
    if let (Some(head), Some(tail)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let beyond = len.checked_sub(4).filter(|&beyond| beyond <= 4)?;
        let head = u64::from(u32::from_le_bytes(*head));
        return Some(head | u64::from(u32::from_le_bytes(*tail)) << (8 * beyond));
    }
    match *text {
        [a] => Some(u64::from(a)),
        [a, b] => Some(u64::from(u16::from_le_bytes([a, b]))),
        [a, b, c] => Some(u64::from(u32::from_le_bytes([a, b, c, 0]))),
        _ => None,
    }
}

/// Returns the number that the `len` lowest bytes of `word` spell in digits.
///
/// Returns `None` if one of them is not a digit. `len` is 1 to 8.
#[inline]
pub(super) fn number(word: u64, len: usize) -> Option<u64> {
    // Shift the last digit to the highest byte; zeros precede the first digit.
    let spare = 64 - 8 * u32::try_from(len).ok().filter(|len| (1..=8).contains(len))?;
    let digits = (word << spare) ^ ((ALL * u64::from(b'0')) << spare);
    let over_nine = digits.wrapping_add(ALL * 0x76) | digits;
    if over_nine & (ALL * 0x80) != 0 {
        return None;
    }
    // Combine neighbours: digits to pairs, pairs to fours, fours to eight.
    let pairs = (digits * 10 + (digits >> 8)) & 0x00FF_00FF_00FF_00FF;
    let fours = (pairs * 100 + (pairs >> 16)) & 0x0000_FFFF_0000_FFFF;
    Some((fours * 10_000 + (fours >> 32)) & 0xFFFF_FFFF)
}

/// Returns the position of the first `.` in a word.
#[inline]
pub(super) fn point(word: u64) -> Option<usize> {
    let zeroed = word ^ (ALL * u64::from(b'.'));
    let zeros = zeroed.wrapping_sub(ALL) & !zeroed & (ALL * 0x80);
    (zeros != 0).then(|| (zeros.trailing_zeros() / 8) as usize)
}

/// Returns the word without the byte at `place`.
#[inline]
pub(super) fn without(word: u64, place: usize) -> u64 {
    let before = !(u64::MAX << (8 * place));
    (word & before) | (word >> 8 & !before)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WORD: usize = 8;

    proptest! {
        #[test]
        fn words_hold_the_bytes_in_order(text in proptest::collection::vec(any::<u8>(), 0..12)) {
            let mut padded = text.clone();
            padded.resize(text.len().max(WORD), 0);
            let want = (1..=WORD).contains(&text.len())
                .then(|| u64::from_le_bytes(padded[..WORD].try_into().unwrap()));
            prop_assert_eq!(word(&text), want);
        }

        #[test]
        fn digits_are_read_as_the_library_reads_them(text in "[0-9]{1,8}|[0-9a/:.\\-é\0]{1,7}") {
            let want = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().unwrap());
            if let Some(word) = word(text.as_bytes()) {
                prop_assert_eq!(number(word, text.len()), want);
            }
        }

        #[test]
        fn the_first_point_is_found_and_taken_out(text in "[0-9./\\-]{1,8}") {
            let found = word(text.as_bytes()).unwrap();
            prop_assert_eq!(point(found), text.find('.'));
            if let Some(at) = text.find('.') {
                let rest = text[..at].to_owned() + &text[at + 1..];
                prop_assert_eq!(without(found, at), word(rest.as_bytes()).unwrap_or(0));
            }
        }
    }
}
