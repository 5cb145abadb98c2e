//! The index and the checksums that our writer adds to row groups (§6.5).

use std::ops::Range;

use bytes::Bytes;

use crate::bloom;
use crate::statistics::{DECIMAL, INTEGER};
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;

/// The stream with the text index: which groups may contain a text.
pub(crate) const INDEX: &str = "hyp.index";

/// The stream with the checksums of blocks.
pub(crate) const SUMS: &str = "hyp.sums";

/// The flag of a column that has the minimum and maximum text of each group.
pub(crate) const BOUNDS: u8 = 1;

/// The flag of a column that has a Bloom filter for each group.
pub(crate) const FILTER: u8 = 2;

/// The index of the texts of one column.
#[derive(Debug, Default)]
struct ColumnTextIndex {
    /// The places of the minimum and maximum of each group, or nothing.
    bounds: Vec<(Range<usize>, Range<usize>)>,
    /// The place of the Bloom filter of each group, or nothing.
    filters: Vec<Range<usize>>,
    /// The number of bits that a text sets in a filter.
    bits: u8,
}

/// The index of the texts of a table.
#[derive(Debug, Default)]
pub(super) struct TextIndex {
    bytes: Bytes,
    columns: Vec<ColumnTextIndex>,
}

impl TextIndex {
    /// Reads the index of one table with columns of these types.
    pub(super) fn read(bytes: Bytes, types: &[u8], groups: usize) -> Result<Self> {
        let mut columns = Vec::new();
        let mut stream = StreamCursor::new(INDEX, &bytes);
        for &column_type in types {
            let mut column = ColumnTextIndex::default();
            if !matches!(column_type, INTEGER | DECIMAL) && !stream.is_empty() {
                let flags = stream.u8("flags")?;
                if flags & BOUNDS != 0 {
                    for _ in 0..groups {
                        let min = place(&mut stream, "minimum")?;
                        column.bounds.push((min, place(&mut stream, "maximum")?));
                    }
                }
                if flags & FILTER != 0 {
                    column.bits = stream.u8("bits of a text")?;
                    for _ in 0..groups {
                        column.filters.push(place(&mut stream, "filter")?);
                    }
                }
            }
            columns.push(column);
        }
        Ok(Self { bytes, columns })
    }

    /// Returns prefixes of the minimum and maximum text of a column in a group.
    pub(super) fn bounds(&self, column: usize, group: usize) -> Option<(&[u8], &[u8])> {
        let (min, max) = self.columns.get(column)?.bounds.get(group)?;
        Some((self.bytes.get(min.clone())?, self.bytes.get(max.clone())?))
    }

    /// Returns whether a column may contain a text in a group, by its Bloom filter.
    pub(super) fn may_hold(&self, column: usize, group: usize, text: &[u8]) -> bool {
        let Some(column) = self.columns.get(column) else { return true };
        let filter = column.filters.get(group).and_then(|place| self.bytes.get(place.clone()));
        filter.is_none_or(|filter| bloom::may_hold(filter, bloom::hash(text), column.bits))
    }
}

/// Reads a length and returns the place of as many bytes.
fn place(stream: &mut StreamCursor<'_>, what: &'static str) -> Result<Range<usize>> {
    let len = stream.lp(what)?.len();
    let end = usize::try_from(stream.offset()).unwrap_or(usize::MAX);
    Ok(end.saturating_sub(len)..end)
}

/// The largest number of blocks under one checksum that is compared.
pub(crate) const MAX_SPAN: usize = 64;

/// The checksums of the blocks of some tables.
#[derive(Debug, Default)]
pub(super) struct Checksums {
    /// The number of blocks that one checksum covers.
    span: usize,
    sums: Bytes,
}

impl Checksums {
    /// Reads the checksums of all tables of a frame.
    pub(super) fn read(bytes: &Bytes) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut stream = StreamCursor::new(SUMS, bytes);
        let span = stream.size("blocks of a checksum")?;
        // All blocks under a checksum are read together, so a long span would force
        // large reads.
        if span > MAX_SPAN {
            return Ok(Self::default());
        }
        let sums = bytes.slice_ref(stream.rest());
        Ok(Self { span, sums })
    }

    /// Takes the checksums of the next table, which has so many blocks.
    pub(super) fn take(&mut self, blocks: usize) -> Self {
        let bytes = blocks.checked_div(self.span).map_or(0, |_| blocks.div_ceil(self.span) * 4);
        let rest = std::mem::take(&mut self.sums);
        if bytes > rest.len() {
            return Self { span: self.span, sums: Bytes::new() };
        }
        self.sums = rest.slice(bytes..);
        Self { span: self.span, sums: rest.slice(..bytes) }
    }

    /// Returns the checksum that covers a block, and all blocks that it covers.
    ///
    /// `blocks` is the number of blocks of the table.
    pub(super) fn of_block(&self, block: usize, blocks: usize) -> Option<(Range<usize>, u32)> {
        let run = block.checked_div(self.span)?;
        let bytes = self.sums.get(run.checked_mul(4)?..)?.first_chunk()?;
        let start = run * self.span;
        Some((start..blocks.min(start + self.span), u32::from_le_bytes(*bytes)))
    }
}
