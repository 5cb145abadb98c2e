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

use super::columns::Columns;
use super::{Job, flag};
use crate::error::Result;
use crate::formats::at1::output::Output;

const STREAMS: [&str; 4] = ["skeleton", "colids", "value_index", "values"];

/// Writes the document.
pub(super) fn decode(job: &Job<'_>, out: &mut Output<'_>) -> Result<()> {
    let form = job.streams(&["meta"])?.read("meta").u8("form")?;
    if !flag(form, "the form of the document", "meta", job)? {
        return out.put(job.streams(&["raw"])?.bytes("raw"));
    }
    let streams = job.streams(&STREAMS)?;
    let mut columns = Columns::parse(&streams, 0)?;
    let mut ids = streams.read("colids");
    let mut parts = streams.bytes("skeleton").split(|&byte| byte == 0);
    out.put(parts.next().unwrap_or_default())?;
    for part in parts {
        let (_, token) = columns.token(&mut ids)?;
        out.put(token)?;
        out.put(part)?;
    }
    Ok(())
}
