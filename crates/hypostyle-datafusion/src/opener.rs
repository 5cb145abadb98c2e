//! Opens a part of a file, and streams its rows.

use std::ops::Range;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::listing::{FileRange, PartitionedFile};
use datafusion::datasource::physical_plan::{FileOpenFuture, FileOpener};
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use futures::{FutureExt, StreamExt};
use object_store::ObjectStore;

use crate::metrics::ScanMetrics;
use crate::open_file::OpenFile;
use crate::part_scan::PartScan;
use crate::request::ScanRequest;
use crate::row_groups::RowGroups;
use crate::shared_files::{SharedFile, SharedFiles};

/// A file with so many row groups is cut between them. Partitions of files with fewer share
/// decoded columns instead. The rule must not depend on the part, or rows would be lost.
const MIN_ALIGNED_ROW_GROUPS: usize = 16;

/// Opens files and parts of files.
pub(crate) struct Opener {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) request: Arc<ScanRequest>,
    pub(crate) metadata_cache: Option<Arc<FileMetadataCache>>,
    pub(crate) files: Arc<SharedFiles>,
    pub(crate) metrics: ScanMetrics,
}

impl FileOpener for Opener {
    fn open(&self, part: PartitionedFile) -> Result<FileOpenFuture> {
        let (store, request) = (self.store.clone(), self.request.clone());
        let (cache, metrics) = (self.metadata_cache.clone(), self.metrics.clone());
        let files = self.files.clone();
        Ok(async move {
            let groups = part.extensions.get::<RowGroups>().cloned();
            let meta = part.object_meta;
            let range = part.range.unwrap_or(FileRange { start: 0, end: size_of(meta.size) });
            let length = u64::try_from(range.end.saturating_sub(range.start)).unwrap_or(0);
            let scanned = files.part(&meta.location, length);
            let open = async {
                let options = &request.options;
                OpenFile::open_cached(&store, &meta, request.kind, options, cache.as_ref()).await
            };
            let shared = files.get(&meta.location, meta.size, open).await?;
            if range.start == 0 {
                metrics.file_bytes.add(usize::try_from(meta.size).unwrap_or(usize::MAX));
            }
            metrics.fetched(shared.file.take_unreported());
            let rows = match groups {
                Some(groups) => groups.rows(shared.file.reader.as_ref()),
                None => rows_of(&shared, &range)?,
            };
            let scan = PartScan::try_new(shared, request, rows, metrics, scanned)?;
            let batches = futures::stream::try_unfold(scan, |mut scan| async move {
                Ok(scan.next().await?.map(|batch| (batch, scan)))
            });
            Ok(batches.boxed())
        }
        .boxed())
    }
}

fn size_of(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

/// Maps a range of bytes to the rows that it stands for: the same share of the file.
///
/// Ranges that cover every byte once give rows that cover every row once.
fn rows_of(shared: &SharedFile, range: &FileRange) -> Result<Range<u64>> {
    let reader = &shared.file.reader;
    let (size, rows) = (shared.file.meta.size, reader.rows());
    if range.start <= 0 && range.end >= size_of(size) {
        return Ok(0..rows);
    }
    let row_at = |offset: i64| {
        let offset = u128::try_from(offset).unwrap_or(0).min(u128::from(size));
        let row = offset.saturating_mul(u128::from(rows)).checked_div(u128::from(size));
        row.and_then(|row| u64::try_from(row).ok()).unwrap_or(rows)
    };
    let cut = row_at(range.start)..row_at(range.end);
    let groups = reader.row_groups();
    // A text has row groups of equal size.
    if groups < MIN_ALIGNED_ROW_GROUPS && !(groups > 1 && shared.file.is_blocking()) {
        // More parts than row groups make the table share decoded columns.
        let shares = shared.table.partitions(groups.saturating_add(1));
        shares.map_err(|err| shared.file.error(err))?;
        return Ok(cut);
    }
    // A row group belongs to the part that its first row is in.
    let (mut start, mut end, mut first) = (rows, rows, 0_u64);
    for group in 0..groups {
        if first >= cut.start {
            start = start.min(first);
        }
        if first >= cut.end {
            end = end.min(first);
        }
        first = first.saturating_add(reader.row_group_rows(group));
    }
    Ok(start..end.max(start))
}
