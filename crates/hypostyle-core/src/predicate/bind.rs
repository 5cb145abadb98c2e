//! Binds an expression tree to a schema: resolves names, checks types and prepares literals.

use arrow_array::new_null_array;
use arrow_schema::{DataType, Schema};
use hashbrown::HashSet;

use super::arithmetic;
use super::bound::{Condition, Members, NumberKernel, TestKind, Value};
use super::evaluate;
use super::expr::{ArithmeticOp, ColumnTest, CompareOp, Function, Literal, Node};
use super::like::Pattern;
use super::literal;
use super::members;
use super::path::ColumnPath;
use super::value_type::{Kind, common};
use crate::error::{Error, Result};
use crate::number::decimal::Decimal;

/// The maximum height of a tree; a parsed one is lower, one that is built in code may not be.
const MAX_HEIGHT: usize = 1000;

pub(super) fn bind(node: &Node, schema: &Schema) -> Result<Condition> {
    if node.height() > MAX_HEIGHT {
        let why = format!("the predicate has more than {MAX_HEIGHT} levels of nesting");
        return Err(Error::invalid_argument(why));
    }
    Binder { schema }.condition(node)
}

/// A side of an operation. A literal takes the type that the other side asks for.
enum Operand {
    Literal(Literal),
    Value(Value),
}

impl Operand {
    fn into_value(self) -> Value {
        match self {
            Self::Literal(literal) => Value::Literal(literal::natural(&literal)),
            Self::Value(value) => value,
        }
    }
}

struct Binder<'a> {
    schema: &'a Schema,
}

