//! The expression tree of a predicate, and its printed form.

use std::cmp::Ordering;
use std::fmt::{self, Display, Write};

use super::like::Pattern;
use super::token;
use crate::number::decimal::Decimal;

/// A node of the expression tree.
///
/// INVARIANT: inner nodes are built with [`Expr::all`], [`Expr::any`] and
/// [`Expr::negate`], so that equal predicates have equal trees: no `And` has an `And` as a
/// part, no `Or` an `Or`, no `Not` a `Not`, and every `And` and `Or` has at least two parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Not(Box<Expr>),
    Leaf(Leaf),
}

/// A test of one column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Leaf {
    pub(super) column: String,
    pub(super) test: ColumnTest,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnTest {
    Compare(CompareOp, Literal),
    /// INVARIANT: both literals are numbers, or both are texts.
    Between(Literal, Literal),
    /// INVARIANT: the list is not empty.
    In(Vec<Literal>),
    Like(Pattern),
    IsNull,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Number(Decimal),
    Text(String),
    Bool(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Expr {
    /// Returns the conjunction of the parts.
    pub(super) fn all(parts: Vec<Self>) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::And(mut inner) => flat.append(&mut inner),
                part => flat.push(part),
            }
        }
        only(&mut flat).unwrap_or(Self::And(flat))
    }

    /// Returns the disjunction of the parts.
    pub(super) fn any(parts: Vec<Self>) -> Self {
        let mut flat = Vec::with_capacity(parts.len());
        for part in parts {
            match part {
                Self::Or(mut inner) => flat.append(&mut inner),
                part => flat.push(part),
            }
        }
        only(&mut flat).unwrap_or(Self::Or(flat))
    }

    /// Returns the negation of the part; unknown stays unknown.
    pub(super) fn negate(part: Self) -> Self {
        match part {
            Self::Not(part) => *part,
            part => Self::Not(Box::new(part)),
        }
    }

    /// Calls `each` with every leaf, in the order of the text.
    pub(super) fn leaves<'a>(&'a self, each: &mut dyn FnMut(&'a Leaf)) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.leaves(each)),
            Self::Not(part) => part.leaves(each),
            Self::Leaf(leaf) => each(leaf),
        }
    }
}

impl CompareOp {
    /// Returns whether a cell with this ordering relative to the literal passes.
    #[inline]
    pub(super) fn accepts(self, order: Ordering) -> bool {
        match self {
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }

    /// Returns the operator for exchanged operands.
    pub(super) fn mirrored(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
        }
    }

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::And(parts) => joined(parts, " and ", f),
            Self::Or(parts) => joined(parts, " or ", f),
            Self::Not(part) => match part.as_ref() {
                // `not a = 1`; other tests have their own form with `not`.
                Self::Leaf(leaf @ Leaf { test: ColumnTest::Compare(..), .. }) => {
                    f.write_str("not ")?;
                    leaf.print("", f)
                }
                Self::Leaf(leaf) => leaf.print("not ", f),
                part => write!(f, "not ({part})"),
            },
            Self::Leaf(leaf) => leaf.print("", f),
        }
    }
}

impl Leaf {
    fn print(&self, not: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if token::is_bare(&self.column) {
            f.write_str(&self.column)?;
        } else {
            quoted(&self.column, '"', f)?;
        }
        match &self.test {
            ColumnTest::Compare(op, value) => write!(f, " {} {value}", op.symbol()),
            ColumnTest::Between(low, high) => write!(f, " {not}between {low} and {high}"),
            ColumnTest::In(values) => {
                write!(f, " {not}in (")?;
                for (at, value) in values.iter().enumerate() {
                    f.write_str(if at == 0 { "" } else { ", " })?;
                    value.fmt(f)?;
                }
                f.write_str(")")
            }
            ColumnTest::Like(pattern) => {
                write!(f, " {not}{} ", if pattern.any_case { "ilike" } else { "like" })?;
                quoted(&pattern.text, '\'', f)?;
                let Some(escape) = pattern.escape else { return Ok(()) };
                f.write_str(" escape ")?;
                quoted(escape.encode_utf8(&mut [0; 4]), '\'', f)
            }
            ColumnTest::IsNull => write!(f, " is {not}null"),
        }
    }
}

impl fmt::Display for Literal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => quoted(text, '\'', f),
            Self::Bool(truth) => truth.fmt(f),
        }
    }
}

/// Removes and returns the part if there is only one.
fn only(parts: &mut Vec<Expr>) -> Option<Expr> {
    if parts.len() == 1 { parts.pop() } else { None }
}

/// Prints parts with a word between them; a disjunction among them gets parentheses.
fn joined(parts: &[Expr], between: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { between })?;
        match part {
            Expr::Or(_) => write!(f, "({part})")?,
            part => part.fmt(f)?,
        }
    }
    Ok(())
}

fn quoted(text: &str, quote: char, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        f.write_char(c)?;
        if c == quote {
            f.write_char(c)?;
        }
    }
    f.write_char(quote)
}
