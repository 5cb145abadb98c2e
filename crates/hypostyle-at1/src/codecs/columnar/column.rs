//! Decodes the column chunks of each type (§5.2).

use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;
use memchr::memchr_iter;

use super::kind::{DEC, DICT, INT, NUMEXC, SHUF, TEXT};
use super::number::{NumberCursor, NumberValues, Scale, indexes, sums, unshuffle};
use crate::row_buffer::{PaddedDict, RowBuffer};
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, ErrorKind, Result};

/// A column whose cells can be read from any index on.
#[derive(Debug)]
pub(crate) enum DecodedColumn {
    /// Cells with a newline between them.
    Text(TextColumn),
    /// Numbers.
    Numbers { values: NumberValues, scale: Scale },
    /// Numbers and exceptions; a bit of each cell says whether it is a number.
    Mixed { values: NumberValues, scale: Scale, bits: CellBitmap, exceptions: PaddedDict },
    /// Indexes into a dictionary.
    Dict { ids: Vec<u32>, entries: Arc<PaddedDict> },
}

/// A list of cells with an index by which a cell is found quickly.
#[derive(Debug)]
pub(crate) struct TextColumn {
    pub(super) bytes: Bytes,
    pub(super) cells: usize,
    /// The number of newlines before each block of [`TextColumn::BLOCK_BYTES`] bytes.
    before: Vec<usize>,
}

impl TextColumn {
    const BLOCK_BYTES: usize = 4096;

    pub(super) fn new(bytes: Bytes) -> Self {
        let mut newlines = 0;
        let mut before = Vec::with_capacity(bytes.len().div_ceil(Self::BLOCK_BYTES));
        for block in bytes.chunks(Self::BLOCK_BYTES) {
            before.push(newlines);
            newlines += memchr_iter(b'\n', block).count();
        }
        Self { bytes, cells: newlines + 1, before }
    }

    /// Returns the list from a cell on; `None` after the last cell.
    fn from(&self, cell: usize) -> Option<&[u8]> {
        let Some(newline) = cell.checked_sub(1) else { return Some(&self.bytes) };
        // The newline before the cell is in the last block with fewer newlines before it.
        let block = self.before.partition_point(|&before| before <= newline).checked_sub(1)?;
        let start = block.saturating_mul(Self::BLOCK_BYTES);
        let rest = self.bytes.get(start..)?;
        let at = memchr_iter(b'\n', rest).nth(newline - self.before.get(block)?)?;
        rest.get(at + 1..)
    }

    fn cells(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.split(|&byte| byte == b'\n')
    }

    /// Returns some cells, with a newline between two cells.
    pub(super) fn between(&self, cells: Range<usize>) -> &[u8] {
        let Some(rest) = self.from(cells.start).filter(|_| !cells.is_empty()) else { return &[] };
        let after = match cells.end < self.cells {
            // The newline before the next cell is not part of the last one.
            true => self.from(cells.end).map_or(0, |after| after.len() + 1),
            false => 0,
        };
        rest.get(..rest.len().saturating_sub(after)).unwrap_or_default()
    }
}

/// A bit for each cell, least significant first.
#[derive(Debug)]
pub(crate) struct CellBitmap {
    bytes: Bytes,
    cells: usize,
    /// The number of set bits before each block of [`CellBitmap::BLOCK_BYTES`] bytes.
    before: Vec<usize>,
}

impl CellBitmap {
    const BLOCK_BYTES: usize = 512;

