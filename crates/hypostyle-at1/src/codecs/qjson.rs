//! qjson: JSON Lines of one template in row groups (§6.2).
//!
//! | stream | content |
//! |---|---|
//! | `meta` | lines uv, trailing u8, columns uv, rows per group uv, structured rows uv, groups uv, a type byte per column |
//! | `template` | segments uv, which is columns + 1, then that many lp |
//! | `paths` | count uv, then that many lp: names for queries |
//! | `row_modes`, `verbatim`, `index`, `blocks` | as in qcolumnar |

use super::Job;
use super::groups::{self, Groups, Meta, Shape};
use crate::output::Output;
use crate::streams::Streams;
use hypostyle_core::error::Result;

/// Writes the lines of one frame.
pub(super) fn decode(job: &Job<'_>, out: &mut Output<'_>) -> Result<()> {
    let streams = job.streams(&groups::STREAMS)?;
    decode_set(&streams, "", job, out)
}

/// Writes the lines of the set whose stream names start with `prefix`.
pub(super) fn decode_set(
    streams: &Streams,
    prefix: &str,
    job: &Job<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let meta = Meta::read(streams, prefix, false, job)?;
    let name = format!("{prefix}template");
    let segments = segments(streams, &name, meta.columns)?;
    let table = Groups::new(streams, prefix, &meta, job)?;
    groups::write(&table, &Shape::template(&segments), job, out)
}

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
