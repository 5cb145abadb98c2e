//! Casts arrays between the column types without loss.
//!
//! Every type can be cast to text: numbers print as [`number`] defines, lists, structs and
//! maps as [JSON](JsonPrinter), bytes in hexadecimal digits, and other types as Arrow prints
//! them. Casts from text read numbers liberally, and other values in many spellings.

mod common_type;
mod json;
mod value_builder;

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int32Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, Float64Array, GenericStringArray, Int32Array, Int64Array, OffsetSizeTrait,
    StringArray, new_null_array,
};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::{DataType, Field};

use crate::error::{Error, Refusal, Result, clipped};
use crate::number::{self, Liberal};
use crate::spelling::Spelling;

pub use common_type::{common_type, plain_type};
pub use json::{JsonPrinter, json_key, put_json_text};
pub use value_builder::ValueBuilder;

/// Casts an array to int32, int64, float64 or text, and text to the types of [`ValueBuilder`].
///
/// # Errors
///
/// Fails for the first value that the type cannot represent, and names its row.
pub fn cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if array.data_type() == to {
        return Ok(array.clone());
    }
    match array.data_type() {
        // All rows are null in any type.
        DataType::Null => return Ok(new_null_array(to, array.len())),
        // Encoded arrays are decoded first.
        DataType::Dictionary(_, values) => return cast(&arrow_cast::cast(array, values)?, to),
        DataType::RunEndEncoded(_, values) => {
            return cast(&arrow_cast::cast(array, values.data_type())?, to);
        }
        DataType::LargeUtf8 | DataType::Utf8View if to != &DataType::Utf8 => {
            return cast(&to_text(array)?, to);
        }
        _ => {}
    }
    match to {
        DataType::Utf8 => to_text(array),
        DataType::Int32 => Ok(Arc::new(
            integers(array)?
                .map(|(row, value)| match value.map(i32::try_from) {
                    None => Ok(None),
                    Some(Ok(value)) => Ok(Some(value)),
                    Some(Err(_)) => Err(does_not_fit("int32", row, value.unwrap_or_default())),
                })
                .collect::<Result<Int32Array>>()?,
        )),
        DataType::Int64 => {
            Ok(Arc::new(integers(array)?.map(|(_, value)| value).collect::<Int64Array>()))
        }
        DataType::Float64 => to_float(array),
        other => {
            if let Some(texts) = array.as_string_opt::<i32>()
                && let Some(builder) = ValueBuilder::try_new(other, texts.len())
            {
                return read_values(texts, builder, other);
            }
            Ok(arrow_cast::cast(array, other)?)
        }
    }
}

/// Casts an array to text that is spelled as the metadata of its field say.
///
/// # Errors
///
/// Fails for values that Arrow cannot print.
pub fn spelled_text(array: &ArrayRef, field: &Field) -> Result<ArrayRef> {
    let Some(spelling) = Spelling::of_field(field) else { return cast(array, &DataType::Utf8) };
    let array = match array.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(array, values)?,
        DataType::RunEndEncoded(_, values) => arrow_cast::cast(array, values.data_type())?,
        _ => array.clone(),
    };
    let Some(values) = value_builder::spelled_values(&array) else {
        return cast(&array, &DataType::Utf8);
    };
    let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 16);
    // Values often repeat.
    let (mut cell, mut last) = (Vec::with_capacity(40), None);
    for value in values {
        let Some(number) = value else {
            builder.append_null();
            continue;
        };
        if last != value {
            cell.clear();
            // A value that was not in the text may have more digits.
            if !spelling.put(number, &mut cell) {
                return cast(&array, &DataType::Utf8);
            }
            last = value;
        }
        builder.append_value(std::str::from_utf8(&cell).unwrap_or_default());
    }
    Ok(Arc::new(builder.finish()))
}

fn read_values(
    texts: &StringArray,
    mut builder: ValueBuilder,
    data_type: &DataType,
) -> Result<ArrayRef> {
    for (row, cell) in texts.iter().enumerate() {
        if !builder.push(cell.map(str::as_bytes), 1) {
            let cell = clipped(cell.unwrap_or_default());
            let why = format!("`{cell}` is not of the type {data_type}");
            return Err(wrong_type(why).in_row(row as u64));
        }
    }
    Ok(builder.finish())
}

