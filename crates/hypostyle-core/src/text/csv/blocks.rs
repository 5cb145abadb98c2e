//! The input, in blocks of whole rows.

use std::fmt;
use std::io::Read;

use super::split::{Cell, Outcome, Rows, Splitter};
use super::{CsvOptions, Encoding, Ragged};
use crate::buffer_pool::BufferPool;
use crate::error::{Error, ErrorKind, Result};
use crate::text::infer::Skipped;
use crate::text::{BOM, Progress};
use crate::text::{COLUMNS, ROW};

/// Text that is split and typed in one go.
///
/// Small enough that text and cells stay in a core's own cache while column
/// after column is picked out of them.
const BLOCK: usize = 512 << 10;

/// Wide tables get larger blocks, so that a block has many rows all the same.
const BYTES_A_COLUMN: usize = 1 << 10;

/// Text that is looked at first, since names are rarely longer.
const FIRST: usize = 64 << 10;

/// How much is read at a time, and how much at most.
///
/// Fixed but for tests, which cannot wait for gigabytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) first: usize,
    pub(super) block: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
    pub(super) row: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { first: FIRST, block: BLOCK, column: BYTES_A_COLUMN, columns: COLUMNS, row: ROW }
    }
}

/// Cuts the input into blocks of whole rows.
pub(super) struct Blocks<'a> {
    input: &'a mut dyn Read,
    csv: &'a CsvOptions,
    splitter: Splitter,
    progress: Progress<'a>,
    sizes: Sizes,
    /// Blocks that were typed, for the sake of their memory.
    spares: &'a BufferPool<Rows>,
    /// Text that was read and not yet split.
    pending: Vec<u8>,
    /// Bytes of input before `pending`.
    before: u64,
    read: u64,
    at_end: bool,
    width: usize,
    rows: u64,
    /// How many cells the last block had: the next will have about as many.
    cells_a_block: usize,
    /// Leave out rows of another length, and note them, instead of failing.
    pub(super) skip: bool,
    pub(super) skipped: Skipped,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(
        input: &'a mut dyn Read,
        csv: &'a CsvOptions,
        progress: Progress<'a>,
        sizes: Sizes,
        spares: &'a BufferPool<Rows>,
    ) -> Self {
        Self {
            input,
            csv,
            splitter: Splitter::new(csv.delimiter),
            progress,
            sizes,
            spares,
            pending: Vec::new(),
            before: 0,
            read: 0,
            at_end: false,
            width: 0,
            rows: 0,
            cells_a_block: 0,
            skip: false,
            skipped: Skipped::default(),
        }
    }

    /// Reads the first row, which gives the names or at least how many there are.
    pub(super) fn names(&mut self) -> Result<Vec<String>> {
        self.fill(self.sizes.first.max(BOM.len()))?;
        if self.pending.starts_with(BOM) {
            self.consume(BOM.len());
        }
        loop {
            let mut rows = Rows { text: std::mem::take(&mut self.pending), ..Rows::default() };
            let found = self.first_row(&mut rows);
            self.width = rows.cells.len();
            let name = |cell: &Cell| String::from_utf8_lossy(cell.bytes(&rows)).into_owned();
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
                // Blank lines before the names are no rows of any table.
                (None, true) => self.consume(blank),
                (None, false) => {}
            }
            if self.at_end && self.pending.is_empty() {
                return Err(Error::malformed("table", "is empty: there is not even a header"));
            }
            if self.at_end {
                // Lines, all of them blank: one column without a value.
                self.width = 1;
                return Ok(numbered(1));
            }
            let more = self.more_than_pending(self.sizes.first)?;
            self.fill(more)?;
        }
    }

    /// Finds the first row that is not blank: where it starts, and where it ends
    /// if its end is there. Its cells are then the only ones in the list.
    fn first_row(&self, rows: &mut Rows) -> Result<(usize, Option<usize>)> {
        let mut start = 0;
        loop {
            match self.splitter.row(rows, start, self.at_end) {
                Outcome::Row(row) if is_blank(&rows.cells, rows) => {
                    rows.cells.clear();
                    start = row.next;
                }
                Outcome::Row(row) => {
                    self.check_columns(row.cells)?;
                    return Ok((start, Some(row.next)));
                }
                Outcome::Partial { cells } => {
                    self.check_columns(cells)?;
                    return Ok((start, None));
                }
                Outcome::Bad { at, what, why, .. } => {
                    return Err(Error::malformed(what, why).at(self.input_offset(rows, at)));
                }
                Outcome::End => return Ok((start, None)),
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

    /// The next block of rows.
    pub(super) fn next(&mut self) -> Result<Option<Rows>> {
        let mut size = self.sizes.block.max(self.width.saturating_mul(self.sizes.column));
        loop {
            self.fill(size)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            let mut rows = self.spares.take();
            rows.reset(self.width, self.rows);
            std::mem::swap(&mut rows.text, &mut self.pending);
            rows.cells.reserve(self.cells_a_block);
            let end = self.split(&mut rows)?;
            if end == 0 {
                // Not one whole row yet.
                std::mem::swap(&mut rows.text, &mut self.pending);
                self.spares.give(rows);
                if self.at_end {
                    return Ok(None);
                }
                size = self.more_than_pending(size)?;
                continue;
            }
            self.pending.extend_from_slice(rows.text.get(end..).unwrap_or_default());
            rows.text.truncate(end);
            self.before += self.input_bytes(&rows.text);
            // Unless all lines are blank.
            if rows.count() > 0 {
                self.rows += rows.count() as u64;
                self.cells_a_block = rows.cells.len();
                return Ok(Some(rows));
            }
        }
    }

    /// Splits all whole rows and says where they end.
    fn split(&mut self, rows: &mut Rows) -> Result<usize> {
        let mut start = 0;
        loop {
            start = self.splitter.plain_rows(rows, start);
            let first = rows.cells.len();
            let row_number = self.rows + (first / self.width.max(1)) as u64;
            let row = match self.splitter.row(rows, start, self.at_end) {
                Outcome::Row(row) => row,
                // It will not get shorter, so there is no need to see the rest.
                Outcome::Partial { cells } | Outcome::Bad { cells, .. }
                    if cells > self.width && !self.skip =>
                {
                    let err = self.ragged(format_args!("more than {}", self.width), false);
                    return Err(err.at(self.input_offset(rows, start)).in_row(row_number));
                }
                Outcome::Partial { .. } | Outcome::End => return Ok(start),
                Outcome::Bad { at, what, why, .. } => {
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
                        rows.cells.resize(first + self.width, Cell::MISSING);
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
                format!("has {have} cells, {want} at most: only short rows can be padded")
            }
            Ragged::Refuse => format!("has {have} cells where the first row has {want}"),
        };
        ErrorKind::RaggedRow { why: why.into(), short }.into()
    }

    /// How much to fill so that a row that is not whole may be, at least `least`.
    fn more_than_pending(&self, least: usize) -> Result<usize> {
        let (have, limit) = (self.pending.len(), self.sizes.row);
        if have >= limit {
            let (asked, limit) = (have as u64, limit as u64);
            let kind = ErrorKind::LimitExceeded { what: "row length", asked, limit };
            return Err(Error::from(kind).at(self.before).in_row(self.rows));
        }
        Ok(have.saturating_mul(2).max(least).min(limit))
    }

    /// Drops the first bytes of what is pending.
    fn consume(&mut self, len: usize) {
        let used = self.pending.get(..len).map_or(0, |used| self.input_bytes(used));
        self.pending.drain(..len.min(self.pending.len()));
        self.before += used;
    }

    /// How many bytes of input this text was.
    fn input_bytes(&self, text: &[u8]) -> u64 {
        match self.csv.encoding {
            Encoding::Utf8 => text.len() as u64,
            // A byte for each character, so the bytes that continue one do not count.
            Encoding::Latin1 => text.iter().filter(|&byte| byte & 0xC0 != 0x80).count() as u64,
        }
    }

    /// Where a byte of a block was in the input.
    fn input_offset(&self, rows: &Rows, at: usize) -> u64 {
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
                // What was there before has been checked, up to an open character.
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

    /// Refuses text that is not UTF-8, from a little before `from` on.
    fn check_utf8(&self, from: usize) -> Result<()> {
        // Step back to the start of a character.
        let is_start = |at: &usize| self.pending.get(*at).is_none_or(|byte| byte & 0xC0 != 0x80);
        let start = (from.saturating_sub(3)..=from).rev().find(is_start).unwrap_or(from);
        let text = self.pending.get(start..).unwrap_or_default();
        match std::str::from_utf8(text) {
            Ok(_) => Ok(()),
            // The rest of a character that was cut off by the block is to come.
            Err(err) if err.error_len().is_none() && !self.at_end => Ok(()),
            Err(err) => {
                let at = self.before + (start + err.valid_up_to()) as u64;
                Err(Error::from(ErrorKind::NotUtf8).at(at))
            }
        }
    }
}

/// Whether a row is an empty line.
fn is_blank(cells: &[Cell], rows: &Rows) -> bool {
    matches!(cells, [only] if !only.quoted() && only.bytes(rows).is_empty())
}

/// Names for columns that have none.
fn numbered(width: usize) -> Vec<String> {
    (1..=width).map(|number| format!("column_{number}")).collect()
}
