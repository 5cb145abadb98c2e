//! Where the columns of a table of JSON Lines are in the cells of a frame (§5.7.1).

use std::ops::Range;

use hashbrown::HashMap;

use crate::codecs::columnar::cell_template::CellTemplate;
use crate::json_scan::paths;
use crate::table::json_tree::{JsonNode, members};

/// A value in the cells of a column of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FieldPlace {
    /// The column of the archive.
    pub(super) stored: usize,
    /// The place of the value in the cells of the column.
    pub(super) nth: usize,
    /// The number of the value in a line.
    pub(super) number: usize,
}

/// Where the cells of a column of the table are.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TableColumn {
    /// They are fields of the cells of a column of the archive.
    Field(FieldPlace),
    /// They are objects or arrays of several values.
    Nested {
        /// The text before each value, and after the last.
        around: Vec<Vec<u8>>,
        fields: Vec<FieldPlace>,
        /// The columns of the archive that the text and the values are in.
        stored: Range<usize>,
    },
    /// No line but verbatim ones has the key.
    Absent,
}

impl TableColumn {
    /// Returns the columns of the archive that the cells are in.
    pub(super) fn stored(&self) -> Range<usize> {
        match self {
            Self::Field(field) => field.stored..field.stored.saturating_add(1),
            Self::Nested { stored, .. } => stored.clone(),
            Self::Absent => 0..0,
        }
    }

    /// Returns where the cells are, if they are fields of one column of the archive.
    pub(super) fn field(&self) -> Option<FieldPlace> {
        match self {
            Self::Field(field) => Some(*field),
            _ => None,
        }
    }
}

/// The columns of a table in the lines of a frame.
#[derive(Debug, Default)]
pub(super) struct ObjectColumns {
    pub(super) columns: Vec<TableColumn>,
    /// The number of each value by its name, as in `a.b[0]`; empty if names are ambiguous.
    pub(super) numbers: HashMap<String, usize>,
}

impl ObjectColumns {
    /// Finds the columns of these names in lines that are cells of these templates; `None` if
    /// the lines are not objects with these keys, or with others too.
    pub(super) fn of(templates: &[CellTemplate], delimiter: &[u8], names: &[&str]) -> Option<Self> {
        let TemplateLine { line, places, starts } = TemplateLine::of(templates, delimiter)?;
        let values = templates
            .iter()
            .enumerate()
            .flat_map(|(stored, template)| (0..template.values()).map(move |nth| (stored, nth)));
        let places_of: Vec<FieldPlace> = values
            .enumerate()
            .map(|(number, (stored, nth))| FieldPlace { stored, nth, number })
            .collect();
        let by_name: HashMap<&str, usize> =
            names.iter().enumerate().map(|(column, name)| (*name, column)).collect();
        if by_name.len() < names.len() {
            return None;
        }
        let mut columns = vec![TableColumn::Absent; names.len()];
        let mut found = 0;
        for (name, node) in members(&line)? {
            let slot = columns.get_mut(*by_name.get(name.as_str())?)?;
            // A key that occurs twice.
            if *slot != TableColumn::Absent {
                return None;
            }
            let mut indexes = Vec::new();
            node.scalars(&mut indexes);
            found += indexes.len();
            let fields = indexes.iter().map(|&index| places_of.get(index).copied());
            let fields = fields.collect::<Option<Vec<_>>>()?;
            *slot = match (&node, &fields[..]) {
                (JsonNode::Scalar { .. }, [field]) => TableColumn::Field(*field),
                _ => {
                    let mut at = node.range().start;
                    let mut around = Vec::with_capacity(fields.len() + 1);
                    for field in &fields {
                        let hole = *places.get(field.number)?;
                        around.push(line.get(at..hole)?.to_vec());
                        at = hole + 1;
                    }
                    around.push(line.get(at..node.range().end)?.to_vec());
                    let first = starts.partition_point(|&start| start <= node.range().start);
                    let end = starts.partition_point(|&start| start < node.range().end);
                    let stored = first.saturating_sub(1)..end;
                    TableColumn::Nested { around, fields, stored }
                }
            };
        }
        if found != places.len() || !holds_values_only(&line, &places) {
            return None;
        }
        let numbers = paths(&line).unwrap_or_default();
        let numbers = numbers.into_iter().enumerate().map(|(number, name)| (name, number));
        Some(Self { columns, numbers: numbers.collect() })
    }
}

/// Returns the names of the values of lines that are cells of these templates; nothing if they
/// have none.
pub(super) fn value_names(templates: &[CellTemplate], delimiter: &[u8]) -> Vec<String> {
    let line = TemplateLine::of(templates, delimiter);
    line.and_then(|template| paths(&template.line)).unwrap_or_default()
}

