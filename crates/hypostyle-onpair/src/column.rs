//! A column that was checked.

use std::ops::Range;

use crate::MAX_TOKEN_SIZE;
use crate::error::{Error, ErrorKind, Result, Section};
use crate::kernel::{self, Table};
use crate::parts::{Offsets, Parts};
use crate::strings::Offset;

/// A compressed column, ready to be decoded and searched.
///
/// The buffers were checked when it was made ([`Parts::validate`]), so nothing that is
/// asked of a column fails but for what is asked.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    parts: Parts<'a>,
    table: Table,
}

impl<'a> Column<'a> {
    /// A column of these buffers.
    ///
    /// # Errors
    ///
    /// As [`Parts::validate`].
    pub fn new(parts: Parts<'a>) -> Result<Self> {
        parts.validate()?;
        let table = Table::new(parts.bits, (0..parts.token_count()).map(|at| parts.token(at)));
        Ok(Self { parts, table })
    }

    /// The buffers.
    pub fn parts(&self) -> &Parts<'a> {
        &self.parts
    }

    /// The buffers, given back.
    pub fn into_parts(self) -> Parts<'a> {
        self.parts
    }

    pub(crate) fn table(&self) -> &Table {
        &self.table
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.parts.row_count()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The codes of a row; empty if there is no such row.
    #[inline]
    pub fn row_codes(&self, row: usize) -> Range<usize> {
        let offsets = &self.parts.row_offsets;
        match (offsets.get(row), offsets.get(row.saturating_add(1))) {
            (Some(start), Some(end)) => start..end,
            _ => 0..0,
        }
    }

    /// A code by its number.
    #[inline]
    pub(crate) fn code(&self, index: usize) -> u16 {
        crate::bits::code(&self.parts.codes, self.parts.bits, index)
    }

    /// The bytes of a row, counted by its tokens.
    pub fn row_len(&self, row: usize) -> usize {
        let codes = self.row_codes(row);
        kernel::decoded_len(&self.table, &self.parts.codes, codes.start, codes.end)
    }

    /// All codes that rows use.
    fn all_codes(&self) -> Range<usize> {
        let offsets = &self.parts.row_offsets;
        let last = offsets.len().checked_sub(1).and_then(|last| offsets.get(last));
        offsets.get(0).unwrap_or(0)..last.unwrap_or(0)
    }

    /// The bytes of all rows.
    pub fn decoded_len(&self) -> usize {
        let codes = self.all_codes();
        kernel::decoded_len(&self.table, &self.parts.codes, codes.start, codes.end)
    }

    /// Appends a row.
    ///
    /// # Errors
    ///
    /// If there is no such row, or its length is not the one that is stored.
    pub fn row_into(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let codes = self.known_row(row)?;
        let len = kernel::append(&self.table, &self.parts.codes, codes.start, codes.end, out);
        self.check_length(row, len)
    }

    fn known_row(&self, row: usize) -> Result<Range<usize>> {
        match row < self.len() {
            true => Ok(self.row_codes(row)),
            false => Err(Error::new(Section::Rows, row, ErrorKind::NoSuchRow)),
        }
    }

    /// Compares the length of a row with the one that is stored, if one is.
    fn check_length(&self, row: usize, len: usize) -> Result<()> {
        match self.parts.row_lengths.as_ref().and_then(|lengths| lengths.get(row)) {
            Some(&stored) if stored as usize != len => {
                Err(Error::new(Section::RowLengths, row, ErrorKind::Length))
            }
            _ => Ok(()),
        }
    }

    /// Decodes all rows into a buffer of exactly their size.
    ///
    /// # Errors
    ///
    /// If the buffer has another size; some of it may be written then.
    pub fn decode_into(&self, out: &mut [u8]) -> Result<()> {
        let codes = self.all_codes();
        let done = kernel::decode(&self.table, &self.parts.codes, codes.start, codes.len(), out);
        match done.codes == codes.len() && done.bytes == out.len() {
            true => Ok(()),
            false => Err(Error::new(Section::Output, done.bytes, ErrorKind::Size)),
        }
    }

    /// All rows, one behind the other.
    ///
    /// # Errors
    ///
    /// If they are too large for this machine.
    pub fn decode(&self) -> Result<Vec<u8>> {
        let (mut out, len) = (Vec::new(), self.decoded_len());
        out.try_reserve_exact(len)
            .map_err(|_| Error::new(Section::Output, 0, ErrorKind::TooLarge))?;
        out.resize(len, 0);
        self.decode_into(&mut out)?;
        Ok(out)
    }

    /// Where each row starts in what [`Column::decode`] gives, and where the last ends.
    pub fn decoded_offsets(&self) -> Vec<u64> {
        let mut at = 0;
        let mut offsets = Vec::with_capacity(self.len() + 1);
        offsets.push(0);
        for row in 0..self.len() {
            at += self.row_len(row) as u64;
            offsets.push(at);
        }
        offsets
    }

    /// Decodes rows in blocks that stay in the cache: calls `each` with the first row,
    /// the bytes of some rows, and where each of them ends.
    ///
    /// A block has about `target` bytes, and at least one row.
    ///
    /// # Errors
    ///
    /// What `each` returns.
    pub fn for_each_block<E>(
        &self,
        target: usize,
        mut each: impl FnMut(usize, &[u8], &[usize]) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut bytes = vec![0; target.max(MAX_TOKEN_SIZE)];
        let mut ends = Vec::new();
        let mut row = 0;
        while row < self.len() {
            ends.clear();
            let first = row;
            let start = self.row_codes(row).start;
            // As many rows as fit at the longest, so that none is cut.
            let most = start + target / MAX_TOKEN_SIZE;
            let mut len = 0;
            while row < self.len() && (self.row_codes(row).end <= most || row == first) {
                len += self.row_len(row);
                ends.push(len);
                row += 1;
            }
            if bytes.len() < len {
                bytes.resize(len, 0);
            }
            let count = self.row_codes(row - 1).end - start;
            kernel::decode(&self.table, &self.parts.codes, start, count, &mut bytes);
            each(first, bytes.get(..len).unwrap_or_default(), &ends)?;
        }
        Ok(())
    }

    /// Appends rows in the order in which they are asked for, and where each ends in
    /// `out`.
    ///
    /// What is asked for is known in advance, so memory is asked for in advance too: a
    /// row takes a fraction of the time that it takes by itself.
    ///
    /// # Errors
    ///
    /// If there is no such row, or its length is not the one that is stored.
    pub fn take(&self, rows: &[usize], out: &mut Vec<u8>, ends: &mut Vec<usize>) -> Result<()> {
        match &self.parts.row_offsets {
            Offsets::Narrow(offsets) => self.take_from(offsets, rows, out, ends),
            Offsets::Wide(offsets) => self.take_from(offsets, rows, out, ends),
        }
    }

    fn take_from<O: Offset>(
        &self,
        offsets: &[O],
        rows: &[usize],
        out: &mut Vec<u8>,
        ends: &mut Vec<usize>,
    ) -> Result<()> {
        if let Some(&row) = rows.iter().find(|&&row| row >= self.len()) {
            return Err(Error::new(Section::Rows, row, ErrorKind::NoSuchRow));
        }
        let (mut start, first) = (out.len(), ends.len());
        kernel::take(&self.table, &self.parts.codes, offsets, rows, out, ends);
        if self.parts.row_lengths.is_some() {
            for (&row, &end) in rows.iter().zip(ends.iter().skip(first)) {
                self.check_length(row, end - start)?;
                start = end;
            }
        }
        Ok(())
    }
}
