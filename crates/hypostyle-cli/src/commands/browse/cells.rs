//! Cells as texts, and a bounded cache of those that were read.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, StringArray};
use arrow_schema::Field;
use hypostyle::cast::spelled_text;
use hypostyle_view::cut;

use super::source::{Rows, Source};
use super::ticket::Ticket;
use crate::failure::Result;

/// Characters of a cell that are kept for the grid.
const MAX_CELL_CHARS: usize = 500;

/// Characters of a cell of a row that is read as a whole.
pub(super) const MAX_WHOLE_CHARS: usize = 1 << 20;

/// Bytes of cells that are kept.
const MAX_BYTES: usize = 64 << 20;

/// Reads columns of the rows in a window; `None` if that was cancelled.
///
/// # Errors
///
/// Fails if the rows cannot be decoded.
pub(super) fn read(
    source: &Source,
    rows: &Rows,
    window: Range<u64>,
    columns: &[usize],
    ticket: &Ticket,
) -> Result<Option<Vec<(usize, StringArray)>>> {
    let mut builders: Vec<StringBuilder> = columns.iter().map(|_| StringBuilder::new()).collect();
    let done = source.read(rows, window, columns, ticket, |_, batch| {
        let fields = batch.schema();
        let arrays = batch.columns().iter().zip(fields.fields());
        for (builder, (array, field)) in builders.iter_mut().zip(arrays) {
            append(builder, array, field, MAX_CELL_CHARS)?;
        }
        Ok(true)
    })?;
    let finished = builders.iter_mut().map(StringBuilder::finish);
    Ok(done.then(|| columns.iter().copied().zip(finished).collect()))
}

fn append(
    builder: &mut StringBuilder,
    array: &ArrayRef,
    field: &Field,
    max_chars: usize,
) -> Result<()> {
    let texts = spelled_text(array, field)?;
    for text in texts.as_string::<i32>() {
        match text {
            Some(text) if text.len() > max_chars => builder.append_value(cut(text, max_chars)),
            text => builder.append_option(text),
        }
    }
    Ok(())
}

/// Reads all cells of a row.
///
/// # Errors
///
/// Fails if the row cannot be decoded.
pub(super) fn whole_row(source: &Source, row: u64) -> Result<Vec<Option<String>>> {
    let mut batches = source.scan().rows(row..row.saturating_add(1)).batches()?;
    let Some(batch) = batches.next_batch()? else { return Ok(Vec::new()) };
    let schema = batch.schema();
    let arrays = batch.columns().iter().zip(schema.fields());
    let cells = arrays.map(|(array, field)| {
        let texts = spelled_text(array, field)?;
        let text = texts.as_string::<i32>().iter().next().flatten();
        Ok(text.map(|text| cut(text, MAX_WHOLE_CHARS)))
    });
    cells.collect()
}

/// Returns the value of an array of one row as a text.
///
/// # Errors
///
/// Fails for values that Arrow cannot print.
pub(super) fn value_text(value: &ArrayRef, field: &Field) -> Result<String> {
    let texts = spelled_text(value, field)?;
    let text = texts.as_string::<i32>().iter().next().flatten().unwrap_or_default();
    Ok(cut(text, 40))
}

/// Cells of columns in windows of positions, of which those that were shown last are kept.
#[derive(Debug, Default)]
pub(super) struct CellCache {
    windows: HashMap<(u64, usize), Cached>,
    bytes: usize,
    clock: Cell<u64>,
}

#[derive(Debug)]
struct Cached {
    /// `None` if the window is damaged.
    texts: Option<Arc<StringArray>>,
    bytes: usize,
    used: Cell<u64>,
}

impl CellCache {
    /// Returns the cells of a column in the window that starts at a position: `None` if they were
    /// not read, `Some(None)` if they cannot be.
    pub(super) fn get(&self, start: u64, column: usize) -> Option<Option<Arc<StringArray>>> {
        let cached = self.windows.get(&(start, column))?;
        cached.used.set(self.now());
        Some(cached.texts.clone())
    }

    /// Adds cells, and forgets those that were not used for the longest time.
    pub(super) fn put(&mut self, start: u64, column: usize, texts: Option<StringArray>) {
        let bytes = texts.as_ref().map_or(0, Array::get_array_memory_size);
        let cached = Cached { texts: texts.map(Arc::new), bytes, used: Cell::new(self.now()) };
        if let Some(old) = self.windows.insert((start, column), cached) {
            self.bytes = self.bytes.saturating_sub(old.bytes);
        }
        self.bytes = self.bytes.saturating_add(bytes);
        while self.bytes > MAX_BYTES && self.windows.len() > 1 {
            let oldest = self.windows.iter().min_by_key(|(_, cached)| cached.used.get());
            let Some(key) = oldest.map(|(key, _)| *key) else { break };
            if let Some(old) = self.windows.remove(&key) {
                self.bytes = self.bytes.saturating_sub(old.bytes);
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.set(self.clock.get().saturating_add(1));
        self.clock.get()
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_keeps_what_was_used_last() {
        let mut cache = CellCache::default();
        let cells = || Some(StringArray::from(vec!["x".repeat(MAX_BYTES / 4)]));
        for start in 0..3 {
            cache.put(start, 0, cells());
        }
        assert!(cache.get(0, 0).is_some());
        cache.put(3, 0, cells());
        assert!(cache.get(1, 0).is_none(), "the oldest one goes");
        assert!(cache.get(0, 0).is_some() && cache.get(3, 0).is_some());
        assert!(cache.bytes <= MAX_BYTES);
        cache.put(9, 0, None);
        assert!(cache.get(9, 0).is_some_and(|texts| texts.is_none()));
    }
}