/// Casts an array to text and replaces each null with `word`.
pub fn text_without_nulls(array: &ArrayRef, word: &str) -> Result<ArrayRef> {
    let text = cast(array, &DataType::Utf8)?;
    let Some(nulls) = text.nulls().filter(|nulls| nulls.null_count() > 0) else {
        let text = text.as_string::<i32>();
        let (offsets, values, _) = text.clone().into_parts();
        return Ok(Arc::new(StringArray::try_new(offsets, values, None)?));
    };
    let text = text.as_string::<i32>();
    if word.is_empty() && nulls_are_empty(text) {
        let (offsets, values, _) = text.clone().into_parts();
        return Ok(Arc::new(StringArray::try_new(offsets, values, None)?));
    }
    let mut builder = StringBuilder::with_capacity(
        text.len(),
        text.value_data().len() + nulls.null_count() * word.len(),
    );
    text.iter().for_each(|cell| builder.append_value(cell.unwrap_or(word)));
    Ok(Arc::new(builder.finish()))
}

/// Returns whether every null slot has no bytes, so that dropping the validity is enough.
fn nulls_are_empty(text: &StringArray) -> bool {
    let lengths = text.value_offsets().windows(2).map(|pair| match pair {
        [start, end] => end - start,
        _ => 0,
    });
    lengths.enumerate().all(|(row, len)| len == 0 || text.is_valid(row))
}

fn to_text(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(match array.data_type() {
        DataType::Utf8 => array.clone(),
        DataType::Int32 => {
            let array = array.as_primitive::<Int32Type>();
            printed(array.iter(), |value, out| number::put_int(i64::from(value), out))?
        }
        DataType::Int64 => printed(array.as_primitive::<Int64Type>().iter(), number::put_int)?,
        DataType::Float64 => {
            printed(array.as_primitive::<Float64Type>().iter(), number::put_float)?
        }
        DataType::Float32 | DataType::Float16 => {
            let array = arrow_cast::cast(array, &DataType::Float32)?;
            printed(array.as_primitive::<Float32Type>().iter(), number::put_float32)?
        }
        DataType::LargeUtf8 | DataType::Utf8View | DataType::Boolean => {
            arrow_cast::cast(array, &DataType::Utf8)?
        }
        nested if nested.is_nested() => json_texts(array)?,
        // Instants print in UTC: the offset of a named zone needs a database of time zones.
        DataType::Timestamp(unit, Some(zone)) if !is_offset(zone) => {
            let utc = DataType::Timestamp(*unit, Some("+00:00".into()));
            to_text(&arrow_cast::cast(array, &utc)?)?
        }
        _ => {
            let options = FormatOptions::new().with_display_error(false);
            let formatter = ArrayFormatter::try_new(array.as_ref(), &options)?;
            let mut builder = StringBuilder::with_capacity(array.len(), array.len() * 8);
            for row in 0..array.len() {
                if array.is_null(row) {
                    builder.append_null();
                } else {
                    let text = formatter.value(row).try_to_string();
                    builder.append_value(text.map_err(|err| not_printable(&err, row))?);
                }
            }
            Arc::new(builder.finish())
        }
    })
}

/// Returns whether a time zone is an offset such as `+02:00`.
fn is_offset(zone: &str) -> bool {
    zone.starts_with(['+', '-'])
}

/// Prints nested values as JSON.
fn json_texts(array: &ArrayRef) -> Result<ArrayRef> {
    let printer = JsonPrinter::try_new(array)?;
    let rows = (0..array.len()).map(|row| array.is_valid(row).then_some(row));
    printed(rows, |row, out| printer.put(row, out))
}

fn not_printable(err: &arrow_schema::ArrowError, row: usize) -> Error {
    let why = format!("a value cannot be printed: {err}");
    let way_out = "leave out the column, or write a format that has its type";
    Error::refused(Refusal::ValueNotConvertible, why, way_out).in_row(row as u64)
}

fn printed<T>(
    values: impl ExactSizeIterator<Item = Option<T>>,
    put: impl Fn(T, &mut Vec<u8>),
) -> Result<ArrayRef> {
    let mut builder = StringBuilder::with_capacity(values.len(), values.len() * 8);
    let mut cell = Vec::with_capacity(24);
    for value in values {
        match value {
            None => builder.append_null(),
            Some(value) => {
                cell.clear();
                put(value, &mut cell);
                builder.append_value(std::str::from_utf8(&cell).unwrap_or_default());
            }
        }
    }
    Ok(Arc::new(builder.finish()))
}

