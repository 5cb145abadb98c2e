//! columnar: delimited text in typed columns (§5).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | rows uv, trailing u8, has header u8, delimiter lp, columns uv |
//! | `row_modes` | a byte per row: 0 verbatim, else structured |
//! | `fieldcounts` | fields uv per structured row |
//! | `coltypes` | a byte per column: 0 TEXT, 1 INT, 2 DEC, 3 NUMEXC, 4 DERIVED, 5 DICT, 6 SHUF |
//! | `col_index` | bytes uv of each column's chunk in `values` |
//! | `values` | the chunks, one after the other |
//! | `quotemodes` | a byte per column: 0 no cell is quoted, 1 all are, else mixed |
//! | `quotebits` | a bitmap of the cells of each mixed column |
//! | `verbatim` | list of the other rows |
//! | `header` | the first line, as it is |
//! | `hyp.fields` | fields uv that each column holds; ours, and absent if all hold one (§5.6) |
//!
//! `column` turns chunks into columns, in parallel; `rows` puts rows together,
//! in ranges, in parallel too.

use bytes::Bytes;

use super::context::DecodeContext;
use super::entry::{CodecEntry, DelimitedCells, TableRows};
use super::line_flags::{flag, trailing};
use crate::codec::Codec;
use crate::description::{ColumnInfo, FrameInfo};
use crate::fields::{self, Dialect};
use crate::output::Output;
use crate::streams::Streams;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

mod column;
mod inline_column;
pub(crate) mod kind;
mod number;
pub(crate) mod project;
mod rows;

use column::DecodedColumn;

const STREAMS: [&str; 10] = [
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

/// The `meta` stream.
#[derive(Debug)]
struct TableMeta<'a> {
    rows: u64,
    trailing: bool,
    has_header: bool,
    delimiter: &'a [u8],
    columns: usize,
}

/// Which cells of a column stood in quotes (§5.3).
#[derive(Debug)]
enum Quotes<'a> {
    None,
    All,
    Some(&'a [u8]),
}

pub(super) static ENTRY: CodecEntry = CodecEntry {
    rows: TableRows::Delimited(cells),
    rows_of_frame: Some(rows_of_frame),
    project: Some(project::find),
    describe: Some(describe),
    ..CodecEntry::new(decode)
};

/// The stream of our writer in a frame whose cells are not the fields of a table: the id of
/// the codec by whose rules the lines are viewed (§7.6.1).
pub(crate) const VIEW: &str = "hyp.view";

/// Writes the rows of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let meta = meta(&streams, context)?;
    let columns = columns(&streams, &meta, context)?;
    let quotes = quotes(&streams, &columns, context)?;
    rows::write(&streams, &meta, &columns, &quotes, context, out)
}

/// The columns of a frame and how they are coded; nothing is decoded for it.
fn describe(context: &DecodeContext<'_>) -> Result<Vec<FrameInfo>> {
    let wanted = ["meta", "coltypes", "quotemodes", "col_index", "header", project::FIELDS];
    let streams = context.streams(&wanted)?;
    let meta = meta(&streams, context)?;
    let mut lengths = streams.read("col_index");
    let dialect = Dialect { delimiter: meta.delimiter.to_vec(), quotes: true };
    let header: Vec<&[u8]> = if meta.has_header && !meta.delimiter.is_empty() {
        dialect.fields(streams.bytes("header"))
    } else {
        Vec::new()
    };
    let mut header = header.into_iter().map(fields::name);
    let widths = project::widths(&streams, meta.columns);
    let mut columns = Vec::with_capacity(meta.columns);
    for (&kind, width) in streams.bytes("coltypes").iter().zip(widths) {
        // Fields that share a column are named together.
        let names: Vec<String> = header.by_ref().take(width).collect();
        let name = (!names.is_empty()).then(|| names.join(", "));
        let bytes = lengths.uv("chunk length")?;
        columns.push(ColumnInfo { name, kind: kind::name(kind), bytes });
    }
    Ok(vec![FrameInfo { rows: meta.rows, columns, ..FrameInfo::default() }])
}

/// Returns that the lines are variant calls if the frame says so.
fn rows_of_frame(context: &DecodeContext<'_>) -> Result<TableRows> {
    if context.packed(VIEW).is_none() {
        return Ok(TableRows::Delimited(cells));
    }
    let streams = context.streams(&[VIEW])?;
    let is_vcf = streams.read(VIEW).u8("codec of the view")? == Codec::Vcf.id();
    Ok(if is_vcf { TableRows::VariantCalls } else { TableRows::Delimited(cells) })
}

/// Returns how lines are split into cells.
fn cells(context: &DecodeContext<'_>) -> Result<DelimitedCells> {
    let streams = context.streams(&["meta", "coltypes", "quotemodes"])?;
    let meta = meta(&streams, context)?;
    let delimiter = meta.delimiter.to_vec();
    Ok(DelimitedCells { delimiter, columns: meta.columns, header: Some(meta.has_header) })
}

fn meta<'a>(streams: &'a Streams, context: &DecodeContext<'_>) -> Result<TableMeta<'a>> {
    let mut stream = streams.read("meta");
    let rows = stream.uv("row count")?;
    let trailing = trailing(stream.u8("trailing")?, false, context)?;
    let has_header = flag(stream.u8("has header")?, "the flag for a header", "meta", context)?;
    let delimiter = stream.lp("delimiter")?;
    let at = stream.clone();
    let columns = stream.size("column count")?;
    // Every column has a byte in `coltypes`, so this is a number that was earned.
    if columns > streams.bytes("coltypes").len() || columns > streams.bytes("quotemodes").len() {
        let why = format!("{columns} is more than there are column types or quote modes");
        return Err(at.malformed("column count", why));
    }
    Ok(TableMeta { rows, trailing, has_header, delimiter, columns })
}

/// Decodes every column: those that stand alone in parallel, then the derived.
fn columns(
    streams: &Streams,
    meta: &TableMeta<'_>,
    context: &DecodeContext<'_>,
) -> Result<Vec<DecodedColumn>> {
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
    // A derived column may be derived from a derived one, but only from one before it.
    let mut done: Vec<DecodedColumn> = Vec::with_capacity(columns.len());
    let mut budget = DerivedBudget { spent: 0, limit: context.limits.read_bytes };
    for ((index, _, chunk), column) in jobs.iter().zip(columns) {
        let column = match column {
            Some(column) => column,
            None => column::derive(chunk, &done, &mut budget).map_err(|err| placed(err, *index))?,
        };
        done.push(column);
    }
    Ok(done)
}

/// What derived columns may take together.
///
/// A few bytes of the file make a column as long as its source, so the file does
/// not bound their number times their length.
#[derive(Debug)]
struct DerivedBudget {
    spent: u64,
    limit: u64,
}

impl DerivedBudget {
    /// Fails if so many more bytes are too many.
    fn spend(&mut self, bytes: u64) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes);
        let (what, asked, limit) = ("size of derived columns", self.spent, self.limit);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }
}

/// Where an error is: people know columns by number here, names come later.
fn placed(err: Error, index: usize) -> Error {
    err.in_stream("values").in_column(index, "")
}

/// Cuts `values` into one chunk per column.
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

fn quotes<'a>(
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
