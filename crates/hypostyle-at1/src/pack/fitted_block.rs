//! Compresses content into one xz block.

use crate::pack::search::SearchParams;
use hypostyle_core::compress::xz::encode::{Block, Tuning};
use hypostyle_core::error::Result;

/// The tunings that are tried for a block, and the pieces by which they are compared.
const TUNINGS: [Tuning; 3] = [Tuning::flat(3), Tuning::flat(4), Tuning::flat(0)];
const TUNING_PIECES: usize = 6;
const TUNING_PIECE_BYTES: usize = 48 << 10;

/// Compresses content with the tuning that suits pieces of it best.
pub(super) fn fitted_block(content: &[u8], search: &SearchParams) -> Result<Block> {
    let step = content.len() / TUNING_PIECES;
    let pieces = (0..TUNING_PIECES)
        .filter_map(|at| content.get(at * step..at * step + step.min(TUNING_PIECE_BYTES)));
    let pieces = pieces.collect::<Vec<_>>().concat();
    let mut best = (f64::INFINITY, Tuning::flat(3));
    for tuning in TUNINGS {
        let cost = search.estimate(&pieces, tuning)?;
        if cost < best.0 {
            best = (cost, tuning);
        }
    }
    Block::new(content, best.1.with_effort(search.effort))
}
