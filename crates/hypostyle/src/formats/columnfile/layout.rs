//! Where the blocks lie, and how a column table is read exactly.

#![deny(clippy::arithmetic_side_effects)]

use std::ops::Range;

use bytes::{Bytes, BytesMut};

use super::Codes;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::types::ColumnType;

/// Where the parts of a file are.
///
/// # Invariants
///
/// Set up by [`Layout::try_new`], the only constructor:
///
/// 1. There is at least one column.
/// 2. Every block lies inside the file and touches neither the header nor the
///    column table, so `offset + stored` does not overflow.
#[derive(Debug)]
pub(in crate::formats) struct Layout {
    pub(in crate::formats) rows: u64,
    pub(in crate::formats) plots: Vec<Plot>,
    /// The end of the fixed header.
    pub(in crate::formats) header_end: u64,
    /// The first byte of the column table; later than `header_end` in some files.
    pub(in crate::formats) table_start: u64,
    /// The first byte after the column table.
    pub(in crate::formats) table_end: u64,
}

/// One column's entry in the column table: its plot of the file.
#[derive(Clone, Debug)]
pub(in crate::formats) struct Plot {
    pub(in crate::formats) name: String,
    pub(in crate::formats) kind: ColumnType,
    /// Where the block starts.
    pub(in crate::formats) offset: u64,
    /// Bytes of the block in the file.
    pub(in crate::formats) stored: u64,
    /// Bytes of the block once expanded.
    pub(in crate::formats) raw: u64,
    /// Where the entry itself stands.
    pub(in crate::formats) entry: u64,
    /// The null flag of the column table (COLF only).
    pub(in crate::formats) null_flag: bool,
    /// Whether the schema allows nulls (COLF only).
    pub(in crate::formats) nullable: bool,
}

impl Plot {
    /// The first byte after the block; cannot overflow by invariant 2.
    pub(in crate::formats) fn end(&self) -> u64 {
        self.offset.saturating_add(self.stored)
    }
}

impl Layout {
    /// Checks the plots against the file and against each other.
    pub(in crate::formats) fn try_new(
        layout: Self,
        size: u64,
        codes: &Codes,
        deviations: &Deviations,
    ) -> Result<Self> {
        let Self { plots, header_end, table_start, table_end, .. } = &layout;
        if plots.is_empty() {
            return Err(Error::malformed("column count", "is 0").at(*header_end));
        }
        for (index, plot) in plots.iter().enumerate() {
            check_plot(plot, *header_end, *table_start..*table_end, size)
                .map_err(|err| err.at(plot.entry).in_column(index, &plot.name))?;
        }
        report_names(plots, codes, deviations)?;
        report_places(plots, *table_end, size, codes, deviations)?;
        Ok(layout)
    }

    /// The lowest offset at which a block starts.
    pub(in crate::formats) fn first_block(&self) -> u64 {
        self.plots.iter().map(|plot| plot.offset).min().unwrap_or(self.table_end)
    }
}

fn check_plot(plot: &Plot, header_end: u64, table: Range<u64>, size: u64) -> Result<()> {
    let end = plot.offset.checked_add(plot.stored);
    if end.is_none_or(|end| end > size) {
        let left = size.saturating_sub(plot.offset);
        return Err(ErrorKind::Truncated { what: "block", needed: plot.stored, left }.into());
    }
    let in_table = plot.offset < table.end && plot.end() > table.start;
    // A block of no bytes is nowhere, so it cannot be in the way.
    if plot.stored > 0 && (plot.offset < header_end || in_table) {
        let why = format!("{} lies inside the header or the column table", plot.offset);
        return Err(Error::malformed("block offset", why));
    }
    Ok(())
}

fn report_names(plots: &[Plot], codes: &Codes, deviations: &Deviations) -> Result<()> {
    let mut seen = std::collections::HashMap::new();
    for (index, plot) in plots.iter().enumerate() {
        // Blank as CLMN's writer and a known reader see it, which take off what
        // Java's `trim` does and nothing more.
        if plot.name.trim_matches(|c| c <= ' ').is_empty() {
            let message = format!("column {} has no name", index.saturating_add(1));
            deviations.report(codes.names, plot.entry, message)?;
        }
        if let Some(first) = seen.insert(plot.name.as_str(), index) {
            let (first, index): (usize, _) = (first.saturating_add(1), index.saturating_add(1));
            let message = format!("columns {first} and {index} have the same name");
            deviations.report(codes.names, plot.entry, message)?;
        }
    }
    Ok(())
}