    pub(super) fn new(bytes: Bytes, cells: usize) -> Self {
        let mut set = 0;
        let mut before = Vec::with_capacity(bytes.len() / Self::BLOCK_BYTES + 1);
        for block in bytes.chunks(Self::BLOCK_BYTES) {
            before.push(set);
            set += ones(block, block.len() * 8);
        }
        before.push(set);
        Self { bytes, cells, before }
    }

    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        self.cells
    }

    /// The bits.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the bits of 64 cells from `cell` on, the first one lowest.
    pub(super) fn next_64(&self, cell: usize) -> u64 {
        let mut bytes = [0; 16];
        let rest = self.bytes.get(cell / 8..).unwrap_or_default();
        for (byte, &there) in bytes.iter_mut().zip(rest).take(9) {
            *byte = there;
        }
        let bits = u128::from_le_bytes(bytes) >> (cell % 8);
        u64::try_from(bits & u128::from(u64::MAX)).unwrap_or_default()
    }

    /// Returns the number of set bits before a cell.
    pub(super) fn ones_before(&self, cell: usize) -> usize {
        let cell = cell.min(self.cells);
        let block = cell / 8 / Self::BLOCK_BYTES;
        let rest = self.bytes.get(block * Self::BLOCK_BYTES..).unwrap_or_default();
        let before = self.before.get(block).copied().unwrap_or_default();
        before + ones(rest, cell - block * Self::BLOCK_BYTES * 8)
    }
}

/// Reads entries, each after its length.
pub(super) fn entries(stream: &mut StreamCursor<'_>, count: usize) -> Result<PaddedDict> {
    let mut entries = PaddedDict::default();
    for _ in 0..count {
        entries.push(stream.lp("entry")?);
    }
    Ok(entries)
}

