//! Parses the streams of a frame into columns (§5.1 to §5.3).

use std::ops::Range;

use bytes::Bytes;

use super::column::{self, DecodedColumn, DerivedBudget};
use super::kind;
use crate::codecs::context::DecodeContext;
use crate::codecs::line_flags::{flag, trailing};
use crate::streams::Streams;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::parallel;

/// The streams that rows are decoded from.
pub(super) const STREAMS: [&str; 10] = [
    "meta",
    "row_modes",
    "fieldcounts",
    "coltypes",
    "col_index",
    "values",
    "quotemodes",
    "quotebits",
    "verbatim",
    "header",
];

/// The stream of our writer with the number of fields in each column (§5.6).
pub(crate) const FIELDS: &str = "hyp.fields";

/// The `meta` stream.
#[derive(Debug)]
pub(super) struct TableMeta<'a> {
    pub(super) rows: u64,
    pub(super) trailing: bool,
    pub(super) has_header: bool,
    pub(super) delimiter: &'a [u8],
    pub(super) columns: usize,
}

/// Which cells of a column were in quotes (§5.3).
#[derive(Debug)]
pub(crate) enum Quotes<'a> {
    None,
    All,
    /// The cells whose bit is set.
    Some(&'a [u8]),
}

/// Reads the `meta` stream.
pub(super) fn meta<'a>(streams: &'a Streams, context: &DecodeContext<'_>) -> Result<TableMeta<'a>> {
    let mut stream = streams.read("meta");
    let rows = stream.uv("row count")?;
    let trailing = trailing(stream.u8("trailing")?, false, context)?;
    let has_header = flag(stream.u8("has header")?, "the flag for a header", "meta", context)?;
    let delimiter = stream.lp("delimiter")?;
    let at = stream.clone();
    let columns = stream.size("column count")?;
    // Every column has a byte in `coltypes`, so the file's size bounds the number of columns.
    if columns > streams.bytes("coltypes").len() || columns > streams.bytes("quotemodes").len() {
        let why = format!("{columns} is more than there are column types or quote modes");
        return Err(at.malformed("column count", why));
    }
    Ok(TableMeta { rows, trailing, has_header, delimiter, columns })
}

/// Returns the number of fields in each column: one, unless the archive says otherwise.
///
/// Decoding does not depend on the stream, so a truncated one is ignored.
pub(crate) fn widths(streams: &Streams, columns: usize) -> Vec<usize> {
    let mut stream = streams.read(FIELDS);
    let widths: Result<Vec<usize>> = (0..columns).map(|_| stream.size("field count")).collect();
    widths.unwrap_or_else(|_| vec![1; columns])
}

/// Returns the range of each chunk in `values`.
pub(super) fn chunk_ranges(streams: &Streams, columns: usize) -> Result<Vec<Range<u64>>> {
    let mut lengths = streams.read("col_index");
    let mut start = 0_u64;
    let mut places = Vec::with_capacity(columns);
    for index in 0..columns {
        let len = lengths.uv("chunk length").map_err(|err| err.in_column(index, ""))?;
        let end = start.saturating_add(len);
        places.push(start..end);
        start = end;
    }
    Ok(places)
}

/// Decodes every column: first the independent ones in parallel, then the derived ones.
pub(super) fn columns(
    streams: &Streams,
    meta: &TableMeta<'_>,
    context: &DecodeContext<'_>,
) -> Result<Vec<DecodedColumn>> {
    streams.charge::<(usize, u8, Bytes, DecodedColumn, Quotes<'_>)>(meta.columns, "columns")?;
    let chunks = chunks(streams, meta)?;
    let types = streams.bytes("coltypes");
    let jobs: Vec<(usize, u8, Bytes)> = (0..)
        .zip(types.iter().copied())
        .zip(chunks)
        .map(|((index, kind), chunk)| (index, kind, chunk))
        .collect();
    let columns = parallel::map(&jobs, context.threads, |&(index, kind, ref chunk)| {
        if kind == kind::DERIVED {
            return Ok(None);
        }
        let note = |code, what: &str| {
            let message = format!("column {} {what}", index.saturating_add(1));
            context.deviations.report(code, context.offset_of("values"), message)
        };
        column::decode(kind, chunk, note).map(Some).map_err(|err| placed(err, index))
    })?;
    // The source of a derived column may itself be derived, but comes before it.
    let mut done: Vec<DecodedColumn> = Vec::with_capacity(columns.len());
    let mut budget = DerivedBudget::new(context.limits.read_bytes);
    for ((index, _, chunk), column) in jobs.iter().zip(columns) {
        let column = match column {
            Some(column) => column,
            None => column::derive(chunk, |index| done.get(index), &mut budget)
                .map_err(|err| placed(err, *index))?,
        };
        done.push(column);
    }
    Ok(done)
}

/// Adds the column to an error by its number; its name is not known here.
fn placed(err: Error, index: usize) -> Error {
    err.in_stream("values").in_column(index, "")
}

/// Splits `values` into one chunk per column.
fn chunks(streams: &Streams, meta: &TableMeta<'_>) -> Result<Vec<Bytes>> {
    let values = streams.shared("values");
    let mut lengths = streams.read("col_index");
    let mut start = 0_usize;
    let mut chunks = Vec::with_capacity(meta.columns);
    for index in 0..meta.columns {
        let at = lengths.clone();
        let len = lengths.size("chunk length").map_err(|err| err.in_column(index, ""))?;
        let end = start.checked_add(len).filter(|&end| end <= values.len()).ok_or_else(|| {
            let why = format!("{len} runs past the end of `values`");
            at.malformed("chunk length", why).in_column(index, "")
        })?;
        chunks.push(values.slice(start..end));
        start = end;
    }
    Ok(chunks)
}

/// Reads which cells of each column were in quotes.
pub(super) fn quotes<'a>(
    streams: &'a Streams,
    columns: &[DecodedColumn],
    context: &DecodeContext<'_>,
) -> Result<Vec<Quotes<'a>>> {
    let modes = streams.bytes("quotemodes");
    let mut bits = streams.read("quotebits");
    let mut quotes = Vec::with_capacity(columns.len());
    for (index, column) in columns.iter().enumerate() {
        quotes.push(match modes.get(index) {
            Some(0) | None => Quotes::None,
            Some(1) => Quotes::All,
            Some(&mode) => {
                if mode > 2 {
                    let message =
                        format!("quote mode {mode} of column {}", index.saturating_add(1));
                    context.deviations.report("A12", context.offset_of("quotemodes"), message)?;
                }
                let len = column.len().div_ceil(8);
                Quotes::Some(bits.take(len, "quote bits").map_err(|err| err.in_column(index, ""))?)
            }
        });
    }
    Ok(quotes)
}
