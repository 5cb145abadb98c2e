//! A cell that is short enough for a register.

use super::digits::{FOUR_DIGITS, count_of_four, digits};
use super::padded_dict::DictEntry;

/// A text of at most 15 bytes, the first byte lowest, with its length in the top byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct InlineCell(pub(super) u128);

impl InlineCell {
    /// The longest text.
    const MAX_BYTES: usize = 15;

    /// The largest scale for which every `i32` fits, after a lead byte.
    pub(crate) const MAX_SCALE: usize = 7;

    /// Returns a cell with this text; `None` if it is too long.
    pub(crate) fn new(text: &[u8]) -> Option<Self> {
        let mut bytes = [0; 16];
        bytes
            .get_mut(..text.len())
            .filter(|_| text.len() <= Self::MAX_BYTES)?
            .copy_from_slice(text);
        Some(Self::of(u128::from_le_bytes(bytes), text.len()))
    }

    /// Returns a cell with the text of an entry; `None` if it is too long.
    pub(crate) fn of_entry(entry: DictEntry<'_>) -> Option<Self> {
        match (entry.pieces, entry.len) {
            (_, 0) => Some(Self::default()),
            ([piece], len @ 1..=Self::MAX_BYTES) => {
                Some(Self::of(u128::from_le_bytes(*piece), len))
            }
            _ => None,
        }
    }

    #[inline]
    fn of(text: u128, len: usize) -> Self {
        Self(text | ((len as u128) << 120))
    }

    #[inline]
    pub(super) fn len(self) -> usize {
        (self.0.to_le_bytes()[15]).into()
    }

    /// Returns the same text without its first byte.
    pub(crate) fn without_lead(self) -> Self {
        let text = (self.0 << 8 >> 8) >> 8;
        Self::of(text, self.len().saturating_sub(1))
    }

    /// Returns a lead byte and an integer.
    #[inline]
    pub(crate) fn integer(lead: u8, value: i32) -> Self {
        let size = value.unsigned_abs();
        let sign = usize::from(value < 0);
        let minus = u64::from(b'-') * sign as u64;
        if let Some(&digits) = FOUR_DIGITS.get(size as usize) {
            let text = (((u64::from(digits) << (8 * sign)) | minus) << 8) | u64::from(lead);
            return Self::of(text.into(), 1 + sign + count_of_four(size));
        }
        let (digits, len) = digits(size, 1);
        let text = (((digits << (8 * sign)) | u128::from(minus)) << 8) | u128::from(lead);
        Self::of(text, 1 + sign + len)
    }

    /// Returns a lead byte and a decimal with 1 to [`InlineCell::MAX_SCALE`] digits after the point.
    #[inline]
    pub(crate) fn decimal(lead: u8, value: i32, scale: usize) -> Self {
        let sign = usize::from(value < 0);
        let minus = u128::from(b'-') * sign as u128;
        let (digits, len) = digits(value.unsigned_abs(), scale + 1);
        let whole = 8 * (len - scale);
        let after = digits >> whole;
        let text = (digits & !(u128::MAX << whole)) | (((after << 8) | u128::from(b'.')) << whole);
        let text = (((text << (8 * sign)) | minus) << 8) | u128::from(lead);
        Self::of(text, 2 + sign + len)
    }
}
