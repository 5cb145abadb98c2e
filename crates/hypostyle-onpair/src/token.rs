//! The tokens of a dictionary, and the width of codes for them.

use crate::MAX_TOKEN_SIZE;

/// A token of up to 16 bytes, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    bytes: [u8; MAX_TOKEN_SIZE],
    len: u8,
}

impl Token {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut token = Self { bytes: [0; MAX_TOKEN_SIZE], len: 0 };
        for (to, from) in token.bytes.iter_mut().zip(bytes) {
            *to = *from;
            token.len += 1;
        }
        token
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.len)).unwrap_or_default()
    }

    #[inline]
    pub(crate) fn len(&self) -> u8 {
        self.len
    }

    /// Returns the bytes as two words, padded with zeros.
    #[inline]
    pub(crate) fn words(&self) -> [u64; 2] {
        to_words(&self.bytes)
    }
}

/// Returns the width of the codes of `tokens` tokens.
pub(crate) fn width(tokens: usize) -> u32 {
    tokens.max(2).next_power_of_two().trailing_zeros().clamp(9, 16)
}

/// Returns sixteen bytes as two words.
#[inline(always)]
pub(crate) fn to_words(bytes: &[u8; MAX_TOKEN_SIZE]) -> [u64; 2] {
    let (low, high) = bytes.split_at(8);
    [low, high].map(|half| half.first_chunk().map_or(0, |half| u64::from_le_bytes(*half)))
}
