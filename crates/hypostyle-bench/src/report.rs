//! Figures as Markdown.

use std::fmt::{self, Display, Write};

/// A table, every column as wide as it must be.
#[derive(Debug)]
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<const N: usize>(head: [&str; N]) -> Self {
        Self::of(head.map(str::to_owned).to_vec())
    }

    /// A table of as many columns as the head has.
    pub(crate) fn of(head: Vec<String>) -> Self {
        Self { rows: vec![head] }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.row_of(cells.to_vec());
    }

    pub(crate) fn row_of(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }
}

impl Display for Table {
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

/// Bytes in MB.
pub(crate) fn megabytes(bytes: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "files are far below 2^53 bytes")]
    let bytes = bytes as f64;
    bytes / 1e6
}

/// What was asked for, and whether it is so.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A figure of at most this.
    AtMost(f64),
    /// A figure of at least this.
    AtLeast(f64),
    /// Nothing was asked for.
    None,
}

impl Target {
    /// The target itself, and the verdict on `figure`.
    pub(crate) fn cells(self, figure: f64) -> [String; 2] {
        let verdict = |met| if met { "met" } else { "NOT MET" }.to_owned();
        match self {
            Self::AtMost(most) => [format!("≤ {most}"), verdict(figure <= most)],
            Self::AtLeast(least) => [format!("≥ {least}"), verdict(figure >= least)],
            Self::None => ["–".to_owned(), "–".to_owned()],
        }
    }
}

/// Text that grows paragraph by paragraph, and is shown as it does.
#[derive(Debug, Default)]
pub(crate) struct Report(String);

impl Report {
    pub(crate) fn add(&mut self, paragraph: impl Display) {
        let start = self.0.len();
        if start > 0 {
            self.0.push('\n');
        }
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{}", paragraph.to_string().trim_end());
        print!("{}", &self.0[start..]);
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up() {
        let mut table = Table::new(["a", "long"]);
        table.row(["ü≥".to_owned(), "1".to_owned()]);
        assert_eq!(table.to_string(), "| a  | long |\n|----|------|\n| ü≥ | 1    |\n");
    }
}
