//! The predicate of a scan, bound to the schema of its table.

use std::cell::RefCell;

use arrow_array::{Array, BooleanArray};
use arrow_schema::{Schema, SchemaRef};

use crate::error::Result;
use crate::predicate::{
    BatchColumns, ColumnAccess, ColumnFilter, Predicate, PruningStatistics, find_column,
};
use crate::reader::{RowGroupReader, batch, projected};

/// A predicate and the columns that it tests.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    predicate: Predicate,
    columns: Vec<usize>,
    schema: SchemaRef,
}

impl Filter {
    pub(super) fn new(predicate: &Predicate, schema: &Schema) -> Result<Self> {
        let names = predicate.columns();
        let columns = names.into_iter().map(|name| find_column(schema, name));
        let columns = columns.collect::<Result<Vec<_>>>()?;
        let schema = projected(schema, &columns)?;
        Ok(Self { predicate: predicate.clone(), columns, schema })
    }

    pub(super) fn columns(&self) -> &[usize] {
        &self.columns
    }

    pub(super) fn may_match(&self, statistics: &dyn PruningStatistics) -> bool {
        self.predicate.may_match(statistics)
    }

    /// Evaluates the predicate for every row of the window of a row group.
    pub(super) fn evaluate(
        &self,
        rows: usize,
        window: &mut dyn RowGroupReader,
    ) -> Result<BooleanArray> {
        let window = WindowColumns { filter: self, window: RefCell::new(window) };
        Ok(BooleanArray::from(self.predicate.evaluate(rows, &window)?))
    }
}

struct WindowColumns<'w> {
    filter: &'w Filter,
    window: RefCell<&'w mut dyn RowGroupReader>,
}

impl WindowColumns<'_> {
    fn find(&self, name: &str) -> Result<usize> {
        let index = find_column(&self.filter.schema, name)?;
        Ok(self.filter.columns.get(index).copied().unwrap_or(index))
    }
}

impl ColumnAccess for WindowColumns<'_> {
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()> {
        let arrays = self.window.borrow_mut().read(&[self.find(column)?], None)?;
        let index = find_column(&self.filter.schema, column)?;
        let schema = projected(&self.filter.schema, &[index])?;
        let rows = arrays.first().map_or(0, |array| array.len());
        BatchColumns::new(&batch(&schema, arrays, rows)?).for_each(column, each)
    }

    fn evaluate_encoded(
        &self,
        column: &str,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<Vec<Option<bool>>>> {
        let truths = self.window.borrow_mut().evaluate_encoded(self.find(column)?, filter)?;
        Ok(truths.map(|truths| truths.iter().collect()))
    }
}
