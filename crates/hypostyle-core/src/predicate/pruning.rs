//! Whether a group of rows is worth reading, from what is known of it.
//!
//! For each part of a predicate: may it be true for some row, may it be false?
//! Unknown needs no place beside these two, for neither `and`, `or` nor `not`
//! makes anything but unknown of it that other parts would not make alone.

use std::cmp::Ordering;

use super::expr::{Expr, Literal, Op, Test};
use super::like::Pattern;
use crate::number::decimal::Decimal;

/// What is known of the cells of a group of rows, without reading them.
///
/// Every method may know nothing, as the defaults do. What it does say must hold
/// for every cell of the group, or rows are lost.
pub trait PruningStatistics {
    /// Bounds of the cells that are numbers, as [`Decimal::parse`] reads them.
    fn numbers(&self, column: &str) -> NumberBounds {
        let _ = column;
        NumberBounds::Unknown
    }

    /// Bounds of the texts of the cells that are neither null nor empty.
    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let _ = column;
        None
    }

    /// Whether a cell may have exactly this text, which is never empty here.
    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        let _ = (column, text);
        true
    }

    /// Whether a cell may be an empty text, which is not null to tests of texts.
    fn may_be_empty(&self, column: &str) -> bool {
        self.cells(column).blank
    }

    /// Which sorts of cells there may be.
    fn cells(&self, column: &str) -> CellPresence {
        let _ = column;
        CellPresence::default()
    }
}

/// Bounds of the numbers of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NumberBounds {
    /// There may be any.
    #[default]
    Unknown,
    /// Every cell that is a number lies between these, or is one of them.
    Between(Decimal, Decimal),
    /// No cell is a number.
    NoneAtAll,
}

/// Bounds of the texts of a group, compared by bytes; both may be cut short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextBounds<'a> {
    /// No text is less than this.
    pub min: &'a [u8],
    /// Every text is at most this, or starts with it.
    pub max: &'a [u8],
}

/// Sorts of cells that a group may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellPresence {
    /// A cell may be null or empty.
    pub blank: bool,
    /// A cell may be neither.
    pub filled: bool,
}

impl Default for CellPresence {
    fn default() -> Self {
        Self { blank: true, filled: true }
    }
}

impl TextBounds<'_> {
    /// Whether a text lies between them, so that the group may have it.
    pub fn may_hold(&self, text: &[u8]) -> bool {
        self.min <= text && self.reach_up_to(text)
    }

    /// Whether a text may be as great as this one, or greater.
    fn reach_up_to(&self, text: &[u8]) -> bool {
        text <= self.max || text.starts_with(self.max)
    }

    /// Whether a text may start with something between these two.
    fn may_start_between(&self, low: &[u8], high: &[u8]) -> bool {
        self.reach_up_to(low) && (self.min <= high || self.min.starts_with(high))
    }
}

/// What a part of a predicate may be for some row.
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
        Expr::Leaf(leaf) => Known::new(&leaf.column, statistics).test(&leaf.test),
    }
}

const ALWAYS: Outcomes = Outcomes { truth: true, falsity: false };
const NEVER: Outcomes = Outcomes { truth: false, falsity: true };

/// The statistics of one column.
struct Known<'a> {
    column: &'a str,
    statistics: &'a dyn PruningStatistics,
    cells: CellPresence,
}

impl<'a> Known<'a> {
    fn new(column: &'a str, statistics: &'a dyn PruningStatistics) -> Self {
        Self { column, statistics, cells: statistics.cells(column) }
    }

    fn test(&self, test: &Test) -> Outcomes {
        let CellPresence { blank, filled } = self.cells;
        match test {
            Test::IsNull => Outcomes { truth: blank, falsity: filled },
            Test::Compare(op, value) => self.compare(*op, value),
            Test::Between(low, high) => {
                let above = self.compare(Op::GreaterOrEqual, low);
                above.and(self.compare(Op::LessOrEqual, high))
            }
            Test::In(values) => {
                let each = values.iter().map(|value| self.compare(Op::Equal, value));
                each.fold(NEVER, Outcomes::or)
            }
            Test::Like(pattern) => self.like(pattern),
        }
    }

