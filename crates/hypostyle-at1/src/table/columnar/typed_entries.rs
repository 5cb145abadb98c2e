//! Dictionaries as arrays, which the row groups of a table share.

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringViewArray};

use super::piece_cache::PieceCache;
use crate::row_buffer::PaddedDict;

/// Bytes of arrays that a table keeps.
const MAX_BYTES: usize = 64 << 20;

/// A dictionary by the address of its entries, and a column of the table.
type Key = (usize, usize);

/// The distinct values of a field in the entries of a dictionary.
#[derive(Clone, Debug)]
pub(super) struct TypedDictionary {
    pub(super) values: ArrayRef,
    /// The value of each entry; `None` if every entry has a value of its own.
    pub(super) codes: Option<Arc<Vec<u32>>>,
    /// The values as string views, once a scan has asked for them.
    views: Arc<OnceLock<ArrayRef>>,
}

impl TypedDictionary {
    pub(super) fn new(values: ArrayRef, codes: Option<Arc<Vec<u32>>>) -> Self {
        Self { values, codes, views: Arc::default() }
    }

    /// Returns the values as string views, if they are text, or else as they are.
    pub(super) fn views(&self) -> ArrayRef {
        self.views.get_or_init(|| string_views(&self.values)).clone()
    }
}

/// Returns texts as string views; other values as they are.
pub(super) fn string_views(values: &ArrayRef) -> ArrayRef {
    match values.as_string_opt::<i32>() {
        Some(texts) => Arc::new(StringViewArray::from(texts)),
        None => values.clone(),
    }
}

/// The entries of dictionaries as arrays of the columns of a table.
#[derive(Debug)]
pub(super) struct TypedEntries {
    arrays: PieceCache<Key, (Arc<PaddedDict>, TypedDictionary)>,
    /// How many cells named entries of dictionaries that have no array.
    uses: PieceCache<Key, (Arc<PaddedDict>, usize)>,
}

impl TypedEntries {
    pub(super) fn new() -> Self {
        Self { arrays: PieceCache::new(MAX_BYTES), uses: PieceCache::new(MAX_BYTES) }
    }

    /// Returns the entries as an array of a column, if another row group has made it.
    pub(super) fn get(&self, entries: &Arc<PaddedDict>, column: usize) -> Option<TypedDictionary> {
        // The cache holds the entries too, so that their address stays theirs.
        self.arrays.get(&key(entries, column)).map(|(_, typed)| typed)
    }

    /// Adds cells that name entries; returns how many there were so far.
    pub(super) fn count_uses(
        &self,
        entries: &Arc<PaddedDict>,
        column: usize,
        cells: usize,
    ) -> usize {
        let key = key(entries, column);
        let before = self.uses.get(&key).map_or(0, |(_, uses)| uses);
        let uses = before.saturating_add(cells);
        self.uses.insert(key, (entries.clone(), uses), entries.memory());
        uses
    }

    /// Keeps the entries as an array of a column.
    pub(super) fn insert(&self, entries: &Arc<PaddedDict>, column: usize, typed: &TypedDictionary) {
        let codes = typed.codes.as_ref().map_or(0, |codes| size_of_val(codes.as_slice()));
        let bytes = typed.values.get_array_memory_size().saturating_add(codes);
        let bytes = bytes.saturating_add(entries.memory());
        self.arrays.insert(key(entries, column), (entries.clone(), typed.clone()), bytes);
    }
}

fn key(entries: &Arc<PaddedDict>, column: usize) -> Key {
    (Arc::as_ptr(entries).addr(), column)
}
