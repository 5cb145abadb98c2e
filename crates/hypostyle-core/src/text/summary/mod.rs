//! What opening a text table needs to know: rows, columns and the state of their cells.

mod text_range;
mod values;

use super::format::{TextFormat, TextKind};
use super::options::{Encoding, TextOptions};
use super::position::RowPosition;
use super::skipped::Skipped;
use super::state::InferredState;
use crate::number;
use crate::spelling::Spelling;

pub use text_range::TextRange;
pub(crate) use text_range::TextRangeFinder;
pub(crate) use values::MAX_NESTED_KEYS;
pub use values::{ObjectState, ValueState};

/// What one pass over a text finds out about it.
///
/// With a summary, a text table is opened without a pass. Archives keep the summary of the
/// text that they hold.
#[derive(Clone, Debug, PartialEq)]
pub struct TextSummary {
    /// The format in which the text was read.
    pub format: TextFormat,
    /// The encoding in which the text was read.
    pub encoding: Encoding,
    /// The number of rows, the header not included.
    pub rows: u64,
    /// The columns, in the order of the table.
    pub columns: Vec<ColumnSummary>,
    /// Whether every line from the first row on is exactly one row: no row spans lines, no
    /// line is blank or skipped, and every row ends with a newline, except for the last.
    pub rows_are_lines: bool,
    /// Whether the last line has no newline.
    pub ends_open: bool,
    /// Where rows start: the first row, and one every few megabytes.
    ///
    /// Each entry has a greater row and a greater offset than the one before. The first one
    /// exists even if there are no rows.
    pub row_index: Vec<RowPosition>,
    /// The number of bytes of the text.
    pub bytes: u64,
    /// The words that counted as null.
    pub null_words: Vec<String>,
    /// The rows that were skipped because they are malformed.
    pub skipped: Skipped,
}

/// What one pass over a text finds out about a column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnSummary {
    /// The name.
    pub name: String,
    /// What the cells have in common.
    pub state: ColumnState,
    /// The number of rows without a value, if it is known.
    pub nulls: Option<u64>,
    /// The number of cells that are empty texts; they are null if the column is numeric.
    pub empty_texts: u64,
    /// Bounds of the cells as text, empty ones not included; `None` if they are unknown,
    /// above all in columns with numbers.
    pub texts: Option<TextRange>,
    /// The only text that is not a number, if all other cells are numbers; or the only one that
    /// is not spelled like all other cells.
    pub odd_token: Option<Box<OddToken>>,
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

/// A cell that occurs in a column of one type and is not of that type, such as `NA`.
///
/// If it means null, the column has that type.
#[derive(Clone, Debug, PartialEq)]
pub struct OddToken {
    /// The text of the cell.
    pub text: String,
    /// The number of cells that have it.
    pub count: u64,
    /// Whether some of these cells are quoted, so that they are never null.
    pub is_quoted: bool,
    /// What the other cells have in common.
    pub others: InferredState,
}

impl TextSummary {
    /// Returns the summary as a pass with these options would make it; `None` if only a pass
    /// can tell.
    pub(super) fn for_options(self, format: TextFormat, options: &TextOptions) -> Option<Self> {
        let is_delimited =
            matches!(format.kind, TextKind::Delimited { .. } | TextKind::VariantCalls);
        let is_same = self.format == format
            && (!is_delimited || (self.encoding == options.encoding && options.columns == 0));
        if !is_same {
            return None;
        }
        let words = options.effective_null_words();
        if !is_delimited || words == self.null_words {
            return Some(self);
        }
        if !self.null_words.is_empty() {
            return None;
        }
        self.with_null_words(words)
    }

    /// Returns the summary with words that count as null, if it follows from what is known.
    fn with_null_words(mut self, words: Vec<String>) -> Option<Self> {
        let may_be_value = |word: &String| {
            let word = word.as_bytes();
            number::liberal(word).is_some()
                || number::exact_decimal(word).is_some()
                || Spelling::of(word).is_some()
        };
        if words.iter().any(may_be_value) {
            return None;
        }
        for column in &mut self.columns {
            let ColumnState::Cells(state) = &mut column.state else { continue };
            match &column.odd_token {
                Some(odd) if words.contains(&odd.text) => {
                    if odd.is_quoted {
                        column.nulls = None;
                        continue;
                    }
                    *state = InferredState { gaps: true, ..odd.others.clone() };
                    column.nulls = column.nulls.map(|nulls| nulls.saturating_add(odd.count));
                    column.texts = None;
                    column.odd_token = None;
                }
                Some(_) => {}
                // No cell is a null word.
                None if state.spelled.is_some() => {}
                // Several cells are not numbers. If all of them are null words, the column
                // is numeric.
                None if !state.liberal_floats && !state.liberal_ints => {
                    if words.len() > 1 {
                        return None;
                    }
                    column.nulls = None;
                    column.texts = None;
                }
                None => {}
            }
        }
        self.null_words = words;
        Some(self)
    }
}
