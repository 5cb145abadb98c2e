//! Decides from statistics whether a row group can match a predicate.
//!
//! For each node of the tree, pruning computes whether it may be true for some row, and
//! whether it may be false. Unknown needs no flag of its own: `and`, `or` and `not` turn
//! an unknown part into true or false only if the other parts alone do so.
//!
//! If it is known which entries of a dictionary occur in a row group, a condition on that
//! column is evaluated on the entries, once for all row groups, and the result is exact.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::bound::{Condition, NumberKernel, TestKind, Value};
use super::evaluate;
use super::expr::{ColumnTest, CompareOp, Literal};
use super::like::Pattern;
use super::value_type::Kind;
use crate::number::decimal::Decimal;

/// Statistics of the cells of a row group, for skipping it without reading it.
///
/// The default methods know nothing. What they say about texts is said about the bytes of a
/// column of bytes too; a cell of another type that is not null counts as filled. Every statistic must hold for all cells of the row
/// group; otherwise matching rows are lost.
pub trait PruningStatistics {
    /// Returns bounds of the cells that [`Decimal::parse`] reads as numbers.
    fn numbers(&self, column: &str) -> NumberBounds {
        let _ = column;
        NumberBounds::Unknown
    }

    /// Returns bounds of the texts of the cells that are neither null nor empty.
    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let _ = column;
        None
    }

    /// Returns whether a cell may equal this text, which is never empty.
    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        let _ = (column, text);
        true
    }

    /// Returns whether a cell may contain these bytes, if its ASCII letters are in lower case as
    /// those of the bytes are.
    fn may_contain(&self, column: &str, bytes: &[u8]) -> bool {
        let _ = (column, bytes);
        true
    }

    /// Returns whether a cell may be an empty text; null does not count.
    fn may_be_empty(&self, column: &str) -> bool {
        self.cells(column).blank
    }

    /// Returns a lower and an upper bound of the values that are not null, each as an array of
    /// one value that has the type of the column, or one that can be cast to it.
    ///
    /// They are used for columns that are neither text nor bytes.
    fn values(&self, column: &str) -> Option<[ArrayRef; 2]> {
        let _ = column;
        None
    }

    /// Returns whether a cell of a column of floats may be infinite or NaN.
    fn may_be_special_float(&self, column: &str) -> bool {
        let _ = column;
        true
    }

    /// Returns which entries of a dictionary occur in the row group.
    ///
    /// The row groups of a column should return the same array of entries, so that a condition
    /// is evaluated on it only once.
    fn entries(&self, column: &str) -> Option<OccurringEntries> {
        let _ = column;
        None
    }

    /// Returns the name under which the other methods know a value in the structs of a column,
    /// by the names of the members that lead to it; `None` if they do not.
    ///
    /// A value in a struct that is null counts as null.
    fn nested_name(&self, column: &str, members: &[&str]) -> Option<String> {
        let _ = (column, members);
        None
    }

    /// Returns whether there may be blank and filled cells.
    fn cells(&self, column: &str) -> CellPresence {
        let _ = column;
        CellPresence::default()
    }
}

/// The entries of a dictionary that occur in a row group.
#[derive(Clone, Debug)]
pub struct OccurringEntries {
    /// The entries, in the type of the column.
    pub values: ArrayRef,
    /// Whether each of them occurs. No other value does.
    pub occurring: BooleanBuffer,
}

/// Bounds of the numbers of a row group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberBounds {
    /// Any number may occur.
    #[default]
    Unknown,
    /// Every cell that is a number lies between these, inclusively.
    Between(Decimal, Decimal),
    /// No cell is a number.
    NoNumbers,
}

/// Bounds of the texts of a row group, compared by bytes; both may be truncated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextBounds<'a> {
    /// No text is less than this.
    pub min: &'a [u8],
    /// Every text is at most this, or starts with it.
    pub max: &'a [u8],
}

/// Which cells a row group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPresence {
    /// Some cell may be null or empty.
    pub blank: bool,
    /// Some cell may be neither null nor empty.
    pub filled: bool,
}

impl Default for CellPresence {
    fn default() -> Self {
        Self { blank: true, filled: true }
    }
}