/// Returns every value as an integer, with its row.
fn integers(
    array: &ArrayRef,
) -> Result<Box<dyn ExactSizeIterator<Item = (usize, Option<i64>)> + '_>> {
    if let Some(array) = array.as_primitive_opt::<Int64Type>() {
        return Ok(Box::new(array.iter().enumerate()));
    }
    if let Some(array) = array.as_primitive_opt::<Int32Type>() {
        return Ok(Box::new(array.iter().map(|value| value.map(i64::from)).enumerate()));
    }
    let values = match array.data_type() {
        DataType::Utf8 => read_texts::<i32, _>(array, "an integer", |cell| match cell {
            Liberal::Int(value) => Some(value),
            Liberal::Float(_) => None,
        })?,
        // Arrow's safe cast turns values that do not fit into null.
        DataType::UInt64 => {
            let cast = arrow_cast::cast(array, &DataType::Int64)?;
            let lost = (0..array.len()).find(|&row| array.is_valid(row) && cast.is_null(row));
            if let Some(row) = lost {
                let value = array.as_primitive::<UInt64Type>().value(row);
                return Err(wrong_type(format!("{value} does not fit int64")).in_row(row as u64));
            }
            cast.as_primitive::<Int64Type>().iter().collect()
        }
        DataType::Int8
        | DataType::Int16
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => {
            let cast = arrow_cast::cast(array, &DataType::Int64)?;
            cast.as_primitive::<Int64Type>().iter().collect()
        }
        // A fraction would be cut off, so compare both ways.
        _ => {
            let cast = arrow_cast::cast(array, &DataType::Int64)?;
            let back = arrow_cast::cast(&cast, array.data_type())?;
            let lost = (0..array.len()).find(|&row| {
                array.is_valid(row) && (cast.is_null(row) || !same(array, &back, row))
            });
            if let Some(row) = lost {
                let why = format!("a value of type {} is not an integer", array.data_type());
                return Err(wrong_type(why).in_row(row as u64));
            }
            cast.as_primitive::<Int64Type>().iter().collect()
        }
    };
    Ok(Box::new(values.into_iter().enumerate()))
}

fn same(a: &ArrayRef, b: &ArrayRef, row: usize) -> bool {
    a.slice(row, 1).to_data() == b.slice(row, 1).to_data()
}

fn to_float(array: &ArrayRef) -> Result<ArrayRef> {
    if matches!(array.data_type(), DataType::Float32 | DataType::Float16) {
        return Ok(arrow_cast::cast(array, &DataType::Float64)?);
    }
    if array.data_type() == &DataType::Utf8 {
        let values = read_texts::<i32, _>(array, "a number", Liberal::to_float)?;
        return Ok(Arc::new(Float64Array::from_iter(values)));
    }
    let values = integers(array)?
        .map(|(row, value)| match value {
            None => Ok(None),
            Some(value) => match Liberal::Int(value).to_float() {
                Some(float) => Ok(Some(float)),
                None => Err(does_not_fit("float64", row, value)),
            },
        })
        .collect::<Result<Float64Array>>()?;
    Ok(Arc::new(values))
}

fn read_texts<O: OffsetSizeTrait, T>(
    array: &ArrayRef,
    what: &'static str,
    read: impl Fn(Liberal) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    let array: &GenericStringArray<O> = array.as_string();
    let mut values = Vec::with_capacity(array.len());
    for (row, cell) in array.iter().enumerate() {
        values.push(match cell {
            None => None,
            // An empty cell has no number, so it becomes null.
            Some("") => None,
            Some(cell) => {
                let value = number::liberal(cell.as_bytes()).and_then(&read);
                Some(value.ok_or_else(|| {
                    wrong_type(format!("`{}` is not {what}", clipped(cell))).in_row(row as u64)
                })?)
            }
        });
    }
    Ok(values)
}

fn does_not_fit(what: &str, row: usize, value: i64) -> Error {
    wrong_type(format!("{value} does not fit {what}")).in_row(row as u64)
}

