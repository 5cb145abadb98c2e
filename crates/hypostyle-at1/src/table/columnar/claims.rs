//! Which pieces are being decoded.

use std::hash::Hash;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use hashbrown::HashSet;

/// The pieces that threads are decoding, so that no two threads decode the same one.
///
/// Row groups that are decoded at the same time need the same pieces. A thread that finds one
/// of its pieces taken decodes its other pieces first.
#[derive(Debug)]
pub(super) struct Claims<K> {
    taken: Mutex<HashSet<K>>,
    freed: Condvar,
}

impl<K> Default for Claims<K> {
    fn default() -> Self {
        Self { taken: Mutex::default(), freed: Condvar::new() }
    }
}

impl<K: Clone + Eq + Hash> Claims<K> {
    /// Takes the first keys that are free, `most` at most; waits until one is.
    ///
    /// A thread must not hold a claim while it waits for another.
    pub(super) fn take(&self, keys: &[K], most: usize) -> Claim<'_, K> {
        let mut taken = self.lock();
        loop {
            let free = keys.iter().filter(|key| !taken.contains(*key));
            let mine: Vec<K> = free.take(most).cloned().collect();
            if !mine.is_empty() || keys.is_empty() {
                taken.extend(mine.iter().cloned());
                return Claim { claims: self, keys: mine };
            }
            taken = self.freed.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keys that a thread has taken, until it drops the claim.
#[derive(Debug)]
pub(super) struct Claim<'c, K: Eq + Hash + Clone> {
    claims: &'c Claims<K>,
    keys: Vec<K>,
}

impl<K: Eq + Hash + Clone> Claim<'_, K> {
    /// Returns whether a key was taken.
    pub(super) fn has(&self, key: &K) -> bool {
        self.keys.contains(key)
    }
}

impl<K: Eq + Hash + Clone> Drop for Claim<'_, K> {
    fn drop(&mut self) {
        let mut taken = self.claims.lock();
        for key in &self.keys {
            taken.remove(key);
        }
        drop(taken);
        self.claims.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_key_is_held_by_one_thread_at_a_time() {
        let claims = Claims::default();
        let held: Vec<AtomicUsize> = (0..3).map(|_| AtomicUsize::new(0)).collect();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..200 {
                        let mut left = vec![0, 1, 2];
                        while !left.is_empty() {
                            let claim = claims.take(&left, 2);
                            let mine: Vec<usize> =
                                left.iter().copied().filter(|key| claim.has(key)).collect();
                            assert!(!mine.is_empty() && mine.len() <= 2);
                            for &key in &mine {
                                assert_eq!(held[key].fetch_add(1, Ordering::SeqCst), 0);
                            }
                            for &key in &mine {
                                held[key].fetch_sub(1, Ordering::SeqCst);
                            }
                            left.retain(|key| !claim.has(key));
                        }
                    }
                });
            }
        });
        assert!(!claims.take(&[], 1).has(&0));
    }
}
