//! Tables of texts by the rules of `docs/text-tables.md`, cell by cell and without a state
//! that is merged: what the reader must return.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Float64Array};
use arrow_schema::DataType;

use super::{CSV, Contents, place};
use crate::cast::cast;
use crate::number::{self, Liberal};
use crate::spelling::{NULL_TOKENS, Spelling};
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
    let mut columns: Vec<Vec<Option<(String, bool)>>> = vec![Vec::new(); names.len()];
    while let Some(rows) = reader.next(RowBlock::default()).map_err(place)? {
        for (at, cell) in rows.cells.iter().enumerate() {
            let text = String::from_utf8(cell.bytes(&rows).to_vec()).unwrap();
            let is_word = options.capabilities.nulls && options.null_words.contains(&text);
            let is_null = !cell.quoted() && (text.is_empty() || is_word);
            columns[at % rows.width].push((!is_null).then_some((text, cell.quoted())));
        }
    }
    let column = |(name, cells): (String, Vec<Option<(String, bool)>>)| {
        let filled = cells.iter().flatten().filter(|(text, _)| !text.is_empty());
        let filled: Vec<(&str, bool)> =
            filled.map(|(text, is_quoted)| (text.as_str(), *is_quoted)).collect();
        let has_gaps = filled.len() < cells.len();
        let (data_type, token) = cell_type(&filled, has_gaps, options);
        let value = |cell: &'_ Option<(String, bool)>| match cell {
            Some((text, _)) if Some(text.as_str()) == token => None,
            Some((text, _)) if text.is_empty() && data_type != DataType::Utf8 => None,
            Some((text, _)) => Some(text.clone()),
            None => None,
        };
        let values: Vec<Option<String>> = cells.iter().map(value).collect();
        let values: Vec<Value<'_>> =
            values.iter().map(|cell| cell.as_deref().map_or(Value::Null, Value::Text)).collect();
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
        let type_of = |filled: &[Value<'_>]| json_type(filled);
        let mut data_type = type_of(&filled);
        // One string beside values of another type, and no null.
        let token = filled.iter().find_map(|value| match value {
            Value::Text(text) if NULL_TOKENS.contains(text) => Some(*text),
            _ => None,
        });
        if let Some(token) = token.filter(|_| filled.len() == values.len()) {
            let others: Vec<Value<'_>> =
                filled.iter().copied().filter(|value| *value != Value::Text(token)).collect();
            let other_type = type_of(&others);
            if !others.is_empty() && other_type != DataType::Utf8 {
                data_type = other_type;
                for value in &mut values {
                    if *value == Value::Text(token) {
                        *value = Value::Null;
                    }
                }
            }
        }
        let cells = printed(&values, &data_type, false);
        (name.to_owned(), data_type, cells)
    };
    (!columns.is_empty()).then(|| columns.into_iter().map(column).collect())
}

/// Returns the type of JSON values other than null.
fn json_type(filled: &[Value<'_>]) -> DataType {
    let numbers: Option<Vec<&str>> = filled
        .iter()
        .map(|value| match value {
            Value::Number(spelled) => Some(*spelled),
            _ => None,
        })
        .collect();
    match numbers {
        Some(numbers) => number_type(&numbers, Infer::Numeric, Capabilities::EVERYTHING),
        None if filled.iter().all(|value| matches!(value, Value::Bool(_))) => DataType::Boolean,
        None => {
            let strings = filled.iter().map(|value| match value {
                Value::Text(text) if Spelling::of(text.as_bytes())?.is_temporal() => Some(*text),
                _ => None,
            });
            let strings: Option<Vec<&str>> = strings.collect();
            strings.map_or(DataType::Utf8, |strings| other_type(&strings))
        }
    }
}

/// Returns the type of a column of these cells, each with whether it is quoted, and the text that
/// means null.
fn cell_type<'a>(
    cells: &[(&'a str, bool)],
    has_gaps: bool,
    options: &TextOptions,
) -> (DataType, Option<&'a str>) {
    let TextOptions { capabilities, infer, null_words, .. } = options;
    if (has_gaps && !capabilities.nulls) || *infer == Infer::Text {
        return (DataType::Utf8, None);
    }
    let type_of = |cells: &[&str]| match number_type(cells, *infer, *capabilities) {
        DataType::Utf8 if capabilities.arrow_types => other_type(cells),
        data_type => data_type,
    };
    let texts: Vec<&str> = cells.iter().map(|(text, _)| *text).collect();
    let data_type = type_of(&texts);
    if data_type != DataType::Utf8 {
        return (data_type, None);
    }
    let finds_tokens = null_words.is_empty() && capabilities.nulls && capabilities.arrow_types;
    for &(token, _) in cells.iter().filter(|_| finds_tokens && !has_gaps) {
        let others: Vec<&str> = texts.iter().copied().filter(|text| *text != token).collect();
        let is_null = NULL_TOKENS.contains(&token) && !cells.contains(&(token, true));
        let data_type = type_of(&others);
        if is_null && data_type != DataType::Utf8 {
            return (data_type, Some(token));
        }
    }
    (DataType::Utf8, None)
}

/// Returns the type of cells that are neither integers nor floats.
fn other_type(cells: &[&str]) -> DataType {
    let first = cells.first().and_then(|cell| Spelling::of(cell.as_bytes()));
    if let Some(spelling) = first {
        let is_same = |cell: &&str| spelling.read(cell.as_bytes()).is_some();
        return if cells.iter().all(is_same) { spelling.data_type() } else { DataType::Utf8 };
    }
    let decimals: Option<Vec<(i128, u8)>> =
        cells.iter().map(|cell| number::exact_decimal(cell.as_bytes())).collect();
    let is_long = |cell: &&str| number::exact_int(cell.as_bytes()).is_none();
    match decimals.as_deref() {
        Some(all @ [(_, scale), ..]) if cells.iter().any(is_long) => {
            let digits = all.iter().map(|(value, _)| value.unsigned_abs().to_string().len()).max();
            let digits = digits.unwrap().max(usize::from(*scale));
            let precision = if digits <= 18 { 18 } else { 38 };
            match all.iter().all(|(_, other)| other == scale) {
                true => DataType::Decimal128(precision, (*scale).try_into().unwrap()),
                false => DataType::Utf8,
            }
        }
        _ => DataType::Utf8,
    }
}

/// Returns the type of a column of these cells, if they are numbers.
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
            // These are spelled as they were.
            DataType::Utf8
            | DataType::Boolean
            | DataType::Date32
            | DataType::Timestamp(..)
            | DataType::Decimal128(..) => Some(spelled.to_owned()),
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