impl Binder<'_> {
    fn condition(&self, node: &Node) -> Result<Condition> {
        Ok(match node {
            Node::And(parts) => Condition::all(self.conditions(parts)?),
            Node::Or(parts) => Condition::any(self.conditions(parts)?),
            Node::Not(part) => Condition::negate(self.condition(part)?),
            Node::Compare(op, left, right) => {
                let sides = (self.operand(left)?, self.operand(right)?);
                compare(*op, sides.0, sides.1, (left, right))?
            }
            Node::Same(left, right) => self.same(left, right)?,
            Node::IsNull(value) => is_null(self.operand(value)?),
            Node::IsBool(value, truth) => {
                Condition::test(TestKind::IsBool(Box::new(self.condition(value)?), *truth))
            }
            Node::Between(value, low, high) => self.between(value, low, high)?,
            Node::In(value, list) => self.list(value, list)?,
            Node::Like(value, pattern) => {
                self.text_test(value, ColumnTest::Like(pattern.as_ref().clone()), "like")?
            }
            Node::Regex(value, pattern) => {
                self.text_test(value, ColumnTest::Regex(pattern.as_ref().clone()), "regexp")?
            }
            Node::Literal(Literal::Bool(truth)) => Condition::Constant(Some(*truth)),
            Node::Literal(Literal::Null) => Condition::Constant(None),
            Node::Call(function, arguments) => match self.affix(*function, arguments)? {
                Some(condition) => condition,
                None => self.truth(node)?,
            },
            Node::Column(_)
            | Node::Literal(_)
            | Node::Minus(_)
            | Node::Arithmetic(..)
            | Node::Cast { .. } => self.truth(node)?,
        })
    }

    fn conditions(&self, parts: &[Node]) -> Result<Vec<Condition>> {
        parts.iter().map(|part| self.condition(part)).collect()
    }

    /// Binds a value that is used as a condition.
    fn truth(&self, node: &Node) -> Result<Condition> {
        let value = self.operand(node)?.into_value();
        match Kind::of(&value.data_type()) {
            Kind::Null => Ok(Condition::Constant(None)),
            Kind::Bool => Ok(Condition::test(TestKind::Truth(value))),
            // Cells of text that are neither word are unknown.
            Kind::Text => {
                compare_literal(CompareOp::Equal, value, Literal::Bool(true), (node, node))
            }
            kind if kind.is_number() => {
                let zero = Literal::Number(Decimal::ZERO);
                compare_literal(CompareOp::NotEqual, value, zero, (node, node))
            }
            _ => {
                let found = described(node, &value.data_type());
                Err(Error::invalid_argument(format!("expected a condition, found {found}")))
            }
        }
    }

    fn same(&self, left: &Node, right: &Node) -> Result<Condition> {
        let nodes = (left, right);
        match (self.operand(left)?, self.operand(right)?) {
            (Operand::Literal(Literal::Null), other) | (other, Operand::Literal(Literal::Null)) => {
                Ok(is_null(other))
            }
            (Operand::Literal(literal), Operand::Value(value))
            | (Operand::Value(value), Operand::Literal(literal)) => {
                // Never null itself, so it is the same as a value that is known to be equal.
                let equal = compare_literal(CompareOp::Equal, value, literal, nodes)?;
                Ok(Condition::test(TestKind::IsBool(Box::new(equal), true)))
            }
            (left, right) => {
                let (left, right) = (left.into_value(), right.into_value());
                if let Some(to) = common(&left.data_type(), &right.data_type()) {
                    return Ok(Condition::test(TestKind::Same(
                        left.cast_to(&to),
                        right.cast_to(&to),
                    )));
                }
                // Text beside another type: the same if known to be equal, or if both are null.
                let equal = compare_values(CompareOp::Equal, left.clone(), right.clone(), nodes)?;
                let equal = Condition::test(TestKind::IsBool(Box::new(equal), true));
                let nulls = [left, right].map(|value| is_null(Operand::Value(value)));
                Ok(Condition::any(vec![equal, Condition::all(nulls.into())]))
            }
        }
    }

    fn between(&self, value: &Node, low: &Node, high: &Node) -> Result<Condition> {
        let (operand, from, to) = (self.operand(value)?, self.operand(low)?, self.operand(high)?);
        // One test of both ends can be searched for.
        if let (Operand::Value(tested), Operand::Literal(from), Operand::Literal(to)) =
            (&operand, &from, &to)
        {
            let data_type = tested.data_type();
            let test = match (Kind::of(&data_type), from, to) {
                (Kind::Text, Literal::Text(_), Literal::Text(_))
                | (Kind::Text, Literal::Number(_), Literal::Number(_)) => {
                    Some(ColumnTest::Between(from.clone(), to.clone()))
                }
                (Kind::Bytes, Literal::Text(_), Literal::Text(_)) => Some(ColumnTest::Between(
                    bytes(from, value, &data_type)?,
                    bytes(to, value, &data_type)?,
                )),
                _ => None,
            };
            if let Some(test) = test {
                return Ok(Condition::test(TestKind::Filter(tested.clone(), test)));
            }
        }
        let above = compare(CompareOp::GreaterOrEqual, self.operand(value)?, from, (value, low))?;
        let below = compare(CompareOp::LessOrEqual, operand, to, (value, high))?;
        Ok(Condition::all(vec![above, below]))
    }

    fn list(&self, value: &Node, list: &[Node]) -> Result<Condition> {
        let tested = self.operand(value)?.into_value();
        let data_type = tested.data_type();
        let mut literals = Vec::with_capacity(list.len());
        for node in list {
            match node {
                Node::Literal(literal) => literals.push(literal),
                _ => break,
            }
        }
        if literals.len() == list.len() {
            match Kind::of(&data_type) {
                Kind::Null => return Ok(Condition::Constant(None)),
                Kind::Text => {
                    let literals = literals.into_iter().cloned().collect();
                    return Ok(text_list(tested, literals));
                }
                Kind::Bytes => {
                    let each =
                        literals.into_iter().map(|literal| bytes(literal, value, &data_type));
                    return Ok(text_list(tested, each.collect::<Result<_>>()?));
                }
                _ => {
                    if let Some(condition) = typed_list(&tested, &literals, value)? {
                        return Ok(condition);
                    }
                }
            }
        }
        let equal = list.iter().map(|node| {
            let operand = self.operand(node)?;
            compare(CompareOp::Equal, Operand::Value(tested.clone()), operand, (value, node))
        });
        Ok(Condition::any(equal.collect::<Result<_>>()?))
    }

    fn text_test(&self, node: &Node, test: ColumnTest, name: &str) -> Result<Condition> {
        let value = self.operand(node)?.into_value();
        match Kind::of(&value.data_type()) {
            Kind::Null => Ok(Condition::Constant(None)),
            // Bytes match as texts do; those that are no UTF-8 are characters of one byte.
            Kind::Text | Kind::Bytes => Ok(Condition::test(TestKind::Filter(value, test))),
            _ => Err(needs_text(name, node, &value.data_type())),
        }
    }

    /// Binds `starts_with`, `ends_with` and `contains` with a literal as patterns, which can be
    /// searched for.
    fn affix(&self, function: Function, arguments: &[Node]) -> Result<Option<Condition>> {
        let [value, Node::Literal(Literal::Text(text))] = arguments else { return Ok(None) };
        let (before, after) = match function {
            Function::StartsWith => (false, true),
            Function::EndsWith => (true, false),
            Function::Contains => (true, true),
            _ => return Ok(None),
        };
        let test = ColumnTest::Like(Pattern::containing(text, before, after));
        self.text_test(value, test, function.name()).map(Some)
    }

    fn operand(&self, node: &Node) -> Result<Operand> {
        Ok(Operand::Value(match node {
            Node::Literal(literal) => return Ok(Operand::Literal(literal.clone())),
            Node::Column(name) => Value::Column(ColumnPath::resolve(self.schema, name)?),
            Node::Minus(value) => {
                let value = self.number(value, "-")?;
                let to = arithmetic::negative_type(&value.data_type());
                Value::Minus(Box::new(value.cast_to(&to)))
            }
            Node::Arithmetic(op, left, right) => self.arithmetic(*op, left, right)?,
            Node::Call(function, arguments) => self.call(node, *function, arguments)?,
            Node::Cast { value, to, null_on_failure } => {
                self.cast(value, &to.data_type(), *null_on_failure)?
            }
            condition => Value::Condition(Box::new(self.condition(condition)?)),
        }))
    }

    /// Binds an operand of arithmetic: cells of text that are numbers count as such.
    fn number(&self, node: &Node, op: &str) -> Result<Value> {
        let value = match self.operand(node)? {
            Operand::Literal(Literal::Text(text)) => match Decimal::parse(text.as_bytes()) {
                Some(number) => Value::Literal(literal::natural(&Literal::Number(number))),
                None => return Err(needs_number(op, node, &DataType::Utf8)),
            },
            operand => operand.into_value(),
        };
        let data_type = value.data_type();
        match Kind::of(&data_type) {
            Kind::Text => Ok(Value::TextToNumber(Box::new(value))),
            Kind::Null | Kind::Date => Ok(value),
            kind if kind.is_number() => Ok(value),
            _ => Err(needs_number(op, node, &data_type)),
        }
    }

    fn arithmetic(&self, op: ArithmeticOp, left: &Node, right: &Node) -> Result<Value> {
        let symbol = op.symbol();
        let (l, r) = (self.number(left, symbol)?, self.number(right, symbol)?);
        let Some(types) = arithmetic::types(op, &l.data_type(), &r.data_type()) else {
            let (l, r) = (described(left, &l.data_type()), described(right, &r.data_type()));
            let why = format!("`{symbol}` cannot be computed for {l} and {r}");
            return Err(Error::invalid_argument(why));
        };
        Ok(Value::Arithmetic {
            op,
            left: Box::new(l.cast_to(&types.left)),
            right: Box::new(r.cast_to(&types.right)),
            to: types.result,
        })
    }

    fn call(&self, node: &Node, function: Function, arguments: &[Node]) -> Result<Value> {
        let name = function.name();
        let values = || -> Result<Vec<Value>> {
            arguments.iter().map(|argument| Ok(self.operand(argument)?.into_value())).collect()
        };
        let texts = || -> Result<Vec<Value>> {
            let values = values()?;
            for (argument, value) in arguments.iter().zip(&values) {
                let data_type = value.data_type();
                if !matches!(Kind::of(&data_type), Kind::Text | Kind::Null) {
                    return Err(needs_text(name, argument, &data_type));
                }
            }
            Ok(values.into_iter().map(as_text).collect())
        };
        let first = arguments.first().unwrap_or(node);
        let (arguments, to) = match function {
            Function::Lower | Function::Upper | Function::Trim => (texts()?, DataType::Utf8),
            Function::StartsWith | Function::EndsWith | Function::Contains => {
                (texts()?, DataType::Boolean)
            }
            Function::Length => {
                let values = values()?;
                let list = values.first().map(|value| Kind::of(&value.data_type()));
                (if list == Some(Kind::List) { values } else { texts()? }, DataType::Int64)
            }
            Function::Abs => {
                let value = self.number(first, name)?;
                if Kind::of(&value.data_type()) == Kind::Date {
                    return Err(needs_number(name, first, &value.data_type()));
                }
                let to = arithmetic::negative_type(&value.data_type());
                (vec![value.cast_to(&to)], to)
            }
            Function::IsNan | Function::IsInfinite => {
                let value = self.number(first, name)?;
                if Kind::of(&value.data_type()) == Kind::Date {
                    return Err(needs_number(name, first, &value.data_type()));
                }
                (vec![value.cast_to(&DataType::Float64)], DataType::Boolean)
            }
            Function::Coalesce => {
                let values = values()?;
                let mut to = DataType::Null;
                for (argument, value) in arguments.iter().zip(&values) {
                    let other = value.data_type();
                    to = common(&to, &other)
                        .ok_or_else(|| not_comparable((first, argument), &to, &other))?;
                }
                (values.into_iter().map(|value| value.cast_to(&to)).collect(), to)
            }
        };
        Ok(Value::Call { function, arguments, to })
    }

    fn cast(&self, node: &Node, to: &DataType, null_on_failure: bool) -> Result<Value> {
        let operand = self.operand(node)?;
        if let Operand::Literal(Literal::Text(text)) = &operand
            && let Some(array) = literal::temporal(text, to)
        {
            return Ok(Value::Literal(array));
        }
        let value = operand.into_value();
        let from = value.data_type();
        if from == *to {
            return Ok(value);
        }
        if !arithmetic::can_cast(&from, to) {
            let found = described(node, &from);
            return Err(Error::invalid_argument(format!("{found} cannot be cast to {to}")));
        }
        let cast = Value::Cast { value: Box::new(value), to: to.clone(), null_on_failure };
        if let Node::Literal(_) = node {
            // A literal that cannot be cast is an error before any row is read.
            return Ok(Value::Literal(evaluate::constant(&cast)?));
        }
        Ok(cast)
    }
}

