//! Delimited text in row groups (§6.1).

use crate::cell_syntax::Syntax;
use crate::fields::Dialect;
use crate::pack::groups::{self, Grid, Table};
use crate::pack::lines::ended;
use crate::pack::options::PackOptions;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Stream;
use crate::pack::tables::dialect;
use crate::pack::tables::split::Rows;
use hypostyle_core::error::Result;
use hypostyle_core::options::resolve_threads;

/// How a table is cut: found in its text, or the same as one before.
#[derive(Clone, Debug)]
pub(in crate::pack) struct Cut {
    pub(in crate::pack) dialect: Dialect,
    /// Fields of a row, if that is settled.
    pub(in crate::pack) width: Option<usize>,
    /// Whether the first line may hold names.
    pub(in crate::pack) header: bool,
}

impl Grid for Rows<'_> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn columns(&self) -> usize {
        self.width
    }

    fn cell(&self, row: usize, column: usize) -> &[u8] {
        Rows::cell(self, row, &(column..column + 1)).unwrap_or_default()
    }
}

/// Finds how a text is cut; `None` if it is not a table.
pub(in crate::pack) fn find(text: &[u8]) -> Result<Option<Cut>> {
    let Some(dialect) = dialect::find(text)? else { return Ok(None) };
    // The table view takes cells between such delimiters for CSV.
    let quotes = Syntax::of_delimiter(&dialect.delimiter) == Syntax::Csv;
    let dialect = Dialect { quotes, ..dialect };
    let header = dialect::has_header(text, &dialect);
    Ok(Some(Cut { dialect, width: None, header }))
}

/// The streams of a table, and its number of columns; `None` if no line is a row.
pub(in crate::pack) fn streams(
    text: &[u8],
    cut: &Cut,
    search: &SearchParams,
    options: &PackOptions,
) -> Result<Option<(Vec<Stream>, usize)>> {
    let (lines, trailing) = ended(text);
    // A line of names would make every column one of text.
    let start = match memchr::memchr(b'\n', lines) {
        _ if !cut.header => 0,
        Some(end) => end + 1,
        None => return Ok(None),
    };
    let body = lines.get(start..).unwrap_or_default();
    // Rows are as wide as the line of names, if many are.
    let names = lines.get(..start.saturating_sub(1)).filter(|_| start > 0);
    let width = names.map(|names| cut.dialect.fields(names).len());
    let named = Rows::alike(body, &cut.dialect, cut.width.or(width));
    let rows = match named.filter(|rows| cut.width.is_some() || rows.len() * 3 >= rows.modes.len())
    {
        Some(rows) => Some(rows),
        None => Rows::alike(body, &cut.dialect, cut.width),
    };
    let Some(rows) = rows else { return Ok(None) };
    let mut modes = vec![0; usize::from(start > 0)];
    modes.extend_from_slice(&rows.modes);
    let mut verbatim = lines.get(..start.saturating_sub(1)).unwrap_or_default().to_vec();
    if start > 0 && rows.modes.contains(&0) {
        verbatim.push(b'\n');
    }
    verbatim.extend_from_slice(&rows.verbatim());
    let width = rows.width;
    let table = Table {
        grid: &rows,
        syntax: Syntax::of_delimiter(&cut.dialect.delimiter),
        prefix: String::new(),
        delimiter: Some(&cut.dialect.delimiter),
        trailing,
        modes: &modes,
        verbatim,
        more: Vec::new(),
    };
    let written = table.write(search, options, resolve_threads(options.threads))?;
    Ok(Some((groups::set(vec![written], Vec::new(), search, options)?, width)))
}
