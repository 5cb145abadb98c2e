//! What the text of an archive says about its table.

use arrow_schema::SchemaRef;

use hypostyle_core::reader::ColumnStatistics;
use hypostyle_core::text::TextFormat;

/// The table that the text of an archive is, whatever codec stores the text.
///
/// It comes from the summary of the text. The columns of an archive serve the table only if
/// they agree with it.
#[derive(Clone, Debug)]
pub(crate) struct TableShape {
    /// The syntax of rows, and whether the first one is a header.
    pub(crate) format: TextFormat,
    /// The names and types of the columns.
    pub(crate) schema: SchemaRef,
    /// The number of rows.
    pub(crate) rows: u64,
    /// For each column, words that mean null, unless they are quoted; an empty cell always does.
    pub(crate) null_words: Vec<Vec<Vec<u8>>>,
    /// What is known of each column; may be empty.
    pub(crate) statistics: Vec<ColumnStatistics>,
}

impl TableShape {
    /// Returns the shape of a table without null words.
    pub(crate) fn new(format: TextFormat, schema: SchemaRef, rows: u64) -> Self {
        Self { format, schema, rows, null_words: Vec::new(), statistics: Vec::new() }
    }

    /// Sets [`TableShape::null_words`].
    #[must_use]
    pub(crate) fn with_null_words(mut self, words: impl IntoIterator<Item = Vec<String>>) -> Self {
        let bytes = |words: Vec<String>| words.into_iter().map(String::into_bytes).collect();
        self.null_words = words.into_iter().map(bytes).collect();
        self
    }

    /// Returns the words that mean null in a column.
    pub(crate) fn null_words(&self, column: usize) -> &[Vec<u8>] {
        self.null_words.get(column).map(Vec::as_slice).unwrap_or_default()
    }

    /// Sets [`TableShape::statistics`].
    #[must_use]
    pub(crate) fn with_statistics(mut self, statistics: Vec<ColumnStatistics>) -> Self {
        self.statistics = statistics;
        self
    }
}
