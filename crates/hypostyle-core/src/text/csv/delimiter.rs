//! Which bytes can separate cells.

use crate::error::{Error, Result};

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
