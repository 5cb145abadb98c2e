//! How much memory to reserve for a block before its claimed size is confirmed.

/// Bytes of output that one compressed byte usually yields, as an upper estimate.
const USUAL_RATIO: usize = 64;

/// Capacity that is reserved whatever the size of the compressed block.
const MIN_CAPACITY: usize = 1 << 16;

/// Returns the capacity to reserve for `stored` compressed bytes that claim to
/// decompress to `claimed` bytes.
///
/// The result is at most `claimed`. A larger output buffer grows as bytes arrive, so
/// a forged claim cannot make the reader allocate more than the input justifies.
pub(super) fn initial_capacity(stored: usize, claimed: usize) -> usize {
    claimed.min(stored.saturating_mul(USUAL_RATIO).max(MIN_CAPACITY))
}
