//! Decodes pieces of column chunks (§5.7).
//!
//! Each function takes the content of a piece, how many cells it must have, and the state
//! that the directory of row groups states for its start. A piece with another number of
//! cells, or with another state at its end, is an error.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashSet;

use super::column::{CellBitmap, DecodedColumn, TextColumn, entries};
use super::number::{self, NumberValues, Scale, narrow_sums, unshuffle};
use super::sections::unfit;
use crate::row_buffer::PaddedDict;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};

/// The sum before a piece, and the sum after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PieceSums {
    pub(crate) before: i64,
    pub(crate) after: i64,
}

fn too_few(cells: usize) -> Error {
    unfit(format!("a piece does not have the {cells} cells of its row groups"))
}

/// Decodes a piece of text; in every piece but the last of a chunk, a newline ends each cell.
pub(crate) fn text(piece: &Bytes, cells: usize, is_last: bool) -> Result<DecodedColumn> {
    let text = match (is_last, piece.split_last()) {
        (true, _) => piece.clone(),
        (false, Some((b'\n', cells))) => piece.slice_ref(cells),
        (false, _) => return Err(too_few(cells)),
    };
    let column = TextColumn::new(text);
    if column.cells != cells {
        return Err(too_few(cells));
    }
    Ok(DecodedColumn::Text(column))
}

/// Decodes a piece of deltas.
pub(crate) fn deltas(
    piece: &[u8],
    scale: Option<u8>,
    cells: usize,
    sums: PieceSums,
) -> Result<DecodedColumn> {
    let values = summed(piece, cells, sums)?;
    Ok(DecodedColumn::Numbers { values, scale: scale_of(scale) })
}

