//! Formats numbers, eight digits at a time.

/// Turns eight digits into ASCII when it is added with a bitwise or.
pub(super) const ASCII: u64 = 0x3030_3030_3030_3030;

/// Returns the number of digits of a number below 10^4.
#[inline]
pub(super) fn count_of_four(value: u32) -> usize {
    1 + usize::from(value >= 10) + usize::from(value >= 100) + usize::from(value >= 1000)
}

/// Returns the text of a number and its length, with leading zeros up to `min_digits` digits.
///
/// `min_digits` must be 1 to 8.
#[inline]
pub(super) fn digits(value: u32, min_digits: usize) -> (u128, usize) {
    let (high, low) = (value / 100_000_000, value % 100_000_000);
    let eight = eight_digits(low);
    if high == 0 {
        let zeros = leading_zeros(eight).min(8 - min_digits);
        return (((eight | ASCII) >> (8 * zeros)).into(), 8 - zeros);
    }
    let len = count_of_four(high);
    let first = FOUR_DIGITS.get(high as usize).copied().unwrap_or_default();
    (u128::from(first) | (u128::from(eight | ASCII) << (8 * len)), 8 + len)
}

/// The text of every number below 10^4, without leading zeros, first digit in the lowest byte.
pub(super) static FOUR_DIGITS: [u32; 10_000] = four_digits();

#[expect(
    clippy::indexing_slicing,
    reason = "evaluated at compile time, where a panic is a compile error"
)]
const fn four_digits() -> [u32; 10_000] {
    let mut all = [0; 10_000];
    let mut number = 0;
    while number < 10_000 {
        let (mut text, mut rest) = (0, number);
        loop {
            text = (text << 8) | (b'0' as u32 + rest % 10);
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        all[number as usize] = text;
        number += 1;
    }
    all
}

/// Returns the digits of a number below 10^8, one per byte, the first one lowest.
#[inline]
pub(super) fn eight_digits(value: u32) -> u64 {
    // Split into halves of four digits, quarters of two, then single digits. Each division
    // is a multiplication and a shift over all lanes, exact for numbers this small.
    let halves = u64::from(value / 10_000) | (u64::from(value % 10_000) << 32);
    let hundreds = ((halves * 10_486) >> 20) & 0x0000_007F_0000_007F;
    let quarters = hundreds | ((halves - 100 * hundreds) << 16);
    let tens = ((quarters * 103) >> 10) & 0x000F_000F_000F_000F;
    tens | ((quarters - 10 * tens) << 8)
}

/// Returns the number of leading zeros of eight digits.
#[inline]
pub(super) fn leading_zeros(digits: u64) -> usize {
    (digits.trailing_zeros() / 8) as usize
}
