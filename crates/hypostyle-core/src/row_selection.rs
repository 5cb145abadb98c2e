//! A selection of the rows of a row group.

use std::ops::Range;
use std::sync::OnceLock;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder};
use arrow_select::filter::{filter, filter_record_batch};

use crate::error::{Error, Result};

/// Row numbers of a row group or of a window, in ascending order and without duplicates.
///
/// Rows are stored as runs, so a range takes as little memory as a single row.
///
/// ```
/// use hypostyle_core::row_selection::RowSelection;
///
/// let rows: RowSelection = [7, 2, 3, 3].into_iter().collect();
/// assert_eq!(rows.runs(), [2..4, 7..8]);
/// assert_eq!(rows.len(), 3);
/// assert_eq!(RowSelection::from(2..4).iter().collect::<Vec<_>>(), [2, 3]);
/// assert_eq!(RowSelection::from_mask(&[true, false, true, true]).runs(), [0..1, 2..4]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RowSelection {
    /// The truths that the rows were selected by, and how many are true.
    truths: Option<(BooleanBuffer, usize)>,
    /// The runs, which are found in the truths when they are first needed.
    ///
    /// INVARIANT: no run is empty, and each starts after the end of the previous one.
    runs: OnceLock<Vec<Range<usize>>>,
}

impl PartialEq for RowSelection {
    fn eq(&self, other: &Self) -> bool {
        self.runs() == other.runs()
    }
}

impl Eq for RowSelection {}

impl RowSelection {
    fn of_runs(runs: Vec<Range<usize>>) -> Self {
        Self { truths: None, runs: OnceLock::from(runs) }
    }

    /// Selects the rows whose element in `mask` is true.
    pub fn from_mask(mask: &[bool]) -> Self {
        let mut runs = Vec::new();
        let mut start = 0;
        for run in mask.chunk_by(|one, other| one == other) {
            let end = start + run.len();
            if run.first() == Some(&true) {
                runs.push(start..end);
            }
            start = end;
        }
        Self::of_runs(runs)
    }

    /// Selects the rows for which a predicate is true, neither false nor unknown.
    pub fn from_truths(truths: &BooleanArray) -> Self {
        let known: BooleanBuffer = match truths.nulls() {
            Some(nulls) => truths.values() & nulls.inner(),
            None => truths.values().clone(),
        };
        let count = known.count_set_bits();
        Self { truths: Some((known, count)), runs: OnceLock::new() }
    }

    /// Returns the rows as runs; no run is empty or adjacent to another.
    pub fn runs(&self) -> &[Range<usize>] {
        self.runs.get_or_init(|| match &self.truths {
            Some((truths, _)) => truths.set_slices().map(|(start, end)| start..end).collect(),
            None => Vec::new(),
        })
    }

    /// Returns a bit for each row of the window that the rows were selected from, if the rows
    /// were selected by [truths](RowSelection::from_truths).
    ///
    /// Where many short runs are selected, a reader is faster with bits than with runs.
    pub fn truths(&self) -> Option<&BooleanBuffer> {
        self.truths.as_ref().map(|(truths, _)| truths)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        match &self.truths {
            Some((_, count)) => *count,
            None => self.runs().iter().map(ExactSizeIterator::len).sum(),
        }
    }

    /// Returns whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number after the last row; 0 if the selection is empty.
    pub fn end(&self) -> usize {
        self.runs().last().map_or(0, |run| run.end)
    }

