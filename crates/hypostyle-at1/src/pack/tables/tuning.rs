//! The chunk types that a layout allows, and the xz tunings that each type is tried with.

use crate::pack::options::Layout;
use crate::pack::search::SearchParams;
use crate::pack::tables::column::{ChunkType, DictOrder};
use hypostyle_core::compress::xz::encode::{Effort, Tuning};

/// Literals that depend on whether their position is even.
const BY_PARITY: Tuning = Tuning { lc: 3, lp: 0, pb: 1, delta: 0, effort: Effort::Full };

const ZSTD_ONLY: &[Tuning] = &[Tuning::flat(3)];
const TEXT: &[Tuning] = &[Tuning::flat(3), Tuning::flat(4), Tuning::flat(0), Tuning::pairs(0)];
/// For numbers as varints or byte planes.
const NUMBERS: &[Tuning] = &[Tuning::flat(1), Tuning::flat(0), Tuning::flat(4)];
/// For dictionary ranks of one byte.
const SHORT_RANKS: &[Tuning] = &[Tuning::flat(1), Tuning::flat(0), Tuning::flat(3)];
/// For dictionary ranks of one or more bytes.
const LONG_RANKS: &[Tuning] =
    &[Tuning::flat(3), Tuning::flat(1), Tuning::flat(4), Tuning::pairs(0)];
/// For dictionary ranks that all have two bytes.
const TWO_BYTE_RANKS: &[Tuning] = &[Tuning::pairs(0), Tuning::pairs(3), BY_PARITY];
/// For every type at the highest levels.
const EXHAUSTIVE: &[Tuning] = &[
    Tuning::flat(0),
    Tuning::flat(1),
    Tuning::flat(2),
    Tuning::flat(3),
    Tuning::flat(4),
    Tuning::pairs(0),
    Tuning::pairs(1),
    Tuning::pairs(2),
    Tuning::pairs(3),
    Tuning { lc: 0, lp: 0, pb: 2, delta: 0, effort: Effort::Full },
    Tuning { lc: 0, lp: 2, pb: 2, delta: 0, effort: Effort::Full },
    BY_PARITY,
    Tuning { lc: 0, lp: 0, pb: 0, delta: 1, effort: Effort::Full },
    Tuning { lc: 3, lp: 0, pb: 0, delta: 1, effort: Effort::Full },
    Tuning { lc: 1, lp: 0, pb: 1, delta: 0, effort: Effort::Full },
    Tuning { lc: 3, lp: 0, pb: 2, delta: 0, effort: Effort::Full },
];

/// More distinct cells than this have ranks of two bytes and more.
const MAX_SHORT_RANKS: usize = 128;

/// Returns whether a layout has chunks of this type.
pub(in crate::pack) fn layout_allows(layout: Layout, chunk_type: ChunkType) -> bool {
    layout == Layout::Reference || !matches!(chunk_type, ChunkType::Dict(_) | ChunkType::Shuf)
}

/// Returns the tuning by which a type is compared with other types.
pub(in crate::pack) fn first_tuning(chunk_type: ChunkType, distinct: usize) -> Tuning {
    match chunk_type {
        ChunkType::Text => Tuning::flat(3),
        ChunkType::Dict(DictOrder::TwoByte) => Tuning::pairs(0),
        ChunkType::Dict(_) if distinct > MAX_SHORT_RANKS => Tuning::flat(3),
        _ => Tuning::flat(1),
    }
}

/// Returns the tunings to try for a column with so many distinct cells, the likeliest first.
pub(in crate::pack) fn candidate_tunings(
    search: &SearchParams,
    chunk_type: ChunkType,
    distinct: usize,
) -> &'static [Tuning] {
    let tunings = match chunk_type {
        _ if search.is_quick() => ZSTD_ONLY,
        _ if search.try_all_types => EXHAUSTIVE,
        ChunkType::Text => TEXT,
        ChunkType::Dict(DictOrder::TwoByte) => TWO_BYTE_RANKS,
        ChunkType::Dict(_) if distinct > MAX_SHORT_RANKS => LONG_RANKS,
        ChunkType::Dict(_) => SHORT_RANKS,
        _ => NUMBERS,
    };
    if search.is_rough() { tunings.get(..1).unwrap_or(tunings) } else { tunings }
}