fn as_text(value: Value) -> Value {
    if Kind::of(&value.data_type()) == Kind::Null { value.cast_to(&DataType::Utf8) } else { value }
}

fn is_null(operand: Operand) -> Condition {
    match operand {
        Operand::Literal(literal) => Condition::Constant(Some(literal == Literal::Null)),
        Operand::Value(value) => match Kind::of(&value.data_type()) {
            Kind::Text | Kind::Bytes if value.whole_column().is_some() => {
                Condition::test(TestKind::Filter(value, ColumnTest::IsNull))
            }
            _ => Condition::test(TestKind::IsNull(value)),
        },
    }
}

type Nodes<'a> = (&'a Node, &'a Node);

fn compare(op: CompareOp, left: Operand, right: Operand, nodes: Nodes<'_>) -> Result<Condition> {
    match (left, right) {
        (Operand::Value(value), Operand::Literal(literal)) => {
            compare_literal(op, value, literal, nodes)
        }
        (Operand::Literal(literal), Operand::Value(value)) => {
            compare_literal(op.mirrored(), value, literal, (nodes.1, nodes.0))
        }
        // Two literals: the first one has a type by itself, unless only the second has one.
        (Operand::Literal(Literal::Text(text)), Operand::Literal(right))
            if !matches!(right, Literal::Text(_)) =>
        {
            let value = Value::Literal(literal::natural(&right));
            compare_literal(op.mirrored(), value, Literal::Text(text), (nodes.1, nodes.0))
        }
        (Operand::Literal(left), Operand::Literal(right)) => {
            compare_literal(op, Value::Literal(literal::natural(&left)), right, nodes)
        }
        (Operand::Value(left), Operand::Value(right)) => compare_values(op, left, right, nodes),
    }
}

