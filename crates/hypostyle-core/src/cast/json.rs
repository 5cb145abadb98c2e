//! Prints values as JSON.
//!
//! Structs and maps become objects, lists arrays. Numbers, decimals included, are printed as
//! numbers, booleans as `true` and `false`, and null as `null`. JSON has no NaN and no
//! infinities, so these become the strings `"NaN"`, `"Infinity"` and `"-Infinity"`. All other
//! types become strings: times and dates as their text spelled them, else as Arrow prints them
//! (ISO 8601), bytes in hexadecimal.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeStringArray,
    StringArray, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};

use super::{cast, spelled_text, to_text};
use crate::error::Result;
use crate::number;

/// Prints the values of an array as JSON.
#[derive(Debug)]
pub struct JsonPrinter {
    nulls: Option<NullBuffer>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Null,
    Int(Int64Array),
    UInt(UInt64Array),
    Float(Float64Array),
    Float32(Float32Array),
    Bool(BooleanArray),
    /// Numbers that are printed already.
    Printed(StringArray),
    Text(StringArray),
    LargeText(LargeStringArray),
    /// Keys, with quotes and a colon, and their values.
    Struct(Vec<(Vec<u8>, JsonPrinter)>),
    List(Vec<i64>, Box<JsonPrinter>),
    Map(Vec<i64>, StringArray, Box<JsonPrinter>),
}

impl JsonPrinter {
    /// Returns a printer of the values of an array.
    ///
    /// # Errors
    ///
    /// Fails for values that Arrow cannot print.
    pub fn try_new(array: &ArrayRef) -> Result<Self> {
        Self::spelled(array, None)
    }

    /// Returns a printer of the values of a column, which prints times and dates as the metadata
    /// of the field say.
    ///
    /// # Errors
    ///
    /// Fails for values that Arrow cannot print.
    pub fn of_field(array: &ArrayRef, field: &Field) -> Result<Self> {
        Self::spelled(array, Some(field))
    }

    fn spelled(array: &ArrayRef, field: Option<&Field>) -> Result<Self> {
        use DataType::{
            Boolean, Decimal32, Decimal64, Decimal128, Decimal256, Dictionary, FixedSizeList,
            Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeList, LargeListView,
            LargeUtf8, List, ListView, Map, Null, RunEndEncoded, Struct, UInt8, UInt16, UInt32,
            UInt64,
        };
        let values = match array.data_type() {
            Null => Values::Null,
            // Encoded arrays are decoded first.
            Dictionary(_, values) => {
                return Self::spelled(&arrow_cast::cast(array, values)?, field);
            }
            RunEndEncoded(_, values) => {
                return Self::spelled(&arrow_cast::cast(array, values.data_type())?, field);
            }
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => {
                Values::Int(cast(array, &Int64)?.as_primitive::<Int64Type>().clone())
            }
            UInt64 => Values::UInt(array.as_primitive::<UInt64Type>().clone()),
            Float64 => Values::Float(array.as_primitive::<Float64Type>().clone()),
            Float16 | Float32 => {
                let array = arrow_cast::cast(array, &Float32)?;
                Values::Float32(array.as_primitive::<Float32Type>().clone())
            }
            Boolean => Values::Bool(array.as_boolean().clone()),
            Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => {
                Values::Printed(to_text(array)?.as_string::<i32>().clone())
            }
            LargeUtf8 => Values::LargeText(array.as_string::<i64>().clone()),
            Struct(fields) => {
                let columns = fields.iter().zip(array.as_struct().columns());
                let member = |(field, column): (&arrow_schema::FieldRef, &ArrayRef)| {
                    Ok((json_key(field.name()), Self::of_field(column, field)?))
                };
                Values::Struct(columns.map(member).collect::<Result<_>>()?)
            }
            List(field) => {
                let array = array.as_list::<i32>();
                let offsets = array.value_offsets().iter().map(|&at| i64::from(at)).collect();
                Values::List(offsets, Box::new(Self::of_field(array.values(), field)?))
            }
            LargeList(field) => {
                let array = array.as_list::<i64>();
                let offsets = array.value_offsets().to_vec();
                Values::List(offsets, Box::new(Self::of_field(array.values(), field)?))
            }
            FixedSizeList(field, _) | ListView(field) | LargeListView(field) => {
                let list = arrow_cast::cast(array, &LargeList(field.clone()))?;
                return Self::try_new(&list);
            }
            Map(..) => {
                let array = array.as_map();
                let offsets = array.value_offsets().iter().map(|&at| i64::from(at)).collect();
                let keys = cast(array.keys(), &DataType::Utf8)?.as_string::<i32>().clone();
                Values::Map(offsets, keys, Box::new(Self::try_new(array.values())?))
            }
            _ => {
                let text = match field {
                    Some(field) => spelled_text(array, field)?,
                    None => to_text(array)?,
                };
                Values::Text(text.as_string::<i32>().clone())
            }
        };
        Ok(Self { nulls: array.logical_nulls(), values })
    }

