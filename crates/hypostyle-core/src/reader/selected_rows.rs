//! Row groups with random access to rows.

use std::ops::Range;

use arrow_array::{ArrayRef, BooleanArray};

use super::RowGroupReader;
use crate::error::Result;
use crate::predicate::ColumnFilter;
use crate::row_selection::RowSelection;

/// Decodes any rows of a row group.
pub trait DecodeRows: Send {
    /// Decodes columns of the selected rows, counted from the first row of the row group.
    fn decode_rows(&mut self, columns: &[usize], rows: &RowSelection) -> Result<Vec<ArrayRef>>;

    /// Evaluates a test for every row of the row group without decoding cells, if possible.
    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let _ = (column, filter);
        Ok(None)
    }
}

/// A [`RowGroupReader`] that decodes only the rows that are asked for.
#[derive(Debug)]
pub struct SelectedRows<D> {
    decode: D,
    rows: usize,
    window: Range<usize>,
}

impl<D: DecodeRows> SelectedRows<D> {
    /// Returns a reader of a row group of `rows` rows.
    pub fn new(rows: usize, decode: D) -> Self {
        Self { decode, rows, window: 0..0 }
    }
}

impl<D: DecodeRows> RowGroupReader for SelectedRows<D> {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        let left = self.rows.saturating_sub(self.window.end);
        let skipped = usize::try_from(rows).unwrap_or(usize::MAX).min(left);
        let start = self.window.end.saturating_add(skipped);
        self.window = start..start;
        Ok(skipped as u64)
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        let start = self.window.end;
        self.window = start..self.rows.min(start.saturating_add(max_rows));
        Ok(self.window.len())
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let rows = match rows {
            Some(rows) => rows.shifted(self.window.start),
            None => RowSelection::from(self.window.clone()),
        };
        self.decode.decode_rows(columns, &rows)
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let all = self.decode.evaluate_encoded(column, filter)?;
        Ok(all.map(|all| all.slice(self.window.start, self.window.len())))
    }
}
