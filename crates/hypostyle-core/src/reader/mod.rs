//! The traits that an open table implements: [`Reader`] and [`RowGroupReader`].
//!
//! A reader knows the schema, the number of rows, the statistics and the row groups of a
//! table. A row group reader decodes one row group from its first row to its last, in
//! windows of some thousand rows, and only the columns that are asked for. A
//! [scan](crate::scan) combines the two with a projection, a predicate and a row selection.

mod dictionaries;
mod in_format;
mod selected_rows;
mod whole_row_group;
mod window_cursor;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use crate::column_source::ColumnSource;
use crate::concat::concat_batches;
use crate::deviation::Deviation;
use crate::error::{Error, Result};
use crate::format_id::FormatId;
use crate::predicate::{ColumnFilter, PruningStatistics};
use crate::projection::column_out_of_range;
use crate::row_selection::RowSelection;

pub use dictionaries::{Dictionaries, TextForm};
pub use in_format::InFormat;
pub use selected_rows::{DecodeRows, SelectedRows};
pub use whole_row_group::{DecodeColumns, WholeRowGroup};
pub use window_cursor::WindowCursor;

/// An open table.
///
/// Readers are shared by the threads of a scan, and by several scans.
pub trait Reader: fmt::Debug + Send + Sync {
    /// Returns the format of the file.
    fn format(&self) -> FormatId;

    /// Returns the schema of the table.
    fn schema(&self) -> SchemaRef;

    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns about how many values the dictionary has that a column of text is stored with, if
    /// there is one.
    ///
    /// The reader returns such a column as a dictionary with keys of 32 bits, or as string views,
    /// if a [request](RowGroupRequest::dictionaries) asks for dictionaries.
    fn dictionary_values(&self, column: usize) -> Option<u64> {
        let _ = column;
        None
    }

    /// Returns the number of row groups.
    ///
    /// A row group can be decoded without the row groups before it.
    fn row_groups(&self) -> usize;

    /// Returns the number of rows of a row group without reading it.
    fn row_group_rows(&self, group: usize) -> u64 {
        // Most formats have one row group.
        if group == 0 { self.rows() } else { 0 }
    }

    /// Returns what is known of a column without decoding it.
    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        let _ = column;
        ColumnStatistics::default()
    }

    /// Reads what [`Reader::pruning_statistics`] needs to know of columns beside the metadata,
    /// such as dictionaries.
    ///
    /// # Errors
    ///
    /// Fails if that cannot be read.
    fn load_statistics(&self, columns: &[usize]) -> Result<()> {
        let _ = columns;
        Ok(())
    }

    /// Returns the byte ranges that [`Reader::load_statistics`] reads for columns.
    ///
    /// A caller with a remote source fetches them together with others. If there are none, a scan
    /// loads nothing.
    fn statistics_ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        let _ = columns;
        Vec::new()
    }

    /// Returns the statistics with which predicates can skip a row group, if it has any.
    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let _ = group;
        None
    }

    /// Returns the byte ranges that the given columns of a row group are decoded from.
    ///
    /// A caller with a remote source fetches them before it opens the row group, together
    /// with those of other row groups. The reader may return nothing, or fewer ranges than
    /// it will read.
    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let _ = (group, columns);
        Vec::new()
    }

    /// Returns the byte ranges that a row group reader for a request reads first, when it
    /// reads some columns of that request.
    ///
    /// A format that decompresses a block as the rows are read returns the start of each
    /// block. Other formats return the [ranges](Reader::ranges) of the columns.
    fn first_ranges(
        &self,
        group: usize,
        columns: &[usize],
        request: &RowGroupRequest<'_>,
    ) -> Vec<Range<u64>> {
        let _ = request;
        self.ranges(group, columns)
    }

    /// Returns whether row groups that are decoded at the same time wait for each other, because
    /// they share parts that are decoded once.
    ///
    /// A scan on several threads then has more row groups in work than threads.
    fn shares_parts(&self) -> bool {
        false
    }

    /// Returns whether several scans share decoded column chunks, so that none of them may release
    /// the bytes of a chunk before it is decoded.
    fn shares_chunks(&self) -> bool {
        false
    }

    /// Returns how many bytes of memory the given columns of a row group take at most when
    /// they are decoded as a whole; `None` if the reader never decodes less of them.
    ///
    /// A caller that keeps whole columns reads in windows instead if they take too much.
    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        let _ = (group, columns);
        None
    }

    /// Starts to decode a row group.
    ///
    /// Reads no block before the first call of [`RowGroupReader::read`].
    ///
    /// # Errors
    ///
    /// Fails if the table has no such row group or column.
    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>>;

    /// Returns the byte map: every section of the file in order of offset.
    fn sections(&self) -> Vec<Section> {
        Vec::new()
    }

    /// Returns the departures from the spec that were found so far.
    fn deviations(&self) -> Vec<Deviation> {
        Vec::new()
    }

    /// Returns remarks for people about content that batches do not show.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// How a row group will be read.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct RowGroupRequest<'a> {
    /// All columns that may be read, for the predicate and the projection.
    pub columns: &'a [usize],
    /// The columns of the predicate, which are read before the others; `None` if there is none.
    pub filter_columns: Option<&'a [usize]>,
    /// Threads that may decode columns of this row group at the same time.
    pub threads: usize,
    /// The rows after which the caller will stop, if it knows; counted from the first row
    /// of the row group.
    pub end: Option<u64>,
    /// Bytes of memory that the reader should hold at most.
    pub memory: u64,
    /// Which columns of text the caller wants as dictionaries, even if they take more memory than
    /// plain arrays.
    pub dictionaries: Dictionaries,
}