    /// Returns whether a value is null.
    pub fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends a value.
    pub fn put(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            out.extend_from_slice(b"null");
            return;
        }
        match &self.values {
            Values::Null => out.extend_from_slice(b"null"),
            Values::Int(array) => number::put_int(array.value(row), out),
            Values::UInt(array) => {
                out.extend_from_slice(itoa::Buffer::new().format(array.value(row)).as_bytes());
            }
            Values::Float(array) => {
                let value = array.value(row);
                quoted_unless(value.is_finite(), out, |out| number::put_float(value, out));
            }
            Values::Float32(array) => {
                let value = array.value(row);
                quoted_unless(value.is_finite(), out, |out| number::put_float32(value, out));
            }
            Values::Bool(array) => {
                out.extend_from_slice(if array.value(row) { b"true" } else { b"false" });
            }
            Values::Printed(array) => out.extend_from_slice(array.value(row).as_bytes()),
            Values::Text(array) => put_json_text(array.value(row), out),
            Values::LargeText(array) => put_json_text(array.value(row), out),
            Values::Struct(members) => {
                out.push(b'{');
                for (index, (key, values)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(key);
                    values.put(row, out);
                }
                out.push(b'}');
            }
            Values::List(offsets, values) => {
                out.push(b'[');
                for (index, at) in between(offsets, row).enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    values.put(at, out);
                }
                out.push(b']');
            }
            Values::Map(offsets, keys, values) => {
                out.push(b'{');
                for (index, at) in between(offsets, row).enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    out.extend_from_slice(&json_key(keys.value(at)));
                    values.put(at, out);
                }
                out.push(b'}');
            }
        }
    }
}

/// Returns the positions of the elements of a list.
fn between(offsets: &[i64], row: usize) -> std::ops::Range<usize> {
    let at = |row: usize| {
        offsets.get(row).and_then(|&offset| usize::try_from(offset).ok()).unwrap_or_default()
    };
    at(row)..at(row.saturating_add(1))
}

fn quoted_unless(plain: bool, out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let quote: &[u8] = if plain { b"" } else { b"\"" };
    out.extend_from_slice(quote);
    put(out);
    out.extend_from_slice(quote);
}

/// Returns a key of an object, with its colon.
pub fn json_key(name: &str) -> Vec<u8> {
    let mut key = Vec::with_capacity(name.len() + 3);
    put_json_text(name, &mut key);
    key.push(b':');
    key
}

