//! Joins small batches into larger ones.

use std::collections::VecDeque;

use arrow_array::{Array, RecordBatch};
use arrow_schema::SchemaRef;

use crate::concat::concat_batches;
use crate::error::Result;

/// Collects pieces until they fill a batch.
///
/// A selective predicate leaves few rows of each window; a batch of each would cost more
/// than its rows do.
#[derive(Debug)]
pub(super) struct BatchBuffer {
    batch_size: usize,
    /// Bytes of pieces that may wait for more rows.
    max_bytes: usize,
    pieces: Vec<RecordBatch>,
    rows: usize,
    bytes: usize,
    ready: VecDeque<RecordBatch>,
}

impl BatchBuffer {
    /// Returns an empty buffer for a scan that may use `memory` bytes.
    pub(super) fn new(batch_size: usize, memory: u64) -> Self {
        let max_bytes = usize::try_from(memory / 8).unwrap_or(usize::MAX);
        let (pieces, ready) = Default::default();
        Self { batch_size, max_bytes, pieces, rows: 0, bytes: 0, ready }
    }

    /// Adds the next rows of the scan.
    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<()> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        // Arrays of another encoding cannot be joined with those before.
        let fits = self.pieces.first().is_none_or(|first| first.schema() == batch.schema());
        if !fits || self.rows.saturating_add(batch.num_rows()) > self.batch_size {
            self.flush()?;
        }
        let mut rest = batch;
        while rest.num_rows() > self.batch_size {
            self.ready.push_back(rest.slice(0, self.batch_size));
            rest = rest.slice(self.batch_size, rest.num_rows() - self.batch_size);
        }
        self.rows = self.rows.saturating_add(rest.num_rows());
        // A batch that is more than half full is not worth a copy.
        self.bytes = self.bytes.saturating_add(slice_bytes(&rest));
        let is_large = rest.num_rows() > self.batch_size / 2 || self.bytes > self.max_bytes;
        self.pieces.push(rest);
        if is_large { self.flush() } else { Ok(()) }
    }

    /// Makes a batch of what was collected.
    pub(super) fn flush(&mut self) -> Result<()> {
        (self.rows, self.bytes) = (0, 0);
        let pieces = std::mem::take(&mut self.pieces);
        match pieces.as_slice() {
            [] => {}
            [piece] => self.ready.push_back(piece.clone()),
            [first, ..] => {
                let schema: SchemaRef = first.schema();
                self.ready.push_back(concat_batches(&schema, &pieces)?);
            }
        }
        Ok(())
    }

    /// Returns the next full batch.
    pub(super) fn pop(&mut self) -> Option<RecordBatch> {
        self.ready.pop_front()
    }
}

/// Returns the bytes of the rows of a batch, which may be slices of longer arrays.
pub(super) fn slice_bytes(batch: &RecordBatch) -> usize {
    let columns = batch.columns().iter();
    let bytes = columns.map(|column| column.to_data().get_slice_memory_size().unwrap_or(0));
    bytes.fold(0, usize::saturating_add)
}
