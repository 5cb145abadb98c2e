//! What is known of the cells of a row group.

use std::sync::PoisonError;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_buffer::{BooleanBuffer, Buffer};
use arrow_schema::{DataType, Field};

use super::object_columns::{FieldPlace, TableColumn};
use super::{ColumnarReader, TableFrame, TableGroup};
use crate::codecs::columnar::group_directory::{ValueSets, has_dictionary};
use crate::group_statistics::RowGroupStatistics;
use hypostyle_core::cast::cast;
use hypostyle_core::predicate::{
    CellPresence, Decimal, NumberBounds, OccurringEntries, PruningStatistics, TextBounds,
};
use hypostyle_core::reader::ColumnStatistics;

/// What a field of an entry takes at least in most dictionaries, with a length or a delimiter.
const FIELD_BYTES: u64 = 3;

/// The statistics of a row group.
pub(super) struct ColumnarPruning<'r> {
    reader: &'r ColumnarReader,
    group: &'r TableGroup,
    frame: &'r TableFrame,
}

impl<'r> ColumnarPruning<'r> {
    pub(super) fn new(
        reader: &'r ColumnarReader,
        group: &'r TableGroup,
        frame: &'r TableFrame,
    ) -> Self {
        Self { reader, group, frame }
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.reader.columns_by_name.get(name).copied()
    }

    /// Returns the number of the field that a column, or a member of one, is.
    fn number(&self, name: &str) -> Option<usize> {
        match self.index(name) {
            Some(column) => self.frame.field(column).map(|field| field.number),
            None => self.frame.value_numbers.get(name).copied(),
        }
    }

    /// Returns whether no row of the row group has the key of a column.
    fn is_absent(&self, name: &str) -> bool {
        let column = self.index(name).and_then(|column| self.frame.columns.get(column));
        column == Some(&TableColumn::Absent)
    }

    /// Returns the bounds of the numbers of a column in the whole table.
    fn bounds_of_table(&self, column: &str) -> NumberBounds {
        let bounds = self.index(column).and_then(|column| self.reader.table_bounds.get(column));
        bounds.copied().unwrap_or_default()
    }

    /// Returns which integers a column has, if they are few.
    fn integers(&self, column: usize) -> Option<OccurringEntries> {
        let field = self.reader.shape.schema.fields().get(column)?;
        let place = self.frame.field(column)?;
        let statistics = &self.frame.frame.statistics;
        statistics.integers(self.group.group, place.number, field.data_type())
    }

    fn statistics(&self) -> RowGroupStatistics<'r, impl Fn(&str) -> Option<usize>> {
        self.frame.frame.statistics.group(self.group.group, |name| self.number(name))
    }
}

impl PruningStatistics for ColumnarPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        match self.statistics().numbers(column) {
            NumberBounds::Unknown => self.bounds_of_table(column),
            known => known,
        }
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let statistics = &self.frame.frame.statistics;
        statistics.texts_of(self.group.group, self.number(column)?)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.statistics().may_hold(column, text)
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.statistics().may_be_empty(column)
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        self.statistics().may_be_special_float(column)
    }

    fn cells(&self, column: &str) -> CellPresence {
        match self.index(column) {
            Some(_) if self.is_absent(column) => CellPresence { blank: true, filled: false },
            Some(_) => self.statistics().cells(column),
            // Whether a member is null also depends on what it is a member of.
            None => CellPresence::default(),
        }
    }

    fn nested_name(&self, column: &str, members: &[&str]) -> Option<String> {
        let name = [&[column], members].concat().join(".");
        let is_member = self.frame.value_numbers.contains_key(&name);
        (is_member && self.index(&name).is_none()).then_some(name)
    }

    fn entries(&self, column: &str) -> Option<OccurringEntries> {
        let column = self.index(column)?;
        if let Some(integers) = self.integers(column) {
            return Some(integers);
        }
        let known = self.reader.tested_values.lock().unwrap_or_else(PoisonError::into_inner);
        let values = known.get(&(self.group.frame, column))?.clone();
        drop(known);
        let occurring = match self.frame.sets(column) {
            Some(sets) if sets.values == values.len() => {
                BooleanBuffer::new(Buffer::from(sets.of_group(self.group.group)?), 0, sets.values)
            }
            // Nothing but these values occurs anywhere in the frame.
            _ => BooleanBuffer::new_set(values.len()),
        };
        Some(OccurringEntries { values, occurring })
    }
}

/// Returns the bounds of the integers of a column in the whole table.
pub(super) fn table_bounds(field: &Field, statistics: &ColumnStatistics) -> NumberBounds {
    let bound = |bound: &Option<ArrayRef>| {
        let bound = cast(bound.as_ref()?, &DataType::Int64).ok()?;
        let bound = bound.as_primitive_opt::<Int64Type>()?.iter().next().flatten()?;
        Decimal::parse(bound.to_string().as_bytes())
    };
    if !field.data_type().is_integer() {
        return NumberBounds::Unknown;
    }
    let bounds = bound(&statistics.min).zip(bound(&statistics.max));
    bounds.map_or(NumberBounds::Unknown, |(min, max)| NumberBounds::Between(min, max))
}

impl TableFrame {
    /// Returns whether a column of the table has a dictionary that a predicate can be
    /// evaluated on.
    pub(super) fn has_dictionary(&self, column: usize) -> bool {
        let stored = self.field(column).map(|field| field.stored);
        let directory = self.frame.directory.as_ref();
        directory.zip(stored).is_some_and(|(it, stored)| has_dictionary(&it.columns, stored))
    }

    /// Returns how many distinct values a column of the table has, if it has a dictionary. Without
    /// sets of values the number is an estimate.
    pub(super) fn distinct_values(&self, column: usize) -> Option<u64> {
        if let Some(sets) = self.sets(column) {
            return Some(sets.values as u64);
        }
        let FieldPlace { stored, .. } = self.field(column)?;
        let fields = self.frame.layout.columns.get(stored)?.width.max(1) as u64;
        let bytes = self.frame.dictionary_bytes(stored)?;
        Some(bytes / fields.saturating_mul(FIELD_BYTES))
    }

    /// Returns the values of a column of the table that occur in each row group, if known.
    fn sets(&self, column: usize) -> Option<&ValueSets> {
        let FieldPlace { stored, nth, .. } = self.field(column)?;
        self.frame.directory.as_ref()?.sets.get(stored)?.get(nth)?.as_ref()
    }
}
