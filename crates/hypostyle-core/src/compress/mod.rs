//! Bounded expansion and deterministic compression, one file per algorithm.
//!
//! Expansion is told how many bytes a block claims to become. A claim over the
//! limits, or over what the algorithm can reach, is refused before memory is
//! taken; a block that becomes anything else than it claims is an error.

#[cfg(feature = "xz")]
pub mod xz;
#[cfg(feature = "zlib")]
pub mod zlib;
#[cfg(feature = "zstd")]
pub mod zstd;

/// How much memory to take at once for a block that claims to become `claimed`
/// bytes: what compressed bytes usually expand to. The rest is taken as it comes.
#[cfg(any(feature = "xz", feature = "zstd"))]
fn earned(stored: usize, claimed: usize) -> usize {
    claimed.min(stored.saturating_mul(64).max(1 << 16))
}