    fn compare(&self, op: Op, value: &Literal) -> Outcomes {
        match value {
            Literal::Number(number) => {
                let numbers = self.statistics.numbers(self.column);
                may(op, |order| self.cells.filled && number_may(numbers, *number, order))
            }
            Literal::Text(text) => {
                let (text, texts) = (text.as_bytes(), self.texts());
                may(op, |order| {
                    // An empty cell is a text like any other here; a null one is unknown.
                    (self.statistics.may_be_empty(self.column) && b"".as_slice().cmp(text) == order)
                        || (self.cells.filled && self.text_may(texts, text, order))
                })
            }
            Literal::Truth(truth) => may(op, |order| {
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

    /// Whether a filled cell may start with this, which is in lower case if case is not to matter.
    fn may_start_with(&self, prefix: &str, any_case: bool) -> bool {
        let Some(texts) = self.texts() else { return true };
        if !any_case {
            return texts.may_start_between(prefix.as_bytes(), prefix.as_bytes());
        }
        // By bytes, capitals come first. Between `AB` and `ab` lies nearly every word,
        // but few lie between `AB` and `Ab`, or between `aB` and `ab`.
        [u8::to_ascii_uppercase, u8::to_ascii_lowercase].into_iter().any(|case| {
            let mut low = prefix.to_ascii_uppercase().into_bytes();
            let mut high = prefix.as_bytes().to_vec();
            for first in [low.first_mut(), high.first_mut()].into_iter().flatten() {
                *first = case(first);
            }
            texts.may_start_between(&low, &high)
        })
    }

    /// Whether a filled cell may compare like this with the text.
    fn text_may(&self, texts: Option<TextBounds<'_>>, text: &[u8], order: Ordering) -> bool {
        match order {
            Ordering::Equal => self.may_equal(texts, text),
            Ordering::Less => texts.is_none_or(|texts| texts.min < text),
            // If `max` is the whole of it or a prefix, longer texts may follow it.
            Ordering::Greater => texts.is_none_or(|texts| texts.reach_up_to(text)),
        }
    }

    /// Whether a filled cell may be this text.
    fn may_equal(&self, texts: Option<TextBounds<'_>>, text: &[u8]) -> bool {
        !text.is_empty()
            && texts.is_none_or(|texts| texts.may_hold(text))
            && self.statistics.may_hold(self.column, text)
    }

    /// The bounds, unless they leave room for nothing: then they are no bounds.
    fn texts(&self) -> Option<TextBounds<'a>> {
        self.statistics.texts(self.column).filter(|texts| texts.reach_up_to(texts.min))
    }
}

/// Whether a number may compare like this with `number`.
fn number_may(numbers: NumberBounds, number: Decimal, order: Ordering) -> bool {
    match numbers {
        NumberBounds::NoneAtAll => false,
        NumberBounds::Between(min, max) if min <= max => match order {
            Ordering::Less => min < number,
            Ordering::Equal => min <= number && number <= max,
            Ordering::Greater => number < max,
        },
        // Bounds that leave room for nothing are no bounds.
        NumberBounds::Unknown | NumberBounds::Between(..) => true,
    }
}

/// The outcomes of a comparison, given how some cell may compare.
fn may(op: Op, possible: impl Fn(Ordering) -> bool) -> Outcomes {
    let mut outcomes = Outcomes { truth: false, falsity: false };
    for order in [Ordering::Less, Ordering::Equal, Ordering::Greater] {
        if possible(order) {
            outcomes.truth |= op.accepts(order);
            outcomes.falsity |= !op.accepts(order);
        }
    }
    outcomes
}
