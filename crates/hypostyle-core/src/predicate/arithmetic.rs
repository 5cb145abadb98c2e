//! Arithmetic and casts, with the types that `DuckDB` gives them.

use std::sync::Arc;

use arrow_arith::arity::{try_unary, unary};
use arrow_arith::numeric::{add, div, mul, neg, rem, sub};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float32Type, Float64Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Datum, Decimal128Array, Float64Array,
    PrimitiveArray, StringArray, new_null_array,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::{CastOptions, can_cast_types, cast_with_options};
use arrow_ord::cmp;
use arrow_schema::{ArrowError, DataType};
use arrow_select::nullif::nullif;

use super::expr::ArithmeticOp;
use super::literal;
use super::value_type::{Kind, decimal_size};
use crate::cast::cast as cast_to_text;
use crate::concat::concat;
use crate::error::{Error, Result, clipped};
use crate::number::decimal::Decimal;

const MAX_DIGITS: u8 = 38;

/// The types of an operation: its operands are cast to `left` and `right` first.
pub(super) struct Types {
    pub(super) left: DataType,
    pub(super) right: DataType,
    pub(super) result: DataType,
}

/// Returns the types of an operation, or `None` if it is not defined.
///
/// Integers are computed in 64 bits, with decimals of 38 digits where a column is unsigned and
/// has 64 bits itself. `/` gives a float; `//` of integers drops the fraction.
pub(super) fn types(op: ArithmeticOp, left: &DataType, right: &DataType) -> Option<Types> {
    use DataType as T;
    let alike = |to: T| Some(Types { left: to.clone(), right: to.clone(), result: to });
    let (left_kind, right_kind) = (Kind::of(left), Kind::of(right));
    match (op, left_kind, right_kind) {
        (ArithmeticOp::Add | ArithmeticOp::Subtract, Kind::Date, Kind::Int | Kind::Null)
        | (ArithmeticOp::Add, Kind::Int | Kind::Null, Kind::Date) => {
            return Some(Types { left: T::Int64, right: T::Int64, result: T::Date32 });
        }
        (ArithmeticOp::Subtract, Kind::Date, Kind::Date) => return alike(T::Int64),
        (_, Kind::Date, _) | (_, _, Kind::Date) => return None,
        (_, Kind::Null, Kind::Null) => return alike(T::Int64),
        (_, Kind::Null, _) => return types(op, right, right),
        (_, _, Kind::Null) => return types(op, left, left),
        _ => {}
    }
    if !left_kind.is_number() || !right_kind.is_number() {
        return None;
    }
    let integers = left_kind == Kind::Int && right_kind == Kind::Int;
    let divides = match op {
        ArithmeticOp::Divide => true,
        ArithmeticOp::DivideWhole => !integers,
        _ => false,
    };
    if divides || left_kind == Kind::Float || right_kind == Kind::Float {
        let narrow = |data_type: &T| *data_type == T::Float32;
        let wide = |data_type: &T| *data_type == T::Float64;
        let single = (narrow(left) || narrow(right)) && !wide(left) && !wide(right);
        return alike(if single { T::Float32 } else { T::Float64 });
    }
    if integers {
        let unsigned = *left == T::UInt64 || *right == T::UInt64;
        return alike(if unsigned { T::Decimal128(MAX_DIGITS, 0) } else { T::Int64 });
    }
    if matches!(left, T::Decimal256(..)) || matches!(right, T::Decimal256(..)) {
        return alike(T::Float64);
    }
    let (left_scale, right_scale) = (decimal_size(left).1, decimal_size(right).1);
    let decimal = |scale: u8| Some(T::Decimal128(MAX_DIGITS, i8::try_from(scale).ok()?));
    if op == ArithmeticOp::Multiply {
        let scale = left_scale.saturating_add(right_scale);
        if scale > MAX_DIGITS {
            return alike(T::Float64);
        }
        let (left, right) = (decimal(left_scale)?, decimal(right_scale)?);
        return Some(Types { left, right, result: decimal(scale)? });
    }
    alike(decimal(left_scale.max(right_scale))?)
}

