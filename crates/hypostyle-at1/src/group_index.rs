//! The index and the checksums that our writer adds to row groups (§6.5).

use std::ops::Range;

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
struct ColumnTextIndex<'a> {
    /// The minimum and maximum of each group, or nothing.
    bounds: Vec<(&'a [u8], &'a [u8])>,
    /// The Bloom filter of each group, or nothing.
    filters: Vec<&'a [u8]>,
    /// The number of bits that a text sets in a filter.
    bits: u8,
}

/// The index of the texts of a table.
#[derive(Debug, Default)]
pub(super) struct TextIndex<'a> {
    columns: Vec<ColumnTextIndex<'a>>,
}

impl<'a> TextIndex<'a> {
    /// Reads the index of one table with columns of these types.
    pub(super) fn read(bytes: &'a [u8], types: &[u8], groups: usize) -> Result<Self> {
        let mut columns = Vec::new();
        let mut stream = StreamCursor::new(INDEX, bytes);
        for &column_type in types {
            let mut column = ColumnTextIndex::default();
            if !matches!(column_type, INTEGER | DECIMAL) && !stream.is_empty() {
                let flags = stream.u8("flags")?;
                if flags & BOUNDS != 0 {
                    for _ in 0..groups {
                        column.bounds.push((stream.lp("minimum")?, stream.lp("maximum")?));
                    }
                }
                if flags & FILTER != 0 {
                    column.bits = stream.u8("bits of a text")?;
                    for _ in 0..groups {
                        column.filters.push(stream.lp("filter")?);
                    }
                }
            }
            columns.push(column);
        }
        Ok(Self { columns })
    }

    /// Returns prefixes of the minimum and maximum text of a column in a group.
    pub(super) fn bounds(&self, column: usize, group: usize) -> Option<(&'a [u8], &'a [u8])> {
        self.columns.get(column)?.bounds.get(group).copied()
    }

    /// Returns whether a column may contain a text in a group, by its Bloom filter.
    pub(super) fn may_hold(&self, column: usize, group: usize, text: &[u8]) -> bool {
        let Some(column) = self.columns.get(column) else { return true };
        let filter = column.filters.get(group);
        filter.is_none_or(|filter| bloom::may_hold(filter, bloom::hash(text), column.bits))
    }
}

/// The largest number of blocks under one checksum that is compared.
const MAX_SPAN: usize = 64;

/// The checksums of the blocks of some tables.
#[derive(Debug, Default)]
pub(super) struct Checksums<'a> {
    /// The number of blocks that one checksum covers.
    span: usize,
    sums: &'a [u8],
}

impl<'a> Checksums<'a> {
    /// Reads the checksums of all tables of a frame.
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
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
        Ok(Self { span, sums: stream.rest() })
    }

    /// Takes the checksums of the next table, which has so many blocks.
    pub(super) fn take(&mut self, blocks: usize) -> Self {
        let bytes = blocks.checked_div(self.span).map_or(0, |_| blocks.div_ceil(self.span) * 4);
        let (sums, rest) = self.sums.split_at_checked(bytes).unwrap_or((&[], &[]));
        self.sums = rest;
        Self { span: self.span, sums }
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
