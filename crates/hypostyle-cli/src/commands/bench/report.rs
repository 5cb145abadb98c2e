//! Prints the figures as a table with bars, as Markdown or as JSON.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::BenchInput;
use super::candidates::Restores;
use super::measure::{CandidateFigures, Measured};
use crate::output::{BAR_CELLS, Grid, Out, bar};

/// The figures of one file.
#[derive(Debug)]
pub(super) struct BenchReport {
    name: String,
    bytes: u64,
    /// What the file holds, if that is known.
    kind: Option<&'static str>,
    threads: usize,
    measured: Measured,
}

/// The columns except the bar, and whether they are numbers.
const COLUMNS: [(&str, bool); 7] = [
    ("name", false),
    ("bytes ", true),
    ("share", true),
    ("make s ", true),
    ("MB/s", true),
    ("back s ", true),
    ("gives", false),
];

/// Minimum width of a bar; a shorter one shows nothing.
const MIN_BAR_CELLS: u64 = 6;

/// Maximum width of a bar, because a cell of a table is not wider.
const MAX_BAR_CELLS: u64 = 40;

impl BenchReport {
    pub(super) fn new(
        input: &BenchInput<'_>,
        kind: Option<&'static str>,
        measured: Measured,
    ) -> Self {
        Self {
            name: input.name.clone(),
            bytes: input.content.len() as u64,
            kind,
            threads: input.threads(),
            measured,
        }
    }

    /// Returns whether no candidate has figures.
    pub(super) fn is_empty(&self) -> bool {
        self.measured.figures.is_empty()
    }

    /// Prints a table, and notes on how to read it.
    pub(super) fn print(&self, out: &mut dyn Out) -> io::Result<()> {
        writeln!(out, "{}\n", self.title())?;
        let rows = self.cells();
        let bars = self.bars(bar_cells(&rows, out.terminal_width()));
        let mut grid = Grid::default();
        for (title, right) in COLUMNS {
            grid = grid.column(title, right);
        }
        match bars {
            Some(bars) => {
                grid = grid.column("size", false);
                for ([a, b, c, d, e, f, g], bar) in rows.into_iter().zip(bars) {
                    grid.texts([a, b, c, d, e, f, g, bar]);
                }
            }
            None => rows.into_iter().for_each(|row| grid.texts(row)),
        }
        grid.print(out)?;
        writeln!(out)?;
        let paint = out.paint();
        for note in self.notes() {
            writeln!(out, "{}", paint.dim(note))?;
        }
        self.reasons().iter().try_for_each(|reason| writeln!(out, "left out: {reason}"))
    }

    /// Formats the report as Markdown.
    pub(super) fn markdown(&self) -> String {
        let titles = COLUMNS.map(|(title, _)| title.trim_end());
        let rules = COLUMNS.map(|(_, right)| if right { "---:" } else { "---" });
        let mut text = format!("# {}\n\n", self.title());
        text += &format!("| {} | size |\n| {} | --- |\n", titles.join(" | "), rules.join(" | "));
        for (row, bar) in self.cells().iter().zip(self.bars(Some(BAR_CELLS)).unwrap_or_default()) {
            let row: Vec<_> = row.iter().map(|cell| cell.trim_end().replace('*', "\\*")).collect();
            text += &format!("| {} | {bar} |\n", row.join(" | "));
        }
        text.push('\n');
        let reasons = self.reasons().into_iter().map(|reason| format!("left out: {reason}"));
        for line in self.notes().into_iter().chain(reasons) {
            text += &format!("- {}\n", line.replace('*', "\\*"));
        }
        text + &format!("\nMade by `hyp bench`, {}.\n", env!("CARGO_PKG_VERSION"))
    }

    /// Formats the report as JSON.
    pub(super) fn json(&self) -> Value {
        let candidates = self.measured.figures.iter().map(|figure| {
            let CandidateFigures { name, method, best, rounds } = figure;
            json!({
                "name": name,
                "codec": best.codec.map(|codec| codec.name()),
                "bytes": best.size,
                "share": self.share(best.size),
                "make_seconds": best.make.as_secs_f64(),
                "make_mb_per_second": self.speed(best.make),
                "back_seconds": best.back.as_secs_f64(),
                "back_mb_per_second": self.speed(best.back),
                "gives": method.gives().name(),
                "threads": if method.has_threads() { self.threads } else { 1 },
                "rounds": rounds,
                // A candidate that restores something else ends the command.
                "verified": true,
            })
        });
        let left_out = self.measured.left_out.iter();
        let left_out = left_out.map(|(name, why)| json!({ "name": name, "why": why }));
        json!({
            "file": self.name,
            "bytes": self.bytes,
            "kind": self.kind,
            "contenders": candidates.collect::<Vec<_>>(),
            "left_out": left_out.collect::<Vec<_>>(),
        })
    }

    /// Returns why candidates were left out, grouped by reason.
    pub(super) fn reasons(&self) -> Vec<String> {
        let reasons = grouped(self.measured.left_out.iter().map(|(name, why)| (name, why)));
        reasons.into_iter().map(|(why, names)| format!("{}: {why}", names.join(", "))).collect()
    }

    fn title(&self) -> String {
        let kind = self.kind.map(|kind| format!(", {kind}")).unwrap_or_default();
        format!("{}: {} bytes{kind}", self.name, self.bytes)
    }

