//! Decodes the columns of a row group in windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use bytes::Bytes;
use hashbrown::HashMap;

use super::chunk_source::ChunkSource;
use super::column_stream::{ColumnStream, RowGroupColumn};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::reader::{RowGroupReader, WindowCursor};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source::ByteSource;

/// Selections of at most one row in so many are decoded on their own, if the column has not
/// been decoded up to the window.
const SPARSE_ROWS: usize = 8;

/// A row group that is being read.
#[derive(Debug)]
pub(super) struct ParquetRowGroup {
    source: Arc<dyn ByteSource>,
    cursor: WindowCursor,
    columns: HashMap<usize, OpenColumn>,
    /// Bytes of column chunks that may be held in memory.
    memory: u64,
}

/// A column of the row group.
#[derive(Debug)]
pub(super) struct OpenColumn {
    column: RowGroupColumn,
    /// The column chunks: one, or several for a nested column.
    ranges: Vec<Range<u64>>,
    source: Option<ChunkSource>,
    stream: Option<ColumnStream>,
    /// The decoded rows of the window, if all were asked for.
    window: Option<ArrayRef>,
}

impl OpenColumn {
    pub(super) fn new(column: RowGroupColumn, ranges: Vec<Range<u64>>) -> Self {
        Self { column, ranges, source: None, stream: None, window: None }
    }

    fn bytes(&self) -> u64 {
        self.ranges.iter().map(|range| range.end.saturating_sub(range.start)).sum()
    }

    /// Decodes rows of the window, which has `window.len()` rows.
    fn read(
        &mut self,
        source: &ChunkSource,
        window: &Range<usize>,
        rows: Option<&RowSelection>,
    ) -> Result<ArrayRef> {
        if let (Some(array), Some(rows)) = (&self.window, rows) {
            return rows.of_array(array);
        }
        if let Some(array) = &self.window {
            return Ok(array.clone());
        }
        let is_next = self.stream.as_ref().is_some_and(|stream| stream.row() == window.start);
        if let Some(rows) = rows.filter(|rows| rows.len() <= window.len() / SPARSE_ROWS)
            && !is_next
        {
            return self.column.read_rows(source, &rows.shifted(window.start));
        }
        let mut stream = match self.stream.take().filter(|_| is_next) {
            Some(stream) => stream,
            None => ColumnStream::open(&self.column, source, window.start, window.len())?,
        };
        // After an error the stream stays dropped.
        let array = stream.next(window.len())?;
        self.stream = Some(stream);
        let selected = match rows {
            Some(rows) => rows.of_array(&array)?,
            None => array.clone(),
        };
        self.window = Some(array);
        Ok(selected)
    }
}

impl ParquetRowGroup {
    pub(super) fn new(
        source: Arc<dyn ByteSource>,
        rows: usize,
        columns: HashMap<usize, OpenColumn>,
        memory: u64,
    ) -> Self {
        Self { source, cursor: WindowCursor::new(rows), columns, memory }
    }

    /// Fetches the column chunks of columns that were not read before, all at once.
    fn fetch(&mut self, columns: &[usize]) -> Result<()> {
        let held: u64 =
            self.columns.values().filter(|c| c.source.is_some()).map(OpenColumn::bytes).sum();
        let mut budget = (self.memory / 2).saturating_sub(held);
        let mut ranges = Vec::new();
        let mut fetched = Vec::new();
        for &column in columns {
            let Some(open) = self.columns.get_mut(&column).filter(|open| open.source.is_none())
            else {
                continue;
            };
            if fetched.contains(&column) {
                continue;
            }
            if open.bytes() > budget {
                // The pages of a large column chunk are read one by one.
                open.source = Some(ChunkSource::new(self.source.clone(), Vec::new()));
                continue;
            }
            budget -= open.bytes();
            ranges.extend(open.ranges.iter().cloned());
            fetched.push(column);
        }
        if fetched.is_empty() {
            return Ok(());
        }
        let mut pieces = self.source.read_ranges(&ranges).map_err(Error::from)?.into_iter();
        for column in fetched {
            let Some(open) = self.columns.get_mut(&column) else { continue };
            let held: Vec<(Range<u64>, Bytes)> =
                open.ranges.iter().cloned().zip(pieces.by_ref()).collect();
            open.source = Some(ChunkSource::new(self.source.clone(), held));
        }
        Ok(())
    }
}

impl RowGroupReader for ParquetRowGroup {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        self.forget_window();
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        self.forget_window();
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        self.fetch(columns)?;
        let mut arrays = Vec::with_capacity(columns.len());
        for &column in columns {
            let Some(open) = self.columns.get_mut(&column) else {
                return Err(Error::invalid_argument("the column was not announced"));
            };
            let Some(source) = open.source.clone() else { continue };
            let field = open.column.metadata.schema().field(column).name().clone();
            let array = open.read(&source, &self.cursor.window(), rows);
            arrays.push(array.map_err(|err| err.in_column(column, &field))?);
        }
        Ok(arrays)
    }
}

impl ParquetRowGroup {
    fn forget_window(&mut self) {
        self.columns.values_mut().for_each(|column| column.window = None);
    }
}
