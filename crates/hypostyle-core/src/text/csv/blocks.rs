//! Reads the input in blocks of whole rows.

use std::fmt;
use std::io::Read;

use super::split::{CellSpan, RowBlock, RowOutcome, Splitter};
use super::syntax::Syntax;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::text::input::{BOM, read_more};
use crate::text::options::{Encoding, Ragged};
use crate::text::position::RowPosition;
use crate::text::sizes::TextSizes;
use crate::text::skipped::Skipped;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockSizes {
    pub(crate) first: usize,
    pub(crate) block: usize,
    pub(crate) column: usize,
    pub(crate) columns: usize,
    pub(crate) row: usize,
}

impl BlockSizes {
    /// Returns the sizes for a text table.
    pub(crate) fn new(limits: &Limits, sizes: TextSizes) -> Self {
        let within = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let (columns, row) = (within(limits.columns), within(limits.row_bytes));
        match sizes.block {
            Some(block) => Self { first: block, block, column: 0, columns, row },
            None => Self {
                first: HEADER_BYTES,
                block: BLOCK_BYTES,
                column: BYTES_PER_COLUMN,
                columns,
                row,
            },
        }
    }
}

/// Reads the input and cuts it into blocks of whole rows.
#[derive(Debug)]
pub(crate) struct BlockReader<R> {
    input: R,
    syntax: Syntax,
    splitter: Splitter,
    sizes: BlockSizes,
    /// Text that was read but not yet split.
    pending: Vec<u8>,
    /// The offset of `pending` in the input, and the number of newlines before it.
    before: u64,
    lines: u64,
    at_end: bool,
    width: usize,
    rows: u64,
    /// The number of cells of the last block, as an estimate for the next.
    cells_per_block: usize,
    /// Skip and record rows of another width instead of failing.
    pub(crate) skip: bool,
    pub(crate) skipped: Skipped,
    /// Some blocks had no rows, only blank lines.
    pub(crate) dropped_blocks: bool,
}

impl<R: Read> BlockReader<R> {
    pub(crate) fn new(input: R, syntax: Syntax, sizes: BlockSizes) -> Self {
        Self {
            input,
            syntax,
            splitter: Splitter { delimiter: syntax.delimiter, quotes: syntax.quotes },
            sizes,
            pending: Vec::new(),
            before: 0,
            lines: 0,
            at_end: false,
            width: 0,
            rows: 0,
            cells_per_block: 0,
            skip: false,
            skipped: Skipped::default(),
            dropped_blocks: false,
        }
    }

    /// Returns a reader of the rows from a position on, which all have `width` cells.
    pub(crate) fn resume(
        input: R,
        syntax: Syntax,
        sizes: BlockSizes,
        width: usize,
        position: RowPosition,
    ) -> Self {
        let RowPosition { row, offset, line } = position;
        Self { width, rows: row, before: offset, lines: line, ..Self::new(input, syntax, sizes) }
    }

    /// Returns the position of the next row.
    pub(crate) fn position(&self) -> RowPosition {
        RowPosition { row: self.rows, offset: self.before, line: self.lines }
    }

    /// Reads the first row and returns the column names.
    ///
    /// Without a header, the first row determines only the number of columns.
    pub(crate) fn names(&mut self) -> Result<Vec<String>> {
        self.fill(self.sizes.first.max(BOM.len()))?;
        if self.pending.starts_with(BOM) {
            self.consume(BOM.len());
        }
        if self.syntax.comments {
            self.skip_comments()?;
        }
        loop {
            let mut rows =
                RowBlock { text: std::mem::take(&mut self.pending), ..RowBlock::default() };
            let found = self.first_row(&mut rows);
            self.width = rows.cells.len();
            let name = |cell: &CellSpan| String::from_utf8_lossy(cell.bytes(&rows)).into_owned();
            let mut names: Vec<String> = match (&found, self.syntax.header) {
                (Ok((_, Some(_))), true) => rows.cells.iter().map(name).collect(),
                _ => Vec::new(),
            };
            if let (true, Some(first)) = (self.syntax.comments, names.first_mut()) {
                *first = first.trim_start_matches('#').to_owned();
            }
            self.pending = rows.text;
            let (blank, next) = found?;
            match (next, self.syntax.header) {
                (Some(next), true) => {
                    self.consume(next);
                    self.width = self.width.max(self.syntax.columns);
                    let beyond = numbered(self.width).split_off(names.len());
                    return Ok(names.into_iter().chain(beyond).collect());
                }
                (Some(_), false) => {
                    self.width = self.width.max(self.syntax.columns);
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

    /// Skips the lines that start with `##`.
    fn skip_comments(&mut self) -> Result<()> {
        loop {
            let is_comment = self.pending.starts_with(b"##");
            match memchr::memchr(b'\n', &self.pending) {
                Some(newline) if is_comment => self.consume(newline + 1),
                None if is_comment && self.at_end => self.consume(self.pending.len()),
                _ if !is_comment && (self.at_end || self.pending.len() >= 2) => return Ok(()),
                _ => {
                    let more = self.more_than_pending(self.sizes.first)?;
                    self.fill(more)?;
                }
            }
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

    /// Returns the next block of rows in the memory of `rows`; `None` at the end of the
    /// input.
    pub(crate) fn next(&mut self, mut rows: RowBlock) -> Result<Option<RowBlock>> {
        let mut size = self.sizes.block.max(self.width.saturating_mul(self.sizes.column));
        loop {
            self.fill(size)?;
            if self.pending.is_empty() {
                return Ok(None);
            }
            rows.reset(self.width, self.position());
            std::mem::swap(&mut rows.text, &mut self.pending);
            rows.cells.reserve(self.cells_per_block);
            let end = self.split(&mut rows)?;
            if end == 0 {
                // The text has no complete row yet.
                std::mem::swap(&mut rows.text, &mut self.pending);
                if self.at_end {
                    return Ok(None);
                }
                size = self.more_than_pending(size)?;
                continue;
            }
            self.pending.extend_from_slice(rows.text.get(end..).unwrap_or_default());
            rows.text.truncate(end);
            self.before += self.input_bytes(&rows.text);
            rows.newlines = memchr::memchr_iter(b'\n', &rows.text).count();
            self.lines += rows.newlines as u64;
            // A block of blank lines has no rows.
            if rows.count() > 0 {
                self.rows += rows.count() as u64;
                self.cells_per_block = rows.cells.len();
                return Ok(Some(rows));
            }
            self.dropped_blocks = true;
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
                match self.syntax.ragged {
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
        let why = match self.syntax.ragged {
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
        let used = self.pending.get(..len).unwrap_or(&self.pending);
        let newlines = memchr::memchr_iter(b'\n', used).count();
        self.before += self.input_bytes(used);
        self.lines += newlines as u64;
        self.pending.drain(..len.min(self.pending.len()));
    }

    /// Returns the number of input bytes that this text was decoded from.
    fn input_bytes(&self, text: &[u8]) -> u64 {
        match self.syntax.encoding {
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
        let want = size - had;
        match self.syntax.encoding {
            Encoding::Utf8 => {
                let got = read_more(&mut self.input, &mut self.pending, want)?;
                self.at_end = got < want;
                // Earlier text has been checked, except for an incomplete character.
                let from = had.saturating_sub(3);
                self.check_utf8(from)
            }
            Encoding::Latin1 => {
                let mut raw = Vec::new();
                let outcome = read_more(&mut self.input, &mut raw, want);
                let text: String = raw.iter().map(|&byte| char::from(byte)).collect();
                self.pending.extend_from_slice(text.as_bytes());
                self.at_end = outcome? < want;
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
