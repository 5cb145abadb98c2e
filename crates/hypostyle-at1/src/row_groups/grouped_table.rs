//! A table of row groups, and the blocks of its columns.

use std::ops::Range;

use memchr::memchr_iter;

use super::source::read_ranges;
use crate::cell_syntax::Syntax;
use crate::codecs::context::DecodeContext;
use crate::codecs::groups::{self, BlockIndex, GroupsMeta};
use crate::group_index::{Checksums, TextIndex};
use crate::statistics::GroupStatistics;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::predicate::{Decimal, NumberBounds, TextBounds};
use hypostyle_core::source::ByteSource;

/// A table whose rows are in groups, with everything known of it except its cells.
#[derive(Debug)]
pub(crate) struct GroupedTable {
    pub(crate) meta: GroupsMeta,
    pub(crate) index: BlockIndex,
    /// The offset of its blocks in the file.
    pub(crate) blocks: u64,
    pub(crate) rows: usize,
    pub(crate) groups: usize,
    pub(crate) syntax: Syntax,
    /// The text before, between and after the cells of a row, for JSON.
    pub(crate) segments: Vec<Vec<u8>>,
    /// The names of the columns.
    pub(crate) names: Vec<String>,
    /// The names of the objects and arrays around cells, for JSON.
    pub(crate) nested: Vec<String>,
    pub(crate) texts: TextIndex,
    pub(crate) sums: Checksums,
}

/// The original lines of the rows of a group.
#[derive(Debug, Default)]
pub(super) struct GroupLines {
    text: Vec<u8>,
    /// The end of each line in `text`.
    ends: Vec<usize>,
}

impl GroupLines {
    /// Returns the line of a row, with its newline.
    pub(super) fn get(&self, row: usize) -> Option<&[u8]> {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before));
        self.text.get(start.copied().unwrap_or_default()..*self.ends.get(row)?)
    }
}

/// The decompressed cells of a block.
#[derive(Debug)]
pub(super) struct CellBlock {
    text: Vec<u8>,
    /// The end of each cell in `text`.
    ends: Vec<usize>,
}

impl CellBlock {
    fn get(&self, row: usize) -> &[u8] {
        let start = row.checked_sub(1).and_then(|before| self.ends.get(before));
        let start = start.map_or(0, |end| end + 1);
        let end = self.ends.get(row).copied().unwrap_or_default();
        self.text.get(start..end).unwrap_or_default()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let cell = self.text.get(start..end).unwrap_or_default();
            start = end + 1;
            cell
        })
    }
}

impl GroupedTable {
    /// Returns the index of the column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Returns the name of a column, or nothing if it has none.
    pub(crate) fn name(&self, column: usize) -> &str {
        self.names.get(column).map_or("", String::as_str)
    }

    /// Returns the rows of a group.
    pub(crate) fn rows_of(&self, group: usize) -> Range<usize> {
        let start = group.saturating_mul(self.meta.group_rows);
        start..self.rows.min(start.saturating_add(self.meta.group_rows))
    }

    /// Reads the original lines of the rows of a group.
    pub(super) fn read_lines(
        &self,
        group: usize,
        source: &dyn ByteSource,
        context: &DecodeContext<'_>,
    ) -> Result<GroupLines> {
        let columns: Vec<usize> = (0..self.meta.columns).collect();
        let cells = self.read_blocks(group, &columns, source, context)?;
        let rows = self.rows_of(group).len();
        self.check_size(rows, &cells, context)?;
        let mut lines = GroupLines::default();
        for row in 0..rows {
            for (column, cells) in cells.iter().enumerate() {
                match self.segments.get(column) {
                    Some(segment) => lines.text.extend_from_slice(segment),
                    None if column > 0 => lines.text.extend_from_slice(&self.meta.delimiter),
                    None => {}
                }
                lines.text.extend_from_slice(cells.get(row));
            }
            // A template has one more segment than cells.
            let last = self.segments.get(cells.len()).map(Vec::as_slice);
            lines.text.extend_from_slice(last.unwrap_or_default());
            lines.text.push(b'\n');
            lines.ends.push(lines.text.len());
        }
        Ok(lines)
    }

