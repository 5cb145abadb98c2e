//! The arguments of all commands that read tables: inputs, columns and rows, and how they are
//! printed.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hypostyle::predicate::Predicate;

use crate::args::ReadArgs;

/// The files of a table.
#[derive(Args, Clone, Debug)]
pub(crate) struct InputArgs {
    /// The files to read, or their URLs; several are one table, one after the other. Also folders,
    /// quoted patterns such as 'logs/*.csv', and what gzip, zstd, xz and bzip2 have compressed; -
    /// reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Which columns and rows of a table are read.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Columns and rows")]
pub(crate) struct ShapeArgs {
    #[command(flatten)]
    pub(crate) columns: ColumnArgs,

    /// Only rows that match a predicate, such as "price > 10 and name like 'A%'"; `hyp help where`
    /// explains all of it
    #[arg(long = "where", value_name = "PREDICATE")]
    pub(crate) filter: Option<Predicate>,

    /// Only rows A to B, counted from 0 and without B; negative numbers count from the end, and
    /// either end can be omitted
    #[arg(long, value_name = "A..B", value_parser = row_range, allow_hyphen_values = true)]
    pub(crate) rows: Option<RowRange>,

    /// At most N rows
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// Add a column `filename` with the name of the file that each row comes from
    #[arg(long)]
    pub(crate) filename: bool,

    /// Print how much of the files was read, on standard error
    #[arg(long = "stats")]
    pub(crate) print_stats: bool,

    /// Skip damaged row groups, and warn of each
    #[arg(long)]
    pub(crate) skip_damaged: bool,
}

impl ShapeArgs {
    /// Returns whether all columns and rows are read.
    pub(crate) fn is_whole(&self) -> bool {
        let all_rows = self.filter.is_none() && self.rows.is_none() && self.limit.is_none();
        all_rows && self.columns.is_all() && !self.filename && !self.skip_damaged
    }
}

/// A projection.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ColumnArgs {
    /// Only these columns, in this order: names, or #1, #2, ... by position
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) columns: Option<Vec<String>>,

    /// One more column, whose name may contain commas; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) column: Vec<String>,
}

impl ColumnArgs {
    pub(crate) fn is_all(&self) -> bool {
        self.columns.is_none() && self.column.is_empty()
    }

    /// Returns the names that the user gave; `None` for all columns.
    pub(crate) fn names(&self) -> Option<Vec<&str>> {
        let listed = self.columns.iter().flatten().filter(|name| !name.is_empty());
        (!self.is_all()).then(|| listed.chain(&self.column).map(String::as_str).collect())
    }
}

/// How rows are printed.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct PrintArgs {
    /// Output format [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<RowFormat>,

    /// Print each row as a block of lines, one for each column
    #[arg(long, short = 'x', conflicts_with = "format")]
    record: bool,

    /// Print JSON, as `--format json` does
    #[arg(long, conflicts_with_all = ["format", "record"])]
    json: bool,
}

impl PrintArgs {
    /// Returns the format that the user chose.
    pub(crate) fn format(self) -> Option<RowFormat> {
        match (self.record, self.json) {
            (true, _) => Some(RowFormat::Record),
            (_, true) => Some(RowFormat::Json),
            _ => self.format,
        }
    }
}

/// The format in which rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RowFormat {
    Table,
    Csv,
    Tsv,
    /// An array of objects
    Json,
    /// An object on each line
    Jsonl,
    Markdown,
    /// A block of lines for each row
    Record,
}

/// Rows by number, of which negative ones count from the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowRange {
    from: RowBound,
    to: RowBound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowBound {
    FromStart(u64),
    FromEnd(u64),
}

impl From<Range<u64>> for RowRange {
    fn from(rows: Range<u64>) -> Self {
        Self { from: RowBound::FromStart(rows.start), to: RowBound::FromStart(rows.end) }
    }
}

impl RowBound {
    fn resolve(self, rows: u64) -> u64 {
        match self {
            Self::FromStart(row) => row.min(rows),
            Self::FromEnd(back) => rows.saturating_sub(back),
        }
    }
}

impl RowRange {
    /// All rows.
    pub(crate) const ALL: Self =
        Self { from: RowBound::FromStart(0), to: RowBound::FromStart(u64::MAX) };

    /// Returns the range in a table of so many rows.
    pub(crate) fn resolve(self, rows: u64) -> Range<u64> {
        let from = self.from.resolve(rows);
        from..self.to.resolve(rows).max(from)
    }
}

/// Parses rows as `A..B`, counted from 0 and without B; either end may be omitted.
pub(crate) fn row_range(text: &str) -> Result<RowRange, String> {
    let (from, to) = text.split_once("..").ok_or("must be A..B, such as 100..200 or -10..")?;
    let bound = |text: &str, default| {
        let wrong = |_| format!("`{text}` is not a row number");
        match text.strip_prefix('-') {
            _ if text.is_empty() => Ok(default),
            Some(back) => back.parse().map(RowBound::FromEnd).map_err(wrong),
            None => text.parse().map(RowBound::FromStart).map_err(wrong),
        }
    };
    let from = bound(from.trim(), RowBound::FromStart(0))?;
    let to = bound(to.trim(), RowBound::FromStart(u64::MAX))?;
    match (from, to) {
        (RowBound::FromStart(a), RowBound::FromStart(b)) if a > b => {
            Err(format!("starts at {a}, after its end {b}"))
        }
        (RowBound::FromEnd(a), RowBound::FromEnd(b)) if a < b => {
            Err(format!("starts {a} rows before the end, and ends {b} rows before it"))
        }
        _ => Ok(RowRange { from, to }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_from_both_ends() {
        let rows = |text: &str| row_range(text).map(|range| range.resolve(100));
        assert_eq!(rows("5..9"), Ok(5..9));
        assert_eq!(rows("..9"), Ok(0..9));
        assert_eq!(rows("5.."), Ok(5..100));
        assert_eq!(rows("-10.."), Ok(90..100));
        assert_eq!(rows("-10..-4"), Ok(90..96));
        assert_eq!(rows("95..-10"), Ok(95..95));
        assert_eq!(rows("..-200"), Ok(0..0));
        assert_eq!(rows("200..300"), Ok(100..100));
        for wrong in ["9..5", "9", "-4..-10", "a..", "..--1"] {
            assert!(row_range(wrong).is_err(), "{wrong}");
        }
    }
}
