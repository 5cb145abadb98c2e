//! The cells of batches as people read them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use hypostyle::Result;
use hypostyle::cast::spelled_text;
use serde_json::Value;

/// Characters of a cell beyond which it is cut; a record view asks for all of them.
pub(crate) const MAX_CELL_CHARS: usize = 500;

/// Returns the cells of a batch row by row; a null is `null`, and anything else is a text.
pub(crate) fn rows(batch: &RecordBatch, max_chars: usize) -> Result<Vec<Value>> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns =
        columns.map(|(array, field)| spelled_text(array, field)).collect::<Result<Vec<_>>>()?;
    let row = |row| {
        let cells = columns.iter().map(|column| match column.is_null(row) {
            true => Value::Null,
            false => cut(column.as_string::<i32>().value(row), max_chars).into(),
        });
        Value::Array(cells.collect())
    };
    Ok((0..batch.num_rows()).map(row).collect())
}

/// Returns at most so many characters of a text, and an ellipsis if it has more.
pub fn cut(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
