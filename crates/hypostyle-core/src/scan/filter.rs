//! The predicate of a scan, bound to the schema of its table.

use arrow_array::{ArrayRef, BooleanArray};
use arrow_schema::Schema;

use crate::error::Result;
use crate::predicate::{BoundPredicate, ColumnFilter, Predicate, PredicateInput, Pruner};
use crate::reader::RowGroupReader;

/// A predicate and the columns that it tests.
#[derive(Clone, Debug)]
pub(super) struct Filter(BoundPredicate);

impl Filter {
    pub(super) fn new(predicate: &Predicate, schema: &Schema) -> Result<Self> {
        predicate.bind(schema).map(Self)
    }

    pub(super) fn columns(&self) -> &[usize] {
        self.0.columns()
    }

    pub(super) fn pruner(&self) -> Pruner<'_> {
        self.0.pruner()
    }

    /// Returns which rows of the window of a row group match.
    pub(super) fn matches(
        &self,
        rows: usize,
        window: &mut dyn RowGroupReader,
    ) -> Result<BooleanArray> {
        self.0.matches(rows, &mut WindowColumns(window))
    }
}

/// The columns of a window, decoded when the predicate asks for them.
struct WindowColumns<'w>(&'w mut dyn RowGroupReader);

impl PredicateInput for WindowColumns<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        self.0.read_tested(column)
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        test: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        self.0.evaluate_encoded(column, test)
    }
}