/// Decodes a chunk of any type but DERIVED; reports deviations to `note`.
pub(super) fn decode(
    kind: u8,
    chunk: &Bytes,
    note: impl Fn(&'static str, &str) -> Result<()>,
) -> Result<DecodedColumn> {
    let mut stream = StreamCursor::new("values", chunk);
    let (column, wide) = match kind {
        TEXT => (DecodedColumn::Text(TextColumn::new(chunk.clone())), false),
        INT => {
            let (values, wide) = sums(&mut stream, None)?;
            (DecodedColumn::Numbers { values, scale: Scale::Whole }, wide)
        }
        DEC => {
            let scale = Scale::read(&mut stream)?;
            let (values, wide) = sums(&mut stream, None)?;
            (DecodedColumn::Numbers { values, scale }, wide)
        }
        NUMEXC => mixed(&mut stream)?,
        DICT => (dict(&mut stream)?, false),
        SHUF => shuffled(&mut stream)?,
        other => return Err(Error::malformed("column type", format!("{other} is over {SHUF}"))),
    };
    if wide {
        note("A11", "has numbers of more than 64 bits")?;
    }
    if let DecodedColumn::Numbers { scale, .. } | DecodedColumn::Mixed { scale, .. } = &column
        && *scale == Scale::Digits(0)
    {
        note("A10", "has decimals without a digit after the point, printed as `5.`")?;
    }
    Ok(column)
}

fn mixed(stream: &mut StreamCursor<'_>) -> Result<(DecodedColumn, bool)> {
    let at = stream.clone();
    let scale = match stream.u8("subtype")? {
        0 => Scale::Whole,
        1 => Scale::read(stream)?,
        other => return Err(at.malformed("subtype", format!("{other} is neither 0 nor 1"))),
    };
    let at = stream.clone();
    let count = stream.size("value count")?;
    if count > at.left().saturating_mul(8) {
        return Err(at.malformed("value count", "is more than the bitmap can hold"));
    }
    let bits = Bytes::copy_from_slice(stream.take(count.div_ceil(8), "bitmap")?);
    let bits = CellBitmap::new(bits, count);
    let at = stream.clone();
    let exceptions = stream.count(1, "exception count")?;
    if exceptions > count {
        return Err(at.malformed("exception count", "is more than there are values"));
    }
    let exceptions = entries(stream, exceptions)?;
    let numbers = bits.ones_before(count);
    let (values, wide) = sums(stream, Some(numbers))?;
    if count - numbers > exceptions.len() {
        return Err(stream.malformed("exception", "is missing: the list has ended"));
    }
    Ok((DecodedColumn::Mixed { values, scale, bits, exceptions }, wide))
}

fn dict(stream: &mut StreamCursor<'_>) -> Result<DecodedColumn> {
    let at = stream.clone();
    let count = stream.size("value count")?;
    let entries = stream.count(1, "entry count")?;
    let entries = self::entries(stream, entries)?;
    if count > stream.left() {
        return Err(at.malformed("value count", "is more than the bytes that follow can hold"));
    }
    let dict_len = entries.len();
    let found = indexes(stream.clone().rest(), count);
    let is_known = |most: u64| count == 0 || usize::try_from(most).is_ok_and(|it| it < dict_len);
    let is_wrong = found.as_ref().is_none_or(|&(_, most, _)| !is_known(most));
    if is_wrong || u32::try_from(dict_len).is_err() {
        // Read the indexes one by one to find the error.
        for _ in 0..count {
            let at = stream.clone();
            let id = stream.uv("index")?;
            if usize::try_from(id).map_or(true, |id| id >= dict_len) {
                return Err(at.malformed(
                    "index",
                    format!("{id} is out of range: the dictionary has {dict_len} entries"),
                ));
            }
        }
    }
    let ids = found.map(|(ids, _, _)| ids).unwrap_or_default();
    Ok(DecodedColumn::Dict { ids, entries: Arc::new(entries) })
}

fn shuffled(stream: &mut StreamCursor<'_>) -> Result<(DecodedColumn, bool)> {
    let count = stream.size("value count")?;
    let before_min = stream.offset();
    let min = stream.sv("minimum")?;
    let at = stream.clone();
    let width = match stream.u8("width")? {
        width @ 1..=8 => usize::from(width),
        width => return Err(at.malformed("width", format!("{width} is not 1 to 8"))),
    };
    let len = width.checked_mul(count).filter(|&len| len <= stream.left());
    let Some(len) = len else {
        let why = format!("{count} values of {width} bytes are more than the chunk holds");
        return Err(at.malformed("value count", why));
    };
    let planes = stream.take(len, "byte planes")?;
    let values = unshuffle(min, width, count, planes)
        .ok_or_else(|| stream.malformed_at(before_min, "minimum", "leads beyond 128 bits"))?;
    let wide = matches!(values, NumberValues::Wide(_));
    Ok((DecodedColumn::Numbers { values, scale: Scale::Whole }, wide))
}

/// Decodes a DERIVED chunk; `before` returns a column before it.
pub(super) fn derive<'c>(
    chunk: &Bytes,
    before: impl FnOnce(usize) -> Option<&'c DecodedColumn>,
    budget: &mut DerivedBudget,
) -> Result<DecodedColumn> {
    let mut stream = StreamCursor::new("values", chunk);
    let at = stream.clone();
    let source = stream.size("source column")?;
    let Some(source) = before(source) else {
        let why = format!("column {} is not before this one", source.saturating_add(1));
        return Err(at.malformed("source column", why));
    };
    let count = stream.count(1, "map size")?;
    let entries = entries(&mut stream, count)?;
    budget.spend((source.len() as u64).saturating_mul(size_of::<u32>() as u64))?;
    let ids = source.distinct(entries.len());
    let ids = ids.ok_or_else(|| {
        stream.malformed("map size", "is less than the number of distinct values of the source")
    })?;
    Ok(DecodedColumn::Dict { ids, entries: Arc::new(entries) })
}

/// The memory that derived columns may take together.
///
/// A few bytes of the file produce a column as long as its source, so the size of the file
/// does not bound them.
#[derive(Debug)]
pub(super) struct DerivedBudget {
    spent: u64,
    limit: u64,
}

impl DerivedBudget {
    /// Returns a budget of `limit` bytes.
    pub(super) fn new(limit: u64) -> Self {
        Self { spent: 0, limit }
    }

    /// Fails if `bytes` more exceed the limit.
    fn spend(&mut self, bytes: u64) -> Result<()> {
        self.spent = self.spent.saturating_add(bytes);
        let (what, asked, limit) = ("size of derived columns", self.spent, self.limit);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }
}

