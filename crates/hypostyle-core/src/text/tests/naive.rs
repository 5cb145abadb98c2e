//! Tables of texts by the rules of `docs/text-tables.md`, cell by cell and without a state
//! that is merged: what the reader must return.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array};
use arrow_schema::DataType;

use super::{CSV, Contents, place};
use crate::cast::cast;
use crate::number::{self, Liberal};
use crate::text::csv::blocks::{BlockReader, BlockSizes};
use crate::text::csv::split::RowBlock;
use crate::text::csv::syntax::Syntax;
use crate::text::sizes::TextSizes;
use crate::text::{Infer, TextOptions};
use crate::types::Capabilities;

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Value<'a> {
    Null,
    Bool(&'a str),
    /// A JSON number, as it is spelled.
    Number(&'a str),
    /// A cell of CSV, or a JSON string.
    Text(&'a str),
}

/// Returns the table of a CSV file, or where it is malformed.
pub(super) fn csv(text: &[u8], options: &TextOptions) -> Result<Contents, String> {
    let syntax = Syntax::of(CSV.with_options(options), options);
    let sizes = BlockSizes::new(&options.limits, TextSizes::default());
    let mut reader = BlockReader::new(text, syntax, sizes);
    let names = reader.names().map_err(place)?;
    let mut columns: Vec<Vec<Option<String>>> = vec![Vec::new(); names.len()];
    while let Some(rows) = reader.next(RowBlock::default()).map_err(place)? {
        for (at, cell) in rows.cells.iter().enumerate() {
            let text = String::from_utf8(cell.bytes(&rows).to_vec()).unwrap();
            let is_word = options.capabilities.nulls && options.null_words.contains(&text);
            let is_null = !cell.quoted() && (text.is_empty() || is_word);
            columns[at % rows.width].push((!is_null).then_some(text));
        }
    }
    let column = |(name, cells): (String, Vec<Option<String>>)| {
        let values: Vec<Value<'_>> =
            cells.iter().map(|cell| cell.as_deref().map_or(Value::Null, Value::Text)).collect();
        let filled: Vec<&str> =
            cells.iter().flatten().map(String::as_str).filter(|text| !text.is_empty()).collect();
        let has_gaps = filled.len() < cells.len();
        let data_type = match (options.capabilities, options.infer) {
            (Capabilities { nulls: false, .. }, _) if has_gaps => DataType::Utf8,
            (_, Infer::Text) => DataType::Utf8,
            (capabilities, infer) => number_type(&filled, infer, capabilities),
        };
        let cells = printed(&values, &data_type, !options.capabilities.nulls);
        (name, data_type, cells)
    };
    Ok(names.into_iter().zip(columns).map(column).collect())
}

/// Returns the table of objects, whose members are keys and spelled values; `None` if an
/// object has a key twice, and if there is no key.
pub(super) fn json(rows: &[Vec<(&str, &str)>]) -> Option<Contents> {
    let mut columns: Vec<(&str, Vec<Value<'_>>)> = Vec::new();
    for (row, members) in rows.iter().enumerate() {
        for &(key, spelled) in members {
            let key = if key == "\\u0061" { "a" } else { key };
            let at = columns.iter().position(|(known, _)| *known == key).unwrap_or(columns.len());
            if at == columns.len() {
                columns.push((key, Vec::new()));
            }
            let (_, values) = columns.get_mut(at)?;
            if values.len() > row {
                return None;
            }
            values.resize(row, Value::Null);
            values.push(match spelled {
                "null" => Value::Null,
                "true" | "false" => Value::Bool(spelled),
                text if text.starts_with('"') => Value::Text(text.trim_matches('"')),
                // An integer has no sign of zero, so this is a float.
                "-0" => Value::Number("-0.0"),
                number => Value::Number(number),
            });
        }
    }
    let column = |(name, mut values): (&str, Vec<Value<'_>>)| {
        values.resize(rows.len(), Value::Null);
        let filled: Vec<Value<'_>> =
            values.iter().copied().filter(|value| *value != Value::Null).collect();
        let numbers: Option<Vec<&str>> = filled
            .iter()
            .map(|value| match value {
                Value::Number(spelled) => Some(*spelled),
                _ => None,
            })
            .collect();
        let data_type = match numbers {
            Some(numbers) => number_type(&numbers, Infer::Numeric, Capabilities::EVERYTHING),
            None if filled.iter().all(|value| matches!(value, Value::Bool(_))) => DataType::Boolean,
            None => DataType::Utf8,
        };
        let cells = printed(&values, &data_type, false);
        (name.to_owned(), data_type, cells)
    };
    (!columns.is_empty()).then(|| columns.into_iter().map(column).collect())
}

/// Returns the type of a column of these cells.
fn number_type(cells: &[&str], infer: Infer, capabilities: Capabilities) -> DataType {
    if cells.is_empty() || !capabilities.numbers {
        return DataType::Utf8;
    }
    let ints: Option<Vec<i64>> = cells
        .iter()
        .map(|cell| match (infer, number::liberal(cell.as_bytes())) {
            (Infer::Numeric, Some(Liberal::Int(value))) => Some(value),
            (Infer::Exact, _) => number::exact_int(cell.as_bytes()),
            _ => None,
        })
        .collect();
    if let Some(ints) = ints {
        if ints.iter().all(|&value| i32::try_from(value).is_ok()) {
            return DataType::Int32;
        }
        if capabilities.int64 {
            return DataType::Int64;
        }
    }
    let is_float = |cell: &&str| match infer {
        Infer::Numeric => {
            number::liberal(cell.as_bytes()).is_some_and(|it| it.to_float().is_some())
        }
        _ => {
            let cell = cell.as_bytes();
            number::exact_int(cell).is_none() && number::exact_float(cell).is_some()
        }
    };
    if cells.iter().all(is_float) { DataType::Float64 } else { DataType::Utf8 }
}

/// Returns the values of a column of this type as text.
fn printed(
    values: &[Value<'_>],
    data_type: &DataType,
    gaps_are_empty: bool,
) -> Vec<Option<String>> {
    let print = |value: &Value<'_>| {
        let spelled = match *value {
            Value::Null if gaps_are_empty && data_type == &DataType::Utf8 => "",
            Value::Null => return None,
            Value::Bool(text) | Value::Number(text) | Value::Text(text) => text,
        };
        match data_type {
            DataType::Utf8 | DataType::Boolean => Some(spelled.to_owned()),
            _ => match (number::liberal(spelled.as_bytes())?, data_type) {
                (Liberal::Int(value), DataType::Int32 | DataType::Int64) => Some(value.to_string()),
                (number, _) => {
                    let array: ArrayRef = Arc::new(Float64Array::from(vec![number.to_float()]));
                    let text = cast(&array, &DataType::Utf8).unwrap();
                    Some(text.as_string::<i32>().value(0).to_owned())
                }
            },
        }
    };
    values.iter().map(print).collect()
}
