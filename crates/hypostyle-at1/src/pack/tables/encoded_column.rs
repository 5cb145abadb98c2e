//! A column as it is written.

use hypostyle_core::compress::xz::encode::{Block, Effort, Tuning};
use hypostyle_core::error::Result;

/// A column as it is written.
#[derive(Debug)]
pub(in crate::pack) struct EncodedColumn {
    /// The number of the chunk type.
    pub(in crate::pack) type_id: u8,
    pub(in crate::pack) quoted: bool,
    pub(in crate::pack) chunk: Vec<u8>,
    /// The compressed chunk, if it was compressed to compare encodings.
    pub(in crate::pack) block: Option<Block>,
    /// The estimated size of the compressed chunk.
    pub(in crate::pack) estimate: f64,
    pub(in crate::pack) tuning: Tuning,
    /// The column that this one is derived from.
    pub(in crate::pack) source: Option<usize>,
    /// Whether pieces of the chunk would lose much, because it repeats itself.
    pub(in crate::pack) repeats: bool,
}

impl EncodedColumn {
    /// Returns the bytes of the compressed chunk; 0 if it is not compressed yet.
    pub(in crate::pack) fn cost(&self) -> usize {
        self.block.as_ref().map_or(0, Block::cost)
    }

    /// Makes the chunk compress quickly rather than well.
    pub(in crate::pack) fn compress_quickly(&mut self) {
        self.tuning = self.tuning.with_effort(Effort::Rough);
    }

    /// Returns the compressed chunk.
    pub(in crate::pack) fn compressed(&self) -> Result<Block> {
        match &self.block {
            Some(block) => Ok(block.clone()),
            None => Block::new(&self.chunk, self.tuning),
        }
    }
}