impl TextBounds<'_> {
    /// Returns whether a text lies within the bounds, so that the row group may have it.
    pub fn may_hold(&self, text: &[u8]) -> bool {
        self.min <= text && self.may_reach(text)
    }

    /// Returns whether some text may be greater than or equal to this one.
    fn may_reach(&self, text: &[u8]) -> bool {
        text <= self.max || text.starts_with(self.max)
    }

    /// Returns whether some text may start with a prefix between these two.
    fn may_start_between(&self, low: &[u8], high: &[u8]) -> bool {
        self.may_reach(low) && (self.min <= high || self.min.starts_with(high))
    }
}

/// Whether a node of the tree may be true, and may be false, for some row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Outcomes {
    pub(super) truth: bool,
    pub(super) falsity: bool,
}

impl Outcomes {
    fn and(self, other: Self) -> Self {
        Self { truth: self.truth && other.truth, falsity: self.falsity || other.falsity }
    }

    fn or(self, other: Self) -> Self {
        self.negated().and(other.negated()).negated()
    }

    /// Returns the outcomes that both allow.
    fn narrowed(self, other: Self) -> Self {
        Self { truth: self.truth && other.truth, falsity: self.falsity && other.falsity }
    }

    fn negated(self) -> Self {
        Self { truth: self.falsity, falsity: self.truth }
    }
}

/// Decides for one row group after the other whether it can match a predicate.
#[derive(Debug)]
pub struct Pruner<'p> {
    condition: &'p Condition,
    /// The conditions that were evaluated on the entries of a dictionary.
    evaluated: RefCell<Vec<EvaluatedEntries<'p>>>,
}

/// The entries of a dictionary for which a condition is true, and for which it is false.
#[derive(Debug)]
struct EvaluatedEntries<'p> {
    condition: &'p Condition,
    entries: ArrayRef,
    /// `None` if the condition cannot be evaluated on them.
    outcomes: Option<[BooleanBuffer; 2]>,
}

impl<'p> Pruner<'p> {
    pub(super) fn new(condition: &'p Condition) -> Self {
        Self { condition, evaluated: RefCell::default() }
    }

    /// Returns whether a row group with these statistics may have a matching row.
    pub fn may_match(&self, statistics: &dyn PruningStatistics) -> bool {
        self.may_be_true(self.condition, statistics)
    }

    /// Returns whether a condition may be true for a row of a row group. Parts that cannot change
    /// that are not tested.
    fn may_be_true(&self, condition: &'p Condition, statistics: &dyn PruningStatistics) -> bool {
        let may = |part: &'p Condition| self.may_be_true(part, statistics);
        let by_parts = match condition {
            Condition::And(parts) => parts.iter().all(may),
            Condition::Or(parts) => parts.iter().any(may),
            Condition::Not(part) => self.outcomes(part, statistics).falsity,
            other => outcomes_of_parts(other, statistics, &mut |_| ANY).truth,
        };
        let may_match = |exact: Outcomes| exact.truth;
        by_parts && self.by_entries(condition, statistics).is_none_or(may_match)
    }

    /// Returns what a condition may be for the rows of a row group.
    fn outcomes(&self, condition: &'p Condition, statistics: &dyn PruningStatistics) -> Outcomes {
        let by_parts =
            outcomes_of_parts(condition, statistics, &mut |part| self.outcomes(part, statistics));
        match self.by_entries(condition, statistics) {
            Some(exact) => by_parts.narrowed(exact),
            None => by_parts,
        }
    }

    /// Returns what a condition on one column is for the entries of a dictionary that occur.
    fn by_entries(
        &self,
        condition: &'p Condition,
        statistics: &dyn PruningStatistics,
    ) -> Option<Outcomes> {
        let OccurringEntries { values, occurring } =
            statistics.entries(&only_column(condition)?)?;
        let is_same = |it: &&EvaluatedEntries<'p>| {
            std::ptr::eq(it.condition, condition) && Arc::ptr_eq(&it.entries, &values)
        };
        let known = self.evaluated.borrow().iter().find(is_same).map(|it| it.outcomes.clone());
        let outcomes = known.unwrap_or_else(|| {
            let outcomes = evaluate::on_entries(condition, &values).ok();
            let (entries, outcomes) = (values.clone(), outcomes.map(|it| truths_of(&it)));
            let evaluated = EvaluatedEntries { condition, entries, outcomes: outcomes.clone() };
            self.evaluated.borrow_mut().push(evaluated);
            outcomes
        });
        let any = |matching: &BooleanBuffer| {
            matching.len() != occurring.len() || (matching & &occurring).count_set_bits() > 0
        };
        let [truth, falsity] = &outcomes?;
        Some(Outcomes { truth: any(truth), falsity: any(falsity) })
    }
}

