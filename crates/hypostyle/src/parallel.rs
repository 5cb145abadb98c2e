//! Work on many columns at once, with results in order.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::Result;

/// Runs `work` for `0..count` on `threads` threads, and hands the results to
/// `each` in order, on the calling thread.
///
/// At most twice as many results as threads are waiting at any time, so a slow
/// `each` bounds the memory. The first error in order ends it.
pub(crate) fn in_order<T: Send>(
    count: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T> + Sync,
    mut each: impl FnMut(usize, T) -> Result<()>,
) -> Result<()> {
    let threads = threads.min(count);
    if threads <= 1 {
        return (0..count).try_for_each(|index| each(index, work(index)?));
    }
    let queue = Queue::new(count, threads * 2);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _stopper = StopOnPanic(&queue);
                while let Some(index) = queue.claim() {
                    queue.deliver(index, work(index));
                }
            });
        }
        let _stopper = StopAlways(&queue);
        (0..count).try_for_each(|index| match queue.take(index) {
            Some(result) => each(index, result?),
            // A worker panicked; leaving the scope carries the panic on.
            None => Ok(()),
        })
    })
}

struct Queue<T> {
    count: usize,
    window: usize,
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    claimed: usize,
    taken: usize,
    stopped: bool,
    ready: BTreeMap<usize, Result<T>>,
}

impl<T> Queue<T> {
    fn new(count: usize, window: usize) -> Self {
        let state = State { claimed: 0, taken: 0, stopped: false, ready: BTreeMap::new() };
        Self { count, window, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.stopped || state.claimed == self.count {
                return None;
            }
            if state.claimed < state.taken + self.window {
                state.claimed += 1;
                return Some(state.claimed - 1);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn deliver(&self, index: usize, result: Result<T>) {
        self.lock().ready.insert(index, result);
        self.changed.notify_all();
    }

    fn take(&self, index: usize) -> Option<Result<T>> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.ready.remove(&index) {
                state.taken = index + 1;
                self.changed.notify_all();
                return Some(result);
            }
            if state.stopped {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

struct StopOnPanic<'a, T>(&'a Queue<T>);

impl<T> Drop for StopOnPanic<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

struct StopAlways<'a, T>(&'a Queue<T>);

impl<T> Drop for StopAlways<'_, T> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::error::Error;

    #[test]
    fn results_come_in_order_on_any_number_of_threads() {
        for threads in [1, 2, 5, 64] {
            let mut seen = Vec::new();
            let each = |i, x| {
                seen.push((i, x));
                Ok(())
            };
            in_order(200, threads, |i| Ok(i * i), each).unwrap();
            assert!(seen.iter().copied().eq((0..200).map(|i| (i, i * i))), "{threads}");
        }
    }

    #[test]
    fn the_first_error_in_order_wins_and_ends_it() {
        let done = AtomicUsize::new(0);
        let work = |i| {
            done.fetch_add(1, Ordering::Relaxed);
            if i >= 10 { Err(Error::invalid_argument(format!("{i}"))) } else { Ok(()) }
        };
        let err = in_order(100_000, 4, work, |_, ()| Ok(())).unwrap_err();
        assert_eq!(err.to_string(), "10");
        assert!(done.load(Ordering::Relaxed) < 100);
    }

    #[test]
    fn a_panic_is_carried_on_and_nobody_waits_for_ever() {
        let run =
            || in_order(50, 3, |i| if i == 7 { panic!("seven") } else { Ok(i) }, |_, _| Ok(()));
        assert!(std::panic::catch_unwind(run).is_err());
    }
}
