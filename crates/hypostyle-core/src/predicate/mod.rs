//! Predicates: the language of `--where`, which selects rows by their values.
//!
//! ```text
//! year >= 1990 and (country in ('DE', 'FR') or name ilike 'a%') and note is not null
//! ```
//!
//! `token` and `parse` turn text into the tree of `expr`, and [`col`] and [`lit`] build one in
//! code. [`Predicate::bind`] resolves its names in a schema, checks its types and prepares its
//! literals (`bind`, `bound`, `path`, `value_type`, `literal`). `evaluate` runs the bound tree on
//! Arrow arrays, with `arithmetic`, `functions`, `members` for `in`, and `filter` for tests of
//! text, which a column may [evaluate itself](PredicateInput::evaluate_encoded), for example with
//! the [search form](SearchForm) of the test. `pruning` decides from statistics whether a row
//! group can match at all.
//!
//! # Language
//!
//! | Test | True for |
//! |---|---|
//! | `col = 5`, also `==` `<>` `!=` `<` `<=` `>` `>=` | rows for which the comparison holds |
//! | `col between 1 and 5` | `col >= 1 and col <= 5` |
//! | `col in (1, 'a')` | `col = 1 or col = 'a'` |
//! | `col like 'a%_'` | texts that match: `%` is any run of characters, `_` is one character |
//! | `col ilike 'A%'` | the same, with letters in either case |
//! | `col like '5!%' escape '!'` | the same, with a wildcard after `!` taken literally |
//! | `col regexp 'a+'`, `col ~ 'a+'`, `regexp_matches(col, 'a+')` | texts of which a part matches |
//! | `col ~* 'a+'`, `regexp_matches(col, 'a+', 'i')` | the same, with letters in either case |
//! | `regexp_full_match(col, 'a+')` | texts that match as a whole |
//! | `col is null` | nulls |
//! | `col is true`, `is false` | rows for which the condition `col` is true, or false |
//! | `a is distinct from b` | rows in which `a` and `b` differ, or one of them is null |
//! | `col` | rows in which the column is true, or a number other than zero |
//!
//! Tests are combined with `and`, `or`, `not` and parentheses; `not` may also precede `between`,
//! `in`, `like`, `ilike`, `regexp` and what follows `is`, and `!~` negates `~`. Both sides of a
//! test may be any value:
//!
//! | Value | |
//! |---|---|
//! | `user_id`, `"any text"` | a column; keywords are case-insensitive, names are case-sensitive |
//! | `a.b[0].c` | a part of nested columns; elements of lists count from 0 |
//! | `5`, `-1.5e3`, `'text'`, `true`, `false`, `null` | literals; in a text, `''` is a quote |
//! | `date '2024-01-04'`, also `time`, `timestamp` and `timestamptz` | literals of these types |
//! | `a + b`, `-` `*` `/` `//` `%`, `-a` | arithmetic; `/` gives a float, `//` of integers an integer |
//! | `cast(a as bigint)`, `a::bigint`, `try_cast(a as date)` | casts to the types of `DuckDB` |
//! | `lower(a)`, `upper(a)`, `trim(a)`, `length(a)` | of a text; `length` also of a list |
//! | `starts_with(a, 'x')`, `ends_with(a, 'x')`, `contains(a, 'x')` | tests of a text |
//! | `abs(a)`, `isnan(a)`, `isinf(a)`, `coalesce(a, b)` | of a number; of anything |
//!
//! # Meaning
//!
//! A predicate means what it means in `DuckDB` on a table with the same types, and
//! `conformance/predicates` compares both. A test of null is unknown, and `not` of unknown is
//! unknown. Only rows for which the whole predicate is true match: neither `x = 5` nor
//! `not x = 5` matches null. An empty text is not null.
//!
//! - Integers, decimals and literals compare exactly: an integer beyond 2^53 never equals its
//!   neighbour. A float is compared with the float that is nearest to the literal. NaN equals
//!   itself and is greater than all numbers, and -0 equals 0.
//! - Texts and bytes compare by bytes. A literal for bytes may have bytes such as `\xAA`.
//! - `true` is 1 and `false` is 0 beside a number.
//! - A text literal beside a column of another type is read as a value of that type:
//!   `day >= '2024-01-04'`. If it is none, binding fails. Timestamps without a time zone ignore
//!   an offset in the literal; those with one take a literal without an offset to be in UTC.
//!
//! These rules differ from `DuckDB`:
//!
//! - A number beside a column of *text* sees the cells that are numbers, and compares them
//!   exactly. Spaces around the number are ignored. For other cells, such as `NA`, the result is
//!   unknown. `true` and `false` see the cells that are these words, in any case, and arithmetic
//!   sees the cells that are numbers.
//! - A text literal beside an integer or a decimal is not rounded to the type of the column.
//! - Bytes can be matched with `like`, `ilike` and regular expressions, as texts are.
//! - Integers are computed in 64 bits, whatever their width, and `//` and `%` by zero are null.

mod arithmetic;
mod bind;
mod bound;
mod builder;
mod evaluate;
mod expr;
mod filter;
mod functions;
mod input;
mod like;
mod literal;
mod members;
mod parse;
mod path;
mod print;
mod pruning;
mod regexp;
mod search;
#[cfg(test)]
mod tests;
mod token;
mod type_name;
mod value_type;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::BooleanArray;
use arrow_schema::Schema;
use hashbrown::HashSet;

