//! The statistics of a chunk that predicates prune by (§4.4).

use super::bounds::ChunkBounds;
use super::column_chunk::ColumnChunk;
use super::layout::OnPairLayout;
use hypostyle_core::predicate::{CellPresence, PruningStatistics, TextBounds};

/// The bounds and null counts of a chunk, by column name.
#[derive(Debug)]
pub(super) struct ChunkStatistics<'a> {
    layout: &'a OnPairLayout,
    chunk: usize,
}

impl<'a> ChunkStatistics<'a> {
    pub(super) fn new(layout: &'a OnPairLayout, chunk: usize) -> Self {
        Self { layout, chunk }
    }

    fn column_chunk(&self, column: &str) -> Option<&'a ColumnChunk> {
        let index = self.layout.columns.iter().position(|known| known.name == column)?;
        self.layout.column_chunk(index, self.chunk)
    }
}

impl PruningStatistics for ChunkStatistics<'_> {
    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let bounds = self.column_chunk(column)?.bounds.as_ref()?;
        // `TextBounds::max` may be a prefix of the real max. If it is not truncated, this
        // keeps a few chunks that could be pruned.
        Some(TextBounds { min: &bounds.min, max: &bounds.max })
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        match self.column_chunk(column).map(|chunk| chunk.bounds.as_ref()) {
            Some(Some(ChunkBounds { max, max_truncated: false, .. })) => text <= &max[..],
            Some(None) => false,
            _ => true,
        }
    }

    fn may_be_empty(&self, column: &str) -> bool {
        // The empty string sorts before all others.
        let has_empty =
            |chunk: &ColumnChunk| chunk.bounds.as_ref().is_some_and(|bounds| bounds.min.is_empty());
        self.column_chunk(column).is_none_or(has_empty)
    }

    fn cells(&self, column: &str) -> CellPresence {
        let Some(chunk) = self.column_chunk(column) else { return CellPresence::default() };
        match &chunk.bounds {
            None => CellPresence { blank: true, filled: false },
            Some(bounds) => CellPresence {
                blank: chunk.nulls > 0 || bounds.min.is_empty(),
                filled: !bounds.max.is_empty() || bounds.max_truncated,
            },
        }
    }
}
