//! Evaluates a predicate, column by column, in three-valued logic.

use super::expr::{ColumnTest, CompareOp, Expr, Leaf};
use super::filter::ColumnFilter;
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

/// A truth value of SQL. In this order, `and` is the minimum and `or` the maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Truth {
    False,
    Unknown,
    True,
}

impl Truth {
    pub(super) fn negated(self) -> Self {
        match self {
            Self::False => Self::True,
            Self::Unknown => Self::Unknown,
            Self::True => Self::False,
        }
    }
}

impl From<Option<bool>> for Truth {
    #[inline]
    fn from(known: Option<bool>) -> Self {
        match known {
            Some(true) => Self::True,
            Some(false) => Self::False,
            None => Self::Unknown,
        }
    }
}

/// Returns the truth value of every row.
pub(super) fn truths(expr: &Expr, rows: usize, columns: &dyn ColumnAccess) -> Result<Vec<Truth>> {
    match expr {
        Expr::And(parts) => joined(parts, rows, columns, Truth::True, Ord::min),
        Expr::Or(parts) => joined(parts, rows, columns, Truth::False, Ord::max),
        Expr::Not(part) => {
            let mut truths = truths(part, rows, columns)?;
            truths.iter_mut().for_each(|truth| *truth = truth.negated());
            Ok(truths)
        }
        Expr::Leaf(leaf) => leaf_truths(leaf, rows, columns),
    }
}

fn joined(
    parts: &[Expr],
    rows: usize,
    columns: &dyn ColumnAccess,
    empty: Truth,
    join: fn(Truth, Truth) -> Truth,
) -> Result<Vec<Truth>> {
    let Some((first, others)) = parts.split_first() else { return Ok(vec![empty; rows]) };
    let mut total = truths(first, rows, columns)?;
    for part in others {
        let part = truths(part, rows, columns)?;
        total.iter_mut().zip(part).for_each(|(total, part)| *total = join(*total, part));
    }
    Ok(total)
}

fn leaf_truths(leaf: &Leaf, rows: usize, columns: &dyn ColumnAccess) -> Result<Vec<Truth>> {
    // `<>` is the negation of `=`, and unknown for the same rows.
    let (mut filter, negated) = match &leaf.test {
        ColumnTest::Compare(CompareOp::NotEqual, value) => {
            (ColumnFilter::compare(CompareOp::Equal, value), true)
        }
        test => (ColumnFilter::new(test), false),
    };
    let mut truths: Vec<Truth> = match columns.evaluate_encoded(&leaf.column, &mut filter)? {
        Some(results) => {
            check_count(&leaf.column, results.len(), rows)?;
            results.into_iter().map(Truth::from).collect()
        }
        None => cell_truths(&leaf.column, rows, columns, |cell| filter.test(cell).into())?,
    };
    if negated {
        truths.iter_mut().for_each(|truth| *truth = truth.negated());
    }
    Ok(truths)
}

/// Tests each cell in one pass over the column.
fn cell_truths(
    column: &str,
    rows: usize,
    columns: &dyn ColumnAccess,
    mut test: impl FnMut(Option<&[u8]>) -> Truth,
) -> Result<Vec<Truth>> {
    let mut truths = Vec::new();
    let mut excess = 0_usize;
    columns.for_each(column, &mut |cell| {
        if truths.len() < rows {
            truths.push(test(cell));
        } else {
            excess = excess.saturating_add(1);
        }
    })?;
    check_count(column, truths.len().saturating_add(excess), rows)?;
    Ok(truths)
}

fn check_count(column: &str, found: usize, rows: usize) -> Result<()> {
    if found == rows {
        return Ok(());
    }
    let name = clipped(column);
    Err(Error::invalid_argument(format!("column `{name}` has {found} cells for {rows} rows")))
}
