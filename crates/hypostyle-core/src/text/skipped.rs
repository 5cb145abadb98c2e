//! The malformed rows that a reader skipped.

/// The malformed rows that were skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The number of skipped rows.
    pub count: u64,
    /// The byte offsets of the first skipped rows in the input.
    pub offsets: Vec<u64>,
}

impl Skipped {
    /// The maximum number of offsets that are recorded.
    #[cfg(any(feature = "csv", feature = "json"))]
    const MAX_OFFSETS: usize = 10;

    #[cfg(any(feature = "csv", feature = "json"))]
    pub(super) fn add(&mut self, offset: u64) {
        self.count += 1;
        if self.offsets.len() < Self::MAX_OFFSETS {
            self.offsets.push(offset);
        }
    }

    #[cfg(feature = "json")]
    pub(super) fn extend(&mut self, next: &Self) {
        self.count += next.count;
        let room = Self::MAX_OFFSETS.saturating_sub(self.offsets.len());
        self.offsets.extend(next.offsets.iter().take(room));
    }
}
