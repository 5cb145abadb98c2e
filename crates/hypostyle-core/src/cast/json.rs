//! Prints values of any type as JSON.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, StringArray,
    StructArray, UInt64Array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::cast;
use crate::error::Result;
use crate::number;

/// Prints the values of an array as JSON: lists as arrays, structs and maps as objects.
///
/// Numbers and booleans print as such. JSON has no NaN and no infinities, so these are the
/// strings `"NaN"`, `"Infinity"` and `"-Infinity"`. Every other type prints as a string of the
/// text that [`cast`] gives.
#[derive(Debug)]
pub struct JsonValues {
    nulls: Option<NullBuffer>,
    values: Values,
}

#[derive(Debug)]
enum Values {
    Null,
    Bool(BooleanArray),
    Int(Int64Array),
    UInt(UInt64Array),
    Float32(Float32Array),
    Float64(Float64Array),
    Text(StringArray),
    /// The items of each row, as ranges of the child.
    List(Vec<(usize, usize)>, Box<JsonValues>),
    /// The members, with their names as JSON strings and a colon.
    Struct(Vec<(Vec<u8>, JsonValues)>),
    /// The entries of each row, as ranges of the keys and values.
    Map(Vec<(usize, usize)>, StringArray, Box<JsonValues>),
}

impl JsonValues {
    /// Prepares an array for printing.
    ///
    /// # Errors
    ///
    /// Fails if a value cannot be printed, such as a date that is out of range.
    pub fn try_new(array: &ArrayRef) -> Result<Self> {
        let values = match array.data_type() {
            DataType::Null => Values::Null,
            DataType::Boolean => Values::Bool(array.as_boolean().clone()),
            DataType::Int8 => Values::Int(array.as_primitive::<Int8Type>().unary(i64::from)),
            DataType::Int16 => Values::Int(array.as_primitive::<Int16Type>().unary(i64::from)),
            DataType::Int32 => Values::Int(array.as_primitive::<Int32Type>().unary(i64::from)),
            DataType::Int64 => Values::Int(array.as_primitive::<Int64Type>().clone()),
            DataType::UInt8 => Values::UInt(array.as_primitive::<UInt8Type>().unary(u64::from)),
            DataType::UInt16 => Values::UInt(array.as_primitive::<UInt16Type>().unary(u64::from)),
            DataType::UInt32 => Values::UInt(array.as_primitive::<UInt32Type>().unary(u64::from)),
            DataType::UInt64 => Values::UInt(array.as_primitive::<UInt64Type>().clone()),
            DataType::Float16 | DataType::Float32 => {
                let floats = arrow_cast::cast(array, &DataType::Float32)?;
                Values::Float32(floats.as_primitive::<Float32Type>().clone())
            }
            DataType::Float64 => Values::Float64(array.as_primitive::<Float64Type>().clone()),
            DataType::Dictionary(_, values) => {
                return Self::try_new(&arrow_cast::cast(array, values)?);
            }
            DataType::RunEndEncoded(_, values) => {
                return Self::try_new(&arrow_cast::cast(array, values.data_type())?);
            }
            DataType::List(_) => {
                let list = array.as_list::<i32>();
                Values::List(ranges(list.value_offsets()), child(list.values())?)
            }
            DataType::LargeList(_) => {
                let list = array.as_list::<i64>();
                Values::List(ranges(list.value_offsets()), child(list.values())?)
            }
            DataType::FixedSizeList(_, _) => {
                let list = array.as_fixed_size_list();
                let size = usize::try_from(list.value_length()).unwrap_or(0);
                let rows = (0..list.len()).map(|row| (row * size, (row + 1) * size));
                Values::List(rows.collect(), child(list.values())?)
            }
            DataType::ListView(item) => {
                let list = DataType::LargeList(item.clone());
                return Self::try_new(&arrow_cast::cast(array, &list)?);
            }
            DataType::LargeListView(item) => {
                let list = DataType::LargeList(item.clone());
                return Self::try_new(&arrow_cast::cast(array, &list)?);
            }
            DataType::Struct(_) => Values::Struct(members(array.as_struct())?),
            DataType::Map(_, _) => {
                let map = array.as_map();
                let keys = cast(map.keys(), &DataType::Utf8)?.as_string::<i32>().clone();
                Values::Map(ranges(map.value_offsets()), keys, child(map.values())?)
            }
            _ => Values::Text(cast(array, &DataType::Utf8)?.as_string::<i32>().clone()),
        };
        Ok(Self { nulls: array.logical_nulls(), values })
    }

    /// Prints the value of a row.
    pub fn put(&self, row: usize, out: &mut Vec<u8>) {
        if self.nulls.as_ref().is_some_and(|nulls| row < nulls.len() && nulls.is_null(row)) {
            out.extend_from_slice(b"null");
            return;
        }
        match &self.values {
            Values::Null => out.extend_from_slice(b"null"),
            Values::Bool(values) => {
                out.extend_from_slice(if values.value(row) { b"true" } else { b"false" });
            }
            Values::Int(values) => number::put_int(values.value(row), out),
            Values::UInt(values) => {
                out.extend_from_slice(itoa::Buffer::new().format(values.value(row)).as_bytes());
            }
            Values::Float32(values) => {
                let value = values.value(row);
                put_float(value.is_finite(), out, |out| number::put_float32(value, out));
            }
            Values::Float64(values) => {
                let value = values.value(row);
                put_float(value.is_finite(), out, |out| number::put_float(value, out));
            }
            Values::Text(values) => put_json_text(values.value(row), out),
            Values::List(ranges, child) => {
                let (start, end) = ranges.get(row).copied().unwrap_or_default();
                put_items(b'[', b']', start..end, out, |item, out| child.put(item, out));
            }
            Values::Struct(members) => {
                put_items(b'{', b'}', 0..members.len(), out, |member, out| {
                    if let Some((key, values)) = members.get(member) {
                        out.extend_from_slice(key);
                        values.put(row, out);
                    }
                });
            }
            Values::Map(ranges, keys, values) => {
                let (start, end) = ranges.get(row).copied().unwrap_or_default();
                put_items(b'{', b'}', start..end, out, |entry, out| {
                    put_json_text(keys.value(entry), out);
                    out.push(b':');
                    values.put(entry, out);
                });
            }
        }
    }
}