/// Compares a value with a literal, which takes the type of the value.
fn compare_literal(
    op: CompareOp,
    value: Value,
    literal: Literal,
    nodes: Nodes<'_>,
) -> Result<Condition> {
    let data_type = value.data_type();
    let kind = Kind::of(&data_type);
    let mismatch = |value_type: &DataType, literal: &Literal| {
        not_comparable(nodes, value_type, literal::natural(literal).data_type())
    };
    let no_such_value = || {
        let (value, literal) = (described(nodes.0, &data_type), shown(nodes.1));
        let word = kind.word();
        Error::invalid_argument(format!("{literal} is no {word}, but it is compared with {value}"))
    };
    Ok(match (kind, literal) {
        (Kind::Null, _) | (_, Literal::Null) => Condition::Constant(None),
        (Kind::Text, literal) => {
            Condition::test(TestKind::Filter(value, ColumnTest::Compare(op, literal)))
        }
        (Kind::Bytes, literal) => {
            let test = ColumnTest::Compare(op, bytes(&literal, nodes.0, &data_type)?);
            Condition::test(TestKind::Filter(value, test))
        }
        (Kind::Int | Kind::Float | Kind::Decimal, literal) => {
            let test = match &literal {
                Literal::Number(number) => literal::number_test(op, *number, &data_type),
                Literal::Bool(truth) => {
                    literal::number_test(op, Decimal::from(i64::from(*truth)), &data_type)
                }
                Literal::Text(text) => match Decimal::parse(text.as_bytes()) {
                    Some(number) => literal::number_test(op, number, &data_type),
                    None => {
                        let special = literal::special_float(text).ok_or_else(no_such_value)?;
                        let test = literal::special_float_test(op, special, &data_type);
                        Some(test.ok_or_else(no_such_value)?)
                    }
                },
                Literal::Bytes(_) | Literal::Null => None,
            };
            let test = test.ok_or_else(|| mismatch(&data_type, &literal))?;
            Condition::test(TestKind::Number(value, test))
        }
        (Kind::Bool, Literal::Bool(truth)) => {
            let literal = Value::Literal(literal::natural(&Literal::Bool(truth)));
            Condition::test(TestKind::Compare(op, value, literal))
        }
        (Kind::Bool, Literal::Text(text)) => {
            let truth = literal::boolean(&text).ok_or_else(no_such_value)?;
            let literal = Value::Literal(literal::natural(&Literal::Bool(truth)));
            Condition::test(TestKind::Compare(op, value, literal))
        }
        (Kind::Bool, number @ Literal::Number(_)) => {
            // True is 1 and false is 0, beside any number.
            compare_literal(op, value.cast_to(&DataType::Int8), number, nodes)?
        }
        (Kind::Date | Kind::Time | Kind::Timestamp, Literal::Text(text)) => {
            let literal = literal::temporal(&text, &data_type).ok_or_else(no_such_value)?;
            Condition::test(TestKind::Compare(op, value, Value::Literal(literal)))
        }
        (_, literal) => return Err(mismatch(&data_type, &literal)),
    })
}