/// Returns the name of the only column that a condition reads, as a whole.
fn only_column(condition: &Condition) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    let mut is_only = true;
    condition.visit(
        &mut |path| match &found {
            None => {
                is_only = path.steps.is_empty();
                found = Some((path.index, path.name.clone()));
            }
            Some((index, _)) => is_only &= *index == path.index && path.steps.is_empty(),
        },
        &mut 0,
    );
    found.filter(|_| is_only).map(|(_, name)| name)
}

/// Returns the rows that are true, and those that are false.
fn truths_of(array: &BooleanArray) -> [BooleanBuffer; 2] {
    let valid = match array.nulls() {
        Some(nulls) => nulls.inner().clone(),
        None => BooleanBuffer::new_set(array.len()),
    };
    [&valid & array.values(), &valid & &!array.values()]
}

/// Returns what a condition may be, given what its parts may be.
fn outcomes_of_parts<'p>(
    condition: &'p Condition,
    statistics: &dyn PruningStatistics,
    each: &mut dyn FnMut(&'p Condition) -> Outcomes,
) -> Outcomes {
    match condition {
        Condition::Constant(Some(true)) => ALWAYS,
        Condition::Constant(Some(false)) => NEVER,
        Condition::Constant(None) => UNKNOWN,
        Condition::And(parts) => parts.iter().map(each).fold(ALWAYS, Outcomes::and),
        Condition::Or(parts) => parts.iter().map(each).fold(NEVER, Outcomes::or),
        Condition::Not(part) => each(part).negated(),
        Condition::Test(test) => self::test(&test.kind, statistics),
    }
}

const ALWAYS: Outcomes = Outcomes { truth: true, falsity: false };
const NEVER: Outcomes = Outcomes { truth: false, falsity: true };
const UNKNOWN: Outcomes = Outcomes { truth: false, falsity: false };
const ANY: Outcomes = Outcomes { truth: true, falsity: true };

fn test(test: &TestKind, statistics: &dyn PruningStatistics) -> Outcomes {
    let (TestKind::Filter(value, _)
    | TestKind::Number(value, _)
    | TestKind::In(value, _)
    | TestKind::IsNull(value)
    | TestKind::Compare(_, value, Value::Literal(_))) = test
    else {
        return ANY;
    };
    let Value::Column(column) = value else { return ANY };
    let nested: String;
    let name = match column.members_only() {
        None => return ANY,
        Some(members) if members.is_empty() => &column.name,
        Some(members) => match statistics.nested_name(&column.name, &members) {
            None => return ANY,
            Some(name) => {
                nested = name;
                &nested
            }
        },
    };
    let pruner = ColumnPruner::new(name, statistics);
    let data_type = &column.data_type;
    match test {
        TestKind::Filter(_, test) => pruner.test(test),
        TestKind::IsNull(_) => pruner.null(),
        TestKind::Compare(op, _, Value::Literal(literal)) => {
            pruner.typed().narrowed(pruner.bounded(*op, literal, data_type))
        }
        TestKind::Number(_, test) => {
            let by_number = match test.number {
                Some(number) => pruner.typed_number(test.op, number, data_type),
                None => pruner.typed(),
            };
            match &test.kernel {
                NumberKernel::Compare(op, literal) => {
                    by_number.narrowed(pruner.bounded(*op, literal, data_type))
                }
                NumberKernel::All(_) => by_number,
            }
        }
        TestKind::In(_, members) => match &members.numbers {
            Some(numbers) => {
                let each =
                    |number: &Decimal| pruner.typed_number(CompareOp::Equal, *number, data_type);
                let found = numbers.iter().map(each).fold(NEVER, Outcomes::or);
                // With a null in the list, a value that is not found is unknown.
                Outcomes { falsity: found.falsity && !members.has_null, ..found }
            }
            None => pruner.typed(),
        },
        _ => pruner.typed(),
    }
}

/// Applies the statistics of one column to tests.
struct ColumnPruner<'a> {
    column: &'a str,
    statistics: &'a dyn PruningStatistics,
    cells: CellPresence,
}

impl<'a> ColumnPruner<'a> {
    fn new(column: &'a str, statistics: &'a dyn PruningStatistics) -> Self {
        Self { column, statistics, cells: statistics.cells(column) }
    }

