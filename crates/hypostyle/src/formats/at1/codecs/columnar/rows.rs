//! Rows from columns (§5.4), many at a time.
//!
//! Each column has its own cursor, so a row can be put together only if it is
//! known how many cells the rows before it took. One quick pass over the modes
//! and field counts finds that out for the start of every range of rows; the
//! ranges are then put together in parallel.

use super::column::{Column, bit};
use super::{Job, Meta, Quotes};
use crate::error::{Error, Result};
use crate::formats::at1::output::Output;
use crate::formats::at1::streams::{Lines, Stream, Streams};
use crate::parallel;

/// Rows that are put together in one go.
const RANGE: usize = 16 << 10;

/// Everything that rows are made of.
struct Parts<'a> {
    meta: &'a Meta<'a>,
    columns: &'a [Column],
    quotes: &'a [Quotes<'a>],
    modes: &'a [u8],
    pad: bool,
}

/// What the rows before a range have used up.
#[derive(Clone)]
struct Start<'a> {
    row: usize,
    verbatim: Lines<'a>,
    fields: Stream<'a>,
    cursors: Vec<usize>,
}

/// Writes the header and all rows.
pub(super) fn write(
    streams: &Streams,
    meta: &Meta<'_>,
    columns: &[Column],
    quotes: &[Quotes<'_>],
    job: &Job<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let rows = usize::try_from(meta.rows).unwrap_or(usize::MAX);
    let Some(modes) = streams.bytes("row_modes").get(..rows) else {
        let have = streams.bytes("row_modes").len();
        let why = format!("has {have} bytes for {} rows", meta.rows);
        return Err(Error::malformed("row modes", why).in_stream("row_modes"));
    };
    let parts = Parts { meta, columns, quotes, modes, pad: job.pad };
    if meta.has_header {
        out.put(streams.bytes("header"))?;
    }
    let start = Start {
        row: 0,
        verbatim: streams.read("verbatim").lines(),
        fields: streams.read("fieldcounts"),
        cursors: vec![0; columns.len()],
    };
    let starts = parts.starts(start, job)?;
    let work = |index: usize| match starts.get(index) {
        Some(start) => parts.range(start.clone()),
        None => Err(Error::invalid_argument("no such range")),
    };
    parallel::in_order(starts.len(), job.threads, work, |_, text| out.put(&text))?;
    if meta.trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

impl<'a> Parts<'a> {
    /// Rows in a range: more for wide tables, so that cursors stay a small part.
    fn range_rows(&self) -> usize {
        RANGE.max(self.columns.len())
    }

    /// What each range starts with.
    fn starts(&self, start: Start<'a>, job: &Job<'_>) -> Result<Vec<Start<'a>>> {
        let mut starts = Vec::new();
        let mut now = start;
        for (row, &mode) in self.modes.iter().enumerate() {
            if row % self.range_rows() == 0 {
                now.row = row;
                starts.push(now.clone());
            }
            if mode == 0 {
                if now.verbatim.next().is_none() {
                    let message = "lines are missing in `verbatim`; they are read as empty";
                    job.deviations.report("A20", 0, message)?;
                }
                continue;
            }
            let at = now.fields.clone();
            let fields = now.fields.size("field count").map_err(|err| err.in_row(row as u64))?;
            let Some(cursors) = now.cursors.get_mut(..fields) else {
                let why = format!("{fields} fields where there are {} columns", self.columns.len());
                return Err(at.malformed("field count", why).in_row(row as u64));
            };
            for cursor in cursors {
                *cursor += 1;
            }
        }
        Ok(starts)
    }

    /// The text of a range of rows, each behind its newline.
    fn range(&self, mut now: Start<'a>) -> Result<Vec<u8>> {
        let end = now.row.saturating_add(self.range_rows()).min(self.modes.len());
        let modes = self.modes.get(now.row..end).unwrap_or_default();
        let mut out = Vec::with_capacity(modes.len() * 64);
        for (&mode, row) in modes.iter().zip(now.row..) {
            if row > 0 || self.meta.has_header {
                out.push(b'\n');
            }
            if mode == 0 {
                out.extend_from_slice(now.verbatim.next().unwrap_or_default());
                continue;
            }
            let fields = now.fields.size("field count")?;
            let cells = self.columns.iter().zip(self.quotes).zip(&mut now.cursors).take(fields);
            for (index, ((column, quotes), cursor)) in cells.enumerate() {
                if index > 0 {
                    out.extend_from_slice(self.meta.delimiter);
                }
                let quoted = match quotes {
                    Quotes::None => false,
                    Quotes::All => true,
                    Quotes::Some(bits) => bit(bits, *cursor),
                };
                let there = match quoted {
                    false => column.put(*cursor, &mut out),
                    true => put_quoted(column, *cursor, &mut out),
                };
                if !there {
                    let why = format!("there are only {} cells", column.len());
                    return Err(Error::malformed("column", why)
                        .in_row(row as u64)
                        .in_column(index, "")
                        .in_stream("values"));
                }
                *cursor += 1;
            }
            if self.pad {
                for _ in fields.max(1)..self.columns.len() {
                    out.extend_from_slice(self.meta.delimiter);
                }
            }
        }
        Ok(out)
    }
}

fn put_quoted(column: &Column, index: usize, out: &mut Vec<u8>) -> bool {
    let start = out.len() + 1;
    out.push(b'"');
    let there = column.put(index, out);
    // Quotes inside are rare: look first, and only then make room.
    if out.get(start..).unwrap_or_default().contains(&b'"') {
        let cell = out.split_off(start);
        for byte in cell {
            out.push(byte);
            if byte == b'"' {
                out.push(b'"');
            }
        }
    }
    out.push(b'"');
    there
}