/// A line with a byte in place of each value.
struct TemplateLine {
    line: Vec<u8>,
    /// The offsets of these bytes.
    places: Vec<usize>,
    /// Where the cells of each column start.
    starts: Vec<usize>,
}

impl TemplateLine {
    /// Joins templates; returns `None` if there are none.
    fn of(templates: &[CellTemplate], delimiter: &[u8]) -> Option<Self> {
        let (first, others) = templates.split_first()?;
        let mut all = first.clone();
        others.iter().for_each(|template| all.join(delimiter, template));
        let (line, places) = all.text();
        let (mut starts, mut start) = (Vec::with_capacity(templates.len()), 0);
        for template in templates {
            starts.push(start);
            start += template.text().0.len() + delimiter.len();
        }
        Some(Self { line, places, starts })
    }
}

/// Returns whether each value of a line is the byte that stands for one.
///
/// Otherwise the text around a value would be a part of it.
fn holds_values_only(line: &[u8], places: &[usize]) -> bool {
    let Some(members) = members(line) else { return false };
    let mut scalars = Vec::new();
    members.iter().for_each(|(_, node)| scalar_ranges(node, &mut scalars));
    scalars.len() == places.len()
        && scalars.iter().zip(places).all(|(scalar, &at)| *scalar == (at..at + 1))
}

fn scalar_ranges(node: &JsonNode, ranges: &mut Vec<Range<usize>>) {
    match node {
        JsonNode::Scalar { range, .. } => ranges.push(range.clone()),
        JsonNode::Object { members, .. } => {
            members.iter().for_each(|(_, member)| scalar_ranges(member, ranges));
        }
        JsonNode::Array { elements, .. } => {
            elements.iter().for_each(|element| scalar_ranges(element, ranges));
        }
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one place")]
mod tests {
    use super::*;

    fn columns(cells: &[(&str, &[Range<usize>])], names: &[&str]) -> Option<ObjectColumns> {
        let template = |(cell, values): &(&str, &[Range<usize>])| {
            CellTemplate::of_cell(cell.as_bytes(), values)
        };
        let templates: Vec<CellTemplate> = cells.iter().map(template).collect();
        ObjectColumns::of(&templates, b",", names)
    }

    #[test]
    fn values_are_found_by_their_keys() {
        let cells: &[(&str, &[_])] = &[
            (r#"{"a":1"#, &[5..6]),
            (r#""b":{"c":2"#, &[9..10]),
            (r#""d":[3]},"e":4}"#, &[5..6, 13..14]),
        ];
        let found = columns(cells, &["e", "x", "b", "a"]).unwrap();
        let place = |stored, nth, number| FieldPlace { stored, nth, number };
        assert_eq!(found.columns[0], TableColumn::Field(place(2, 1, 3)));
        assert_eq!(found.columns[1], TableColumn::Absent);
        assert_eq!(found.columns[3], TableColumn::Field(place(0, 0, 0)));
        let TableColumn::Nested { around, fields, stored } = &found.columns[2] else { panic!() };
        assert_eq!(stored, &(1..3));
        assert_eq!(around.concat(), br#"{"c":,"d":[]}"#);
        assert_eq!(fields, &[place(1, 0, 1), place(2, 0, 2)]);
        assert_eq!(found.numbers["b.c"], 1);
        assert_eq!(found.numbers["b.d[0]"], 2);
    }

    #[test]
    fn text_that_is_not_around_values_is_refused() {
        let names = &["a", "b"];
        for (cells, what) in [
            (&[(r#"{"a":12"#, &[6..7][..]), (r#""b":3}"#, &[4..5])][..], "a digit before"),
            (&[(r#"{"a":12"#, &[5..6][..]), (r#""b":3}"#, &[4..5])], "a digit after"),
            (&[(r#"{"a":"x""#, &[6..7][..]), (r#""b":3}"#, &[4..5])], "quotes"),
            (&[(r#"{"a":1"#, &[5..6][..]), (r#""b":3}"#, &[])], "a constant"),
            (&[(r#"{"a":1"#, &[2..3][..]), (r#""b":3}"#, &[4..5])], "a key"),
            (&[(r#"{"a":1"#, &[5..6][..]), (r#""b":3"#, &[4..5])], "no end"),
            (&[(r#"{"a":1"#, &[5..6][..]), (r#""a":3}"#, &[4..5])], "a key twice"),
            (&[(r#"{"a":1"#, &[5..6][..]), (r#""c":3}"#, &[4..5])], "another key"),
        ] {
            assert!(columns(cells, names).is_none(), "{what}");
        }
        assert!(columns(&[(r#"{"a":1"#, &[5..6]), (r#""b":3}"#, &[4..5])], names).is_some());
    }
}
