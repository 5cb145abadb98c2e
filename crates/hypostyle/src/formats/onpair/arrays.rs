//! Arrays from columns of the codec, for users of the crate `hypostyle-onpair`.

use std::sync::Arc;

use arrow_array::builder::GenericByteViewBuilder;
use arrow_array::types::{BinaryViewType, ByteViewType, StringViewType};
use arrow_array::{
    ArrayRef, GenericBinaryArray, GenericByteViewArray, GenericStringArray, OffsetSizeTrait,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use hypostyle_onpair::Column;

use hypostyle_core::error::{Error, Result};

/// The size of a buffer that views point into: most rows fit, and offsets stay small.
const VIEW_BUFFER_BYTES: usize = 4 << 20;

/// Decodes all rows of an OnPair column to `Utf8`, `LargeUtf8`, `Utf8View`, `Binary`,
/// `LargeBinary` or `BinaryView`.
///
/// # Errors
///
/// Fails for another type, for text that is not UTF-8, for more bytes than the offsets of the
/// type can address, and if `nulls` has another length than the column.
pub fn strings(
    column: &Column<'_>,
    data_type: &DataType,
    nulls: Option<NullBuffer>,
) -> Result<ArrayRef> {
    if nulls.as_ref().is_some_and(|nulls| nulls.len() != column.len()) {
        return Err(Error::invalid_argument("the null buffer has another length than the column"));
    }
    match data_type {
        DataType::Utf8 => texts::<i32>(column, nulls),
        DataType::LargeUtf8 => texts::<i64>(column, nulls),
        DataType::Binary => bytes::<i32>(column, nulls),
        DataType::LargeBinary => bytes::<i64>(column, nulls),
        DataType::Utf8View => views::<StringViewType>(column, nulls),
        DataType::BinaryView => views::<BinaryViewType>(column, nulls),
        other => Err(Error::unsupported(format!("strings as {other}"))),
    }
}

fn texts<O: OffsetSizeTrait>(column: &Column<'_>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (offsets, bytes) = decoded::<O>(column)?;
    Ok(Arc::new(GenericStringArray::try_new(offsets, bytes, nulls)?))
}

fn bytes<O: OffsetSizeTrait>(column: &Column<'_>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let (offsets, bytes) = decoded::<O>(column)?;
    Ok(Arc::new(GenericBinaryArray::try_new(offsets, bytes, nulls)?))
}

fn decoded<O: OffsetSizeTrait>(column: &Column<'_>) -> Result<(OffsetBuffer<O>, Buffer)> {
    let ends = column.decoded_offsets().into_iter();
    let offset = |end: u64| usize::try_from(end).ok().and_then(O::from_usize);
    let offsets: Option<Vec<O>> = ends.map(offset).collect();
    let too_large = || Error::unsupported("more bytes than the offsets of the type can address");
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets.ok_or_else(too_large)?));
    let bytes = column.decode().map_err(|err| Error::malformed("column", err.to_string()))?;
    Ok((offsets, Buffer::from_vec(bytes)))
}

fn views<T: ByteViewType>(column: &Column<'_>, nulls: Option<NullBuffer>) -> Result<ArrayRef> {
    let mut builder = GenericByteViewBuilder::<T>::with_capacity(column.len());
    column.for_each_block(VIEW_BUFFER_BYTES, |_, bytes, ends| {
        let block = builder.append_block(Buffer::from(bytes));
        let mut start = 0;
        for &end in ends {
            let number = |place: usize| {
                u32::try_from(place).map_err(|_| Error::unsupported("a view of 4 GiB or more"))
            };
            builder.try_append_view(block, number(start)?, number(end - start)?)?;
            start = end;
        }
        Ok::<(), Error>(())
    })?;
    let array = builder.finish();
    if nulls.is_none() {
        return Ok(Arc::new(array));
    }
    let (views, buffers, _) = array.into_parts();
    Ok(Arc::new(GenericByteViewArray::<T>::try_new(views, buffers, nulls)?))
}

#[cfg(test)]
mod tests {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use hypostyle_onpair::{Config, compress};

    use super::*;

    const TYPES: [DataType; 6] = [
        DataType::Utf8,
        DataType::LargeUtf8,
        DataType::Utf8View,
        DataType::Binary,
        DataType::LargeBinary,
        DataType::BinaryView,
    ];

    fn cells(array: &dyn Array) -> Vec<Option<Vec<u8>>> {
        let texts = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
        match array.data_type() {
            DataType::Utf8 => array.as_string::<i32>().iter().map(texts).collect(),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().map(texts).collect(),
            DataType::Utf8View => array.as_string_view().iter().map(texts).collect(),
            DataType::Binary => {
                array.as_binary::<i32>().iter().map(|it| it.map(<[u8]>::to_vec)).collect()
            }
            DataType::LargeBinary => {
                array.as_binary::<i64>().iter().map(|it| it.map(<[u8]>::to_vec)).collect()
            }
            _ => array.as_binary_view().iter().map(|it| it.map(<[u8]>::to_vec)).collect(),
        }
    }

    #[test]
    fn every_type_has_the_same_rows() {
        let long = "long ".repeat(VIEW_BUFFER_BYTES / 4);
        let mut rows: Vec<String> = (0..3000).map(|i| format!("row {i} of some, é")).collect();
        rows.extend(["".to_owned(), long, "after".to_owned()]);
        let parts = compress(&rows, &Config::default()).unwrap();
        let column = Column::new(parts).unwrap();
        let valid: Vec<bool> = (0..rows.len()).map(|row| row % 7 != 3).collect();
        for data_type in TYPES {
            for nulls in [None, Some(NullBuffer::from(valid.clone()))] {
                let array = strings(&column, &data_type, nulls.clone()).unwrap();
                assert_eq!(array.data_type(), &data_type);
                let expected = rows.iter().enumerate().map(|(row, text)| {
                    let is_valid = nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
                    is_valid.then(|| text.as_bytes().to_vec())
                });
                assert_eq!(cells(&array), expected.collect::<Vec<_>>(), "{data_type}");
            }
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_as_text_only() {
        let rows = [&b"fine"[..], &b"not \xFF text, and long enough for a view"[..]];
        let column = compress(&rows[..], &Config::default()).unwrap();
        let column = Column::new(column).unwrap();
        for data_type in TYPES {
            let is_text = data_type.is_string();
            assert_eq!(strings(&column, &data_type, None).is_err(), is_text, "{data_type}");
        }
        assert!(strings(&column, &DataType::Int32, None).is_err());
        assert!(strings(&column, &DataType::Binary, Some(NullBuffer::new_null(3))).is_err());
    }
}
