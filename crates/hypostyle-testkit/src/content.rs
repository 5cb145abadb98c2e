//! The values of a table in a form that compares bit for bit.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use hypostyle::formats::ColumnType;

/// One value. Floats compare by their bits, so NaN equals itself and -0.0 differs from 0.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// A null.
    Null,
    /// An integer of either width.
    Int(i64),
    /// The bits of a float.
    Float(u64),
    /// A string.
    Text(String),
    /// Bytes that need not be UTF-8.
    Bytes(Vec<u8>),
}

/// A column with all its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnContent {
    /// The name.
    pub name: String,
    /// The type. String types with 32-bit and 64-bit offsets count as one type, and binary
    /// columns count as text: their cells are [`Cell::Bytes`].
    pub kind: ColumnType,
    /// The values in row order.
    pub cells: Vec<Cell>,
}

/// The content of a table, without the nullability of its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The number of rows.
    pub rows: usize,
    /// The columns in order.
    pub columns: Vec<ColumnContent>,
}

impl Content {
    /// Collects the content of consecutive batches with the same schema.
    pub fn of(batches: &[RecordBatch]) -> Self {
        let schema = batches.first().expect("at least one batch").schema();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let column =
            |(index, field): (usize, &std::sync::Arc<arrow_schema::Field>)| ColumnContent {
                name: field.name().clone(),
                kind: match field.data_type() {
                    DataType::Binary | DataType::LargeBinary => ColumnType::Text,
                    other => ColumnType::of(other).expect("a type that the formats know"),
                },
                cells: batches.iter().flat_map(|batch| cells(batch.column(index))).collect(),
            };
        Self { rows, columns: schema.fields().iter().enumerate().map(column).collect() }
    }
}

/// Returns the values of an array.
pub fn cells(array: &ArrayRef) -> Vec<Cell> {
    let cell = |row| if array.is_null(row) { Cell::Null } else { value(array, row) };
    (0..array.len()).map(cell).collect()
}

fn value(array: &ArrayRef, row: usize) -> Cell {
    match array.data_type() {
        DataType::Int32 => Cell::Int(array.as_primitive::<Int32Type>().value(row).into()),
        DataType::Int64 => Cell::Int(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Cell::Float(array.as_primitive::<Float64Type>().value(row).to_bits()),
        DataType::Utf8 => Cell::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Binary => Cell::Bytes(array.as_binary::<i32>().value(row).to_vec()),
        DataType::LargeBinary => Cell::Bytes(array.as_binary::<i64>().value(row).to_vec()),
        _ => Cell::Text(array.as_string::<i64>().value(row).to_owned()),
    }
}