/// Returns the type in which the negative and the absolute of a number are computed.
pub(super) fn negative_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::UInt64 => DataType::Decimal128(MAX_DIGITS, 0),
        DataType::Decimal256(..) => DataType::Float64,
        other if Kind::of(other) == Kind::Int || *other == DataType::Null => DataType::Int64,
        other => other.clone(),
    }
}

/// Computes an operation; the operands have the types that [`types`] names.
///
/// The quotient and the remainder of a division of integers or decimals by zero are null.
///
/// # Errors
///
/// Fails if a result is too large for its type.
pub(super) fn compute(
    op: ArithmeticOp,
    left: &dyn Datum,
    right: &dyn Datum,
    to: &DataType,
) -> Result<ArrayRef> {
    let result = match op {
        ArithmeticOp::Add => add(left, right)?,
        ArithmeticOp::Subtract => sub(left, right)?,
        ArithmeticOp::Multiply => mul(left, right)?,
        ArithmeticOp::Divide | ArithmeticOp::DivideWhole if is_float(right) => div(left, right)?,
        ArithmeticOp::Remainder if is_float(right) => rem(left, right)?,
        ArithmeticOp::Divide | ArithmeticOp::DivideWhole | ArithmeticOp::Remainder => {
            let divisor = without_zeros(right)?;
            if op == ArithmeticOp::Remainder {
                rem(left, divisor.as_ref())?
            } else if matches!(to, DataType::Decimal128(..)) {
                // Arrow's quotient of decimals has a fraction; the whole part is what is left
                // without the remainder.
                let rest = rem(left, divisor.as_ref())?;
                let whole = sub(left, &same_shape(left, right, rest.clone()))?;
                cast(&div(&whole, divisor.as_ref())?, to, false)?
            } else {
                div(left, divisor.as_ref())?
            }
        }
    };
    cast(&result, to, false)
}

fn is_float(datum: &dyn Datum) -> bool {
    datum.get().0.data_type().is_floating()
}

/// An array that stands for a constant if both operands do.
struct Shaped {
    array: ArrayRef,
    scalar: bool,
}

impl Datum for Shaped {
    fn get(&self) -> (&dyn Array, bool) {
        (self.array.as_ref(), self.scalar)
    }
}

fn same_shape(left: &dyn Datum, right: &dyn Datum, array: ArrayRef) -> Shaped {
    Shaped { array, scalar: left.get().1 && right.get().1 }
}

fn without_zeros(datum: &dyn Datum) -> Result<Box<dyn Datum>> {
    let (array, scalar) = datum.get();
    let zero = literal::integer(0, array.data_type())
        .ok_or_else(|| Error::internal("the divisor is no integer and no decimal"))?;
    let is_zero = cmp::eq(&array, &arrow_array::Scalar::new(zero))?;
    Ok(Box::new(Shaped { array: nullif(array, &is_zero)?, scalar }))
}

/// Returns the negative of each number.
pub(super) fn negative(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(neg(array.as_ref())?)
}

/// Returns the absolute of each number.
pub(super) fn absolute(array: &ArrayRef) -> Result<ArrayRef> {
    let overflow = || ArrowError::ArithmeticOverflow("the absolute is too large".to_owned());
    Ok(match array.data_type() {
        DataType::Int64 => {
            let array = array.as_primitive::<Int64Type>();
            Arc::new(try_unary::<_, _, Int64Type>(array, |value| {
                value.checked_abs().ok_or_else(overflow)
            })?)
        }
        DataType::Float32 => {
            Arc::new(unary::<_, _, Float32Type>(array.as_primitive::<Float32Type>(), f32::abs))
        }
        DataType::Float64 => {
            Arc::new(unary::<_, _, Float64Type>(array.as_primitive::<Float64Type>(), f64::abs))
        }
        DataType::Decimal128(..) => {
            let array = array.as_primitive::<Decimal128Type>();
            let data_type = array.data_type().clone();
            let absolute: Decimal128Array = array.unary(i128::wrapping_abs);
            Arc::new(absolute.with_data_type(data_type))
        }
        other => return Err(Error::internal(format!("the absolute of {other}"))),
    })
}