    /// Fails if the text of the rows would exceed the output limit.
    ///
    /// The file has the text between cells once, but the output has it once per row.
    fn check_size(
        &self,
        rows: usize,
        cells: &[CellBlock],
        context: &DecodeContext<'_>,
    ) -> Result<()> {
        let between: usize = self.segments.iter().map(Vec::len).sum();
        let delimiters = self.meta.delimiter.len().saturating_mul(self.meta.columns);
        let row = between.saturating_add(delimiters) as u64;
        let cells = cells.iter().map(|block| block.text.len() as u64).sum();
        let asked = row.saturating_mul(rows as u64).saturating_add(cells);
        let (what, limit) =
            ("size of the rows", context.limits.output_bytes.min(context.limits.read_bytes));
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Returns the offset and length of a block in the file.
    fn place(&self, block: usize) -> (u64, u64) {
        let Range { start, end } = self.index.block(block);
        (self.blocks.saturating_add(start as u64), end.saturating_sub(start) as u64)
    }

    /// Returns where the bytes are that the block of a column is checked and decoded from.
    pub(crate) fn block(&self, group: usize, column: usize) -> StoredBlock {
        let block = group.saturating_mul(self.meta.columns).saturating_add(column);
        // A checksum may cover neighbouring blocks, which must then be read as well.
        let (covered, sum) = match self.sums.of_block(block, self.index.ends.len()) {
            Some((blocks, sum)) => (blocks, Some(sum)),
            None => (block..block.saturating_add(1), None),
        };
        let (start, _) = self.place(covered.start);
        let (last, len) = self.place(covered.end.saturating_sub(1));
        let bytes = start..last.saturating_add(len).max(start);
        let (offset, len) = self.place(block);
        StoredBlock { group, column, bytes, covered: covered.len(), sum, offset, len }
    }

    /// Returns whether every block has a checksum.
    pub(crate) fn has_checksums(&self) -> bool {
        let blocks = self.index.ends.len();
        blocks.checked_sub(1).is_none_or(|last| self.sums.of_block(last, blocks).is_some())
    }

    /// Checks the bytes of a block against their checksum, and decompresses it.
    pub(crate) fn decompress(
        &self,
        block: &StoredBlock,
        bytes: &[u8],
        context: &DecodeContext<'_>,
    ) -> Result<Vec<u8>> {
        let group = block.group;
        if block.sum.is_some_and(|sum| hypostyle_core::wire::crc32(bytes) != sum) {
            let why = match block.covered {
                1 => format!("the checksum of group {group} does not match"),
                more => format!("the checksum of {more} blocks of group {group} does not match"),
            };
            return Err(self.placed(block, Error::malformed("block", why)));
        }
        let from = block.offset.saturating_sub(block.bytes.start);
        let from = usize::try_from(from).unwrap_or(usize::MAX);
        let to = from.saturating_add(usize::try_from(block.len).unwrap_or(usize::MAX));
        let bytes = bytes.get(from..to).unwrap_or_default();
        let text = groups::decompress(bytes, (block.offset, true), context);
        text.map_err(|err| self.placed(block, err))
    }

    /// Returns the error for a block with fewer cells than its group has rows.
    pub(crate) fn too_few_cells(&self, block: &StoredBlock, cells: usize) -> Error {
        let (group, rows) = (block.group, self.rows_of(block.group).len());
        let why = format!("group {group} has {cells} cells for {rows} rows");
        self.placed(block, Error::malformed("block", why))
    }

    fn placed(&self, block: &StoredBlock, err: Error) -> Error {
        let err = err.at(block.offset).in_stream("blocks");
        err.in_column(block.column, self.name(block.column))
    }

    /// Reads and decompresses the blocks of some columns of a group; checks their checksums.
    pub(super) fn read_blocks(
        &self,
        group: usize,
        columns: &[usize],
        source: &dyn ByteSource,
        context: &DecodeContext<'_>,
    ) -> Result<Vec<CellBlock>> {
        let blocks: Vec<StoredBlock> =
            columns.iter().map(|&column| self.block(group, column)).collect();
        let range = |block: &StoredBlock| (block.bytes.start, block.bytes.end - block.bytes.start);
        let ranges: Vec<(u64, u64)> = blocks.iter().map(range).collect();
        let read = read_ranges(source, &ranges, "block")?;
        let rows = self.rows_of(group).len();
        let mut all = Vec::with_capacity(columns.len());
        for (block, bytes) in blocks.iter().zip(&read) {
            let text = self.decompress(block, bytes, context)?;
            let mut ends: Vec<usize> = memchr_iter(b'\n', &text).take(rows).collect();
            if ends.len() < rows {
                ends.push(text.len());
            }
            if ends.len() < rows {
                return Err(self.too_few_cells(block, ends.len()));
            }
            all.push(CellBlock { text, ends });
        }
        Ok(all)
    }
}

/// The place of a block in the file, and of the bytes that share its checksum.
#[derive(Clone, Debug)]
pub(crate) struct StoredBlock {
    group: usize,
    column: usize,
    /// The bytes that the checksum covers; those of the block if there is no checksum.
    pub(crate) bytes: Range<u64>,
    /// The number of blocks in these bytes.
    covered: usize,
    sum: Option<u32>,
    offset: u64,
    /// The bytes of the block itself.
    pub(crate) len: u64,
}

/// The statistics and indexes of a group, for pruning.
pub(crate) struct GroupPruning<'s> {
    pub(crate) table: &'s GroupedTable,
    pub(crate) group: usize,
}

