//! Tables of cells for people.

use std::io;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Out, Paint};

/// The widest that a cell gets when it must share a terminal.
const CELL_MOST: usize = 40;

/// A table that is printed with aligned columns.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Column {
    title: String,
    right: bool,
}

/// What stands in a place of a [`Grid`].
#[derive(Clone, Debug)]
pub(crate) enum Cell {
    /// Text as it is.
    Text(String),
    /// No value.
    Null,
}

impl Cell {
    fn shown(&self, most: usize) -> String {
        match self {
            Self::Text(text) => clip(&plain(text), most),
            Self::Null => "NULL".to_owned(),
        }
    }
}

impl Grid {
    /// A column, with its cells to the right if they are numbers.
    pub(crate) fn column(mut self, title: impl Into<String>, right: bool) -> Self {
        self.columns.push(Column { title: title.into(), right });
        self
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// A row of text.
    pub(crate) fn texts<const N: usize>(&mut self, cells: [String; N]) {
        self.rows.push(cells.into_iter().map(Cell::Text).collect());
    }

    /// Prints all rows; on a terminal, what is too wide is cut and said so.
    pub(crate) fn print(&self, out: &mut dyn Out) -> io::Result<()> {
        let layout = Layout::new(self, out.terminal_width());
        layout.head(self, out)?;
        layout.rows(self, out)?;
        layout.foot(self, out)
    }

    /// Decides widths by the rows so far, and prints them; more may follow.
    pub(crate) fn start(&mut self, out: &mut dyn Out) -> io::Result<Layout> {
        let layout = Layout::new(self, out.terminal_width());
        layout.head(self, out)?;
        self.more(&layout, out)?;
        Ok(layout)
    }

    /// Prints the rows that came since.
    pub(crate) fn more(&mut self, layout: &Layout, out: &mut dyn Out) -> io::Result<()> {
        layout.rows(self, out)?;
        self.rows.clear();
        Ok(())
    }
}

/// Which columns are shown, and how wide.
#[derive(Debug)]
pub(crate) struct Layout {
    widths: Vec<Option<usize>>,
    hidden: usize,
    cell_most: usize,
}

impl Layout {
    fn new(grid: &Grid, terminal: Option<usize>) -> Self {
        let cell_most = if terminal.is_some() { CELL_MOST } else { usize::MAX };
        let mut widths: Vec<usize> = grid
            .columns
            .iter()
            .map(|column| clip(&plain(&column.title), cell_most).width())
            .collect();
        for row in &grid.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.shown(cell_most).width());
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
        Self { widths, hidden, cell_most }
    }

    pub(crate) fn foot(&self, grid: &Grid, out: &mut dyn Out) -> io::Result<()> {
        if self.hidden == 0 {
            return Ok(());
        }
        let names = grid.columns.iter().zip(&self.widths).filter(|(_, width)| width.is_none());
        let names: Vec<_> = names.take(8).map(|(column, _)| plain(&column.title)).collect();
        let dots = if self.hidden > names.len() { ", ..." } else { "" };
        let note = format!("{} more columns: {}{dots}", self.hidden, names.join(", "));
        let note = out.paint().dim(note);
        writeln!(out, "{note}")
    }

    fn head(&self, grid: &Grid, out: &mut dyn Out) -> io::Result<()> {
        let paint = out.paint();
        let titles = grid.columns.iter().zip(&self.widths).filter_map(|(column, width)| {
            let title = clip(&plain(&column.title), self.cell_most);
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
                let text = padded(&cell.shown(self.cell_most), (*width)?, column.right);
                Some(if matches!(cell, Cell::Null) { paint.dim(text) } else { text })
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

/// Text on one line, with controls spelled out: they could drive the terminal.
fn plain(text: &str) -> String {
    if !text.chars().any(|c| c.is_control() || is_bidi(c)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if c.is_control() || is_bidi(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// Characters that reorder what stands around them.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

fn clip(text: &str, most: usize) -> String {
    if text.len() <= most || text.width() <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut width = 1;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > most {
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
        grid.row(vec![Cell::Text("100".into()), Cell::Null, Cell::Text("名".into())]);
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