/// Returns whether values of one plain type can be cast to another.
pub(super) fn can_cast(from: &DataType, to: &DataType) -> bool {
    let nested = |data_type| {
        matches!(Kind::of(data_type), Kind::List | Kind::Struct | Kind::Other | Kind::Duration)
    };
    if nested(from) || nested(to) {
        return false;
    }
    match (Kind::of(from), Kind::of(to)) {
        (Kind::Null | Kind::Text, _) | (_, Kind::Text) => true,
        (Kind::Bool, Kind::Decimal) | (Kind::Decimal, Kind::Bool) => true,
        (left, Kind::Date | Kind::Time | Kind::Timestamp) if left.is_number() => false,
        (Kind::Date | Kind::Time | Kind::Timestamp, right) if right.is_number() => false,
        _ => can_cast_types(from, to),
    }
}

/// Casts an array as `DuckDB` does: floats round to even, decimals round half away from zero.
///
/// # Errors
///
/// Fails for a value that cannot be cast, unless it shall be null.
pub(super) fn cast(array: &ArrayRef, to: &DataType, null_on_failure: bool) -> Result<ArrayRef> {
    let from = array.data_type();
    if from == to {
        return Ok(array.clone());
    }
    let options = CastOptions { safe: null_on_failure, ..CastOptions::default() };
    let arrow = |array: &ArrayRef, to: &DataType| -> Result<ArrayRef> {
        Ok(cast_with_options(array, to, &options)?)
    };
    match (Kind::of(from), Kind::of(to)) {
        (Kind::Null, _) => Ok(new_null_array(to, array.len())),
        (Kind::Text, Kind::Text) | (Kind::Bytes, Kind::Bytes | Kind::Text) => arrow(array, to),
        (Kind::Text, _) => text_to(array, to, null_on_failure),
        (_, Kind::Text) => arrow(&printed(array)?, to),
        (Kind::Float, Kind::Int) => {
            let wide = arrow(array, &DataType::Float64)?;
            let rounded: Float64Array =
                wide.as_primitive::<Float64Type>().unary(f64::round_ties_even);
            arrow(&(Arc::new(rounded) as ArrayRef), to)
        }
        (Kind::Decimal, Kind::Int) => {
            let whole = arrow(array, &DataType::Decimal256(76, 0))?;
            arrow(&whole, to)
        }
        (Kind::Bool, Kind::Decimal) => arrow(&arrow(array, &DataType::Int64)?, to),
        (Kind::Decimal, Kind::Bool) => arrow(&arrow(array, &DataType::Float64)?, to),
        // A date counts days, and Arrow casts these to 32 bits only.
        (Kind::Date, Kind::Int) => arrow(&arrow(array, &DataType::Int32)?, to),
        (Kind::Int, Kind::Date) => arrow(&arrow(array, &DataType::Int32)?, to),
        _ => arrow(array, to),
    }
}

/// Prints values as `DuckDB` casts them to text.
fn printed(array: &ArrayRef) -> Result<ArrayRef> {
    if Kind::of(array.data_type()) != Kind::Timestamp {
        return cast_to_text(array, &DataType::Utf8);
    }
    let options = FormatOptions::new()
        .with_timestamp_format(Some("%Y-%m-%d %H:%M:%S%.f"))
        .with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f+00"));
    let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
    let cells = (0..array.len())
        .map(|row| array.is_valid(row).then(|| formatter.value(row).try_to_string()).transpose());
    Ok(Arc::new(cells.collect::<Result<StringArray, ArrowError>>()?))
}