impl GroupPruning<'_> {
    /// The bounds of the numbers of a column.
    pub(crate) fn numbers_of(&self, column: usize) -> NumberBounds {
        let at = self.group.saturating_mul(self.table.meta.columns).saturating_add(column);
        let bounds = match self.table.index.statistics.get(at) {
            Some(Some(GroupStatistics::Integers { min, max })) if min <= max => {
                Some((Decimal::from_i128(*min), Decimal::from_i128(*max)))
            }
            Some(Some(GroupStatistics::Decimals { min, max })) if min <= max => {
                // Other writers round to the nearest float, which may exclude a cell (§6.4).
                let min = Decimal::from_f64(min.next_down().next_down());
                min.zip(Decimal::from_f64(max.next_up().next_up()))
            }
            _ => None,
        };
        bounds.map_or(NumberBounds::Unknown, |(min, max)| NumberBounds::Between(min, max))
    }

    /// The bounds of the texts of a column, if they are indexed.
    pub(crate) fn texts_of(&self, column: usize) -> Option<TextBounds<'_>> {
        let (min, max) = self.table.texts.bounds(column, self.group)?;
        Some(TextBounds { min, max })
    }

    /// Returns whether a column may contain a text.
    pub(crate) fn may_hold_in(&self, column: usize, text: &[u8]) -> bool {
        self.table.texts.may_hold(column, self.group, text)
    }
}

/// The same for a column of a name, which a template may not have.
impl GroupPruning<'_> {
    /// The bounds of the numbers of a column; a template without it has no numbers in it.
    pub(crate) fn numbers(&self, column: &str) -> NumberBounds {
        self.table.column(column).map_or(NumberBounds::NoNumbers, |column| self.numbers_of(column))
    }

    /// The bounds of the texts of a column, if they are indexed.
    pub(crate) fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        self.texts_of(self.table.column(column)?)
    }

    /// Returns whether a column may contain a text.
    pub(crate) fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        self.table.column(column).is_some_and(|column| self.may_hold_in(column, text))
    }
}
