//! A reader whose errors name its format.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::SchemaRef;

use super::{ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, Section};
use crate::deviation::Deviation;
use crate::error::Result;
use crate::format_id::FormatId;
use crate::predicate::{ColumnFilter, PruningStatistics};
use crate::row_selection::RowSelection;

/// A [`Reader`] whose errors name its format.
#[derive(Debug)]
pub struct InFormat<R>(Arc<R>);

impl<R: Reader + 'static> InFormat<R> {
    /// Opens a file of the format `id` with `open`.
    ///
    /// Errors of `open` and of the reader that it returns name the format.
    pub fn open(id: FormatId, open: impl FnOnce() -> Result<R>) -> Result<Arc<dyn Reader>> {
        match open() {
            Ok(reader) => Ok(Arc::new(Self(Arc::new(reader)))),
            Err(err) => Err(err.in_format(id)),
        }
    }
}

impl<R: Reader + 'static> Reader for InFormat<R> {
    fn format(&self) -> FormatId {
        self.0.format()
    }

    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn row_groups(&self) -> usize {
        self.0.row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.0.row_group_rows(group)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.0.column_statistics(column)
    }

    fn shares_parts(&self) -> bool {
        self.0.shares_parts()
    }

    fn dictionary_values(&self, column: usize) -> Option<u64> {
        self.0.dictionary_values(column)
    }

    fn statistics_ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        self.0.statistics_ranges(columns)
    }

    fn load_statistics(&self, columns: &[usize]) -> Result<()> {
        self.0.load_statistics(columns).map_err(|err| err.in_format(self.0.format()))
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        self.0.pruning_statistics(group)
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        self.0.ranges(group, columns)
    }

    fn first_ranges(
        &self,
        group: usize,
        columns: &[usize],
        request: &RowGroupRequest<'_>,
    ) -> Vec<Range<u64>> {
        self.0.first_ranges(group, columns, request)
    }

    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        self.0.column_bytes(group, columns)
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let id = self.0.format();
        let inner = self.0.clone().open_row_group(group, request);
        Ok(Box::new(RowGroupInFormat { id, inner: inner.map_err(|err| err.in_format(id))? }))
    }

    fn sections(&self) -> Vec<Section> {
        self.0.sections()
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.0.deviations()
    }

    fn notes(&self) -> Vec<String> {
        self.0.notes()
    }
}

struct RowGroupInFormat {
    id: FormatId,
    inner: Box<dyn RowGroupReader>,
}

impl RowGroupReader for RowGroupInFormat {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.inner.skip(rows).map_err(|err| err.in_format(self.id))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        self.inner.next_window(max_rows).map_err(|err| err.in_format(self.id))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        self.inner.read(columns, rows).map_err(|err| err.in_format(self.id))
    }

    fn read_tested(&mut self, column: usize) -> Result<ArrayRef> {
        self.inner.read_tested(column).map_err(|err| err.in_format(self.id))
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        self.inner.evaluate_encoded(column, filter).map_err(|err| err.in_format(self.id))
    }
}
