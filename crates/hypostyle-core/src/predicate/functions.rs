//! The functions that predicates can call.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, BooleanArray, Int64Array, StringArray};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;
use arrow_select::zip::zip;

use super::arithmetic;
use super::expr::Function;
use super::like::{lower_char, upper_char};
use super::value_type::Kind;
use crate::error::{Error, Result};

/// Calls a function with arrays that all have the same length.
pub(super) fn call(function: Function, arguments: &[ArrayRef]) -> Result<ArrayRef> {
    let Some(first) = arguments.first() else {
        return Err(Error::internal("a function without arguments"));
    };
    Ok(match function {
        Function::Lower => mapped(first, |text| text.chars().map(lower_char).collect())?,
        Function::Upper => mapped(first, |text| text.chars().map(upper_char).collect())?,
        Function::Trim => mapped(first, |text| text.trim_matches(' ').to_owned())?,
        Function::Length if Kind::of(first.data_type()) == Kind::Text => {
            let lengths = texts(first)?;
            let lengths = lengths.as_string::<i32>().iter();
            let count = |text: &str| i64::try_from(text.chars().count()).ok();
            Arc::new(lengths.map(|text| text.and_then(count)).collect::<Int64Array>())
        }
        Function::Length => list_lengths(first)?,
        Function::Abs => arithmetic::absolute(first)?,
        Function::IsNan => floats(first, f64::is_nan),
        Function::IsInfinite => floats(first, f64::is_infinite),
        Function::StartsWith => pairs(arguments, |text, part| text.starts_with(part))?,
        Function::EndsWith => pairs(arguments, |text, part| text.ends_with(part))?,
        Function::Contains => pairs(arguments, |text, part| text.contains(part))?,
        Function::Coalesce => {
            let mut result = first.clone();
            for other in arguments.iter().skip(1) {
                if result.null_count() == 0 {
                    break;
                }
                let valid = arrow_arith::boolean::is_not_null(&result)?;
                result = zip(&valid, &result, other)?;
            }
            result
        }
    })
}

fn texts(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(arrow_cast::cast(array, &DataType::Utf8)?)
}

fn mapped(array: &ArrayRef, map: impl Fn(&str) -> String) -> Result<ArrayRef> {
    let texts = texts(array)?;
    let cells = texts.as_string::<i32>().iter().map(|text| text.map(&map));
    Ok(Arc::new(cells.collect::<StringArray>()))
}

fn pairs(arguments: &[ArrayRef], test: impl Fn(&str, &str) -> bool) -> Result<ArrayRef> {
    let [left, right] = arguments else { return Err(Error::internal("two arguments")) };
    let (left, right) = (texts(left)?, texts(right)?);
    let cells = left.as_string::<i32>().iter().zip(right.as_string::<i32>());
    let cells = cells.map(|(text, part)| Some(test(text?, part?)));
    Ok(Arc::new(cells.collect::<BooleanArray>()))
}

fn floats(array: &ArrayRef, test: impl Fn(f64) -> bool) -> ArrayRef {
    let values = array.as_primitive::<Float64Type>();
    let found: BooleanBuffer = values.values().iter().map(|value| test(*value)).collect();
    Arc::new(BooleanArray::new(found, values.nulls().cloned()))
}

fn list_lengths(array: &ArrayRef) -> Result<ArrayRef> {
    let len = |row: usize| -> Option<i64> {
        if array.is_null(row) {
            return None;
        }
        let len = match array.data_type() {
            DataType::List(_) => i64::from(array.as_list::<i32>().value_length(row)),
            DataType::LargeList(_) => array.as_list::<i64>().value_length(row),
            DataType::ListView(_) => i64::from(*array.as_list_view::<i32>().sizes().get(row)?),
            DataType::LargeListView(_) => *array.as_list_view::<i64>().sizes().get(row)?,
            DataType::FixedSizeList(_, len) => i64::from(*len),
            _ => return None,
        };
        Some(len)
    };
    Ok(Arc::new((0..array.len()).map(len).collect::<Int64Array>()))
}
