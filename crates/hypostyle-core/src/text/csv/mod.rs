//! CSV and TSV (RFC 4180, and what people write in its name).
//!
//! [`import()`] reads a table in one pass: `blocks` cuts the input into a few
//! megabytes of whole rows, `split` finds their cells, other threads type them,
//! and the pieces are staged.
//! [`Writer`] is the way back.

mod blocks;
mod import;
mod quote;
mod split;
#[cfg(test)]
mod tests;
mod write;

pub use import::import;
pub use quote::{put_cell, put_quoted, put_unquoted};
pub use write::Writer;

use crate::error::{Error, Result};

/// The syntax of a CSV file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CsvOptions {
    /// The byte between cells: `,` unless told otherwise.
    pub delimiter: u8,
    /// Whether the first row holds names.
    pub header: bool,
    /// What to do with rows of another length than the first.
    pub ragged: Ragged,
    /// How bytes become characters.
    pub encoding: Encoding,
    /// How many columns there are at least; 0 leaves it to the first row. Those
    /// beyond the names get names of their own.
    pub columns: usize,
}

impl CsvOptions {
    /// Cells between `delimiter`, which is any byte that is no quote, line end or
    /// part of a longer character.
    pub fn new(delimiter: u8) -> Self {
        Self {
            delimiter,
            header: true,
            ragged: Ragged::Refuse,
            encoding: Encoding::Utf8,
            columns: 0,
        }
    }
}

impl Default for CsvOptions {
    fn default() -> Self {
        Self::new(b',')
    }
}

/// What to do with rows that have more or fewer cells than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ragged {
    /// An error that names the row.
    #[default]
    Refuse,
    /// Fill short rows with empty cells; long rows stay an error.
    Pad,
}

/// How the bytes of a text file become characters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8, with or without a byte order mark.
    #[default]
    Utf8,
    /// ISO 8859-1: every byte is the character of that number.
    Latin1,
}

/// Whether a byte can stand between cells.
pub fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r')
}

/// Refuses a delimiter that could not be told from the rest of the syntax.
fn check_delimiter(delimiter: u8) -> Result<()> {
    if is_delimiter(delimiter) {
        return Ok(());
    }
    let why = "the delimiter must be one ASCII character that is no quote or line end";
    Err(Error::invalid_argument(why))
}
