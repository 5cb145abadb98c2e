//! jsondoc: one JSON document with its white space (§7.4).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | u8: 0 raw, else structured |
//! | `raw` | the original, if raw |
//! | `skeleton` | the document; byte 0 marks a hole |
//! | `colids` | column uv per hole |
//! | `value_index` | columns uv, length uv of each |
//! | `values` | a list of tokens per column, back to back |
//! | `hyp.lines` | added by our writer to the lines of a log: holes uv of each line, column uv of lines without a template |

use hashbrown::HashMap;

use super::context::DecodeContext;
use super::entry::{CodecEntry, TableRows};
use super::line_flags::flag;
use super::log_rows;
use super::token_columns::TokenColumns;
use crate::output::Output;
use crate::row_buffer::RowBuffer;
use hypostyle_core::error::Result;

/// The stream of our writer in a jsondoc frame that holds the lines of a log (§7.4).
pub(crate) const LINES: &str = "hyp.lines";

const STREAMS: [&str; 4] = ["skeleton", "colids", "value_index", "values"];

/// Bytes that are assembled before they are written.
const BUFFER_BYTES: usize = 128 << 10;

pub(super) static ENTRY: CodecEntry =
    CodecEntry { rows_of_frame: Some(rows_of_frame), ..CodecEntry::new(decode) };

/// Writes the document.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let form = context.streams(&["meta"])?.read("meta").u8("form")?;
    if !flag(form, "the form of the document", "meta", context)? {
        return out.put(context.streams(&["raw"])?.bytes("raw"));
    }
    let streams = context.streams(&STREAMS)?;
    let mut columns = TokenColumns::parse(&streams, 0)?;
    let mut ids = streams.read("colids");
    let mut skeleton = Some(streams.bytes("skeleton"));
    let mut buffer = RowBuffer::default();
    buffer.reserve(BUFFER_BYTES);
    buffer.part::<0>(&mut skeleton);
    while skeleton.is_some() {
        columns.fill_empty(&mut ids, &mut skeleton)?;
        columns.put_token(&mut ids, &mut buffer)?;
        buffer.part::<0>(&mut skeleton);
        if buffer.len() >= BUFFER_BYTES {
            out.put(buffer.text())?;
            buffer.clear();
        }
    }
    out.put(buffer.text())
}

/// Returns that the document is the lines of a log if it has the stream that says so.
fn rows_of_frame(context: &DecodeContext<'_>) -> Result<TableRows> {
    let is_log = context.compressed(LINES).is_some();
    Ok(if is_log { TableRows::LogLines(rows) } else { TableRows::NotATable })
}

/// Writes an object for each line of a log.
///
/// Lines with tokens of the same columns have the same template number. The variables are the
/// tokens of columns that have different tokens.
fn rows(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let text = log_rows::decoded_lines(decode, context)?;
    let streams = context.streams(&["colids", "value_index", "values", LINES])?;
    let mut lines = streams.read(LINES);
    let holes = lines.size("holes of a line")?;
    let whole = lines.size("column of whole lines")?;
    let mut columns = TokenColumns::parse(&streams, 0)?;
    let differ = columns.differ();
    let mut ids = streams.read("colids");
    let mut templates: HashMap<Vec<usize>, usize> = HashMap::new();
    let (mut record, mut vars) = (Vec::new(), Vec::new());
    for line in text.split(|&byte| byte == b'\n') {
        record.clear();
        vars.clear();
        for _ in 0..holes {
            let (column, token) = columns.token(&mut ids)?;
            record.push(column);
            if differ.get(column).copied().unwrap_or_default() {
                vars.push(token);
            }
        }
        if record.first() == Some(&whole) {
            log_rows::put_row(None, line, &[], out)?;
            continue;
        }
        let next = templates.len();
        let template = *templates.entry_ref(&record[..]).or_insert(next);
        log_rows::put_row(Some(template), line, &vars, out)?;
    }
    Ok(())
}
