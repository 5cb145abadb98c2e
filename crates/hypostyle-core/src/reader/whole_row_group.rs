//! Row groups whose column chunks are decoded whole.

use arrow_array::ArrayRef;
use hashbrown::HashMap;

use super::{RowGroupReader, WindowCursor};
use crate::error::Result;
use crate::row_selection::RowSelection;

/// Decodes whole column chunks of a row group.
pub trait DecodeColumns: Send {
    /// Decodes columns in the order given, all rows of each.
    fn decode(&mut self, columns: &[usize]) -> Result<Vec<ArrayRef>>;
}

impl<F: FnMut(&[usize]) -> Result<Vec<ArrayRef>> + Send> DecodeColumns for F {
    fn decode(&mut self, columns: &[usize]) -> Result<Vec<ArrayRef>> {
        self(columns)
    }
}

/// A [`RowGroupReader`] that decodes a column chunk as a whole when it is first read.
///
/// Windows are slices of the decoded chunk.
#[derive(Debug)]
pub struct WholeRowGroup<D> {
    decode: D,
    cursor: WindowCursor,
    decoded: HashMap<usize, ArrayRef>,
}

impl<D: DecodeColumns> WholeRowGroup<D> {
    /// Returns a reader of a row group of `rows` rows, whose chunks `decode` decodes.
    pub fn new(rows: usize, decode: D) -> Self {
        Self { decode, cursor: WindowCursor::new(rows), decoded: HashMap::new() }
    }
}

impl<D: DecodeColumns> RowGroupReader for WholeRowGroup<D> {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let mut missing: Vec<usize> =
            columns.iter().copied().filter(|column| !self.decoded.contains_key(column)).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            let arrays = self.decode.decode(&missing)?;
            self.decoded.extend(missing.into_iter().zip(arrays));
        }
        let window = |column: &usize| {
            let whole = self.decoded.get(column).map(|array| {
                let start = self.cursor.window().start.min(array.len());
                array.slice(start, self.cursor.len().min(array.len() - start))
            });
            whole.into_iter().map(|array| match rows {
                Some(rows) => rows.of_array(&array),
                None => Ok(array),
            })
        };
        columns.iter().flat_map(window).collect()
    }
}
