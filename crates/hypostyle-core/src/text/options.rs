//! How a text is read as a table.

use std::num::NonZeroUsize;

use super::state::Infer;
use crate::limits::Limits;
use crate::types::{Capabilities, RequestedType};

/// Options for reading a text as a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TextOptions {
    /// The byte between cells, in place of the one that the text seems to have.
    pub delimiter: Option<u8>,
    /// Whether the first row holds the column names; `None` means it does.
    pub header: Option<bool>,
    /// What to do with rows that have more or fewer cells than the first.
    pub ragged: Ragged,
    /// How bytes become characters, in delimited text.
    pub encoding: Encoding,
    /// The minimum number of columns of delimited text; 0 takes it from the first row.
    ///
    /// Columns beyond the header get generated names.
    pub columns: usize,
    /// When a column gets a type.
    pub infer: Infer,
    /// Columns with a requested type, by name.
    pub types: Vec<(String, RequestedType)>,
    /// Cells that mean null in all columns besides empty ones, if the target has nulls.
    ///
    /// Without any, the only text in a column of another type means null if it is one of
    /// [`NULL_TOKENS`](crate::spelling::NULL_TOKENS). An empty word says that there is none.
    pub null_words: Vec<String>,
    /// Which values the target can store.
    pub capabilities: Capabilities,
    /// Skip and count malformed rows instead of failing.
    pub skip: bool,
    /// Add a null row after a last line without a newline, so that plain lines can be
    /// written back byte for byte.
    pub mark_open_line: bool,
    /// Threads that parse cells; `None` uses one per core.
    pub threads: Option<NonZeroUsize>,
    /// Upper bounds on columns and rows.
    pub limits: Limits,
}

impl Default for TextOptions {
    fn default() -> Self {
        Self {
            delimiter: None,
            header: None,
            ragged: Ragged::Refuse,
            encoding: Encoding::Utf8,
            columns: 0,
            infer: Infer::Exact,
            types: Vec::new(),
            null_words: Vec::new(),
            capabilities: Capabilities::EVERYTHING,
            skip: false,
            mark_open_line: false,
            threads: None,
            limits: Limits::default(),
        }
    }
}

impl TextOptions {
    /// Returns the words that mean null: none if the target has no nulls.
    pub(super) fn effective_null_words(&self) -> Vec<String> {
        // For a target without nulls, a null word is ordinary text.
        let words =
            self.null_words.iter().filter(|word| self.capabilities.nulls && !word.is_empty());
        words.cloned().collect()
    }

    /// Returns whether a column may have a null word of its own.
    pub(super) fn finds_null_tokens(&self) -> bool {
        let Capabilities { nulls, arrow_types, .. } = self.capabilities;
        self.null_words.is_empty() && nulls && arrow_types && self.infer != Infer::Text
    }
}

/// What to do with rows that have more or fewer cells than the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ragged {
    /// Fail with an error that names the row.
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
    /// ISO 8859-1: every byte is the character with that code point.
    Latin1,
}
