//! Translates filters of the engine into predicates of the library.
//!
//! A translation is *exact* if it is true for the same rows as the filter, or else *wider*: true
//! for these rows and maybe for more, so that it can prune and prefilter while the engine checks
//! the rest. Comparisons of floats are wider, since the engine orders NaN by its sign and -0
//! before 0; so are patterns with letters that have more than two cases, and sums that may be
//! larger than their type. Whatever has another meaning, or may have one, is not translated.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::schema::plain;
use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{
    BinaryExpr, CastExpr, Column, DynamicFilterPhysicalExpr, InListExpr, IsNotNullExpr, IsNullExpr,
    LikeExpr, Literal, NotExpr,
};
use hypostyle::predicate::{Decimal, Expr, col, lit};

/// The deepest filter that is translated.
const MAX_DEPTH: usize = 100;

/// A filter in the terms of the library.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    pub(crate) expr: Expr,
    /// Whether it is true for no other rows than the filter.
    pub(crate) is_exact: bool,
}

impl Translation {
    fn exact(expr: impl Into<Expr>) -> Self {
        Self { expr: expr.into(), is_exact: true }
    }

    fn wider(expr: Expr) -> Self {
        Self { expr, is_exact: false }
    }
}

/// Translates a filter on the columns of a schema; `None` if nothing of it can be.
///
/// A filter that changes while the query runs is translated as it is now.
pub(crate) fn translate(filter: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<Translation> {
    Translator { schema }.condition(filter, Sign::Plain, 0)
}

/// Whether a part of a filter stands under a negation, where only exact translations will do.
#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Plain,
    Negated,
}

struct Translator<'a> {
    schema: &'a Schema,
}

