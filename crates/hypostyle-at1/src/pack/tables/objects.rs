//! Finds the values of JSON objects in the fields of their lines (§5.7.1).

use std::ops::Range;

use crate::codecs::columnar::cell_template::CellTemplate;
use crate::json_scan::{JsonMembers, JsonVisitor, paths, walk_object};
use crate::pack::tables::split::SplitRows;
use hypostyle_core::text::BOM;

/// One line in so many may have its values in other places than the rest; it becomes verbatim,
/// which takes several times the bytes.
const LINES_PER_ODD_LINE: usize = 500;

/// The values in each field of the lines of a text.
#[derive(Debug)]
pub(in crate::pack) struct ObjectFields {
    /// The values of each field.
    templates: Vec<CellTemplate>,
}

impl ObjectFields {
    /// Finds the values of objects in the fields of their lines, and makes lines with values in
    /// other places verbatim.
    ///
    /// Returns `None`, and changes nothing, if there are many of these, if a value is not in one
    /// field, or if a verbatim line is not an object.
    pub(in crate::pack) fn find(rows: &mut SplitRows<'_>) -> Option<Self> {
        if rows.missing > 0 {
            return None;
        }
        let max_odd = 1 + rows.modes.len() / LINES_PER_ODD_LINE;
        // The first lines may be of another kind than the rest.
        for model in [0, rows.len() / 2, rows.len().saturating_sub(1)] {
            if let Some(fields) = Self::of_row(rows, model)
                && let Some(odd) = fields.odd_rows(rows, max_odd)
                && odd.len() < rows.len()
                && has_objects_only(rows, &odd)
            {
                rows.make_verbatim(&odd);
                return Some(fields);
            }
        }
        None
    }

    /// Returns the values in the fields of a row; `None` if it is not an object whose values
    /// have a field each.
    fn of_row(rows: &SplitRows<'_>, row: usize) -> Option<Self> {
        let line = rows.cell(row, &(0..rows.width))?;
        // Readers refuse keys that occur twice.
        paths(line)?;
        let mut found = ValueRanges(Vec::new());
        walk_object(line, &mut Vec::new(), &mut found)?;
        let mut values = found.0.into_iter().peekable();
        let (mut templates, mut start) = (Vec::with_capacity(rows.width), 0);
        for field in 0..rows.width {
            let cell = rows.cell(row, &(field..field + 1))?;
            let end = start + cell.len();
            let mut places = Vec::new();
            while let Some(value) = values.next_if(|value| value.start < end) {
                places.push(value.start.checked_sub(start)?..value.end.checked_sub(start)?);
                if value.end > end {
                    return None;
                }
            }
            templates.push(CellTemplate::of_cell(cell, &places));
            start = end + rows.delimiter_len();
        }
        // A value may start inside of a delimiter.
        values.next().is_none().then_some(Self { templates })
    }

    /// Returns the rows with values in other places; `None` if they are more than `max`.
    fn odd_rows(&self, rows: &SplitRows<'_>, max: usize) -> Option<Vec<usize>> {
        let mut odd = Vec::new();
        for row in 0..rows.len() {
            let fits = |(field, template): (usize, &CellTemplate)| {
                rows.cell(row, &(field..field + 1)).is_some_and(|cell| template.fits(cell))
            };
            if !self.templates.iter().enumerate().all(fits) {
                odd.push(row);
                if odd.len() > max {
                    return None;
                }
            }
        }
        Some(odd)
    }

    /// Returns the values in the cells of columns of these fields.
    pub(in crate::pack) fn of_columns(
        &self,
        columns: &[Range<usize>],
        delimiter: &[u8],
    ) -> Vec<CellTemplate> {
        let of_column = |fields: &Range<usize>| {
            let mut templates = self.templates.get(fields.clone()).unwrap_or_default().iter();
            let mut joined =
                templates.next().cloned().unwrap_or_else(|| CellTemplate::of_cell(b"", &[]));
            templates.for_each(|template| joined.join(delimiter, template));
            joined
        };
        columns.iter().map(of_column).collect()
    }
}

/// Returns whether all verbatim lines are objects, and these rows too.
///
/// A reader takes their values from their text, by the same rules.
fn has_objects_only(rows: &SplitRows<'_>, odd: &[usize]) -> bool {
    let odd = odd.iter().filter_map(|&row| rows.cell(row, &(0..rows.width)));
    let is_object = |line: &[u8]| {
        // Only the first line of a text can start with a mark.
        JsonMembers::of(line.strip_prefix(BOM).unwrap_or(line)).is_some()
    };
    rows.verbatim_lines().chain(odd).all(is_object)
}

/// Collects the places of the values of a line.
struct ValueRanges(Vec<Range<usize>>);

impl JsonVisitor for ValueRanges {
    fn value(&mut self, token: Range<usize>) -> Option<()> {
        self.0.push(token);
        Some(())
    }
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "a list of one place")]
mod tests {
    use super::*;
    use crate::fields::Dialect;

    fn found(text: &str, delimiter: &str) -> Option<(Vec<usize>, Vec<u8>)> {
        let dialect = Dialect { delimiter: delimiter.as_bytes().to_vec(), quotes: false };
        let mut rows = SplitRows::new(text.trim_end_matches('\n').as_bytes(), &dialect).unwrap();
        let before = rows.len();
        let fields = ObjectFields::find(&mut rows)?;
        assert_eq!(rows.modes.iter().filter(|&&mode| mode == 1).count(), rows.len());
        assert!(rows.len() <= before);
        let whole = fields.of_columns(&[0..rows.width], delimiter.as_bytes());
        for row in 0..rows.len() {
            assert!(whole[0].fits(rows.cell(row, &(0..rows.width)).unwrap()));
        }
        Some((fields.templates.iter().map(CellTemplate::values).collect(), rows.verbatim()))
    }

    #[test]
    fn values_are_found_in_any_fields() {
        let text = "{\"a\":1,\"b\":\"x y\"}\n".repeat(20);
        assert_eq!(found(&text, ","), Some((vec![1, 1], Vec::new())));
        assert_eq!(found(&text, ":"), Some((vec![0, 1, 1], Vec::new())));
        // The string is in two fields.
        assert_eq!(found(&text, " "), None);
        let nested = "{\"a\":{\"c\":1,\"d\":[2,3]},\"b\": null}\r\n".repeat(20);
        assert_eq!(found(&nested, ","), Some((vec![1, 1, 1, 1], b"".to_vec())));
        assert_eq!(found("1,2\n3,4\n", ","), None);
        assert_eq!(found(&"{\"a\":1,\"a\":2}\n".repeat(9), ","), None);
    }

    #[test]
    fn few_odd_lines_become_verbatim() {
        let line = "{\"a\":1,\"b\":true}\n";
        let odd = "{\"b\":1,\"a\":true}\n";
        let text = [odd, &line.repeat(30)].concat();
        let lines = odd.trim_end().as_bytes().to_vec();
        assert_eq!(found(&text, ","), Some((vec![1, 1], lines)));
        let text = [&line.repeat(30), odd, &line.repeat(30), odd, odd].concat();
        assert_eq!(found(&text, ","), None);
    }
}
