//! The output limit that the entries of a bundle share.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One entry's view of the output limit of its bundle.
#[derive(Clone, Debug)]
pub(super) struct BundleBudget {
    /// The bytes that each entry of the bundle has unpacked to so far.
    spent: Arc<[AtomicU64]>,
    /// The entry that this budget belongs to.
    entry: usize,
}

impl BundleBudget {
    /// Returns one budget for each of `entries` entries.
    pub(super) fn for_entries(entries: usize) -> impl Iterator<Item = Self> {
        let spent: Arc<[AtomicU64]> = (0..entries).map(|_| AtomicU64::new(0)).collect();
        (0..entries).map(move |entry| Self { spent: spent.clone(), entry })
    }

    /// Returns how much of `limit` the other entries have left over.
    pub(super) fn left(&self, limit: u64) -> u64 {
        let others = self.spent.iter().enumerate().filter(|(entry, _)| *entry != self.entry);
        others.fold(limit, |left, (_, spent)| left.saturating_sub(spent.load(Ordering::Relaxed)))
    }

    /// Records what this entry unpacked to; unpacking it again does not count twice.
    pub(super) fn spend(&self, bytes: u64) {
        if let Some(spent) = self.spent.get(self.entry) {
            spent.fetch_max(bytes, Ordering::Relaxed);
        }
    }
}
