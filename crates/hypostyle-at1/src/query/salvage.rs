//! Recovers the lines of a damaged archive.

use std::io::Write;

use super::Query;
use super::metadata::ArchiveMetadata;
use super::plan::QueryPlan;
use super::stats::Damage;
use crate::container::Extent;
use crate::frames::FrameReader;
use crate::unpack::Unpacker;
use hypostyle_core::error::{Error, ErrorKind, Result};

/// Writes the lines of an archive that can still be read.
///
/// The number of lines in a frame that is lost as a whole is not known, so such lines
/// are not counted.
pub(crate) fn salvage(frames: &FrameReader, out: &mut dyn Write) -> Result<Vec<Damage>> {
    let query = Query::default().with_skip_damaged(true);
    let mut damaged: Vec<Damage> = Vec::new();
    let (mut lines, mut good) = (0, 0);
    let (extents, cut) = frames.extents_until_error();
    for (nth, extent) in extents.into_iter().enumerate() {
        match salvage_frame(frames, extent, &query, lines, out) {
            Ok((more, found)) => {
                (lines, good) = (lines + more, good + 1);
                damaged.extend(found);
            }
            // The output failed, not the archive.
            Err(err) if matches!(err.kind(), ErrorKind::Io(_)) => return Err(err),
            Err(err) => damaged.push(Damage::new(format!("frame {nth}: {err}"))),
        }
    }
    damaged.extend(cut.map(|err| Damage::new(format!("frame {}: {err}", good + damaged.len()))));
    match damaged.first() {
        Some(first) if good == 0 => {
            Err(Error::malformed("archive", format!("no line can be recovered: {}", first.what)))
        }
        _ => Ok(damaged),
    }
}

/// Writes the readable lines of a frame; returns its number of lines and what is lost.
fn salvage_frame(
    frames: &FrameReader,
    extent: Extent,
    query: &Query,
    lines_before: u64,
    out: &mut dyn Write,
) -> Result<(u64, Vec<Damage>)> {
    let metadata = ArchiveMetadata::one(frames, extent).ok().flatten();
    let plan = metadata.as_ref().map(|metadata| QueryPlan::exact(metadata, query, lines_before));
    if let Some(Ok(Some(plan))) = plan {
        let stats = plan.run(out)?;
        return Ok((plan.lines(), stats.damaged));
    }
    // A frame without row groups is either whole or lost.
    let mut text = Vec::new();
    Unpacker::new(frames).frame(extent, &mut text)?;
    out.write_all(&text)?;
    Ok((memchr::memchr_iter(b'\n', &text).count() as u64, Vec::new()))
}
