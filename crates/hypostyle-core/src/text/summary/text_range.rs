//! Bounds of texts.

/// Bytes of a bound that are kept.
const BOUND_BYTES: usize = 32;

/// The bounds of some texts, compared by bytes.
///
/// Both are truncated: no text is less than `min`, and every text is at most `max`, or
/// starts with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRange {
    /// A prefix of the least text.
    pub min: Vec<u8>,
    /// A prefix of the greatest text.
    pub max: Vec<u8>,
}

impl TextRange {
    /// Returns whether the bounds may be prefixes of longer texts.
    pub fn is_truncated(&self) -> bool {
        self.min.len() >= BOUND_BYTES || self.max.len() >= BOUND_BYTES
    }

    /// Returns the bounds of these texts and others.
    #[must_use]
    pub fn merged(mut self, other: Self) -> Self {
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self
    }
}

/// Finds the bounds of texts that it is given one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextRangeFinder<'a> {
    /// The bounds, and the first bytes of each as a number.
    bounds: Option<((u64, &'a [u8]), (u64, &'a [u8]))>,
}

impl<'a> TextRangeFinder<'a> {
    #[inline]
    pub(crate) fn add(&mut self, text: &'a [u8]) {
        let key = prefix(text);
        match &mut self.bounds {
            // Most texts differ from both bounds in their first bytes.
            Some((min, max)) => {
                if key <= min.0 && (key < min.0 || text < min.1) {
                    *min = (key, text);
                } else if key >= max.0 && (key > max.0 || text > max.1) {
                    *max = (key, text);
                }
            }
            None => self.bounds = Some(((key, text), (key, text))),
        }
    }

    pub(crate) fn finish(self) -> Option<TextRange> {
        let cut = |text: &[u8]| text.get(..BOUND_BYTES).unwrap_or(text).to_vec();
        self.bounds.map(|((_, min), (_, max))| TextRange { min: cut(min), max: cut(max) })
    }
}

/// Returns the first eight bytes as a number that compares as they do.
#[inline]
fn prefix(text: &[u8]) -> u64 {
    match text.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => {
            text.iter().fold(0, |key, &byte| key << 8 | u64::from(byte))
                << (8 * (8 - text.len().min(8))).min(63)
        }
    }
}
