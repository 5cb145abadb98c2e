//! Tables of figures as Markdown and JSON.

use std::fmt::{self, Display};

use serde_json::{Map, Value};

/// A table whose columns are aligned.
#[derive(Debug)]
pub(crate) struct ReportTable {
    rows: Vec<Vec<String>>,
}

impl ReportTable {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self::of(head.map(str::to_owned).to_vec())
    }

    /// Creates a table with this head.
    pub(crate) fn of(head: Vec<String>) -> Self {
        Self { rows: vec![head] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.row_of(cells.to_vec());
    }

    pub(crate) fn row_of(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// Returns an array with one object per row; numeric cells become numbers.
    pub(crate) fn to_json(&self) -> Value {
        let Some((head, rows)) = self.rows.split_first() else { return Value::Null };
        let row = |cells: &Vec<String>| -> Value {
            let names = head.iter().enumerate().map(|(index, name)| {
                // Columns may share a name; keys of an object must not.
                let earlier = head.iter().take(index).filter(|other| *other == name).count();
                if earlier > 0 { format!("{name} {}", earlier + 1) } else { name.clone() }
            });
            names.zip(cells.iter().map(|cell| value(cell))).collect::<Map<_, _>>().into()
        };
        rows.iter().map(row).collect()
    }
}

fn value(cell: &str) -> Value {
    match cell.parse::<f64>() {
        Ok(number) if number.is_finite() => {
            cell.parse::<u64>().map_or_else(|_| number.into(), Into::into)
        }
        _ => cell.into(),
    }
}

impl Display for ReportTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(&widths) {
                write!(f, "| {cell:width$} ")?;
            }
            f.write_str("|\n")?;
            if index == 0 {
                for width in &widths {
                    write!(f, "|{:-<1$}", "", width + 2)?;
                }
                f.write_str("|\n")?;
            }
        }
        Ok(())
    }
}

/// Converts bytes to MB.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
    let bytes = bytes as f64;
    bytes / 1e6
}

/// The target of a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A figure of at most this.
    AtMost(f64),
    /// A figure of at least this.
    AtLeast(f64),
    /// No target.
    None,
}

impl Target {
    /// Returns whether a figure meets the target; `None` without a target.
    pub(crate) fn is_met_by(self, figure: f64) -> Option<bool> {
        match self {
            Self::AtMost(max) => Some(figure <= max),
            Self::AtLeast(min) => Some(figure >= min),
            Self::None => None,
        }
    }

    /// Returns the target and the verdict on `figure` as cells.
    pub(crate) fn cells(self, figure: f64) -> [String; 2] {
        let verdict = match self.is_met_by(figure) {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "–",
        };
        [self.to_string(), verdict.to_owned()]
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(max) => write!(f, "≤ {max}"),
            Self::AtLeast(min) => write!(f, "≥ {min}"),
            Self::None => f.write_str("–"),
        }
    }
}

/// Returns the geometric mean; `None` without figures.
pub(crate) fn mean(figures: impl IntoIterator<Item = f64>) -> Option<f64> {
    let sum = |(sum, count), x: f64| (sum + x.ln(), count + 1.0);
    let (sum, count) = figures.into_iter().fold((0.0, 0.0), sum);
    (count > 0.0).then(|| (sum / count).exp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let mut table = ReportTable::new(["a", "long"]);
        table.row(["ü≥".to_owned(), "1".to_owned()]);
        assert_eq!(table.to_string(), "| a  | long |\n|----|------|\n| ü≥ | 1    |\n");
    }

    #[test]
    fn numbers_are_numbers_in_json() {
        let mut table = ReportTable::new(["file", "size", "size"]);
        table.row(["a".to_owned(), "12".to_owned(), "0.5".to_owned()]);
        let expected = serde_json::json!([{"file": "a", "size": 12, "size 2": 0.5}]);
        assert_eq!(table.to_json(), expected);
    }
}
