//! The predicates under `conformance/predicates`, and the rows that match them.

#![expect(clippy::indexing_slicing, reason = "an index into JSON gives null, and does not panic")]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Float32Array, Float64Array, ListArray, RecordBatch,
    StringArray, StructArray,
};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use serde_json::Value;

/// A predicate and the rows that match it.
#[derive(Clone, Debug)]
pub struct PredicateCase {
    /// The predicate, in our language.
    pub predicate: String,
    /// The rows of the table that match, in order.
    pub rows: Vec<usize>,
    /// Why `DuckDB` returns other rows, if it does.
    pub reason: Option<String>,
}

/// Returns the table of typed columns that the predicates are about.
pub fn table() -> RecordBatch {
    let described: Value = serde_json::from_str(&read("table.json")).expect("valid JSON");
    let columns = described["columns"].as_array().expect("a list of columns");
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .iter()
        .map(|column| {
            let name = column["name"].as_str().expect("a name");
            let data_type = data_type(column["type"].as_str().expect("a type"));
            let values: Vec<&Value> = column["values"].as_array().expect("values").iter().collect();
            (Field::new(name, data_type.clone(), true), array(&data_type, &values))
        })
        .unzip();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("columns of one length")
}

/// Returns all cases.
pub fn cases() -> Vec<PredicateCase> {
    let case = |line: &str| {
        let case: Value = serde_json::from_str(line).expect("valid JSON");
        let rows = case["rows"].as_array().unwrap_or_else(|| panic_without_rows(line));
        let row = |row: &Value| usize::try_from(row.as_u64().expect("a row")).expect("a row");
        PredicateCase {
            predicate: case["predicate"].as_str().expect("a predicate").to_owned(),
            rows: rows.iter().map(row).collect(),
            reason: case["reason"].as_str().map(str::to_owned),
        }
    };
    read("cases.jsonl").lines().map(case).collect()
}

#[expect(clippy::panic, reason = "a case without rows is a mistake of its author")]
fn panic_without_rows(line: &str) -> ! {
    panic!("a case without rows: {line}")
}

fn read(name: &str) -> String {
    let path: PathBuf =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/predicates").join(name);
    fs::read_to_string(&path).expect("a file under conformance/predicates")
}

/// Returns the type with a name as in `table.json`.
fn data_type(name: &str) -> DataType {
    let unit = |name: &str| match name {
        "s" => TimeUnit::Second,
        "ms" => TimeUnit::Millisecond,
        "us" => TimeUnit::Microsecond,
        _ => TimeUnit::Nanosecond,
    };
    match name {
        "boolean" => return DataType::Boolean,
        "text" => return DataType::Utf8,
        "binary" => return DataType::Binary,
        "date" => return DataType::Date32,
        "int8" => return DataType::Int8,
        "int16" => return DataType::Int16,
        "int32" => return DataType::Int32,
        "int64" => return DataType::Int64,
        "uint8" => return DataType::UInt8,
        "uint16" => return DataType::UInt16,
        "uint32" => return DataType::UInt32,
        "uint64" => return DataType::UInt64,
        "float32" => return DataType::Float32,
        "float64" => return DataType::Float64,
        _ => {}
    }
    let (kind, inner) = name.split_once('(').expect("a type with parameters");
    let inner = inner.strip_suffix(')').expect("a closing parenthesis");
    let parts = split_list(inner);
    match (kind, parts.as_slice()) {
        ("decimal", [precision, scale]) => {
            DataType::Decimal128(precision.parse().expect("digits"), scale.parse().expect("digits"))
        }
        ("time", ["us"]) => DataType::Time64(TimeUnit::Microsecond),
        ("time", [time_unit]) => DataType::Time32(unit(time_unit)),
        ("timestamp", [time_unit]) => DataType::Timestamp(unit(time_unit), None),
        ("timestamp", [time_unit, zone]) => {
            DataType::Timestamp(unit(time_unit), Some((*zone).into()))
        }
        ("list", [element]) => DataType::new_list(data_type(element), true),
        (_, members) => {
            let field = |member: &&str| {
                let (name, member) = member.split_once(' ').expect("a name and a type");
                Field::new(name, data_type(member), true)
            };
            DataType::Struct(members.iter().map(field).collect())
        }
    }
}

/// Splits a text at the commas outside parentheses.
fn split_list(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let comma = |c: char| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        c == ',' && depth == 0
    };
    text.split(comma).map(str::trim).collect()
}

fn array(to: &DataType, values: &[&Value]) -> ArrayRef {
    match to {
        DataType::Boolean => {
            Arc::new(values.iter().map(|value| value.as_bool()).collect::<BooleanArray>())
        }
        DataType::Utf8 => {
            Arc::new(values.iter().map(|value| value.as_str()).collect::<StringArray>())
        }
        DataType::Float64 => {
            Arc::new(values.iter().map(|value| float(value)).collect::<Float64Array>())
        }
        DataType::Float32 => {
            let cells = values
                .iter()
                .map(|value| printed(value).map(|text| text.parse::<f32>().expect("a float")));
            Arc::new(cells.collect::<Float32Array>())
        }
        DataType::Binary => {
            let bytes = |text: &str| -> Vec<u8> {
                let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
                let byte = |pair: Option<&str>| u8::from_str_radix(pair.expect("two digits"), 16);
                pairs.map(|pair| byte(pair).expect("hexadecimal digits")).collect()
            };
            Arc::new(values.iter().map(|value| value.as_str().map(bytes)).collect::<BinaryArray>())
        }
        DataType::List(field) => {
            let lists: Vec<Option<&Vec<Value>>> =
                values.iter().map(|value| value.as_array()).collect();
            let lengths = lists.iter().map(|list| list.map_or(0, Vec::len));
            let elements: Vec<&Value> = lists.iter().flatten().copied().flatten().collect();
            Arc::new(ListArray::new(
                field.clone(),
                OffsetBuffer::from_lengths(lengths),
                array(field.data_type(), &elements),
                Some(valid(values)),
            ))
        }
        DataType::Struct(fields) => Arc::new(structs(fields, values)),
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) => {
            // The texts are in UTC, whatever zone the column shows.
            let naive = array(&DataType::Timestamp(TimeUnit::Microsecond, None), values);
            let naive = naive.as_primitive::<TimestampMicrosecondType>().clone();
            Arc::new(naive.with_timezone(zone.clone()))
        }
        other => {
            // Numbers, dates and times are read from their text.
            let texts: StringArray = values.iter().map(|value| printed(value)).collect();
            let options = CastOptions { safe: false, ..CastOptions::default() };
            cast_with_options(&texts, other, &options).expect("values of the type")
        }
    }
}

fn structs(fields: &Fields, values: &[&Value]) -> StructArray {
    let members = fields.iter().map(|field| {
        let members: Vec<&Value> =
            values.iter().map(|value| value.get(field.name()).unwrap_or(&Value::Null)).collect();
        array(field.data_type(), &members)
    });
    StructArray::new(fields.clone(), members.collect(), Some(valid(values)))
}

fn valid(values: &[&Value]) -> NullBuffer {
    values.iter().map(|value| !value.is_null()).collect::<Vec<bool>>().into()
}

fn float(value: &Value) -> Option<f64> {
    printed(value).map(|text| text.parse().expect("a float"))
}

fn printed(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
