//! What a query knows of a chunk without reading it (§4.4).

use super::layout::Layout;
use super::part::{Part, Zone};
use hypostyle_core::predicate::{CellPresence, PruningStatistics, TextBounds};

/// The bounds of a chunk, by name of column.
#[derive(Debug)]
pub(super) struct ChunkStatistics<'a> {
    layout: &'a Layout,
    chunk: usize,
}

impl<'a> ChunkStatistics<'a> {
    pub(super) fn new(layout: &'a Layout, chunk: usize) -> Self {
        Self { layout, chunk }
    }

    fn part(&self, column: &str) -> Option<&'a Part> {
        let index = self.layout.columns.iter().position(|known| known.name == column)?;
        // Binary columns are printed in another way than they are stored.
        let strings = self.layout.columns.get(index)?.strings;
        (strings == super::schema::Strings::Text).then_some(())?;
        self.layout.part(index, self.chunk)
    }
}

impl PruningStatistics for ChunkStatistics<'_> {
    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let zone = self.part(column)?.zone.as_ref()?;
        // The greatest may be whole, and then nothing that starts with it is greater. It
        // is not told apart from one that is cut, which costs little.
        Some(TextBounds { min: &zone.least, max: &zone.greatest })
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        match self.part(column).map(|part| part.zone.as_ref()) {
            Some(Some(Zone { greatest, greatest_cut: false, .. })) => text <= &greatest[..],
            Some(None) => false,
            _ => true,
        }
    }

    fn may_be_empty(&self, column: &str) -> bool {
        // An empty value is the least there is.
        let zone = |part: &'_ Part| part.zone.as_ref().is_some_and(|zone| zone.least.is_empty());
        self.part(column).is_none_or(zone)
    }

    fn cells(&self, column: &str) -> CellPresence {
        let Some(part) = self.part(column) else { return CellPresence::default() };
        match &part.zone {
            None => CellPresence { blank: true, filled: false },
            Some(zone) => CellPresence {
                blank: part.nulls > 0 || zone.least.is_empty(),
                filled: !zone.greatest.is_empty() || zone.greatest_cut,
            },
        }
    }
}
