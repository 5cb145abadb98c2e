//! A test of one column, prepared for many cells.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Bound;

use hashbrown::HashSet;
use regex::bytes::Regex;

use super::expr::{ColumnTest, CompareOp, Literal};
use super::like::Matcher;
use super::search::{FilterSearch, SearchForm};
use crate::number::decimal::{Decimal, DecimalLiteral};
use crate::number::exact_int;

/// A test of one column.
///
/// [`ColumnFilter::test`] tests a cell. [`ColumnFilter::search`] returns what to search
/// for instead, for columns that can be searched without decoding every cell.
pub struct ColumnFilter<'a>(PreparedTest<'a>);

enum PreparedTest<'a> {
    IsNull,
    Compare(CompareOp, PreparedLiteral<'a>),
    Between(PreparedLiteral<'a>, PreparedLiteral<'a>),
    In(InList<'a>),
    Like(Matcher<'a>),
    Regex(&'a Regex),
}

impl<'a> ColumnFilter<'a> {
    pub(super) fn new(test: &'a ColumnTest) -> Self {
        Self(match test {
            ColumnTest::IsNull => PreparedTest::IsNull,
            ColumnTest::Compare(op, value) => return Self::compare(*op, value),
            ColumnTest::Between(low, high) => {
                PreparedTest::Between(PreparedLiteral::new(low), PreparedLiteral::new(high))
            }
            ColumnTest::In(values) => PreparedTest::In(InList::new(values)),
            ColumnTest::Like(pattern) => PreparedTest::Like(pattern.matcher()),
            ColumnTest::Regex(pattern) => PreparedTest::Regex(&pattern.compiled),
        })
    }

    pub(super) fn compare(op: CompareOp, value: &'a Literal) -> Self {
        Self(PreparedTest::Compare(op, PreparedLiteral::new(value)))
    }

    /// Tests a cell, which is a text or null; `None` means unknown.
    #[inline]
    pub fn test(&mut self, cell: Option<&[u8]>) -> Option<bool> {
        if let PreparedTest::IsNull = self.0 {
            return Some(cell.is_none());
        }
        let cell = cell?;
        match &mut self.0 {
            PreparedTest::IsNull { .. } => None,
            PreparedTest::Regex(regex) => Some(regex.is_match(cell)),
            PreparedTest::Compare(op, value) => value.order(cell).map(|order| op.accepts(order)),
            PreparedTest::Between(low, high) => match low.order(cell)? {
                Ordering::Less => Some(false),
                _ => high.order(cell).map(Ordering::is_le),
            },
            PreparedTest::In(list) => list.contains(cell),
            PreparedTest::Like(matcher) => Some(matcher.matches(cell)),
        }
    }

    /// Returns what to search for instead of testing every cell that is not null.
    ///
    /// Returns `None` if the test has no search form. If it has one, the test is never
    /// unknown for a cell that is not null. Null must still be tested with
    /// [`ColumnFilter::test`].
    pub fn search(&self) -> Option<FilterSearch<'_>> {
        let exact = |form| Some(FilterSearch { form, exact: true, also: &[] });
        match &self.0 {
            // No cell that is not null passes.
            PreparedTest::IsNull => exact(SearchForm::AnyOf(&[])),
            PreparedTest::Compare(op, PreparedLiteral::Text(text)) => exact(match op {
                CompareOp::Equal => SearchForm::Is(text),
                // All cells but one text pass, which no search form expresses.
                CompareOp::NotEqual => return None,
                CompareOp::Less => SearchForm::Within(Bound::Unbounded, Bound::Excluded(text)),
                CompareOp::LessOrEqual => {
                    SearchForm::Within(Bound::Unbounded, Bound::Included(text))
                }
                CompareOp::Greater => SearchForm::Within(Bound::Excluded(text), Bound::Unbounded),
                CompareOp::GreaterOrEqual => {
                    SearchForm::Within(Bound::Included(text), Bound::Unbounded)
                }
            }),
            PreparedTest::Between(PreparedLiteral::Text(low), PreparedLiteral::Text(high)) => {
                exact(SearchForm::Within(Bound::Included(low), Bound::Included(high)))
            }
            PreparedTest::In(list) if list.numbers.is_empty() && list.bools.is_empty() => {
                exact(SearchForm::AnyOf(&list.texts))
            }
            PreparedTest::Like(matcher) => matcher.search(),
            PreparedTest::Compare(..)
            | PreparedTest::Between(..)
            | PreparedTest::In(_)
            | PreparedTest::Regex(_) => None,
        }
    }
}

impl fmt::Debug for ColumnFilter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ColumnFilter").field(&self.search()).finish()
    }
}

