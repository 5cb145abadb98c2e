//! Joins small batches into larger ones.

use std::collections::VecDeque;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;

use crate::error::Result;

/// Collects pieces until they fill a batch.
///
/// A selective predicate leaves few rows of each window; a batch of each would cost more
/// than its rows do.
#[derive(Debug)]
pub(super) struct BatchBuffer {
    batch_size: usize,
    pieces: Vec<RecordBatch>,
    rows: usize,
    ready: VecDeque<RecordBatch>,
}

impl BatchBuffer {
    pub(super) fn new(batch_size: usize) -> Self {
        Self { batch_size, pieces: Vec::new(), rows: 0, ready: VecDeque::new() }
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
        let is_large = rest.num_rows() > self.batch_size / 2;
        self.pieces.push(rest);
        if is_large { self.flush() } else { Ok(()) }
    }

    /// Makes a batch of what was collected.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.rows = 0;
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
