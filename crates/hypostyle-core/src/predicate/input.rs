//! The columns that a predicate is evaluated on.

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};

use super::filter::ColumnFilter;
use crate::error::{Error, Result};

/// The columns of a window of rows, which a predicate asks for one by one.
pub trait PredicateInput {
    /// Returns a column for all rows of the window, by its position in the schema that the
    /// predicate is bound to.
    ///
    /// The array has the type of the schema in any encoding of it: a dictionary, runs or string
    /// views are as good as plain arrays, and distinct values are tested once. A predicate asks
    /// for a column at most once, and not for columns that cannot change the result.
    ///
    /// # Errors
    ///
    /// Fails if the column cannot be decoded.
    fn column(&mut self, column: usize) -> Result<ArrayRef>;

    /// Evaluates a test of a column of text or bytes for every row, without decoding all cells.
    ///
    /// Returns `None` if that is not possible. Otherwise each element must equal the result of
    /// [`ColumnFilter::test`] for the cell of that row.
    ///
    /// # Errors
    ///
    /// Fails if the column cannot be searched.
    fn evaluate_encoded(
        &mut self,
        column: usize,
        test: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let _ = (column, test);
        Ok(None)
    }
}

/// A batch gives all its columns. Its schema is the one that the predicate is bound to.
impl PredicateInput for RecordBatch {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        batch_column(self, column)
    }
}

/// A borrowed batch does the same.
impl PredicateInput for &RecordBatch {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        batch_column(self, column)
    }
}

fn batch_column(batch: &RecordBatch, column: usize) -> Result<ArrayRef> {
    let found = batch.columns().get(column).cloned();
    found.ok_or_else(|| {
        let count = batch.num_columns();
        Error::invalid_argument(format!("the batch has {count} columns, not column {column}"))
    })
}
