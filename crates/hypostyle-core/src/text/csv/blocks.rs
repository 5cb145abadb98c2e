//! Reads the input in blocks of whole rows.

use std::fmt;
use std::io::Read;

use super::options::CsvOptions;
use super::split::{CellSpan, RowBlock, RowOutcome, Splitter};
use crate::buffer_pool::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::text::infer::Skipped;
use crate::text::input::{BOM, MAX_COLUMNS, MAX_ROW_BYTES, Progress};
use crate::text::options::{Encoding, Ragged};

/// Bytes of text that are split and typed together.
///
/// A block is small enough that its text and cells stay in a core's cache while one
/// column after the other is extracted.
const BLOCK_BYTES: usize = 512 << 10;

/// Bytes that each column adds to a block, so that blocks of wide tables have many rows.
const BYTES_PER_COLUMN: usize = 1 << 10;

/// Bytes that are read first; headers are rarely longer.
const HEADER_BYTES: usize = 64 << 10;

/// Sizes of reads and limits of rows.
///
/// Only tests change them, to avoid inputs of gigabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockSizes {
    pub(super) first: usize,
    pub(super) block: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
    pub(super) row: usize,
}

impl Default for BlockSizes {
    fn default() -> Self {
        Self {
            first: HEADER_BYTES,
            block: BLOCK_BYTES,
            column: BYTES_PER_COLUMN,
            columns: MAX_COLUMNS,
            row: MAX_ROW_BYTES,
        }
    }
}

