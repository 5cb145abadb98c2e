//! Reads the input in blocks of whole lines.

use std::io::Read;

use memchr::memrchr;

use super::input::{BOM, read_more};
use super::position::RowPosition;
use crate::error::{Error, ErrorKind, Result};

/// A block of whole lines.
#[derive(Debug, Default)]
pub struct LineBlock {
    /// The lines; only the last line of the input may have no newline.
    pub text: Vec<u8>,
    /// Where the text starts; the row is the number of the line.
    pub start: RowPosition,
    /// The number of newlines in the text.
    pub newlines: usize,
}

impl LineBlock {
    /// Returns the number of lines; the last one may have no newline.
    pub fn lines(&self) -> usize {
        self.newlines + usize::from(self.ends_open())
    }

    /// Returns whether the last line has no newline, so that it is the last of the input.
    pub fn ends_open(&self) -> bool {
        self.text.last().is_some_and(|&last| last != b'\n')
    }
}

/// Reads the input and cuts it into blocks of whole lines.
#[derive(Debug)]
pub struct LineBlocks<R> {
    input: R,
    block: usize,
    /// The maximum length of a line.
    max_line: usize,
    /// Whether a byte order mark is not part of the first line.
    strip_bom: bool,
    pending: Vec<u8>,
    next: RowPosition,
    at_end: bool,
}

impl<R: Read> LineBlocks<R> {
    /// Returns a reader of blocks of about `block` bytes, or of one line if it is longer.
    pub fn new(input: R, block: usize, max_line: usize, strip_bom: bool) -> Self {
        let start = RowPosition::default();
        Self { input, block, max_line, strip_bom, pending: Vec::new(), next: start, at_end: false }
    }

    /// Returns a reader of the lines from a position on.
    pub fn resume(input: R, block: usize, max_line: usize, position: RowPosition) -> Self {
        Self { next: position, ..Self::new(input, block, max_line, false) }
    }

    /// Returns where the next block starts.
    pub(super) fn position(&self) -> RowPosition {
        self.next
    }

    /// Returns the next block in the memory of `block`; `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// Fails if the input does, and for a line that is too long.
    pub fn next(&mut self, mut block: LineBlock) -> Result<Option<LineBlock>> {
        // The first block must contain a whole byte order mark.
        let mut size = self.block.max(BOM.len());
        loop {
            let want = size.saturating_sub(self.pending.len());
            if !self.at_end && want > 0 {
                let got = read_more(&mut self.input, &mut self.pending, want)?;
                self.at_end = got < want;
            }
            if self.next.offset == 0 && self.strip_bom && self.pending.starts_with(BOM) {
                self.pending.drain(..BOM.len());
                self.next.offset = BOM.len() as u64;
            }
            let end = match memrchr(b'\n', &self.pending) {
                _ if self.at_end => self.pending.len(),
                Some(newline) => newline + 1,
                None => 0,
            };
            if end > 0 {
                block.text.clear();
                std::mem::swap(&mut block.text, &mut self.pending);
                self.pending.extend_from_slice(block.text.get(end..).unwrap_or_default());
                block.text.truncate(end);
                block.newlines = memchr::memchr_iter(b'\n', &block.text).count();
                block.start = self.next;
                let lines = block.newlines as u64;
                self.next.offset += end as u64;
                (self.next.row, self.next.line) = (self.next.row + lines, self.next.line + lines);
                return Ok(Some(block));
            }
            if self.at_end {
                return Ok(None);
            }
            let (have, limit) = (self.pending.len(), self.max_line);
            if have >= limit {
                let (asked, limit) = (have as u64, limit as u64);
                let kind = ErrorKind::LimitExceeded { what: "line length", asked, limit };
                return Err(Error::from(kind).at(self.next.offset).in_row(self.next.line));
            }
            size = have.saturating_mul(2).max(size).min(limit);
        }
    }
}
