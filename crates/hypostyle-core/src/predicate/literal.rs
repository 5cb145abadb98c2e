//! Literals as values of a type.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, Time32MillisecondType, Time32SecondType,
    Time64MicrosecondType, Time64NanosecondType, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int64Array, NullArray, PrimitiveArray,
    StringArray, UInt64Array,
};
use arrow_buffer::i256;
use arrow_schema::{DataType, TimeUnit};

use super::bound::{NumberKernel, NumberTest};
use super::expr::{CompareOp, Literal};
use super::value_type::is_zoned;
use crate::number::decimal::Decimal;
use crate::temporal;

/// The digits of the widest decimals that 128 bits store.
const DECIMAL128_DIGITS: i32 = 38;

/// Returns a literal as an array of one value, in the type that it has by itself.
pub(super) fn natural(literal: &Literal) -> ArrayRef {
    match literal {
        Literal::Null => Arc::new(NullArray::new(1)),
        Literal::Bool(truth) => Arc::new(BooleanArray::from(vec![*truth])),
        Literal::Text(text) => Arc::new(StringArray::from(vec![text.as_str()])),
        Literal::Bytes(bytes) => Arc::new(arrow_array::BinaryArray::from(vec![bytes.as_slice()])),
        Literal::Number(number) => natural_number(*number),
    }
}

fn natural_number(number: Decimal) -> ArrayRef {
    let scale = number.scale();
    let (value, whole) = number.scaled_floor(scale);
    if !whole || scale > DECIMAL128_DIGITS {
        return Arc::new(Float64Array::from(vec![number.to_f64()]));
    }
    if scale == 0 {
        if let Ok(value) = i64::try_from(value) {
            return Arc::new(Int64Array::from(vec![value]));
        }
        if let Ok(value) = u64::try_from(value) {
            return Arc::new(UInt64Array::from(vec![value]));
        }
    }
    let digits = value.unsigned_abs().checked_ilog10().unwrap_or(0) + 1;
    let precision = u8::try_from(digits).unwrap_or(38).max(u8::try_from(scale).unwrap_or(38));
    let array = Decimal128Array::from(vec![value]);
    match array.with_precision_and_scale(precision, i8::try_from(scale).unwrap_or(38)) {
        Ok(array) => Arc::new(array),
        Err(_) => Arc::new(Float64Array::from(vec![number.to_f64()])),
    }
}

/// Prepares the comparison of numbers of a type with a literal.
///
/// Integers and decimals are compared exactly. Floats are compared with the nearest float.
/// Returns `None` if the type is not a number.
pub(super) fn number_test(op: CompareOp, number: Decimal, of: &DataType) -> Option<NumberTest> {
    let kernel = match of {
        DataType::Float32 | DataType::Float64 => {
            NumberKernel::Compare(op, float(number.to_f64(), of)?)
        }
        _ => exact_kernel(op, number, of)?,
    };
    Some(NumberTest { op, number: Some(number), kernel })
}

/// Prepares the comparison of floats with infinity or NaN.
pub(super) fn special_float_test(op: CompareOp, value: f64, of: &DataType) -> Option<NumberTest> {
    let kernel = NumberKernel::Compare(op, float(value, of)?);
    Some(NumberTest { op, number: None, kernel })
}

fn exact_kernel(op: CompareOp, number: Decimal, of: &DataType) -> Option<NumberKernel> {
    let (floor, whole) = number.scaled_floor(scale_of(of));
    // Between two values of the type, only the order of the lower one matters.
    let op = match (op, whole) {
        (CompareOp::Equal, false) => return Some(NumberKernel::All(false)),
        (CompareOp::NotEqual, false) => return Some(NumberKernel::All(true)),
        (CompareOp::Less | CompareOp::LessOrEqual, false) => CompareOp::LessOrEqual,
        (CompareOp::Greater | CompareOp::GreaterOrEqual, false) => CompareOp::Greater,
        (op, true) => op,
    };
    Some(match integer(floor, of) {
        Some(array) => NumberKernel::Compare(op, array),
        // Beyond the type: every value is less than the number, or every value is greater.
        None if !is_integer_like(of) => return None,
        None if floor < 0 => NumberKernel::All(op.accepts(std::cmp::Ordering::Greater)),
        None => NumberKernel::All(op.accepts(std::cmp::Ordering::Less)),
    })
}

fn scale_of(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => i32::from(*scale),
        _ => 0,
    }
}

fn is_integer_like(data_type: &DataType) -> bool {
    data_type.is_integer()
        || matches!(data_type, DataType::Decimal128(..) | DataType::Decimal256(..))
}