fn compare_values(op: CompareOp, left: Value, right: Value, nodes: Nodes<'_>) -> Result<Condition> {
    let (left_type, right_type) = (left.data_type(), right.data_type());
    let (left_kind, right_kind) = (Kind::of(&left_type), Kind::of(&right_type));
    let to = match (left_kind, right_kind) {
        (Kind::Text, other) | (other, Kind::Text) if other.is_number() => {
            return Ok(Condition::test(TestKind::TextNumber(op, left, right)));
        }
        (Kind::Text, Kind::Bool | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Bytes) => {
            Some(right_type.clone())
        }
        (Kind::Bool | Kind::Date | Kind::Time | Kind::Timestamp | Kind::Bytes, Kind::Text) => {
            Some(left_type.clone())
        }
        _ => common(&left_type, &right_type),
    };
    let to = to.ok_or_else(|| not_comparable(nodes, &left_type, &right_type))?;
    if Kind::of(&to) == Kind::Null {
        return Ok(Condition::Constant(None));
    }
    Ok(Condition::test(TestKind::Compare(op, left.cast_to(&to), right.cast_to(&to))))
}

fn text_list(tested: Value, mut literals: Vec<Literal>) -> Condition {
    let all = literals.len();
    literals.retain(|literal| *literal != Literal::Null);
    let has_null = literals.len() < all;
    if literals.is_empty() {
        return Condition::Constant(None);
    }
    let found = Condition::test(TestKind::Filter(tested, ColumnTest::In(literals)));
    if has_null { Condition::any(vec![found, Condition::Constant(None)]) } else { found }
}

