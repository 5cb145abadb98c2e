//! Which rows a predicate keeps, column by column.

use std::cmp::Ordering;

use super::expr::{Expr, Leaf, Literal, Op, Test};
use super::number::{Mark, Number};
use crate::error::{Error, Result, clipped};
use crate::text::number::exact_int;

/// The cells of a table, by column.
pub trait Columns {
    /// Calls `each` with every cell of the column, in the order of the rows.
    ///
    /// A cell is its text, or `None` if it is null.
    ///
    /// # Errors
    ///
    /// There is no such column, or its cells cannot be had.
    fn for_each(&self, column: &str, each: &mut dyn FnMut(Option<&[u8]>)) -> Result<()>;
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
pub(super) fn truths(expr: &Expr, rows: usize, columns: &dyn Columns) -> Result<Vec<Truth>> {
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
    columns: &dyn Columns,
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

fn leaf_truths(leaf: &Leaf, rows: usize, columns: &dyn Columns) -> Result<Vec<Truth>> {
    let scan = Scan { column: &leaf.column, rows, columns };
    match &leaf.test {
        Test::IsNull => scan.cells(|cell| Truth::from(Some(cell.is_none_or(<[u8]>::is_empty)))),
        Test::Compare(op, value) => {
            let value = Value::new(value);
            scan.texts(|cell| value.order(cell).map(|order| op.accepts(order)).into())
        }
        Test::Between(low, high) => {
            let (low, high) = (Value::new(low), Value::new(high));
            scan.texts(|cell| match low.order(cell) {
                Some(order) if Op::GreaterOrEqual.accepts(order) => {
                    high.order(cell).map(|order| Op::LessOrEqual.accepts(order)).into()
                }
                order => order.map(|_| false).into(),
            })
        }
        Test::In(values) => {
            let set = Set::new(values);
            scan.texts(|cell| set.holds(cell).into())
        }
        Test::Like(pattern) => {
            let mut matcher = pattern.matcher();
            scan.texts(|cell| Some(matcher.matches(cell)).into())
        }
    }
}

/// One way through one column.
struct Scan<'a> {
    column: &'a str,
    rows: usize,
    columns: &'a dyn Columns,
}

impl Scan<'_> {
    /// The truth of each cell that has a text; null is unknown.
    fn texts(&self, mut test: impl FnMut(&[u8]) -> Truth) -> Result<Vec<Truth>> {
        self.cells(|cell| cell.map_or(Truth::Unknown, &mut test))
    }

    fn cells(&self, mut test: impl FnMut(Option<&[u8]>) -> Truth) -> Result<Vec<Truth>> {
        let mut truths = Vec::new();
        let mut beyond = 0_usize;
        self.columns.for_each(self.column, &mut |cell| {
            if truths.len() < self.rows {
                truths.push(test(cell));
            } else {
                beyond = beyond.saturating_add(1);
            }
        })?;
        let found = truths.len().saturating_add(beyond);
        if found == self.rows {
            return Ok(truths);
        }
        let (name, rows) = (clipped(self.column), self.rows);
        Err(Error::invalid_argument(format!("column `{name}` has {found} cells for {rows} rows")))
    }
}

/// A literal to compare many cells with.
enum Value<'a> {
    Number(Mark),
    Text(&'a [u8]),
    Truth(bool),
}

impl<'a> Value<'a> {
    fn new(literal: &'a Literal) -> Self {
        match literal {
            Literal::Number(number) => Self::Number(Mark::new(*number)),
            Literal::Text(text) => Self::Text(text.as_bytes()),
            Literal::Truth(truth) => Self::Truth(*truth),
        }
    }

    /// How the cell compares with the literal; `None` if it does not.
    #[inline]
    fn order(&self, cell: &[u8]) -> Option<Ordering> {
        match self {
            Self::Number(mark) => mark.order(cell),
            Self::Text(text) => Some(cell.cmp(text)),
            Self::Truth(truth) => truth_of(cell).map(|cell| cell.cmp(truth)),
        }
    }
}

fn truth_of(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// The values of `in`, in order, so that long lists are searched quickly.
struct Set<'a> {
    numbers: Vec<Number>,
    /// Those of `numbers` that are integers of 64 bits.
    ints: Vec<i64>,
    texts: Vec<&'a [u8]>,
    truths: Vec<bool>,
}

impl<'a> Set<'a> {
    fn new(values: &'a [Literal]) -> Self {
        let mut set = Self { numbers: vec![], ints: vec![], texts: vec![], truths: vec![] };
        for value in values {
            match value {
                Literal::Number(number) => set.numbers.push(*number),
                Literal::Text(text) => set.texts.push(text.as_bytes()),
                Literal::Truth(truth) => set.truths.push(*truth),
            }
        }
        set.numbers.sort_unstable();
        set.texts.sort_unstable();
        set.ints.extend(set.numbers.iter().filter_map(|number| number.to_i64()));
        set
    }

    /// Whether one of the values equals the cell; `None` if none does, but one might.
    fn holds(&self, cell: &[u8]) -> Option<bool> {
        if self.texts.binary_search(&cell).is_ok() {
            return Some(true);
        }
        let mut unknown = false;
        if !self.numbers.is_empty() {
            let found = match exact_int(cell) {
                Some(int) => Some(self.ints.binary_search(&int).is_ok()),
                None => Number::parse(cell).map(|cell| self.numbers.binary_search(&cell).is_ok()),
            };
            match found {
                Some(true) => return Some(true),
                found => unknown |= found.is_none(),
            }
        }
        if !self.truths.is_empty() {
            match truth_of(cell).map(|cell| self.truths.contains(&cell)) {
                Some(true) => return Some(true),
                found => unknown |= found.is_none(),
            }
        }
        if unknown { None } else { Some(false) }
    }
}