/// A literal that is prepared for comparison with many cells.
enum PreparedLiteral<'a> {
    Number(DecimalLiteral),
    Text(&'a [u8]),
    Bool(bool),
    Null,
}

impl<'a> PreparedLiteral<'a> {
    fn new(literal: &'a Literal) -> Self {
        match literal {
            Literal::Number(number) => Self::Number(DecimalLiteral::new(*number)),
            Literal::Text(text) => Self::Text(text.as_bytes()),
            Literal::Bytes(bytes) => Self::Text(bytes),
            Literal::Bool(truth) => Self::Bool(*truth),
            Literal::Null => Self::Null,
        }
    }

    /// Compares a cell with the literal; returns `None` if they are not comparable.
    #[inline]
    fn order(&self, cell: &[u8]) -> Option<Ordering> {
        match self {
            Self::Number(number) => number.order(cell),
            Self::Text(text) => Some(cell.cmp(text)),
            Self::Bool(truth) => parse_bool(cell).map(|cell| cell.cmp(truth)),
            Self::Null => None,
        }
    }
}

fn parse_bool(cell: &[u8]) -> Option<bool> {
    if cell.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if cell.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// The values of `in`, by type.
struct InList<'a> {
    numbers: HashSet<Decimal>,
    /// The values of `numbers` that are 64-bit integers.
    ints: HashSet<i64>,
    texts: Vec<&'a [u8]>,
    /// The values of `texts`, to find a cell among many.
    text_set: HashSet<&'a [u8]>,
    bools: Vec<bool>,
}

impl<'a> InList<'a> {
    fn new(values: &'a [Literal]) -> Self {
        let mut list = Self {
            numbers: HashSet::new(),
            ints: HashSet::new(),
            texts: vec![],
            text_set: HashSet::new(),
            bools: vec![],
        };
        for value in values {
            match value {
                Literal::Number(number) => {
                    list.numbers.insert(*number);
                    list.ints.extend(number.to_i64());
                }
                Literal::Text(text) => list.texts.push(text.as_bytes()),
                Literal::Bytes(bytes) => list.texts.push(bytes),
                Literal::Bool(truth) => list.bools.push(*truth),
                Literal::Null => {}
            }
        }
        list.texts.sort_unstable();
        list.texts.dedup();
        list.text_set.extend(&list.texts);
        list
    }

    /// Returns whether one of the values equals the cell; `None` if none does, but the
    /// comparison with some value is unknown.
    fn contains(&self, cell: &[u8]) -> Option<bool> {
        if self.text_set.contains(cell) {
            return Some(true);
        }
        let mut unknown = false;
        if !self.numbers.is_empty() {
            let found = match exact_int(cell) {
                Some(int) => Some(self.ints.contains(&int)),
                None => Decimal::parse(cell).map(|cell| self.numbers.contains(&cell)),
            };
            match found {
                Some(true) => return Some(true),
                found => unknown |= found.is_none(),
            }
        }
        if !self.bools.is_empty() {
            match parse_bool(cell).map(|cell| self.bools.contains(&cell)) {
                Some(true) => return Some(true),
                found => unknown |= found.is_none(),
            }
        }
        if unknown { None } else { Some(false) }
    }
}
