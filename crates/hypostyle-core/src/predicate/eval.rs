//! Which rows a predicate keeps, column by column.

use super::expr::{Expr, Leaf, Op, Test};
use super::filter::ColumnFilter;
use crate::error::{Error, Result, clipped};

/// The cells of a table, by column.
pub trait ColumnAccess {
    /// Calls `each` with every cell of the column, in the order of the rows.
    ///
    /// A cell is its text, or `None` if it is null.
    ///
    /// # Errors
    ///
    /// There is no such column, or its cells cannot be had.
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;

    /// What a test says of every row, if that can be found in another way than cell by
    /// cell; `None` if not.
    ///
    /// It is what [`ColumnFilter::test`] says of each cell.
    ///
    /// # Errors
    ///
    /// There is no such column, or it cannot be searched.
    fn evaluate_encoded(
        &self,
        column: &str,
        ask: &mut ColumnFilter<'_>,
    ) -> Result<Option<Vec<Option<bool>>>> {
        let _ = (column, ask);
        Ok(None)
    }
}

/// What SQL knows of a row. In this order, `and` is the least and `or` the greatest.
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

/// The truth of every row.
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
    let mut sum = truths(first, rows, columns)?;
    for part in others {
        let part = truths(part, rows, columns)?;
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum = join(*sum, part));
    }
    Ok(sum)
}

fn leaf_truths(leaf: &Leaf, rows: usize, columns: &dyn ColumnAccess) -> Result<Vec<Truth>> {
    // Where `=` is unknown, so is `<>`: the one is the other negated.
    let (mut ask, negated) = match &leaf.test {
        Test::Compare(Op::NotEqual, value) => (ColumnFilter::compare(Op::Equal, value), true),
        test => (ColumnFilter::new(test), false),
    };
    let mut truths: Vec<Truth> = match columns.evaluate_encoded(&leaf.column, &mut ask)? {
        Some(answers) => {
            check_count(&leaf.column, answers.len(), rows)?;
            answers.into_iter().map(Truth::from).collect()
        }
        None => cells(&leaf.column, rows, columns, |cell| ask.test(cell).into())?,
    };
    if negated {
        truths.iter_mut().for_each(|truth| *truth = truth.negated());
    }
    Ok(truths)
}

/// The truth of each cell, in one way through the column.
fn cells(
    column: &str,
    rows: usize,
    columns: &dyn ColumnAccess,
    mut test: impl FnMut(Option<&[u8]>) -> Truth,
) -> Result<Vec<Truth>> {
    let mut truths = Vec::new();
    let mut beyond = 0_usize;
    columns.for_each(column, &mut |cell| {
        if truths.len() < rows {
            truths.push(test(cell));
        } else {
            beyond = beyond.saturating_add(1);
        }
    })?;
    check_count(column, truths.len().saturating_add(beyond), rows)?;
    Ok(truths)
}

fn check_count(column: &str, found: usize, rows: usize) -> Result<()> {
    if found == rows {
        return Ok(());
    }
    let name = clipped(column);
    Err(Error::invalid_argument(format!("column `{name}` has {found} cells for {rows} rows")))
}
