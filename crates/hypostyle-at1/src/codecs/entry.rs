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
    /// Describes the tables of a frame.
    pub(crate) describe: Option<Describe>,
    /// How rows are grouped, for codecs with row groups.
    pub(crate) groups: Option<GroupedCodec>,
}

/// Describes the tables of one structured frame.
pub(crate) type Describe = fn(&DecodeContext<'_>) -> Result<Vec<FrameInfo>>;

impl CodecEntry {
    /// An entry for a codec that is decoded, and nothing else.
    pub(super) const fn new(decode: Decode) -> Self {
        Self { decode, describe: None, groups: None }
    }
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
