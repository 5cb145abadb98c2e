//! What COLM, COLF and CLMN share: one zlib block for each column.
//!
//! The three differ in headers, byte order and the inside of a block. Here is
//! the rest: which bytes are read for which columns, in parallel and within the
//! limits ([`File`]), and how blocks are made and put behind a header that is
//! filled in last ([`write()`]). A format plugs in through [`Dialect`].

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_buffer::MutableBuffer;
use arrow_schema::{Field, Schema, SchemaRef};

use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::limits::Limits;
use hypostyle_core::options::{TextPolicy, WriteOptions};
use hypostyle_core::table::ColumnStats;
use hypostyle_core::types::ColumnType;

mod file;
mod layout;
pub(super) mod pieces;
pub(super) mod text;
mod write;

pub(super) use file::File;
pub(super) use layout::{Entry, Layout, Plot, TableReader};
pub(super) use write::write;

/// One of the three formats, as far as it differs from the others.
pub(super) trait Dialect: std::fmt::Debug + Send + Sync + 'static {
    /// The identity.
    const ID: FormatId;

    /// The numbers under which shared deviations are reported.
    const CODES: Codes;

    /// Whether fields are nullable.
    const NULLS: bool;

    /// Bytes to leave free before a block's content, so that its values end up
    /// aligned and need not be copied.
    fn headroom(_plot: &Plot, _rows: usize) -> usize {
        0
    }

    /// Turns the content of a block into an array of `rows` values.
    fn decode(content: Content, plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef>;

    /// The array for a block of zero bytes, if the format knows such a thing.
    fn decode_absent(plot: &Plot, rows: usize, cx: &Context<'_>) -> Result<ArrayRef>;

    /// Refuses what the format cannot hold.
    fn check(columns: &[Planned], rows: u64, options: &WriteOptions) -> Result<()>;

    /// Bytes before the first block.
    fn header_len(columns: &[Planned], rows: u64) -> Result<u64>;

    /// The header, once every block is in place.
    fn header(columns: &[Planned], blocks: &[Placed], rows: u64) -> Result<Vec<u8>>;

    /// Appends the uncompressed content of a column.
    fn encode(column: &Planned, pieces: &[ArrayRef], out: &mut Vec<u8>) -> Result<()>;

    /// Whether zero rows are written as no block at all.
    const ABSENT_WHEN_EMPTY: bool;
}

/// Numbers of the deviations that every dialect can show.
#[derive(Debug)]
pub(super) struct Codes {
    /// Two blocks overlap.
    pub(super) overlap: &'static str,
    /// A block does not follow the one before it in the schema.
    pub(super) order: Option<&'static str>,
    /// Unused bytes before or between blocks.
    pub(super) gap: Option<&'static str>,
    /// Bytes after the last block.
    pub(super) trailing: &'static str,
    /// Bytes after the zlib stream of a block.
    pub(super) after_stream: &'static str,
    /// Two columns with one name, or a column without.
    pub(super) names: &'static str,
    /// Text that had to be repaired.
    pub(super) text: &'static str,
}

/// What a dialect may need while it decodes.
pub(super) struct Context<'a> {
    pub(super) deviations: &'a Deviations,
    pub(super) text: TextPolicy,
    pub(super) codes: &'static Codes,
    pub(super) limits: &'a Limits,
}

/// The content of a block, with the headroom that the dialect asked for.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) buffer: MutableBuffer,
    pub(super) headroom: usize,
}

/// A column that is about to be written.
#[derive(Debug)]
pub(super) struct Planned {
    pub(super) name: String,
    pub(super) kind: ColumnType,
    pub(super) stats: ColumnStats,
    pub(super) options: WriteOptions,
}

impl Planned {
    /// Bytes of all values without nulls, prefixes or offsets.
    pub(super) fn value_bytes(&self) -> u64 {
        self.kind.width().map_or(self.stats.text_bytes, |w| w.saturating_mul(self.stats.rows))
    }
}

/// Where a block was put.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) offset: u64,
    pub(super) stored: u64,
    pub(super) raw: u64,
}

/// The Arrow schema of a layout.
pub(super) fn schema<D: Dialect>(layout: &Layout) -> SchemaRef {
    let field = |plot: &Plot| Field::new(&plot.name, plot.kind.data_type_for(plot.raw), D::NULLS);
    Arc::new(Schema::new(layout.plots.iter().map(field).collect::<Vec<_>>()))
}

/// Refuses a table in which two columns have one name, after `same_as`.
pub(super) fn refuse_duplicates(
    columns: &[Planned],
    same_as: impl Fn(&str) -> &str,
    way_out: &'static str,
) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, column) in columns.iter().enumerate() {
        if let Some(first) = seen.insert(same_as(&column.name), index) {
            let first: usize = first;
            return Err(Error::refused(
                Refusal::DuplicateName,
                format!("has the same name as column {}", first.saturating_add(1)),
                way_out,
            )
            .in_column(index, &column.name));
        }
    }
    Ok(())
}

/// The refusal of 64-bit integers by a format that has none.
pub(super) fn no_int64(format: &str, stats: &ColumnStats) -> Error {
    let way_out = "store the column as text or float64, or write CLMN";
    match stats.first_beyond_i32 {
        Some((row, value)) => {
            let why = format!("{value} is beyond int32, and {format} has no 64-bit integers");
            Error::refused(Refusal::IntegerTooWide, why, way_out).in_row(row)
        }
        None => {
            let why = format!("{format} has no 64-bit integers");
            Error::refused(
                Refusal::IntegerTooWide,
                why,
                "store the column as int32: every value fits",
            )
        }
    }
}
