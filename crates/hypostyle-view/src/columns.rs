//! The columns of a table, and what is known of them without decoding rows.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use hypostyle::Result;
use serde_json::{Value, json};

use crate::cells::{self, MAX_CELL_CHARS};
use crate::file::OpenFile;

/// Row groups whose byte ranges are listed.
const MAX_LISTED_GROUPS: usize = 4096;

/// Describes the table: rows, columns with statistics, row groups, deviations.
pub(crate) fn table(file: &OpenFile) -> Result<Value> {
    let (_, reader) = file.table()?;
    let schema = reader.schema();
    let mut columns = Vec::new();
    for (index, field) in schema.fields().iter().enumerate() {
        let known = reader.column_statistics(index);
        columns.push(json!({
            "name": field.name(),
            "type": type_name(field.data_type()),
            "numeric": field.data_type().is_numeric(),
            "nullable": field.is_nullable(),
            "nulls": known.null_count,
            "min": known.min.map(|value| text(&value, field)).transpose()?,
            "max": known.max.map(|value| text(&value, field)).transpose()?,
            "exact": known.is_exact,
        }));
    }
    let all: Vec<usize> = (0..columns.len()).collect();
    let count = reader.row_groups();
    let groups = (0..count.min(MAX_LISTED_GROUPS)).map(|group| {
        let mut ranges = reader.ranges(group, &all);
        ranges.sort_unstable_by_key(|range| range.start);
        let ranges = ranges.into_iter().map(|range| [range.start, range.end]);
        json!({ "rows": reader.row_group_rows(group), "ranges": ranges.collect::<Vec<_>>() })
    });
    let deviations = reader.deviations();
    Ok(json!({
        "rows": reader.rows(),
        "columns": columns,
        "row_groups": count,
        "groups": groups.collect::<Vec<_>>(),
        "deviations": deviations.iter().map(deviation).collect::<Vec<_>>(),
        "notes": reader.notes(),
    }))
}

/// Describes a deviation.
pub(crate) fn deviation(found: &hypostyle::Deviation) -> Value {
    json!({ "code": found.code, "offset": found.offset, "message": found.message })
}

/// Returns the value of an array of one row as a text.
pub(crate) fn text(value: &ArrayRef, field: &Field) -> Result<Value> {
    if value.is_empty() {
        return Ok(Value::Null);
    }
    let field = field.clone().with_data_type(value.data_type().clone()).with_nullable(true);
    let batch = RecordBatch::try_new(Schema::new(vec![field]).into(), vec![value.slice(0, 1)])?;
    let row = cells::rows(&batch, MAX_CELL_CHARS)?.pop();
    Ok(row.and_then(|row| row.get(0).cloned()).unwrap_or_default())
}

/// Returns the name of a type, as the command prints it and `--types` accepts it where it can.
pub fn type_name(data_type: &DataType) -> String {
    match data_type {
        DataType::Int32 => "int32".to_owned(),
        DataType::Int64 => "int64".to_owned(),
        DataType::Float64 => "float64".to_owned(),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => "text".to_owned(),
        DataType::Boolean => "boolean".to_owned(),
        DataType::Date32 => "date".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, None) => "timestamp".to_owned(),
        DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if zone.as_ref() == "UTC" => {
            "timestamptz".to_owned()
        }
        DataType::Decimal128(precision, scale) => format!("decimal({precision},{scale})"),
        other => other.to_string(),
    }
}
