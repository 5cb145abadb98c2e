//! The type of a row in the table of codecs: what the reader does with a codec's frames.

use super::context::DecodeContext;
use crate::description::FrameInfo;
use crate::output::Output;
use hypostyle_core::error::Result;

/// Writes text that is decoded from one structured frame.
pub(crate) type Decode = fn(&DecodeContext<'_>, &mut Output<'_>) -> Result<()>;

/// What the reader does with the structured frames of one codec.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodecEntry {
    /// Writes the original bytes.
    pub(crate) decode: Decode,
    /// How the table view reads the decoded text.
    pub(crate) rows: TableRows,
    /// Overrides `rows` by what the first structured frame holds.
    pub(crate) rows_of_frame: Option<fn(&DecodeContext<'_>) -> Result<TableRows>>,
    /// Finds the columns of these names, if a frame can be decoded without the others.
    pub(crate) project: Option<FindProjection>,
    /// Describes the tables of a frame.
    pub(crate) describe: Option<Describe>,
    /// How rows are grouped, for codecs with row groups.
    pub(crate) groups: Option<GroupedCodec>,
}

/// Describes the tables of one structured frame.
pub(crate) type Describe = fn(&DecodeContext<'_>) -> Result<Vec<FrameInfo>>;

/// Finds the columns of these names; `None` if the whole frame must be decoded.
pub(crate) type FindProjection = fn(&DecodeContext<'_>, &[String]) -> Result<Option<Projection>>;

impl CodecEntry {
    /// An entry for a codec that is decoded, and nothing else.
    pub(super) const fn new(decode: Decode) -> Self {
        Self {
            decode,
            rows: TableRows::NotATable,
            rows_of_frame: None,
            project: None,
            describe: None,
            groups: None,
        }
    }
}

/// The columns to keep, and the header above them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Projection {
    /// The indexes of the columns, in file order.
    pub(super) columns: Vec<usize>,
    /// The header line of these columns.
    pub(super) header: Vec<u8>,
}

/// How the table view reads the text of a codec (§11).
#[derive(Clone, Copy, Debug)]
pub(crate) enum TableRows {
    /// The text has no rows.
    NotATable,
    /// Cells between delimiters; the function reads the delimiter from a frame.
    Delimited(fn(&DecodeContext<'_>) -> Result<DelimitedCells>),
    /// Cells between tabs, after lines that start with `##`.
    VariantCalls,
    /// A JSON object on each line.
    Objects,
    /// Lines of a log; the function writes them as JSON objects.
    LogLines(Decode),
}

/// How a codec for delimited text splits lines into cells.
#[derive(Clone, Debug)]
pub(crate) struct DelimitedCells {
    pub(crate) delimiter: Vec<u8>,
    pub(crate) columns: usize,
    /// Whether the frame stores a header apart from the rows, for codecs that do so.
    pub(crate) header: Option<bool>,
}

/// How a codec with row groups lays out its tables.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupedCodec {
    /// Whether rows are delimited cells; otherwise they are JSON objects.
    pub(crate) delimited: bool,
    /// Whether the stream `line_map` assigns lines to tables.
    pub(crate) line_map: bool,
    /// Returns the prefix of the stream names of each table.
    pub(crate) prefixes: fn(&DecodeContext<'_>) -> Result<Vec<String>>,
}
