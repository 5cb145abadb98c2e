//! The tree of a predicate that is bound to a schema: every name is a position, and every
//! operation has its types.

use arrow_array::ArrayRef;
use arrow_schema::DataType;
use hashbrown::HashSet;

use super::expr::{ArithmeticOp, ColumnTest, CompareOp, Function};
use super::path::ColumnPath;
use crate::number::decimal::Decimal;

/// A condition on rows: true, false or unknown.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    Constant(Option<bool>),
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Test(Test),
}

/// A condition that is evaluated as a whole.
#[derive(Clone, Debug)]
pub(super) struct Test {
    pub(super) kind: TestKind,
    /// The columns that the test reads, each once.
    pub(super) columns: Vec<usize>,
    /// How long the test takes for a row, relative to others.
    pub(super) cost: u32,
}

#[derive(Clone, Debug)]
pub(super) enum TestKind {
    /// A test of text or bytes against literals.
    Filter(Value, ColumnTest),
    /// A comparison of a number with a literal.
    Number(Value, NumberTest),
    /// A comparison of two values of the same type.
    Compare(CompareOp, Value, Value),
    /// A comparison of text with numbers: only cells that are numbers are known.
    TextNumber(CompareOp, Value, Value),
    /// `is not distinct from`, for two values of the same type.
    Same(Value, Value),
    In(Value, Members),
    IsNull(Value),
    IsBool(Box<Condition>, bool),
    /// A value that is true or false itself.
    Truth(Value),
}

/// A comparison with a number, for evaluation and for pruning.
#[derive(Clone, Debug)]
pub(super) struct NumberTest {
    pub(super) op: CompareOp,
    /// The number as it is written; `None` for infinity and NaN.
    pub(super) number: Option<Decimal>,
    pub(super) kernel: NumberKernel,
}

#[derive(Clone, Debug)]
pub(super) enum NumberKernel {
    /// Compare with this array of one value, which has the type of the tested value.
    Compare(CompareOp, ArrayRef),
    /// All values of the type pass, or none.
    All(bool),
}

/// The values of `in`, for a column that is neither text nor bytes.
#[derive(Clone, Debug)]
pub(super) struct Members {
    /// The values as [`super::members::key`] represents them.
    pub(super) keys: HashSet<i128>,
    /// The values as they are written, if all of them are numbers or null.
    pub(super) numbers: Option<Vec<Decimal>>,
    /// Whether the list has a null, so that no value is certainly missing in it.
    pub(super) has_null: bool,
}

/// An expression that has a value of one type for each row.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Column(ColumnPath),
    /// An array of one value.
    Literal(ArrayRef),
    Cast {
        value: Box<Value>,
        to: DataType,
        null_on_failure: bool,
    },
    /// The numbers in cells of text, as 64-bit floats; other cells are null.
    TextToNumber(Box<Value>),
    /// INVARIANT: the operands have the types that [`super::arithmetic`] wants for `to`.
    Arithmetic {
        op: ArithmeticOp,
        left: Box<Value>,
        right: Box<Value>,
        to: DataType,
    },
    Minus(Box<Value>),
    Call {
        function: Function,
        arguments: Vec<Value>,
        to: DataType,
    },
    Condition(Box<Condition>),
}

impl Value {
    pub(super) fn data_type(&self) -> DataType {
        match self {
            Self::Column(path) => path.data_type.clone(),
            Self::Literal(array) => array.data_type().clone(),
            Self::Cast { to, .. } | Self::Arithmetic { to, .. } | Self::Call { to, .. } => {
                to.clone()
            }
            Self::TextToNumber(_) => DataType::Float64,
            Self::Minus(value) => value.data_type(),
            Self::Condition(_) => DataType::Boolean,
        }
    }

    /// Returns the value in another type.
    pub(super) fn cast_to(self, to: &DataType) -> Self {
        if self.data_type() == *to {
            return self;
        }
        Self::Cast { value: Box::new(self), to: to.clone(), null_on_failure: true }
    }

