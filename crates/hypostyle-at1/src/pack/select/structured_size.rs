//! The size of the structured form, shared with the thread that compresses RAW.
//!
//! One thread makes the structured form and reports its size through a [`SizeReporter`].
//! Another thread compresses the same content without structure, and stops once it knows
//! that it cannot win. Estimates only save work: the decision between the two forms always
//! uses the final size, so it does not depend on timing.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What is known of the size of the structured form.
#[derive(Clone, Copy, Debug, Default)]
enum SizeState {
    /// Nothing yet.
    #[default]
    Pending,
    /// An estimate in bytes; the streams are being made.
    Estimated(usize),
    /// The size in bytes.
    Final(usize),
    /// There is no structured form: the content does not fit, or encoding it failed.
    Absent,
}

/// The size of the structured form, in bytes.
#[derive(Debug, Default)]
pub(in crate::pack) struct StructuredSize {
    state: Mutex<SizeState>,
    changed: Condvar,
}

impl StructuredSize {
    /// Returns the reporter of this size. Dropping it ends all waiting.
    pub(in crate::pack) fn reporter(&self) -> SizeReporter<'_> {
        SizeReporter { size: self }
    }

    /// Returns whether there is no structured form, without waiting.
    pub(in crate::pack) fn is_absent(&self) -> bool {
        matches!(*self.lock(), SizeState::Absent)
    }

    /// Returns whether the structured form is smaller than `bytes`.
    ///
    /// Waits for the final size, unless the estimate is not smaller: then the answer is
    /// "no" for now, and the caller asks again later.
    pub(in crate::pack) fn is_below(&self, bytes: f64) -> bool {
        let mut state = self.lock();
        loop {
            match *state {
                SizeState::Final(size) => return (size as f64) < bytes,
                SizeState::Absent => return false,
                SizeState::Estimated(size) if size as f64 >= bytes => return false,
                SizeState::Estimated(_) | SizeState::Pending => state = self.wait(state),
            }
        }
    }

    /// Waits for an estimate, and for the final size if the estimate is smaller than `bytes`.
    pub(in crate::pack) fn wait_if_estimated_below(&self, bytes: f64) {
        let mut state = self.lock();
        loop {
            match *state {
                SizeState::Estimated(size) if size as f64 >= bytes => return,
                SizeState::Final(_) | SizeState::Absent => return,
                SizeState::Estimated(_) | SizeState::Pending => state = self.wait(state),
            }
        }
    }

    /// Waits for the final size, and returns whether it is smaller than `bytes`.
    pub(in crate::pack) fn is_finally_below(&self, bytes: usize) -> bool {
        let mut state = self.lock();
        loop {
            match *state {
                SizeState::Final(size) => return size < bytes,
                SizeState::Absent => return false,
                SizeState::Estimated(_) | SizeState::Pending => state = self.wait(state),
            }
        }
    }

    fn set(&self, new: SizeState) {
        let mut state = self.lock();
        if !matches!(*state, SizeState::Final(_)) {
            *state = new;
        }
        drop(state);
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, SizeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&'s self, state: MutexGuard<'s, SizeState>) -> MutexGuard<'s, SizeState> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reports the size of the structured form.
///
/// If it is dropped before [`finish`](Self::finish), there is no structured form. So an
/// error or a panic cannot leave the other thread waiting.
#[derive(Debug)]
pub(in crate::pack) struct SizeReporter<'s> {
    size: &'s StructuredSize,
}

impl SizeReporter<'_> {
    /// Reports an estimate, which replaces the one before.
    pub(in crate::pack) fn estimate(&self, bytes: usize) {
        self.size.set(SizeState::Estimated(bytes));
    }

    /// Reports the final size.
    pub(in crate::pack) fn finish(self, bytes: usize) {
        self.size.set(SizeState::Final(bytes));
    }
}

impl Drop for SizeReporter<'_> {
    fn drop(&mut self) {
        // This has no effect after `finish`.
        self.size.set(SizeState::Absent);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn estimates_only_rule_the_structured_form_out() {
        let size = StructuredSize::default();
        let reporter = size.reporter();
        reporter.estimate(100);
        assert!(!size.is_below(100.0) && !size.is_absent());
        size.wait_if_estimated_below(100.0);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| (size.is_below(101.0), size.is_finally_below(99)));
            let likely = scope.spawn(|| {
                size.wait_if_estimated_below(101.0);
                size.is_below(99.0)
            });
            reporter.finish(98);
            assert_eq!(waiting.join().unwrap(), (true, true));
            assert!(likely.join().unwrap());
        });
        assert!(!size.is_absent() && !size.is_below(98.0) && !size.is_finally_below(98));
    }

    #[test]
    fn a_reporter_that_fails_or_panics_ends_the_waiting() {
        for panics in [false, true] {
            let size = StructuredSize::default();
            let reporter = size.reporter();
            thread::scope(|scope| {
                let waiting = scope.spawn(|| (size.is_below(1e9), size.is_finally_below(9)));
                let reporting = scope.spawn(move || {
                    reporter.estimate(1);
                    assert!(!panics, "fails while it encodes");
                });
                assert_eq!(reporting.join().is_err(), panics);
                assert_eq!(waiting.join().unwrap(), (false, false));
            });
            assert!(size.is_absent());
        }
    }
}