/// Reads the input and cuts it into blocks of whole rows.
pub(super) struct BlockReader<'a> {
    input: &'a mut dyn Read,
    csv: &'a CsvOptions,
    splitter: Splitter,
    progress: Progress<'a>,
    sizes: BlockSizes,
    /// Blocks whose memory can be reused.
    pool: &'a BufferPool<RowBlock>,
    /// Text that was read but not yet split.
    pending: Vec<u8>,
    /// The offset of `pending` in the input.
    before: u64,
    read: u64,
    at_end: bool,
    width: usize,
    rows: u64,
    /// The number of cells of the last block, as an estimate for the next.
    cells_per_block: usize,
    /// Skip and record rows of another width instead of failing.
    pub(super) skip: bool,
    pub(super) skipped: Skipped,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(
        input: &'a mut dyn Read,
        csv: &'a CsvOptions,
        progress: Progress<'a>,
        sizes: BlockSizes,
        pool: &'a BufferPool<RowBlock>,
    ) -> Self {
        Self {
            input,
            csv,
            splitter: Splitter::new(csv.delimiter),
            progress,
            sizes,
            pool,
            pending: Vec::new(),
            before: 0,
            read: 0,
            at_end: false,
            width: 0,
            rows: 0,
            cells_per_block: 0,
            skip: false,
            skipped: Skipped::default(),
        }
    }

    /// Reads the first row and returns the column names.
    ///
    /// Without a header, the first row determines only the number of columns.
    pub(super) fn names(&mut self) -> Result<Vec<String>> {
        self.fill(self.sizes.first.max(BOM.len()))?;
        if self.pending.starts_with(BOM) {
            self.consume(BOM.len());
        }
        loop {
            let mut rows =
                RowBlock { text: std::mem::take(&mut self.pending), ..RowBlock::default() };
            let found = self.first_row(&mut rows);
            self.width = rows.cells.len();
            let name = |cell: &CellSpan| String::from_utf8_lossy(cell.bytes(&rows)).into_owned();
            let names: Vec<String> = match (&found, self.csv.header) {
                (Ok((_, Some(_))), true) => rows.cells.iter().map(name).collect(),
                _ => Vec::new(),
            };
            self.pending = rows.text;
            let (blank, next) = found?;
            match (next, self.csv.header) {
                (Some(next), true) => {
                    self.consume(next);
                    self.width = self.width.max(self.csv.columns);
                    let beyond = numbered(self.width).split_off(names.len());
                    return Ok(names.into_iter().chain(beyond).collect());
                }
                (Some(_), false) => {
                    self.width = self.width.max(self.csv.columns);
                    return Ok(numbered(self.width));
                }
                // Blank lines before the header are not rows.
                (None, true) => self.consume(blank),
                (None, false) => {}
            }
            if self.at_end && self.pending.is_empty() {
                return Err(Error::malformed("table", "is empty: it has no header"));
            }
            if self.at_end {
                // All lines are blank: the table has one column of nulls.
                self.width = 1;
                return Ok(numbered(1));
            }
            let more = self.more_than_pending(self.sizes.first)?;
            self.fill(more)?;
        }
    }

    /// Finds the first row that is not blank. Returns its start and, if the row is
    /// complete, the start of the next row; `rows.cells` then has only its cells.
    fn first_row(&self, rows: &mut RowBlock) -> Result<(usize, Option<usize>)> {
        let mut start = 0;
        loop {
            match self.splitter.row(rows, start, self.at_end) {
                RowOutcome::Row(row) if is_blank(&rows.cells, rows) => {
                    rows.cells.clear();
                    start = row.next;
                }
                RowOutcome::Row(row) => {
                    self.check_columns(row.cells)?;
                    return Ok((start, Some(row.next)));
                }
                RowOutcome::Partial { cells } => {
                    self.check_columns(cells)?;
                    return Ok((start, None));
                }
                RowOutcome::Bad { at, what, why, .. } => {
                    return Err(Error::malformed(what, why).at(self.input_offset(rows, at)));
                }
                RowOutcome::End => return Ok((start, None)),
            }
        }
    }

    fn check_columns(&self, count: usize) -> Result<()> {
        if count <= self.sizes.columns {
            return Ok(());
        }
        let (asked, limit) = (count as u64, self.sizes.columns as u64);
        Err(ErrorKind::LimitExceeded { what: "number of columns", asked, limit }.into())
    }

    /// Returns the next block of rows; `None` at the end of the input.
    pub(super) fn next(&mut self) -> Result<Option<RowBlock>> {
        let mut size = self.sizes.block.max(self.width.saturating_mul(self.sizes.column));
        loop {
            self.fill(size)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            let mut rows = self.pool.take();
            rows.reset(self.width, self.rows);
            std::mem::swap(&mut rows.text, &mut self.pending);
            rows.cells.reserve(self.cells_per_block);
            let end = self.split(&mut rows)?;
            if end == 0 {
                // The text has no complete row yet.
                std::mem::swap(&mut rows.text, &mut self.pending);
                self.pool.give(rows);
                if self.at_end {
                    return Ok(None);
                }
                size = self.more_than_pending(size)?;
                continue;
            }
            self.pending.extend_from_slice(rows.text.get(end..).unwrap_or_default());
            rows.text.truncate(end);
            self.before += self.input_bytes(&rows.text);
            // A block of blank lines has no rows.
            if rows.count() > 0 {
                self.rows += rows.count() as u64;
                self.cells_per_block = rows.cells.len();
                return Ok(Some(rows));
            }
        }
    }

    /// Splits all complete rows and returns the offset where they end.
    fn split(&mut self, rows: &mut RowBlock) -> Result<usize> {
        let mut start = 0;
        loop {
            start = self.splitter.plain_rows(rows, start);
            let first = rows.cells.len();
            let row_number = self.rows + (first / self.width.max(1)) as u64;
            let row = match self.splitter.row(rows, start, self.at_end) {
                RowOutcome::Row(row) => row,
                // The row has too many cells already, so its end is not needed.
                RowOutcome::Partial { cells } | RowOutcome::Bad { cells, .. }
                    if cells > self.width && !self.skip =>
                {
                    let err = self.ragged(format_args!("more than {}", self.width), false);
                    return Err(err.at(self.input_offset(rows, start)).in_row(row_number));
                }
                RowOutcome::Partial { .. } | RowOutcome::End => return Ok(start),
                RowOutcome::Bad { at, what, why, .. } => {
                    let err = Error::malformed(what, why);
                    return Err(err.at(self.input_offset(rows, at)).in_row(row_number));
                }
            };
            if row.cells != self.width {
                let blank = is_blank(rows.cells.get(first..).unwrap_or_default(), rows);
                match self.csv.ragged {
                    _ if blank => rows.cells.truncate(first),
                    _ if self.skip => {
                        rows.cells.truncate(first);
                        let at = self.input_offset(rows, start);
                        self.skipped.add(at);
                    }
                    Ragged::Pad if row.cells < self.width => {
                        rows.cells.resize(first + self.width, CellSpan::MISSING);
                    }
                    _ => {
                        let short = row.cells < self.width;
                        let err = self.ragged(format_args!("{}", row.cells), short);
                        return Err(err.at(self.input_offset(rows, start)).in_row(row_number));
                    }
                }
            }
            start = row.next;
        }
    }

    fn ragged(&self, have: fmt::Arguments<'_>, short: bool) -> Error {
        let want = self.width;
        let why = match self.csv.ragged {
            Ragged::Pad => {
                format!(
                    "has {have} cells, the first row has {want}, and only short rows can be padded"
                )
            }
            Ragged::Refuse => format!("has {have} cells where the first row has {want}"),
        };
        ErrorKind::RaggedRow { why: why.into(), short }.into()
    }

    /// Returns how many bytes to read so that the pending row may be complete, at least
    /// `min_size`.
    ///
    /// # Errors
    ///
    /// Fails if the row exceeds the limit.
    fn more_than_pending(&self, min_size: usize) -> Result<usize> {
        let (have, limit) = (self.pending.len(), self.sizes.row);
        if have >= limit {
            let (asked, limit) = (have as u64, limit as u64);
            let kind = ErrorKind::LimitExceeded { what: "row length", asked, limit };
            return Err(Error::from(kind).at(self.before).in_row(self.rows));
        }
        Ok(have.saturating_mul(2).max(min_size).min(limit))
    }

    /// Drops the first bytes of `pending`.
    fn consume(&mut self, len: usize) {
        let used = self.pending.get(..len).map_or(0, |used| self.input_bytes(used));
        self.pending.drain(..len.min(self.pending.len()));
        self.before += used;
    }

    /// Returns the number of input bytes that this text was decoded from.
    fn input_bytes(&self, text: &[u8]) -> u64 {
        match self.csv.encoding {
            Encoding::Utf8 => text.len() as u64,
            // Each character was one byte, so continuation bytes do not count.
            Encoding::Latin1 => text.iter().filter(|&byte| byte & 0xC0 != 0x80).count() as u64,
        }
    }

    /// Returns the offset in the input of a byte of a block.
    fn input_offset(&self, rows: &RowBlock, at: usize) -> u64 {
        self.before + rows.text.get(..at).map_or(0, |text| self.input_bytes(text))
    }

    /// Reads until `pending` has `size` bytes or the input ends.
    fn fill(&mut self, size: usize) -> Result<()> {
        if self.at_end || self.pending.len() >= size {
            return Ok(());
        }
        let had = self.pending.len();
        let mut raw = match self.csv.encoding {
            Encoding::Utf8 => std::mem::take(&mut self.pending),
            Encoding::Latin1 => Vec::new(),
        };
        let want = size - had;
        raw.reserve_exact(want);
        let got = (&mut *self.input).take(want as u64).read_to_end(&mut raw)?;
        self.read += got as u64;
        self.at_end = got < want;
        (self.progress)(self.read);
        match self.csv.encoding {
            Encoding::Utf8 => {
                self.pending = raw;
                // Earlier text has been checked, except for an incomplete character.
                let from = had.saturating_sub(3);
                self.check_utf8(from)
            }
            Encoding::Latin1 => {
                let text: String = raw.iter().map(|&byte| char::from(byte)).collect();
                self.pending.extend_from_slice(text.as_bytes());
                Ok(())
            }
        }
    }

    /// Fails if the text from the character at `from` on is not UTF-8.
    fn check_utf8(&self, from: usize) -> Result<()> {
        // Step back to the start of a character.
        let is_start = |at: &usize| self.pending.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let start = (from.saturating_sub(3)..=from).rev().find(is_start).unwrap_or(from);
        let text = self.pending.get(start..).unwrap_or_default();
        match std::str::from_utf8(text) {
            Ok(_) => Ok(()),
            // The next read completes a character that the block cut off.
            Err(err) if err.error_len().is_none() && !self.at_end => Ok(()),
            Err(err) => {
                let at = self.before + (start + err.valid_up_to()) as u64;
                Err(Error::from(ErrorKind::NotUtf8).at(at))
            }
        }
    }
}

/// Returns whether a row is an empty line.
fn is_blank(cells: &[CellSpan], rows: &RowBlock) -> bool {
    matches!(cells, [only] if !only.quoted() && only.bytes(rows).is_empty())
}

/// Returns names for columns without a header.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|number| format!("column_{number}")).collect()
}