    fn test(&self, test: &ColumnTest) -> Outcomes {
        match test {
            ColumnTest::IsNull => self.null(),
            ColumnTest::Compare(op, value) => self.compare(*op, value),
            ColumnTest::Between(low, high) => {
                let above = self.compare(CompareOp::GreaterOrEqual, low);
                above.and(self.compare(CompareOp::LessOrEqual, high))
            }
            ColumnTest::In(values) => {
                let each = values.iter().map(|value| self.compare(CompareOp::Equal, value));
                each.fold(NEVER, Outcomes::or)
            }
            ColumnTest::Like(pattern) => self.like(pattern),
            ColumnTest::Regex(_) => {
                let some = self.cells.filled || self.statistics.may_be_empty(self.column);
                Outcomes { truth: some, falsity: some }
            }
        }
    }

    fn null(&self) -> Outcomes {
        let CellPresence { blank, filled } = self.cells;
        let empty = self.statistics.may_be_empty(self.column);
        Outcomes { truth: blank, falsity: filled || empty }
    }

    /// Returns the outcomes of a comparison of values that are no texts.
    fn typed(&self) -> Outcomes {
        // Values of other types are never empty, so a blank cell is null.
        if self.cells.filled { ANY } else { UNKNOWN }
    }

    /// Returns the outcomes of a comparison that the bounds of the values allow.
    fn bounded(&self, op: CompareOp, literal: &ArrayRef, data_type: &DataType) -> Outcomes {
        let Some([min, max]) = self.statistics.values(self.column) else { return ANY };
        let is = |op, bound: &ArrayRef| evaluate::holds(op, bound, literal, data_type);
        let (Some(min_is_less), Some(min_is_greater), Some(max_is_less), Some(max_is_greater)) = (
            is(CompareOp::Less, &min),
            is(CompareOp::Greater, &min),
            is(CompareOp::Less, &max),
            is(CompareOp::Greater, &max),
        ) else {
            return ANY;
        };
        // Bounds of floats say nothing about NaN.
        let special =
            Kind::of(data_type) == Kind::Float && self.statistics.may_be_special_float(self.column);
        if special || (min_is_greater && max_is_less) {
            return ANY;
        }
        may(op, |order| match order {
            Ordering::Less => min_is_less,
            Ordering::Equal => !min_is_greater && !max_is_less,
            Ordering::Greater => max_is_greater,
        })
    }

    /// Returns the outcomes of a comparison of numbers with a literal.
    fn typed_number(&self, op: CompareOp, number: Decimal, data_type: &DataType) -> Outcomes {
        let numbers = self.statistics.numbers(self.column);
        if !self.cells.filled {
            return UNKNOWN;
        }
        if Kind::of(data_type) != Kind::Float {
            return may(op, |order| number_may(numbers, number, order));
        }
        let special = self.statistics.may_be_special_float(self.column);
        // Floats are compared with the float that is nearest to the literal, so that bounds
        // must be rounded in the same way.
        let round = |number: Decimal| rounded(number, data_type);
        let rounded = match numbers {
            NumberBounds::Between(min, max) => match (round(min), round(max)) {
                (Some(min), Some(max)) => NumberBounds::Between(min, max),
                _ => NumberBounds::Unknown,
            },
            other => other,
        };
        let Some(number) = round(number) else { return ANY };
        may(op, |order| (special && order != Ordering::Equal) || number_may(rounded, number, order))
    }

    fn compare(&self, op: CompareOp, value: &Literal) -> Outcomes {
        match value {
            Literal::Number(number) => {
                let numbers = self.statistics.numbers(self.column);
                may(op, |order| self.cells.filled && number_may(numbers, *number, order))
            }
            Literal::Text(_) | Literal::Bytes(_) => {
                let text = match value {
                    Literal::Text(text) => text.as_bytes(),
                    Literal::Bytes(bytes) => bytes,
                    _ => b"",
                };
                let texts = self.texts();
                may(op, |order| {
                    // An empty cell is a text here; null is unknown.
                    (self.statistics.may_be_empty(self.column) && b"".as_slice().cmp(text) == order)
                        || (self.cells.filled && self.text_may(texts, text, order))
                })
            }
            Literal::Null => UNKNOWN,
            Literal::Bool(truth) => may(op, |order| {
                let cells = [(true, "true"), (false, "false")].into_iter();
                cells
                    .filter(|(cell, _)| cell.cmp(truth) == order)
                    .any(|(_, word)| self.cells.filled && self.may_start_with(word, true))
            }),
        }
    }