fn wrong_type(why: String) -> Error {
    Error::refused(
        Refusal::ValueNotConvertible,
        why,
        "give the column another type, for example text",
    )
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BooleanArray, Decimal128Array, DictionaryArray, Float32Array, LargeStringArray, NullArray,
        RunArray, StringViewArray, TimestampMicrosecondArray, UInt64Array,
    };

    use super::*;

    fn text(array: &ArrayRef) -> Vec<Option<String>> {
        let text = cast(array, &DataType::Utf8).unwrap();
        text.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect()
    }

    #[test]
    fn everything_becomes_text() {
        let arrays: [(ArrayRef, &str); 5] = [
            (Arc::new(Int32Array::from(vec![Some(-5), None])), "-5"),
            (Arc::new(Float64Array::from(vec![Some(2.0), None])), "2.0"),
            (Arc::new(BooleanArray::from(vec![Some(true), None])), "true"),
            (Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), "18446744073709551615"),
            (
                Arc::new(
                    Decimal128Array::from(vec![Some(-1050), None])
                        .with_precision_and_scale(6, 2)
                        .unwrap(),
                ),
                "-10.50",
            ),
        ];
        for (array, want) in arrays {
            assert_eq!(text(&array), [Some(want.to_owned()), None]);
        }
    }

    #[test]
    fn floats_of_32_bits_print_like_floats_of_64_bits() {
        let values = vec![0.1, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 16_777_216.0];
        let array: ArrayRef = Arc::new(Float32Array::from(values));
        let want = ["0.1", "NaN", "Infinity", "-Infinity", "16777216.0"];
        assert_eq!(text(&array), want.map(|cell| Some(cell.to_owned())));
    }

    #[test]
    fn instants_print_in_utc_or_at_their_offset() {
        for (zone, want) in [
            ("UTC", "1970-01-01T00:00:00.000005Z"),
            ("Europe/Berlin", "1970-01-01T00:00:00.000005Z"),
            ("+02:00", "1970-01-01T02:00:00.000005+02:00"),
        ] {
            let array = TimestampMicrosecondArray::from(vec![5]).with_timezone(zone);
            assert_eq!(text(&(Arc::new(array) as ArrayRef)), [Some(want.to_owned())]);
        }
    }

    /// The result does not depend on the layout of the Arrow array.
    #[test]
    fn equal_cells_in_other_layouts_are_cast_alike() {
        let cells = [Some("+5"), Some(""), None, Some("+5")];
        let dictionary: DictionaryArray<Int8Type> = cells.into_iter().collect();
        let runs: RunArray<Int32Type> = cells.into_iter().collect();
        let arrays: [ArrayRef; 5] = [
            Arc::new(StringArray::from(cells.to_vec())),
            Arc::new(LargeStringArray::from(cells.to_vec())),
            Arc::new(StringViewArray::from(cells.to_vec())),
            Arc::new(dictionary),
            Arc::new(runs),
        ];
        for array in arrays {
            let name = array.data_type().to_string();
            assert_eq!(text(&array), cells.map(|cell| cell.map(str::to_owned)), "{name}");
            let ints = cast(&array, &DataType::Int32).unwrap();
            let want = Int32Array::from(vec![Some(5), None, None, Some(5)]);
            assert_eq!(ints.as_primitive::<Int32Type>(), &want, "{name}");
            let floats = cast(&array, &DataType::Float64).unwrap();
            assert_eq!(floats.as_primitive::<Float64Type>().value(3), 5.0, "{name}");
            let full = text_without_nulls(&array, "-").unwrap();
            assert_eq!(full.as_string::<i32>().value(2), "-", "{name}");
        }
        let nulls: ArrayRef = Arc::new(NullArray::new(2));
        for to in [DataType::Int32, DataType::Int64, DataType::Float64, DataType::Utf8] {
            let array = cast(&nulls, &to).unwrap();
            assert_eq!((array.data_type(), array.null_count()), (&to, 2));
        }
    }

    #[test]
    fn what_does_not_fit_is_an_error_with_its_row() {
        let wide: ArrayRef = Arc::new(Int64Array::from(vec![1, 1 << 40]));
        let err = cast(&wide, &DataType::Int32).unwrap_err();
        assert_eq!((err.row(), err.to_string().contains("1099511627776")), (Some(1), true));
        let huge: ArrayRef = Arc::new(UInt64Array::from(vec![1, u64::MAX]));
        assert_eq!(cast(&huge, &DataType::Int64).unwrap_err().row(), Some(1));
        let odd: ArrayRef = Arc::new(Int64Array::from(vec![(1 << 53) + 1]));
        assert!(cast(&odd, &DataType::Float64).is_err());
        let words: ArrayRef = Arc::new(StringArray::from(vec!["7", "+8", "", "nine"]));
        assert_eq!(cast(&words, &DataType::Int32).unwrap_err().row(), Some(3));
        let flood: ArrayRef = Arc::new(StringArray::from(vec!["x\n".repeat(1_000_000)]));
        let err = cast(&flood, &DataType::Int32).unwrap_err().to_string();
        assert!(err.len() < 300 && !err.contains('\n'), "{err}");
        let float: ArrayRef = Arc::new(Float64Array::from(vec![2.0, 2.5]));
        assert_eq!(cast(&float, &DataType::Int32).unwrap_err().row(), Some(1));
    }

    #[test]
    fn null_becomes_the_requested_word() {
        let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), None]));
        for word in ["", "NA"] {
            let text = text_without_nulls(&array, word).unwrap();
            assert_eq!(text.null_count(), 0);
            assert_eq!(text.as_string::<i32>().value(1), word);
        }
    }
}
