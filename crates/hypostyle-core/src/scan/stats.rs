//! What a scan read and skipped.

use std::ops::Range;
use std::sync::Arc;

use crate::source::{ByteSource, RangeCache};

/// What a scan has read and skipped so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScanStats {
    /// Row groups of the table.
    pub row_groups: u64,
    /// Row groups that the scan opened.
    pub row_groups_read: u64,
    /// Row groups that statistics excluded.
    pub row_groups_pruned: u64,
    /// Rows that the predicate was evaluated for, or that were decoded without one.
    pub rows_read: u64,
    /// Rows that the scan returned.
    pub rows_returned: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Bytes that were read, those of the metadata included.
    pub bytes_read: u64,
    /// Reads by which they were fetched.
    pub reads: u64,
    /// Row groups that were left out because they are damaged.
    pub damaged: Vec<DamagedRowGroup>,
}

/// A row group that a scan left out because it is damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedRowGroup {
    /// The index of the row group.
    pub group: usize,
    /// The rows of the table that are lost.
    pub rows: Range<u64>,
    /// What is wrong.
    pub error: String,
}

impl ScanStats {
    /// Adds what another decoder of the same scan did; its bytes are those of the table.
    pub(super) fn add(&mut self, part: &Self) {
        self.row_groups_read += part.row_groups_read;
        self.rows_read += part.rows_read;
        self.rows_returned += part.rows_returned;
        self.damaged.extend_from_slice(&part.damaged);
    }
}

/// Bytes and reads of a source.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadCounts {
    bytes: u64,
    reads: u64,
}

impl ReadCounts {
    /// Returns what was read from a source so far.
    pub(super) fn of(source: &RangeCache) -> Self {
        Self { bytes: source.bytes_read(), reads: source.reads() }
    }

    /// Adds what was read from a source after `before`.
    pub(super) fn add_since(&mut self, before: Self, source: &RangeCache) {
        let now = Self::of(source);
        let since = |now: u64, before: u64| now.saturating_sub(before);
        self.bytes = self.bytes.saturating_add(since(now.bytes, before.bytes));
        self.reads = self.reads.saturating_add(since(now.reads, before.reads));
    }
}

/// Counts what a scan reads from the source of its table.
#[derive(Debug)]
pub(super) struct ScanCounter {
    source: Arc<RangeCache>,
    /// What was read to open the table and to plan the scan.
    metadata: ReadCounts,
    before: ReadCounts,
}

impl ScanCounter {
    pub(super) fn start(source: &Arc<RangeCache>, metadata: ReadCounts) -> Self {
        Self { source: source.clone(), metadata, before: ReadCounts::of(source) }
    }

    /// Sets the bytes and reads of the statistics of a scan.
    pub(super) fn count(&self, stats: &mut ScanStats) {
        let mut all = self.metadata;
        all.add_since(self.before, &self.source);
        stats.bytes = self.source.size();
        (stats.bytes_read, stats.reads) = (all.bytes, all.reads);
    }
}
