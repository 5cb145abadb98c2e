//! Predicates that are built in code.

use super::Predicate;
use super::expr::{ArithmeticOp, CompareOp, Literal, Node};
use super::like::Pattern;
use super::type_name::TypeName;
use crate::number::decimal::Decimal;

/// An expression that is built in code, to become a [`Predicate`].
///
/// ```
/// use hypostyle_core::predicate::{Predicate, col, lit};
///
/// let cheap = col("price").lt(10).and(col("name").like("A%").or(col("note").is_null()));
/// let predicate = Predicate::from(cheap.and((col("sold") * 2).gt(col("stock") + lit(1.5))));
/// assert_eq!(
///     predicate.to_string(),
///     "price < 10 and (name like 'A%' or note is null) and sold * 2 > stock + 1.5"
/// );
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Expr(pub(super) Node);

/// Returns the column with this name, or a path into a nested column such as `a.b[0]`.
pub fn col(name: impl Into<String>) -> Expr {
    Expr(Node::Column(name.into()))
}

/// Returns a literal: a number, a text, a boolean, or null for `None`.
pub fn lit(value: impl Into<Expr>) -> Expr {
    value.into()
}

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(self, other: impl Into<Self>) -> Self {
            Self(Node::compare(CompareOp::$op, self.0, other.into().0))
        })*
    };
}

impl Expr {
    comparisons! {
        /// `=`
        eq: Equal;
        /// `<>`
        ne: NotEqual;
        /// `<`
        lt: Less;
        /// `<=`
        le: LessOrEqual;
        /// `>`
        gt: Greater;
        /// `>=`
        ge: GreaterOrEqual;
    }

    /// Returns whether both are true.
    #[must_use]
    pub fn and(self, other: impl Into<Self>) -> Self {
        Self(Node::all(vec![self.0, other.into().0]))
    }

    /// Returns whether one of both is true.
    #[must_use]
    pub fn or(self, other: impl Into<Self>) -> Self {
        Self(Node::any(vec![self.0, other.into().0]))
    }

    /// Returns whether the value is null.
    #[must_use]
    pub fn is_null(self) -> Self {
        Self(Node::IsNull(Box::new(self.0)))
    }

    /// Returns whether the value is not null.
    #[must_use]
    pub fn is_not_null(self) -> Self {
        !self.is_null()
    }

    /// Returns whether the condition is false; unknown stays unknown.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`!` is implemented too")]
    pub fn not(self) -> Self {
        Self(Node::negate(self.0))
    }

    /// Returns whether the text matches a pattern, in which `%` is any run of characters and
    /// `_` is one character.
    #[must_use]
    pub fn like(self, pattern: impl Into<String>) -> Self {
        self.matching(pattern.into(), false)
    }

    /// Returns whether the text matches a pattern with letters in either case.
    #[must_use]
    pub fn ilike(self, pattern: impl Into<String>) -> Self {
        self.matching(pattern.into(), true)
    }

    /// Returns whether the text matches a pattern as of [`Expr::like`], in which the character
    /// after an escape stands for itself; `None` if nothing follows an escape.
    #[must_use]
    pub fn like_escaped(self, pattern: impl Into<String>, escape: char) -> Option<Self> {
        let pattern = Pattern::new(pattern.into(), Some(escape), false)?;
        Some(Self(Node::Like(Box::new(self.0), Box::new(pattern))))
    }

    /// Returns the same as [`Expr::like_escaped`], with letters in either case.
    #[must_use]
    pub fn ilike_escaped(self, pattern: impl Into<String>, escape: char) -> Option<Self> {
        let pattern = Pattern::new(pattern.into(), Some(escape), true)?;
        Some(Self(Node::Like(Box::new(self.0), Box::new(pattern))))
    }

    fn matching(self, text: String, any_case: bool) -> Self {
        // OK because only an escape character makes a pattern invalid, and there is none.
        let pattern = Pattern::new(text, None, any_case)
            .unwrap_or_else(|| Pattern::containing("", true, true));
        Self(Node::Like(Box::new(self.0), Box::new(pattern)))
    }

    /// Returns whether the value equals one of these; it does not if there are none.
    #[must_use]
    pub fn is_in<T: Into<Self>>(self, values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<Node> = values.into_iter().map(|value| value.into().0).collect();
        if values.is_empty() {
            return Self(Node::Literal(Literal::Bool(false)));
        }
        Self(Node::In(Box::new(self.0), values))
    }

    /// Returns whether the value lies between these, inclusively.
    #[must_use]
    pub fn between(self, low: impl Into<Self>, high: impl Into<Self>) -> Self {
        let (low, high) = (Box::new(low.into().0), Box::new(high.into().0));
        Self(Node::Between(Box::new(self.0), low, high))
    }
}

impl From<Expr> for Predicate {
    fn from(expr: Expr) -> Self {
        Self { root: expr.0 }
    }
}

impl From<Predicate> for Expr {
    fn from(predicate: Predicate) -> Self {
        Self(predicate.root)
    }
}

impl std::ops::Not for Expr {
    type Output = Self;

    fn not(self) -> Self {
        Self(Node::negate(self.0))
    }
}

impl std::ops::Neg for Expr {
    type Output = Self;

    fn neg(self) -> Self {
        Self(Node::minus(self.0))
    }
}

macro_rules! operators {
    ($($trait:ident, $method:ident, $op:ident;)*) => {
        $(impl<T: Into<Expr>> std::ops::$trait<T> for Expr {
            type Output = Self;

            fn $method(self, other: T) -> Self {
                let (left, right) = (Box::new(self.0), Box::new(other.into().0));
                Self(Node::Arithmetic(ArithmeticOp::$op, left, right))
            }
        })*
    };
}

operators! {
    Add, add, Add;
    Sub, sub, Subtract;
    Mul, mul, Multiply;
    Div, div, Divide;
    Rem, rem, Remainder;
}

macro_rules! integers {
    ($($integer:ty),*) => {
        $(impl From<$integer> for Expr {
            fn from(value: $integer) -> Self {
                Self(Node::number(Decimal::from_i128(i128::from(value))))
            }
        })*
    };
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl From<f64> for Expr {
    fn from(value: f64) -> Self {
        Self(match Decimal::from_f64(value) {
            Some(number) => Node::number(number),
            None => {
                let value = Box::new(Node::Literal(Literal::Text(value.to_string())));
                Node::Cast { value, to: TypeName::Plain("double"), null_on_failure: false }
            }
        })
    }
}

impl From<f32> for Expr {
    fn from(value: f32) -> Self {
        f64::from(value).into()
    }
}

impl From<Decimal> for Expr {
    fn from(value: Decimal) -> Self {
        Self(Node::number(value))
    }
}

impl From<bool> for Expr {
    fn from(value: bool) -> Self {
        Self(Node::Literal(Literal::Bool(value)))
    }
}

impl From<&str> for Expr {
    fn from(value: &str) -> Self {
        value.to_owned().into()
    }
}

impl From<String> for Expr {
    fn from(value: String) -> Self {
        Self(Node::Literal(Literal::Text(value)))
    }
}

impl<T: Into<Self>> From<Option<T>> for Expr {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(Node::Literal(Literal::Null)), Into::into)
    }
}
