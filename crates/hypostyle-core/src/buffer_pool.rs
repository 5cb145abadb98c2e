//! Buffers that are used again.

use std::sync::{Mutex, PoisonError};

/// Buffers that have done their work and wait for more, for any thread to take.
///
/// Memory that is new from the system costs a page fault every few kilobytes,
/// which is dearer than most of what is done with it afterwards.
#[derive(Debug)]
pub struct BufferPool<T>(Mutex<Vec<T>>);

impl<T> Default for BufferPool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Default> BufferPool<T> {
    /// A buffer as it was given back, or a new one.
    pub fn take(&self) -> T {
        let spare = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        spare.unwrap_or_default()
    }

    /// Gives a buffer back.
    pub fn give(&self, spare: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
    }
}
