//! Runs work on several threads and delivers the results in order.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::error::Result;

/// Whether the target has no threads; the code for them is then left out.
const HAS_NO_THREADS: bool = cfg!(target_family = "wasm");

/// Runs `work` on every item on `threads` threads, and returns the results in order.
///
/// # Errors
///
/// Fails with the first error in the order of the items; later items are not started.
pub fn map<'i, I: Sync, T: Send>(
    items: &'i [I],
    threads: usize,
    work: impl Fn(&'i I) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let mut results = Vec::with_capacity(items.len());
    for_each(items, threads, work, |_, result| {
        results.push(result);
        Ok(())
    })?;
    Ok(results)
}

/// Runs `work` on every item on `threads` threads, and hands each item and its result to
/// `each` in order, on the calling thread.
///
/// See [`stream`] for the bound on memory.
///
/// # Errors
///
/// Fails with the first error in the order of the items; later items are not started.
pub fn for_each<'i, I: Sync, T: Send>(
    items: &'i [I],
    threads: usize,
    work: impl Fn(&'i I) -> Result<T> + Sync,
    mut each: impl FnMut(&'i I, T) -> Result<()>,
) -> Result<()> {
    let (mut jobs, mut done) = (items.iter(), items.iter());
    stream(
        threads.min(items.len()),
        || Ok(jobs.next()),
        work,
        |result| done.next().map_or(Ok(()), |item| each(item, result)),
    )
}

/// Runs `work` on every job that `next` returns, on `threads` threads, and hands the
/// results to `each` in order.
///
/// `next` and `each` run on the calling thread. At any time, at most twice as many jobs
/// as threads are running or waiting for `each`, so memory is bounded even if `each` is
/// slow. A panic of a worker is propagated to the caller.
///
/// # Errors
///
/// Fails with the first error in order. Jobs that `next` returned before it failed are
/// completed first, so the error does not depend on the number of threads.
pub fn stream<J: Send, T: Send>(
    threads: usize,
    mut next: impl FnMut() -> Result<Option<J>>,
    work: impl Fn(J) -> Result<T> + Sync,
    mut each: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    if threads <= 1 || HAS_NO_THREADS {
        while let Some(job) = next()? {
            each(work(job)?)?;
        }
        return Ok(());
    }
    let window = threads * 2;
    let queue = Queue::default();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let _stopper = StopOnPanic(&queue);
                while let Some((index, job)) = queue.claim() {
                    queue.deliver(index, work(job));
                }
            });
        }
        let _stopper = StopAlways(&queue);
        let (mut offered, mut taken) = (0, 0);
        let mut more = true;
        let mut outcome = Ok(());
        loop {
            if more && offered - taken < window {
                match next() {
                    Ok(Some(job)) => {
                        queue.offer(offered, job);
                        offered += 1;
                    }
                    Ok(None) => more = false,
                    Err(err) => (more, outcome) = (false, Err(err)),
                }
            }
            if taken == offered && !more {
                return outcome;
            }
            let wait = !more || offered - taken == window;
            match queue.take(taken, wait) {
                Taken::Ready(result) => {
                    taken += 1;
                    each(result?)?;
                }
                Taken::NotYet => {}
                // A worker panicked; leaving the scope propagates the panic.
                Taken::Never => return Ok(()),
            }
        }
    })
}

