//! Bounded decompression and deterministic compression, one module per algorithm.
//!
//! Decompression takes the number of bytes that a block claims to become. A claim
//! over the limits, or over what the algorithm can reach, is refused before memory
//! is allocated; a block that decompresses to any other size is an error.

#[cfg(any(feature = "xz", feature = "zstd"))]
mod capacity;
#[cfg(feature = "xz")]
pub mod xz;
#[cfg(feature = "zlib")]
pub mod zlib;
#[cfg(feature = "zstd")]
pub mod zstd;
