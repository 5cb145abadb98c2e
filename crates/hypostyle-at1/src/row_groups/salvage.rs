//! Recovers the lines of a damaged archive.

use std::collections::VecDeque;
use std::io::Write;

use super::damage::Damage;
use super::frame_tables::FrameTables;
use super::grouped_table::{GroupLines, GroupedTable};
use super::metadata::ArchiveMetadata;
use super::source::concurrent_reads;
use crate::codec::Codec;
use crate::container::Extent;
use crate::frames::FrameReader;
use crate::unpack::Unpacker;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

/// Bytes of text that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes the readable lines of a frame that the row groups of this module do not describe,
/// after so many lines; returns its number of lines and what is lost. Returns `None`, and
/// writes nothing, if the frame has no row groups.
pub(crate) type SalvageFrame =
    fn(&FrameReader, Extent, u64, &mut dyn Write) -> Result<Option<(u64, Vec<Damage>)>>;

/// Writes the lines of an archive that can still be read.
///
/// `salvage_columns` recovers the frames of codec columnar. The number of lines in a frame that
/// is lost as a whole is not known, so such lines are not counted.
pub(crate) fn salvage(
    frames: &FrameReader,
    salvage_columns: SalvageFrame,
    out: &mut dyn Write,
) -> Result<Vec<Damage>> {
    let mut damaged: Vec<Damage> = Vec::new();
    let (mut lines, mut good) = (0, 0);
    let (extents, cut) = frames.extents_until_error();
    for (nth, extent) in extents.into_iter().enumerate() {
        match salvage_frame(frames, extent, lines, salvage_columns, out) {
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
    lines_before: u64,
    salvage_columns: SalvageFrame,
    out: &mut dyn Write,
) -> Result<(u64, Vec<Damage>)> {
    if let Ok(Some(metadata)) = ArchiveMetadata::one(frames, extent)
        && let Ok(Some(tables)) = metadata.frames()
        && let [frame] = &tables[..]
    {
        let mut lines = FrameLines { metadata: &metadata, frame, damaged: Vec::new() };
        lines.write(lines_before, out)?;
        return Ok((frame.map.len() as u64, lines.damaged));
    }
    // A frame without row groups is either whole or lost.
    let mut text = Vec::new();
    if let Err(err) = Unpacker::new(frames).frame(extent, &mut text) {
        if frames.codec() != Codec::Columnar {
            return Err(err);
        }
        return match salvage_columns(frames, extent, lines_before, out) {
            Ok(Some(saved)) => Ok(saved),
            Err(failed) if matches!(failed.kind(), ErrorKind::Io(_)) => Err(failed),
            // What cannot be unpacked says more than what cannot be queried.
            _ => Err(err),
        };
    }
    out.write_all(&text)?;
    Ok((memchr::memchr_iter(b'\n', &text).count() as u64, Vec::new()))
}

/// The lines of a frame with row groups, without those of damaged groups.
struct FrameLines<'a> {
    metadata: &'a ArchiveMetadata<'a>,
    frame: &'a FrameTables,
    damaged: Vec<Damage>,
}

/// The lines of a group, or the index of the damage that lost them.
type Readable = Result<GroupLines, usize>;

/// How far the rows of a table have been written.
struct TableProgress {
    /// The next row of the table.
    row: usize,
    /// The next group to read.
    group: usize,
    ready: VecDeque<Readable>,
    current: Readable,
}

impl FrameLines<'_> {
    /// Writes all readable lines in order.
    fn write(&mut self, lines_before: u64, out: &mut dyn Write) -> Result<()> {
        let frame = self.frame;
        let start = || TableProgress {
            row: 0,
            group: 0,
            ready: VecDeque::new(),
            current: Ok(GroupLines::default()),
        };
        let mut tables: Vec<TableProgress> = frame.tables.iter().map(|_| start()).collect();
        let mut verbatim = frame.verbatim_lines();
        let mut text = Vec::new();
        for (line, &number) in (1_u64..).zip(frame.map.iter()) {
            match usize::from(number).checked_sub(1) {
                None => {
                    text.extend_from_slice(verbatim.line("verbatim line")?);
                    text.push(b'\n');
                }
                Some(index) => {
                    let (Some(table), Some(progress)) =
                        (frame.tables.get(index), tables.get_mut(index))
                    else {
                        let why = format!("table {index} is out of range");
                        return Err(Error::malformed("line map", why));
                    };
                    let line = lines_before.saturating_add(line);
                    self.row(table, index, progress, line, &mut text)?;
                }
            }
            if text.len() >= BUFFER_BYTES {
                out.write_all(&text)?;
                text.clear();
            }
        }
        Ok(out.write_all(&text)?)
    }

    /// Appends the next row of a table, which is the line of this number.
    fn row(
        &mut self,
        table: &GroupedTable,
        index: usize,
        progress: &mut TableProgress,
        line: u64,
        text: &mut Vec<u8>,
    ) -> Result<()> {
        if progress.row >= table.rows {
            let why = format!("names more rows of table {index} than its {}", table.rows);
            return Err(Error::malformed("line map", why));
        }
        let within = progress.row % table.meta.group_rows;
        if within == 0 {
            if progress.ready.is_empty() {
                self.read_groups(table, progress)?;
            }
            let next = progress.ready.pop_front();
            progress.current = next.unwrap_or_else(|| Ok(GroupLines::default()));
        }
        progress.row += 1;
        match &progress.current {
            Ok(lines) => text.extend_from_slice(lines.get(within).unwrap_or_default()),
            Err(damage) => {
                if let Some(damage) = self.damaged.get_mut(*damage) {
                    damage.add(line);
                }
            }
        }
        Ok(())
    }

    /// Reads the next groups of a table: twice as many as there are threads or concurrent
    /// reads.
    fn read_groups(&mut self, table: &GroupedTable, progress: &mut TableProgress) -> Result<()> {
        let source = self.metadata.source;
        let context = self.metadata.context(0);
        let threads = context.threads.max(concurrent_reads(source));
        let count = (threads * 2).min(table.groups.saturating_sub(progress.group));
        let groups: Vec<usize> = (progress.group..progress.group + count).collect();
        let work = |&group: &usize| Ok(table.read_lines(group, source, &context));
        parallel::for_each(&groups, threads, work, |group, lines| {
            progress.ready.push_back(match lines {
                Ok(lines) => Ok(lines),
                Err(err) if matches!(err.kind(), ErrorKind::Io(_)) => return Err(err),
                Err(err) => {
                    self.damaged.push(Damage::new(format!("group {group}: {err}")));
                    Err(self.damaged.len() - 1)
                }
            });
            Ok(())
        })?;
        progress.group += count;
        Ok(())
    }
}
