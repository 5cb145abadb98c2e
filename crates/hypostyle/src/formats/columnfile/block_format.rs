//! The trait that each of the three formats implements.

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;

use super::block_stream::BlockStreams;
use super::column_stream::ColumnStream;
use super::layout::{BlockLocation, ColumnEntry, ColumnFileLayout, DeviationCodes};
use hypostyle_core::column_source::ColumnStats;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::Result;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::{ReadOptions, TextPolicy, WriteOptions};
use hypostyle_core::source::ByteSource;
use hypostyle_core::types::{Capabilities, ColumnType};

/// One of the three formats, as far as it differs from the others.
pub(crate) trait BlockFormat: std::fmt::Debug + Send + Sync + 'static {
    /// The identity of the format.
    const ID: FormatId;

    /// The codes of the deviations that all three formats share.
    const CODES: DeviationCodes;

    /// What a table may contain.
    const CAPABILITIES: Capabilities;

    /// Whether the writer stores a column of zero rows as zero bytes instead of an empty block.
    const ABSENT_WHEN_EMPTY: bool;

    /// What the header says about a column.
    type Entry: AsRef<ColumnEntry> + std::fmt::Debug + Send + Sync;

    /// Parses and checks everything before the blocks.
    fn parse_layout(
        source: &dyn ByteSource,
        options: &ReadOptions,
        deviations: &Deviations,
    ) -> Result<ColumnFileLayout<Self::Entry>>;

    /// Returns the bytes to leave free before the content of a block.
    ///
    /// With this headroom the values are aligned and need not be copied.
    fn headroom(_entry: &Self::Entry, _rows: usize) -> usize {
        0
    }

    /// Decodes the content of a block, which follows the headroom, to an array of `rows` values.
    fn decode(
        content: MutableBuffer,
        entry: &Self::Entry,
        rows: usize,
        cx: &DecodeContext<'_>,
    ) -> Result<ArrayRef>;

    /// Starts to decode a block of `rows` values as a scan moves on.
    ///
    /// Fails if the sizes in the header cannot be right, as [`BlockFormat::decode`] does.
    fn stream(
        blocks: &BlockStreams,
        entry: &Self::Entry,
        rows: u64,
        cx: &DecodeContext<'_>,
    ) -> Result<Box<dyn ColumnStream>>;

    /// Checks a column that is stored as zero bytes, whose rows are null.
    ///
    /// Fails where the format does not allow such a column.
    fn check_absent(entry: &Self::Entry, rows: u64, cx: &DecodeContext<'_>) -> Result<()>;

    /// Returns the number of nulls of a column, if the header knows it.
    fn null_count(entry: &Self::Entry, rows: u64) -> Option<u64>;

    /// Refuses what the format cannot store.
    fn check(columns: &[ColumnToWrite], rows: u64, options: &WriteOptions) -> Result<()>;

    /// Returns the number of bytes before the first block.
    fn header_len(columns: &[ColumnToWrite], rows: u64) -> Result<u64>;

    /// Returns the header and the column table for blocks at these locations.
    fn header(columns: &[ColumnToWrite], blocks: &[BlockLocation], rows: u64) -> Result<Vec<u8>>;

    /// Appends the uncompressed content of a column's block.
    fn encode(column: &ColumnToWrite, arrays: &[ArrayRef], out: &mut Vec<u8>) -> Result<()>;
}

/// What the decoder of a block needs besides the block.
pub(crate) struct DecodeContext<'a> {
    pub(crate) deviations: &'a Deviations,
    pub(crate) text: TextPolicy,
    pub(crate) codes: &'static DeviationCodes,
    pub(crate) limits: &'a Limits,
}

/// A column of the table that is being written.
#[derive(Debug)]
pub(crate) struct ColumnToWrite {
    /// The position in the schema.
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    pub(crate) stats: ColumnStats,
    pub(crate) options: WriteOptions,
}

impl ColumnToWrite {
    /// Returns the bytes of all values, without validity, prefixes or offsets.
    pub(crate) fn value_bytes(&self) -> u64 {
        let width = self.column_type.width();
        width.map_or(self.stats.text_bytes, |width| width.saturating_mul(self.stats.rows))
    }
}
