//! A reader that decodes each column chunk once for several scans.

use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use hashbrown::HashMap;

use crate::error::Result;
use crate::format_id::FormatId;
use crate::predicate::PruningStatistics;
use crate::reader::{ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, WholeRowGroup};

/// A column chunk, once it is decoded. The thread that decodes it holds the lock.
type Chunk = Mutex<Option<ArrayRef>>;

/// Column chunks by row group and column.
type Chunks = HashMap<(usize, usize), Arc<Chunk>>;

/// What is known of a column chunk that scans share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ChunkState {
    /// No thread has begun to decode it.
    Encoded,
    /// A thread decodes it.
    Decoding,
    Decoded,
}

/// A reader whose column chunks are decoded once, for the partitions of a table that has
/// fewer row groups than partitions.
///
/// All chunks that it keeps take at most half of the memory of the scan that adds some. If
/// the columns of a scan take more, the scan reads the row group in windows as any other scan
/// does, with the other half of its memory.
#[derive(Debug)]
pub(super) struct SharedColumns {
    inner: Arc<dyn Reader>,
    chunks: Mutex<Kept>,
}

/// The chunks that are kept, or will be when they are first read.
#[derive(Debug, Default)]
struct Kept {
    chunks: Chunks,
    /// Bytes that they take.
    bytes: u64,
}

impl SharedColumns {
    pub(super) fn new(inner: Arc<dyn Reader>) -> Self {
        Self { inner, chunks: Mutex::default() }
    }

    /// Makes room for the columns of a row group; returns whether there is enough, and
    /// changes nothing if not, or without `keep`.
    fn fits(&self, group: usize, request: &RowGroupRequest<'_>, keep: bool) -> bool {
        let mut kept = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |column: &usize| !kept.chunks.contains_key(&(group, *column));
        let mut new: Vec<usize> = request.columns.iter().copied().filter(is_new).collect();
        new.sort_unstable();
        new.dedup();
        // A reader that decodes whole columns anyway takes no less for each partition.
        let bytes = self.inner.column_bytes(group, &new).unwrap_or(0);
        let total = kept.bytes.saturating_add(bytes);
        if !new.is_empty() && total > request.memory / 2 && bytes > 0 {
            return false;
        }
        if keep {
            kept.bytes = total;
            for column in new {
                kept.chunks.entry((group, column)).or_default();
            }
        }
        true
    }

    /// Returns the state of a chunk; `None` if it is not shared.
    fn state(&self, group: usize, column: usize) -> Option<ChunkState> {
        let slot = {
            let kept = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
            kept.chunks.get(&(group, column))?.clone()
        };
        Some(match claim(&slot) {
            Some(chunk) if chunk.is_some() => ChunkState::Decoded,
            Some(_) => ChunkState::Encoded,
            None => ChunkState::Decoding,
        })
    }

    /// Returns columns of a row group, and decodes those that no thread has decoded.
    ///
    /// Several threads that need the same columns decode different ones at a time.
    fn columns(&self, group: usize, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        let slots: Vec<(usize, Arc<Chunk>)> = {
            let mut kept = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
            let mut slot = |column| kept.chunks.entry((group, column)).or_default().clone();
            columns.iter().map(|&column| (column, slot(column))).collect()
        };
        for (column, slot) in &slots {
            if let Some(mut chunk) = claim(slot) {
                self.decode(group, *column, &mut chunk)?;
            }
        }
        // Other threads decode the rest, unless one of them failed.
        let wait = |(column, slot): &(usize, Arc<Chunk>)| {
            let mut chunk = slot.lock().unwrap_or_else(PoisonError::into_inner);
            self.decode(group, *column, &mut chunk)
        };
        slots.iter().map(wait).collect()
    }

    fn decode(
        &self,
        group: usize,
        column: usize,
        chunk: &mut Option<ArrayRef>,
    ) -> Result<ArrayRef> {
        if let Some(array) = chunk {
            return Ok(array.clone());
        }
        let array = self.inner.read(group, &[column])?.column(0).clone();
        Ok(chunk.insert(array).clone())
    }
}

/// Returns a chunk, unless another thread decodes it.
fn claim(chunk: &Chunk) -> Option<MutexGuard<'_, Option<ArrayRef>>> {
    match chunk.try_lock() {
        Ok(chunk) => Some(chunk),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Returns a request with the memory that shared columns leave.
fn with_own_memory<'a>(request: &RowGroupRequest<'a>) -> RowGroupRequest<'a> {
    request.with_memory(request.memory / 2)
}

impl Reader for SharedColumns {
    fn format(&self) -> FormatId {
        self.inner.format()
    }

    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn rows(&self) -> u64 {
        self.inner.rows()
    }

    fn row_groups(&self) -> usize {
        self.inner.row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.inner.row_group_rows(group)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.inner.column_statistics(column)
    }

    fn shares_parts(&self) -> bool {
        self.inner.shares_parts()
    }

    fn dictionary_values(&self, column: usize) -> Option<u64> {
        self.inner.dictionary_values(column)
    }

    fn statistics_ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        self.inner.statistics_ranges(columns)
    }

    fn load_statistics(&self, columns: &[usize]) -> Result<()> {
        self.inner.load_statistics(columns)
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        self.inner.pruning_statistics(group)
    }

    /// Returns the ranges that a scan of one partition may release: not those of chunks that the
    /// scan of another one will decode.
    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let is_done =
            |column: &usize| matches!(self.state(group, *column), None | Some(ChunkState::Decoded));
        let columns: Vec<usize> = columns.iter().copied().filter(is_done).collect();
        self.inner.ranges(group, &columns)
    }

    fn first_ranges(
        &self,
        group: usize,
        columns: &[usize],
        request: &RowGroupRequest<'_>,
    ) -> Vec<Range<u64>> {
        if self.fits(group, request, false) {
            let needed = |column: &usize| {
                matches!(self.state(group, *column), None | Some(ChunkState::Encoded))
            };
            let columns: Vec<usize> = columns.iter().copied().filter(needed).collect();
            return self.inner.ranges(group, &columns);
        }
        self.inner.first_ranges(group, columns, &with_own_memory(request))
    }

    fn shares_chunks(&self) -> bool {
        true
    }

    fn column_bytes(&self, group: usize, columns: &[usize]) -> Option<u64> {
        self.inner.column_bytes(group, columns)
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        if !self.fits(group, request, true) {
            return self.inner.clone().open_row_group(group, &with_own_memory(request));
        }
        let rows = usize::try_from(self.row_group_rows(group)).unwrap_or(usize::MAX);
        let decode = move |columns: &[usize]| self.columns(group, columns);
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }
}
