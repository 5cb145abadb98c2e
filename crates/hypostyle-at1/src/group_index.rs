//! What our writer adds to row groups, for those who know of it (§6.5).

use std::ops::Range;

use crate::bloom;
use crate::streams::Stream;
use hypostyle_core::error::Result;

/// The stream that says which groups may hold a text.
pub(crate) const INDEX: &str = "hyp.index";

/// The stream of checksums of blocks.
pub(crate) const SUMS: &str = "hyp.sums";

/// A column has the least and the greatest text of each group.
pub(crate) const BOUNDS: u8 = 1;

/// A column has a filter for each group.
pub(crate) const FILTER: u8 = 2;

/// What is known of the texts of one column.
#[derive(Debug, Default)]
struct Column<'a> {
    /// For each group.
    bounds: Vec<(&'a [u8], &'a [u8])>,
    filters: Vec<&'a [u8]>,
    /// Bits that a text sets in a filter.
    count: u8,
}

/// What is known of the texts of a table.
#[derive(Debug, Default)]
pub(super) struct Texts<'a> {
    columns: Vec<Column<'a>>,
}

impl<'a> Texts<'a> {
    /// Reads what is said of one table with columns of these types.
    pub(super) fn read(bytes: &'a [u8], types: &[u8], groups: usize) -> Result<Self> {
        let mut columns = Vec::new();
        let mut stream = Stream::new(INDEX, bytes);
        for &kind in types {
            let mut column = Column::default();
            if !matches!(kind, 1 | 2) && !stream.is_empty() {
                let flags = stream.u8("flags")?;
                if flags & BOUNDS != 0 {
                    for _ in 0..groups {
                        column.bounds.push((stream.lp("least")?, stream.lp("most")?));
                    }
                }
                if flags & FILTER != 0 {
                    column.count = stream.u8("bits of a text")?;
                    for _ in 0..groups {
                        column.filters.push(stream.lp("filter")?);
                    }
                }
            }
            columns.push(column);
        }
        Ok(Self { columns })
    }

    pub(super) fn bounds(&self, column: usize, group: usize) -> Option<(&'a [u8], &'a [u8])> {
        self.columns.get(column)?.bounds.get(group).copied()
    }

    pub(super) fn may_hold(&self, column: usize, group: usize, text: &[u8]) -> bool {
        let Some(column) = self.columns.get(column) else { return true };
        let filter = column.filters.get(group);
        filter.is_none_or(|filter| bloom::may_hold(filter, bloom::hash(text), column.count))
    }
}

/// Most blocks that a checksum covers, for us to compare it.
const LONGEST: usize = 64;

/// The checksums of some tables.
#[derive(Debug, Default)]
pub(super) struct Sums<'a> {
    /// Blocks that a checksum covers.
    span: usize,
    sums: &'a [u8],
}

impl<'a> Sums<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let mut stream = Stream::new(SUMS, bytes);
        let span = stream.size("blocks of a checksum")?;
        // Runs are read as a whole, so a long one would be a way to make us read a lot.
        match span {
            0..=LONGEST => Ok(Self { span, sums: stream.rest() }),
            _ => Ok(Self::default()),
        }
    }

    /// The checksums of the next table, which has so many blocks.
    pub(super) fn of_next(&mut self, blocks: usize) -> Self {
        let bytes = blocks.checked_div(self.span).map_or(0, |_| blocks.div_ceil(self.span) * 4);
        let (sums, rest) = self.sums.split_at_checked(bytes).unwrap_or((&[], &[]));
        self.sums = rest;
        Self { span: self.span, sums }
    }

    /// The checksum that covers a block, and the blocks that it covers, out of so many.
    pub(super) fn of_block(&self, block: usize, blocks: usize) -> Option<(Range<usize>, u32)> {
        let run = block.checked_div(self.span)?;
        let bytes = self.sums.get(run.checked_mul(4)?..)?.first_chunk()?;
        let start = run * self.span;
        Some((start..blocks.min(start + self.span), u32::from_le_bytes(*bytes)))
    }
}