impl DecodedColumn {
    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text(text) => text.cells,
            Self::Numbers { values, .. } => values.len(),
            Self::Mixed { bits, .. } => bits.cells,
            Self::Dict { ids, .. } => ids.len(),
        }
    }

    /// Returns the cells from `start` on.
    pub(super) fn from(&self, start: usize) -> CellCursor<'_> {
        match self {
            Self::Text(text) => CellCursor::Text(text.from(start)),
            Self::Numbers { values, scale } => CellCursor::Numbers(values.from(start), *scale),
            Self::Mixed { values, scale, bits, exceptions } => {
                let start = start.min(bits.cells);
                let numbers = bits.ones_before(start);
                CellCursor::Mixed {
                    numbers: values.from(numbers),
                    scale: *scale,
                    next: start..bits.cells,
                    bits: &bits.bytes,
                    exceptions,
                    exception: start - numbers,
                }
            }
            Self::Dict { ids, entries } => {
                CellCursor::Dict(ids.get(start..).unwrap_or_default(), entries)
            }
        }
    }

    /// Numbers the distinct cells in the order in which they first appear; `None` if there
    /// are more than `max_distinct`.
    ///
    /// Hashes the cells, so that the time does not depend on the number of distinct values,
    /// and compares numbers without printing them where possible.
    pub(super) fn distinct(&self, max_distinct: usize) -> Option<Vec<u32>> {
        match self {
            Self::Numbers { values: NumberValues::Tiny(values), .. } => {
                let keys = values.iter().map(|&value| usize::from(value.cast_unsigned()));
                number_below(1 << 16, keys, max_distinct)
            }
            Self::Numbers { values: NumberValues::Small(values), .. } => {
                number(values.iter(), max_distinct)
            }
            Self::Numbers { values: NumberValues::Narrow(values), .. } => {
                number(values.iter(), max_distinct)
            }
            Self::Numbers { values: NumberValues::Wide(values), .. } => {
                number(values.iter(), max_distinct)
            }
            Self::Dict { ids, entries } => {
                // Two entries may have the same text.
                let mut first_ids: HashMap<&[u8], u32> = HashMap::new();
                let mut same = Vec::with_capacity(entries.len());
                for id in 0..entries.len() {
                    let next = u32::try_from(id).ok()?;
                    same.push(*first_ids.entry(entries.get(id)?.bytes()).or_insert(next));
                }
                // An id without an entry has no text, so it must not be numbered.
                let key = |&id: &u32| same.get(id as usize).map_or(usize::MAX, |&id| id as usize);
                number_below(same.len(), ids.iter().map(key), max_distinct)
            }
            Self::Text(text) => number(text.cells(), max_distinct),
            Self::Mixed { bits, .. } => {
                let mut cells = self.from(0);
                let mut buffer = RowBuffer::default();
                let cells = (0..bits.cells).map(|_| {
                    buffer.clear();
                    cells.put(&mut buffer);
                    buffer.text().to_vec()
                });
                number(cells, max_distinct)
            }
        }
    }
}

/// A cursor over the cells of a column.
#[derive(Clone, Debug)]
pub(super) enum CellCursor<'a> {
    Text(Option<&'a [u8]>),
    Numbers(NumberCursor<'a>, Scale),
    Mixed {
        numbers: NumberCursor<'a>,
        scale: Scale,
        next: Range<usize>,
        bits: &'a [u8],
        exceptions: &'a PaddedDict,
        exception: usize,
    },
    Dict(&'a [u32], &'a PaddedDict),
}

impl CellCursor<'_> {
    /// Appends the next cell; `false` if there is none.
    #[inline]
    pub(super) fn put(&mut self, buffer: &mut RowBuffer) -> bool {
        match self {
            Self::Numbers(numbers, scale) => numbers.put(*scale, buffer),
            Self::Text(list) => buffer.line(list),
            Self::Dict(ids, entries) => {
                let Some((&id, rest)) = ids.split_first() else { return false };
                *ids = rest;
                let Some(entry) = entries.get(id as usize) else { return false };
                buffer.entry(entry);
                true
            }
            Self::Mixed { numbers, scale, next, bits, exceptions, exception } => {
                let Some(cell) = next.next() else { return false };
                if bit(bits, cell) {
                    return numbers.put(*scale, buffer);
                }
                let Some(entry) = exceptions.get(*exception) else { return false };
                *exception += 1;
                buffer.entry(entry);
                true
            }
        }
    }
}

