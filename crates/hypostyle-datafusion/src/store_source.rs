//! A byte source over an object store, for code that blocks.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use hypostyle::ByteSource;
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt};
use tokio::runtime::Handle;

/// Requests that run at the same time.
const CONCURRENT_REQUESTS: usize = 8;

/// Bytes of a request of a reader that reads from the start to the end, and how many of these run
/// at the same time.
const SEQUENTIAL_BYTES: u64 = 4 << 20;
const SEQUENTIAL_REQUESTS: usize = 4;

/// Reads from an object store, and blocks the thread until bytes are there.
///
/// It must be used on threads that may block, such as those of `spawn_blocking`.
#[derive(Debug)]
pub(crate) struct StoreSource {
    store: Arc<dyn ObjectStore>,
    location: Path,
    size: u64,
    is_local: bool,
    runtime: Handle,
    unreported: Arc<AtomicUsize>,
}

impl StoreSource {
    /// Returns the source of an object; must be called inside a runtime.
    pub(crate) fn new(store: Arc<dyn ObjectStore>, meta: &ObjectMeta, is_local: bool) -> Self {
        let (location, size) = (meta.location.clone(), meta.size);
        let (runtime, unreported) = (Handle::current(), Arc::default());
        Self { store, location, size, is_local, runtime, unreported }
    }

    /// Returns the number of bytes that were read and not yet reported; a caller that reports
    /// them sets it to 0.
    pub(crate) fn unreported(&self) -> Arc<AtomicUsize> {
        self.unreported.clone()
    }

    /// Returns a reader of all bytes from the start on.
    pub(crate) fn sequential(self) -> impl Read + Send {
        let Self { store, location, size, runtime, .. } = self;
        let starts = (0..size.div_ceil(SEQUENTIAL_BYTES))
            .map(|index| index.saturating_mul(SEQUENTIAL_BYTES));
        let pieces = futures::stream::iter(starts)
            .map(move |start| {
                let (store, location) = (store.clone(), location.clone());
                let range = start..size.min(start.saturating_add(SEQUENTIAL_BYTES));
                async move { store.get_range(&location, range).await }
            })
            .buffered(SEQUENTIAL_REQUESTS);
        SequentialReader { pieces: pieces.boxed(), runtime, held: Bytes::new() }
    }

    fn count(&self, bytes: usize) {
        self.unreported.fetch_add(bytes, Ordering::Relaxed);
    }
}

impl ByteSource for StoreSource {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        let bytes = self.runtime.block_on(self.store.get_range(&self.location, range))?;
        self.count(bytes.len());
        Ok(bytes)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let fetch = futures::stream::iter(ranges.iter().cloned())
            .map(|range| self.store.get_range(&self.location, range))
            .buffered(CONCURRENT_REQUESTS)
            .try_collect::<Vec<Bytes>>();
        let all = self.runtime.block_on(fetch)?;
        self.count(all.iter().map(Bytes::len).sum());
        Ok(all)
    }

    fn concurrent_reads(&self) -> usize {
        if self.is_local { 1 } else { CONCURRENT_REQUESTS }
    }
}

/// Reads the pieces of a file one after the other, while the next ones are fetched.
struct SequentialReader {
    pieces: BoxStream<'static, object_store::Result<Bytes>>,
    runtime: Handle,
    held: Bytes,
}

impl Read for SequentialReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.held.is_empty() {
            match self.runtime.block_on(self.pieces.next()) {
                Some(piece) => self.held = piece?,
                None => return Ok(0),
            }
        }
        let count = buf.len().min(self.held.len());
        let taken = self.held.split_to(count);
        let target = buf.get_mut(..count).unwrap_or_default();
        target.copy_from_slice(&taken);
        Ok(count)
    }
}
