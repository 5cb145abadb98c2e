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

/// A text, after its first bytes as a number.
type Keyed<'a> = (u64, &'a [u8]);

/// Finds the bounds of texts that it is given one by one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TextRangeFinder<'a> {
    /// The bounds, and the first bytes of each as a number.
    bounds: Option<(Keyed<'a>, Keyed<'a>)>,
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
///
/// Two overlapping reads cover any length; the remaining bytes are 0.
#[inline]
fn prefix(text: &[u8]) -> u64 {
    if let Some(first) = text.first_chunk::<8>() {
        return u64::from_be_bytes(*first);
    }
    if let (Some(head), Some(tail)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let head = u64::from(u32::from_be_bytes(*head)) << 32;
        let tail = u64::from(u32::from_be_bytes(*tail));
        return head | tail << (8 * (8 - text.len()));
    }
    match *text {
        [a] => u64::from_be_bytes([a, 0, 0, 0, 0, 0, 0, 0]),
        [a, b] => u64::from_be_bytes([a, b, 0, 0, 0, 0, 0, 0]),
        [a, b, c] => u64::from_be_bytes([a, b, c, 0, 0, 0, 0, 0]),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn the_bounds_are_the_least_and_the_greatest(
            texts in proptest::collection::vec("[ab\0é]{0,12}", 1..9),
        ) {
            let mut finder = TextRangeFinder::default();
            texts.iter().for_each(|text| finder.add(text.as_bytes()));
            let found = finder.finish().unwrap();
            assert_eq!(found.min, texts.iter().min().unwrap().as_bytes());
            assert_eq!(found.max, texts.iter().max().unwrap().as_bytes());
            for text in &texts {
                let mut padded = [0_u8; 8];
                let len = text.len().min(8);
                padded[..len].copy_from_slice(&text.as_bytes()[..len]);
                assert_eq!(prefix(text.as_bytes()), u64::from_be_bytes(padded));
            }
        }
    }

    #[test]
    fn long_bounds_are_cut() {
        let text = "x".repeat(100);
        let mut finder = TextRangeFinder::default();
        finder.add(text.as_bytes());
        let found = finder.finish().unwrap();
        assert!(found.is_truncated());
        assert_eq!((found.min.len(), found.max.len()), (BOUND_BYTES, BOUND_BYTES));
    }
}
