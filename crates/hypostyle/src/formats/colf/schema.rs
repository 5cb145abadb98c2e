//! COLF's schema: JSON text in the header, and type codes in the blocks (§2, §3).

use std::collections::HashMap;

use serde_json::value::RawValue;
use serde_json::{Number, json};

use crate::formats::columnfile::ColumnToWrite;
use hypostyle_core::error::{Error, Result, clipped};
use hypostyle_core::types::ColumnType;

const INT32: u8 = 1;
const FLOAT64: u8 = 2;
const UTF8: u8 = 3;

/// 2^53: a float stores every integer up to this one exactly.
const MAX_EXACT_FLOAT: f64 = 9_007_199_254_740_992.0;

/// The schema in the header.
#[derive(Debug)]
pub(super) struct JsonSchema {
    pub(super) rows: u64,
    /// The row count is written as a float, such as `3.0` (F8).
    pub(super) rows_as_float: bool,
    pub(super) columns: Vec<JsonColumn>,
}

/// One column of the schema.
#[derive(Debug)]
pub(super) struct JsonColumn {
    pub(super) name: String,
    pub(super) column_type: ColumnType,
    pub(super) nullable: bool,
}

/// An object whose values are not parsed yet; the last of several equal keys counts.
type Object<'a> = HashMap<String, &'a RawValue>;

/// Parses the JSON text, with unknown keys, white space and keys in any order (F9).
///
/// Only the values of known keys are parsed. The values of unknown keys cost no memory, and
/// the parser does not recurse into them.
pub(super) fn parse(text: &[u8]) -> Result<JsonSchema> {
    let object: Object<'_> = serde_json::from_slice(text)
        .map_err(|err| Error::malformed("schema", format!("is not a JSON object: {err}")))?;
    let (rows, rows_as_float) = rows(object.get("num_rows").copied())?;
    let columns = object
        .get("columns")
        .and_then(|list| serde_json::from_str::<Vec<&RawValue>>(list.get()).ok());
    let Some(columns) = columns else {
        return Err(Error::malformed("schema", "has no array `columns`"));
    };
    let columns = columns
        .into_iter()
        .enumerate()
        .map(|(index, value)| column(index, value))
        .collect::<Result<_>>()?;
    Ok(JsonSchema { rows, rows_as_float, columns })
}

/// Returns whether the text is a JSON object with any content.
pub(super) fn is_object(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok_and(|value| value.get().starts_with('{'))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the arm has checked that the float is a whole number in range"
)]
fn rows(value: Option<&RawValue>) -> Result<(u64, bool)> {
    let number = value.and_then(|value| serde_json::from_str::<Number>(value.get()).ok());
    let Some(number) = number else {
        return Err(Error::malformed("num_rows", "is missing or not a number"));
    };
    match (number.as_u64(), number.as_f64()) {
        (Some(rows), _) => Ok((rows, false)),
        (None, Some(rows)) if rows.fract() == 0.0 && (0.0..=MAX_EXACT_FLOAT).contains(&rows) => {
            Ok((rows as u64, true))
        }
        _ => Err(Error::malformed("num_rows", format!("{number} is not a row count"))),
    }
}

fn column(index: usize, value: &RawValue) -> Result<JsonColumn> {
    let object = serde_json::from_str::<Object<'_>>(value.get()).unwrap_or_default();
    let text = |key: &'static str| {
        let text = object.get(key).and_then(|text| serde_json::from_str::<String>(text.get()).ok());
        text.ok_or_else(|| Error::malformed("schema", format!("a column has no text `{key}`")))
    };
    let name = text("name").map_err(|err| err.in_column(index, ""))?;
    let column_type =
        text("type").and_then(|name| column_type(&name)).map_err(|err| err.in_column(index, &name));
    // This is a hint; the flag in the block decides (F3).
    let nullable = object.get("nullable").is_none_or(|hint| hint.get() != "false");
    Ok(JsonColumn { column_type: column_type?, name, nullable })
}

fn column_type(name: &str) -> Result<ColumnType> {
    match name {
        "int32" => Ok(ColumnType::Int32),
        "float64" => Ok(ColumnType::Float64),
        "utf8" => Ok(ColumnType::Text),
        other => {
            let why = format!("`{}` is not int32, float64 or utf8", clipped(other));
            Err(Error::malformed("column type", why))
        }
    }
}

/// Returns whether a column is written with a bitmap: only if it has nulls (F12).
pub(super) fn has_nulls(column: &ColumnToWrite) -> bool {
    let emptied = column.options.compat.colf_empty_as_null && column.stats.empty_texts > 0;
    column.stats.nulls > 0 || emptied
}

/// Returns the compact JSON text for these columns.
pub(super) fn write(columns: &[ColumnToWrite], rows: u64) -> Result<Vec<u8>> {
    let list = columns.iter().map(|column| {
        let type_name = type_name(column.column_type).unwrap_or_default();
        json!({ "name": column.name, "type": type_name, "nullable": has_nulls(column) })
    });
    let schema = json!({ "num_rows": rows, "columns": list.collect::<Vec<_>>() });
    serde_json::to_vec(&schema)
        .map_err(|err| Error::invalid_argument(format!("the schema cannot be written: {err}")))
}

/// Returns the type code in a block, if COLF has the type (F18).
pub(super) fn code(column_type: ColumnType) -> Option<u8> {
    match column_type {
        ColumnType::Int32 => Some(INT32),
        ColumnType::Float64 => Some(FLOAT64),
        ColumnType::Text => Some(UTF8),
        ColumnType::Int64 => None,
    }
}

fn type_name(column_type: ColumnType) -> Option<&'static str> {
    match column_type {
        ColumnType::Int32 => Some("int32"),
        ColumnType::Float64 => Some("float64"),
        ColumnType::Text => Some("utf8"),
        ColumnType::Int64 => None,
    }
}
