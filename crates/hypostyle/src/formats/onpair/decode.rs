//! Decodes a column chunk to an array of all rows, or of some (§5).

use std::sync::Arc;

use arrow_array::{ArrayRef, GenericBinaryArray, GenericStringArray, OffsetSizeTrait};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use hypostyle_onpair::Column;

use super::bounds::ChunkBounds;
use super::column_chunk::{ChunkSection, ColumnChunk};
use super::encoded_chunk::{EncodedChunk, EncodedValues, PlainValues};
use super::schema::StringType;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::row_selection::RowSelection;

/// Decodes all rows; errors count rows from the start of the chunk.
///
/// Checks everything that §5 says about a column chunk and, if `thorough`, the bounds of §4.4.
pub(super) fn all_rows<O: OffsetSizeTrait>(
    chunk: &ColumnChunk,
    encoded: &EncodedChunk<'_>,
    string_type: StringType,
    thorough: bool,
) -> Result<ArrayRef> {
    let EncodedChunk { nulls, values, indexes, values_offset, .. } = encoded;
    let values = match values {
        EncodedValues::Plain(values) => values.clone(),
        EncodedValues::Codes(column) => decode_values(chunk, column, *values_offset)?,
    };
    if chunk.indexed {
        check_order(&values, chunk)?;
    }
    let bounds = || ChunkBounds::of((0..values.len()).map(|index| values.get(index)));
    if thorough && chunk.bounds != bounds() {
        let err = Error::malformed("bounds", "differ from those of the values");
        return Err(err.at(chunk.entry_offset));
    }
    let (offsets, bytes) = match indexes {
        Some(indexes) => repeat_by_index::<O>(chunk, &values, indexes, nulls.as_ref())?,
        None => one_per_row::<O>(chunk, values, nulls.as_ref()),
    };
    array(offsets, bytes, nulls.clone(), string_type).map_err(|err| err.at(chunk.offset))
}

/// Decodes the selected rows, all of which the chunk must have, and checks no others.
pub(super) fn selected_rows<O: OffsetSizeTrait>(
    encoded: &EncodedChunk<'_>,
    rows: &RowSelection,
    string_type: StringType,
) -> Result<ArrayRef> {
    let EncodedChunk { text_len, values, values_offset, .. } = encoded;
    let indexes = encoded.value_indexes(rows);
    // Check before allocating: some rows cannot have more text than all rows.
    let len = indexes
        .iter()
        .fold(0, |len: u64, &index| len.saturating_add(values.value_len(index) as u64));
    if len > *text_len {
        let why = format!("some decode to {len} bytes of text, but all have {text_len}");
        return Err(Error::malformed("rows", why).at(*values_offset));
    }
    let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(indexes.len()));
    match values {
        EncodedValues::Plain(values) => indexes.iter().for_each(|&index| {
            bytes.extend_from_slice(values.get(index));
            ends.push(bytes.len());
        }),
        EncodedValues::Codes(column) => {
            let taken = column.take(&indexes, &mut bytes, &mut ends);
            taken.map_err(|err| Error::malformed("codes", err.to_string()).at(*values_offset))?;
        }
    }
    let nulls = encoded.nulls.as_ref().map(|nulls| select_nulls(nulls, rows));
    let offsets = row_offsets::<O>(rows.len(), ends.into_iter(), 0, nulls.as_ref());
    let array = array(offsets, Buffer::from_vec(bytes), nulls, string_type);
    array.map_err(|err| match err.row().and_then(|row| usize::try_from(row).ok()) {
        Some(row) => err.at_row(rows.iter().nth(row).unwrap_or(row) as u64).at(*values_offset),
        None => err.at(*values_offset),
    })
}

fn select_nulls(nulls: &NullBuffer, rows: &RowSelection) -> NullBuffer {
    let mut selected = BooleanBufferBuilder::new(rows.len());
    for run in rows.runs() {
        selected.append_buffer(&nulls.inner().slice(run.start, run.len()));
    }
    NullBuffer::new(selected.finish())
}

/// Decodes all values of a chunk that stores codes, and checks their lengths.
fn decode_values(chunk: &ColumnChunk, column: &Column<'_>, at: u64) -> Result<PlainValues> {
    let offsets = column.decoded_offsets();
    // Check before allocating: distinct values cannot have more text than all rows.
    let len = offsets.last().copied().unwrap_or(0);
    let text_len = u64::from(chunk.text_len);
    if len > text_len || (!chunk.indexed && len != text_len) {
        let why = format!("decode to {len} bytes of text where the entry declares {text_len}");
        return Err(Error::malformed("codes", why).at(at));
    }
    let offsets: Vec<u32> =
        offsets.into_iter().map(|offset| u32::try_from(offset).unwrap_or(u32::MAX)).collect();
    if let Some(lengths) = &column.parts().row_lengths {
        let pairs = offsets.windows(2).zip(lengths.iter());
        let wrong = pairs.enumerate().find(|(_, (pair, length))| match pair {
            [start, end] => end - start != **length,
            _ => true,
        });
        if let Some((value, _)) = wrong {
            let why = format!("that of value {value} differs from its decoded length");
            let what = chunk.section_name(ChunkSection::Lengths);
            let at = chunk.section_offset(ChunkSection::Lengths);
            return Err(Error::malformed(what, why).at(at));
        }
    }
    let bytes = column.decode();
    let bytes = bytes.map_err(|err| Error::malformed("codes", err.to_string()).at(at))?;
    Ok(PlainValues { offsets, bytes: bytes.into() })
}

