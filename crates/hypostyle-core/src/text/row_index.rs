//! Collects the positions of the row index.

use super::position::RowPosition;

/// The positions of rows, some bytes apart.
#[derive(Debug)]
pub(super) struct RowIndex {
    step: u64,
    positions: Vec<RowPosition>,
}

impl RowIndex {
    /// Returns an index that starts at the first row.
    pub(super) fn new(first: RowPosition, step: u64) -> Self {
        Self { step, positions: vec![first] }
    }

    /// Adds the start of a block, unless it is close to the one before.
    pub(super) fn add(&mut self, position: RowPosition) {
        let is_far = |last: &RowPosition| {
            position.row > last.row && position.offset >= last.offset.saturating_add(self.step)
        };
        if self.positions.last().is_none_or(is_far) {
            self.positions.push(position);
        }
    }

    /// Returns the positions.
    pub(super) fn finish(self) -> Vec<RowPosition> {
        self.positions
    }
}