/// Removes what comes before the first cell of a chunk, which must be what the directory
/// states.
///
/// Every piece is decoded by what the directory states, but only the first one can tell.
fn without_start(
    piece: &Bytes,
    read: impl FnOnce(&mut StreamCursor<'_>) -> Result<bool>,
) -> Result<Bytes> {
    let mut stream = StreamCursor::new("values", piece);
    match read(&mut stream)? {
        true => Ok(piece.slice_ref(stream.rest())),
        false => Err(unfit("the chunk does not start as the directory states")),
    }
}

/// Removes the scale from the first piece of deltas of decimals.
pub(crate) fn without_scale(piece: &Bytes, scale: u8) -> Result<Bytes> {
    without_start(piece, |stream| Ok(stream.u8("scale")? == scale))
}

/// Removes the subtype, the scale and the number of cells from the first piece of a bitmap.
pub(crate) fn without_subtype(piece: &Bytes, scale: Option<u8>, cells: usize) -> Result<Bytes> {
    without_start(piece, |stream| {
        let is_decimal = stream.u8("subtype")? == 1;
        let found = is_decimal.then(|| stream.u8("scale")).transpose()?;
        Ok(found == scale && stream.size("value count")? == cells)
    })
}

/// Removes the number of all exceptions from the first piece of them.
pub(crate) fn without_exception_count(piece: &Bytes, count: usize) -> Result<Bytes> {
    without_start(piece, |stream| Ok(stream.size("exception count")? == count))
}

/// Removes the number of cells, the minimum and the width from the first piece of the first
/// plane.
pub(crate) fn without_minimum(piece: &Bytes, cells: usize, min: i64, width: u8) -> Result<Bytes> {
    without_start(piece, |stream| {
        Ok(stream.size("value count")? == cells
            && stream.sv("minimum")? == i128::from(min)
            && stream.u8("width")? == width)
    })
}

fn scale_of(scale: Option<u8>) -> Scale {
    scale.map_or(Scale::Whole, |digits| Scale::Digits(digits.into()))
}

fn summed(piece: &[u8], cells: usize, sums: PieceSums) -> Result<NumberValues> {
    let (values, last) = narrow_sums(piece, sums.before, None).ok_or_else(|| too_few(cells))?;
    if values.len() != cells {
        return Err(too_few(cells));
    }
    if sums.after != last {
        return Err(unfit("the sum after a piece is another one"));
    }
    Ok(values)
}

/// Decodes a piece of numbers with exceptions from its bits, its exceptions and its deltas.
pub(crate) fn mixed(
    bits: Bytes,
    cells: usize,
    exceptions: PaddedDict,
    deltas: &[u8],
    scale: Option<u8>,
    sums: PieceSums,
) -> Result<DecodedColumn> {
    let bits = CellBitmap::new(bits, cells);
    let count = bits.ones_before(cells);
    if cells - count != exceptions.len() {
        return Err(unfit("the bits of a piece do not fit its exceptions"));
    }
    let values = summed(deltas, count, sums)?;
    Ok(DecodedColumn::Mixed { values, scale: scale_of(scale), bits, exceptions })
}

/// Reads some of a list of `all` exceptions.
pub(crate) fn exceptions(list: &[u8], wanted: Range<usize>, all: usize) -> Result<PaddedDict> {
    let mut stream = StreamCursor::new("values", list);
    for _ in 0..wanted.start {
        stream.lp("entry")?;
    }
    let found = entries(&mut stream, wanted.len())?;
    for _ in wanted.end..all {
        stream.lp("entry")?;
    }
    // A wrong number of exceptions in another row group would move these.
    if !stream.is_empty() {
        return Err(unfit("a piece has more exceptions than its row groups"));
    }
    Ok(found)
}

/// Reads the head of a dictionary: its number of cells, and its entries.
pub(crate) fn dictionary(head: &[u8]) -> Result<(usize, Arc<PaddedDict>)> {
    let mut stream = StreamCursor::new("values", head);
    let cells = stream.size("value count")?;
    let count = stream.count(1, "entry count")?;
    let entries = entries(&mut stream, count)?;
    if !stream.is_empty() {
        return Err(stream.malformed("dictionary", "does not end where its block ends"));
    }
    Ok((cells, Arc::new(entries)))
}

/// Returns the dictionary of a whole chunk.
pub(crate) fn dictionary_of_chunk(chunk: &[u8]) -> Result<Arc<PaddedDict>> {
    let mut stream = StreamCursor::new("values", chunk);
    stream.size("value count")?;
    let count = stream.count(1, "entry count")?;
    Ok(Arc::new(entries(&mut stream, count)?))
}

/// Decodes a piece of indexes into a dictionary.
pub(crate) fn indexes(
    piece: &[u8],
    cells: usize,
    entries: &Arc<PaddedDict>,
) -> Result<DecodedColumn> {
    if cells > piece.len() {
        return Err(too_few(cells));
    }
    let found = number::indexes(piece, cells).filter(|(_, _, rest)| rest.is_empty());
    let Some((ids, most, _)) = found else { return Err(too_few(cells)) };
    if cells > 0 && usize::try_from(most).map_or(true, |most| most >= entries.len()) {
        let why = format!("{most} is out of range: the dictionary has {} entries", entries.len());
        return Err(Error::malformed("index", why));
    }
    Ok(DecodedColumn::Dict { ids, entries: entries.clone() })
}

/// Decodes the pieces of all planes of a column.
pub(crate) fn planes(planes: &[&[u8]], min: i64, cells: usize) -> Result<DecodedColumn> {
    if planes.iter().any(|plane| plane.len() != cells) {
        return Err(too_few(cells));
    }
    let values = unshuffle(min.into(), planes.len(), cells, &planes.concat());
    let values = values.ok_or_else(|| Error::malformed("minimum", "leads beyond 128 bits"))?;
    Ok(DecodedColumn::Numbers { values, scale: Scale::Whole })
}

/// Derives a column from the cells of a column with a dictionary, whose entries have these
/// ranks by first appearance; `u32::MAX` for one that never appears.
pub(crate) fn derived(
    source: &[u32],
    ranks: &[u32],
    map: &Arc<PaddedDict>,
) -> Result<DecodedColumn> {
    let rank = |&id: &u32| {
        let rank = ranks.get(id as usize).copied()?;
        ((rank as usize) < map.len()).then_some(rank)
    };
    let ids: Option<Vec<u32>> = source.iter().map(rank).collect();
    let ids = ids.ok_or_else(|| unfit("an entry of a source has no entry in the map"))?;
    Ok(DecodedColumn::Dict { ids, entries: map.clone() })
}

/// Returns whether two entries of a dictionary that have a rank are the same.
pub(crate) fn has_twins(entries: &PaddedDict, ranks: &[u32]) -> bool {
    let mut seen = HashSet::with_capacity(entries.len());
    let mut ranked = ranks.iter().enumerate().filter(|(_, rank)| **rank != u32::MAX);
    ranked.any(|(index, _)| entries.get(index).is_some_and(|entry| !seen.insert(entry.bytes())))
}

/// Numbers the distinct entries of a map in order: the rank of each by first appearance.
pub(crate) fn ranks_of_map(map: &PaddedDict) -> Vec<u32> {
    let ids = (0..map.len()).map(|id| u32::try_from(id).unwrap_or(u32::MAX)).collect();
    let column = DecodedColumn::Dict { ids, entries: Arc::new(map.clone()) };
    column.distinct(usize::MAX).unwrap_or_default()
}

/// Reads the map of a DERIVED chunk: the source column, and the entries.
pub(crate) fn map(chunk: &[u8]) -> Result<(usize, Arc<PaddedDict>)> {
    let mut stream = StreamCursor::new("values", chunk);
    let source = stream.size("source column")?;
    let count = stream.count(1, "map size")?;
    Ok((source, Arc::new(entries(&mut stream, count)?)))
}
