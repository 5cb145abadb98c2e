//! The row groups of a scan, by which an engine on several machines divides files.

use std::ops::Range;

use hypostyle::formats::Reader;

/// The row groups that a part of a file consists of: an extension of
/// [`PartitionedFile`](datafusion::datasource::listing::PartitionedFile).
///
/// A part without it has the rows that its range of bytes stands for. Those of a file with few
/// row groups may be a part of a row group, which costs nothing if the parts are scanned by one
/// process, since they share decoded columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroups(pub Range<usize>);

impl RowGroups {
    /// Returns the rows of the row groups.
    pub(crate) fn rows(&self, reader: &dyn Reader) -> Range<u64> {
        let groups = reader.row_groups();
        let row_at = |group: usize| {
            let before = (0..group.min(groups)).map(|group| reader.row_group_rows(group));
            before.fold(0_u64, u64::saturating_add)
        };
        row_at(self.0.start)..row_at(self.0.end)
    }
}

/// A row group that a scan reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedGroup {
    /// The number of the row group in the file.
    pub index: usize,
    /// Its rows.
    pub rows: u64,
    /// About how many bytes the columns of the scan take in memory.
    pub bytes: u64,
}