/// Appends a text as a JSON string.
pub fn put_json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    let must_escape = |&byte: &u8| byte < 0x20 || byte == b'"' || byte == b'\\';
    while let Some(at) = rest.iter().position(must_escape) {
        let (plain, special) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(plain);
        let Some((&byte, tail)) = special.split_first() else { break };
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            0x08 => out.extend_from_slice(b"\\b"),
            0x0C => out.extend_from_slice(b"\\f"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
        rest = tail;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{
        FixedSizeListBuilder, Int32Builder, ListBuilder, MapBuilder, StringBuilder,
    };
    use arrow_array::types::Int8Type;
    use arrow_array::{
        BinaryArray, Date32Array, Decimal128Array, DictionaryArray, Int32Array, StructArray,
        TimestampMicrosecondArray,
    };
    use arrow_schema::Field;

    use super::*;

    fn printed(array: ArrayRef) -> Vec<Option<String>> {
        let text = cast(&array, &DataType::Utf8).unwrap();
        text.as_string::<i32>().iter().map(|cell| cell.map(str::to_owned)).collect()
    }

    #[test]
    fn nested_values_are_cast_to_json() {
        let mut lists = ListBuilder::new(StringBuilder::new());
        lists.append_value([Some("a\"\n"), None]);
        lists.append_value::<[Option<&str>; 0], _>([]);
        lists.append_null();
        let lists: ArrayRef = Arc::new(lists.finish());
        assert_eq!(
            printed(lists.clone()),
            [Some("[\"a\\\"\\n\",null]".to_owned()), Some("[]".to_owned()), None]
        );
        let dictionary: DictionaryArray<Int8Type> =
            [Some("x"), None, Some("x")].into_iter().collect();
        let decimals = Decimal128Array::from(vec![Some(-1050), None, Some(7)]);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("l", lists),
            ("k\"", Arc::new(dictionary)),
            ("d", Arc::new(decimals.with_precision_and_scale(6, 2).unwrap())),
            ("f", Arc::new(Float64Array::from(vec![f64::NAN, 1.0, -0.0]))),
            ("t", Arc::new(TimestampMicrosecondArray::from(vec![0, 1_500_000, 2]))),
            ("day", Arc::new(Date32Array::from(vec![0, 1, 2]))),
            ("b", Arc::new(BinaryArray::from(vec![&b"\x00\xFF"[..], b"", b"a"]))),
        ];
        let fields = columns
            .iter()
            .map(|(name, array)| Arc::new(Field::new(*name, array.data_type().clone(), true)));
        let fields: Vec<_> = fields.collect();
        let arrays = columns.iter().map(|(_, array)| array.clone()).collect();
        let structs: ArrayRef = Arc::new(StructArray::new(fields.into(), arrays, None));
        let first = "{\"l\":[\"a\\\"\\n\",null],\"k\\\"\":\"x\",\"d\":-10.50,\"f\":\"NaN\",\
                     \"t\":\"1970-01-01T00:00:00\",\"day\":\"1970-01-01\",\"b\":\"00ff\"}";
        assert_eq!(printed(structs.clone())[0].as_deref(), Some(first));
        // A slice prints its own rows.
        let last = "{\"l\":null,\"k\\\"\":\"x\",\"d\":0.07,\"f\":-0.0,\
                    \"t\":\"1970-01-01T00:00:00.000002\",\"day\":\"1970-01-03\",\"b\":\"61\"}";
        assert_eq!(printed(structs.slice(2, 1)), [Some(last.to_owned())]);
    }

    #[test]
    fn maps_are_objects_and_fixed_lists_arrays() {
        let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        maps.keys().append_value("a");
        maps.values().append_value(1);
        maps.keys().append_value("b");
        maps.values().append_null();
        maps.append(true).unwrap();
        maps.append(false).unwrap();
        let maps: ArrayRef = Arc::new(maps.finish());
        assert_eq!(printed(maps), [Some("{\"a\":1,\"b\":null}".to_owned()), None]);
        let mut pairs = FixedSizeListBuilder::new(Int32Builder::new(), 2);
        pairs.values().append_slice(&[1, 2]);
        pairs.append(true);
        pairs.values().append_nulls(2);
        pairs.append(false);
        let pairs: ArrayRef = Arc::new(pairs.finish());
        assert_eq!(printed(pairs), [Some("[1,2]".to_owned()), None]);
        let ints: ArrayRef = Arc::new(Int32Array::from(vec![1]));
        assert_eq!(printed(ints), [Some("1".to_owned())]);
    }
}
