//! qcolumnar: delimited text in row groups (§6.1).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, delimiter lp, columns uv, rows per group uv, structured rows uv, groups uv, a type byte per column |
//! | `row_modes` | a byte per line: 0 verbatim, else structured |
//! | `verbatim` | list of the other lines |
//! | `index` | per group and column: block length uv, and a zone map by type |
//! | `blocks` | the blocks, in the order of the index |

use super::context::DecodeContext;
use super::entry::{CodecEntry, GroupedCodec};
use super::groups::{self, CellSeparators};
use crate::description::FrameInfo;
use crate::output::Output;
use hypostyle_core::error::Result;

pub(super) static ENTRY: CodecEntry = CodecEntry {
    describe: Some(describe),
    groups: Some(GroupedCodec { delimited: true, line_map: false, prefixes: groups::one_table }),
    ..CodecEntry::new(decode)
};

/// Writes the lines of one frame.
fn decode(context: &DecodeContext<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = context.streams(&groups::STREAMS)?;
    let meta = groups::GroupsMeta::read(&streams, "", true, context)?;
    let table = groups::RowGroups::new(&streams, "", &meta, context)?;
    groups::write(&table, &CellSeparators::delimited(&meta.delimiter, meta.columns), context, out)
}

fn describe(context: &DecodeContext<'_>) -> Result<Vec<FrameInfo>> {
    groups::describe(&groups::one_table(context)?, true, context)
}
