//! Where tokens fit on a needle, as bit masks.
//!
//! A token is at position `p` of a needle if its first byte is on byte `p` of the needle; `p`
//! is negative if the token starts before the needle. It fits there if the bytes in which the
//! two overlap are equal. All positions at which a token fits are one word, so a search needs
//! no bytes of tokens, and works for any split into tokens.

use std::fmt;

use crate::MAX_TOKEN_SIZE;

/// The bit of position 0. Lower bits are positions before the needle.
const ORIGIN_BIT: usize = MAX_TOKEN_SIZE;

/// The maximum number of bytes of a needle that a window covers.
pub(super) const MAX_WINDOW: usize = u64::BITS as usize - ORIGIN_BIT;

/// Whether the case of letters matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Sensitive,
    /// The case of ASCII letters is ignored.
    Insensitive,
}

impl Case {
    #[inline]
    pub(super) fn fold(self, byte: u8) -> u8 {
        match self {
            Self::Sensitive => byte,
            Self::Insensitive => byte.to_ascii_lowercase(),
        }
    }
}

/// A needle of up to [`MAX_WINDOW`] bytes, or a part of a longer one.
pub(super) struct Window {
    len: usize,
    /// For each byte value, the positions of the needle that have another byte.
    misfits: Box<[u64; 256]>,
    /// For each number of matched bytes, the positions at which a token continues the match or
    /// a shorter match that the text also ends with.
    continuations: [u64; MAX_WINDOW + 1],
}

impl Window {
    /// Creates the window of the first [`MAX_WINDOW`] bytes of a needle.
    pub(super) fn new(needle: &[u8], case: Case) -> Self {
        let needle: Vec<u8> = needle.iter().take(MAX_WINDOW).map(|&byte| case.fold(byte)).collect();
        let mut misfits = Box::new([0; 256]);
        for (byte, misfits) in (0..=u8::MAX).zip(misfits.iter_mut()) {
            for (position, &wanted) in needle.iter().enumerate() {
                *misfits |= u64::from(wanted != case.fold(byte)) << (ORIGIN_BIT + position);
            }
        }
        let mut continuations = [(2 << ORIGIN_BIT) - 1; MAX_WINDOW + 1];
        for (found, &border) in (1..).zip(&borders(&needle)) {
            let before = continuations.get(border).copied().unwrap_or(0);
            if let Some(continuations) = continuations.get_mut(found) {
                *continuations = before | 1_u64.checked_shl(bit(found)).unwrap_or(0);
            }
        }
        Self { len: needle.len(), misfits, continuations }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Returns the positions at which a token fits.
    #[inline]
    pub(super) fn positions(&self, token: &[u8]) -> u64 {
        let mut misfits = 0;
        for (at, &byte) in token.iter().enumerate() {
            misfits |= self.misfits.get(usize::from(byte)).copied().unwrap_or(0) >> at;
        }
        // No token starts after the needle.
        !misfits & (u64::MAX >> (MAX_WINDOW - self.len))
    }

    /// Returns whether `positions` includes a position.
    #[inline]
    pub(super) fn fits(positions: u64, position: usize) -> bool {
        positions.checked_shr(bit(position)).unwrap_or(0) & 1 == 1
    }

    /// Returns the position at which a token that ends before byte `end` starts, 0 if it starts
    /// before the needle; `None` if it does not fit.
    #[inline]
    pub(super) fn start(positions: u64, end: usize, len: usize) -> Option<usize> {
        let start = end + ORIGIN_BIT - len;
        let fits = positions.checked_shr(u32::try_from(start).ok()?).unwrap_or(0) & 1 == 1;
        fits.then_some(start.saturating_sub(ORIGIN_BIT))
    }

    /// Returns a bit for each byte of the needle that the token covers at any of its positions.
    #[inline]
    pub(super) fn covered(&self, positions: u64, len: usize) -> u64 {
        // Most tokens fit only before the needle.
        if positions >> (ORIGIN_BIT + 1).saturating_sub(len) == 0 {
            return 0;
        }
        let mut covered = positions;
        let mut width = 1;
        while width < len {
            let more = width.min(len - width);
            covered |= covered << more;
            width += more;
        }
        (covered & (u64::MAX >> (MAX_WINDOW - self.len))) >> ORIGIN_BIT
    }

    /// Returns how many first bytes of the needle the text ends with after a token, if it ended
    /// with `found` of them before; [`Window::len`] or more if the text contains the whole
    /// needle.
    ///
    /// This is a step of the Knuth-Morris-Pratt algorithm for many bytes at once: the token
    /// continues the match at the highest position where it fits and that the match allows.
    #[inline]
    pub(super) fn step(&self, found: usize, positions: u64, len: usize) -> usize {
        let continuations = self.continuations.get(found).copied().unwrap_or(0);
        // There is always a position: the one at which the token ends before the needle.
        let position = ((positions & continuations) | 1).ilog2() as usize;
        (position + len).saturating_sub(ORIGIN_BIT)
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window({})", self.len)
    }
}

/// Returns the bit of a position.
#[inline]
fn bit(position: usize) -> u32 {
    u32::try_from(position + ORIGIN_BIT).unwrap_or(u32::MAX)
}

/// Returns for each prefix of the needle, from length 1 on, the length of its longest proper
/// border: a prefix that is also a suffix.
pub(super) fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(needle.len());
    let mut border = 0;
    for (at, byte) in needle.iter().enumerate() {
        border = if at == 0 { 0 } else { longer(needle, &borders, border, *byte) };
        borders.push(border);
    }
    borders
}

/// Returns how many first bytes of the needle a text ends with after one more byte, if it ended
/// with `found` of them before, which are not all.
#[inline]
pub(super) fn longer(needle: &[u8], borders: &[usize], mut found: usize, byte: u8) -> usize {
    while needle.get(found) != Some(&byte) {
        let Some(shorter) = found.checked_sub(1).and_then(|at| borders.get(at)) else {
            return 0;
        };
        found = *shorter;
    }
    found + 1
}
