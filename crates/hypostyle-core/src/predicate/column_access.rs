//! Evaluates predicates on columns that are known by name and whose cells are texts.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::{ArrayRef, BooleanArray};

use super::filter::ColumnFilter;
use super::input::PredicateInput;
use crate::error::{Error, Result, clipped};

/// Access to the cells of a table, by column.
pub trait ColumnAccess {
    /// Calls `each` with every cell of the column, in the order of the rows.
    ///
    /// A cell is its text, or `None` if it is null.
    ///
    /// # Errors
    ///
    /// Fails if the column does not exist or cannot be decoded.
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// Evaluates a test for every row without decoding every cell.
    ///
    /// Returns `None` if that is not possible. Otherwise each element must equal the result
    /// of [`ColumnFilter::test`] for the cell of that row.
    ///
    /// # Errors
    ///
    /// Fails if the column does not exist or cannot be searched.
    fn evaluate_encoded(
        &self,
        column: &str,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<Vec<Option<bool>>>> {
        let _ = (column, filter);
        Ok(None)
    }
}

/// Named columns of text as the input of a predicate that is bound to these names.
pub(super) struct TextInput<'a> {
    pub(super) rows: usize,
    pub(super) names: Vec<&'a str>,
    pub(super) columns: &'a dyn ColumnAccess,
}

impl TextInput<'_> {
    fn name(&self, column: usize) -> Result<&str> {
        let name = self.names.get(column).copied();
        name.ok_or_else(|| Error::internal("a column without a name"))
    }

    fn check_count(&self, column: &str, found: usize) -> Result<()> {
        if found == self.rows {
            return Ok(());
        }
        let (name, rows) = (clipped(column), self.rows);
        Err(Error::invalid_argument(format!("column `{name}` has {found} cells for {rows} rows")))
    }
}

impl PredicateInput for TextInput<'_> {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        let name = self.name(column)?;
        let mut cells = BinaryBuilder::new();
        let mut count = 0_usize;
        self.columns.for_each(name, &mut |cell| {
            if count < self.rows {
                cells.append_option(cell);
            }
            count = count.saturating_add(1);
        })?;
        self.check_count(name, count)?;
        Ok(Arc::new(cells.finish()))
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        test: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        let name = self.name(column)?;
        let Some(found) = self.columns.evaluate_encoded(name, test)? else { return Ok(None) };
        self.check_count(name, found.len())?;
        Ok(Some(found.into_iter().collect()))
    }
}
