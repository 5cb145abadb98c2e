//! What row groups of a table share.

use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;

/// Keeps the values that were used last, up to a number of bytes.
///
/// A piece of several row groups is decoded once for all of them, if they are read one after
/// the other and if the pieces of one row group fit.
#[derive(Debug)]
pub(super) struct PieceCache<K, V> {
    state: Mutex<State<K, V>>,
}

#[derive(Debug)]
struct State<K, V> {
    values: HashMap<K, Kept<V>>,
    /// How often values were added or returned.
    uses: u64,
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
struct Kept<V> {
    value: V,
    bytes: usize,
    /// The number of its last use.
    used: u64,
}

impl<K: Clone + Eq + Hash, V: Clone> PieceCache<K, V> {
    /// Returns a cache of values of `max_bytes` bytes in all.
    pub(super) fn new(max_bytes: usize) -> Self {
        let state = State { values: HashMap::new(), uses: 0, bytes: 0, max_bytes };
        Self { state: Mutex::new(state) }
    }

    /// Returns a value that was added.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        state.uses += 1;
        let kept = state.values.get_mut(key)?;
        kept.used = state.uses;
        Some(kept.value.clone())
    }

    /// Adds a value of `bytes` bytes; one that does not fit is not kept.
    pub(super) fn insert(&self, key: K, value: V, bytes: usize) {
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if bytes > state.max_bytes {
            return;
        }
        state.uses += 1;
        let kept = Kept { value, bytes, used: state.uses };
        if let Some(old) = state.values.insert(key, kept) {
            state.bytes = state.bytes.saturating_sub(old.bytes);
        }
        state.bytes = state.bytes.saturating_add(bytes);
        while state.bytes > state.max_bytes {
            let oldest = state.values.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { break };
            let removed = state.values.remove(&oldest).map_or(0, |kept| kept.bytes);
            state.bytes = state.bytes.saturating_sub(removed);
        }
    }

    /// Makes room for values of at least `bytes` bytes in all.
    pub(super) fn reserve(&self, bytes: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.max_bytes = state.max_bytes.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_values_make_room() {
        let cache = PieceCache::new(10);
        for key in 0..4 {
            cache.insert(key, key * 10, 3);
        }
        assert_eq!(
            (0..4).map(|key| cache.get(&key)).collect::<Vec<_>>(),
            [None, Some(10), Some(20), Some(30)]
        );
        cache.insert(2, 21, 1);
        cache.insert(9, 90, 11);
        assert_eq!((cache.get(&2), cache.get(&9)), (Some(21), None));
        cache.insert(5, 50, 10);
        assert_eq!((cache.get(&3), cache.get(&5)), (None, Some(50)));
    }

    #[test]
    fn values_in_use_stay() {
        let cache = PieceCache::new(10);
        for key in 0..20 {
            cache.insert(key, key, 4);
            assert_eq!((cache.get(&key), cache.get(&0)), (Some(key), Some(0)));
        }
        assert_eq!(cache.get(&18), None);
        cache.reserve(30);
        cache.insert(30, 30, 22);
        assert_eq!((cache.get(&0), cache.get(&19), cache.get(&30)), (Some(0), Some(19), Some(30)));
    }
}
