//! What the text of an archive says about its table.

use arrow_schema::SchemaRef;

use hypostyle_core::reader::ColumnStatistics;
use hypostyle_core::text::TextFormat;

/// The table that the text of an archive is, whatever codec stores the text.
///
/// It comes from the summary of the text. The columns of an archive serve the table only if
/// they agree with it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableShape {
    /// The syntax of rows, and whether the first one is a header.
    pub format: TextFormat,
    /// The names and types of the columns.
    pub schema: SchemaRef,
    /// The number of rows.
    pub rows: u64,
    /// Words that mean null, unless they are quoted; an empty cell always does.
    pub null_words: Vec<String>,
    /// What is known of each column; may be empty.
    pub statistics: Vec<ColumnStatistics>,
}

impl TableShape {
    /// Returns the shape of a table without null words.
    pub fn new(format: TextFormat, schema: SchemaRef, rows: u64) -> Self {
        Self { format, schema, rows, null_words: Vec::new(), statistics: Vec::new() }
    }

    /// Sets [`TableShape::null_words`].
    #[must_use]
    pub fn with_null_words(mut self, words: Vec<String>) -> Self {
        self.null_words = words;
        self
    }

    /// Sets [`TableShape::statistics`].
    #[must_use]
    pub fn with_statistics(mut self, statistics: Vec<ColumnStatistics>) -> Self {
        self.statistics = statistics;
        self
    }
}
