//! The trait that every format implements: [`Format`] recognizes, opens and encodes files.

use std::fmt;
use std::sync::Arc;

use crate::column_source::ColumnSource;
use crate::error::Result;
use crate::format_id::FormatId;
use crate::options::{ReadOptions, WriteOptions};
use crate::reader::Reader;
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
    fn open(&self, source: Arc<dyn ByteSource>, options: &ReadOptions) -> Result<Arc<dyn Reader>>;

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