    /// Returns an iterator over the row numbers.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.runs().iter().cloned().flatten()
    }

    /// Returns the selected rows of a batch.
    ///
    /// # Errors
    ///
    /// Fails if a selected row is beyond the end of the batch.
    pub fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        self.check(batch.num_rows())?;
        if let Some([run]) = self.runs.get().map(Vec::as_slice) {
            return Ok(batch.slice(run.start, run.len()));
        }
        if batch.num_columns() == 0 {
            let options = RecordBatchOptions::new().with_row_count(Some(self.len()));
            return Ok(RecordBatch::try_new_with_options(batch.schema(), Vec::new(), &options)?);
        }
        Ok(filter_record_batch(batch, &self.mask(batch.num_rows()))?)
    }

    /// Returns the selected rows of an array.
    ///
    /// # Errors
    ///
    /// Fails if a selected row is beyond the end of the array.
    pub fn of_array(&self, array: &ArrayRef) -> Result<ArrayRef> {
        self.check(array.len())?;
        if let Some([run]) = self.runs.get().map(Vec::as_slice) {
            return Ok(array.slice(run.start, run.len()));
        }
        Ok(filter(array, &self.mask(array.len()))?)
    }

    /// Returns the selection of the rows in `range`, counted from its start.
    #[must_use]
    pub fn slice(&self, range: Range<usize>) -> Self {
        let inside = self.runs().iter().map(|run| {
            let start = run.start.max(range.start);
            let end = run.end.min(range.end).max(start);
            start.saturating_sub(range.start)..end.saturating_sub(range.start)
        });
        Self::of_runs(inside.filter(|run| !run.is_empty()).collect())
    }

    /// Returns the selection with every row number increased by `by`.
    #[must_use]
    pub fn shifted(&self, by: usize) -> Self {
        let shift = |run: &Range<usize>| run.start.saturating_add(by)..run.end.saturating_add(by);
        Self::of_runs(self.runs().iter().map(shift).collect())
    }

    /// Returns a mask of `rows` rows that is true for the selected ones.
    pub fn mask(&self, rows: usize) -> BooleanArray {
        if let Some(truths) = self.truths().filter(|truths| truths.len() == rows) {
            return BooleanArray::new(truths.clone(), None);
        }
        let mut mask = BooleanBufferBuilder::new(rows);
        for run in self.runs() {
            mask.append_n(run.start.saturating_sub(mask.len()), false);
            mask.append_n(run.len(), true);
        }
        mask.append_n(rows.saturating_sub(mask.len()), false);
        BooleanArray::new(mask.finish(), None)
    }

    /// Fails if a selected row is beyond the end of a table of `rows` rows.
    pub fn check(&self, rows: usize) -> Result<()> {
        if self.truths().is_some_and(|truths| truths.len() <= rows) || self.end() <= rows {
            return Ok(());
        }
        let last = self.end().saturating_sub(1);
        let why = format!("row {last} is out of range: the table has {rows} rows");
        Err(Error::invalid_argument(why))
    }
}

impl From<Range<usize>> for RowSelection {
    fn from(run: Range<usize>) -> Self {
        std::iter::once(run).collect()
    }
}

impl FromIterator<usize> for RowSelection {
    fn from_iter<I: IntoIterator<Item = usize>>(rows: I) -> Self {
        rows.into_iter().map(|row| row..row.saturating_add(1)).collect()
    }
}

/// Accepts runs in any order; they may overlap and be empty.
impl FromIterator<Range<usize>> for RowSelection {
    fn from_iter<I: IntoIterator<Item = Range<usize>>>(all: I) -> Self {
        let mut runs: Vec<Range<usize>> = Vec::new();
        let mut all: Vec<Range<usize>> = all.into_iter().filter(|run| !run.is_empty()).collect();
        all.sort_unstable_by_key(|run| run.start);
        for run in all {
            match runs.last_mut() {
                Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
                _ => runs.push(run),
            }
        }
        Self::of_runs(runs)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int32Array};

    use super::*;

    #[test]
    fn runs_are_put_in_order_and_joined() {
        let rows: RowSelection = [5..7, 9..9, 0..1, 6..8, 1..2].into_iter().collect();
        assert_eq!(rows.runs(), [0..2, 5..8]);
        assert_eq!((rows.len(), rows.end(), rows.is_empty()), (5, 8, false));
        assert_eq!(rows.iter().collect::<Vec<_>>(), [0, 1, 5, 6, 7]);
        let none = RowSelection::from(3..3);
        assert_eq!((none.len(), none.end(), none.is_empty()), (0, 0, true));
        assert_eq!(RowSelection::from_mask(&[]), none);
        assert_eq!(RowSelection::from_mask(&[false, false]), none);
    }

    #[test]
    fn a_mask_is_that_of_the_truths_or_of_the_runs() {
        let truths = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
        let rows = RowSelection::from_truths(&truths);
        assert_eq!(rows, [0, 3].into_iter().collect());
        for rows in [rows.clone(), [0, 3].into_iter().collect()] {
            assert_eq!(rows.mask(4), BooleanArray::from(vec![true, false, false, true]));
            assert_eq!(rows.mask(5), BooleanArray::from(vec![true, false, false, true, false]));
        }
        assert_eq!(
            rows.shifted(1).mask(5),
            BooleanArray::from(vec![false, true, false, false, true])
        );
        assert_eq!(rows.slice(1..4).mask(4), BooleanArray::from(vec![false, false, true, false]));
    }

    #[test]
    fn rows_of_a_batch_are_those_with_their_numbers() {
        let numbers = Arc::new(Int32Array::from_iter_values(0..10)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let none = batch.project(&[]).unwrap();
        for rows in [vec![], vec![3], vec![3, 4], vec![0, 9], vec![1, 2, 5]] {
            let want = Int32Array::from_iter_values(rows.iter().copied());
            let rows: RowSelection =
                rows.iter().map(|&row| usize::try_from(row).unwrap()).collect();
            let some = rows.of(&batch).unwrap();
            assert_eq!(some.column(0).as_ref(), &want);
            assert_eq!(rows.of(&none).unwrap().num_rows(), want.values().len());
        }
        let err = RowSelection::from(9..11).of(&batch).unwrap_err();
        assert_eq!(err.to_string(), "row 10 is out of range: the table has 10 rows");
    }
}
