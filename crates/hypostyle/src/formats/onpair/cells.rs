//! The strings of a column that is to be written.

use arrow_array::cast::AsArray;
use arrow_array::types::{BinaryType, ByteArrayType, LargeBinaryType, LargeUtf8Type, Utf8Type};
use arrow_array::{Array, ArrayRef, GenericByteArray};
use arrow_schema::DataType;

use super::layout::MOST_TEXT;
use hypostyle_core::error::{Error, Refusal, Result};

/// Calls `each` with the bytes of every row, `None` for null.
pub(super) fn for_each<'a>(
    pieces: &'a [ArrayRef],
    mut each: impl FnMut(Option<&'a [u8]>) -> Result<()>,
) -> Result<()> {
    for piece in pieces {
        match piece.data_type() {
            DataType::Utf8 => rows(piece.as_bytes::<Utf8Type>(), &mut each)?,
            DataType::LargeUtf8 => rows(piece.as_bytes::<LargeUtf8Type>(), &mut each)?,
            DataType::Binary => rows(piece.as_bytes::<BinaryType>(), &mut each)?,
            DataType::LargeBinary => rows(piece.as_bytes::<LargeBinaryType>(), &mut each)?,
            other => {
                let why = format!("a piece of type {other} in a column of another type");
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

/// How text adds up along a column, in steps of a mebibyte.
///
/// Step `k` is the greatest number of rows from the start that have at most `k + 1`
/// mebibytes together.
#[derive(Debug, Default)]
pub(super) struct Steps(Vec<u64>);

impl Steps {
    const STEP: u64 = 1 << 20;
    /// Steps that a chunk may have.
    const MOST: usize = (MOST_TEXT >> 20) as usize;

    /// The steps of a column; fails for a row that is too long.
    pub(super) fn of(pieces: &[ArrayRef]) -> Result<Self> {
        let mut steps = Vec::new();
        let (mut row, mut text) = (0_u64, 0_u64);
        for_each(pieces, |cell| {
            let len = cell.map_or(0, <[u8]>::len) as u64;
            if u32::try_from(len).is_err() {
                let why = format!("a text of {len} bytes is over the limit of 4 GiB");
                return Err(
                    Error::refused(Refusal::TextTooLong, why, "shorten the text").in_row(row)
                );
            }
            text += len;
            while text > Self::STEP * (steps.len() as u64 + 1) {
                steps.push(row);
            }
            row += 1;
            Ok(())
        })?;
        Ok(Self(steps))
    }

    /// The last row, without it, that a chunk from `start` on may have.
    fn end(&self, start: u64) -> u64 {
        // So many steps lie before the start, whose text therefore has more than them.
        let before = self.0.partition_point(|&rows| rows < start);
        self.0.get(before + Self::MOST - 1).copied().unwrap_or(u64::MAX)
    }
}

/// The rows of each chunk: as many as fit in every column, at most `most`, and at least
/// one (§4.3).
pub(super) fn chunks(columns: &[Steps], rows: u64, most: u32) -> Vec<u32> {
    let mut chunks = Vec::new();
    let mut start = 0;
    while start < rows {
        let whole = (start + u64::from(most)).min(rows);
        let ends = columns.iter().map(|steps| steps.end(start));
        let end = ends.fold(whole, u64::min).max(start + 1);
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
    use crate::formats::onpair::layout::MOST_ROWS;

    fn chunks(columns: &[Steps], rows: u64) -> Vec<u32> {
        super::chunks(columns, rows, MOST_ROWS)
    }

    fn steps(lengths: &[usize]) -> Steps {
        let texts = lengths.iter().map(|&len| Some("x".repeat(len)));
        Steps::of(&[Arc::new(StringArray::from_iter(texts)) as ArrayRef]).unwrap()
    }

    #[test]
    fn chunks_hold_what_fits_and_at_least_a_row() {
        const MIB: usize = 1 << 20;
        assert_eq!(chunks(&[steps(&[])], 0), [0]);
        assert_eq!(chunks(&[steps(&[5, 5])], 2), [2]);
        // Exactly as much as fits, and a byte more.
        assert_eq!(chunks(&[steps(&[64 * MIB, 0, 0])], 3), [3]);
        assert_eq!(chunks(&[steps(&[64 * MIB, 1])], 2), [1, 1]);
        assert_eq!(chunks(&[steps(&[65 * MIB, 1])], 2), [1, 1]);
        assert_eq!(chunks(&[steps(&[1, 70 * MIB, 1])], 3), [1, 1, 1]);
        assert_eq!(chunks(&[steps(&[31 * MIB; 5])], 5), [2, 2, 1]);
        // The column that is full first decides.
        assert_eq!(chunks(&[steps(&[32 * MIB; 3]), steps(&[1, 64 * MIB, 1])], 3), [1, 1, 1]);
        assert_eq!(chunks(&[Steps::default()], (1 << 21) + 7), [1 << 20, 1 << 20, 7]);
    }
}
