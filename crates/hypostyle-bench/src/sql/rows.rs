//! Results of different engines in one spelling, to compare them.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

use crate::Result;

/// Digits of a fraction that are compared: engines add in different orders.
const DIGITS: usize = 9;

/// The rows of a result as text, in an order of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows(Vec<Vec<String>>);

impl Rows {
    pub(super) fn new(cells: Vec<Vec<Option<String>>>) -> Self {
        let cell = |cell: Option<String>| cell.map_or("NULL".to_owned(), |text| spelled(&text));
        let mut rows: Vec<Vec<String>> =
            cells.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
        rows.sort();
        Self(rows)
    }

    pub(super) fn of_batches(batches: &[RecordBatch]) -> Result<Self> {
        let options = FormatOptions::default();
        let mut rows = Vec::new();
        for batch in batches {
            let columns = batch.columns();
            let shown: Vec<ArrayFormatter<'_>> = columns
                .iter()
                .map(|array| ArrayFormatter::try_new(array, &options))
                .collect::<std::result::Result<_, _>>()?;
            for row in 0..batch.num_rows() {
                let cell = |(column, shown): (usize, &ArrayFormatter<'_>)| {
                    (!columns[column].is_null(row)).then(|| shown.value(row).to_string())
                };
                rows.push(shown.iter().enumerate().map(cell).collect());
            }
        }
        Ok(Self::new(rows))
    }

    /// Returns the first row that differs from that of other rows, and that one.
    pub(super) fn difference(&self, other: &Self) -> Option<String> {
        if self == other {
            return None;
        }
        let (mine, others) = (self.0.len(), other.0.len());
        let pairs = self.0.iter().zip(&other.0);
        let found = pairs.into_iter().find(|(one, two)| one != two);
        Some(match found {
            Some((one, two)) => format!("{one:?} and {two:?}"),
            None => format!("{mine} and {others} rows"),
        })
    }
}

/// Spells fractions in one way, and leaves other values as they are.
fn spelled(text: &str) -> String {
    let is_number = text.starts_with(|start: char| start.is_ascii_digit() || start == '-');
    match text.parse::<f64>() {
        Ok(number) if is_number && text.contains(['.', 'e']) && number.is_finite() => {
            format!("{number:.DIGITS$e}")
        }
        // An integer may be a fraction in another engine.
        Ok(number) if is_number && text.len() <= 15 => format!("{number:.DIGITS$e}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_numbers_are_spelled_alike() {
        assert_eq!(spelled("12"), spelled("12.00"));
        assert_eq!(spelled("0.1"), spelled("0.10000000000000001"));
        assert_ne!(spelled("12"), spelled("12.001"));
        assert_eq!(spelled("2013-01-01T10:00:00Z"), "2013-01-01T10:00:00Z");
    }

    #[test]
    fn the_order_of_rows_does_not_matter_and_their_number_does() {
        let rows = |cells: &[&str]| {
            Rows::new(cells.iter().map(|cell| vec![Some((*cell).to_owned())]).collect())
        };
        assert_eq!(rows(&["a", "b"]).difference(&rows(&["b", "a"])), None);
        assert!(rows(&["a", "b"]).difference(&rows(&["a"])).is_some());
        assert!(rows(&["a"]).difference(&rows(&["b"])).is_some());
    }
}