    fn like(&self, pattern: &Pattern) -> Outcomes {
        let empty = self.statistics.may_be_empty(self.column);
        let empty = empty.then(|| pattern.matcher().matches(b""));
        let (prefix, whole) = pattern.prefix();
        let filled = self.cells.filled
            && self.may_start_with(&prefix, pattern.any_case)
            && (!whole || pattern.any_case || self.may_equal(self.texts(), prefix.as_bytes()))
            && pattern.runs().iter().all(|run| self.statistics.may_contain(self.column, run));
        Outcomes {
            truth: empty == Some(true) || filled,
            falsity: empty == Some(false) || self.cells.filled,
        }
    }

    /// Returns whether a filled cell may start with `prefix`, which is in lower case if
    /// `any_case`.
    fn may_start_with(&self, prefix: &str, any_case: bool) -> bool {
        let Some(texts) = self.texts() else { return true };
        if !any_case {
            return texts.may_start_between(prefix.as_bytes(), prefix.as_bytes());
        }
        // Letters outside ASCII may have either case too, and `i` and `k` are the lower case of
        // such letters.
        let plain = prefix.find(|c: char| !c.is_ascii() || matches!(c, 'i' | 'k'));
        let prefix = plain.and_then(|len| prefix.get(..len)).unwrap_or(prefix);
        // Upper case sorts before lower case. Nearly every word lies between `AB` and `ab`,
        // but few lie between `AB` and `Ab`, or between `aB` and `ab`, so try both.
        [u8::to_ascii_uppercase, u8::to_ascii_lowercase].into_iter().any(|case| {
            let mut low = prefix.to_ascii_uppercase().into_bytes();
            let mut high = prefix.as_bytes().to_vec();
            for first in [low.first_mut(), high.first_mut()].into_iter().flatten() {
                *first = case(first);
            }
            texts.may_start_between(&low, &high)
        })
    }

    /// Returns whether a filled cell may have this ordering relative to the text.
    fn text_may(&self, texts: Option<TextBounds<'_>>, text: &[u8], order: Ordering) -> bool {
        match order {
            Ordering::Equal => self.may_equal(texts, text),
            Ordering::Less => texts.is_none_or(|texts| texts.min < text),
            // Texts that start with `max` may be longer, and so greater.
            Ordering::Greater => texts.is_none_or(|texts| texts.may_reach(text)),
        }
    }

    /// Returns whether a filled cell may equal this text.
    fn may_equal(&self, texts: Option<TextBounds<'_>>, text: &[u8]) -> bool {
        !text.is_empty()
            && texts.is_none_or(|texts| texts.may_hold(text))
            && self.statistics.may_hold(self.column, text)
    }

    /// Returns the bounds; contradictory bounds are ignored.
    fn texts(&self) -> Option<TextBounds<'a>> {
        self.statistics.texts(self.column).filter(|texts| texts.may_reach(texts.min))
    }
}

/// Returns whether a cell may have this ordering relative to `number`.
fn number_may(numbers: NumberBounds, number: Decimal, order: Ordering) -> bool {
    match numbers {
        NumberBounds::NoNumbers => false,
        NumberBounds::Between(min, max) if min <= max => match order {
            Ordering::Less => min < number,
            Ordering::Equal => min <= number && number <= max,
            Ordering::Greater => number < max,
        },
        // Contradictory bounds are ignored.
        NumberBounds::Unknown | NumberBounds::Between(..) => true,
    }
}

/// Returns the number as the nearest float of a type; `None` beyond the largest one.
fn rounded(number: Decimal, data_type: &DataType) -> Option<Decimal> {
    let value = number.to_f64();
    if *data_type != DataType::Float32 {
        return Decimal::from_f64(value);
    }
    #[expect(clippy::cast_possible_truncation, reason = "columns of this type have such values")]
    let value = value as f32;
    Decimal::from_f64(f64::from(value))
}

/// Returns the outcomes of a comparison, given which orderings are possible.
fn may(op: CompareOp, possible: impl Fn(Ordering) -> bool) -> Outcomes {
    let mut outcomes = Outcomes { truth: false, falsity: false };
    for order in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
        if possible(order) {
            outcomes.truth |= op.accepts(order);
            outcomes.falsity |= !op.accepts(order);
        }
    }
    outcomes
}
