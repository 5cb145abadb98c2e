//! What is left of a damaged archive.

use std::io::Write;

use super::metadata::ArchiveMetadata;
use super::plan::QueryPlan;
use super::{Damage, Query};
use crate::archive::Archive;
use crate::container::Extent;
use hypostyle_core::error::{Error, ErrorKind, Result};

/// Writes the lines of an archive that can still be read.
///
/// Lines of frames that are lost altogether are not counted: nobody knows how many
/// they were.
pub(super) fn salvage(archive: &Archive, out: &mut dyn Write) -> Result<Vec<Damage>> {
    let query = Query::default().with_skip_damaged(true);
    let mut damaged: Vec<Damage> = Vec::new();
    let (mut lines, mut good) = (0, 0);
    let (extents, cut) = archive.extents_so_far();
    for (nth, extent) in extents.into_iter().enumerate() {
        match frame(archive, extent, &query, lines, out) {
            Ok((more, found)) => {
                (lines, good) = (lines + more, good + 1);
                damaged.extend(found);
            }
            // What cannot be written is no fault of the archive.
            Err(err) if matches!(err.kind(), ErrorKind::Io(_)) => return Err(err),
            Err(err) => damaged.push(Damage::new(format!("frame {nth}: {err}"))),
        }
    }
    damaged.extend(cut.map(|err| Damage::new(format!("frame {}: {err}", good + damaged.len()))));
    match damaged.first() {
        Some(first) if good == 0 => {
            Err(Error::malformed("archive", format!("nothing is left: {}", first.what)))
        }
        _ => Ok(damaged),
    }
}

/// Writes what is left of a frame; says how many lines it had, and what is lost.
fn frame(
    archive: &Archive,
    extent: Extent,
    query: &Query,
    lines_before: u64,
    out: &mut dyn Write,
) -> Result<(u64, Vec<Damage>)> {
    let metadata = ArchiveMetadata::one(archive, extent).ok().flatten();
    let plan = metadata.as_ref().map(|metadata| QueryPlan::exact(metadata, query, lines_before));
    if let Some(Ok(Some(plan))) = plan {
        let stats = plan.run(out)?;
        return Ok((plan.lines(), stats.damaged));
    }
    // Other codecs are whole, or lost.
    let mut text = Vec::new();
    archive.frame_text(extent, &mut text)?;
    out.write_all(&text)?;
    Ok((memchr::memchr_iter(b'\n', &text).count() as u64, Vec::new()))
}
