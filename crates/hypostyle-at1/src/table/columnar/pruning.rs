//! What is known of the cells of a row group.

use std::sync::PoisonError;

use arrow_buffer::{BooleanBuffer, Buffer};

use super::{ColumnarReader, TableFrame, TableGroup};
use crate::codecs::columnar::group_directory::{ColumnPieces, EntryOrder, EntrySets};
use crate::group_statistics::RowGroupStatistics;
use hypostyle_core::predicate::{
    CellPresence, NumberBounds, OccurringEntries, PruningStatistics, TextBounds,
};

/// The statistics of a row group.
pub(super) struct ColumnarPruning<'r> {
    reader: &'r ColumnarReader,
    group: &'r TableGroup,
    frame: &'r TableFrame,
}

impl<'r> ColumnarPruning<'r> {
    pub(super) fn new(
        reader: &'r ColumnarReader,
        group: &'r TableGroup,
        frame: &'r TableFrame,
    ) -> Self {
        Self { reader, group, frame }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.reader.shape.schema.index_of(name).ok()
    }

    fn statistics(&self) -> RowGroupStatistics<'r, impl Fn(&str) -> Option<usize>> {
        let schema = &self.reader.shape.schema;
        self.frame.frame.statistics.group(self.group.group, |name| schema.index_of(name).ok())
    }
}

impl PruningStatistics for ColumnarPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        self.statistics().numbers(column)
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let statistics = &self.frame.frame.statistics;
        statistics.texts_of(self.group.group, self.index(column)?)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.statistics().may_hold(column, text)
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.statistics().may_be_empty(column)
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        self.statistics().may_be_special_float(column)
    }

    fn cells(&self, column: &str) -> CellPresence {
        // A word that means null is a filled cell to the writer.
        match self.reader.null_words.is_empty() {
            true => self.statistics().cells(column),
            false => CellPresence::default(),
        }
    }

    fn entries(&self, column: &str) -> Option<OccurringEntries> {
        let column = self.index(column)?;
        let (stored, _) = *self.frame.fields.get(column)?;
        let known = self.reader.tested_entries.lock().unwrap_or_else(PoisonError::into_inner);
        let values = known.get(&(self.group.frame, column))?.clone();
        drop(known);
        let occurring = self.frame.occurring(stored, self.group.group, values.len())?;
        Some(OccurringEntries { values, occurring })
    }
}

impl TableFrame {
    /// Returns the sets of the entries of a column, or of the column that it is derived from.
    pub(super) fn sets(&self, stored: usize) -> Option<(usize, &EntrySets)> {
        let directory = self.frame.directory.as_ref()?;
        match directory.columns.get(stored)? {
            ColumnPieces::Derived { source } => {
                // Only a source whose order is known tells which entries of the map occur.
                let cut = directory.columns.get(*source)?.cut()?;
                let is_known = cut.order != EntryOrder::Unknown;
                Some((*source, directory.sets.get(*source)?.as_ref().filter(|_| is_known)?))
            }
            _ => Some((stored, directory.sets.get(stored)?.as_ref()?)),
        }
    }

    /// Returns which of the entries of a column occur in a row group.
    fn occurring(&self, stored: usize, group: usize, entries: usize) -> Option<BooleanBuffer> {
        let (source, sets) = self.sets(stored)?;
        let bitmap = sets.of_group(group)?;
        let all = BooleanBuffer::new(Buffer::from(bitmap), 0, sets.entries);
        if source == stored {
            return (entries == sets.entries).then_some(all);
        }
        let directory = self.frame.directory.as_ref()?;
        let order = &directory.columns.get(source)?.cut()?.order;
        let of_rank = |rank: usize| match order {
            EntryOrder::Listed(indexes) => {
                indexes.get(rank).and_then(|&index| usize::try_from(index).ok())
            }
            _ => Some(rank),
        };
        let occurs = |rank: usize| of_rank(rank).is_some_and(|at| at < all.len() && all.value(at));
        Some(BooleanBuffer::collect_bool(entries, occurs))
    }
}
