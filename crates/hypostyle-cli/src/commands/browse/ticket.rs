//! How far a task is, and the way to stop it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Progress of a task, and the way to stop it.
#[derive(Debug, Default)]
pub(super) struct Ticket {
    is_cancelled: AtomicBool,
    done: AtomicU64,
    total: AtomicU64,
}

impl Ticket {
    pub(super) fn cancel(&self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::Relaxed)
    }

    /// Adds to the work that there is.
    pub(super) fn expect(&self, units: u64) {
        self.total.fetch_add(units, Ordering::Relaxed);
    }

    /// Adds to the work that is done.
    pub(super) fn advance(&self, units: u64) {
        self.done.fetch_add(units, Ordering::Relaxed);
    }

    /// Returns how many percent of the work are done.
    pub(super) fn percent(&self) -> u64 {
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        done.saturating_mul(100).checked_div(total).unwrap_or(0).min(99)
    }
}
