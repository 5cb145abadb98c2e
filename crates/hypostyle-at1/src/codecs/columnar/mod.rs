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
//! 1. `table` parses the streams and splits `values` into a chunk per column.
//! 2. `column` and `number` decode the chunks, in parallel.
//! 3. `rows` assembles ranges of rows, in parallel; `inline_column` prepares columns of short
//!    cells for it.
//!
//! `values` decodes columns to numbers and dictionaries without printing them. `kind` lists the
//! column types. `group_directory`, `sections` and `pieces` are about row groups; `cell_template`
//! finds JSON values in cells.

use super::context::DecodeContext;
use super::entry::CodecEntry;
use crate::description::{ColumnInfo, FrameInfo};
use crate::fields::{self, Dialect};
use crate::output::Output;
use hypostyle_core::error::Result;

pub(crate) mod cell_template;
pub(crate) mod column;
pub(crate) mod group_directory;
mod inline_column;
pub(crate) mod kind;
mod number;
pub(crate) mod pieces;
pub(crate) mod rows;
pub(crate) mod sections;
pub(crate) mod table;
pub(crate) mod values;

pub(crate) use table::FIELDS;
use table::{STREAMS, columns, meta, quotes, widths};

pub(super) static ENTRY: CodecEntry =
    CodecEntry { describe: Some(describe), ..CodecEntry::new(decode) };

/// Writes the rows of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&STREAMS)?;
    let meta = meta(&streams, context)?;
    let columns = columns(&streams, &meta, context)?;
    let quotes = quotes(&streams, &columns, context)?;
    rows::write(&streams, &meta, &columns, &quotes, context, out)
}

/// Describes the columns of a frame; decodes none.
fn describe(context: &DecodeContext<'_>) -> Result<Vec<FrameInfo>> {
    let wanted = ["meta", "coltypes", "quotemodes", "col_index", "header", FIELDS];
    let streams = context.streams(&wanted)?;
    let meta = meta(&streams, context)?;
    // The name of a column is a string of its own.
    context.check_described::<(ColumnInfo, String)>(meta.columns, "columns")?;
    context.check_described::<String>(streams.bytes("header").len() / 2, "names")?;
    let mut lengths = streams.read("col_index");
    let dialect = Dialect { delimiter: meta.delimiter.to_vec(), quotes: true };
    let header: Vec<&[u8]> = if meta.has_header && !meta.delimiter.is_empty() {
        dialect.fields(streams.bytes("header"))
    } else {
        Vec::new()
    };
    let mut header = header.into_iter().map(fields::name);
    let widths = widths(&streams, meta.columns);
    let mut columns = Vec::with_capacity(meta.columns);
    for (&kind, width) in streams.bytes("coltypes").iter().zip(widths) {
        // The names of fields that share a column are joined.
        let names: Vec<String> = header.by_ref().take(width).collect();
        let name = (!names.is_empty()).then(|| names.join(", "));
        let bytes = lengths.uv("chunk length")?;
        columns.push(ColumnInfo { name, kind: kind::name(kind), bytes });
    }
    Ok(vec![FrameInfo { rows: meta.rows, columns, ..FrameInfo::default() }])
}
