//! Encodes delimited text in row groups (§6.1).

use crate::cell_syntax::Syntax;
use crate::fields::Dialect;
use crate::pack::groups::writer::{CellGrid, RowGroupTable, stream_set};
use crate::pack::lines::split_final_newline;
use crate::pack::options::PackOptions;
use crate::pack::row_syntax::RowSyntax;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::Stream;
use crate::pack::tables::dialect;
use crate::pack::tables::split::SplitRows;
use hypostyle_core::error::Result;
use hypostyle_core::options::resolve_threads;

/// How to split a text into rows: found in the text, or the same as for the frame before.
#[derive(Clone, Debug)]
pub(in crate::pack) struct RowFormat {
    pub(in crate::pack) dialect: Dialect,
    /// The fields of a row; `None` if they are to be found in the text.
    pub(in crate::pack) width: Option<usize>,
    /// Whether the first line is a header.
    pub(in crate::pack) header: bool,
}

impl CellGrid for SplitRows<'_> {
    fn rows(&self) -> usize {
        self.len()
    }

    fn columns(&self) -> usize {
        self.width
    }

    fn cell(&self, row: usize, column: usize) -> &[u8] {
        SplitRows::cell(self, row, &(column..column + 1)).unwrap_or_default()
    }
}

/// Finds how to split a text; returns `None` if it is not a table.
pub(in crate::pack) fn find(text: &[u8]) -> Result<Option<RowFormat>> {
    let Some(dialect) = dialect::find(text)? else { return Ok(None) };
    // Readers parse the cells as CSV if the delimiter is one of CSV.
    let quotes = Syntax::of_delimiter(&dialect.delimiter) == Syntax::Csv;
    let dialect = Dialect { quotes, ..dialect };
    let header = dialect::has_header(text, &dialect);
    Ok(Some(RowFormat { dialect, width: None, header }))
}

/// Returns how to split a text whose table has this syntax; `None` if its rows have no cells.
pub(in crate::pack) fn of_table(table: RowSyntax) -> Option<RowFormat> {
    match table {
        RowSyntax::Delimited { delimiter, header, .. } => {
            let dialect = Dialect { delimiter: vec![delimiter], quotes: true };
            Some(RowFormat { dialect, width: None, header })
        }
        RowSyntax::Objects => None,
    }
}

/// Returns the streams of a table and its number of columns; `None` if no line is a row.
pub(in crate::pack) fn streams(
    text: &[u8],
    format: &RowFormat,
    search: &SearchParams,
    options: &PackOptions,
) -> Result<Option<(Vec<Stream>, usize)>> {
    let (lines, trailing) = split_final_newline(text);
    // The header is stored verbatim: as a row it would make every column text.
    let start = match memchr::memchr(b'\n', lines) {
        _ if !format.header => 0,
        Some(end) => end + 1,
        None => return Ok(None),
    };
    let body = lines.get(start..).unwrap_or_default();
    let header = lines.get(..start.saturating_sub(1)).filter(|_| start > 0);
    let Some(rows) = split(body, header, format) else { return Ok(None) };
    let mut modes = vec![0; usize::from(header.is_some())];
    modes.extend_from_slice(&rows.modes);
    let mut verbatim = header.unwrap_or_default().to_vec();
    if header.is_some() && rows.modes.contains(&0) {
        verbatim.push(b'\n');
    }
    verbatim.extend_from_slice(&rows.verbatim());
    let width = rows.width;
    let table = RowGroupTable {
        grid: &rows,
        syntax: Syntax::of_delimiter(&format.dialect.delimiter),
        prefix: String::new(),
        delimiter: Some(&format.dialect.delimiter),
        trailing,
        modes: &modes,
        verbatim,
        extra_streams: Vec::new(),
    };
    let encoded = table.encode(search, options, resolve_threads(options.threads))?;
    Ok(Some((stream_set(vec![encoded], Vec::new(), search)?, width)))
}

/// Splits lines into rows of the width of the format, else of the header if a third of
/// the lines or more have it, else of the most frequent width.
fn split<'a>(lines: &'a [u8], header: Option<&[u8]>, format: &RowFormat) -> Option<SplitRows<'a>> {
    let header_width = header.map(|header| format.dialect.fields(header).len());
    let width = format.width.or(header_width);
    SplitRows::with_one_width(lines, &format.dialect, width)
        .filter(|rows| format.width.is_some() || rows.len() * 3 >= rows.modes.len())
        .or_else(|| SplitRows::with_one_width(lines, &format.dialect, format.width))
}
