//! Assembles rows from columns (§5.4), in parallel ranges.
//!
//! Each column has its own cursor, which depends on how many cells the rows before took. A
//! fast pass over the modes and field counts finds the cursors at the start of every range
//! of rows. The ranges are then assembled in parallel.

use std::ops::Range;

use super::column::{CellCursor, DecodedColumn, bit};
use super::inline_column::InlineColumn;
use super::table::{Quotes, TableMeta};
use crate::codecs::context::DecodeContext;
use crate::codecs::line_flags::check_modes;
use crate::output::Output;
use crate::row_buffer::{InlineCell, PaddedDict, RowBuffer};
use crate::streams::{LineList, StreamCursor, Streams};
use hypostyle_core::buffer_pool::BufferPool;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;

/// The smallest number of rows in a range.
const RANGE_ROWS: usize = 4 << 10;

/// The number of inline cells that are prepared before they are copied into rows.
const BATCH_CELLS: usize = 1200;

/// The parts of a table that rows are assembled from.
struct RowAssembler<'a> {
    meta: &'a TableMeta<'a>,
    columns: &'a [DecodedColumn],
    quotes: &'a [Quotes<'a>],
    modes: &'a [u8],
    /// The columns of short cells, if the delimiter has one byte.
    inline: Vec<Option<InlineColumn<'a>>>,
    /// Runs of columns that are all inline, or all not.
    runs: Vec<Range<usize>>,
    /// A dictionary with one entry, the delimiter.
    delimiter: PaddedDict,
}

/// A range of rows, and the cursors at its start.
#[derive(Clone)]
struct RangeStart<'a> {
    rows: Range<usize>,
    /// Whether all rows are structured and have a cell in every column.
    is_full: bool,
    verbatim: LineList<'a>,
    fields: StreamCursor<'a>,
    cursors: Vec<usize>,
}

/// A range of rows, and how much of it has been written.
struct RangeWriter<'a> {
    rows: Range<usize>,
    is_full: bool,
    verbatim: LineList<'a>,
    fields: StreamCursor<'a>,
    columns: Vec<QuotedCells<'a>>,
    /// The number of cells of the first row that have been written, and of all its cells.
    done: usize,
    width: usize,
}

/// A cursor over the cells of a column that adds their quotes.
struct QuotedCells<'a> {
    cells: CellCursor<'a>,
    quotes: &'a Quotes<'a>,
    /// The index of the next cell.
    next: usize,
}

impl QuotedCells<'_> {
    /// Appends the next cell; `false` if there is none.
    #[inline]
    fn put(&mut self, buffer: &mut RowBuffer) -> bool {
        let quoted = match self.quotes {
            Quotes::None => false,
            Quotes::All => true,
            Quotes::Some(bits) => bit(bits, self.next),
        };
        self.next += 1;
        if !quoted {
            return self.cells.put(buffer);
        }
        buffer.byte(b'"');
        let start = buffer.len();
        let found = self.cells.put(buffer);
        buffer.end_quotes(start);
        found
    }
}