    /// Returns the notes on how to read the table.
    fn notes(&self) -> Vec<String> {
        let figures = &self.measured.figures;
        let mut notes =
            vec!["* best in its column; MB/s: 10^6 bytes of the file per second".to_owned()];
        if figures.iter().any(|figure| figure.method.gives() == Restores::Rows) {
            let note = "rows: restores the values, not the bytes; make includes parsing the table";
            notes.push(note.to_owned());
        }
        let codecs = figures.iter().filter_map(|it| Some((&it.name, it.best.codec?)));
        // Omit a codec that is part of the name.
        let codecs = codecs.filter(|(name, codec)| !name.ends_with(codec.name()));
        let codecs = grouped(codecs).into_iter();
        let codecs: Vec<_> =
            codecs.map(|(codec, names)| format!("{codec} by {}", names.join(", "))).collect();
        if !codecs.is_empty() {
            notes.push(format!("codec: {}", codecs.join("; ")));
        }
        let has_threads = |wanted| figures.iter().any(|it| it.method.has_threads() == wanted);
        if self.threads > 1 && has_threads(true) && has_threads(false) {
            let note = format!(
                "threads: {} for archives and column files of hyp, 1 for the others",
                self.threads
            );
            notes.push(note);
        }
        notes
    }

    /// Returns the cells of [`COLUMNS`] for each candidate.
    fn cells(&self) -> Vec<[String; COLUMNS.len()]> {
        let figures = &self.measured.figures;
        let smallest = figures.iter().map(|figure| figure.best.size).min();
        let fastest_make = figures.iter().map(|figure| figure.best.make).min();
        let fastest_back = figures.iter().map(|figure| figure.best.back).min();
        let row = |figure: &CandidateFigures| {
            let best = &figure.best;
            [
                figure.name.clone(),
                marked(best.size.to_string(), Some(best.size) == smallest),
                format!("{:.1} %", 100.0 * self.share(best.size)),
                marked(seconds(best.make), Some(best.make) == fastest_make),
                figures_of(self.speed(best.make)),
                marked(seconds(best.back), Some(best.back) == fastest_back),
                figure.method.gives().name().to_owned(),
            ]
        };
        figures.iter().map(row).collect()
    }

    /// Returns a bar for each size; the largest fills `cells`. `None` if there is no room.
    fn bars(&self, cells: Option<u64>) -> Option<Vec<String>> {
        let sizes = self.measured.figures.iter().map(|figure| figure.best.size);
        let largest = sizes.clone().max().unwrap_or(0);
        cells.map(|cells| sizes.map(|size| bar(size, largest, cells)).collect())
    }

    fn share(&self, size: u64) -> f64 {
        size as f64 / self.bytes.max(1) as f64
    }

    /// Returns the speed in megabytes of the file per second.
    fn speed(&self, took: Duration) -> f64 {
        self.bytes as f64 / 1e6 / took.as_secs_f64().max(1e-9)
    }
}

/// Returns the width that the table leaves for bars, if it is enough.
fn bar_cells(rows: &[[String; COLUMNS.len()]], terminal: Option<usize>) -> Option<u64> {
    let Some(terminal) = terminal else { return Some(BAR_CELLS) };
    let widths = COLUMNS.iter().enumerate().map(|(index, (title, _))| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| cell.width()).max().unwrap_or(0).max(title.width())
    });
    // Columns are three cells apart.
    let used: usize = widths.map(|width| width + 3).sum();
    let room = u64::try_from(terminal.saturating_sub(used)).unwrap_or(u64::MAX);
    (room >= MIN_BAR_CELLS).then_some(room.min(MAX_BAR_CELLS))
}

/// Groups names by their keys, in order of first appearance.
fn grouped<'a, K: PartialEq>(
    pairs: impl Iterator<Item = (&'a String, K)>,
) -> Vec<(K, Vec<&'a str>)> {
    let mut groups: Vec<(K, Vec<&str>)> = Vec::new();
    for (name, key) in pairs {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, names)) => names.push(name),
            None => groups.push((key, vec![name])),
        }
    }
    groups
}

/// Appends `*` to the best number, and a space to the others.
fn marked(number: String, best: bool) -> String {
    number + if best { "*" } else { " " }
}

fn seconds(took: Duration) -> String {
    figures_of(took.as_secs_f64())
}

/// Formats a number with three significant digits.
fn figures_of(number: f64) -> String {
    let digits = match number {
        100.0.. => 0,
        10.0.. => 1,
        1.0.. => 2,
        0.1.. => 3,
        0.01.. => 4,
        _ => 5,
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_matter() {
        let shown = [1234.5, 12.345, 1.234, 0.1234, 0.00123].map(figures_of);
        assert_eq!(shown, ["1234", "12.3", "1.23", "0.123", "0.00123"]);
    }

    #[test]
    fn bars_take_the_room_that_is_left() {
        let row = ["at1-query", "123456 ", "10.0 %", "0.123 ", "12.3", "0.123 ", "bytes"];
        let rows = [row.map(str::to_owned)];
        let used = 9 + 7 + 6 + 7 + 4 + 7 + 5 + 7 * 3;
        assert_eq!(bar_cells(&rows, None), Some(BAR_CELLS));
        assert_eq!(bar_cells(&rows, Some(used + 10)), Some(10));
        assert_eq!(bar_cells(&rows, Some(used + 100)), Some(MAX_BAR_CELLS));
        assert_eq!(bar_cells(&rows, Some(used + 5)), None);
        assert_eq!(bar_cells(&rows, Some(20)), None);
    }
}
