//! Decides from statistics whether a row group can match a predicate.
//!
//! For each node of the tree, pruning computes whether it may be true for some row, and
//! whether it may be false. Unknown needs no flag of its own: `and`, `or` and `not` turn
//! an unknown part into true or false only if the other parts alone do so.

use std::cmp::Ordering;

use super::expr::{ColumnTest, CompareOp, Expr, Literal};
use super::like::Pattern;
use crate::number::decimal::Decimal;

/// Statistics of the cells of a row group, for skipping it without reading it.
///
/// The default methods know nothing. Every statistic must hold for all cells of the row
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

    /// Returns whether a cell may be an empty text; null does not count.
    fn may_be_empty(&self, column: &str) -> bool {
        self.cells(column).blank
    }

    /// Returns whether there may be blank and filled cells.
    fn cells(&self, column: &str) -> CellPresence {
        let _ = column;
        CellPresence::default()
    }
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

    fn negated(self) -> Self {
        Self { truth: self.falsity, falsity: self.truth }
    }
}

pub(super) fn outcomes(expr: &Expr, statistics: &dyn PruningStatistics) -> Outcomes {
    match expr {
        Expr::And(parts) => {
            parts.iter().map(|part| outcomes(part, statistics)).fold(ALWAYS, Outcomes::and)
        }
        Expr::Or(parts) => {
            parts.iter().map(|part| outcomes(part, statistics)).fold(NEVER, Outcomes::or)
        }
        Expr::Not(part) => outcomes(part, statistics).negated(),
        Expr::Leaf(leaf) => ColumnPruner::new(&leaf.column, statistics).test(&leaf.test),
    }
}

const ALWAYS: Outcomes = Outcomes { truth: true, falsity: false };
const NEVER: Outcomes = Outcomes { truth: false, falsity: true };

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
        let CellPresence { blank, filled } = self.cells;
        match test {
            ColumnTest::IsNull => Outcomes { truth: blank, falsity: filled },
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
        }
    }

    fn compare(&self, op: CompareOp, value: &Literal) -> Outcomes {
        match value {
            Literal::Number(number) => {
                let numbers = self.statistics.numbers(self.column);
                may(op, |order| self.cells.filled && number_may(numbers, *number, order))
            }
            Literal::Text(text) => {
                let (text, texts) = (text.as_bytes(), self.texts());
                may(op, |order| {
                    // An empty cell is a text here; null is unknown.
                    (self.statistics.may_be_empty(self.column) && b"".as_slice().cmp(text) == order)
                        || (self.cells.filled && self.text_may(texts, text, order))
                })
            }
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
            && (!whole || pattern.any_case || self.may_equal(self.texts(), prefix.as_bytes()));
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
