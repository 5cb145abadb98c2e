//! qjson: JSON Lines of one template in row groups (§6.2).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, columns uv, rows per group uv, structured rows uv, groups uv, a type byte per column |
//! | `template` | segments uv, which is columns + 1, then that many lp |
//! | `paths` | count uv, then that many lp: names for queries |
//! | `row_modes`, `verbatim`, `index`, `blocks` | as in qcolumnar |

use super::context::DecodeContext;
use super::entry::{CodecEntry, GroupedCodec};
use super::groups::{self, CellSeparators, GroupsMeta, RowGroups};
use crate::description::FrameInfo;
use crate::output::Output;
use crate::streams::Streams;
use hypostyle_core::error::Result;

pub(super) static ENTRY: CodecEntry = CodecEntry {
    describe: Some(describe),
    groups: Some(GroupedCodec { delimited: false, line_map: false, prefixes: groups::one_table }),
    ..CodecEntry::new(decode)
};

fn describe(context: &DecodeContext<'_>) -> Result<Vec<FrameInfo>> {
    groups::describe(&groups::one_table(context)?, false, context)
}

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&groups::STREAMS)?;
    decode_table(&streams, "", context, out)
}

/// Writes the lines of the table whose stream names start with `prefix`.
pub(super) fn decode_table(
    streams: &Streams,
    prefix: &str,
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let meta = GroupsMeta::read(streams, prefix, false, context)?;
    let name = format!("{prefix}template");
    let segments = segments(streams, &name, meta.columns)?;
    let table = RowGroups::new(streams, prefix, &meta, context)?;
    groups::write(&table, &CellSeparators::template(&segments), context, out)
}

/// Reads the segments of a template, one more than there are columns.
pub(crate) fn segments<'a>(
    streams: &'a Streams,
    name: &'a str,
    columns: usize,
) -> Result<Vec<&'a [u8]>> {
    let mut stream = streams.read(name);
    let at = stream.clone();
    let count = stream.count(1, "segment count")?;
    if Some(count) != columns.checked_add(1) {
        let why = format!("{count} segments around {columns} values");
        return Err(at.malformed("segment count", why));
    }
    (0..count).map(|_| stream.lp("segment")).collect()
}
