//! Batches that threads have decoded and the caller has not taken yet.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use arrow_array::RecordBatch;

use super::coalesce_batches::slice_bytes;
use crate::error::{ErrorKind, Result};

/// Batches of a row group that may wait for the caller.
const MAX_WAITING: usize = 4;

/// What a thread delivers: a batch, or `None` after the last batch of a row group.
pub(super) type Delivery = Result<Option<RecordBatch>>;

/// The batches of several row groups, of which the caller takes one after the other.
///
/// Threads decode later row groups ahead. They wait if the batches that the caller has not
/// taken are many, unless the caller waits for theirs.
#[derive(Debug)]
pub(super) struct Deliveries {
    /// Bytes of batches that may wait for the caller.
    max_bytes: u64,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug)]
struct State {
    /// The deliveries of each row group.
    groups: Vec<VecDeque<Delivery>>,
    /// The row group whose batches the caller takes.
    front: usize,
    /// The next row group to decode.
    next: usize,
    bytes: u64,
    /// Whether the caller has dropped the scan, or a thread has panicked.
    is_closed: bool,
    has_panicked: bool,
}

impl Deliveries {
    pub(super) fn new(groups: usize, max_bytes: u64) -> Self {
        let groups = (0..groups).map(|_| VecDeque::new()).collect();
        let (front, next, bytes, is_closed, has_panicked) = Default::default();
        let state = State { groups, front, next, bytes, is_closed, has_panicked };
        Self { max_bytes, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the next row group to decode; `None` if there is none, or if it is not wanted.
    pub(super) fn claim(&self) -> Option<usize> {
        let mut state = self.lock();
        let group = state.next;
        if state.is_closed || group >= state.groups.len() {
            return None;
        }
        state.next += 1;
        Some(group)
    }

    /// Delivers to the caller, and waits if it has not taken enough yet.
    ///
    /// Returns false if nothing more is wanted.
    pub(super) fn put(&self, group: usize, delivery: Delivery) -> bool {
        let bytes = bytes_of(&delivery);
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return false;
            }
            let waiting = state.groups.get(group).map_or(0, VecDeque::len);
            let fits = state.bytes.saturating_add(bytes) <= self.max_bytes;
            // The caller gets the batch that it waits for, whatever its size.
            let is_awaited = state.front == group && waiting == 0;
            if is_awaited || bytes == 0 || (fits && waiting < MAX_WAITING) {
                break;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes = state.bytes.saturating_add(bytes);
        if let Some(deliveries) = state.groups.get_mut(group) {
            deliveries.push_back(delivery);
        }
        drop(state);
        self.changed.notify_all();
        true
    }

    /// Takes the next batch; `None` after the last row group.
    ///
    /// # Errors
    ///
    /// Fails with the error that a thread has delivered, and if a thread has panicked.
    pub(super) fn take(&self) -> Result<Option<RecordBatch>> {
        let mut state = self.lock();
        loop {
            let front = state.front;
            let Some(deliveries) = state.groups.get_mut(front) else { return Ok(None) };
            match deliveries.pop_front() {
                Some(Ok(None)) => {
                    state.front += 1;
                    self.changed.notify_all();
                }
                Some(delivery) => {
                    state.bytes = state.bytes.saturating_sub(bytes_of(&delivery));
                    self.changed.notify_all();
                    return delivery;
                }
                None if state.has_panicked => {
                    return Err(ErrorKind::Internal("a decoding thread panicked".into()).into());
                }
                None => {
                    state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    /// Makes the threads stop.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Returns a guard that tells the caller if the thread that holds it panics.
    pub(super) fn guard(&self) -> PanicGuard<'_> {
        PanicGuard(self)
    }
}

/// Tells the caller of a scan if the thread that holds the guard panics.
pub(super) struct PanicGuard<'d>(&'d Deliveries);

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut state = self.0.lock();
            (state.has_panicked, state.is_closed) = (true, true);
            drop(state);
            self.0.changed.notify_all();
        }
    }
}

fn bytes_of(delivery: &Delivery) -> u64 {
    delivery.as_ref().ok().and_then(Option::as_ref).map_or(0, |batch| slice_bytes(batch) as u64)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use arrow_array::{ArrayRef, Int64Array};

    use super::*;

    #[test]
    fn threads_stay_within_the_bytes_that_may_wait() {
        let batch = || {
            let array: ArrayRef = Arc::new(Int64Array::from(vec![7; 100]));
            RecordBatch::try_from_iter([("a", array)]).unwrap()
        };
        let (groups, made, taken) = (50, AtomicUsize::new(0), AtomicUsize::new(0));
        let size = slice_bytes(&batch()) as u64;
        let deliveries = Deliveries::new(groups, 5 * size);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while let Some(group) = deliveries.claim() {
                        made.fetch_add(1, Ordering::SeqCst);
                        deliveries.put(group, Ok(Some(batch())));
                        deliveries.put(group, Ok(None));
                    }
                });
            }
            while deliveries.take().unwrap().is_some() {
                let taken = taken.fetch_add(1, Ordering::SeqCst) + 1;
                thread::yield_now();
                // Those that wait, one for each thread, and one that the caller waits for.
                assert!(made.load(Ordering::SeqCst) <= taken + 5 + 3 + 1);
            }
        });
        assert_eq!(taken.into_inner(), groups);
        deliveries.close();
        assert!(!deliveries.put(0, Ok(Some(batch()))));
        assert_eq!(deliveries.claim(), None);
    }
}
