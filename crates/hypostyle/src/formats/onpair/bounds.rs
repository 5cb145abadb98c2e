//! The min and max of a column chunk (§4.4).

use bytes::Bytes;

/// The longest bound; longer values are truncated.
pub(super) const MAX_BOUND_BYTES: usize = 32;

/// The min and max of the values of a column chunk, compared by bytes.
///
/// A value of more than [`MAX_BOUND_BYTES`] is truncated to its first bytes. So the values are
/// at least `min`, and at most `max` or, if that is truncated, start with it or are less.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ChunkBounds {
    pub(super) min: Bytes,
    pub(super) min_truncated: bool,
    pub(super) max: Bytes,
    pub(super) max_truncated: bool,
}

impl ChunkBounds {
    /// Returns the bounds of these values, or `None` without values.
    pub(super) fn of<'a>(mut values: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let first = values.next()?;
        let (min, max) =
            values.fold((first, first), |(min, max), value| (min.min(value), max.max(value)));
        let ((min, min_truncated), (max, max_truncated)) = (truncated(min), truncated(max));
        Some(Self { min, min_truncated, max, max_truncated })
    }

    /// Returns whether any values can have these bounds.
    pub(super) fn is_valid(&self) -> bool {
        let is_full = |bound: &Bytes, truncated: bool| !truncated || bound.len() == MAX_BOUND_BYTES;
        self.min <= self.max
            && is_full(&self.min, self.min_truncated)
            && is_full(&self.max, self.max_truncated)
    }
}

fn truncated(value: &[u8]) -> (Bytes, bool) {
    match value.get(..MAX_BOUND_BYTES) {
        Some(start) if value.len() > MAX_BOUND_BYTES => (Bytes::copy_from_slice(start), true),
        _ => (Bytes::copy_from_slice(value), false),
    }
}