    /// Returns the whole column, if that is what the value is.
    pub(super) fn whole_column(&self) -> Option<&ColumnPath> {
        match self {
            Self::Column(path) if path.steps.is_empty() => Some(path),
            _ => None,
        }
    }

    fn visit(&self, each: &mut dyn FnMut(&ColumnPath), cost: &mut u32) {
        *cost = cost.saturating_add(1);
        match self {
            Self::Column(path) => {
                *cost = cost.saturating_add(u32::try_from(path.steps.len()).unwrap_or(u32::MAX));
                each(path);
            }
            Self::Literal(_) => {}
            Self::Cast { value, .. } | Self::TextToNumber(value) | Self::Minus(value) => {
                *cost = cost.saturating_add(2);
                value.visit(each, cost);
            }
            Self::Arithmetic { left, right, .. } => {
                left.visit(each, cost);
                right.visit(each, cost);
            }
            Self::Call { arguments, .. } => {
                *cost = cost.saturating_add(8);
                arguments.iter().for_each(|argument| argument.visit(each, cost));
            }
            Self::Condition(condition) => condition.visit(each, cost),
        }
    }
}

impl Condition {
    /// Wraps a test, and collects the columns that it reads.
    pub(super) fn test(kind: TestKind) -> Self {
        let (mut columns, mut cost) = (Vec::new(), 0);
        kind.visit(
            &mut |path| {
                if !columns.contains(&path.index) {
                    columns.push(path.index);
                }
            },
            &mut cost,
        );
        Self::Test(Test { kind, columns, cost })
    }

    /// Returns the conjunction of the parts, cheap ones first.
    pub(super) fn all(mut parts: Vec<Self>) -> Self {
        parts.sort_by_cached_key(Self::cost);
        Self::And(parts)
    }

    /// Returns the disjunction of the parts, cheap ones first.
    pub(super) fn any(mut parts: Vec<Self>) -> Self {
        parts.sort_by_cached_key(Self::cost);
        Self::Or(parts)
    }

    pub(super) fn negate(part: Self) -> Self {
        match part {
            Self::Not(part) => *part,
            Self::Constant(truth) => Self::Constant(truth.map(|truth| !truth)),
            part => Self::Not(Box::new(part)),
        }
    }

    /// Calls `each` with every column that the condition reads.
    pub(super) fn visit(&self, each: &mut dyn FnMut(&ColumnPath), cost: &mut u32) {
        match self {
            Self::Constant(_) => {}
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().for_each(|part| part.visit(each, cost));
            }
            Self::Not(part) => part.visit(each, cost),
            Self::Test(test) => test.kind.visit(each, cost),
        }
    }

    fn cost(&self) -> u32 {
        match self {
            Self::Constant(_) => 0,
            Self::And(parts) | Self::Or(parts) => {
                parts.iter().fold(0, |cost, part| cost.saturating_add(part.cost()))
            }
            Self::Not(part) => part.cost(),
            Self::Test(test) => test.cost,
        }
    }
}

impl TestKind {
    fn visit(&self, each: &mut dyn FnMut(&ColumnPath), cost: &mut u32) {
        match self {
            Self::Filter(value, test) => {
                *cost = cost.saturating_add(match test {
                    ColumnTest::IsNull => 0,
                    ColumnTest::Compare(..) | ColumnTest::Between(..) => 4,
                    ColumnTest::In(_) => 6,
                    ColumnTest::Like(_) => 12,
                    ColumnTest::Regex(_) => 24,
                });
                value.visit(each, cost);
            }
            Self::In(value, _) => {
                *cost = cost.saturating_add(4);
                value.visit(each, cost);
            }
            Self::Number(value, _) | Self::IsNull(value) | Self::Truth(value) => {
                value.visit(each, cost);
            }
            Self::Compare(_, left, right) | Self::Same(left, right) => {
                left.visit(each, cost);
                right.visit(each, cost);
            }
            Self::TextNumber(_, left, right) => {
                *cost = cost.saturating_add(16);
                left.visit(each, cost);
                right.visit(each, cost);
            }
            Self::IsBool(condition, _) => condition.visit(each, cost),
        }
    }
}