impl<'a> RowGroupRequest<'a> {
    /// Returns a request for all rows of some columns, on one thread.
    pub fn new(columns: &'a [usize]) -> Self {
        Self {
            columns,
            filter_columns: None,
            threads: 1,
            end: None,
            memory: u64::MAX,
            dictionaries: Dictionaries::None,
        }
    }

    /// Sets [`RowGroupRequest::filter_columns`].
    #[must_use]
    pub fn with_filter_columns(mut self, columns: Option<&'a [usize]>) -> Self {
        self.filter_columns = columns;
        self
    }

    /// Sets [`RowGroupRequest::threads`].
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Sets [`RowGroupRequest::end`].
    #[must_use]
    pub fn with_end(mut self, end: Option<u64>) -> Self {
        self.end = end;
        self
    }

    /// Sets [`RowGroupRequest::dictionaries`].
    #[must_use]
    pub fn with_dictionaries(mut self, dictionaries: Dictionaries) -> Self {
        self.dictionaries = dictionaries;
        self
    }

    /// Sets [`RowGroupRequest::memory`].
    #[must_use]
    pub fn with_memory(mut self, memory: u64) -> Self {
        self.memory = memory;
        self
    }
}

/// Decodes a row group from its first row to its last.
///
/// The reader stands before a row. [`RowGroupReader::next_window`] moves it to a window of
/// rows, whose columns can then be read, in any order and number.
///
/// A call that fails because the source lacks bytes
/// ([`MissingRanges`](crate::source::MissingRanges)) leaves the reader as it was, so that
/// the caller can fetch the bytes and repeat the call.
pub trait RowGroupReader: Send {
    /// Moves over rows without decoding them; returns how many, fewer only at the end.
    ///
    /// # Errors
    ///
    /// Fails if rows can only be counted by decoding them, and decoding fails.
    fn skip(&mut self, rows: u64) -> Result<u64>;

    /// Moves to the next window of at least one and at most `max_rows` rows, and returns the
    /// number of its rows; 0 at the end of the row group.
    ///
    /// # Errors
    ///
    /// Fails as [`RowGroupReader::skip`] does.
    fn next_window(&mut self, max_rows: usize) -> Result<usize>;

    /// Decodes columns of the selected rows of the window; all rows for `None`.
    ///
    /// Every array has the type that the schema gives its column, or a dictionary, run-end
    /// or view encoding of that type.
    ///
    /// # Errors
    ///
    /// Fails for damage, limits and a failing source. Damage in rows that are not selected
    /// may go unnoticed.
    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>>;

    /// Decodes a column of all rows of the window for a predicate.
    ///
    /// A predicate tests the values of a dictionary once, so that a reader with a dictionary
    /// returns it here, whatever form the caller wants batches in.
    ///
    /// # Errors
    ///
    /// Fails as [`RowGroupReader::read`] does.
    fn read_tested(&mut self, column: usize) -> Result<ArrayRef> {
        let mut arrays = self.read(&[column], None)?;
        arrays.pop().ok_or_else(|| Error::internal("a row group without the column asked for"))
    }

    /// Evaluates a test of one column for every row of the window, without decoding cells.
    ///
    /// Returns `None` if the encoding does not allow it.
    ///
    /// # Errors
    ///
    /// Fails as [`RowGroupReader::read`] does.
    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let _ = (column, filter);
        Ok(None)
    }
}

/// What is known of a column without decoding it.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ColumnStatistics {
    /// The number of nulls.
    pub null_count: Option<u64>,
    /// The smallest value, as an array of one row.
    pub min: Option<ArrayRef>,
    /// The largest value, as an array of one row.
    pub max: Option<ArrayRef>,
    /// Whether `min` and `max` occur in the column; otherwise they only bound it.
    pub is_exact: bool,
}