/// Returns a literal for a column of bytes.
fn bytes(literal: &Literal, node: &Node, data_type: &DataType) -> Result<Literal> {
    let text = match literal {
        Literal::Null => return Ok(Literal::Null),
        Literal::Text(text) => text,
        other => {
            let literal_node = Node::Literal(other.clone());
            let natural = literal::natural(other);
            return Err(not_comparable((node, &literal_node), data_type, natural.data_type()));
        }
    };
    literal::bytes(text).map(Literal::Bytes).ok_or_else(|| {
        let (value, text) = (described(node, data_type), shown(&Node::Literal(literal.clone())));
        let why = format!("{text} is no bytes, but it is compared with {value}");
        Error::invalid_argument(why)
    })
}

/// Binds a list of literals as a set of keys; `None` if the type has no keys.
fn typed_list(tested: &Value, literals: &[&Literal], node: &Node) -> Result<Option<Condition>> {
    let data_type = tested.data_type();
    if !matches!(
        Kind::of(&data_type),
        Kind::Int | Kind::Float | Kind::Decimal | Kind::Date | Kind::Time | Kind::Timestamp
    ) || matches!(data_type, DataType::Decimal256(..))
    {
        return Ok(None);
    }
    let mut keys = HashSet::with_capacity(literals.len());
    let (mut numbers, mut nulls) = (Vec::new(), 0);
    // Any value of the type says how a literal is compared; this one is cheap to clone.
    let sample = Value::Literal(new_null_array(&data_type, 1));
    for literal in literals {
        let literal_node = Node::Literal((*literal).clone());
        let nodes = (node, &literal_node);
        let test = compare_literal(CompareOp::Equal, sample.clone(), (*literal).clone(), nodes)?;
        let Condition::Test(test) = test else {
            nulls += 1;
            continue;
        };
        let array = match &test.kind {
            TestKind::Number(_, test) => {
                numbers.extend(test.number);
                match &test.kernel {
                    NumberKernel::Compare(_, array) => array,
                    NumberKernel::All(_) => continue,
                }
            }
            TestKind::Compare(_, _, Value::Literal(array)) => array,
            _ => return Ok(None),
        };
        match members::key(array) {
            Some(key) => keys.insert(key),
            None => return Ok(None),
        };
    }
    let numbers = (numbers.len() + nulls == literals.len()).then_some(numbers);
    let members = Members { keys, numbers, has_null: nulls > 0 };
    Ok(Some(Condition::test(TestKind::In(tested.clone(), members))))
}

/// Returns what a value is, for messages.
fn described(node: &Node, data_type: &DataType) -> String {
    let text = shown(node);
    match node {
        Node::Column(_) => format!("the column `{text}` of type {data_type}"),
        Node::Literal(_) => text,
        _ => format!("`{text}` of type {data_type}"),
    }
}

/// Returns an expression as it is written, shortened for a message.
fn shown(node: &Node) -> String {
    const MAX_CHARS: usize = 60;
    let text = node.to_string();
    let mut short: String = text
        .chars()
        .take(MAX_CHARS)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        short.push('…');
    }
    short
}

fn not_comparable(nodes: Nodes<'_>, left: &DataType, right: &DataType) -> Error {
    let (left, right) = (described(nodes.0, left), described(nodes.1, right));
    Error::invalid_argument(format!("{left} cannot be compared with {right}"))
}

fn needs_text(name: &str, node: &Node, data_type: &DataType) -> Error {
    let (found, text) = (described(node, data_type), shown(node));
    let way_out = format!("write `cast({text} as varchar)`");
    Error::invalid_argument(format!("`{name}` needs text, found {found}; {way_out}"))
}

fn needs_number(name: &str, node: &Node, data_type: &DataType) -> Error {
    let found = described(node, data_type);
    Error::invalid_argument(format!("`{name}` needs a number, found {found}"))
}