/// Writes the header and all rows.
pub(super) fn write(
    streams: &Streams,
    meta: &TableMeta<'_>,
    columns: &[DecodedColumn],
    quotes: &[Quotes<'_>],
    context: &DecodeContext<'_>,
    out: &mut Output<'_>,
) -> Result<()> {
    let rows = usize::try_from(meta.rows).unwrap_or(usize::MAX);
    let Some(modes) = streams.bytes("row_modes").get(..rows) else {
        let have = streams.bytes("row_modes").len();
        let why = format!("has {have} bytes for {} rows", meta.rows);
        return Err(Error::malformed("row modes", why).in_stream("row_modes"));
    };
    check_modes(modes, "row_modes", context)?;
    let delimiter = [meta.delimiter].into_iter().collect();
    let inline = inline_columns(meta, columns, quotes, context.threads)?;
    let runs = runs(&inline);
    let assembler = RowAssembler { meta, columns, quotes, modes, inline, runs, delimiter };
    if meta.has_header {
        out.put(streams.bytes("header"))?;
    }
    let start = RangeStart {
        rows: 0..0,
        is_full: false,
        verbatim: streams.read("verbatim").lines(),
        fields: streams.read("fieldcounts"),
        cursors: vec![0; columns.len()],
    };
    let starts = assembler.starts(start, context)?;
    let buffers = BufferPool::<RowBuffer>::default();
    let decode = |start| {
        let mut writing = assembler.start(start);
        let mut buffer = buffers.take();
        assembler.fill(&mut writing, &mut buffer)?;
        Ok((writing, buffer))
    };
    parallel::for_each(&starts, context.threads, decode, |_, (mut writing, mut buffer)| {
        out.put(buffer.text())?;
        while !writing.rows.is_empty() {
            buffer.clear();
            assembler.fill(&mut writing, &mut buffer)?;
            out.put(buffer.text())?;
        }
        buffer.clear();
        buffers.give(buffer);
        Ok(())
    })?;
    if meta.trailing {
        out.byte(b'\n')?;
    }
    Ok(())
}

/// Returns the columns that have only short cells, each with the byte before its cells.
fn inline_columns<'a>(
    meta: &TableMeta<'_>,
    columns: &'a [DecodedColumn],
    quotes: &[Quotes<'_>],
    threads: usize,
) -> Result<Vec<Option<InlineColumn<'a>>>> {
    let &[delimiter] = meta.delimiter else { return Ok(Vec::new()) };
    let leads = std::iter::once(b'\n').chain(std::iter::repeat(delimiter));
    let columns: Vec<_> = columns.iter().zip(quotes).zip(leads).collect();
    parallel::map(&columns, threads, |&((column, quotes), lead)| {
        Ok(InlineColumn::new(column, quotes, lead))
    })
}

