//! Builds Arrow arrays from JSON values.

use arrow_schema::DataType;

use super::cell_list::CellRuns;
use super::cell_value::CellSyntax;
use super::typed_cells::{self, CellError, TypedCells};
use hypostyle_core::error::{Error, ErrorKind};
use hypostyle_core::text::jsonl::array_of_values;

/// Returns values as an array of a type.
///
/// Strings, numbers and booleans in a column of their type are read here. The reader of JSON
/// Lines says what any other value is in a column of any other type. Strings that are null words
/// are null.
pub(super) fn array(
    data_type: &DataType,
    cells: &CellRuns<'_>,
    null_words: &[Vec<u8>],
) -> Result<TypedCells, CellError> {
    let is_scalar = matches!(
        data_type,
        DataType::Int32
            | DataType::Int64
            | DataType::Float64
            | DataType::Boolean
            | DataType::Utf8
            | DataType::Date32
            | DataType::Timestamp(..)
    );
    if is_scalar && null_words.is_empty() {
        match typed_cells::array(data_type, cells, CellSyntax::Json) {
            Err(CellError::Odd(_)) => {}
            other => return other,
        }
    }
    let mut values: Vec<Option<&str>> = Vec::with_capacity(cells.len());
    let end = cells.for_each(|cell| match std::str::from_utf8(cell) {
        Ok(value) => {
            let is_word = |word: &Vec<u8>| {
                cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")) == Some(word)
            };
            values.push(Some(value).filter(|_| !null_words.iter().any(is_word)));
            Ok(())
        }
        Err(_) => Err(Error::from(ErrorKind::NotUtf8).in_row(values.len() as u64)),
    })?;
    Ok((array_of_values(data_type, values.into_iter())?, end))
}
