//! The statistics of cells, as statistics of the values that the cells are.

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, SchemaRef};

use crate::text_filter::TextFilter;
use hypostyle_core::cast::ValueBuilder;
use hypostyle_core::predicate::{
    CellPresence, NumberBounds, OccurringEntries, PruningStatistics, TextBounds,
};
use hypostyle_core::reader::Reader;
use hypostyle_core::spelling::Spelling;
use hypostyle_core::text::lines;

/// The statistics of a row group of a table whose cells may be dates, or words for null.
pub(super) struct TypedPruning<'a> {
    /// What is known of the cells.
    pub(super) statistics: Box<dyn PruningStatistics + 'a>,
    pub(super) table: &'a dyn Reader,
    pub(super) schema: SchemaRef,
    /// Whether each column has words that mean null.
    pub(super) columns_with_words: &'a [bool],
    /// What strings the lines of a part of the text may have, and the part.
    pub(super) filter: Option<(&'a TextFilter, usize)>,
}

impl PruningStatistics for TypedPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        self.statistics.numbers(column)
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        self.statistics.texts(column)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.statistics.may_hold(column, text)
    }

    fn may_contain(&self, column: &str, bytes: &[u8]) -> bool {
        match self.filter {
            Some((filter, part)) if column == lines::NAME => filter.may_contain(part, bytes),
            _ => self.statistics.may_contain(column, bytes),
        }
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.statistics.may_be_empty(column)
    }

    fn values(&self, column: &str) -> Option<[ArrayRef; 2]> {
        if let Some(values) = self.statistics.values(column) {
            return Some(values);
        }
        let index = self.schema.index_of(column).ok()?;
        let spelling = spelling(self.schema.field(index))?;
        let texts = self.statistics.texts(column)?;
        // The bounds may be the start of a value, or a word for null. Values that are spelled alike
        // have the order of their texts.
        let whole = self.table.column_statistics(index);
        let min = value(spelling, spelling.bound(texts.min, false)).or(whole.min)?;
        let max = value(spelling, spelling.bound(texts.max, true)).or(whole.max)?;
        Some([min, max])
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        self.statistics.may_be_special_float(column)
    }

    fn entries(&self, column: &str) -> Option<OccurringEntries> {
        self.statistics.entries(column)
    }

    fn nested_name(&self, column: &str, members: &[&str]) -> Option<String> {
        self.statistics.nested_name(column, members)
    }

    fn cells(&self, column: &str) -> CellPresence {
        // A word that means null is a filled cell to the writer.
        let index = self.schema.index_of(column).ok();
        let has_words = index.and_then(|index| self.columns_with_words.get(index));
        match has_words {
            Some(true) => CellPresence::default(),
            _ => self.statistics.cells(column),
        }
    }
}

/// Returns how the dates or timestamps of a column are spelled.
fn spelling(field: &Field) -> Option<Spelling> {
    match field.data_type() {
        DataType::Date32 => Some(Spelling::Date),
        _ => Spelling::of_field(field).filter(|spelling| spelling.is_temporal()),
    }
}

/// Returns an array of one value.
fn value(spelling: Spelling, value: Option<i64>) -> Option<ArrayRef> {
    let mut text = Vec::new();
    spelling.put(value?, &mut text);
    let mut builder = ValueBuilder::try_new(&spelling.data_type(), 1)?;
    builder.push(Some(&text), 1).then(|| builder.finish())
}
