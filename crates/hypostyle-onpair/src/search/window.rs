//! Where tokens can lie on a needle, as bits.
//!
//! A token lies at place `p` of a needle if its first byte is on byte `p`; it fits there
//! if the bytes in which the two overlap are the same. `p` is negative if the token
//! starts before the needle. All places of a token are one word, so that what follows
//! from a token is known without its bytes, and however rows were cut.

use std::fmt;

use crate::MAX_TOKEN_SIZE;

/// The bit of place 0. Below it are the places before the needle.
const ZERO: usize = MAX_TOKEN_SIZE;

/// The longest part of a needle that is looked for by bits.
pub(super) const MAX_WINDOW: usize = u64::BITS as usize - ZERO;

/// How the case of letters counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Case {
    Kept,
    /// That of ASCII letters does not.
    Ignored,
}

impl Case {
    #[inline]
    pub(super) fn fold(self, byte: u8) -> u8 {
        match self {
            Self::Kept => byte,
            Self::Ignored => byte.to_ascii_lowercase(),
        }
    }
}

/// A needle of up to [`MAX_WINDOW`] bytes, or a part of a longer one.
pub(super) struct Window {
    len: usize,
    /// For each byte the places that it is not at.
    misfits: Box<[u64; 256]>,
    /// For each number of bytes that were found, the places where a token goes on with
    /// them or with some of the last of them.
    goes_on: [u64; MAX_WINDOW + 1],
}

impl Window {
    /// Of a longer needle only the first bytes count.
    pub(super) fn new(needle: &[u8], case: Case) -> Self {
        let needle: Vec<u8> = needle.iter().take(MAX_WINDOW).map(|&byte| case.fold(byte)).collect();
        let mut misfits = Box::new([0; 256]);
        for (byte, misfits) in (0..=u8::MAX).zip(misfits.iter_mut()) {
            for (place, &wanted) in needle.iter().enumerate() {
                *misfits |= u64::from(wanted != case.fold(byte)) << (ZERO + place);
            }
        }
        let mut goes_on = [(2 << ZERO) - 1; MAX_WINDOW + 1];
        for (found, &border) in (1..).zip(&borders(&needle)) {
            let before = goes_on.get(border).copied().unwrap_or(0);
            if let Some(goes_on) = goes_on.get_mut(found) {
                *goes_on = before | 1_u64.checked_shl(bit(found)).unwrap_or(0);
            }
        }
        Self { len: needle.len(), misfits, goes_on }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The places where a token fits.
    #[inline]
    pub(super) fn places(&self, token: &[u8]) -> u64 {
        let mut misfits = 0;
        for (at, &byte) in token.iter().enumerate() {
            misfits |= self.misfits.get(usize::from(byte)).copied().unwrap_or(0) >> at;
        }
        // Nothing starts behind the needle.
        !misfits & (u64::MAX >> (MAX_WINDOW - self.len))
    }

    /// Whether a token fits at a place, given where it does.
    #[inline]
    pub(super) fn fits(places: u64, place: usize) -> bool {
        places.checked_shr(bit(place)).unwrap_or(0) & 1 == 1
    }

    /// Where the token starts that ends before byte `end`, if it fits there: `None` if
    /// it does not, and 0 also for any place before the needle.
    #[inline]
    pub(super) fn start(places: u64, end: usize, len: usize) -> Option<usize> {
        let start = end + ZERO - len;
        let fits = places.checked_shr(u32::try_from(start).ok()?).unwrap_or(0) & 1 == 1;
        fits.then_some(start.saturating_sub(ZERO))
    }

    /// The bytes of the needle that the token is on at any of its places, as bits.
    #[inline]
    pub(super) fn covered(&self, places: u64, len: usize) -> u64 {
        // Most tokens fit only before the needle.
        if places >> (ZERO + 1).saturating_sub(len) == 0 {
            return 0;
        }
        let mut covered = places;
        let mut width = 1;
        while width < len {
            let more = width.min(len - width);
            covered |= covered << more;
            width += more;
        }
        (covered & (u64::MAX >> (MAX_WINDOW - self.len))) >> ZERO
    }

    /// How many first bytes of the needle the text ends with after a token, if it ended
    /// with `found` of them before; [`Window::len`] or more if it has the whole needle.
    ///
    /// This is the step of Knuth, Morris and Pratt for many bytes at once: the token
    /// goes on with what was found at the highest place where it fits and that what was
    /// found allows.
    #[inline]
    pub(super) fn step(&self, found: usize, places: u64, len: usize) -> usize {
        let goes_on = self.goes_on.get(found).copied().unwrap_or(0);
        // A place is always left: the one that ends before the needle.
        let place = ((places & goes_on) | 1).ilog2() as usize;
        (place + len).saturating_sub(ZERO)
    }
}

impl fmt::Debug for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Window({})", self.len)
    }
}

/// The bit of a place.
#[inline]
fn bit(place: usize) -> u32 {
    u32::try_from(place + ZERO).unwrap_or(u32::MAX)
}

/// For the first bytes of each length from 1 on: how many of the last of them are first
/// bytes again, but not all.
pub(super) fn borders(needle: &[u8]) -> Vec<usize> {
    let mut borders: Vec<usize> = Vec::with_capacity(needle.len());
    let mut border = 0;
    for (at, byte) in needle.iter().enumerate() {
        border = if at == 0 { 0 } else { longer(needle, &borders, border, *byte) };
        borders.push(border);
    }
    borders
}

/// How many first bytes a text ends with after one more byte, if it ended with `found`,
/// which are not all.
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
