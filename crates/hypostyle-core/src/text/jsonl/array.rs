//! Builds arrays of a known type from JSON values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, ListArray, StructArray,
};
use arrow_buffer::{NullBuffer, NullBufferBuilder, OffsetBuffer};
use arrow_schema::{DataType, FieldRef, Fields};

use super::raw::{NotJson, Parts, string};
use crate::cast::cast;
use crate::error::{Error, Result, clipped};
use crate::number::{self, Liberal};

/// Returns JSON values as an array of a type; `None` and `null` are null.
///
/// Text holds strings without their quotes and other values as they are spelled. Numbers,
/// booleans, lists and structs hold values of their kind. If the type is none that a value
/// of the kind has, the spelled value is cast to it.
///
/// # Errors
///
/// Fails for the first value that is not of the type, or not JSON, and names its row.
pub fn array_of_values<'a>(
    data_type: &DataType,
    values: impl ExactSizeIterator<Item = Option<&'a str>> + Clone,
) -> Result<ArrayRef> {
    let values = values.map(|value| value.filter(|value| !value.starts_with('n')));
    let array: Option<ArrayRef> = match data_type {
        DataType::Utf8 => return texts(values),
        DataType::Struct(fields) => return structs(fields, values),
        DataType::List(field) => return lists(field, values),
        DataType::Int32 => {
            let int = |value: &str| i32::try_from(number::exact_int(value.as_bytes())?).ok();
            collect::<_, Int32Array>(values.clone(), int)
        }
        DataType::Int64 => {
            let int = |value: &str| number::exact_int(value.as_bytes());
            collect::<_, Int64Array>(values.clone(), int)
        }
        DataType::Float64 => collect::<_, Float64Array>(values.clone(), float),
        DataType::Boolean => collect::<_, BooleanArray>(values.clone(), |value| match value {
            "true" => Some(true),
            "false" => Some(false),
            _ => None,
        }),
        _ => None,
    };
    match array {
        Some(array) => Ok(array),
        // The cast reads numbers in strings, and says which value is not of the type.
        None => cast(&texts(values)?, data_type),
    }
}

fn float(value: &str) -> Option<f64> {
    // A float distinguishes -0 from 0, and an integer does not.
    if value == "-0" {
        return Some(-0.0);
    }
    let bytes = value.as_bytes();
    match number::exact_float(bytes) {
        Some(float) => Some(float),
        None if bytes.first() == Some(&b'"') => None,
        None => match number::exact_int(bytes) {
            Some(int) => Liberal::Int(int).to_float(),
            None => value.parse().ok().filter(|float: &f64| float.is_finite()),
        },
    }
}

/// Returns the array of all values; `None` if `read` does not read one.
fn collect<'a, T, A: FromIterator<Option<T>> + arrow_array::Array + 'static>(
    values: impl Iterator<Item = Option<&'a str>>,
    read: impl Fn(&str) -> Option<T>,
) -> Option<ArrayRef> {
    let read = |value: Option<&str>| match value {
        None => Some(None),
        Some(value) => read(value).map(Some),
    };
    values.map(read).collect::<Option<A>>().map(|array| Arc::new(array) as ArrayRef)
}

fn texts<'a>(values: impl ExactSizeIterator<Item = Option<&'a str>>) -> Result<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(values.len(), values.len() * 8);
    let mut bytes = 0_usize;
    for (row, value) in values.enumerate() {
        let Some(value) = value else {
            builder.append_null();
            continue;
        };
        let text = spelled(value).map_err(|NotJson| not_json(value, row))?;
        bytes = bytes.saturating_add(text.len());
        if i32::try_from(bytes).is_err() {
            return Err(Error::malformed("cells", "take more than 2 GiB at once"));
        }
        builder.append_value(text);
    }
    Ok(Arc::new(builder.finish()))
}

/// Returns a value as text: the content of a string, and the spelling of any other value.
fn spelled(value: &str) -> Result<Cow<'_, str>, NotJson> {
    match value.as_bytes().first() {
        Some(b'"') => string(value),
        Some(_) if value == "-0" => Ok(Cow::Borrowed("-0.0")),
        Some(_) => Ok(Cow::Borrowed(value)),
        None => Err(NotJson),
    }
}

fn structs<'a>(
    fields: &Fields,
    values: impl ExactSizeIterator<Item = Option<&'a str>>,
) -> Result<ArrayRef> {
    let rows = values.len();
    let positions: HashMap<&str, usize> =
        fields.iter().enumerate().map(|(at, field)| (field.name().as_str(), at)).collect();
    let mut columns: Vec<Vec<Option<&'a str>>> = vec![vec![None; rows]; fields.len()];
    let mut nulls = NullBufferBuilder::new(rows);
    for (row, value) in values.enumerate() {
        let Some(value) = value else {
            nulls.append_null();
            continue;
        };
        nulls.append_non_null();
        let mut put = || -> Result<bool, NotJson> {
            if !value.starts_with('{') {
                return Ok(false);
            }
            let (mut parts, mut guess) = (Parts::of(value)?, 0);
            while let Some((key, member)) = parts.member()? {
                let is_guess = fields.get(guess).is_some_and(|field| *field.name() == *key);
                let at = if is_guess { Some(guess) } else { positions.get(&*key).copied() };
                let Some(at) = at else { return Ok(false) };
                if let Some(slot) = columns.get_mut(at).and_then(|column| column.get_mut(row)) {
                    *slot = Some(member);
                }
                guess = at + 1;
            }
            Ok(true)
        };
        match put() {
            Ok(true) => {}
            Ok(false) => return Err(wrong_kind(value, "an object with these keys", row)),
            Err(NotJson) => return Err(not_json(value, row)),
        }
    }
    let arrays = fields
        .iter()
        .zip(columns)
        .map(|(field, column)| array_of_values(field.data_type(), column.into_iter()));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls.finish(), rows)?;
    Ok(Arc::new(array))
}

