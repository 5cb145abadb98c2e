//! Decoding of a checked column.

use std::ops::Range;

use crate::MAX_TOKEN_SIZE;
use crate::error::{Error, ErrorKind, Result, Section};
use crate::kernel::{self, DecodeTable};
use crate::parts::{Offsets, Parts};
use crate::strings::Offset;

/// A compressed column, ready to be decoded and searched.
///
/// [`Column::new`] checks the buffers ([`Parts::validate`]). After that a method only fails
/// for its arguments, or for a row that does not have its stored length.
#[derive(Clone, Debug)]
pub struct Column<'a> {
    parts: Parts<'a>,
    decode_table: DecodeTable,
}

/// The decoded rows of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedRows {
    /// The position of each row in `bytes`, followed by the end of the last row.
    pub offsets: Vec<u64>,
    /// The concatenated bytes of all rows.
    pub bytes: Vec<u8>,
}

impl DecodedRows {
    /// Returns the bytes of a row; `None` if the row is out of range.
    pub fn get(&self, row: usize) -> Option<&[u8]> {
        let start = usize::try_from(*self.offsets.get(row)?).ok()?;
        let end = usize::try_from(*self.offsets.get(row.checked_add(1)?)?).ok()?;
        self.bytes.get(start..end)
    }
}

impl<'a> Column<'a> {
    /// Checks the buffers and creates a column of them.
    ///
    /// # Errors
    ///
    /// Fails as [`Parts::validate`] does.
    pub fn new(parts: Parts<'a>) -> Result<Self> {
        parts.validate()?;
        let tokens = (0..parts.token_count()).map(|at| parts.token(at));
        let decode_table = DecodeTable::new(parts.bits, tokens);
        Ok(Self { parts, decode_table })
    }