/// Numbers distinct keys in the order in which they first appear.
fn number<K: Hash + Eq>(keys: impl Iterator<Item = K>, max_distinct: usize) -> Option<Vec<u32>> {
    let mut seen: HashMap<K, u32> = HashMap::new();
    let mut ids = Vec::with_capacity(keys.size_hint().0);
    for key in keys {
        let next = seen.len();
        let id = *seen.entry(key).or_insert(u32::try_from(next).ok()?);
        if id as usize >= max_distinct {
            return None;
        }
        ids.push(id);
    }
    Some(ids)
}

/// Numbers distinct keys below `end` in the order in which they first appear.
///
/// Returns `None` if a key is not below `end` or if there are more than `max_distinct`.
fn number_below(
    end: usize,
    keys: impl Iterator<Item = usize>,
    max_distinct: usize,
) -> Option<Vec<u32>> {
    const UNSEEN: u32 = u32::MAX;
    let mut seen = vec![UNSEEN; end];
    let mut distinct = 0;
    let mut ids = Vec::with_capacity(keys.size_hint().0);
    for key in keys {
        let id = seen.get_mut(key)?;
        if *id == UNSEEN {
            if distinct as usize >= max_distinct || distinct == UNSEEN {
                return None;
            }
            *id = distinct;
            distinct += 1;
        }
        ids.push(*id);
    }
    Some(ids)
}

/// Returns a bit of a bitmap, least significant first.
#[inline]
pub(super) fn bit(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}

/// Counts how many of the first `end` bits are set.
pub(super) fn ones(bits: &[u8], end: usize) -> usize {
    let (whole, rest) = bits.split_at_checked(end / 8).unwrap_or((bits, &[]));
    let part = rest.first().map_or(0, |byte| byte & !(0xFF << (end % 8)));
    let count = |byte: &u8| byte.count_ones() as usize;
    whole.iter().map(count).sum::<usize>() + count(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_a_long_list_is_found_by_its_number() {
        for cell in ["", "x", "some text", &"long ".repeat(1000)] {
            let mut cells: Vec<String> = (0..3000).map(|i| format!("{cell}{i}")).collect();
            if cell.is_empty() {
                cells.iter_mut().for_each(String::clear);
            }
            let text = TextColumn::new(Bytes::from(cells.join("\n")));
            assert_eq!(text.cells, cells.len());
            for index in (0..cells.len()).step_by(7).chain([1, 2, 2998, 2999]) {
                let rest = text.from(index).unwrap();
                let found = rest.split(|&byte| byte == b'\n').next().unwrap();
                assert_eq!(found, cells[index].as_bytes(), "{index}");
            }
            assert_eq!(text.from(cells.len()), None);
            assert_eq!(text.from(cells.len() + 5000), None);
        }
    }

    #[test]
    fn ones_are_counted_up_to_any_bit() {
        let bits = [0b1010_0101, 0xFF, 0, 0b1];
        for end in 0..=32 {
            assert_eq!(ones(&bits, end), (0..end).filter(|&index| bit(&bits, index)).count());
        }
        let bytes = bits.repeat(1000);
        let long = CellBitmap::new(Bytes::from(bytes.clone()), 31_990);
        let mut set = 0;
        for index in 0..31_990 {
            assert_eq!(long.ones_before(index), set);
            let next = long.next_64(index);
            assert!((0..64).all(|more| (next >> more & 1 == 1) == bit(&bytes, index + more)));
            set += usize::from(bit(&bytes, index));
        }
        assert_eq!(long.ones_before(40_000), set);
    }
}
