//! The expression tree of a predicate, as it is written.

use std::cmp::Ordering;

use super::like::Pattern;
use super::type_name::TypeName;
use crate::number::decimal::Decimal;

/// A node of the expression tree.
///
/// INVARIANT: inner nodes are built with [`Node::all`], [`Node::any`], [`Node::negate`],
/// [`Node::compare`] and [`Node::minus`], so that equal predicates have equal trees: no `And`
/// has an `And` as a part, no `Or` an `Or`, no `Not` a `Not`, every `And` and `Or` has at least
/// two parts, a comparison with a literal has it on the right, and the negative of a number is
/// a number.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Column(String),
    Literal(Literal),
    And(Vec<Node>),
    Or(Vec<Node>),
    Not(Box<Node>),
    Compare(CompareOp, Box<Node>, Box<Node>),
    /// `is not distinct from`: equal, or both null.
    Same(Box<Node>, Box<Node>),
    IsNull(Box<Node>),
    /// `is true` and `is false`
    IsBool(Box<Node>, bool),
    Between(Box<Node>, Box<Node>, Box<Node>),
    /// INVARIANT: the list is not empty.
    In(Box<Node>, Vec<Node>),
    Like(Box<Node>, Box<Pattern>),
    Regex(Box<Node>, Box<RegexPattern>),
    Minus(Box<Node>),
    Arithmetic(ArithmeticOp, Box<Node>, Box<Node>),
    Call(Function, Vec<Node>),
    Cast {
        value: Box<Node>,
        to: TypeName,
        /// Whether a value that cannot be cast is null, as in `try_cast`, and not an error.
        null_on_failure: bool,
    },
}

/// A test of one column of text or bytes against literals.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ColumnTest {
    Compare(CompareOp, Literal),
    /// INVARIANT: both literals are numbers, or both are texts, or both are bytes.
    Between(Literal, Literal),
    /// INVARIANT: the list is not empty and has no null.
    In(Vec<Literal>),
    Like(Pattern),
    Regex(RegexPattern),
    IsNull,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Null,
    Number(Decimal),
    Text(String),
    Bool(bool),
    /// Only in bound trees, for columns of bytes.
    Bytes(Vec<u8>),
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArithmeticOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `//`
    DivideWhole,
    Remainder,
}

/// A regular expression; it matches a part of the text, or the whole text.
#[derive(Clone, Debug)]
pub(super) struct RegexPattern {
    pub(super) text: String,
    pub(super) whole: bool,
    pub(super) any_case: bool,
    pub(super) compiled: regex::bytes::Regex,
}

impl PartialEq for RegexPattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.text, self.whole, self.any_case) == (&other.text, other.whole, other.any_case)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Coalesce,
    Contains,
    EndsWith,
    IsInfinite,
    IsNan,
    Length,
    Lower,
    StartsWith,
    Trim,
    Upper,
}

impl Node {
    pub(super) fn number(number: Decimal) -> Self {
        Self::Literal(Literal::Number(number))
    }

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

    /// Returns a comparison, with a literal on the right.
    pub(super) fn compare(op: CompareOp, left: Self, right: Self) -> Self {
        match (&left, &right) {
            (Self::Literal(_), Self::Literal(_)) => {
                Self::Compare(op, Box::new(left), Box::new(right))
            }
            (Self::Literal(_), _) => Self::Compare(op.mirrored(), Box::new(right), Box::new(left)),
            _ => Self::Compare(op, Box::new(left), Box::new(right)),
        }
    }

    /// Returns the negative of a value.
    pub(super) fn minus(value: Self) -> Self {
        match value {
            Self::Literal(Literal::Number(number)) => Self::number(-number),
            value => Self::Minus(Box::new(value)),
        }
    }

    /// Calls `each` with every direct part of the node, in the order of the text.
    pub(super) fn parts<'a>(&'a self, each: &mut dyn FnMut(&'a Self)) {
        match self {
            Self::Column(_) | Self::Literal(_) => {}
            Self::And(parts) | Self::Or(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(each);
            }
            Self::Not(part)
            | Self::IsNull(part)
            | Self::IsBool(part, _)
            | Self::Like(part, _)
            | Self::Regex(part, _)
            | Self::Minus(part)
            | Self::Cast { value: part, .. } => each(part),
            Self::Compare(_, left, right)
            | Self::Same(left, right)
            | Self::Arithmetic(_, left, right) => {
                each(left);
                each(right);
            }
            Self::Between(value, low, high) => {
                each(value);
                each(low);
                each(high);
            }
            Self::In(value, list) => {
                each(value);
                list.iter().for_each(each);
            }
        }
    }

    /// Calls `each` with the name of every column, in the order of the text.
    pub(super) fn columns<'a>(&'a self, each: &mut dyn FnMut(&'a str)) {
        match self {
            Self::Column(name) => each(name),
            node => node.parts(&mut |part| part.columns(each)),
        }
    }

    /// Returns the number of levels of the tree.
    pub(super) fn height(&self) -> usize {
        let mut below = 0;
        self.parts(&mut |part| below = below.max(part.height()));
        below.saturating_add(1)
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

impl ArithmeticOp {
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::DivideWhole => "//",
            Self::Remainder => "%",
        }
    }
}

impl Function {
    /// Names and numbers of arguments; the first name of a function is the one it prints as.
    const ALL: [(&'static str, Self, std::ops::RangeInclusive<usize>); 17] = [
        ("abs", Self::Abs, 1..=1),
        ("coalesce", Self::Coalesce, 1..=usize::MAX),
        ("contains", Self::Contains, 2..=2),
        ("ends_with", Self::EndsWith, 2..=2),
        ("suffix", Self::EndsWith, 2..=2),
        ("isinf", Self::IsInfinite, 1..=1),
        ("isnan", Self::IsNan, 1..=1),
        ("length", Self::Length, 1..=1),
        ("len", Self::Length, 1..=1),
        ("char_length", Self::Length, 1..=1),
        ("lower", Self::Lower, 1..=1),
        ("lcase", Self::Lower, 1..=1),
        ("starts_with", Self::StartsWith, 2..=2),
        ("prefix", Self::StartsWith, 2..=2),
        ("trim", Self::Trim, 1..=1),
        ("upper", Self::Upper, 1..=1),
        ("ucase", Self::Upper, 1..=1),
    ];

    /// Returns the function with this name, in any case, and how many arguments it takes.
    pub(super) fn find(name: &str) -> Option<(Self, std::ops::RangeInclusive<usize>)> {
        let mut all = Self::ALL.into_iter();
        let found = all.find(|(known, ..)| known.eq_ignore_ascii_case(name))?;
        Some((found.1, found.2))
    }

    pub(super) fn name(self) -> &'static str {
        let found = Self::ALL.iter().find(|(_, function, _)| *function == self);
        found.map_or("", |(name, ..)| name)
    }
}

/// Removes and returns the part if there is only one.
fn only(parts: &mut Vec<Node>) -> Option<Node> {
    if parts.len() == 1 { parts.pop() } else { None }
}
