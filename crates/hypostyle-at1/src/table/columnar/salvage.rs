//! Recovers the lines of a damaged frame.

use std::io::Write;

use super::frame::{ColumnarFrame, FrameLines};
use super::group_cells::{DecodedGroup, GroupDecoder, SharedPieces};
use super::group_lines::GroupLines;
use crate::codecs::columnar::rows::{PrintedCells, RowTexts};
use crate::codecs::columnar::table::Quotes;
use crate::container::{Extent, Method};
use crate::frames::FrameReader;
use crate::row_groups::Damage;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

/// Bytes of text that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// Writes the readable lines of a frame; returns its number of lines and what is lost.
///
/// Row groups in which some column is damaged are lost, except their verbatim lines. Returns
/// `None`, and writes nothing, if the frame has no row groups.
///
/// # Errors
///
/// No row group can be read; then nothing is written either. Or writing fails.
pub(crate) fn salvage_frame(
    archive: &FrameReader,
    extent: Extent,
    lines_before: u64,
    out: &mut dyn Write,
) -> Result<Option<(u64, Vec<Damage>)>> {
    if extent.method == Method::Raw {
        return Ok(None);
    }
    let Some(mut frame) = ColumnarFrame::read(archive, extent, None)? else { return Ok(None) };
    let Some(lines) = ColumnarFrame::read_lines(archive, extent)? else { return Ok(None) };
    let Some(groups) = frame.group_lines()?.filter(|_| frame.directory.is_some()) else {
        return Ok(None);
    };
    frame.name_columns(lines.names(&frame));
    let reader = GroupReader { archive, frame: &frame, shared: SharedPieces::new() };
    let numbers: Vec<usize> = (0..groups.len()).collect();
    let mut writer = LineWriter::new(&frame, &lines, lines_before, out);
    let work = |&group: &usize| match reader.read(group) {
        Err(err) if matches!(err.kind(), ErrorKind::Io(_)) => Err(err),
        read => Ok(read),
    };
    parallel::for_each(&numbers, lines.threads, work, |&group, rows| match groups.get(group) {
        Some(lines) => writer.group(lines, rows),
        None => Ok(()),
    })?;
    writer.finish().map(Some)
}

/// Reads the rows of row groups.
struct GroupReader<'a> {
    archive: &'a FrameReader,
    frame: &'a ColumnarFrame,
    shared: SharedPieces,
}

impl GroupReader<'_> {
    fn read(&self, group: usize) -> Result<RowTexts> {
        let GroupReader { archive, frame, shared } = self;
        let decoder = GroupDecoder { archive, shared, frame, place: (0, group), threads: 1 };
        let columns: Vec<usize> = (0..frame.layout.columns.len()).collect();
        let decoded = decoder.decode(&columns, &mut DecodedGroup::default())?;
        let first = frame.groups().before(group);
        let rows = frame.groups().cells_between(group, group.saturating_add(1));
        let mut printed = Vec::with_capacity(columns.len());
        for (column, cells) in &decoded {
            let mode = frame.layout.columns.get(*column).map_or(0, |stored| stored.quotes);
            let quotes = match mode {
                0 => Quotes::None,
                1 => Quotes::All,
                _ => match frame.quote_bits(*column, frame.layout.structured) {
                    Some(bits) => Quotes::Some(bits),
                    None => return Err(Error::malformed("quote bits", "are too few")),
                },
            };
            printed.push(PrintedCells::new(&cells.column, cells.cells.start, first, quotes));
        }
        let limits = archive.limits();
        let limit = limits.output_bytes.min(limits.read_bytes);
        RowTexts::print(&printed, &frame.layout.delimiter, rows, limit)
    }
}

/// Writes lines in order, once one row group could be read.
struct LineWriter<'a> {
    frame: &'a ColumnarFrame,
    out: &'a mut dyn Write,
    text: Vec<u8>,
    /// The number of the next line in the text.
    line: u64,
    lines_before: u64,
    /// The lines of the frame that are left.
    left: usize,
    has_rows: bool,
    first_error: Option<Error>,
    damaged: Vec<Damage>,
}

impl<'a> LineWriter<'a> {
    fn new(
        frame: &'a ColumnarFrame,
        lines: &FrameLines,
        lines_before: u64,
        out: &'a mut dyn Write,
    ) -> Self {
        let layout = &lines.layout;
        let left = layout.structured + layout.modes.iter().filter(|&&mode| mode == 0).count();
        let (line, text) = (lines_before.saturating_add(1), Vec::new());
        let (first_error, damaged) = (None, Vec::new());
        let has_rows = false;
        let mut writer =
            Self { frame, out, text, line, lines_before, left, has_rows, first_error, damaged };
        if layout.has_header {
            writer.left += 1;
            writer.put(&lines.header);
        }
        writer
    }

    /// Appends the next line.
    fn put(&mut self, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.pass();
        if self.left > 0 || self.frame.layout.trailing {
            self.text.push(b'\n');
        }
    }

    /// Counts a line.
    fn pass(&mut self) {
        self.line = self.line.saturating_add(1);
        self.left = self.left.saturating_sub(1);
    }

    /// Writes the lines of a row group.
    fn group(&mut self, lines: &GroupLines, rows: Result<RowTexts>) -> Result<()> {
        let rows = match rows {
            Ok(rows) => {
                self.has_rows = true;
                Some(rows)
            }
            Err(err) => {
                self.damaged.push(Damage::new(err.to_string()));
                self.first_error.get_or_insert(err);
                None
            }
        };
        let frame = self.frame;
        let mut texts = rows.iter().flat_map(RowTexts::iter);
        let mut verbatim = lines.verbatim.iter();
        for line in lines.lines.clone() {
            if frame.layout.modes.get(line) == Some(&0) {
                let place = verbatim.next().cloned().unwrap_or_default();
                self.put(frame.verbatim.get(place).unwrap_or_default());
            } else if rows.is_some() {
                self.put(texts.next().unwrap_or_default());
            } else {
                let line = self.line;
                self.damaged.iter_mut().next_back().into_iter().for_each(|it| it.add(line));
                self.pass();
            }
        }
        if self.has_rows && self.text.len() >= BUFFER_BYTES {
            self.out.write_all(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }

    /// Writes what is left; returns the number of lines and what is lost.
    fn finish(self) -> Result<(u64, Vec<Damage>)> {
        if let (Some(err), false) = (self.first_error, self.has_rows) {
            return Err(err);
        }
        self.out.write_all(&self.text)?;
        let lines = self.line.saturating_sub(self.lines_before).saturating_sub(1);
        // A line that continues in the next frame is counted there.
        let open = u64::from(!self.frame.layout.trailing);
        Ok((lines.saturating_sub(open), self.damaged))
    }
}
