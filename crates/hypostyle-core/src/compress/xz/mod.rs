//! `.xz` streams, compressed and decompressed block by block with liblzma.
//!
//! A stream may hold many blocks, and the index at its end gives the place and the
//! sizes of each. `index` reads and writes that layout, [`encode`] compresses blocks
//! and joins them into a stream, and `decode` decompresses all blocks in parallel or,
//! through [`Blocks`], only the ones that a reader wants.

mod decode;
pub mod encode;
mod encoder;
mod index;

pub use decode::{Blocks, RemoteBlocks, decompress, decompress_start, is_xz};
