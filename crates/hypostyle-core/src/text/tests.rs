//! What the tests of the importers share.

use arrow_array::cast::AsArray;
use arrow_schema::DataType;

use super::infer::Imported;
use crate::cast::cast;
use crate::table::Table;

/// All there is to know of a table: names, types, cells.
pub(super) type Known = Vec<(String, DataType, Vec<Option<String>>)>;

pub(super) fn known(table: &Imported) -> Known {
    let schema = table.schema();
    let columns = schema.fields().iter().enumerate().map(|(index, field)| {
        let pieces = table.column(index).unwrap();
        let texts = pieces.iter().map(|piece| cast(piece, &DataType::Utf8).unwrap());
        let cells = texts.flat_map(|text| {
            let cells = text.as_string::<i32>().iter();
            cells.map(|cell| cell.map(str::to_owned)).collect::<Vec<_>>()
        });
        (field.name().clone(), field.data_type().clone(), cells.collect())
    });
    columns.collect()
}