/// Splits the columns into runs that are all inline, or all not.
fn runs(inline: &[Option<InlineColumn<'_>>]) -> Vec<Range<usize>> {
    let mut start = 0;
    let same = inline.chunk_by(|one, next| one.is_some() == next.is_some());
    let run = |run: &[_]| {
        let end = start + run.len();
        std::mem::replace(&mut start, end)..end
    };
    same.map(run).collect()
}

impl<'a> RowAssembler<'a> {
    /// The number of rows in a range; wide tables have more, so that cursors take little
    /// memory in comparison.
    fn range_rows(&self) -> usize {
        RANGE_ROWS.max(self.columns.len())
    }

    /// Finds the cursors at the start of each range.
    fn starts(
        &self,
        start: RangeStart<'a>,
        context: &DecodeContext<'_>,
    ) -> Result<Vec<RangeStart<'a>>> {
        let mut starts = Vec::with_capacity(self.modes.len() / self.range_rows() + 1);
        let mut next = start;
        for modes in self.modes.chunks(self.range_rows()) {
            next.rows = next.rows.end..next.rows.end + modes.len();
            next.is_full = self.is_full(modes, &next.fields);
            starts.push(next.clone());
            if next.is_full {
                next.fields.take(modes.len(), "field counts")?;
                for cursor in &mut next.cursors {
                    *cursor += modes.len();
                }
                continue;
            }
            for (&mode, row) in modes.iter().zip(next.rows.clone()) {
                self.step(mode, row, &mut next, context)?;
            }
        }
        Ok(starts)
    }

    /// Returns whether rows of these modes are structured and have a cell in every column.
    fn is_full(&self, modes: &[u8], fields: &StreamCursor<'_>) -> bool {
        let Ok(all) = u8::try_from(self.columns.len()) else { return false };
        let counts = fields.clone().take(modes.len(), "field counts").unwrap_or_default();
        // A count above 127 takes more than a byte.
        all < 0x80
            && counts.len() == modes.len()
            && modes.iter().all(|&mode| mode != 0)
            && counts.iter().all(|&count| count == all)
    }

    /// Advances the cursors by one row.
    fn step(
        &self,
        mode: u8,
        row: usize,
        next: &mut RangeStart<'a>,
        context: &DecodeContext<'_>,
    ) -> Result<()> {
        if mode == 0 {
            if next.verbatim.next().is_none() {
                let message = "lines are missing in `verbatim`; they are read as empty";
                context.deviations.report("A20", context.offset_of("verbatim"), message)?;
            }
            return Ok(());
        }
        let at = next.fields.clone();
        let fields = next.fields.size("field count").map_err(|err| err.in_row(row as u64))?;
        let Some(cursors) = next.cursors.get_mut(..fields) else {
            let why = format!("{fields} fields where there are {} columns", self.columns.len());
            return Err(at.malformed("field count", why).in_row(row as u64));
        };
        for cursor in cursors {
            *cursor += 1;
        }
        Ok(())
    }

    fn start(&'a self, start: &RangeStart<'a>) -> RangeWriter<'a> {
        let RangeStart { rows, is_full, verbatim, fields, cursors } = start.clone();
        let columns = self.columns.iter().zip(self.quotes).zip(cursors);
        let columns = columns.map(|((column, quotes), next)| QuotedCells {
            cells: column.from(next),
            quotes,
            next,
        });
        let columns = columns.collect();
        RangeWriter { rows, is_full, verbatim, fields, columns, done: 0, width: 0 }
    }

    /// Appends rows, each after a newline, until they end or the buffer is full.
    fn fill(&'a self, writing: &mut RangeWriter<'a>, buffer: &mut RowBuffer) -> Result<()> {
        if writing.is_full && writing.done == 0 && !self.inline.is_empty() {
            self.fill_inline(writing, buffer)?;
        }
        let RangeWriter { rows, is_full, verbatim, fields, columns, done, width } = writing;
        let modes = self.modes.get(rows.clone()).unwrap_or_default();
        buffer.reserve(modes.len().saturating_mul(64));
        let delimiter = self.delimiter.get(0).unwrap_or_default();
        for &mode in modes {
            if buffer.is_full() {
                break;
            }
            if *done == 0 && (rows.start > 0 || self.meta.has_header) {
                buffer.byte(b'\n');
            }
            if mode == 0 {
                buffer.put(verbatim.next().unwrap_or_default());
            } else {
                if *done == 0 {
                    *width = if *is_full { columns.len() } else { fields.size("field count")? };
                }
                let cells = columns.get_mut(..*width).unwrap_or_default();
                for (index, cells) in cells.iter_mut().enumerate().skip(*done) {
                    if index > 0 {
                        buffer.entry(delimiter);
                    }
                    if !cells.put(buffer) {
                        return Err(self.too_few(index, rows.start));
                    }
                    *done = index + 1;
                    if buffer.is_full() {
                        break;
                    }
                }
                if *done < *width {
                    break;
                }
                *done = 0;
            }
            rows.start += 1;
        }
        Ok(())
    }

    /// Appends rows that have a cell in every column, with short cells as inline cells.
    ///
    /// Stops where a column has too few cells, so that [`RowAssembler::fill`] reports it.
    fn fill_inline(&'a self, writing: &mut RangeWriter<'a>, buffer: &mut RowBuffer) -> Result<()> {
        let RangeWriter { rows, columns, .. } = writing;
        let width = columns.len();
        let batch_rows =
            (BATCH_CELLS / width).clamp(1, InlineColumn::MAX_ROWS).min(rows.len().max(1));
        let mut slots = vec![InlineCell::default(); batch_rows * width];
        buffer.reserve(rows.len().saturating_mul(64));
        'batches: while rows.start < rows.end && !buffer.is_full() {
            let count = batch_rows.min(rows.len());
            for (index, (inline, feed)) in self.inline.iter().zip(&*columns).enumerate() {
                let slots = slots.iter_mut().skip(index).step_by(width);
                if inline.as_ref().is_some_and(|inline| !inline.lay(feed.next, count, slots)) {
                    break 'batches;
                }
            }
            if rows.start == 0
                && !self.meta.has_header
                && let Some(first) = slots.first_mut()
            {
                *first = first.without_lead();
            }
            let before = rows.start;
            for slots in slots.chunks_exact(width).take(count) {
                self.put_row(slots, columns, rows.start, buffer)?;
                rows.start += 1;
                if buffer.is_full() {
                    break;
                }
            }
            for (feed, _) in columns.iter_mut().zip(&self.inline).filter(|it| it.1.is_some()) {
                feed.next += rows.start - before;
            }
        }
        // The cursors of inline columns were not advanced.
        for ((feed, inline), column) in columns.iter_mut().zip(&self.inline).zip(self.columns) {
            if inline.is_some() {
                feed.cells = column.from(feed.next);
            }
        }
        Ok(())
    }

    /// Appends a row whose short cells are inline cells.
    #[inline]
    fn put_row(
        &self,
        slots: &[InlineCell],
        columns: &mut [QuotedCells<'_>],
        row: usize,
        buffer: &mut RowBuffer,
    ) -> Result<()> {
        for run in &self.runs {
            if self.inline.get(run.start).is_some_and(Option::is_some) {
                buffer.inline_cells(slots.get(run.clone()).unwrap_or_default());
                continue;
            }
            let feeds = columns.get_mut(run.clone()).unwrap_or_default();
            for (index, feed) in run.clone().zip(feeds) {
                match (index, self.meta.delimiter) {
                    (0, _) if row == 0 && !self.meta.has_header => {}
                    (0, _) => buffer.byte(b'\n'),
                    (_, delimiter) => buffer.put(delimiter),
                }
                if !feed.put(buffer) {
                    return Err(self.too_few(index, row));
                }
            }
        }
        Ok(())
    }

    fn too_few(&self, index: usize, row: usize) -> Error {
        let cells = self.columns.get(index).map_or(0, DecodedColumn::len);
        Error::malformed("column", format!("has only {cells} cells"))
            .in_row(row as u64)
            .in_column(index, "")
            .in_stream("values")
    }
}

