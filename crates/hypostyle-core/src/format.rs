//! The traits that every format implements: [`Format`] opens and encodes, [`Reader`] decodes.

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

/// A file format: opens files and encodes tables. Implementations have no state.
pub trait Format: fmt::Debug + Sync {
    /// Returns the identity.
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

    /// Detects whether a file is in this format, from its content alone.
    ///
    /// Reads only bytes of the header. An error means that the source failed,
    /// never that the bytes are wrong.
    fn sniff(&self, source: &dyn ByteSource) -> Result<Sniff>;

    /// Opens a file and checks its layout, without decoding columns.
    ///
    /// The input may be anything. This function and the [`Reader`] fail on
    /// invalid input but do not panic, and allocate in proportion to the size of
    /// the source and to the limits, never to a number that the file claims.
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Box<dyn Reader>>;

    /// Writes a whole table.
    ///
    /// Refuses a table that the format cannot store before it writes a byte.
    /// Equal tables and options give equal bytes, on every platform and with any
    /// number of threads.
    fn encode(&self, table: &dyn Table, sink: &mut dyn Sink, options: &WriteOptions) -> Result<()>;
}

/// The result of [`Format::sniff`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sniff {
    /// The file is in this format.
    Yes,
    /// The file is not in this format.
    No,
    /// The file has a magic of this format but is not in it, for the given reason.
    Lookalike(String),
}

/// An open file.
pub trait Reader: fmt::Debug + Send + Sync {
    /// Returns the format.
    fn format(&self) -> FormatId;

    /// Returns the schema of all batches.
    fn schema(&self) -> SchemaRef;

    /// Returns the number of rows.
    fn rows(&self) -> u64;

    /// Returns the number of chunks, which can be decoded separately.
    fn chunks(&self) -> usize;

    /// Returns the number of rows of one chunk, without reading it.
    fn chunk_rows(&self, chunk: usize) -> u64 {
        // Most formats have one chunk.
        if chunk == 0 { self.rows() } else { 0 }
    }

    /// Returns the statistics by which a predicate can skip a chunk, without reading it.
    fn pruning_statistics(&self, chunk: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let _ = chunk;
        None
    }

    /// Decodes the given columns of one chunk, in the order given.
    ///
    /// Reads only the blocks of these columns. An empty list gives a batch
    /// without columns and with [`Reader::chunk_rows`] rows.
    fn read(&self, chunk: usize, columns: &[usize]) -> Result<RecordBatch>;

    /// Decodes the given columns of some rows of one chunk, in the order of the rows.
    ///
    /// Returns the same rows as [`Reader::read`]. Formats with random access decode only
    /// these rows, and do not detect errors in others.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; also fails if a row is out of range.
    fn read_rows(
        &self,
        chunk: usize,
        columns: &[usize],
        rows: &RowSelection,
    ) -> Result<RecordBatch> {
        rows.of(&self.read(chunk, columns)?)
    }

    /// Decodes the given columns of the rows of one chunk that match a predicate, if the
    /// format can find them without decoding all rows; otherwise returns `None`.
    ///
    /// Returns the rows for which [`Predicate::evaluate`] is true on [`Reader::read`]. Does not
    /// detect all errors in rows that are not decoded.
    ///
    /// # Errors
    ///
    /// As [`Reader::read`]; also fails if a column of the predicate does not exist.
    fn read_where(
        &self,
        chunk: usize,
        columns: &[usize],
        predicate: &Predicate,
    ) -> Result<Option<RecordBatch>> {
        let _ = (chunk, columns, predicate);
        Ok(None)
    }

    /// Returns all sections of the file, in order of offset.
    fn sections(&self) -> Vec<Section>;

    /// Returns the deviations from the specification in the parts that were read.
    fn deviations(&self) -> Vec<Deviation>;

    /// Returns facts for people that the batches do not show.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A column file as a [`Table`]; decodes a column when it is requested.
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

/// A section of a file, to show where the bytes go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The kind of section, in the words of the specification.
    pub what: &'static str,
    /// The column of the section.
    pub column: Option<usize>,
    /// Offset in the file.
    pub offset: u64,
    /// Size in the file.
    pub stored: u64,
    /// Decompressed size, if the section is compressed.
    pub raw: Option<u64>,
}