fn lists<'a>(
    field: &FieldRef,
    values: impl ExactSizeIterator<Item = Option<&'a str>>,
) -> Result<ArrayRef> {
    let mut elements: Vec<Option<&'a str>> = Vec::new();
    let mut offsets = Vec::with_capacity(values.len() + 1);
    offsets.push(0_i32);
    let mut nulls = NullBufferBuilder::new(values.len());
    // The row of each element, for the error of one.
    let mut rows = Vec::new();
    for (row, value) in values.enumerate() {
        match value {
            None => nulls.append_null(),
            Some(value) => {
                nulls.append_non_null();
                if !value.starts_with('[') {
                    return Err(wrong_kind(value, "an array", row));
                }
                let not_json = |NotJson| not_json(value, row);
                let mut parts = Parts::of(value).map_err(not_json)?;
                while let Some(element) = parts.element().map_err(not_json)? {
                    elements.push(Some(element));
                    rows.push(row);
                }
            }
        }
        let end = i32::try_from(elements.len());
        offsets
            .push(end.map_err(|_| Error::malformed("arrays", "have too many elements at once"))?);
    }
    let values = array_of_values(field.data_type(), elements.into_iter());
    let values = values.map_err(|err| {
        let row = err.row().and_then(|at| rows.get(usize::try_from(at).ok()?));
        match row {
            Some(&row) => err.at_row(row as u64),
            None => err,
        }
    })?;
    let nulls: Option<NullBuffer> = nulls.finish();
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(ListArray::try_new(field.clone(), offsets, values, nulls)?))
}

fn not_json(value: &str, row: usize) -> Error {
    let why = format!("`{}` is not JSON", clipped(value));
    Error::malformed("value", why).in_row(row as u64)
}

fn wrong_kind(value: &str, what: &str, row: usize) -> Error {
    let why = format!("`{}` is not {what}", clipped(value));
    Error::malformed("value", why).in_row(row as u64)
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_schema::Field;

    use super::*;

    fn built(data_type: &DataType, values: &[&str]) -> Result<ArrayRef> {
        array_of_values(data_type, values.iter().map(|&value| Some(value)))
    }

    #[test]
    fn values_become_cells_of_the_type() {
        let ints = built(&DataType::Int32, &["1", "null", "-3"]).unwrap();
        assert_eq!(ints.as_ref(), &Int32Array::from(vec![Some(1), None, Some(-3)]));
        let floats = built(&DataType::Float64, &["1", "1.50", "-0", "1E3"]).unwrap();
        assert_eq!(floats.as_ref(), &Float64Array::from(vec![1.0, 1.5, -0.0, 1000.0]));
        let flags = built(&DataType::Boolean, &["true", "false", "null"]).unwrap();
        assert_eq!(flags.as_ref(), &BooleanArray::from(vec![Some(true), Some(false), None]));
        let texts = built(&DataType::Utf8, &["\"a\\n\"", "1.50", "[1, 2]", "null"]).unwrap();
        let texts: Vec<_> = texts.as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("a\n"), Some("1.50"), Some("[1, 2]"), None]);
        // A requested type also reads numbers in strings.
        let floats = built(&DataType::Float64, &["1", "\"2.5\""]).unwrap();
        assert_eq!(floats.as_ref(), &Float64Array::from(vec![1.0, 2.5]));
    }

    #[test]
    fn nested_values_become_structs_and_lists() {
        let item = Arc::new(Field::new_list_field(DataType::Int32, true));
        let fields = Fields::from(vec![
            Field::new("a", DataType::Utf8, true),
            Field::new("b", DataType::List(item), true),
        ]);
        let values = [r#"{"b":[1, null,2],"a":"x"}"#, "null", "{}", r#"{"a":null}"#, r#"{"b":[]}"#];
        let array = built(&DataType::Struct(fields), &values).unwrap();
        let array = array.as_struct();
        assert_eq!(
            array.nulls().unwrap().iter().collect::<Vec<_>>(),
            [true, false, true, true, true]
        );
        let lists = array.column(1).as_list::<i32>();
        assert_eq!(lists.value(0).as_ref(), &Int32Array::from(vec![Some(1), None, Some(2)]));
        assert!(lists.is_null(1) && lists.is_null(2) && lists.is_valid(4));
        assert_eq!(lists.value(4).len(), 0);
        let texts: Vec<_> = array.column(0).as_string::<i32>().iter().collect();
        assert_eq!(texts, [Some("x"), None, None, None, None]);
    }

    #[test]
    fn a_value_of_another_kind_is_named_by_its_row() {
        let item = Arc::new(Field::new_list_field(DataType::Int32, true));
        let list = DataType::List(item);
        let err = built(&list, &["[1]", "[2, \"x\"]"]).unwrap_err();
        assert_eq!(err.row(), Some(1), "{err}");
        let err = built(&list, &["[1]", "7"]).unwrap_err();
        assert_eq!(err.to_string(), "row 2: value: `7` is not an array");
        let object = DataType::Struct(vec![Field::new("a", DataType::Int32, true)].into());
        assert_eq!(built(&object, &["{\"b\":1}"]).unwrap_err().row(), Some(0));
        assert_eq!(built(&object, &["{\"a\" 1}"]).unwrap_err().row(), Some(0));
        assert_eq!(built(&DataType::Int32, &["1", "2.5"]).unwrap_err().row(), Some(1));
    }
}
