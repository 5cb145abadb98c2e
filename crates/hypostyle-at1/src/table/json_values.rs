//! Builds Arrow arrays from JSON values.

use arrow_schema::DataType;

use super::cell_list::CellRuns;
use super::cell_value::CellSyntax;
use super::typed_cells::{self, CellError, TextBuilder, TypedCells};

/// Returns values as an array of a type.
pub(super) fn array(data_type: &DataType, cells: &CellRuns<'_>) -> Result<TypedCells, CellError> {
    match typed_cells::array(data_type, cells, CellSyntax::Json) {
        // A column of text may have numbers, booleans, objects and arrays, as they are spelled.
        Err(CellError::Odd(_)) if *data_type == DataType::Utf8 => {
            let mut texts = TextBuilder::new(cells.len());
            let end = cells.for_each(|cell| {
                match CellSyntax::Json.text(cell) {
                    Ok(text) => texts.push(text.as_deref()),
                    // A float distinguishes -0 from 0, and an integer does not.
                    Err(_) if cell == b"-0" => texts.push(Some(b"-0.0")),
                    Err(_) => texts.push(Some(cell)),
                }
                Ok::<(), CellError>(())
            })?;
            Ok((texts.finish()?, end))
        }
        other => other,
    }
}