/// Cells of a column that are printed with their quotes.
pub(crate) struct PrintedCells<'a> {
    column: &'a DecodedColumn,
    first: usize,
    quotes: Quotes<'a>,
    /// The number of the first cell in the whole column, which selects its quote bit.
    number: usize,
}

impl<'a> PrintedCells<'a> {
    /// Returns the cells of a column from `first` on, which is cell `number` of the chunk.
    pub(crate) fn new(
        column: &'a DecodedColumn,
        first: usize,
        number: usize,
        quotes: Quotes<'a>,
    ) -> Self {
        Self { column, first, quotes, number }
    }
}

/// The texts of some rows.
#[derive(Debug)]
pub(crate) struct RowTexts {
    text: Vec<u8>,
    /// The end of each row.
    ends: Vec<usize>,
}

impl RowTexts {
    /// Prints rows that have a cell in each of these columns.
    ///
    /// # Errors
    ///
    /// Fails if a column has too few cells, and if the text exceeds `limit` bytes.
    pub(crate) fn print(
        columns: &[PrintedCells<'_>],
        delimiter: &[u8],
        rows: usize,
        limit: u64,
    ) -> Result<Self> {
        let mut cursors: Vec<QuotedCells<'_>> = Vec::with_capacity(columns.len());
        for column in columns {
            let (quotes, next) = (&column.quotes, column.number);
            cursors.push(QuotedCells { cells: column.column.from(column.first), quotes, next });
        }
        let (mut text, mut ends) = (Vec::new(), Vec::new());
        let mut buffer = RowBuffer::default();
        for row in 0..rows {
            buffer.clear();
            for (index, cells) in cursors.iter_mut().enumerate() {
                if index > 0 {
                    buffer.put(delimiter);
                }
                if !cells.put(&mut buffer) {
                    return Err(Error::malformed("column", format!("has only {row} cells"))
                        .in_column(index, "")
                        .in_stream("values"));
                }
            }
            text.extend_from_slice(buffer.text());
            ends.push(text.len());
            let (what, asked) = ("size of the rows", text.len() as u64);
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
        }
        Ok(Self { text, ends })
    }

    /// Returns the rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let row = self.text.get(start..end).unwrap_or_default();
            start = end;
            row
        })
    }
}
