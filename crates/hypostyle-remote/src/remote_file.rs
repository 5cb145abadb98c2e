//! A file of a store, for code that blocks.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use hypostyle_core::source::ByteSource;
use object_store::path::Path;
use tokio::runtime::Handle;

use crate::problem::io_error;
use crate::remote_store::RemoteStore;

/// Requests that run at the same time.
const CONCURRENT_REQUESTS: usize = 16;

/// What a request costs besides the transfer of its bytes: 20 ms at 50 MB/s.
const READ_COST: u64 = 1 << 20;

/// Bytes of a request of a reader that reads from the start to the end, and how many of these run
/// at the same time.
const STREAM_BYTES: u64 = 8 << 20;
const CONCURRENT_STREAM_REQUESTS: usize = 4;

/// A file that is read by range requests, each of which blocks the thread.
///
/// It must not be used on threads of the runtime that must not block.
#[derive(Debug)]
pub struct RemoteFile {
    store: Arc<RemoteStore>,
    location: Path,
    size: u64,
    runtime: Handle,
}

impl RemoteFile {
    /// Opens a file: finds its size, and reads both of its ends with the same requests.
    ///
    /// # Errors
    ///
    /// Fails if there is no such file, or the server cannot send ranges of it.
    pub fn open(store: Arc<RemoteStore>, location: Path, runtime: Handle) -> io::Result<Self> {
        let meta = runtime.block_on(store.open(&location)).map_err(io_error)?;
        Ok(Self { store, location, size: meta.size, runtime })
    }

    /// Returns the name of the file, without its folder.
    pub fn name(&self) -> &str {
        self.location.filename().unwrap_or_default()
    }

    /// Copies all bytes to `out`, with some requests ahead.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or `out` not be written.
    pub fn copy_to(&self, mut out: impl Write) -> io::Result<()> {
        let pieces = std::iter::successors(Some(0..self.size.min(STREAM_BYTES)), |last| {
            let end = self.size.min(last.end.saturating_add(STREAM_BYTES));
            (last.end < end).then_some(last.end..end)
        });
        let mut pieces = futures::stream::iter(pieces.filter(|piece| !piece.is_empty()))
            .map(|piece| self.store.read(&self.location, piece))
            .buffered(CONCURRENT_STREAM_REQUESTS);
        while let Some(piece) = self.runtime.block_on(pieces.next()) {
            out.write_all(&piece.map_err(io_error)?)?;
        }
        Ok(())
    }
}

impl ByteSource for RemoteFile {
    fn size(&self) -> u64 {
        self.size
    }

    fn read(&self, offset: u64, len: usize) -> io::Result<Bytes> {
        let range = offset..offset.saturating_add(len as u64);
        self.runtime.block_on(self.store.read(&self.location, range)).map_err(io_error)
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let reads = futures::stream::iter(ranges.iter().cloned())
            .map(|range| self.store.read(&self.location, range))
            .buffered(CONCURRENT_REQUESTS)
            .try_collect();
        self.runtime.block_on(reads).map_err(io_error)
    }

    fn concurrent_reads(&self) -> usize {
        CONCURRENT_REQUESTS
    }

    fn read_cost(&self) -> u64 {
        READ_COST
    }
}
