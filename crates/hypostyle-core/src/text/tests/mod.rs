//! Helpers for the tests of texts, and tests of text tables with small blocks.

mod table;

use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::infer::Imported;
use crate::cast::cast;
use crate::column_source::ColumnSource;

/// The names, types and cells of a table.
pub(super) type Contents = Vec<(String, DataType, Vec<Option<String>>)>;

pub(super) fn contents(table: &Imported) -> Contents {
    let schema = table.schema();
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let chunks = table.column(index).unwrap();
        let texts = chunks.iter().map(|chunk| cast(chunk, &DataType::Utf8).unwrap());
        let cells = texts.flat_map(|text| {
            let cells = text.as_string::<i32>().iter();
            cells.map(|cell| cell.map(str::to_owned)).collect::<Vec<_>>()
        });
        (field.name().clone(), field.data_type().clone(), cells.collect())
    });
    columns.collect()
}
