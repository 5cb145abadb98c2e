//! Splits the rows of a table into chunks (§4.3).

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_schema::DataType;

use super::column_chunk::MAX_TEXT_BYTES;
use hypostyle_core::error::{Error, Refusal, Result};

/// Calls `each` with the bytes of every row, and with `None` for a null.
pub(super) fn for_each_row<'a>(
    arrays: &'a [ArrayRef],
    mut each: impl FnMut(Option<&'a [u8]>) -> Result<()>,
) -> Result<()> {
    for array in arrays {
        match array.data_type() {
            DataType::Utf8 => rows(array.as_bytes::<Utf8Type>(), &mut each)?,
            DataType::LargeUtf8 => rows(array.as_bytes::<LargeUtf8Type>(), &mut each)?,
            DataType::Binary => rows(array.as_bytes::<BinaryType>(), &mut each)?,
            DataType::LargeBinary => rows(array.as_bytes::<LargeBinaryType>(), &mut each)?,
            other => {
                let why = format!("an array of type {other} in a column of another type");
                return Err(Error::invalid_argument(why));
            }
        }
    }
    Ok(())
}

fn rows<'a, T: ByteArrayType>(
    array: &'a GenericByteArray<T>,
    each: &mut impl FnMut(Option<&'a [u8]>) -> Result<()>,
) -> Result<()> {
    for row in 0..array.len() {
        each(array.is_valid(row).then(|| array.value(row).as_ref()))?;
    }
    Ok(())
}

/// The running size of a column's text, sampled every mebibyte.
///
/// Element `k` is the maximum number of rows from the start whose text takes at most `k + 1`
/// mebibytes.
#[derive(Debug, Default)]
pub(super) struct TextSizeIndex(Vec<u64>);

impl TextSizeIndex {
    const STEP_BYTES: u64 = 1 << 20;
    /// The maximum number of steps in a chunk.
    const MAX_CHUNK_STEPS: usize = (MAX_TEXT_BYTES >> 20) as usize;

    /// Indexes a column; fails for a row of 4 GiB or more.
    pub(super) fn of(arrays: &[ArrayRef]) -> Result<Self> {
        let mut rows_at = Vec::new();
        let (mut row, mut text_len) = (0_u64, 0_u64);
        for_each_row(arrays, |value| {
            let len = value.map_or(0, <[u8]>::len) as u64;
            if u32::try_from(len).is_err() {
                let why = format!("a text of {len} bytes is over the limit of 4 GiB");
                return Err(
                    Error::refused(Refusal::TextTooLong, why, "shorten the text").in_row(row)
                );
            }
            text_len += len;
            while text_len > Self::STEP_BYTES * (rows_at.len() as u64 + 1) {
                rows_at.push(row);
            }
            row += 1;
            Ok(())
        })?;
        Ok(Self(rows_at))
    }

    /// Returns the maximum end of a chunk that starts with row `start`.
    fn max_end(&self, start: u64) -> u64 {
        // The text before `start` is larger than this many steps.
        let before = self.0.partition_point(|&rows| rows < start);
        self.0.get(before + Self::MAX_CHUNK_STEPS - 1).copied().unwrap_or(u64::MAX)
    }
}

/// Returns the number of rows of each chunk.
///
/// A chunk has as many rows as fit in every column, at least one, and at most `max_rows`. A
/// table without rows has one chunk of no rows.
pub(super) fn chunk_rows(columns: &[TextSizeIndex], rows: u64, max_rows: u32) -> Vec<u32> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < rows {
        let max_end = (start + u64::from(max_rows)).min(rows);
        let ends = columns.iter().map(|index| index.max_end(start));
        let end = ends.fold(max_end, u64::min).max(start + 1);
        chunks.extend(u32::try_from(end - start));
        start = end;
    }
    if chunks.is_empty() {
        chunks.push(0);
    }
    chunks
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;
    use crate::formats::onpair::column_chunk::MAX_ROWS;

    fn chunks(columns: &[TextSizeIndex], rows: u64) -> Vec<u32> {
        chunk_rows(columns, rows, MAX_ROWS)
    }

    fn index(lengths: &[usize]) -> TextSizeIndex {
        let texts = lengths.iter().map(|&len| Some("x".repeat(len)));
        TextSizeIndex::of(&[Arc::new(StringArray::from_iter(texts)) as ArrayRef]).unwrap()
    }

    #[test]
    fn a_chunk_has_the_rows_that_fit_and_at_least_one() {
        const MIB: usize = 1 << 20;
        assert_eq!(chunks(&[index(&[])], 0), [0]);
        assert_eq!(chunks(&[index(&[5, 5])], 2), [2]);
        // Exactly the maximum, and a byte more.
        assert_eq!(chunks(&[index(&[64 * MIB, 0, 0])], 3), [3]);
        assert_eq!(chunks(&[index(&[64 * MIB, 1])], 2), [1, 1]);
        assert_eq!(chunks(&[index(&[65 * MIB, 1])], 2), [1, 1]);
        assert_eq!(chunks(&[index(&[1, 70 * MIB, 1])], 3), [1, 1, 1]);
        assert_eq!(chunks(&[index(&[31 * MIB; 5])], 5), [2, 2, 1]);
        // The column that reaches the maximum first decides.
        assert_eq!(chunks(&[index(&[32 * MIB; 3]), index(&[1, 64 * MIB, 1])], 3), [1, 1, 1]);
        assert_eq!(chunks(&[TextSizeIndex::default()], (1 << 21) + 7), [1 << 20, 1 << 20, 7]);
    }
}
