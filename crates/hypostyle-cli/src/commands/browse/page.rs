//! Pages of lines that cover the grid: the help, the statistics of a column, a record.

use hypostyle_view::{Profile, type_name};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::source::Source;
use super::thousands;
use crate::output::{BAR_CELLS, bar, plain};

/// How a part of a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Normal,
    Dim,
    Strong,
}

/// A line of parts.
pub(super) type PageLine = Vec<(Tone, String)>;

/// A page, and which of its lines is the first on the screen.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) title: String,
    pub(super) body: Body,
    pub(super) top: usize,
    /// The lines for a width.
    lines: Option<(u16, Vec<PageLine>)>,
}

/// What a page shows.
#[derive(Debug)]
pub(super) enum Body {
    Help,
    Profile { column: usize, profile: Box<Profile>, of_filtered: bool },
    Record { position: u64, cells: Vec<(usize, Option<String>)> },
}

impl Page {
    pub(super) fn new(title: String, body: Body) -> Self {
        Self { title, body, top: 0, lines: None }
    }

    /// Breaks the page into lines of a width, and keeps its top within them.
    pub(super) fn lay_out(&mut self, source: &Source, width: u16, height: u16) {
        if self.lines.as_ref().is_none_or(|(known, _)| *known != width) {
            let lines = match &self.body {
                Body::Help => help(),
                Body::Profile { column, profile, of_filtered } => {
                    profile_lines(source, *column, profile, *of_filtered)
                }
                Body::Record { cells, .. } => record_lines(source, cells, width),
            };
            self.lines = Some((width, lines));
        }
        let last = self.lines().len().saturating_sub(usize::from(height.max(1)));
        self.top = self.top.min(last);
    }

    pub(super) fn lines(&self) -> &[PageLine] {
        self.lines.as_ref().map_or(&[], |(_, lines)| lines)
    }
}

const HELP: [(&str, &str); 33] = [
    ("", "Moving"),
    ("arrows, h j k l", "one cell"),
    ("PgUp PgDn, b Space", "one screen"),
    ("g G", "first and last row"),
    ("Home End, 0 $", "first and last column"),
    ("[ ]", "previous and next row group"),
    (":", "go to a row by number, or to a share such as 50%"),
    ("", "Finding"),
    ("/", "find a text in the shown columns; capitals make it exact"),
    ("n N", "next and previous row with it"),
    ("&", "show rows that match a predicate, such as price > 10 and name like 'A%'"),
    ("", "an empty predicate shows all rows"),
    ("s", "sort the rows by the column: ascending, descending, not"),
    ("", "Columns"),
    ("- +", "hide the column; show all columns"),
    ("f", "freeze the columns up to this one"),
    ("< >", "move the column"),
    ("o", "order the columns by name, or as in the file"),
    ("w", "widen the column"),
    ("c", "list of columns: Space hides and shows, Enter goes there"),
    ("i", "statistics and histogram of the column"),
    ("", "Rows"),
    ("Enter", "the row as a record; left and right go to other rows"),
    ("y Y", "copy the cell; copy the row, separated by tabs"),
    ("", "The terminal must allow programs to copy (OSC 52)."),
    ("", "Otherwise"),
    ("Esc", "stop what is running, close what is open"),
    ("?", "this help"),
    ("Ctrl-L", "draw the screen again"),
    ("Ctrl-Z", "stop hyp until the shell continues it"),
    ("q", "quit"),
    ("", ""),
    ("", "Rows are counted from 0, as hyp get counts them."),
];

fn help() -> Vec<PageLine> {
    let titles = ["Moving", "Finding", "Columns", "Rows", "Otherwise"];
    let lines = HELP.iter().map(|&(keys, what)| match keys {
        "" if titles.contains(&what) => vec![(Tone::Strong, what.to_owned())],
        keys => vec![(Tone::Strong, format!("  {keys:<20}")), (Tone::Normal, what.to_owned())],
    });
    lines.collect()
}

