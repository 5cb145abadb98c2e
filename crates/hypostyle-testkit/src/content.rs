//! What a table holds, compared bit for bit.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use hypostyle::formats::ColumnType;

/// One value; floats by their bits, so that NaN equals itself and -0.0 is not 0.0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// No value.
    Null,
    /// An integer of either width.
    Int(i64),
    /// The bits of a float.
    Float(u64),
    /// Text.
    Text(String),
    /// Bytes that need not be text.
    Bytes(Vec<u8>),
}

/// One column with all its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name.
    pub name: String,
    /// The type; 32-bit and 64-bit offsets of text are one type here, and bytes are text but
    /// for their cells.
    pub kind: ColumnType,
    /// The values in row order.
    pub cells: Vec<Cell>,
}

/// Everything that a table holds; whether fields are nullable is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The number of rows.
    pub rows: usize,
    /// The columns in order.
    pub columns: Vec<Column>,
}

impl Content {
    /// The content of batches that share a schema, one after the other.
    pub fn of(batches: &[RecordBatch]) -> Self {
        let schema = batches.first().expect("at least one batch").schema();
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let column = |(index, field): (usize, &std::sync::Arc<arrow_schema::Field>)| Column {
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

/// The values of an array.
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
