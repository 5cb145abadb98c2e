//! Blocks of parsed rows, whose columns become arrays.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::DataType;

use crate::error::{Error, Result};

/// Parses a text block by block, and builds the columns of a block on demand.
pub(super) trait RowBlocks: Send {
    /// Moves to the next block; returns the number of its rows, 0 at the end.
    ///
    /// After an error, a block can be asked for again.
    fn next_block(&mut self) -> Result<usize>;

    /// Returns rows of the block as an array of the type of the column.
    fn column(&self, column: &TextColumn, rows: &PickedRows<'_>) -> Result<ArrayRef>;
}

/// A column of a text table.
#[derive(Clone, Debug)]
pub(super) struct TextColumn {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// Rows without a value are empty texts, because the target has no nulls.
    pub(super) gaps_are_empty: bool,
    /// The text that means null in this column, besides the empty cell.
    pub(super) null_token: Option<String>,
}

/// Rows of a block.
#[derive(Clone, Debug)]
pub(super) enum PickedRows<'a> {
    /// Consecutive rows.
    Range(Range<usize>),
    /// Single rows, in ascending order.
    Single(&'a [usize]),
}

impl PickedRows<'_> {
    /// Returns the number of rows.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Range(range) => range.len(),
            Self::Single(rows) => rows.len(),
        }
    }

    /// Returns the number in the block of the row at a position.
    pub(super) fn row(&self, position: usize) -> usize {
        match self {
            Self::Range(range) => range.start.saturating_add(position),
            Self::Single(rows) => rows.get(position).copied().unwrap_or_default(),
        }
    }

    /// Changes the row of an error from a position among these rows to one of the table.
    pub(super) fn place(&self, err: Error, first_row: u64, column: &TextColumn) -> Error {
        let err = match err.row().and_then(|row| usize::try_from(row).ok()) {
            Some(position) => err.at_row(first_row.saturating_add(self.row(position) as u64)),
            None => err,
        };
        err.in_column(column.index, &column.name)
    }
}
