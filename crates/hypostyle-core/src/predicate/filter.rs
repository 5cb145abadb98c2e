//! A test of one column, put to its cells one by one or to whatever holds them.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use super::expr::{Literal, Op, Test};
use super::like::Matcher;
use super::search::{FilterSearch, SearchForm};
use crate::number::decimal::{Decimal, DecimalLiteral};
use crate::number::exact_int;

/// A test of one column.
///
/// CellPresence can be put to the [test](ColumnFilter::test). Who can search a column without going through
/// its cells is told what to [search](ColumnFilter::search) for, as far as the test has such a form.
pub struct ColumnFilter<'a>(Tester<'a>);

enum Tester<'a> {
    IsNull,
    Compare(Op, Value<'a>),
    Between(Value<'a>, Value<'a>),
    In(Set<'a>),
    Like(Matcher<'a>),
}

impl<'a> ColumnFilter<'a> {
    pub(super) fn new(test: &'a Test) -> Self {
        Self(match test {
            Test::IsNull => Tester::IsNull,
            Test::Compare(op, value) => return Self::compare(*op, value),
            Test::Between(low, high) => Tester::Between(Value::new(low), Value::new(high)),
            Test::In(values) => Tester::In(Set::new(values)),
            Test::Like(pattern) => Tester::Like(pattern.matcher()),
        })
    }

    pub(super) fn compare(op: Op, value: &'a Literal) -> Self {
        Self(Tester::Compare(op, Value::new(value)))
    }

    /// Whether a cell, which is its text or null, passes; `None` is unknown.
    #[inline]
    pub fn test(&mut self, cell: Option<&[u8]>) -> Option<bool> {
        if let Tester::IsNull = self.0 {
            return Some(cell.is_none_or(<[u8]>::is_empty));
        }
        let cell = cell?;
        match &mut self.0 {
            Tester::IsNull => None,
            Tester::Compare(op, value) => value.order(cell).map(|order| op.accepts(order)),
            Tester::Between(low, high) => match low.order(cell)? {
                Ordering::Less => Some(false),
                _ => high.order(cell).map(Ordering::is_le),
            },
            Tester::In(set) => set.holds(cell),
            Tester::Like(matcher) => Some(matcher.matches(cell)),
        }
    }

    /// What to search for instead of testing every cell that is not null; `None` if there
    /// is nothing.
    ///
    /// If there is, the test of no such cell is unknown. What it says of null is for
    /// [`ColumnFilter::test`] to say in any case.
    pub fn search(&self) -> Option<FilterSearch<'_>> {
        let exact = |sought| Some(FilterSearch { sought, exact: true });
        match &self.0 {
            Tester::IsNull => exact(SearchForm::Is(b"")),
            Tester::Compare(op, Value::Text(text)) => exact(match op {
                Op::Equal => SearchForm::Is(text),
                // All but one: there is nothing to be found by.
                Op::NotEqual => return None,
                Op::Less => SearchForm::Within(Bound::Unbounded, Bound::Excluded(text)),
                Op::LessOrEqual => SearchForm::Within(Bound::Unbounded, Bound::Included(text)),
                Op::Greater => SearchForm::Within(Bound::Excluded(text), Bound::Unbounded),
                Op::GreaterOrEqual => SearchForm::Within(Bound::Included(text), Bound::Unbounded),
            }),
            Tester::Between(Value::Text(low), Value::Text(high)) => {
                exact(SearchForm::Within(Bound::Included(low), Bound::Included(high)))
            }
            Tester::In(set) if set.numbers.is_empty() && set.truths.is_empty() => {
                exact(SearchForm::AnyOf(&set.texts))
            }
            Tester::Like(matcher) => matcher.search(),
            Tester::Compare(..) | Tester::Between(..) | Tester::In(_) => None,
        }
    }
}

impl fmt::Debug for ColumnFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnFilter").field(&self.search()).finish()
    }
}

/// A literal to compare many cells with.
enum Value<'a> {
    Number(DecimalLiteral),
    Text(&'a [u8]),
    Truth(bool),
}

impl<'a> Value<'a> {
    fn new(literal: &'a Literal) -> Self {
        match literal {
            Literal::Number(number) => Self::Number(DecimalLiteral::new(*number)),
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
    numbers: Vec<Decimal>,
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
                None => Decimal::parse(cell).map(|cell| self.numbers.binary_search(&cell).is_ok()),
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