fn report_places(
    plots: &[Plot],
    table_end: u64,
    size: u64,
    codes: &Codes,
    deviations: &Deviations,
) -> Result<()> {
    let present = || plots.iter().enumerate().filter(|(_, plot)| plot.stored > 0);
    if let Some(code) = codes.order {
        let mut last = 0;
        for (index, plot) in present() {
            if plot.offset < last {
                let index = index.saturating_add(1);
                let message = format!("the block of column {index} is not in schema order");
                deviations.report(code, plot.entry, message)?;
            }
            last = plot.offset;
        }
    }
    let mut by_offset: Vec<_> = present().collect();
    by_offset.sort_by_key(|(_, plot)| (plot.offset, plot.end()));
    // In COLM the column table may come after blocks, and gaps are not reported.
    let (mut end, mut owner) = (if codes.gap.is_some() { table_end } else { 0 }, None);
    for (index, plot) in by_offset {
        if let (true, Some(owner)) = (plot.offset < end, owner) {
            let (a, b): (usize, _) = (owner, index.saturating_add(1));
            let message = format!("the blocks of columns {a} and {b} overlap");
            deviations.report(codes.overlap, plot.offset, message)?;
        }
        if let (Some(code), Some(gap)) = (codes.gap, plot.offset.checked_sub(end))
            && gap > 0
        {
            let index = index.saturating_add(1);
            let message = format!("{gap} unused bytes before the block of column {index}");
            deviations.report(code, end, message)?;
        }
        if plot.end() >= end {
            (end, owner) = (plot.end(), Some(index.saturating_add(1)));
        }
    }
    let end = end.max(table_end);
    if let Some(extra) = size.checked_sub(end).filter(|&extra| extra > 0) {
        deviations.report(codes.trailing, end, format!("{extra} bytes after the last block"))?;
    }
    Ok(())
}

/// Reads a column table without ever reading a byte past it.
///
/// Entries have names of any length, so the table's length is known only once
/// it has been read. But every column that is still to come takes at least
/// `entry_min` bytes, and those certainly belong to the table: they are fetched
/// in one go, parsed as far as they reach, and so on. Each round leaves only the
/// share that names have in the table, so even ten thousand columns take a
/// handful of reads.
#[derive(Debug)]
pub(in crate::formats) struct TableReader<'a> {
    source: &'a dyn ByteSource,
    start: u64,
    entry_min: u64,
    limit: u64,
    have: BytesMut,
}

impl<'a> TableReader<'a> {
    /// A table of `columns` entries at `start`, each of at least `entry_min` bytes.
    ///
    /// Fails if the source is too short for them: from here on, `columns` is a
    /// number that the input has earned.
    pub(in crate::formats) fn try_new(
        source: &'a dyn ByteSource,
        start: u64,
        columns: u64,
        entry_min: u64,
        limits: &Limits,
    ) -> Result<Self> {
        let (what, limit) = ("column table", limits.header_bytes);
        let needed = columns.saturating_mul(entry_min);
        let left = source.size().saturating_sub(start);
        if needed > left {
            return Err(Error::new(ErrorKind::Truncated { what, needed, left }).at(start));
        }
        if needed > limit {
            let kind = ErrorKind::LimitExceeded { what, asked: needed, limit };
            return Err(Error::new(kind).at(start));
        }
        Ok(Self { source, start, entry_min, limit, have: BytesMut::new() })
    }

    /// Parses `columns` entries with `parse`, which is given the bytes from the
    /// start of an entry on, and that place in the file.
    ///
    /// `parse` says how long the entry is, or at least how long it must be.
    pub(in crate::formats) fn entries<T>(
        mut self,
        columns: u64,
        mut parse: impl FnMut(&[u8], u64) -> Result<Entry<T>>,
    ) -> Result<(Vec<T>, u64)> {
        let mut entries = Vec::new();
        let mut used = 0_usize;
        for done in 0..columns {
            let after = columns.saturating_sub(done).saturating_sub(1);
            let reserve = after.saturating_mul(self.entry_min);
            loop {
                let at = self.start.saturating_add(used as u64);
                let bytes = self.have.get(used..).unwrap_or_default();
                match parse(bytes, at)? {
                    Entry::Whole { value, len } => {
                        entries.push(value);
                        used = used.saturating_add(len);
                        break;
                    }
                    Entry::Needs(len) => {
                        let end = (used as u64).saturating_add(len).saturating_add(reserve);
                        self.fetch(end)?;
                    }
                }
            }
        }
        Ok((entries, self.start.saturating_add(used as u64)))
    }

    /// Makes the first `len` bytes of the table present.
    fn fetch(&mut self, len: u64) -> Result<()> {
        const WHAT: &str = "column table";
        // A length that the source does not have is no matter of limits.
        source::check(self.source, self.start, len, WHAT)?;
        if len > self.limit {
            let kind = ErrorKind::LimitExceeded { what: WHAT, asked: len, limit: self.limit };
            return Err(Error::new(kind).at(self.start));
        }
        let have = self.have.len() as u64;
        let more: Bytes = source::range(
            self.source,
            self.start.saturating_add(have),
            len.saturating_sub(have),
            WHAT,
        )?;
        self.have.extend_from_slice(&more);
        Ok(())
    }
}

/// What came of parsing an entry of a column table.
pub(in crate::formats) enum Entry<T> {
    /// All of it, `len` bytes.
    Whole {
        /// The entry.
        value: T,
        /// Its bytes.
        len: usize,
    },
    /// More bytes are needed: at least so many from the start of the entry.
    Needs(u64),
}