impl dyn Reader {
    /// Returns the schema of the table for a request for dictionaries.
    pub fn dictionary_schema(&self, dictionaries: Dictionaries) -> SchemaRef {
        let schema = self.schema();
        let field = |(column, field): (usize, &Arc<Field>)| {
            let data_type = match dictionaries.form(self.dictionary_values(column), self.rows()) {
                TextForm::Plain => return field.clone(),
                TextForm::Views => DataType::Utf8View,
                TextForm::Dictionary => {
                    let (key, value) = (DataType::Int32, field.data_type().clone());
                    DataType::Dictionary(Box::new(key), Box::new(value))
                }
            };
            Arc::new(field.as_ref().clone().with_data_type(data_type))
        };
        let fields: Vec<Arc<Field>> = schema.fields().iter().enumerate().map(field).collect();
        Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
    }

    /// Decodes the given columns of one row group, in the order given.
    ///
    /// An empty projection gives a batch with no columns and
    /// [`Reader::row_group_rows`] rows.
    ///
    /// # Errors
    ///
    /// Fails as [`Reader::open_row_group`] and [`RowGroupReader::read`] do.
    pub fn read(self: &Arc<Self>, group: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.read_window(group, columns, None)
    }

    /// Decodes the given columns of the selected rows of one row group.
    ///
    /// # Errors
    ///
    /// Fails like `read`, and if a selected row is beyond the end of
    /// the row group.
    pub fn read_rows(
        self: &Arc<Self>,
        group: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        self.read_window(group, columns, Some(rows))
    }

    fn read_window(
        self: &Arc<Self>,
        group: usize,
        columns: &[usize],
        selection: Option<&RowSelection>,
    ) -> Result<RecordBatch> {
        let all_rows = self.row_group_rows(group);
        let rows = usize::try_from(all_rows).map_err(|_| too_many_rows(all_rows))?;
        let request = RowGroupRequest::new(columns);
        let mut open = Arc::clone(self).open_row_group(group, &request)?;
        if let Some(selection) = selection {
            selection.check(rows)?;
        }
        let mut batches = Vec::new();
        let schema = projected(&self.schema(), columns)?;
        let mut start = 0;
        loop {
            let count = open.next_window(rows.max(1))?;
            if count == 0 && start > 0 {
                break;
            }
            let inside = selection.map(|selection| selection.slice(start..start + count));
            let arrays = open.read(columns, inside.as_ref())?;
            let selected = inside.map_or(count, |inside| inside.len());
            batches.push(batch(&schema, arrays, selected)?);
            start += count;
            if count == 0 || start >= rows {
                break;
            }
        }
        match <[RecordBatch; 1]>::try_from(batches) {
            Ok([batch]) => Ok(batch),
            Err(batches) => concat_batches(&schema, &batches),
        }
    }
}

/// Returns a batch of decoded columns; encoded forms of their types are decoded.
pub(crate) fn batch(schema: &SchemaRef, arrays: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let plain = |(array, field): (ArrayRef, &Arc<Field>)| {
        if array.data_type() == field.data_type() {
            return Ok(array);
        }
        Ok(arrow_cast::cast(&array, field.data_type())?)
    };
    let arrays = arrays.into_iter().zip(schema.fields()).map(plain).collect::<Result<Vec<_>>>()?;
    Ok(RecordBatch::try_new_with_options(schema.clone(), arrays, &options)?)
}

/// Returns the schema of some columns.
pub(crate) fn projected(schema: &Schema, columns: &[usize]) -> Result<SchemaRef> {
    let count = schema.fields().len();
    let field = |&column: &usize| {
        schema.fields().get(column).cloned().ok_or_else(|| column_out_of_range(column, count))
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone())))
}

fn too_many_rows(rows: u64) -> Error {
    Error::invalid_argument(format!("{rows} rows do not fit in memory at once"))
}

/// Returns the error for a row group that the table does not have.
pub fn row_group_out_of_range(group: usize, count: usize) -> Error {
    let plural = if count == 1 { "" } else { "s" };
    let why = format!("row group {group} is out of range: the table has {count} row group{plural}");
    Error::invalid_argument(why)
}

/// A [`ColumnSource`] over a [`Reader`] that decodes each column on demand.
#[derive(Clone, Debug)]
pub struct ReaderColumns(pub Arc<dyn Reader>);

impl ColumnSource for ReaderColumns {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let groups = (0..self.0.row_groups()).map(|group| self.0.read(group, &[index]));
        groups.map(|batch| Ok(batch?.column(0).clone())).collect()
    }
}

/// One section of the byte map of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The name of the section in the spec.
    pub what: &'static str,
    /// The column that the section belongs to.
    pub column: Option<usize>,
    /// Byte offset of the section in the file.
    pub offset: u64,
    /// Bytes of the section in the file.
    pub stored: u64,
    /// Bytes after decompression, if the section is compressed.
    pub raw: Option<u64>,
}
