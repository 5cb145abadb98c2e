//! A reader that decodes each column chunk once for several scans.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use hashbrown::HashMap;

use crate::error::Result;
use crate::format_id::FormatId;
use crate::predicate::PruningStatistics;
use crate::reader::{ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, WholeRowGroup};

/// Column chunks by row group and column.
type Chunks = HashMap<(usize, usize), Arc<Mutex<Option<ArrayRef>>>>;

/// A reader whose column chunks are decoded once, for the partitions of a table that has
/// fewer row groups than partitions.
#[derive(Debug)]
pub(super) struct SharedColumns {
    inner: Arc<dyn Reader>,
    chunks: Mutex<Chunks>,
}

impl SharedColumns {
    pub(super) fn new(inner: Arc<dyn Reader>) -> Self {
        Self { inner, chunks: Mutex::default() }
    }

    fn chunk(&self, group: usize, column: usize) -> Result<ArrayRef> {
        let slot = {
            let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
            chunks.entry((group, column)).or_default().clone()
        };
        // Threads that need the same chunk wait here for the first one.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(array) = slot.as_ref() {
            return Ok(array.clone());
        }
        let array = self.inner.read(group, &[column])?.column(0).clone();
        Ok(slot.insert(array).clone())
    }
}

impl Reader for SharedColumns {
    fn format(&self) -> FormatId {
        self.inner.format()
    }

    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn rows(&self) -> u64 {
        self.inner.rows()
    }

    fn row_groups(&self) -> usize {
        self.inner.row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.inner.row_group_rows(group)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.inner.column_statistics(column)
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        self.inner.pruning_statistics(group)
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        self.inner.ranges(group, columns)
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        _: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let rows = usize::try_from(self.row_group_rows(group)).unwrap_or(usize::MAX);
        let decode = move |columns: &[usize]| {
            columns.iter().map(|&column| self.chunk(group, column)).collect::<Result<Vec<_>>>()
        };
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }
}