/// Runs two closures, in parallel if `threads` is more than 1.
///
/// A panic of either closure is propagated.
pub fn both<A, B: Send>(
    threads: usize,
    one: impl FnOnce() -> A,
    other: impl FnOnce() -> B + Send,
) -> (A, B) {
    if threads <= 1 || HAS_NO_THREADS {
        let one = one();
        return (one, other());
    }
    thread::scope(|scope| {
        let other = scope.spawn(other);
        let one = one();
        (one, other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

struct Queue<J, T> {
    state: Mutex<State<J, T>>,
    changed: Condvar,
}

struct State<J, T> {
    jobs: VecDeque<(usize, J)>,
    ready: BTreeMap<usize, Result<T>>,
    stopped: bool,
}

enum Taken<T> {
    Ready(Result<T>),
    NotYet,
    Never,
}

impl<J, T> Default for Queue<J, T> {
    fn default() -> Self {
        let state = State { jobs: VecDeque::new(), ready: BTreeMap::new(), stopped: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl<J, T> Queue<J, T> {
    fn lock(&self) -> MutexGuard<'_, State<J, T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<J, T>>) -> MutexGuard<'a, State<J, T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn offer(&self, index: usize, job: J) {
        self.lock().jobs.push_back((index, job));
        self.changed.notify_all();
    }

    fn claim(&self) -> Option<(usize, J)> {
        let mut state = self.lock();
        loop {
            if state.stopped {
                return None;
            }
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            state = self.wait(state);
        }
    }

    fn deliver(&self, index: usize, result: Result<T>) {
        self.lock().ready.insert(index, result);
        self.changed.notify_all();
    }

    fn take(&self, index: usize, wait: bool) -> Taken<T> {
        let mut state = self.lock();
        loop {
            if let Some(result) = state.ready.remove(&index) {
                return Taken::Ready(result);
            }
            if state.stopped {
                return Taken::Never;
            }
            if !wait {
                return Taken::NotYet;
            }
            state = self.wait(state);
        }
    }

    fn stop(&self) {
        self.lock().stopped = true;
        self.changed.notify_all();
    }
}

struct StopOnPanic<'a, J, T>(&'a Queue<J, T>);

impl<J, T> Drop for StopOnPanic<'_, J, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

struct StopAlways<'a, J, T>(&'a Queue<J, T>);

impl<J, T> Drop for StopAlways<'_, J, T> {
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
    fn map_and_for_each_keep_the_order_of_the_items() {
        let items: Vec<usize> = (0..200).map(|item| item * 3 % 7).collect();
        let squares: Vec<usize> = items.iter().map(|item| item * item).collect();
        for threads in [1, 2, 5, 64] {
            assert_eq!(map(&items, threads, |item| Ok(item * item)).unwrap(), squares);
            let mut seen = Vec::new();
            let each = |item: &usize, square| {
                seen.push((*item, square));
                Ok(())
            };
            for_each(&items, threads, |item| Ok(item * item), each).unwrap();
            assert!(seen.into_iter().eq(items.iter().copied().zip(squares.clone())), "{threads}");
            assert!(map(&[], threads, |_: &usize| Ok(())).unwrap().is_empty());
        }
    }

    #[test]
    fn map_and_for_each_fail_with_the_first_error_in_order() {
        let items: Vec<usize> = (0..100_000).collect();
        let fails = |item: &usize| {
            if *item >= 10 { Err(Error::invalid_argument(format!("{item}"))) } else { Ok(*item) }
        };
        for threads in [1, 4] {
            let started = AtomicUsize::new(0);
            let work = |item| {
                started.fetch_add(1, Ordering::Relaxed);
                fails(item)
            };
            assert_eq!(map(&items, threads, work).unwrap_err().to_string(), "10");
            assert!(started.load(Ordering::Relaxed) < 100);
            let mut delivered = 0;
            let each = |_: &usize, _| {
                delivered += 1;
                Ok(())
            };
            assert_eq!(for_each(&items, threads, fails, each).unwrap_err().to_string(), "10");
            assert_eq!(delivered, 10);
            // An error of `each` ends the run as well.
            let stop = |item: &usize, ()| match item {
                3 => Err(Error::invalid_argument("stop")),
                _ => Ok(()),
            };
            let err = for_each(&items, threads, |_| Ok(()), stop).unwrap_err();
            assert_eq!(err.to_string(), "stop");
        }
    }

    #[test]
    fn a_panic_in_map_reaches_the_caller() {
        let items: Vec<usize> = (0..50).collect();
        let run = || map(&items, 3, |item| if *item == 7 { panic!("seven") } else { Ok(*item) });
        assert!(std::panic::catch_unwind(run).is_err());
    }

    #[test]
    fn an_error_of_the_source_waits_for_the_work_before_it() {
        for threads in [1, 2, 5] {
            for bad_job in [3, 100] {
                let mut jobs = 0..;
                let next = || match jobs.next() {
                    Some(7) | None => Err(Error::invalid_argument("source")),
                    job => Ok(job),
                };
                let work = |job| match job {
                    job if job == bad_job => {
                        thread::sleep(std::time::Duration::from_millis(20));
                        Err(Error::invalid_argument("work"))
                    }
                    job => Ok(job),
                };
                let mut done = Vec::new();
                let each = |job| {
                    done.push(job);
                    Ok(())
                };
                let err = stream(threads, next, work, each).unwrap_err();
                let want = if bad_job == 3 { (3, "work") } else { (7, "source") };
                assert_eq!((done.len(), err.to_string().as_str()), want, "{threads}");
            }
        }
    }
}
