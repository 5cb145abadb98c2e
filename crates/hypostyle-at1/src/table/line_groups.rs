//! Cuts the lines of an archive where row groups start.

use std::ops::Range;

use bytes::Bytes;
use memchr::memchr;

use crate::row_groups::frame_tables::FrameTables;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::text::{TextFormat, TextKind};

/// Which lines are rows of the table.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowLines {
    pub(super) header: bool,
    is_json: bool,
    /// Whether an empty line is a row, because the table has one column.
    blank_is_row: bool,
    /// Whether the header at the start of an appended frame is not a row.
    pub(super) skips_repeated_headers: bool,
}

impl RowLines {
    pub(super) fn new(format: TextFormat, columns: usize) -> Self {
        let is_json = format.kind == TextKind::JsonLines;
        Self {
            header: format.header && !is_json,
            is_json,
            blank_is_row: columns == 1 && !is_json,
            skips_repeated_headers: false,
        }
    }

    /// Returns whether a verbatim line that is not a header is a row.
    fn is_row(self, line: &[u8]) -> bool {
        match self.is_json {
            true => !line.trim_ascii().is_empty(),
            false => self.blank_is_row || !matches!(line, b"" | b"\r"),
        }
    }
}

/// Lines of a frame that are read together.
///
/// They use one row group of each table of the frame.
#[derive(Debug)]
pub(super) struct LineGroup {
    pub(super) frame: usize,
    pub(super) rows: usize,
    /// The number of rows before these.
    pub(super) first_row: u64,
    /// The number of rows that are verbatim lines.
    pub(super) verbatim_rows: usize,
    /// The tables that have rows here.
    pub(super) parts: Vec<TablePart>,
    lines: Range<usize>,
    /// The offset of the first verbatim line of these lines.
    verbatim: usize,
}

/// Rows of a table, all in one row group.
#[derive(Clone, Debug)]
pub(super) struct TablePart {
    pub(super) table: usize,
    /// The row group.
    pub(super) group: usize,
    /// The rows, counted from the first row of the row group.
    pub(super) rows: Range<usize>,
}

/// Where the rows of a [`LineGroup`] come from.
#[derive(Debug)]
pub(super) struct RowSources {
    /// For each row the index of its table plus one, or 0 for a verbatim line.
    pub(super) sources: Vec<u8>,
    /// The verbatim lines that are rows.
    pub(super) verbatim: Vec<Range<usize>>,
}

/// The verbatim lines of a frame, one after the other.
struct VerbatimCursor<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl VerbatimCursor<'_> {
    fn next(&mut self) -> Result<Range<usize>> {
        let Some(rest) = self.bytes.get(self.at..) else {
            let err = Error::malformed("verbatim line", "is missing: the list has ended");
            return Err(err.at(self.bytes.len() as u64).in_stream("verbatim"));
        };
        let end = self.at + memchr(b'\n', rest).unwrap_or(rest.len());
        let line = self.at..end;
        self.at = end + 1;
        Ok(line)
    }

    fn line(&mut self) -> Result<&[u8]> {
        let line = self.next()?;
        Ok(self.bytes.get(line).unwrap_or_default())
    }
}

/// Cuts the lines of all frames where row groups start.
pub(super) fn line_groups(frames: &[FrameTables], rows: RowLines) -> Result<Vec<LineGroup>> {
    let mut groups: Vec<LineGroup> = Vec::new();
    let (mut header_line, mut is_header_next) = (None, rows.header);
    for (nth, frame) in frames.iter().enumerate() {
        let verbatim = VerbatimCursor { bytes: &frame.verbatim, at: 0 };
        let next_row = vec![0; frame.tables.len()];
        let mut cut = FrameCut { nth, frame, rows, verbatim, next_row, groups: &mut groups };
        let mut at = 0;
        if let Some(&source) = frame.map.first()
            && source == 0
            && !is_header_next
            && rows.skips_repeated_headers
            && header_line.as_deref().is_some_and(|header: &[u8]| {
                let line = memchr(b'\n', &frame.verbatim).unwrap_or(frame.verbatim.len());
                frame.verbatim.get(..line) == Some(header)
            })
        {
            cut.verbatim.next()?;
            at = 1;
        }
        while is_header_next && let Some(&source) = frame.map.get(at) {
            at += 1;
            match usize::from(source).checked_sub(1) {
                None => {
                    let line = cut.verbatim.line()?;
                    // Blank lines before the header are not rows.
                    is_header_next = matches!(line, b"" | b"\r");
                    header_line = Some(line.to_vec());
                }
                Some(table) => {
                    is_header_next = false;
                    if let Some(next) = cut.next_row.get_mut(table) {
                        *next += 1;
                    }
                }
            }
        }
        cut.lines(at)?;
    }
    let mut first_row = 0_u64;
    for group in &mut groups {
        group.first_row = first_row;
        first_row = first_row.saturating_add(group.rows as u64);
    }
    Ok(groups)
}