impl Translator<'_> {
    fn condition(
        &self,
        expr: &Arc<dyn PhysicalExpr>,
        sign: Sign,
        depth: usize,
    ) -> Option<Translation> {
        if depth > MAX_DEPTH {
            return None;
        }
        let depth = depth + 1;
        if let Some(dynamic) = expr.downcast_ref::<DynamicFilterPhysicalExpr>() {
            let current = dynamic.current().ok()?;
            let found = self.condition(&current, sign, depth)?;
            // It may be stricter when the engine checks it.
            return (sign == Sign::Plain).then(|| Translation::wider(found.expr));
        }
        if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
            let (left, right) = (binary.left(), binary.right());
            return match binary.op() {
                Operator::And => {
                    let sides =
                        (self.condition(left, sign, depth), self.condition(right, sign, depth));
                    match sides {
                        (Some(left), Some(right)) => Some(Translation {
                            expr: left.expr.and(right.expr),
                            is_exact: left.is_exact && right.is_exact,
                        }),
                        (Some(one), None) | (None, Some(one)) if sign == Sign::Plain => {
                            Some(Translation::wider(one.expr))
                        }
                        _ => None,
                    }
                }
                Operator::Or => {
                    let left = self.condition(left, sign, depth)?;
                    let right = self.condition(right, sign, depth)?;
                    Some(Translation {
                        expr: left.expr.or(right.expr),
                        is_exact: left.is_exact && right.is_exact,
                    })
                }
                op => {
                    let found = self.comparison(*op, left, right)?;
                    (found.is_exact || sign == Sign::Plain).then_some(found)
                }
            };
        }
        if let Some(not) = expr.downcast_ref::<NotExpr>() {
            let inner = self.condition(not.arg(), Sign::Negated, depth)?;
            return inner.is_exact.then(|| Translation::exact(inner.expr.not()));
        }
        if let Some(is_null) = expr.downcast_ref::<IsNullExpr>() {
            let (name, _) = self.column(is_null.arg())?;
            return Some(Translation::exact(col(name).is_null()));
        }
        if let Some(is_not_null) = expr.downcast_ref::<IsNotNullExpr>() {
            let (name, _) = self.column(is_not_null.arg())?;
            return Some(Translation::exact(col(name).is_not_null()));
        }
        if let Some(list) = expr.downcast_ref::<InListExpr>() {
            return self.list(list, sign);
        }
        if let Some(like) = expr.downcast_ref::<LikeExpr>() {
            let found = self.like(like)?;
            return (found.is_exact || sign == Sign::Plain).then_some(found);
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return match literal.value() {
                ScalarValue::Boolean(Some(truth)) => Some(Translation::exact(*truth)),
                _ => None,
            };
        }
        let (name, of) = self.column(expr)?;
        (of == &DataType::Boolean).then(|| Translation::exact(col(name)))
    }

    /// Returns the name and the type of a column.
    fn column<'e>(&self, expr: &'e Arc<dyn PhysicalExpr>) -> Option<(&'e str, &DataType)> {
        let column = expr.downcast_ref::<Column>()?;
        let field = self.schema.fields().get(column.index())?;
        // The name of a column that the table does not have is a path to the library.
        (field.name() == column.name()).then(|| (column.name(), plain(field.data_type())))
    }

    /// Returns a column, or a cast of one that keeps every value and the order of values, and
    /// the type of the column.
    fn operand<'e>(&self, expr: &'e Arc<dyn PhysicalExpr>) -> Option<(&'e str, &DataType)> {
        let Some(cast) = expr.downcast_ref::<CastExpr>() else { return self.column(expr) };
        let (name, from) = self.column(cast.expr())?;
        let to = cast.cast_type();
        let is_text =
            |of: &DataType| matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
        let keeps = match (from, plain(to)) {
            (from, to) if is_text(from) && is_text(to) => true,
            (from, DataType::Float64) => is_small_integer(from),
            (from, DataType::Int64) => is_small_integer(from) || from == &DataType::Int64,
            (from, to) => from == to,
        };
        keeps.then_some((name, from))
    }

    fn comparison(
        &self,
        op: Operator,
        left: &Arc<dyn PhysicalExpr>,
        right: &Arc<dyn PhysicalExpr>,
    ) -> Option<Translation> {
        if let Some(literal) = right.downcast_ref::<Literal>() {
            return self.comparison_with(op, left, literal.value());
        }
        if let Some(literal) = left.downcast_ref::<Literal>() {
            return self.comparison_with(op.swap()?, right, literal.value());
        }
        // Two columns of one type that both order alike.
        let ((one, of), (two, other)) = (self.column(left)?, self.column(right)?);
        let is_plain =
            of.is_integer() || matches!(of, DataType::Utf8 | DataType::Date32 | DataType::Boolean);
        (of == other && is_plain).then(|| apply(op, col(one), col(two)))?.map(Translation::exact)
    }

    /// Translates the comparison of an expression with a value.
    fn comparison_with(
        &self,
        op: Operator,
        expr: &Arc<dyn PhysicalExpr>,
        value: &ScalarValue,
    ) -> Option<Translation> {
        if let Some(sum) = expr.downcast_ref::<BinaryExpr>() {
            return self.sum(op, sum, value);
        }
        let (name, of) = self.operand(expr)?;
        compare(op, name, of, value)
    }

    /// Translates the comparison of `column + constant`, `column - constant` or
    /// `constant - column` with a value: of integers, for which it says where the column lies.
    fn sum(&self, op: Operator, sum: &BinaryExpr, value: &ScalarValue) -> Option<Translation> {
        let value = integer(value)?;
        let constant = |side: &Arc<dyn PhysicalExpr>| {
            side.downcast_ref::<Literal>().and_then(|literal| integer(literal.value()))
        };
        let (column, constant, factor) = match (sum.op(), constant(sum.left())) {
            (Operator::Plus, Some(constant)) => (sum.right(), constant, 1),
            (Operator::Minus, Some(constant)) => (sum.right(), constant, -1),
            (Operator::Plus, None) => (sum.left(), constant(sum.right())?, 1),
            (Operator::Minus, None) => (sum.left(), -constant(sum.right())?, 1),
            _ => return None,
        };
        let (name, of) = self.operand(column)?;
        let (least, greatest) = bounds(of)?;
        let (least_sum, greatest_sum) = bounds(&sum.data_type(self.schema).ok()?)?;
        let at = |cell: i128| cell * factor + constant;
        let is_sum = |cell: i128| (least_sum..=greatest_sum).contains(&at(cell));
        // `constant - column < value` says that the column is greater than their difference.
        let (bound, op) = match factor {
            1 => (value - constant, op),
            _ => (constant - value, op.swap()?),
        };
        let number = |number: i128| lit(Decimal::from_i128(number));
        let found = apply(op, col(name), number(bound))?;
        if is_sum(least) && is_sum(greatest) {
            return Some(Translation::exact(found));
        }
        // The sum of a cell outside these bounds wraps around.
        let (one, other) = match factor {
            1 => (least_sum - constant, greatest_sum - constant),
            _ => (constant - greatest_sum, constant - least_sum),
        };
        let wraps = col(name).lt(number(one)).or(col(name).gt(number(other)));
        Some(Translation::wider(found.or(wraps)))
    }

    fn list(&self, list: &InListExpr, sign: Sign) -> Option<Translation> {
        let (name, of) = self.operand(list.expr())?;
        if is_float(of) {
            return None;
        }
        let mut values = Vec::with_capacity(list.list().len());
        let mut has_null = false;
        for item in list.list() {
            let value = item.downcast_ref::<Literal>()?.value();
            if value.is_null() {
                has_null = true;
            } else {
                values.push(literal(value, of)?);
            }
        }
        // Beside a null, `in` is never false and `not in` is never true.
        match (has_null, list.negated()) {
            (false, false) => Some(Translation::exact(col(name).is_in(values))),
            (false, true) => Some(Translation::exact(col(name).is_in(values).not())),
            (true, false) if sign == Sign::Plain => {
                Some(Translation::exact(col(name).is_in(values)))
            }
            (true, true) if sign == Sign::Plain => Some(Translation::exact(false)),
            _ => None,
        }
    }

    fn like(&self, like: &LikeExpr) -> Option<Translation> {
        let (name, of) = self.operand(like.expr())?;
        if !matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            return None;
        }
        let pattern = match like.pattern().downcast_ref::<Literal>()?.value() {
            ScalarValue::Dictionary(_, text) => text.try_as_str()??,
            text => text.try_as_str()??,
        };
        let (pattern, is_exact) = match like.case_insensitive() {
            true => any_case(pattern),
            false => (escaped(pattern), true),
        };
        let column = col(name);
        let matches = match like.case_insensitive() {
            true => column.ilike_escaped(pattern, ESCAPE)?,
            false => column.like_escaped(pattern, ESCAPE)?,
        };
        match (is_exact, like.negated()) {
            (true, negated) => {
                Some(Translation::exact(if negated { matches.not() } else { matches }))
            }
            (false, false) => Some(Translation::wider(matches)),
            (false, true) => None,
        }
    }
}