pub use crate::number::decimal::Decimal;
pub use builder::{Expr, col, lit};
pub use filter::ColumnFilter;
pub use input::PredicateInput;
pub use path::ColumnPath;
pub use pruning::{
    CellPresence, NumberBounds, OccurringEntries, Pruner, PruningStatistics, TextBounds,
};
pub use search::{FilterSearch, SearchForm};

use crate::error::{Error, Result};
use bound::Condition;
use evaluate::Window;
use expr::Node;

/// A condition on the rows of a table, in the language of [this module](self).
///
/// Its printed form parses back to an equal predicate.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
/// use hypostyle_core::predicate::Predicate;
///
/// let batch = RecordBatch::try_from_iter([
///     ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
///     ("name", Arc::new(StringArray::from(vec!["Ada", "Grace", "Alan"]))),
/// ])?;
/// let predicate: Predicate = "name LIKE 'A%' AND NOT (id > 2)".parse()?;
/// assert_eq!(predicate.columns(), ["name", "id"]);
/// assert_eq!(predicate.to_string(), "name like 'A%' and not id > 2");
///
/// let bound = predicate.bind(batch.schema_ref())?;
/// assert_eq!(bound.columns(), [1, 0]);
/// assert_eq!(bound.evaluate(3, &mut &batch)?, vec![true, false, false].into());
///
/// let error = Predicate::parse("name = ").unwrap_err();
/// assert!(error.to_string().starts_with("at character 8: expected a name, a value"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Predicate {
    root: Node,
}

impl Predicate {
    /// Parses a predicate.
    ///
    /// # Errors
    ///
    /// Fails at the first syntax error; the message has the position, what was expected
    /// there and what was found. Also fails for more than 200 levels of nesting.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text).map(|root| Self { root })
    }

    /// Returns the names and paths of the columns that the predicate reads, as they are
    /// written, each once, in the order of the text.
    pub fn columns(&self) -> Vec<&str> {
        let (mut names, mut seen) = (Vec::new(), HashSet::new());
        self.root.columns(&mut |name| {
            if seen.insert(name) {
                names.push(name);
            }
        });
        names
    }

    /// Resolves the names in a schema, checks the types, and prepares the literals.
    ///
    /// A column whose name is the whole text of a path, such as `a.b`, wins over the path.
    ///
    /// # Errors
    ///
    /// Fails for a name or path that the schema does not have, for operations that the types
    /// do not have, and for literals that are no values of the type that they are compared with.
    pub fn bind(&self, schema: &Schema) -> Result<BoundPredicate> {
        let condition = bind::bind(&self.root, schema)?;
        let mut columns = Vec::new();
        for name in self.columns() {
            let index = ColumnPath::resolve(schema, name)?.index;
            if !columns.contains(&index) {
                columns.push(index);
            }
        }
        Ok(BoundPredicate(Arc::new(Bound { condition, columns })))
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
        self.root.fmt(f)
    }
}

/// A predicate that is bound to a schema. Clones are cheap.
#[derive(Clone, Debug)]
pub struct BoundPredicate(Arc<Bound>);

#[derive(Debug)]
struct Bound {
    condition: Condition,
    columns: Vec<usize>,
}

impl BoundPredicate {
    /// Returns the positions of the columns that the predicate reads, each once, in the order
    /// of the text. Of a nested column, it reads a part.
    pub fn columns(&self) -> &[usize] {
        &self.0.columns
    }

    /// Returns for each of `rows` rows whether the predicate is true, false, or null, which
    /// means unknown.
    ///
    /// Cheap tests are evaluated first, and columns that cannot change the result are not asked
    /// for. Prefer [`BoundPredicate::matches`] to select rows, which asks for fewer columns.
    ///
    /// # Errors
    ///
    /// Fails if the input cannot give a column, or gives one with another number of rows or
    /// another type; also if a cast fails or the result of an operation is too large.
    pub fn evaluate(&self, rows: usize, input: &mut dyn PredicateInput) -> Result<BooleanArray> {
        let mut window = Window::new(rows, input);
        evaluate::condition(&self.0.condition, &mut window, false)
    }

    /// Returns which of `rows` rows match: those for which the predicate is true.
    ///
    /// The result has no nulls. Once no row can match any more, no further columns are asked for.
    ///
    /// # Errors
    ///
    /// Fails as [`BoundPredicate::evaluate`] does.
    pub fn matches(&self, rows: usize, input: &mut dyn PredicateInput) -> Result<BooleanArray> {
        let mut window = Window::new(rows, input);
        let found = evaluate::condition(&self.0.condition, &mut window, true)?;
        let (bits, nulls) = found.into_parts();
        let bits = nulls.map_or_else(|| bits.clone(), |nulls| &bits & nulls.inner());
        Ok(BooleanArray::new(bits, None))
    }

    /// Returns whether any row of a row group with these statistics may match.
    ///
    /// If this returns false and the statistics are correct, no row matches, and the row
    /// group need not be read. The statistics know columns by the names in the schema.
    pub fn may_match(&self, statistics: &dyn PruningStatistics) -> bool {
        self.pruner().may_match(statistics)
    }

    /// Returns what decides for many row groups whether they may match.
    ///
    /// It evaluates a condition on a dictionary that they share only once.
    pub fn pruner(&self) -> Pruner<'_> {
        Pruner::new(&self.0.condition)
    }
}
