//! A column that is decoded as a scan moves on.

use arrow_array::ArrayRef;

use super::block_format::DecodeContext;
use hypostyle_core::error::Result;

/// Decodes a column from its first row to its last.
///
/// A call that fails because the source lacks bytes can be repeated.
pub(crate) trait ColumnStream: Send + Sync {
    /// Moves forward to a row without building arrays.
    fn seek(&mut self, row: u64) -> Result<()>;

    /// Decodes the next rows.
    ///
    /// The caller has checked that the column has so many.
    fn read(&mut self, rows: usize, cx: &DecodeContext<'_>) -> Result<ArrayRef>;

    /// Verifies what follows the last row, and returns the number of bytes after the stream
    /// of the block.
    fn finish(&mut self, cx: &DecodeContext<'_>) -> Result<u64>;
}
