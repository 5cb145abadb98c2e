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

use super::context::DecodeContext;
use super::entry::CodecEntry;
use super::line_flags::flag;
use super::token_columns::TokenColumns;
use crate::output::Output;
use crate::row_buffer::RowBuffer;
use hypostyle_core::error::Result;

const STREAMS: [&str; 4] = ["skeleton", "colids", "value_index", "values"];

/// Bytes that are assembled before they are written.
const BUFFER_BYTES: usize = 128 << 10;

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

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
