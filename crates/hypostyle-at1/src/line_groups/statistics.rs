//! What the statistics of line groups say about the columns of the table.

use arrow_schema::SchemaRef;

use super::read::LineGroups;
use crate::group_statistics::RowGroupStatistics;
use hypostyle_core::predicate::{
    CellPresence, NumberBounds, OccurringEntries, PruningStatistics, TextBounds,
};

/// Between the keys of the name of a nested value; no name of a column is taken for such a name.
const SEPARATOR: char = '\0';

/// Finds the statistics of a value by its name.
type FindStatistics<'a> = Box<dyn Fn(&str) -> Option<usize> + 'a>;

/// The statistics of one group, for pruning.
pub(crate) struct GroupPruning<'a> {
    statistics: RowGroupStatistics<'a, FindStatistics<'a>>,
    /// The columns of the table, if sets of integers are used.
    schema: Option<SchemaRef>,
}

impl LineGroups {
    /// Returns the statistics of a group of a table with these columns.
    pub(crate) fn pruning<'a>(&'a self, group: usize, names: &'a [String]) -> GroupPruning<'a> {
        let find = move |name: &str| {
            let mut parts = name.split(SEPARATOR);
            let column = parts.next()?;
            let column = names.iter().position(|known| known == column)?;
            let keys: Vec<&str> = parts.collect();
            self.metadata.paths.iter().position(|path| path.column == column && path.keys == keys)
        };
        GroupPruning { statistics: self.statistics.group(group, Box::new(find)), schema: None }
    }
}

impl GroupPruning<'_> {
    /// Uses sets of integers, of columns with the types of a schema.
    pub(crate) fn with_types(mut self, schema: SchemaRef) -> Self {
        self.schema = Some(schema);
        self
    }
}

impl PruningStatistics for GroupPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        self.statistics.numbers(column)
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        self.statistics.texts(column)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.statistics.may_hold(column, text)
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.statistics.may_be_empty(column)
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        self.statistics.may_be_special_float(column)
    }

    fn entries(&self, column: &str) -> Option<OccurringEntries> {
        let field = self.schema.as_ref()?.field_with_name(column).ok()?;
        self.statistics.integers(column, field.data_type())
    }

    fn cells(&self, column: &str) -> CellPresence {
        self.statistics.cells(column)
    }

    fn nested_name(&self, column: &str, keys: &[&str]) -> Option<String> {
        let mut name = column.to_owned();
        for key in keys {
            name.push(SEPARATOR);
            name.push_str(key);
        }
        Some(name)
    }
}
