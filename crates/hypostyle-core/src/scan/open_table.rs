//! What the clones and the scans of a table share.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::shared_columns::SharedColumns;
use super::stats::ReadCounts;
use crate::error::Result;
use crate::reader::Reader;
use crate::source::RangeCache;

/// What the clones and the scans of a table share.
pub(super) struct OpenTable {
    pub(super) source: Arc<RangeCache>,
    open: Box<OpenReader>,
    /// The reader, and what was read to open it.
    reader: Mutex<Option<(Arc<dyn Reader>, ReadCounts)>>,
    shared: Mutex<Option<Arc<dyn Reader>>>,
}

/// Makes the reader of a table.
pub(super) type OpenReader = dyn Fn() -> Result<Arc<dyn Reader>> + Send + Sync;

impl OpenTable {
    pub(super) fn new(
        source: Arc<RangeCache>,
        open: Box<OpenReader>,
        reader: Option<Arc<dyn Reader>>,
    ) -> Self {
        let reader = reader.map(|reader| (reader, ReadCounts::of(&source)));
        Self { source, open, reader: Mutex::new(reader), shared: Mutex::new(None) }
    }

    pub(super) fn reader(&self) -> Result<Arc<dyn Reader>> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((reader, _)) = reader.as_ref() {
            return Ok(reader.clone());
        }
        let opened = (self.open)()?;
        Ok(reader.insert((opened, ReadCounts::of(&self.source))).0.clone())
    }

    /// Returns what was read to open the table.
    pub(super) fn metadata_reads(&self) -> ReadCounts {
        let reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        reader.as_ref().map(|(_, counts)| *counts).unwrap_or_default()
    }

    /// Returns the reader for a scan of one of several partitions.
    pub(super) fn partition_reader(&self) -> Result<Arc<dyn Reader>> {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.as_ref().map_or_else(|| self.reader(), |shared| Ok(shared.clone()))
    }

    pub(super) fn share_columns(&self) -> Result<()> {
        let reader = self.reader()?;
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.get_or_insert_with(|| Arc::new(SharedColumns::new(reader)));
        Ok(())
    }
}

impl fmt::Debug for OpenTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenTable").field("source", &self.source).finish_non_exhaustive()
    }
}
