//! The statistics of the rows of a line group, for pruning.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;

use super::cell_value::CellSyntax;
use super::shape::TableShape;
use super::verbatim_cells::{VerbatimLines, split};
use crate::json_scan::JsonMembers;
use crate::row_groups::grouped_table::GroupPruning;
use hypostyle_core::predicate::{
    CellPresence, Decimal, NumberBounds, PruningStatistics, TextBounds,
};

/// Verbatim lines of a group beyond which the group is read without a look at them.
pub(super) const MAX_VERBATIM_LINES: usize = 256;

/// The statistics of the row groups of a line group, and the cells of its verbatim lines.
pub(super) struct LineGroupPruning<'a> {
    pub(super) parts: Vec<GroupPruning<'a>>,
    /// The text of all verbatim lines of the frame, and the lines that are rows.
    pub(super) text: &'a [u8],
    pub(super) lines: Vec<Range<usize>>,
    pub(super) delimiter: Option<u8>,
    pub(super) starts_text: bool,
    pub(super) names: Vec<&'a str>,
    pub(super) shape: &'a TableShape,
    /// The values of the verbatim lines by name: `None` is null, a missing name too.
    pub(super) values: OnceCell<Option<Vec<VerbatimValues>>>,
}

/// The values of a line by name.
type VerbatimValues = HashMap<String, Vec<u8>>;

impl LineGroupPruning<'_> {
    /// Returns the values of a column in the verbatim lines, empty and null ones not
    /// included; `None` if they are not known.
    fn verbatim_values(&self, column: &str) -> Option<impl Iterator<Item = &[u8]>> {
        let lines = self
            .values
            .get_or_init(|| (0..self.lines.len()).map(|row| self.values_of(row)).collect());
        let values = lines.as_ref()?.iter().filter_map(move |line| line.get(column));
        Some(values.map(Vec::as_slice))
    }

    fn values_of(&self, row: usize) -> Option<VerbatimValues> {
        let (text, lines) = (self.text, &self.lines[..]);
        let (delimiter, starts_text) = (self.delimiter, self.starts_text);
        let line = VerbatimLines { text, lines, delimiter, starts_text }.line(row);
        let mut values = VerbatimValues::new();
        let mut add = |name: &str, syntax: CellSyntax<'_>, cell: &[u8]| {
            let value = match syntax.text(cell) {
                Ok(value) => value,
                // A number or a word is its own text.
                Err(_) if matches!(syntax, CellSyntax::Json) => Some(cell.into()),
                Err(_) => return None,
            };
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                values.insert(name.to_owned(), value.into_owned());
            }
            Some(())
        };
        match delimiter {
            Some(delimiter) => {
                for (column, (name, cell)) in
                    self.names.iter().zip(split(line, delimiter)?).enumerate()
                {
                    let null_words = self.shape.null_words(column);
                    let syntax = CellSyntax::Csv { is_last: false, null_words };
                    add(name, syntax, cell)?;
                }
            }
            None => {
                let members = JsonMembers::of(line)?;
                // What an object or an array is as text depends on the column.
                if members.nested().next().is_some() {
                    return None;
                }
                for (name, range) in &members.values {
                    add(name, CellSyntax::Json, line.get(range.clone())?)?;
                }
            }
        }
        Some(values)
    }

    /// Returns whether some part has an object or an array of this name.
    fn is_nested(&self, column: &str) -> bool {
        let tables = self.parts.iter().map(|part| part.table);
        let mut nested = tables.flat_map(|table| &table.nested);
        nested.any(|name| name == column)
    }
}

impl PruningStatistics for LineGroupPruning<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        if self.is_nested(column) {
            return NumberBounds::Unknown;
        }
        let Some(values) = self.verbatim_values(column) else { return NumberBounds::Unknown };
        let verbatim = values.filter_map(Decimal::parse);
        let verbatim = verbatim.map(|number| NumberBounds::Between(number, number));
        let parts = self.parts.iter().map(|part| part.numbers(column));
        parts.chain(verbatim).fold(NumberBounds::NoNumbers, |all, bounds| match (all, bounds) {
            (NumberBounds::NoNumbers, other) | (other, NumberBounds::NoNumbers) => other,
            (NumberBounds::Between(min, max), NumberBounds::Between(low, high)) => {
                NumberBounds::Between(min.min(low), max.max(high))
            }
            _ => NumberBounds::Unknown,
        })
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        if self.is_nested(column) {
            return None;
        }
        let mut all: Option<TextBounds<'_>> = None;
        for part in &self.parts {
            // A template without the member has no texts.
            if part.table.column(column).is_some() {
                all = Some(joined(all, part.texts(column)?));
            }
        }
        for value in self.verbatim_values(column)? {
            all = Some(joined(all, TextBounds { min: value, max: value }));
        }
        all
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        if self.is_nested(column) {
            return true;
        }
        self.parts.iter().any(|part| part.may_hold(column, text))
            || self
                .verbatim_values(column)
                .is_none_or(|mut values| values.any(|value| value == text))
    }

    fn cells(&self, column: &str) -> CellPresence {
        let is_known = self.parts.iter().any(|part| part.table.column(column).is_some());
        let is_known = is_known || self.is_nested(column) || !self.lines.is_empty();
        CellPresence { blank: true, filled: is_known }
    }
}

/// Returns bounds of the texts of both.
fn joined<'t>(one: Option<TextBounds<'t>>, other: TextBounds<'t>) -> TextBounds<'t> {
    let Some(one) = one else { return other };
    let min = one.min.min(other.min);
    // A maximum bounds all texts that start with it, so the shorter of two that start alike
    // bounds the texts of both.
    let max = if one.max.starts_with(other.max) {
        other.max
    } else if other.max.starts_with(one.max) {
        one.max
    } else {
        one.max.max(other.max)
    };
    TextBounds { min, max }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_bounds_hold_the_texts_of_both() {
        let texts: Vec<Vec<u8>> = ["a", "ab", "abc", "abz", "b", "ba", "c"]
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect();
        for one in &texts {
            for other in &texts {
                let both = joined(
                    Some(TextBounds { min: one, max: one }),
                    TextBounds { min: other, max: other },
                );
                for text in &texts {
                    let is_in = |max: &Vec<u8>| TextBounds { min: max, max }.may_hold(text);
                    assert!(!(is_in(one) || is_in(other)) || both.may_hold(text));
                }
            }
        }
    }
}