/// Reads each text as a value of another type.
fn text_to(array: &ArrayRef, to: &DataType, null_on_failure: bool) -> Result<ArrayRef> {
    let texts = cast_with_options(array, &DataType::Utf8, &CastOptions::default())?;
    let texts = texts.as_string::<i32>();
    let read = |text: &str| -> Option<ArrayRef> { text_value(text, to) };
    match to {
        DataType::Boolean => {
            let cells = parsed(texts, to, null_on_failure, literal::boolean)?;
            Ok(Arc::new(cells.into_iter().collect::<BooleanArray>()))
        }
        DataType::Float64 => {
            let cells = parsed(texts, to, null_on_failure, float)?;
            Ok(Arc::new(cells.into_iter().collect::<Float64Array>()))
        }
        DataType::Binary => {
            let cells = parsed(texts, to, null_on_failure, literal::bytes)?;
            Ok(Arc::new(cells.into_iter().collect::<BinaryArray>()))
        }
        _ => {
            let cells = parsed(texts, to, null_on_failure, read)?;
            let null = new_null_array(to, 1);
            let parts: Vec<&dyn Array> =
                cells.iter().map(|cell| cell.as_ref().unwrap_or(&null).as_ref()).collect();
            if parts.is_empty() {
                return Ok(new_null_array(to, 0));
            }
            concat(&parts)
        }
    }
}

fn parsed<T>(
    texts: &StringArray,
    to: &DataType,
    null_on_failure: bool,
    read: impl Fn(&str) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let mut cells = Vec::with_capacity(texts.len());
    for (row, text) in texts.iter().enumerate() {
        let cell = text.and_then(&read);
        if let (None, Some(text), false) = (&cell, text, null_on_failure) {
            let why = format!("'{}' cannot be cast to {to}", clipped(text));
            return Err(Error::invalid_argument(why).in_row(row as u64));
        }
        cells.push(cell);
    }
    Ok(cells)
}

/// Returns an array of the one value that a text stands for.
fn text_value(text: &str, to: &DataType) -> Option<ArrayRef> {
    match to {
        DataType::Float32 => {
            let value: f32 = text.trim().parse().ok()?;
            Some(Arc::new(PrimitiveArray::<Float32Type>::from_value(value, 1)))
        }
        DataType::Decimal128(precision, scale) => {
            let value = rounded(Decimal::parse(text.as_bytes())?, i32::from(*scale))?;
            let limit = 10_i128.checked_pow(u32::from(*precision))?;
            if value.checked_abs()? >= limit { None } else { literal::integer(value, to) }
        }
        _ if Kind::of(to) == Kind::Int => {
            literal::integer(rounded(Decimal::parse(text.as_bytes())?, 0)?, to)
        }
        _ => literal::temporal(text, to),
    }
}

fn float(text: &str) -> Option<f64> {
    literal::special_float(text).or_else(|| Decimal::parse(text.as_bytes()).map(Decimal::to_f64))
}

/// Rounds `number × 10^scale`, half away from zero.
fn rounded(number: Decimal, scale: i32) -> Option<i128> {
    let negative = number.is_negative();
    let number = if negative { -number } else { number };
    let (tenths, _) = number.scaled_floor(scale.checked_add(1)?);
    let value = tenths.checked_add(5)?.div_euclid(10);
    Some(if negative { -value } else { value })
}

/// Reads the cells of text that are numbers; other cells are null.
pub(super) fn text_to_number(array: &ArrayRef) -> Result<ArrayRef> {
    let texts = cast_with_options(array, &DataType::Utf8, &CastOptions::default())?;
    let numbers = texts
        .as_string::<i32>()
        .iter()
        .map(|text| text.and_then(|text| Decimal::parse(text.as_bytes())).map(Decimal::to_f64));
    Ok(Arc::new(numbers.collect::<Float64Array>()))
}
