//! Row groups with random access to rows.

use arrow_array::{ArrayRef, BooleanArray};

use super::{RowGroupReader, WindowCursor};
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
    cursor: WindowCursor,
}

impl<D: DecodeRows> SelectedRows<D> {
    /// Returns a reader of a row group of `rows` rows.
    pub fn new(rows: usize, decode: D) -> Self {
        Self { decode, cursor: WindowCursor::new(rows) }
    }
}

impl<D: DecodeRows> RowGroupReader for SelectedRows<D> {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        self.decode.decode_rows(columns, &self.cursor.selected(rows))
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let all = self.decode.evaluate_encoded(column, filter)?;
        Ok(all.map(|all| all.slice(self.cursor.window().start, self.cursor.len())))
    }
}