fn child(array: &ArrayRef) -> Result<Box<JsonValues>> {
    Ok(Box::new(JsonValues::try_new(array)?))
}

fn members(array: &StructArray) -> Result<Vec<(Vec<u8>, JsonValues)>> {
    let member = |(field, column): (&arrow_schema::FieldRef, &ArrayRef)| {
        let mut key = Vec::new();
        put_json_text(field.name(), &mut key);
        key.push(b':');
        Ok((key, JsonValues::try_new(column)?))
    };
    array.fields().iter().zip(array.columns()).map(member).collect()
}

fn ranges<O: arrow_array::OffsetSizeTrait>(offsets: &[O]) -> Vec<(usize, usize)> {
    let range = |pair: &[O]| match pair {
        [start, end] => (start.as_usize(), end.as_usize()),
        _ => (0, 0),
    };
    offsets.windows(2).map(range).collect()
}

fn put_items(
    open: u8,
    close: u8,
    items: std::ops::Range<usize>,
    out: &mut Vec<u8>,
    mut put: impl FnMut(usize, &mut Vec<u8>),
) {
    out.push(open);
    for item in items.clone() {
        if item > items.start {
            out.push(b',');
        }
        put(item, out);
    }
    out.push(close);
}

fn put_float(is_finite: bool, out: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>)) {
    let quote: &[u8] = if is_finite { b"" } else { b"\"" };
    out.extend_from_slice(quote);
    put(out);
    out.extend_from_slice(quote);
}

/// Prints a text as a JSON string.
pub fn put_json_text(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' => out.extend_from_slice(br#"\""#),
            b'\\' => out.extend_from_slice(br"\\"),
            0x08 => out.extend_from_slice(br"\b"),
            0x0C => out.extend_from_slice(br"\f"),
            b'\n' => out.extend_from_slice(br"\n"),
            b'\r' => out.extend_from_slice(br"\r"),
            b'\t' => out.extend_from_slice(br"\t"),
            0..0x20 => {
                let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' + half - 10 };
                out.extend_from_slice(br"\u00");
                out.extend_from_slice(&[digit(byte >> 4), digit(byte & 0x0F)]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
    use arrow_array::{Date32Array, Decimal128Array, FixedSizeListArray, Int32Array};
    use arrow_schema::{Field, Fields};

    use super::*;

    fn printed(array: &ArrayRef) -> Vec<String> {
        let values = JsonValues::try_new(array).unwrap();
        let row = |row| {
            let mut out = Vec::new();
            values.put(row, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..array.len()).map(row).collect()
    }

    #[test]
    fn nested_values_print_as_json() {
        let mut list = ListBuilder::new(Int32Builder::new());
        list.append_value([Some(1), None]);
        list.append_value([]);
        list.append_null();
        let list: ArrayRef = Arc::new(list.finish());
        assert_eq!(printed(&list), ["[1,null]", "[]", "null"]);
        assert_eq!(printed(&list.slice(1, 2)), ["[]", "null"]);
        let text: ArrayRef =
            Arc::new(StringArray::from(vec![Some("a\"b\\\n\u{1}é"), None, Some("")]));
        let fields = Fields::from(vec![
            Field::new("list", list.data_type().clone(), true),
            Field::new("te\"xt", DataType::Utf8, true),
        ]);
        let whole: ArrayRef = Arc::new(StructArray::new(
            fields,
            vec![list, text],
            Some(vec![true, true, false].into()),
        ));
        assert_eq!(
            printed(&whole),
            [
                r#"{"list":[1,null],"te\"xt":"a\"b\\\n\u0001é"}"#,
                r#"{"list":[],"te\"xt":null}"#,
                "null"
            ]
        );
        for row in printed(&whole) {
            assert!(row.is_ascii() || row.contains('é'));
        }
        let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
        map.keys().append_value("k");
        map.values().append_value(7);
        map.append(true).unwrap();
        assert_eq!(printed(&(Arc::new(map.finish()) as ArrayRef)), [r#"{"k":7}"#]);
        let item = Arc::new(Field::new("item", DataType::Int32, true));
        let pairs = Int32Array::from(vec![1, 2, 3, 4]);
        let pairs: ArrayRef = Arc::new(FixedSizeListArray::new(item, 2, Arc::new(pairs), None));
        assert_eq!(printed(&pairs.slice(1, 1)), ["[3,4]"]);
    }

    #[test]
    fn what_json_lacks_prints_as_a_string() {
        let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.5, f64::NAN, f64::INFINITY]));
        assert_eq!(printed(&floats), ["1.5", "\"NaN\"", "\"Infinity\""]);
        let dates: ArrayRef = Arc::new(Date32Array::from(vec![0]));
        assert_eq!(printed(&dates), ["\"1970-01-01\""]);
        let decimals: ArrayRef =
            Arc::new(Decimal128Array::from(vec![1050]).with_precision_and_scale(6, 2).unwrap());
        assert_eq!(printed(&decimals), ["\"10.50\""]);
        let wide: ArrayRef = Arc::new(UInt64Array::from(vec![u64::MAX]));
        assert_eq!(printed(&wide), ["18446744073709551615"]);
    }
}
