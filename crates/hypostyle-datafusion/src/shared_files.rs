//! The open files of a plan, which its partitions share.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use datafusion::common::{DataFusionError, Result};
use hypostyle::Table;
use object_store::path::Path;
use tokio::sync::OnceCell;

use crate::open_file::OpenFile;

/// The open files of a plan.
///
/// Partitions that scan parts of one file share its decoded columns, so they share one table. It
/// is kept until all parts of the file have been scanned, or the plan is dropped.
#[derive(Debug, Default)]
pub(crate) struct SharedFiles {
    files: Mutex<HashMap<Path, Entry>>,
}

#[derive(Debug)]
struct Entry {
    file: Arc<OnceCell<SharedFile>>,
    /// Bytes of the parts that have not been scanned.
    bytes_left: u64,
}

/// A file and its table.
#[derive(Clone, Debug)]
pub(crate) struct SharedFile {
    pub(crate) file: Arc<OpenFile>,
    pub(crate) table: Table,
    _user: Arc<FileUser>,
}

/// A plan that scans a file. When no plan scans it any more, the file drops what was fetched.
#[derive(Debug)]
struct FileUser(Arc<OpenFile>);

impl FileUser {
    fn new(file: Arc<OpenFile>) -> Self {
        file.users.fetch_add(1, Ordering::SeqCst);
        Self(file)
    }
}

impl Drop for FileUser {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.release();
        }
    }
}

impl SharedFiles {
    /// Returns an open file, or opens it.
    pub(crate) async fn get<F>(&self, location: &Path, size: u64, open: F) -> Result<SharedFile>
    where
        F: Future<Output = Result<Arc<OpenFile>>>,
    {
        let cell = {
            let mut files = self.lock();
            let new = || Entry { file: Arc::default(), bytes_left: size };
            files.entry(location.clone()).or_insert_with(new).file.clone()
        };
        let shared = cell.get_or_try_init(|| async {
            let file = open.await?;
            let (table, user) = (file.table(), FileUser::new(file.clone()));
            Ok::<_, DataFusionError>(SharedFile { file, table, _user: Arc::new(user) })
        });
        shared.await.cloned()
    }

    /// Returns a guard that counts a part of a file as scanned once it is dropped.
    pub(crate) fn part(self: &Arc<Self>, location: &Path, bytes: u64) -> ScannedPart {
        ScannedPart { files: Arc::downgrade(self), location: location.clone(), bytes }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Path, Entry>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of a file that is being scanned.
pub(crate) struct ScannedPart {
    files: Weak<SharedFiles>,
    location: Path,
    bytes: u64,
}

impl fmt::Debug for ScannedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScannedPart").field("location", &self.location).finish_non_exhaustive()
    }
}

impl Drop for ScannedPart {
    fn drop(&mut self) {
        let Some(files) = self.files.upgrade() else { return };
        let mut files = files.lock();
        if let Some(entry) = files.get_mut(&self.location) {
            entry.bytes_left = entry.bytes_left.saturating_sub(self.bytes);
            if entry.bytes_left == 0 {
                files.remove(&self.location);
            }
        }
    }
}
