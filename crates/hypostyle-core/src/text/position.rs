//! Places in a text.

/// Where a row starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowPosition {
    /// The number of the row, from 0.
    pub row: u64,
    /// The offset of its first byte in the text.
    pub offset: u64,
    /// The number of newlines before the row.
    pub line: u64,
}
