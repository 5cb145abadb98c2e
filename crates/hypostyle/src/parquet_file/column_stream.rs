//! Decodes one column of a row group from the front to the back.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_array::{Array, ArrayRef, new_empty_array};
use arrow_schema::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ParquetRecordBatchReader, RowSelection, RowSelector,
};
use parquet::arrow::parquet_to_arrow_field_levels;

use super::chunk_source::ChunkSource;
use super::pages::CheckedRowGroup;
use crate::guard::catch_panics;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::row_selection::RowSelection as Selection;

/// Rows that are decoded at a time, at least: fewer cost more in calls than in rows.
const MIN_BATCH_ROWS: usize = 1024;

/// A column of a row group.
#[derive(Clone, Debug)]
pub(super) struct RowGroupColumn {
    pub(super) metadata: ArrowReaderMetadata,
    pub(super) group: usize,
    pub(super) column: usize,
    pub(super) rows: usize,
    pub(super) data_type: DataType,
    pub(super) limits: Limits,
}

impl RowGroupColumn {
    /// Returns a reader of these rows, which are ascending ranges.
    fn open(
        &self,
        source: &ChunkSource,
        rows: impl IntoIterator<Item = Range<usize>>,
        batch_rows: usize,
    ) -> Result<ParquetRecordBatchReader> {
        let mut selectors = Vec::new();
        let mut end = 0;
        for run in rows {
            selectors.push(RowSelector::skip(run.start.saturating_sub(end)));
            selectors.push(RowSelector::select(run.len()));
            end = run.end;
        }
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), [self.column]);
        let failed = |err| source.error("column chunk", err);
        let (schema, fields) = (self.metadata.parquet_schema(), self.metadata.schema().fields());
        let levels = parquet_to_arrow_field_levels(schema, mask.clone(), Some(fields));
        let metadata = self.metadata.metadata().clone();
        let pages = CheckedRowGroup::open(source, metadata, self.group, &mask, &self.limits);
        let pages = pages.map_err(failed)?;
        // A row may repeat the longest value of the dictionary.
        let batch_rows = batch_rows.min(pages.max_batch_rows()).max(1);
        let rows = Some(RowSelection::from(selectors));
        let levels = levels.map_err(failed)?;
        ParquetRecordBatchReader::try_new_with_row_groups(&levels, &pages, batch_rows, rows)
            .map_err(failed)
    }

    /// Decodes some rows, and nothing between them if the pages allow it.
    pub(super) fn read_rows(&self, source: &ChunkSource, rows: &Selection) -> Result<ArrayRef> {
        catch_panics("column chunk", || {
            let reader = self.open(source, rows.runs().iter().cloned(), rows.len())?;
            let (mut arrays, mut bytes) = (Vec::new(), 0);
            for batch in reader {
                let array = self.column_of(&batch.map_err(|e| source.error("page", e))?)?;
                self.charge(&mut bytes, &array)?;
                arrays.push(array);
            }
            self.joined(&arrays, rows.len())
        })
    }

    /// Adds the size of an array to those that are in memory, and fails if it is too much.
    fn charge(&self, bytes: &mut u64, array: &ArrayRef) -> Result<()> {
        *bytes = bytes.saturating_add(array.get_array_memory_size() as u64);
        let (what, asked, limit) = ("column of a window", *bytes, self.limits.read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    fn column_of(&self, batch: &arrow_array::RecordBatch) -> Result<ArrayRef> {
        let column = batch.columns().first().cloned();
        column.ok_or_else(|| Error::malformed("column chunk", "has no column"))
    }

    fn joined(&self, arrays: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let found: usize = arrays.iter().map(|array| array.len()).sum();
        if found != rows {
            let why = format!("has {found} rows where the footer promises {rows}");
            return Err(Error::malformed("column chunk", why));
        }
        Ok(match arrays {
            [] => new_empty_array(&self.data_type),
            [array] => array.clone(),
            arrays => {
                let arrays: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
                arrow_select::concat::concat(&arrays)?
            }
        })
    }
}

/// Decodes a column in order.
pub(super) struct ColumnStream {
    column: RowGroupColumn,
    source: ChunkSource,
    reader: ParquetRecordBatchReader,
    /// Decoded rows that come next.
    decoded: VecDeque<ArrayRef>,
    /// The row before which the stream stands.
    row: usize,
}

impl ColumnStream {
    /// Returns a stream that starts with the row `row`.
    pub(super) fn open(
        column: &RowGroupColumn,
        source: &ChunkSource,
        row: usize,
        batch_rows: usize,
    ) -> Result<Self> {
        let rest = row..column.rows;
        let reader = catch_panics("column chunk", || {
            column.open(source, [rest], batch_rows.max(MIN_BATCH_ROWS))
        })?;
        let (column, source) = (column.clone(), source.clone());
        Ok(Self { column, source, reader, decoded: VecDeque::new(), row })
    }

    /// Returns the row before which the stream stands.
    pub(super) fn row(&self) -> usize {
        self.row
    }

    /// Decodes the next rows.
    pub(super) fn next(&mut self, rows: usize) -> Result<ArrayRef> {
        let mut arrays: Vec<ArrayRef> = Vec::new();
        let (mut left, mut bytes) = (rows, 0);
        while left > 0 {
            let Some(array) = self.next_array()? else { break };
            self.column.charge(&mut bytes, &array)?;
            if array.len() > left {
                self.decoded.push_front(array.slice(left, array.len() - left));
                arrays.push(array.slice(0, left));
                break;
            }
            left -= array.len();
            arrays.push(array);
        }
        self.row = self.row.saturating_add(rows);
        self.column.joined(&arrays, rows)
    }

    fn next_array(&mut self) -> Result<Option<ArrayRef>> {
        if let Some(array) = self.decoded.pop_front() {
            return Ok(Some(array));
        }
        let (reader, source) = (&mut self.reader, &self.source);
        let batch = catch_panics("page", || {
            reader.next().transpose().map_err(|err| source.error("page", err))
        })?;
        batch.map(|batch| self.column.column_of(&batch)).transpose()
    }
}

impl std::fmt::Debug for ColumnStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ColumnStream").field("row", &self.row).finish_non_exhaustive()
    }
}