/// Cuts the lines of one frame.
struct FrameCut<'a> {
    nth: usize,
    frame: &'a FrameTables,
    rows: RowLines,
    verbatim: VerbatimCursor<'a>,
    /// The next row of each table.
    next_row: Vec<usize>,
    groups: &'a mut Vec<LineGroup>,
}

/// The lines that the next group has so far.
struct OpenLines {
    start: usize,
    first_rows: Vec<usize>,
    verbatim: usize,
    rows: usize,
    verbatim_rows: usize,
}

impl FrameCut<'_> {
    fn open(&self, start: usize) -> OpenLines {
        let (first_rows, verbatim) = (self.next_row.clone(), self.verbatim.at);
        OpenLines { start, first_rows, verbatim, rows: 0, verbatim_rows: 0 }
    }

    fn lines(&mut self, start: usize) -> Result<()> {
        let map = self.frame.map.clone();
        let mut open = self.open(start);
        let mut at = start;
        while let Some(&source) = map.get(at) {
            let rest = map.get(at..).unwrap_or_default();
            let mut run = rest.iter().position(|&next| next != source).unwrap_or(rest.len());
            let Some(index) = usize::from(source).checked_sub(1) else {
                let rows = self.rows;
                for _ in 0..run {
                    let is_row = rows.is_row(self.verbatim.line()?);
                    open.verbatim_rows += usize::from(is_row);
                    open.rows += usize::from(is_row);
                }
                at += run;
                continue;
            };
            let Some(table) = self.frame.tables.get(index) else { return Err(no_table(index)) };
            while run > 0 {
                let row = self.next_row.get(index).copied().unwrap_or_default();
                if row >= table.rows {
                    return Err(too_many_rows(index, table.rows));
                }
                let within = row % table.meta.group_rows;
                if within == 0 && row > 0 {
                    self.close(open, at);
                    open = self.open(at);
                }
                let left = (table.meta.group_rows - within).min(table.rows - row);
                let taken = run.min(left);
                if let Some(next) = self.next_row.get_mut(index) {
                    *next += taken;
                }
                open.rows += taken;
                at += taken;
                run -= taken;
            }
        }
        self.close(open, map.len());
        Ok(())
    }

    fn close(&mut self, open: OpenLines, end: usize) {
        if open.rows == 0 {
            return;
        }
        let mut parts = Vec::new();
        let tables = self.frame.tables.iter().zip(open.first_rows.iter().zip(&self.next_row));
        for (table, (of_table, (&first, &next))) in tables.enumerate() {
            if next > first {
                let group = first / of_table.meta.group_rows;
                let before = group * of_table.meta.group_rows;
                parts.push(TablePart { table, group, rows: first - before..next - before });
            }
        }
        self.groups.push(LineGroup {
            frame: self.nth,
            rows: open.rows,
            first_row: 0,
            verbatim_rows: open.verbatim_rows,
            parts,
            lines: open.start..end,
            verbatim: open.verbatim,
        });
    }
}

impl LineGroup {
    /// Returns where each row comes from; `None` if all rows are those of one table.
    pub(super) fn sources(&self, frame: &FrameTables, rows: RowLines) -> Option<RowSources> {
        if self.verbatim_rows == 0 && self.parts.len() == 1 {
            return None;
        }
        let mut sources = Vec::with_capacity(self.rows);
        let verbatim = self.verbatim_lines(frame, rows);
        let mut lines = VerbatimCursor { bytes: &frame.verbatim, at: self.verbatim };
        for &source in frame.map.get(self.lines.clone()).unwrap_or_default() {
            // The lines were all found when the archive was opened.
            if source != 0 || lines.line().is_ok_and(|line| rows.is_row(line)) {
                sources.push(source);
            }
        }
        Some(RowSources { sources, verbatim })
    }

    /// Returns the places of the verbatim lines that are rows.
    pub(super) fn verbatim_lines(&self, frame: &FrameTables, rows: RowLines) -> Vec<Range<usize>> {
        let mut lines = VerbatimCursor { bytes: &frame.verbatim, at: self.verbatim };
        let mut found = Vec::with_capacity(self.verbatim_rows);
        while found.len() < self.verbatim_rows
            && let Ok(line) = lines.next()
        {
            if rows.is_row(frame.verbatim.get(line.clone()).unwrap_or_default()) {
                found.push(line);
            }
        }
        found
    }
}

/// Returns the error for a line map that names a table which does not exist.
#[cold]
fn no_table(index: usize) -> Error {
    Error::malformed("line map", format!("table {index} is out of range"))
}

/// Returns the error for a line map with more lines of a table than the table has rows.
#[cold]
fn too_many_rows(index: usize, rows: usize) -> Error {
    Error::malformed("line map", format!("names more rows of table {index} than its {rows}"))
}
