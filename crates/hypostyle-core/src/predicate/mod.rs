//! Predicates: the language of `--where`, which selects rows by their cells.
//!
//! ```text
//! year >= 1990 and (country in ('DE', 'FR') or name ilike 'a%') and note is not null
//! ```
//!
//! `token` and `parse` turn text into the tree of `expr`. `eval` evaluates the tree column
//! by column: `filter` tests cells and `like` matches patterns, or a column
//! [evaluates a test itself](ColumnAccess::evaluate_encoded), for example with the
//! [search form](SearchForm) of the test. `pruning` decides from statistics whether a row
//! group can match at all, and `batch` gives access to the columns of an Arrow batch.
//!
//! # Language
//!
//! | Test | True for |
//! |---|---|
//! | `col = 5`, also `<>` `!=` `<` `<=` `>` `>=`, and `5 = col` | cells for which the comparison holds |
//! | `col between 1 and 5` | `col >= 1 and col <= 5` |
//! | `col in (1, 'a')` | `col = 1 or col = 'a'` |
//! | `col like 'a%_'` | texts that match: `%` is any run of characters, `_` is one character |
//! | `col ilike 'A%'` | the same, with ASCII letters in either case |
//! | `col like '5!%' escape '!'` | the same, with a wildcard after `!` taken literally |
//! | `col is null` | cells that are null or empty |
//!
//! Tests are combined with `and`, `or`, `not` and parentheses; `not` may also precede
//! `between`, `in`, `like`, `ilike` and `null`. Keywords are case-insensitive, column names
//! are case-sensitive. A name is bare, such as `user_id` or `a.b[0].c`, or any text in
//! double quotes. Values are numbers, `'text'` (in which `''` is a quote), `true` and
//! `false`.
//!
//! # Meaning
//!
//! A cell is a text or null, whatever the type of its column. The type of the *value*
//! determines how cells are compared with it:
//!
//! - A number compares numerically and exactly: `0.1`, `0.10` and `1e-1` are equal, and
//!   integers of 38 digits are distinguished; further digits are ignored. Spaces around
//!   the number in a cell are ignored. If the cell is not a number, such as `NA` or `NaN`,
//!   the result is unknown, as for null.
//! - A text compares by bytes.
//! - `true` and `false` compare with cells that are these words in any case. For other
//!   cells, the result is unknown.
//!
//! A test of null is unknown, and `not` of unknown is unknown. Only rows for which the
//! whole predicate is true match: neither `x = 5` nor `not x = 5` matches null. An *empty*
//! cell is null for `is null` and for numbers, because many files cannot express null in
//! another way, but it is a text for comparisons with text: `name = ''` matches it.

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
pub use batch::{BatchColumns, find_column};
pub use eval::ColumnAccess;
pub use filter::ColumnFilter;
pub use pruning::{CellPresence, NumberBounds, PruningStatistics, TextBounds};
pub use search::{FilterSearch, SearchForm};

use crate::error::{Error, Result};
use eval::Truth;
use expr::Expr;

/// A condition on the rows of a table, in the language of [this module](self).
///
/// Its printed form parses back to an equal predicate.
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
    /// Parses a predicate.
    ///
    /// # Errors
    ///
    /// Fails at the first syntax error; the message has the position, what was expected
    /// there and what was found. Also fails for more than 200 levels of nesting.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|expr| Self { expr })
    }

    /// Returns the names of the columns that the predicate tests, each once, in the order
    /// of the text.
    pub fn columns(&self) -> Vec<&str> {
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        self.expr.leaves(&mut |leaf| {
            if seen.insert(leaf.column.as_str()) {
                names.push(leaf.column.as_str());
            }
        });
        names
    }

    /// Returns which of `rows` rows match.
    ///
    /// Each test iterates over the cells of its column once, unless the column can
    /// [evaluate the test](ColumnAccess::evaluate_encoded) itself.
    ///
    /// # Errors
    ///
    /// Fails if a column does not exist, cannot be decoded, or does not have `rows` cells.
    pub fn evaluate(&self, rows: usize, columns: &dyn ColumnAccess) -> Result<Vec<bool>> {
        let truths = eval::truths(&self.expr, rows, columns)?;
        Ok(truths.into_iter().map(|truth| truth == Truth::True).collect())
    }

    /// Returns whether any row of a row group with these statistics may match.
    ///
    /// If this returns false and the statistics are correct, no row matches, and the row
    /// group need not be read.
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
