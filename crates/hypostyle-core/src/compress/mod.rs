//! Bounded decompression and deterministic compression, one module per algorithm.
//!
//! Decompression takes the number of bytes that a block claims to become. A claim
//! over the limits, or over what the algorithm can reach, is refused before memory
//! is allocated; a block that decompresses to any other size is an error.
//!
//! C libraries do most of the work. Targets without one, which are those of WebAssembly, have the
//! decoders in Rust instead, and compress nothing. Both fail with the same words.

#[cfg(any(feature = "xz", feature = "zstd"))]
mod capacity;
#[cfg(feature = "xz")]
pub mod xz;
#[cfg(feature = "zlib")]
pub mod zlib;
#[cfg(feature = "zstd")]
pub mod zstd;

/// The decoders in Rust, beside the native ones, to compare both.
#[cfg(feature = "pure-decoders")]
pub mod pure {
    #[cfg(feature = "xz")]
    pub use super::xz::pure_decoder::decode_stream as decompress_xz;
    #[cfg(feature = "zstd")]
    pub use super::zstd::pure_decoder::decompress as decompress_zstd;
}
