//! A pool of reusable buffers.

use std::sync::{Mutex, PoisonError};

/// Buffers that any thread can take and give back.
///
/// New memory from the system costs a page fault every few kilobytes, which is more
/// expensive than most work on it, so buffers are reused.
#[derive(Debug)]
pub struct BufferPool<T>(Mutex<Vec<T>>);

impl<T> Default for BufferPool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Default> BufferPool<T> {
    /// Takes a buffer with its old content, or a new one if the pool is empty.
    pub fn take(&self) -> T {
        let buffer = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        buffer.unwrap_or_default()
    }

    /// Gives a buffer back to the pool.
    pub fn give(&self, buffer: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(buffer);
    }
}
