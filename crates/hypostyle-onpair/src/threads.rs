//! Joining worker threads.

use std::panic::resume_unwind;
use std::thread::ScopedJoinHandle;

/// Waits for a thread and returns its result; resumes the panic if the thread panicked.
pub(crate) fn join<T>(worker: ScopedJoinHandle<'_, T>) -> T {
    worker.join().unwrap_or_else(|payload| resume_unwind(payload))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::thread;

    use super::*;

    #[test]
    fn a_panic_of_a_worker_reaches_the_thread_that_joins_it() {
        let joined = || thread::scope(|scope| join(scope.spawn(|| panic!("worker failed"))));
        let payload = catch_unwind::<_, ()>(joined).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"worker failed"));
        assert_eq!(thread::scope(|scope| join(scope.spawn(|| 7))), 7);
    }
}
