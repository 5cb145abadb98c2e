//! Joins arrays and batches.
//!
//! Arrow's `concat` merges dictionaries by `interleave`, which has code for every type: 230 KB of a
//! module in WebAssembly. There, arrays are joined by another part of Arrow, which is needed anyway.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;

use crate::error::Result;

/// Joins arrays of one type.
///
/// # Errors
///
/// Fails if there are no arrays, and if they have different types; on WebAssembly also for dictionaries
/// whose keys do not have 32 bits.
pub fn concat(arrays: &[&dyn Array]) -> Result<ArrayRef> {
    #[cfg(target_family = "wasm")]
    return by_copying::concat(arrays);
    #[cfg(not(target_family = "wasm"))]
    Ok(arrow_select::concat::concat(arrays)?)
}

/// Joins batches of one schema.
///
/// # Errors
///
/// As [`concat`].
pub fn concat_batches(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<RecordBatch> {
    #[cfg(target_family = "wasm")]
    return by_copying::concat_batches(schema, batches);
    #[cfg(not(target_family = "wasm"))]
    Ok(arrow_select::concat::concat_batches(schema, batches)?)
}

/// The way without `interleave`, which native tests compare with the other.
#[cfg(any(test, target_family = "wasm"))]
mod by_copying {
    use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
    use arrow_data::transform::MutableArrayData;
    use arrow_schema::{DataType, SchemaRef};

    use crate::error::{Error, Result};

    /// Joins arrays of one type.
    ///
    /// # Errors
    ///
    /// Fails if there are no arrays, if they have different types, and for dictionaries whose keys
    /// do not have 32 bits.
    pub(super) fn concat(arrays: &[&dyn Array]) -> Result<ArrayRef> {
        let first = arrays.first().ok_or_else(|| Error::internal("no arrays to join"))?;
        let data_type = first.data_type();
        // Dictionaries are put one behind the other, so their keys must have room for all values.
        let is_narrow = match data_type {
            DataType::Dictionary(key, _) => !matches!(**key, DataType::Int32 | DataType::UInt32),
            _ => false,
        };
        if is_narrow || arrays.iter().any(|array| array.data_type() != data_type) {
            return Err(Error::internal(format!("arrays of {data_type} cannot be joined")));
        }
        if let [_] = arrays {
            return Ok(first.slice(0, first.len()));
        }
        let parts: Vec<_> = arrays.iter().map(|array| array.to_data()).collect();
        let rows = arrays.iter().map(|array| array.len()).sum();
        let mut joined = MutableArrayData::new(parts.iter().collect(), false, rows);
        for (part, array) in arrays.iter().enumerate() {
            joined.try_extend(part, 0, array.len())?;
        }
        Ok(make_array(joined.freeze()))
    }

    /// Joins batches of one schema.
    ///
    /// # Errors
    ///
    /// As [`concat`].
    pub(super) fn concat_batches(
        schema: &SchemaRef,
        batches: &[RecordBatch],
    ) -> Result<RecordBatch> {
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let column = |index: usize| {
            let parts = batches.iter().filter_map(|batch| batch.columns().get(index));
            concat(&parts.map(AsRef::as_ref).collect::<Vec<_>>())
        };
        if batches.is_empty() {
            return Ok(RecordBatch::new_empty(schema.clone()));
        }
        let columns = (0..schema.fields().len()).map(column).collect::<Result<_>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::builder::{Int64Builder, ListBuilder};
    use arrow_array::types::Int32Type;
    use arrow_array::{
        BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int32Array,
        NullArray, StringArray, StringViewArray, StructArray,
    };

    use super::*;

    #[test]
    fn both_ways_join_arrays_alike() {
        let mut lists = ListBuilder::new(Int64Builder::new());
        lists.append_value([Some(1), None]);
        lists.append_null();
        lists.append_value([]);
        let lists: ArrayRef = Arc::new(lists.finish());
        let long = "a text that a view does not have inside";
        let arrays: [ArrayRef; 10] = [
            Arc::new(Int32Array::from(vec![Some(1), None, Some(3)])),
            Arc::new(Float64Array::from(vec![0.5, f64::NAN, -0.0])),
            Arc::new(BooleanArray::from(vec![Some(true), None, Some(false)])),
            Arc::new(StringArray::from(vec![Some("a"), None, Some("")])),
            Arc::new(StringViewArray::from(vec![Some(long), None, Some("b")])),
            Arc::new(Date32Array::from(vec![1, 2, 3])),
            Arc::new(Decimal128Array::from(vec![Some(1), None, Some(-7)])),
            Arc::new(NullArray::new(3)),
            Arc::new(StructArray::try_from(vec![("a", lists.clone())]).unwrap()),
            lists,
        ];
        for array in arrays {
            let slice = array.slice(1, 2);
            let parts: [&dyn Array; 3] = [&array, &slice, &array];
            let joined = by_copying::concat(&parts).unwrap();
            assert_eq!(format!("{joined:?}"), format!("{:?}", concat(&parts).unwrap()));
            let batch = |array| RecordBatch::try_from_iter([("c", array)]).unwrap();
            let batches = [batch(array.clone()), batch(slice)];
            let schema = batches[0].schema();
            let joined = by_copying::concat_batches(&schema, &batches).unwrap();
            let wanted = concat_batches(&schema, &batches).unwrap();
            assert_eq!(format!("{joined:?}"), format!("{wanted:?}"));
        }
    }

    #[test]
    fn dictionaries_are_put_one_behind_the_other() {
        let texts = |texts: Vec<Option<&str>>| -> ArrayRef {
            let texts: DictionaryArray<Int32Type> = texts.into_iter().collect();
            Arc::new(texts)
        };
        let (one, other) = (texts(vec![Some("a"), None, Some("b")]), texts(vec![Some("b"), None]));
        let joined = by_copying::concat(&[&one, &other]).unwrap();
        let joined = crate::cast::cast(&joined, &arrow_schema::DataType::Utf8).unwrap();
        let wanted = StringArray::from(vec![Some("a"), None, Some("b"), Some("b"), None]);
        assert_eq!(joined.as_ref(), &wanted as &dyn Array);
    }

    #[test]
    fn rows_without_columns_are_counted() {
        let schema: SchemaRef = Arc::new(arrow_schema::Schema::empty());
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(4));
        let empty = RecordBatch::try_new_with_options(schema.clone(), vec![], &options).unwrap();
        let batches = [empty.clone(), empty];
        assert_eq!(by_copying::concat_batches(&schema, &batches).unwrap().num_rows(), 8);
        assert_eq!(concat_batches(&schema, &batches).unwrap().num_rows(), 8);
    }
}
