//! `.xz` streams, compressed and decompressed block by block.
//!
//! A stream may hold many blocks, and the index at its end gives the place and the
//! sizes of each. `index` reads and writes that layout, [`encode`] compresses blocks
//! and joins them into a stream, and `decode` decompresses all blocks in parallel or,
//! through [`Blocks`], only the ones that a reader wants.
//!
//! liblzma does the work. WebAssembly has no C library, so there `pure_decoder` decodes with
//! `lzma-rust2`, and nothing encodes.

mod decode;
#[cfg(not(target_family = "wasm"))]
pub mod encode;
#[cfg(not(target_family = "wasm"))]
mod encoder;
mod index;
mod limit;
#[cfg(not(target_family = "wasm"))]
mod native_decoder;
#[cfg(any(target_family = "wasm", feature = "pure-decoders"))]
pub(super) mod pure_decoder;

pub use decode::{Blocks, RemoteBlocks, decompress, decompress_start, is_xz};
