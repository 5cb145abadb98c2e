//! What opening a text table needs to know: rows, columns and the state of their cells.

mod cells;
mod text_range;
mod values;

use super::infer::Skipped;
use super::state::InferredState;

pub use text_range::TextRange;
pub use values::{ObjectState, ValueState};

/// What one pass over a text finds out about it.
///
/// With a summary, a text table is opened without a pass. Archives keep the summary of the
/// text that they hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextSummary {
    /// The number of rows, the header not included.
    pub rows: u64,
    /// The columns, in the order of the table.
    pub columns: Vec<ColumnSummary>,
    /// Whether every line after the header, which is the first line if there is one, is
    /// exactly one row: no row spans lines, no line is blank or skipped, and every row ends
    /// with a newline, except for the last.
    pub rows_are_lines: bool,
    /// Where rows start: the first row, and one every few megabytes.
    ///
    /// Each entry has a greater row and a greater offset than the one before.
    pub row_index: Vec<RowPosition>,
    /// The number of bytes of the text.
    pub bytes: u64,
    /// The words that counted as null.
    pub null_words: Vec<String>,
    /// The rows that were skipped because they are malformed.
    pub skipped: Skipped,
}

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

/// What one pass over a text finds out about a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// The name.
    pub name: String,
    /// What the cells have in common.
    pub state: ColumnState,
    /// The number of rows without a value.
    pub nulls: u64,
    /// The number of cells that are empty texts; they are null if the column is numeric.
    pub empty_texts: u64,
    /// Bounds of the cells as text, empty ones not included; `None` if there are no others,
    /// or if they are unknown.
    pub texts: Option<TextRange>,
    /// The only cell that is not a number, if all others are.
    pub odd_token: Option<OddToken>,
}

/// What the cells of a column have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnState {
    /// Cells of delimited text and of variant calls, with the type that follows from them.
    Cells(InferredState),
    /// JSON values.
    Values(ValueState),
    /// Text, whatever the cells are: lines and logs.
    Text,
    /// Lines that are not all UTF-8.
    Binary,
    /// A list of texts: the variables of a log.
    TextList,
}

/// A cell that occurs in a column of numbers and is not one, such as `NA`.
///
/// If the caller takes it for null, the column is numeric.
#[derive(Clone, Debug, PartialEq)]
pub struct OddToken {
    /// The text of the cell.
    pub text: String,
    /// The number of cells that have it.
    pub count: u64,
    /// Whether some of these cells are quoted, so that they are never null.
    pub is_quoted: bool,
    /// What the other cells have in common.
    pub numbers: InferredState,
}