    /// Returns the buffers.
    pub fn parts(&self) -> &Parts<'a> {
        &self.parts
    }

    /// Returns the buffers and drops the rest.
    pub fn into_parts(self) -> Parts<'a> {
        self.parts
    }

    pub(crate) fn decode_table(&self) -> &DecodeTable {
        &self.decode_table
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.parts.row_count()
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the positions of a row's codes; empty if the row is out of range.
    #[inline]
    pub fn row_codes(&self, row: usize) -> Range<usize> {
        let offsets = &self.parts.row_offsets;
        match (offsets.get(row), offsets.get(row.saturating_add(1))) {
            (Some(start), Some(end)) => start..end,
            _ => 0..0,
        }
    }

    /// Returns the code at an index.
    #[inline]
    pub(crate) fn code(&self, index: usize) -> u16 {
        crate::bits::code(&self.parts.codes, self.parts.bits, index)
    }

    /// Returns the length of a row, summed up from its tokens; 0 if the row is out of range.
    pub fn row_len(&self, row: usize) -> usize {
        let codes = self.row_codes(row);
        kernel::decoded_len(&self.decode_table, &self.parts.codes, codes.start, codes.end)
    }

    /// Returns the positions of the codes of all rows.
    fn all_codes(&self) -> Range<usize> {
        let offsets = &self.parts.row_offsets;
        let last = offsets.len().checked_sub(1).and_then(|last| offsets.get(last));
        offsets.get(0).unwrap_or(0)..last.unwrap_or(0)
    }

    /// Returns the total length of all rows.
    pub fn decoded_len(&self) -> usize {
        let codes = self.all_codes();
        kernel::decoded_len(&self.decode_table, &self.parts.codes, codes.start, codes.end)
    }

    /// Returns the bytes of a row.
    ///
    /// [`Column::row_into`] reuses a buffer, and [`Column::take`] decodes many rows faster.
    ///
    /// ```
    /// use hypostyle_onpair::{Column, Config, ErrorKind, compress};
    ///
    /// let column = Column::new(compress(&["fig", "apple"][..], &Config::default())?)?;
    /// assert_eq!(column.get(1)?, b"apple");
    /// assert_eq!(column.get(2).unwrap_err().kind, ErrorKind::NoSuchRow);
    /// # Ok::<(), hypostyle_onpair::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the row is out of range or does not have its stored length.
    pub fn get(&self, row: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        self.row_into(row, &mut out)?;
        Ok(out)
    }

    /// Returns an iterator over the bytes of the rows, in order.
    ///
    /// Each item is the result of [`Column::get`]. [`Column::for_each_block`] visits all rows
    /// without an allocation per row.
    ///
    /// ```
    /// use hypostyle_onpair::{Column, Config, compress};
    ///
    /// let column = Column::new(compress(&["fig", "", "apple"][..], &Config::default())?)?;
    /// let rows = column.iter().collect::<Result<Vec<_>, _>>()?;
    /// assert_eq!(rows, [&b"fig"[..], b"", b"apple"]);
    /// # Ok::<(), hypostyle_onpair::Error>(())
    /// ```
    pub fn iter(
        &self,
    ) -> impl ExactSizeIterator<Item = Result<Vec<u8>>> + DoubleEndedIterator + '_ {
        (0..self.len()).map(|row| self.get(row))
    }

    /// Appends the bytes of a row to `out`.
    ///
    /// # Errors
    ///
    /// Fails if the row is out of range or does not have its stored length. In the latter
    /// case, `out` has the bytes of the row.
    pub fn row_into(&self, row: usize, out: &mut Vec<u8>) -> Result<()> {
        let codes = self.checked_row_codes(row)?;
        let len =
            kernel::append(&self.decode_table, &self.parts.codes, codes.start, codes.end, out);
        self.check_length(row, len)
    }

    fn checked_row_codes(&self, row: usize) -> Result<Range<usize>> {
        if row >= self.len() {
            return Err(Error::new(Section::Rows, row, ErrorKind::NoSuchRow));
        }
        Ok(self.row_codes(row))
    }

    /// Fails if a row has a stored length other than `len`.
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
    /// Fails if the buffer has another size; some of it may be written then.
    pub fn decode_into(&self, out: &mut [u8]) -> Result<()> {
        let codes = self.all_codes();
        let done =
            kernel::decode(&self.decode_table, &self.parts.codes, codes.start, codes.len(), out);
        if done.codes != codes.len() || done.bytes != out.len() {
            return Err(Error::new(Section::Output, done.bytes, ErrorKind::Size));
        }
        Ok(())
    }

    /// Returns the concatenated bytes of all rows.
    ///
    /// # Errors
    ///
    /// Fails if the rows do not fit into memory.
    pub fn decode(&self) -> Result<Vec<u8>> {
        self.decode_exact(self.decoded_len())
    }

    /// Decodes all rows, which have `len` bytes.
    fn decode_exact(&self, len: usize) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        out.try_reserve_exact(len)
            .map_err(|_| Error::new(Section::Output, 0, ErrorKind::TooLarge))?;
        out.resize(len, 0);
        self.decode_into(&mut out)?;
        Ok(out)
    }

    /// Decodes all rows and keeps where each of them ends.
    ///
    /// ```
    /// use hypostyle_onpair::{Column, Config, compress};
    ///
    /// let column = Column::new(compress(&["fig", "", "apple"][..], &Config::default())?)?;
    /// let rows = column.decode_rows()?;
    /// assert_eq!(rows.offsets, [0, 3, 3, 8]);
    /// assert_eq!(rows.bytes, b"figapple");
    /// # Ok::<(), hypostyle_onpair::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if a row does not have its stored length, or the rows do not fit into memory.
    pub fn decode_rows(&self) -> Result<DecodedRows> {
        let offsets = self.decoded_offsets();
        let too_large = |_| Error::new(Section::Output, 0, ErrorKind::TooLarge);
        let len = usize::try_from(offsets.last().copied().unwrap_or(0)).map_err(too_large)?;
        if let Some(lengths) = &self.parts.row_lengths {
            let pairs = offsets.windows(2).zip(lengths.iter());
            let is_wrong = |(pair, &stored): (&[u64], &u32)| match pair {
                [start, end] => end - start != u64::from(stored),
                _ => false,
            };
            if let Some(row) = pairs.map(is_wrong).position(|is_wrong| is_wrong) {
                return Err(Error::new(Section::RowLengths, row, ErrorKind::Length));
            }
        }
        Ok(DecodedRows { bytes: self.decode_exact(len)?, offsets })
    }

    /// Returns the position of each row in the result of [`Column::decode`], followed by the
    /// end of the last row.
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

    /// Decodes rows in blocks that stay in the cache, and calls `each` with the first row of
    /// the block, the bytes of its rows, and where each of these rows ends in the bytes.
    ///
    /// A block has about `target` bytes and at least one row.
    ///
    /// # Errors
    ///
    /// Returns the first error of `each`.
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
            // Only rows that fit even if all of their tokens have the maximum length.
            let max_end = start + target / MAX_TOKEN_SIZE;
            let mut len = 0;
            while row < self.len() && (self.row_codes(row).end <= max_end || row == first) {
                len += self.row_len(row);
                ends.push(len);
                row += 1;
            }
            if bytes.len() < len {
                bytes.resize(len, 0);
            }
            let count = self.row_codes(row - 1).end - start;
            kernel::decode(&self.decode_table, &self.parts.codes, start, count, &mut bytes);
            each(first, bytes.get(..len).unwrap_or_default(), &ends)?;
        }
        Ok(())
    }

    /// Appends rows to `out` in the order of `rows`, and the end of each in `out` to `ends`.
    ///
    /// The rows are known in advance, so their codes are prefetched: a row takes a fraction of
    /// the time that [`Column::row_into`] takes.
    ///
    /// # Errors
    ///
    /// Fails if a row is out of range or does not have its stored length.
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
        kernel::take(&self.decode_table, &self.parts.codes, offsets, rows, out, ends);
        if self.parts.row_lengths.is_some() {
            for (&row, &end) in rows.iter().zip(ends.iter().skip(first)) {
                self.check_length(row, end - start)?;
                start = end;
            }
        }
        Ok(())
    }
}
