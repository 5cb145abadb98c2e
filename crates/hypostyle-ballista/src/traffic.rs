//! What an executor has read and written.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts the bytes that an executor has read from stores and written to them.
#[derive(Debug, Default)]
pub struct Traffic {
    read: AtomicU64,
    requests: AtomicU64,
    written: AtomicU64,
}

impl Traffic {
    pub(crate) fn count_read(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts bytes of a read that was counted before.
    pub(crate) fn count_bytes(&self, bytes: u64) {
        self.read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn count_written(&self, bytes: u64) {
        self.written.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the bytes that were read.
    pub fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// Returns the number of reads.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Returns the bytes that were written.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}
