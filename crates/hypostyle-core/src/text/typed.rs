//! Builds arrays of a known type from the cells of a text.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::DataType;

use crate::cast::{ValueBuilder, cast};
use crate::error::{Error, Result};
use crate::number::{self, Liberal};

/// Returns cells as an array of a type; `None` is null.
///
/// Numbers are read liberally, and an empty cell is null in a column that is not text. A
/// cell that is not UTF-8 is an error.
///
/// # Errors
///
/// Fails for the first cell that is not of the type, and names its row.
pub fn array_of_cells<'a>(
    data_type: &DataType,
    cells: impl ExactSizeIterator<Item = Option<&'a [u8]>> + Clone,
) -> Result<ArrayRef> {
    let array = match data_type {
        DataType::Int32 => {
            let read = |cell: &[u8]| i32::try_from(int(cell)?).ok();
            numbers(cells.clone(), read)
                .map(|(values, nulls)| Arc::new(Int32Array::new(values.into(), nulls)) as ArrayRef)
        }
        DataType::Int64 => numbers(cells.clone(), int)
            .map(|(values, nulls)| Arc::new(Int64Array::new(values.into(), nulls)) as ArrayRef),
        DataType::Float64 => numbers(cells.clone(), float)
            .map(|(values, nulls)| Arc::new(Float64Array::new(values.into(), nulls)) as ArrayRef),
        DataType::Utf8 => return texts(cells),
        _ => ValueBuilder::try_new(data_type, cells.len()).and_then(|mut builder| {
            cells.clone().all(|cell| builder.push(cell, 1)).then(|| builder.finish())
        }),
    };
    match array {
        Some(array) => Ok(array),
        // The cast finds the cell that is not of the type, and says why.
        None => cast(&texts(cells)?, data_type),
    }
}

fn int(cell: &[u8]) -> Option<i64> {
    match number::exact_int(cell) {
        Some(value) => Some(value),
        None => match number::liberal(cell)? {
            Liberal::Int(value) => Some(value),
            Liberal::Float(_) => None,
        },
    }
}

fn float(cell: &[u8]) -> Option<f64> {
    match number::exact_float(cell) {
        Some(value) => Some(value),
        None => number::liberal(cell)?.to_float(),
    }
}

type Numbers<T> = (Vec<T>, Option<arrow_buffer::NullBuffer>);

/// Returns the numbers of all cells; `None` if some cell has none.
fn numbers<'a, T: Default>(
    cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>,
    read: impl Fn(&[u8]) -> Option<T>,
) -> Option<Numbers<T>> {
    let mut values = Vec::with_capacity(cells.len());
    let mut nulls = NullBufferBuilder::new(cells.len());
    for cell in cells {
        match cell {
            Some(cell) if !cell.is_empty() => {
                values.push(read(cell)?);
                nulls.append_non_null();
            }
            _ => {
                values.push(T::default());
                nulls.append_null();
            }
        }
    }
    Some((values, nulls.finish()))
}

/// Returns the cells as text.
fn texts<'a>(cells: impl ExactSizeIterator<Item = Option<&'a [u8]>>) -> Result<ArrayRef> {
    let mut offsets = Vec::with_capacity(cells.len() + 1);
    offsets.push(0_i32);
    let mut bytes = Vec::new();
    let mut nulls = NullBufferBuilder::new(cells.len());
    for cell in cells {
        match cell {
            None => nulls.append_null(),
            Some(cell) => {
                bytes.extend_from_slice(cell);
                nulls.append_non_null();
            }
        }
        let end = i32::try_from(bytes.len());
        offsets.push(end.map_err(|_| Error::malformed("cells", "take more than 2 GiB at once"))?);
    }
    bytes.shrink_to_fit();
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(StringArray::try_new(offsets, bytes.into(), nulls.finish())?))
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;

    use super::*;

    fn typed(data_type: &DataType, cells: &[Option<&str>]) -> Result<ArrayRef> {
        array_of_cells(data_type, cells.iter().map(|cell| cell.map(str::as_bytes)))
    }

    #[test]
    fn cells_become_values_of_the_type() {
        let cells = [Some("5"), None, Some(""), Some(" +07 "), Some("-3")];
        let ints = Int32Array::from(vec![Some(5), None, None, Some(7), Some(-3)]);
        assert_eq!(typed(&DataType::Int32, &cells).unwrap().as_ref(), &ints);
        let longs = Int64Array::from(vec![Some(5), None, None, Some(7), Some(-3)]);
        assert_eq!(typed(&DataType::Int64, &cells).unwrap().as_ref(), &longs);
        let floats = Float64Array::from(vec![Some(5.0), None, None, Some(7.0), Some(-3.0)]);
        assert_eq!(typed(&DataType::Float64, &cells).unwrap().as_ref(), &floats);
        let text = typed(&DataType::Utf8, &cells).unwrap();
        assert_eq!((text.null_count(), text.as_string::<i32>().value(2)), (1, ""));
        let flags = typed(&DataType::Boolean, &[Some("true"), None]).unwrap();
        assert!(flags.as_boolean().value(0) && flags.is_null(1));
    }

    #[test]
    fn a_cell_of_another_type_is_named() {
        for (data_type, cell, why) in [
            (DataType::Int32, "x y", "`x y` is not an integer"),
            (DataType::Int32, "3000000000", "3000000000 does not fit int32"),
            (DataType::Int64, "2.5", "`2.5` is not an integer"),
            (DataType::Float64, "9007199254740993", "is not a number"),
        ] {
            let err = typed(&data_type, &[Some("1"), Some(cell)]).unwrap_err();
            assert_eq!(err.row(), Some(1), "{err}");
            assert!(err.to_string().contains(why), "{err}");
        }
        let cells = [Some(&b"\xFF"[..])];
        assert!(array_of_cells(&DataType::Utf8, cells.into_iter()).is_err());
    }
}