/// The character that the engine takes for an escape in patterns.
const ESCAPE: char = '\\';

/// Returns a pattern in which every escape escapes something: the engine takes one at the end for
/// itself.
fn escaped(pattern: &str) -> String {
    let trailing = pattern.chars().rev().take_while(|&c| c == ESCAPE).count();
    let last = if trailing % 2 == 1 { "\\" } else { "" };
    format!("{pattern}{last}")
}

/// Returns a pattern for any case that matches what it matches in the engine, and whether it
/// matches nothing else.
///
/// The engine folds letters by other tables than the library: `i` matches no dotted capital, and
/// `s` matches a long s. So `s` becomes any character, and so does every letter outside ASCII.
fn any_case(pattern: &str) -> (String, bool) {
    let mut widened = String::with_capacity(pattern.len());
    let mut is_exact = true;
    let pattern = escaped(pattern);
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        let is_escaped = c == ESCAPE;
        let c = if is_escaped { chars.next().unwrap_or(ESCAPE) } else { c };
        is_exact &= c.is_ascii() && !matches!(c, 's' | 'S' | 'i' | 'I');
        if !c.is_ascii() || matches!(c, 's' | 'S') {
            widened.push('_');
            continue;
        }
        if is_escaped {
            widened.push(ESCAPE);
        }
        widened.push(c);
    }
    (widened, is_exact)
}

/// Returns an integer that a literal of the engine is.
fn integer(value: &ScalarValue) -> Option<i128> {
    use ScalarValue as S;
    match value {
        S::Int8(value) => value.map(i128::from),
        S::Int16(value) => value.map(i128::from),
        S::Int32(value) => value.map(i128::from),
        S::Int64(value) => value.map(i128::from),
        S::UInt8(value) => value.map(i128::from),
        S::UInt16(value) => value.map(i128::from),
        S::UInt32(value) => value.map(i128::from),
        S::UInt64(value) => value.map(i128::from),
        _ => None,
    }
}

/// Returns the least and the greatest value of a type of integers.
fn bounds(of: &DataType) -> Option<(i128, i128)> {
    use DataType as T;
    let bits = of.primitive_width().filter(|_| of.is_integer())? * 8;
    let values = 1_i128 << bits;
    Some(match of {
        T::UInt8 | T::UInt16 | T::UInt32 | T::UInt64 => (0, values - 1),
        _ => (-values / 2, values / 2 - 1),
    })
}

