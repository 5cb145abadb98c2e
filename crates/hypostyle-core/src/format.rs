//! What every format implements: [`Format`] opens and encodes, [`Reader`] decodes.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::deviation::Deviation;
use crate::error::Result;
use crate::format_id::FormatId;
use crate::options::{ReadOptions, WriteOptions};
use crate::predicate::{Predicate, PruningStatistics};
use crate::row_selection::RowSelection;
use crate::sink::Sink;
use crate::source::ByteSource;
use crate::table::Table;
use crate::types::Capabilities;

/// One file format: a stateless pair of doors, in and out.
pub trait Format: fmt::Debug + Sync {
    /// The identity.
    fn id(&self) -> FormatId;

    /// File extensions, without the dot; the first one is for new files.
    fn extensions(&self) -> &'static [&'static str];

    /// What a table may hold if it is to be written in this format.
    fn capabilities(&self) -> Capabilities;

    /// Whether tables can be written in it with [`Format::encode`].
    ///
    /// An archive of files shows the table in a file, and holds the file.
    fn holds_tables(&self) -> bool {
        true
    }

    /// Whether a file is in this format, judged by its content alone.
    ///
    /// Reads only bytes that would belong to the header if it were. An error
    /// means that the source failed, never that the bytes are wrong.
    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff>;

    /// Checks the layout of a file, and decodes no column.
    ///
    /// Any input is allowed here. This and the [`Reader`] that it returns may
    /// fail, but do not panic, and spend memory in proportion to the size of
    /// the source and to the limits, never to a number the file merely claims.
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>>;

    /// Writes a whole table.
    ///
    /// What the format cannot hold is refused before a byte is written. Equal
    /// tables and options give equal bytes, on every platform and any number
    /// of threads.
    fn encode(&self, table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()>;
}

/// What [`Format::sniff`] made of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// It is this format.
    Yes,
    /// It has nothing to do with this format.
    No,
    /// It looks like this format at first, and is not; a sentence says why.
    Lookalike(String),
}

/// An open file.
pub trait Reader: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> FormatId;

    /// The schema of every batch this file yields.
    fn schema(&self) -> SchemaRef;

    /// The number of rows.
    fn rows(&self) -> u64;

    /// The number of chunks: the units a file can be decoded in.
    fn chunks(&self) -> usize;

    /// The number of rows of one chunk, without reading it.
    fn chunk_rows(&self, chunk: usize) -> u64 {
        // Most formats have one chunk.
        if chunk == 0 { self.rows() } else { 0 }
    }

    /// What is known of the rows of a chunk without reading it, for queries.
    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let _ = chunk;
        None
    }

    /// Decodes the given columns of one chunk, in the order given.
    ///
    /// Reads the blocks of those columns and nothing else. No columns give a
    /// batch of no columns and [`Reader::chunk_rows`] rows.
    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch>;

    /// Decodes the given columns of some rows of one chunk, in the order of the rows.
    ///
    /// The same as those rows of what [`Reader::read`] gives. Formats in which a row can
    /// be had by itself decode no others, and then do not find what is wrong with these.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; also if the chunk does not have all of the rows.
    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        rows.of(&self.read(chunk, columns)?)
    }

    /// Decodes the given columns of the rows of one chunk that a predicate keeps, if the
    /// format can find these in another way than by decoding all rows; `None` if not.
    ///
    /// The same rows as [`Predicate::evaluate`] has of what [`Reader::read`] gives. Of what is
    /// not decoded, not everything is checked.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; also if there is no column that the predicate asks for.
    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        let _ = (chunk, columns, predicate);
        Ok(None)
    }

    /// The byte map: every part of the file in order of offset.
    fn sections(&self) -> Vec<Section>;

    /// Where the file departs from its spec, as far as it was read.
    fn deviations(&self) -> Vec<Deviation>;

    /// What a person should know about what the batches do not show.
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

/// A column file as a [`Table`], each column decoded when it is asked for.
#[derive(Debug)]
pub struct ReaderTable<'a>(pub &'a dyn Reader);

impl Table for ReaderTable<'_> {
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

/// A part of a file, for people who want to see where the bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What it is, in the words of the spec.
    pub what: &'static str,
    /// The column that it belongs to.
    pub column: Option<usize>,
    /// Where it starts.
    pub offset: u64,
    /// Bytes in the file.
    pub stored: u64,
    /// Bytes once expanded, if it is compressed.
    pub raw: Option<u64>,
}
