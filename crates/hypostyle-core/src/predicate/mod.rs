//! Rows by what their cells say: the language of `--where`.
//!
//! ```text
//! year >= 1990 and (country in ('DE', 'FR') or name ilike 'a%') and note is not null
//! ```
//!
//! # Language
//!
//! | Test | True for |
//! |---|---|
//! | `col = 5`, also `<>` `!=` `<` `<=` `>` `>=`, and `5 = col` | cells that compare so |
//! | `col between 1 and 5` | `col >= 1 and col <= 5` |
//! | `col in (1, 'a')` | `col = 1 or col = 'a'` |
//! | `col like 'a%_'` | texts that match: `%` is any run of characters, `_` is one |
//! | `col ilike 'A%'` | the same, with ASCII letters in either case |
//! | `col like '5!%' escape '!'` | the same, with wildcards behind `!` taken as they are |
//! | `col is null` | cells that are null or empty |
//!
//! Tests are joined by `and`, `or`, `not` and parentheses; `not` may also stand
//! before `between`, `in`, `like`, `ilike` and `null`. Words of the language are
//! taken in any case, names as they are written. A name is bare, as in `user_id`
//! or `a.b[0].c`, or anything in double quotes. Values are numbers, `'text'`
//! (where `''` is a quote), `true` and `false`.
//!
//! # Meaning
//!
//! A cell is a text or null, whatever the type of its column. It is the *value*
//! that says how it is compared:
//!
//! - With a number, as a number, exactly: `0.1`, `0.10` and `1e-1` are the same,
//!   and integers of 38 digits are told apart; further digits are not looked at.
//!   Outer spaces do not matter. A cell that is no number, such as `NA` or `NaN`,
//!   is unknown, as null is.
//! - With a text, by bytes.
//! - With `true` or `false`, in any case. Other cells are unknown.
//!
//! What is asked of null is unknown, `not` unknown is unknown, and only rows for
//! which the whole is true are kept: neither `x = 5` nor `not x = 5` finds a null.
//! An *empty* cell is null to `is null` and to numbers, since many files have no
//! other way to say so, but it is a text to texts: `name = ''` finds it.

mod batch;
mod eval;
mod expr;
mod filter;
mod like;
mod parse;
mod pruning;
mod search;
#[cfg(test)]
mod tests;
mod token;

use std::fmt;
use std::str::FromStr;

use hashbrown::HashSet;

pub use crate::number::decimal::Decimal;
pub use batch::BatchColumns;
pub use batch::find_column;
pub use eval::ColumnAccess;
pub use filter::ColumnFilter;
pub use pruning::{CellPresence, NumberBounds, PruningStatistics, TextBounds};
pub use search::{FilterSearch, SearchForm};

use crate::error::{Error, Result};
use eval::Truth;
use expr::Expr;

/// A question that each row of a table answers, in the language of [this module](self).
///
/// It prints as a text that parses back to the same.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use hypostyle_core::predicate::{BatchColumns, Predicate};
///
/// let batch = RecordBatch::try_from_iter([
///     ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
///     ("name", Arc::new(StringArray::from(vec!["Ada", "Grace", "Alan"]))),
/// ])?;
/// let predicate = Predicate::parse("name LIKE 'A%' AND NOT (id > 2)")?;
/// assert_eq!(predicate.columns(), ["name", "id"]);
/// assert_eq!(predicate.evaluate(3, &BatchColumns::new(&batch))?, [true, false, false]);
/// assert_eq!(predicate.to_string(), "name like 'A%' and not id > 2");
///
/// let error = Predicate::parse("name = null").unwrap_err();
/// assert!(error.to_string().starts_with("at character 8: expected a number"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    expr: Expr,
}

impl Predicate {
    /// Reads a predicate.
    ///
    /// # Errors
    ///
    /// The first place at which the text is none, what was expected there, and
    /// what was found. Also more than 200 levels of parentheses.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|expr| Self { expr })
    }

    /// The columns that it asks for, each once, in the order of the text.
    pub fn columns(&self) -> Vec<&str> {
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        self.expr.leaves(&mut |leaf| {
            if seen.insert(leaf.column.as_str()) {
                names.push(leaf.column.as_str());
            }
        });
        names
    }

    /// Which of `rows` rows are kept.
    ///
    /// A column is gone through once for each test of it, unless it can
    /// [answer](ColumnAccess::evaluate_encoded) by itself.
    ///
    /// # Errors
    ///
    /// A column cannot be had, or does not have `rows` cells.
    pub fn evaluate(&self, rows: usize, columns: &dyn ColumnAccess) -> Result<Vec<bool>> {
        let truths = eval::truths(&self.expr, rows, columns)?;
        Ok(truths.into_iter().map(|truth| truth == Truth::True).collect())
    }

    /// Whether any row of a group with these statistics may be kept.
    ///
    /// Never false if a row is, as long as the statistics hold; a group for which this
    /// is false need not be read.
    pub fn may_match(&self, statistics: &dyn PruningStatistics) -> bool {
        pruning::outcomes(&self.expr, statistics).truth
    }
}

impl FromStr for Predicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text)
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)
    }
}
