//! Tables with aligned columns.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Out, Paint};
use crate::plain::plain;

/// Maximum width of a cell on a terminal.
const MAX_CELL_WIDTH: usize = 40;

/// A table with aligned columns.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    columns: Vec<GridColumn>,
    rows: Vec<Vec<GridCell>>,
}

#[derive(Debug)]
struct GridColumn {
    title: String,
    right: bool,
}

/// A cell of a [`Grid`].
#[derive(Clone, Debug)]
pub(crate) enum GridCell {
    /// Text, with control characters escaped when printed.
    Text(String),
    /// A null.
    Null,
}

impl GridCell {
    fn shown(&self, max_width: usize) -> String {
        match self {
            Self::Text(text) => clip(&plain(text), max_width),
            Self::Null => "NULL".to_owned(),
        }
    }
}

impl Grid {
    /// Adds a column; `right` aligns its cells to the right, for numbers.
    pub(crate) fn column(mut self, title: impl Into<String>, right: bool) -> Self {
        self.columns.push(GridColumn { title: title.into(), right });
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<GridCell>) {
        self.rows.push(cells);
    }

    /// Adds a row of text cells.
    pub(crate) fn texts<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into_iter().map(GridCell::Text).collect());
    }

    /// Prints all rows. On a terminal, long cells are clipped, and columns that do not fit are
    /// listed below the table.
    pub(crate) fn print(&self, out: &mut dyn Out) -> io::Result<()> {
        let layout = GridLayout::new(self, out.terminal_width());
        layout.head(self, out)?;
        layout.rows(self, out)?;
        layout.foot(self, out)
    }

    /// Determines the column widths from the rows so far and prints these rows.
    pub(crate) fn start(&mut self, out: &mut dyn Out) -> io::Result<GridLayout> {
        let layout = GridLayout::new(self, out.terminal_width());
        layout.head(self, out)?;
        self.more(&layout, out)?;
        Ok(layout)
    }

    /// Prints the rows that were added since.
    pub(crate) fn more(&mut self, layout: &GridLayout, out: &mut dyn Out) -> io::Result<()> {
        layout.rows(self, out)?;
        self.rows.clear();
        Ok(())
    }
}

/// Which columns are visible, and how wide they are.
#[derive(Debug)]
pub(crate) struct GridLayout {
    widths: Vec<Option<usize>>,
    hidden: usize,
    max_cell_width: usize,
}

impl GridLayout {
    fn new(grid: &Grid, terminal: Option<usize>) -> Self {
        let max_cell_width = if terminal.is_some() { MAX_CELL_WIDTH } else { usize::MAX };
        let mut widths: Vec<usize> = grid
            .columns
            .iter()
            .map(|column| clip(&plain(&column.title), max_cell_width).width())
            .collect();
        for row in &grid.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown(max_cell_width).width());
            }
        }
        let mut widths: Vec<Option<usize>> = widths.into_iter().map(Some).collect();
        let mut hidden = 0;
        if let Some(terminal) = terminal {
            let mut used = 0;
            for (index, slot) in widths.iter_mut().enumerate() {
                let Some(width) = *slot else { continue };
                used += width + if index == 0 { 0 } else { 3 };
                if index > 0 && used > terminal {
                    *slot = None;
                    hidden += 1;
                }
            }
        }
        Self { widths, hidden, max_cell_width }
    }

    pub(crate) fn foot(&self, grid: &Grid, out: &mut dyn Out) -> io::Result<()> {
        if self.hidden == 0 {
            return Ok(());
        }
        let names = grid.columns.iter().zip(&self.widths).filter(|(_, width)| width.is_none());
        let names: Vec<_> =
            names.take(8).map(|(column, _)| plain(&column.title).into_owned()).collect();
        let dots = if self.hidden > names.len() { ", ..." } else { "" };
        let note = format!("{} more columns: {}{dots}", self.hidden, names.join(", "));
        let note = out.paint().dim(note);
        writeln!(out, "{note}")
    }

    fn head(&self, grid: &Grid, out: &mut dyn Out) -> io::Result<()> {
        let paint = out.paint();
        let titles = grid.columns.iter().zip(&self.widths).filter_map(|(column, width)| {
            let title = clip(&plain(&column.title), self.max_cell_width);
            Some(paint.bold(padded(&title, (*width)?, column.right)))
        });
        let line = titles.collect::<Vec<_>>().join(" │ ");
        writeln!(out, "{}", line.trim_end())?;
        let rules = self.widths.iter().flatten().map(|&width| "─".repeat(width));
        let rule = rules.collect::<Vec<_>>().join("─┼─");
        let rule = paint.dim(rule);
        writeln!(out, "{rule}")
    }

    fn rows(&self, grid: &Grid, out: &mut dyn Out) -> io::Result<()> {
        let paint: Paint = out.paint();
        for row in &grid.rows {
            let cells = row.iter().zip(&grid.columns).zip(&self.widths);
            let shown = cells.filter_map(|((cell, column), width)| {
                let text = padded(&cell.shown(self.max_cell_width), (*width)?, column.right);
                Some(if matches!(cell, GridCell::Null) { paint.dim(text) } else { text })
            });
            let line = shown.collect::<Vec<_>>().join(" │ ");
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

fn padded(text: &str, width: usize, right: bool) -> String {
    let gap = " ".repeat(width.saturating_sub(text.width()));
    if right { format!("{gap}{text}") } else { format!("{text}{gap}") }
}

/// Returns a text of at most so many cells of the terminal, with an ellipsis if it is cut.
pub(crate) fn clip(text: &str, max_width: usize) -> String {
    if text.len() <= max_width || text.width() <= max_width {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > max_width {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    struct Fixed(Vec<u8>, Option<usize>);

    impl Write for Fixed {
        fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
            self.0.write(buf)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Out for Fixed {
        fn terminal_width(&self) -> Option<usize> {
            self.1
        }

        fn paint(&self) -> Paint {
            Paint::new(false)
        }
    }

    fn printed(terminal: Option<usize>) -> String {
        let mut grid = Grid::default().column("n", true).column("name", false).column("x", false);
        grid.texts(["1".into(), "Ada\nLovelace".into(), "y".repeat(60)]);
        grid.row(vec![GridCell::Text("100".into()), GridCell::Null, GridCell::Text("名".into())]);
        let mut out = Fixed(Vec::new(), terminal);
        grid.print(&mut out).unwrap();
        String::from_utf8(out.0).unwrap()
    }

    #[test]
    fn cells_are_aligned_and_controls_are_spelled_out() {
        let text = printed(None);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "  n │ name          │ x");
        assert!(lines[2].starts_with("  1 │ Ada\\nLovelace │ yyy"));
        assert_eq!(lines[3], "100 │ NULL          │ 名");
        assert!(text.contains(&"y".repeat(60)));
    }

    #[test]
    fn a_terminal_gets_what_fits_and_is_told_of_the_rest() {
        let text = printed(Some(30));
        assert!(text.lines().all(|line| line.width() <= 30), "{text}");
        assert!(text.ends_with("1 more columns: x\n"));
    }
}