fn profile_lines(
    source: &Source,
    column: usize,
    profile: &Profile,
    of_filtered: bool,
) -> Vec<PageLine> {
    let mut lines = Vec::new();
    let mut fact = |name: &str, value: String| {
        lines.push(vec![(Tone::Strong, format!("{name:<16}")), (Tone::Normal, value)]);
    };
    let type_name = source.field(column).map(|field| type_name(field.data_type()));
    fact("type", type_name.unwrap_or_default());
    let which = if of_filtered { " (those that match the filter)" } else { "" };
    fact("rows", format!("{}{which}", thousands(profile.rows())));
    fact("nulls", thousands(profile.nulls()));
    let (distinct, has_more) = profile.distinct();
    let more = if has_more { "more than " } else { "" };
    fact("distinct", format!("{more}{}", thousands(distinct as u64)));
    if let Some((min, max)) = profile.bounds() {
        fact("smallest", plain(min).into_owned());
        fact("largest", plain(max).into_owned());
    }
    if let Some(mean) = profile.mean() {
        fact("mean", format!("{mean}"));
    }
    let bins = profile.bins();
    if !bins.is_empty() {
        let of_first = if profile.has_more_values() { " of the first values" } else { "" };
        lines.push(Vec::new());
        lines.push(vec![(Tone::Strong, format!("Histogram{of_first}, from smallest to largest"))]);
        bars(&mut lines, bins.iter().map(|&count| (String::new(), count)));
    }
    let top = profile.top();
    if !top.is_empty() {
        let of_counted = if has_more { " of those that were counted" } else { "" };
        lines.push(Vec::new());
        lines.push(vec![(Tone::Strong, format!("Most frequent{of_counted}"))]);
        bars(&mut lines, top.iter().map(|(text, count)| (plain(text).into_owned(), *count)));
    }
    lines
}

fn bars(lines: &mut Vec<PageLine>, counts: impl Iterator<Item = (String, u64)> + Clone) {
    let largest = counts.clone().map(|(_, count)| count).max().unwrap_or(0).max(1);
    for (label, count) in counts {
        let filled = format!("{:<25}", bar(count, largest, BAR_CELLS));
        let parts = [(Tone::Normal, filled), (Tone::Dim, format!("{:>13}  ", thousands(count)))];
        lines.push(parts.into_iter().chain([(Tone::Normal, label)]).collect());
    }
}

/// Columns of a record that are no wider than that have their values beside them.
const MAX_LABEL: usize = 24;

fn record_lines(source: &Source, cells: &[(usize, Option<String>)], width: u16) -> Vec<PageLine> {
    let names: Vec<String> =
        cells.iter().map(|(column, _)| clip(source.column_name(*column), MAX_LABEL)).collect();
    let label = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let room = usize::from(width).saturating_sub(label + 2).max(1);
    let mut lines = Vec::new();
    for ((_, cell), name) in cells.iter().zip(&names) {
        let gap = label.saturating_sub(name.width());
        let mut before = format!("{name}{}  ", " ".repeat(gap));
        let parts = match cell {
            None => vec![(Tone::Dim, "NULL".to_owned())],
            Some(text) => text.split('\n').flat_map(|line| wrapped(&plain(line), room)).collect(),
        };
        for (tone, text) in parts {
            lines.push(vec![(Tone::Strong, before), (tone, text)]);
            before = " ".repeat(label + 2);
        }
    }
    lines
}

/// Breaks a text into lines of a width.
fn wrapped(text: &str, width: usize) -> Vec<(Tone, String)> {
    let (mut lines, mut line, mut used) = (Vec::new(), String::new(), 0);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if used + wide > width && !line.is_empty() {
            lines.push((Tone::Normal, std::mem::take(&mut line)));
            used = 0;
        }
        line.push(c);
        used += wide;
    }
    lines.push((Tone::Normal, line));
    lines
}

/// Returns a text without control characters, and with at most `width` cells.
pub(super) fn clip(text: &str, width: usize) -> String {
    crate::output::clip(&plain(text), width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_wrapped_by_width() {
        let texts = |text, width| {
            wrapped(text, width).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(texts("abcdef", 4), ["abcd", "ef"]);
        assert_eq!(texts("名前名", 4), ["名前", "名"]);
        assert_eq!(texts("名", 1), ["名"]);
        assert_eq!(texts("", 4), [""]);
    }
}
