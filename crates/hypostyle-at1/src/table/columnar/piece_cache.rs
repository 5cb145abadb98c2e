//! What row groups of a table share.

use std::collections::VecDeque;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};

use hashbrown::HashMap;

/// Keeps the values that were added last, up to a number of bytes.
///
/// A piece of several row groups is decoded once for all of them, if they are read one after
/// the other.
#[derive(Debug)]
pub(super) struct PieceCache<K, V> {
    state: Mutex<State<K, V>>,
    max_bytes: usize,
}

#[derive(Debug)]
struct State<K, V> {
    values: HashMap<K, (V, usize)>,
    /// The keys in the order in which they were added.
    order: VecDeque<K>,
    bytes: usize,
}

impl<K: Clone + Eq + Hash, V: Clone> PieceCache<K, V> {
    /// Returns a cache of values of `max_bytes` bytes in all.
    pub(super) fn new(max_bytes: usize) -> Self {
        let state = State { values: HashMap::new(), order: VecDeque::new(), bytes: 0 };
        Self { state: Mutex::new(state), max_bytes }
    }

    /// Returns a value that was added.
    pub(super) fn get(&self, key: &K) -> Option<V> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.values.get(key).map(|(value, _)| value.clone())
    }

    /// Adds a value of `bytes` bytes; one that does not fit is not kept.
    pub(super) fn insert(&self, key: K, value: V, bytes: usize) {
        if bytes > self.max_bytes {
            return;
        }
        let mut guard = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *guard;
        if let Some((_, old)) = state.values.insert(key.clone(), (value, bytes)) {
            state.bytes = state.bytes.saturating_sub(old);
        } else {
            state.order.push_back(key);
        }
        state.bytes = state.bytes.saturating_add(bytes);
        while state.bytes > self.max_bytes
            && let Some(oldest) = state.order.pop_front()
        {
            let removed = state.values.remove(&oldest).map_or(0, |(_, bytes)| bytes);
            state.bytes = state.bytes.saturating_sub(removed);
        }
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
}
