//! The positions of the blocks, as the column table gives them, checked against the file.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};

use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::types::ColumnType;

/// The codes under which a format's spec numbers the deviations that all three formats share.
#[derive(Debug)]
pub(crate) struct DeviationCodes {
    /// Two blocks overlap.
    pub(crate) overlap: &'static str,
    /// The blocks are not in schema order; `None` if the spec allows any order.
    pub(crate) order: Option<&'static str>,
    /// Unused bytes before or between blocks; `None` if the spec allows them.
    pub(crate) gap: Option<&'static str>,
    /// Bytes after the last block.
    pub(crate) trailing: &'static str,
    /// Bytes after the zlib stream of a block.
    pub(crate) after_stream: &'static str,
    /// Two columns have the same name, or a column has no name.
    pub(crate) names: &'static str,
    /// Text is not UTF-8 and was repaired.
    pub(crate) text: &'static str,
}

/// The position and the sizes of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockLocation {
    pub(crate) offset: u64,
    /// Bytes of the block in the file.
    pub(crate) stored: u64,
    /// Bytes of the block after decompression.
    pub(crate) raw: u64,
}

impl BlockLocation {
    /// Returns the first byte after the block.
    ///
    /// Does not saturate for a block of a checked layout, by invariant 2 of
    /// [`ColumnFileLayout`].
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.stored)
    }
}

/// One column's entry in the column table.
#[derive(Clone, Debug)]
pub(crate) struct ColumnEntry {
    pub(crate) name: String,
    pub(crate) column_type: ColumnType,
    pub(crate) block: BlockLocation,
    /// The offset of the entry itself.
    pub(crate) entry_offset: u64,
}

impl AsRef<Self> for ColumnEntry {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// The positions of header, column table and blocks.
///
/// `E` is the format's own type of entries, if it has more than a [`ColumnEntry`].
///
/// # Invariants
///
/// [`ColumnFileLayout::check`] establishes both, and every layout passes it:
///
/// 1. There is at least one column.
/// 2. Every block lies inside the file and overlaps neither the header nor the column table,
///    so `offset + stored` does not overflow.
#[derive(Debug)]
pub(crate) struct ColumnFileLayout<E = ColumnEntry> {
    pub(crate) rows: u64,
    pub(crate) columns: Vec<E>,
    /// The end of the fixed header.
    pub(crate) header_end: u64,
    /// The first byte of the column table; later than `header_end` in some files.
    pub(crate) table_start: u64,
    /// The first byte after the column table.
    pub(crate) table_end: u64,
}

impl<E: AsRef<ColumnEntry>> ColumnFileLayout<E> {
    /// Checks the entries against a file of `size` bytes and against each other.
    ///
    /// Reports deviations from the spec under the given codes.
    pub(crate) fn check(
        self,
        size: u64,
        codes: &DeviationCodes,
        deviations: &Deviations,
    ) -> Result<Self> {
        let Self { header_end, table_start, table_end, .. } = &self;
        let columns: Vec<&ColumnEntry> = self.columns.iter().map(AsRef::as_ref).collect();
        if columns.is_empty() {
            return Err(Error::malformed("column count", "is 0").at(*header_end));
        }
        for (index, entry) in columns.iter().enumerate() {
            check_block(&entry.block, *header_end, *table_start..*table_end, size)
                .map_err(|err| err.at(entry.entry_offset).in_column(index, &entry.name))?;
        }
        report_names(&columns, codes, deviations)?;
        report_block_positions(&columns, *table_end, size, codes, deviations)?;
        Ok(self)
    }

    /// Returns the Arrow schema; all fields are nullable, or none is.
    pub(crate) fn schema(&self, nullable: bool) -> SchemaRef {
        let field = |entry: &E| {
            let entry = entry.as_ref();
            Field::new(&entry.name, entry.column_type.data_type_for(entry.block.raw), nullable)
        };
        Arc::new(Schema::new(self.columns.iter().map(field).collect::<Vec<_>>()))
    }
}

fn check_block(block: &BlockLocation, header_end: u64, table: Range<u64>, size: u64) -> Result<()> {
    let end = block.offset.checked_add(block.stored);
    if end.is_none_or(|end| end > size) {
        let left = size.saturating_sub(block.offset);
        return Err(ErrorKind::Truncated { what: "block", needed: block.stored, left }.into());
    }
    let in_table = block.offset < table.end && block.end() > table.start;
    // A block of zero bytes cannot overlap anything, whatever its offset.
    if block.stored > 0 && (block.offset < header_end || in_table) {
        let why = format!("{} lies inside the header or the column table", block.offset);
        return Err(Error::malformed("block offset", why));
    }
    Ok(())
}

fn report_names(
    columns: &[&ColumnEntry],
    codes: &DeviationCodes,
    deviations: &Deviations,
) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, entry) in columns.iter().enumerate() {
        // Trims what Java's `trim` does and nothing more, as CLMN's writer and a known reader do.
        if entry.name.trim_matches(|c| c <= ' ').is_empty() {
            let message = format!("column {} has no name", index.saturating_add(1));
            deviations.report(codes.names, entry.entry_offset, message)?;
        }
        if let Some(first) = seen.insert(entry.name.as_str(), index) {
            let (first, index): (usize, _) = (first.saturating_add(1), index.saturating_add(1));
            let message = format!("columns {first} and {index} have the same name");
            deviations.report(codes.names, entry.entry_offset, message)?;
        }
    }
    Ok(())
}

fn report_block_positions(
    columns: &[&ColumnEntry],
    table_end: u64,
    size: u64,
    codes: &DeviationCodes,
    deviations: &Deviations,
) -> Result<()> {
    let non_empty = || columns.iter().enumerate().filter(|(_, entry)| entry.block.stored > 0);
    if let Some(code) = codes.order {
        let mut last_offset = 0;
        for (index, entry) in non_empty() {
            if entry.block.offset < last_offset {
                let index = index.saturating_add(1);
                let message = format!("the block of column {index} is not in schema order");
                deviations.report(code, entry.entry_offset, message)?;
            }
            last_offset = entry.block.offset;
        }
    }
    let mut by_offset: Vec<_> = non_empty().map(|(index, entry)| (index, entry.block)).collect();
    by_offset.sort_by_key(|(_, block)| (block.offset, block.end()));
    // In COLM the column table may follow the blocks, and gaps are not deviations.
    let (mut end, mut owner) = (if codes.gap.is_some() { table_end } else { 0 }, None);
    for (index, block) in by_offset {
        if let (true, Some(owner)) = (block.offset < end, owner) {
            let (a, b): (usize, _) = (owner, index.saturating_add(1));
            let message = format!("the blocks of columns {a} and {b} overlap");
            deviations.report(codes.overlap, block.offset, message)?;
        }
        if let (Some(code), Some(gap)) = (codes.gap, block.offset.checked_sub(end))
            && gap > 0
        {
            let index = index.saturating_add(1);
            let message = format!("{gap} unused bytes before the block of column {index}");
            deviations.report(code, end, message)?;
        }
        if block.end() >= end {
            (end, owner) = (block.end(), Some(index.saturating_add(1)));
        }
    }
    let end = end.max(table_end);
    if let Some(extra) = size.checked_sub(end).filter(|&extra| extra > 0) {
        deviations.report(codes.trailing, end, format!("{extra} bytes after the last block"))?;
    }
    Ok(())
}
