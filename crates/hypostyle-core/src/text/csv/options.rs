//! The syntax of a CSV file.

use crate::error::{Error, Result};
use crate::text::options::{Encoding, Ragged};

/// Describes the syntax of a CSV file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CsvOptions {
    /// The byte between cells; `,` by default.
    pub delimiter: u8,
    /// Whether the first row holds the column names.
    pub header: bool,
    /// What to do with rows that have more or fewer cells than the first.
    pub ragged: Ragged,
    /// How bytes become characters.
    pub encoding: Encoding,
    /// The minimum number of columns; 0 takes it from the first row.
    ///
    /// Columns beyond the header get generated names.
    pub columns: usize,
}

impl CsvOptions {
    /// Returns options with a header and cells separated by `delimiter`.
    ///
    /// The delimiter must be an ASCII byte other than a quote, CR and LF.
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

/// Returns whether a byte can separate cells.
pub fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r')
}

/// Fails for a delimiter that other parts of the syntax use.
pub(crate) fn check_delimiter(delimiter: u8) -> Result<()> {
    if is_delimiter(delimiter) {
        return Ok(());
    }
    let why = "the delimiter must be one ASCII character other than a quote or a line end";
    Err(Error::invalid_argument(why))
}
