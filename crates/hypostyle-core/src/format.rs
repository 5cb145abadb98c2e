//! The traits that every format implements: [`Format`] opens and encodes files, [`Reader`]
//! decodes them.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::column_source::ColumnSource;
use crate::deviation::Deviation;
use crate::error::Result;
use crate::format_id::FormatId;
use crate::options::{ReadOptions, WriteOptions};
use crate::predicate::{Predicate, PruningStatistics};
use crate::row_selection::RowSelection;
use crate::sink::Sink;
use crate::source::ByteSource;
use crate::types::Capabilities;

/// A file format: opens files for reading, and encodes tables. Stateless.
pub trait Format: fmt::Debug + Sync {
    /// Returns the identity of the format.
    fn id(&self) -> FormatId;

    /// Returns the file extensions without the dot; new files get the first one.
    fn extensions(&self) -> &'static [&'static str];

    /// Returns the byte strings that files start with.
    ///
    /// They include magics of files that only look like this format; [`Format::sniff`]
    /// tells these apart.
    fn magics(&self) -> &'static [&'static [u8]];

    /// Returns whether a file that starts with these bytes can be in this format.
    ///
    /// For input of which only the first bytes are known, such as a pipe;
    /// [`Format::sniff`] needs all of it.
    fn has_magic(&self, head: &[u8]) -> bool {
        self.magics().iter().any(|magic| head.starts_with(magic))
    }

    /// Returns the types that a table in this format can have.
    fn capabilities(&self) -> Capabilities;

    /// Returns whether [`Format::encode`] can write tables.
    ///
    /// An archive stores files, and can show the table in a file.
    fn holds_tables(&self) -> bool {
        true
    }

    /// Determines from its content whether a file is in this format.
    ///
    /// Reads only the bytes where this format has its header. An error means that the
    /// source failed, never that the bytes are wrong.
    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff>;

    /// Opens a file and checks its layout, without decoding a column.
    ///
    /// Any input is allowed. This function and the [`Reader`] that it returns may fail,
    /// but never panic, and their memory is bounded by the size of the source and by the
    /// limits, not by numbers that the file claims.
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>>;

    /// Encodes a whole table.
    ///
    /// Fails before a byte is written if the format cannot store the table. Equal tables
    /// and options give equal bytes, on every platform and with any number of threads.
    fn encode(
        &self,
        table: &dyn ColumnSource,
        sink: &mut dyn Sink,
        options: &WriteOptions,
    ) -> Result<()>;
}

/// The result of [`Format::sniff`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// The file is in this format.
    Yes,
    /// The file is not in this format.
    No,
    /// The file starts like this format, but is not in it; the sentence says why.
    Lookalike(String),
}

/// An open file.
pub trait Reader: fmt::Debug + Send + Sync {
    /// Returns the format of the file.
    fn format(&self) -> FormatId;

    /// Returns the schema of the table.
    fn schema(&self) -> SchemaRef;

    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the number of chunks: the row groups that can be decoded one at a time.
    fn chunks(&self) -> usize;

    /// Returns the number of rows of a chunk without reading the chunk.
    fn chunk_rows(&self, chunk: usize) -> u64 {
        // Most formats have one chunk.
        if chunk == 0 { self.rows() } else { 0 }
    }

    /// Returns the statistics with which predicates can skip a chunk, if it has any.
    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let _ = chunk;
        None
    }

    /// Decodes the given columns of one chunk, in the order given.
    ///
    /// Reads only the blocks of those columns. An empty projection gives a batch with no
    /// columns and [`Reader::chunk_rows`] rows.
    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch>;

    /// Decodes the given columns of the selected rows of one chunk.
    ///
    /// The result equals the selected rows of [`Reader::read`]. Formats with random access
    /// decode only those rows, and then do not detect damage in the others.
    ///
    /// # Errors
    ///
    /// Fails like [`Reader::read`], and if a selected row is beyond the end of the chunk.
    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        rows.of(&self.read(chunk, columns)?)
    }

    /// Decodes the given columns of the rows of one chunk that match a predicate.
    ///
    /// Returns `None` if the format cannot find these rows without decoding all of them.
    /// Otherwise the result equals the rows of [`Reader::read`] that
    /// [`Predicate::evaluate`] selects. Damage in rows that are not decoded may go
    /// unnoticed.
    ///
    /// # Errors
    ///
    /// Fails like [`Reader::read`], and if a column of the predicate does not exist.
    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        let _ = (chunk, columns, predicate);
        Ok(None)
    }

    /// Returns the byte map: every section of the file in order of offset.
    fn sections(&self) -> Vec<Section>;

    /// Returns the departures from the spec that were found so far.
    fn deviations(&self) -> Vec<Deviation>;

    /// Returns remarks for people about content that batches do not show.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A [`Reader`] whose errors name its format.
#[derive(Debug)]
pub struct InFormat<R>(R);

impl<R: Reader + 'static> InFormat<R> {
    /// Opens a file of the format `id` with `open`.
    ///
    /// Errors of `open` and of the reader that it returns name the format.
    pub fn open(id: FormatId, open: impl FnOnce() -> Result<R>) -> Result<Box<dyn Reader>> {
        match open() {
            Ok(reader) => Ok(Box::new(Self(reader))),
            Err(err) => Err(err.in_format(id)),
        }
    }

    fn tag<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|err| err.in_format(self.0.format()))
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

    fn chunks(&self) -> usize {
        self.0.chunks()
    }

    fn chunk_rows(&self, chunk: usize) -> u64 {
        self.0.chunk_rows(chunk)
    }

    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        self.0.pruning_statistics(chunk)
    }

    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch> {
        self.tag(self.0.read(chunk, columns))
    }

    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        self.tag(self.0.read_rows(chunk, columns, rows))
    }

    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        self.tag(self.0.read_where(chunk, columns, predicate))
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

/// A [`ColumnSource`] over a [`Reader`] that decodes each column on demand.
#[derive(Debug)]
pub struct ReaderTable<'a>(pub &'a dyn Reader);

impl ColumnSource for ReaderTable<'_> {
    fn schema(&self) -> SchemaRef {
        self.0.schema()
    }

    fn rows(&self) -> u64 {
        self.0.rows()
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let chunks = (0..self.0.chunks()).map(|chunk| self.0.read(chunk, &[index]));
        chunks.map(|batch| Ok(batch?.column(0).clone())).collect()
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