/// Checks that distinct values are in ascending order.
fn check_order(values: &PlainValues, chunk: &ColumnChunk) -> Result<()> {
    let wrong = (1..values.len()).find(|&index| values.get(index - 1) >= values.get(index));
    match wrong {
        Some(index) => {
            let why = format!("value {index} is not greater than the one before");
            let what = chunk.section_name(ChunkSection::Values);
            let at = chunk.section_offset(ChunkSection::Values);
            Err(Error::malformed(what, why).at(at))
        }
        None => Ok(()),
    }
}

/// Returns an Arrow offset; a chunk has at most 4 GiB of text, so it fits.
fn offset<O: OffsetSizeTrait>(at: usize) -> O {
    O::from_usize(at).unwrap_or_default()
}

/// Returns the Arrow offsets of all rows, given the ends of the rows that are not null.
fn row_offsets<O: OffsetSizeTrait>(
    rows: usize,
    mut ends: impl Iterator<Item = usize>,
    start: usize,
    nulls: Option<&NullBuffer>,
) -> Vec<O> {
    let mut offsets = Vec::with_capacity(rows.saturating_add(1));
    offsets.push(offset(start));
    match nulls {
        None => offsets.extend(ends.map(offset::<O>)),
        Some(nulls) => {
            let mut at = start;
            for valid in nulls {
                if valid {
                    at = ends.next().unwrap_or(at);
                }
                offsets.push(offset(at));
            }
        }
    }
    offsets
}

/// Returns offsets and bytes where each row that is not null has a value of its own.
fn one_per_row<O: OffsetSizeTrait>(
    chunk: &ColumnChunk,
    values: PlainValues,
    nulls: Option<&NullBuffer>,
) -> (Vec<O>, Buffer) {
    let PlainValues { offsets, bytes } = values;
    let mut ends = offsets.into_iter().map(|at| at as usize);
    let start = ends.next().unwrap_or(0);
    (row_offsets(chunk.rows as usize, ends, start, nulls), Buffer::from(bytes))
}

/// Returns offsets and bytes where each row that is not null has the value at its index.
fn repeat_by_index<O: OffsetSizeTrait>(
    chunk: &ColumnChunk,
    values: &PlainValues,
    indexes: &[u32],
    nulls: Option<&NullBuffer>,
) -> Result<(Vec<O>, Buffer)> {
    let at = chunk.section_offset(ChunkSection::Indexes);
    // Add up the text of all rows before allocating memory for it.
    let mut used = vec![false; values.len()];
    let mut text_len = 0_u64;
    for &index in indexes {
        used.get_mut(index as usize).into_iter().for_each(|used| *used = true);
        text_len += values.get(index as usize).len() as u64;
    }
    if text_len != u64::from(chunk.text_len) {
        let declared = chunk.text_len;
        let why = format!("decode to {text_len} bytes of text where the entry declares {declared}");
        return Err(Error::malformed("indexes", why).at(at));
    }
    if let Some(unused) = used.iter().position(|&used| !used) {
        let why = format!("no row has value {unused}");
        return Err(Error::malformed("indexes", why).at(at));
    }
    let mut bytes = Vec::with_capacity(chunk.text_len as usize);
    let ends = indexes.iter().map(|&index| {
        bytes.extend_from_slice(values.get(index as usize));
        bytes.len()
    });
    let offsets = row_offsets(chunk.rows as usize, ends, 0, nulls);
    Ok((offsets, Buffer::from_vec(bytes)))
}

/// Returns an array of strings from Arrow offsets and bytes.
///
/// Fails for text that is not UTF-8, with its row.
pub(super) fn array<O: OffsetSizeTrait>(
    offsets: Vec<O>,
    bytes: Buffer,
    nulls: Option<NullBuffer>,
    string_type: StringType,
) -> Result<ArrayRef> {
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    if string_type == StringType::Binary {
        return Ok(Arc::new(GenericBinaryArray::<O>::try_new(offsets, bytes, nulls)?));
    }
    let (row_offsets, text) = (offsets.clone(), bytes.clone());
    if let Ok(array) = GenericStringArray::<O>::try_new(offsets, bytes, nulls) {
        return Ok(Arc::new(array));
    }
    let bad_row = row_offsets.windows(2).position(|pair| match pair {
        &[start, end] => {
            let row = text.get(start.as_usize()..end.as_usize());
            std::str::from_utf8(row.unwrap_or_default()).is_err()
        }
        _ => true,
    });
    let err = Error::malformed("text", "is not UTF-8");
    Err(match bad_row {
        Some(row) => err.in_row(row as u64),
        None => err,
    })
}
