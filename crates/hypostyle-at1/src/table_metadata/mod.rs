//! The stream `hyp.table`: what table the text of an archive is (§11.1).
//!
//! ```text
//! version u8 = 2 or 3 │ kind u8 │ [delimiter u8] │ flags u8 │
//! [rows uv │ bytes uv │ row positions │ columns] │ [frames] │ crc u32
//! ```
//!
//! The packer finds the format and the summary once. A reader that finds the stream opens
//! the table without decoding the text.

mod find;
mod put;
mod read;
#[cfg(test)]
mod tests;

pub(super) use find::find;

use super::table_frame::TABLE;
use hypostyle_core::error::Result;
use hypostyle_core::text::{TextFormat, TextSummary};

/// The version of the content.
const VERSION: u8 = 2;

/// The version of JSON Lines, in which the nulls of a column may follow from its values.
const IMPLIES_NULLS: u8 = 3;

/// The version that knows neither decimals nor spellings.
const NUMBERS_ONLY: u8 = 1;

/// The kinds of text, in the order of their numbers.
mod kind {
    pub(super) const DELIMITED: u8 = 0;
    pub(super) const JSON_LINES: u8 = 1;
    pub(super) const LINES: u8 = 2;
    pub(super) const LOG: u8 = 3;
    pub(super) const VARIANT_CALLS: u8 = 4;
}

/// The flags after the kind.
mod flag {
    pub(super) const HEADER: u8 = 1;
    pub(super) const SUMMARY: u8 = 2;
    pub(super) const ROWS_ARE_LINES: u8 = 4;
    pub(super) const FRAMES: u8 = 8;
    pub(super) const ENDS_OPEN: u8 = 16;
    pub(super) const ALL: u8 = HEADER | SUMMARY | ROWS_ARE_LINES | FRAMES | ENDS_OPEN;
}

/// The states of columns, in the order of their numbers.
mod state {
    pub(super) const CELLS: u8 = 0;
    pub(super) const VALUES: u8 = 1;
    pub(super) const TEXT: u8 = 2;
    pub(super) const BINARY: u8 = 3;
    pub(super) const TEXT_LIST: u8 = 4;
}

/// The flags of a column.
mod column_flag {
    pub(super) const BOUNDS: u8 = 1;
    pub(super) const ODD_TOKEN: u8 = 2;
    pub(super) const NULLS: u8 = 4;
    /// All rows without a value are null.
    pub(super) const IMPLIED_NULLS: u8 = 8;
}

/// What table the text of an archive is.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TableMetadata {
    /// How the text is read.
    pub(super) format: TextFormat,
    /// Rows and columns; `None` if the text cannot be read as a table, or if the summary
    /// would make a small archive larger.
    pub(super) summary: Option<TextSummary>,
    /// The frames of a streaming archive.
    pub(super) frames: Vec<FrameSize>,
    /// Whether the summary has decimals and spellings.
    pub(super) has_spellings: bool,
}

/// The size of a frame and of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameSize {
    /// Bytes of the frame in the archive, with the length and the method before it.
    pub(super) stored: u64,
    /// Bytes of the text.
    pub(super) bytes: u64,
    /// Newlines in the text.
    pub(super) newlines: u64,
}

impl FrameSize {
    /// Returns the size of a frame of this text.
    pub(super) fn of(stored: u64, text: &[u8]) -> Self {
        let newlines = memchr::memchr_iter(b'\n', text).count() as u64;
        Self { stored, bytes: text.len() as u64, newlines }
    }
}

impl TableMetadata {
    /// Returns the content of the stream; `None` if the stream cannot express the format.
    pub(super) fn content(&self) -> Option<Vec<u8>> {
        put::content(self)
    }

    /// Parses the content of the stream; `None` if a later version of it has been written.
    ///
    /// # Errors
    ///
    /// Fails if the content is malformed.
    pub(super) fn parse(content: &[u8]) -> Result<Option<Self>> {
        read::metadata(content).map_err(|err| err.in_stream(TABLE))
    }
}
