//! The printed form of an expression tree, which parses back to an equal tree.

use std::fmt::{self, Display, Formatter, Write};

use super::expr::{ArithmeticOp, Literal, Node};
use super::token;

/// How tightly the printed form of a node binds; a part that binds less than its place needs
/// gets parentheses. The levels are those of the parser.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Compare,
    Range,
    Sum,
    Product,
    Sign,
    Operand,
}

impl Display for Node {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Column(name) if token::is_bare(name) => f.write_str(name),
            Self::Column(name) => quoted(name, '"', f),
            Self::Literal(literal) => literal.fmt(f),
            Self::And(parts) => joined(parts, " and ", Level::Not, f),
            Self::Or(parts) => joined(parts, " or ", Level::And, f),
            Self::Not(part) if has_own_not(part) => part.print("not ", f),
            Self::Not(part) => {
                f.write_str("not ")?;
                // `not` may follow `not`, but a tree never has two in a row.
                part.at(Level::Is, f)
            }
            part => part.print("", f),
        }
    }
}

impl Node {
    fn level(&self) -> Level {
        match self {
            Self::Or(_) => Level::Or,
            Self::And(_) => Level::And,
            Self::Not(part) if has_own_not(part) => part.level(),
            Self::Not(_) => Level::Not,
            Self::IsNull(_) | Self::IsBool(..) | Self::Same(..) => Level::Is,
            Self::Compare(..) => Level::Compare,
            Self::Between(..) | Self::In(..) | Self::Like(..) => Level::Range,
            Self::Regex(_, pattern) if !pattern.whole && !pattern.any_case => Level::Range,
            Self::Arithmetic(ArithmeticOp::Add | ArithmeticOp::Subtract, ..) => Level::Sum,
            Self::Arithmetic(..) => Level::Product,
            Self::Minus(_) => Level::Sign,
            Self::Literal(Literal::Number(number)) if number.is_negative() => Level::Sign,
            _ => Level::Operand,
        }
    }

    /// Prints the node in a place that needs at least this level.
    fn at(&self, level: Level, f: &mut Formatter<'_>) -> fmt::Result {
        if self.level() < level { write!(f, "({self})") } else { self.fmt(f) }
    }

    /// Prints a node that may have its own form with `not`.
    fn print(&self, not: &str, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare(op, left, right) => {
                left.at(Level::Range, f)?;
                write!(f, " {} ", op.symbol())?;
                right.at(Level::Range, f)
            }
            Self::IsNull(value) => {
                value.at(Level::Is, f)?;
                write!(f, " is {not}null")
            }
            Self::IsBool(value, truth) => {
                value.at(Level::Is, f)?;
                write!(f, " is {not}{truth}")
            }
            Self::Same(left, right) => {
                left.at(Level::Is, f)?;
                // The node is `is not distinct from`, and its negation `is distinct from`.
                f.write_str(if not.is_empty() { " is not" } else { " is" })?;
                f.write_str(" distinct from ")?;
                right.at(Level::Compare, f)
            }
            Self::Between(value, low, high) => {
                value.at(Level::Sum, f)?;
                write!(f, " {not}between ")?;
                low.at(Level::Sum, f)?;
                f.write_str(" and ")?;
                high.at(Level::Sum, f)
            }
            Self::In(value, list) => {
                value.at(Level::Sum, f)?;
                write!(f, " {not}in (")?;
                listed(list, f)?;
                f.write_str(")")
            }
            Self::Like(value, pattern) => {
                value.at(Level::Sum, f)?;
                write!(f, " {not}{} ", if pattern.any_case { "ilike" } else { "like" })?;
                quoted(&pattern.text, '\'', f)?;
                let Some(escape) = pattern.escape else { return Ok(()) };
                f.write_str(" escape ")?;
                quoted(escape.encode_utf8(&mut [0; 4]), '\'', f)
            }
            Self::Regex(value, pattern) if !pattern.whole && !pattern.any_case => {
                value.at(Level::Sum, f)?;
                write!(f, " {not}regexp ")?;
                quoted(&pattern.text, '\'', f)
            }
            Self::Regex(value, pattern) => {
                f.write_str(not)?;
                f.write_str(if pattern.whole { "regexp_full_match(" } else { "regexp_matches(" })?;
                write!(f, "{value}, ")?;
                quoted(&pattern.text, '\'', f)?;
                f.write_str(if pattern.any_case { ", 'i')" } else { ")" })
            }
            Self::Minus(value) => {
                f.write_str("-")?;
                value.at(Level::Operand, f)
            }
            Self::Arithmetic(op, left, right) => {
                left.at(self.level(), f)?;
                write!(f, " {} ", op.symbol())?;
                right.at(if self.level() == Level::Sum { Level::Product } else { Level::Sign }, f)
            }
            Self::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                listed(arguments, f)?;
                f.write_str(")")
            }
            Self::Cast { value, to, null_on_failure } => {
                write!(f, "{}cast({value} as {to})", if *null_on_failure { "try_" } else { "" })
            }
            node => node.fmt(f),
        }
    }
}

/// Returns whether the negation of a node is printed inside it, such as `a is not null`.
fn has_own_not(node: &Node) -> bool {
    match node {
        Node::IsNull(_)
        | Node::IsBool(..)
        | Node::Same(..)
        | Node::Between(..)
        | Node::In(..)
        | Node::Like(..) => true,
        Node::Regex(_, pattern) => !pattern.whole && !pattern.any_case,
        _ => false,
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => quoted(text, '\'', f),
            Self::Bool(truth) => truth.fmt(f),
            Self::Bytes(bytes) => quoted(&bytes.escape_ascii().to_string(), '\'', f),
        }
    }
}

fn joined(parts: &[Node], between: &str, level: Level, f: &mut Formatter<'_>) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { between })?;
        part.at(level, f)?;
    }
    Ok(())
}

fn listed(parts: &[Node], f: &mut Formatter<'_>) -> fmt::Result {
    for (at, part) in parts.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { ", " })?;
        part.fmt(f)?;
    }
    Ok(())
}

fn quoted(text: &str, quote: char, f: &mut Formatter<'_>) -> fmt::Result {
    f.write_char(quote)?;
    for c in text.chars() {
        f.write_char(c)?;
        if c == quote {
            f.write_char(c)?;
        }
    }
    f.write_char(quote)
}