/// Returns an array of one integer, or of one decimal with these digits.
pub(super) fn integer(value: i128, of: &DataType) -> Option<ArrayRef> {
    fn one<T: ArrowPrimitiveType>(value: i128) -> Option<ArrayRef>
    where
        T::Native: TryFrom<i128>,
    {
        let value = T::Native::try_from(value).ok()?;
        Some(Arc::new(PrimitiveArray::<T>::from_value(value, 1)))
    }
    match of {
        DataType::Int8 => one::<Int8Type>(value),
        DataType::Int16 => one::<Int16Type>(value),
        DataType::Int32 => one::<Int32Type>(value),
        DataType::Int64 => one::<Int64Type>(value),
        DataType::UInt8 => one::<UInt8Type>(value),
        DataType::UInt16 => one::<UInt16Type>(value),
        DataType::UInt32 => one::<UInt32Type>(value),
        DataType::UInt64 => one::<UInt64Type>(value),
        DataType::Decimal128(..) => {
            let array = PrimitiveArray::<Decimal128Type>::from_value(value, 1);
            Some(Arc::new(array.with_data_type(of.clone())))
        }
        DataType::Decimal256(..) => {
            let array = PrimitiveArray::<Decimal256Type>::from_value(i256::from_i128(value), 1);
            Some(Arc::new(array.with_data_type(of.clone())))
        }
        _ => None,
    }
}

fn float(value: f64, of: &DataType) -> Option<ArrayRef> {
    match of {
        DataType::Float64 => Some(Arc::new(PrimitiveArray::<Float64Type>::from_value(value, 1))),
        DataType::Float32 => {
            #[expect(
                clippy::cast_possible_truncation,
                reason = "a literal takes the column's type"
            )]
            let value = value as f32;
            Some(Arc::new(PrimitiveArray::<Float32Type>::from_value(value, 1)))
        }
        _ => None,
    }
}

/// Reads a text as a date, time or timestamp, and returns an array of one value.
pub(super) fn temporal(text: &str, of: &DataType) -> Option<ArrayRef> {
    fn one<T: ArrowPrimitiveType>(value: Option<T::Native>, of: &DataType) -> Option<ArrayRef> {
        let array = PrimitiveArray::<T>::from_value(value?, 1);
        Some(Arc::new(array.with_data_type(of.clone())))
    }
    let narrow = |value: Option<i64>| value.and_then(|value| i32::try_from(value).ok());
    match of {
        DataType::Date32 => one::<Date32Type>(temporal::date(text), of),
        DataType::Time32(unit) => {
            let value = narrow(temporal::time(text, *unit));
            match unit {
                TimeUnit::Second => one::<Time32SecondType>(value, of),
                _ => one::<Time32MillisecondType>(value, of),
            }
        }
        DataType::Time64(unit) => {
            let value = temporal::time(text, *unit);
            match unit {
                TimeUnit::Microsecond => one::<Time64MicrosecondType>(value, of),
                _ => one::<Time64NanosecondType>(value, of),
            }
        }
        DataType::Timestamp(unit, _) => {
            let value = temporal::timestamp(text, *unit, is_zoned(of));
            match unit {
                TimeUnit::Second => one::<TimestampSecondType>(value, of),
                TimeUnit::Millisecond => one::<TimestampMillisecondType>(value, of),
                TimeUnit::Microsecond => one::<TimestampMicrosecondType>(value, of),
                TimeUnit::Nanosecond => one::<TimestampNanosecondType>(value, of),
            }
        }
        _ => None,
    }
}

/// Reads a text as a boolean, with the words of `DuckDB`.
pub(super) fn boolean(text: &str) -> Option<bool> {
    let word = text.trim().to_ascii_lowercase();
    match word.as_str() {
        "true" | "t" | "yes" | "y" | "1" => Some(true),
        "false" | "f" | "no" | "n" | "0" => Some(false),
        _ => None,
    }
}

/// Reads the words for infinity and NaN.
pub(super) fn special_float(text: &str) -> Option<f64> {
    let word = text.trim().to_ascii_lowercase();
    let (sign, word) = match word.strip_prefix('-') {
        Some(word) => (-1.0, word),
        None => (1.0, word.strip_prefix('+').unwrap_or(&word)),
    };
    match word {
        "nan" => Some(f64::NAN),
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        _ => None,
    }
}

/// Reads a text as bytes, in which `\xAA` is the byte AA; `None` for another backslash.
pub(super) fn bytes(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let (digits, after) = after.strip_prefix(b"x")?.split_at_checked(2)?;
        let digits = std::str::from_utf8(digits).ok()?;
        if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        out.push(u8::from_str_radix(digits, 16).ok()?);
        rest = after;
    }
    Some(out)
}