fn is_float(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

fn is_small_integer(data_type: &DataType) -> bool {
    use DataType as T;
    matches!(data_type, T::Int8 | T::Int16 | T::Int32 | T::UInt8 | T::UInt16 | T::UInt32)
}

fn apply(op: Operator, left: Expr, right: Expr) -> Option<Expr> {
    Some(match op {
        Operator::Eq => left.eq(right),
        Operator::NotEq => left.ne(right),
        Operator::Lt => left.lt(right),
        Operator::LtEq => left.le(right),
        Operator::Gt => left.gt(right),
        Operator::GtEq => left.ge(right),
        _ => return None,
    })
}

/// Compares a column with a value.
fn compare(op: Operator, name: &str, of: &DataType, value: &ScalarValue) -> Option<Translation> {
    if let ScalarValue::Dictionary(_, value) = value {
        return compare(op, name, of, value);
    }
    if value.is_null() {
        return None;
    }
    if is_float(of) {
        return compare_float(op, name, of, value);
    }
    apply(op, col(name), literal(value, of)?).map(Translation::exact)
}

/// Compares a column of floats with a value, for more rows than the engine does.
///
/// The engine orders floats by their bits: -NaN, numbers, -0, 0, numbers, NaN. The library takes
/// both zeros for equal, and any NaN for equal and greater than all numbers.
fn compare_float(
    op: Operator,
    name: &str,
    of: &DataType,
    value: &ScalarValue,
) -> Option<Translation> {
    let number = match value {
        ScalarValue::Float64(Some(number)) if of == &DataType::Float64 => *number,
        ScalarValue::Float32(Some(number)) if of == &DataType::Float32 => f64::from(*number),
        _ => return None,
    };
    if !number.is_finite() {
        return None;
    }
    let (column, is_zero) = (col(name), number == 0.0);
    let number = lit(number.abs().copysign(if is_zero { 1.0 } else { number }));
    // -NaN is less than every number to the engine, and NaN is not to the library.
    let nan = || col(name).gt(lit(1e300));
    Some(Translation::wider(match op {
        Operator::Eq => column.eq(number),
        Operator::Lt if is_zero => column.le(number).or(nan()),
        Operator::Lt => column.lt(number).or(nan()),
        Operator::LtEq => column.le(number).or(nan()),
        Operator::Gt if is_zero => column.ge(number),
        Operator::Gt => column.gt(number),
        Operator::GtEq => column.ge(number),
        _ => return None,
    }))
}

/// Returns a value as a literal beside a column of this type.
fn literal(value: &ScalarValue, of: &DataType) -> Option<Expr> {
    use ScalarValue as S;
    let is_integer = of.is_integer();
    match value {
        S::Dictionary(_, value) => literal(value, of),
        S::Int8(Some(value)) if is_integer => Some(lit(*value)),
        S::Int16(Some(value)) if is_integer => Some(lit(*value)),
        S::Int32(Some(value)) if is_integer => Some(lit(*value)),
        S::Int64(Some(value)) if is_integer => Some(lit(*value)),
        S::UInt8(Some(value)) if is_integer => Some(lit(*value)),
        S::UInt16(Some(value)) if is_integer => Some(lit(*value)),
        S::UInt32(Some(value)) if is_integer => Some(lit(*value)),
        S::UInt64(Some(value)) if is_integer => Some(lit(*value)),
        // Beside a small integer that the engine casts to float.
        S::Float64(Some(value)) if is_small_integer(of) && value.is_finite() => {
            Decimal::from_f64(*value).map(lit)
        }
        S::Boolean(Some(value)) if of == &DataType::Boolean => Some(lit(*value)),
        S::Utf8(Some(text)) | S::LargeUtf8(Some(text)) | S::Utf8View(Some(text)) => {
            let is_text = matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
            is_text.then(|| lit(text.as_str()))
        }
        S::Date32(Some(_)) if of == &DataType::Date32 => printed(value),
        S::TimestampSecond(Some(_), None)
        | S::TimestampMillisecond(Some(_), None)
        | S::TimestampMicrosecond(Some(_), None)
        | S::TimestampNanosecond(Some(_), None)
            if &value.data_type() == of =>
        {
            printed(value)
        }
        S::TimestampSecond(Some(time), Some(_)) if &value.data_type() == of => {
            instant(*time, TimeUnit::Second)
        }
        S::TimestampMillisecond(Some(time), Some(_)) if &value.data_type() == of => {
            instant(*time, TimeUnit::Millisecond)
        }
        S::TimestampMicrosecond(Some(time), Some(_)) if &value.data_type() == of => {
            instant(*time, TimeUnit::Microsecond)
        }
        S::TimestampNanosecond(Some(time), Some(_)) if &value.data_type() == of => {
            instant(*time, TimeUnit::Nanosecond)
        }
        S::Decimal128(Some(digits), _, scale) if &value.data_type() == of => {
            let text = format!("{digits}e{}", -i32::from(*scale));
            Decimal::parse(text.as_bytes()).map(lit)
        }
        _ => None,
    }
}

/// Returns an instant as a text in UTC, which the library reads beside a column with a zone.
fn instant(time: i64, unit: TimeUnit) -> Option<Expr> {
    printed(&match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(Some(time), None),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(Some(time), None),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(Some(time), None),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(Some(time), None),
    })
}

/// Returns a date or a timestamp as a text, which the library reads beside a column of its type.
fn printed(value: &ScalarValue) -> Option<Expr> {
    let array = value.to_array().ok()?;
    let text = datafusion::arrow::util::display::array_value_to_string(&array, 0).ok()?;
    // Years with more or fewer than four digits are written in several ways.
    let has_year = text.get(..5).is_some_and(|start| {
        start.ends_with('-') && start.bytes().take(4).all(|digit| digit.is_ascii_digit())
    });
    (has_year && !text.starts_with("0000")).then(|| lit(text))
}
