//! Where the row groups of a column chunk start, and the state that decoding starts with
//! there (§5.7).

use super::kind::{DEC, DICT, INT, NUMEXC, SHUF, TEXT};
use super::number::numbers;
use crate::streams::StreamCursor;
use hypostyle_core::error::{Error, Result};

/// The row groups of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowGroups {
    /// Structured lines of the frame.
    pub(crate) cells: usize,
    /// Structured lines of each row group but the last; not 0.
    pub(crate) rows: usize,
}

impl RowGroups {
    /// Returns the number of row groups.
    pub(crate) fn count(self) -> usize {
        self.cells.div_ceil(self.rows.max(1))
    }

    /// Returns the structured lines before a row group.
    pub(crate) fn before(self, group: usize) -> usize {
        self.rows.saturating_mul(group).min(self.cells)
    }

    /// Returns the structured lines of some row groups.
    pub(crate) fn cells_between(self, first: usize, end: usize) -> usize {
        self.before(end) - self.before(first.min(end))
    }
}

/// A column chunk, divided at row group borders.
#[derive(Debug, PartialEq)]
pub(crate) struct ChunkSections {
    /// The bytes of the head, which every row group needs.
    pub(crate) head: usize,
    /// For each section the offset at which each row group starts, and the end of the last
    /// one. What comes before the first cell of a section belongs to its first row group.
    pub(crate) borders: Vec<Vec<usize>>,
    pub(crate) state: GroupStates,
}

/// What a decoder must know at the start of each row group.
#[derive(Debug, PartialEq)]
pub(crate) enum GroupStates {
    /// Cells as text: nothing.
    Text,
    /// Numbers: the scale of decimals, the sum before each row group, and the sum after the
    /// last one.
    Sums { scale: Option<u8>, sums: Vec<i64> },
    /// Numbers with exceptions: the number of these before each row group too, and in all.
    Mixed { scale: Option<u8>, sums: Vec<i64>, exceptions: Vec<usize> },
    /// Indexes, which need no state.
    Dict,
    /// Planes: the smallest value, and the number of planes.
    Planes { min: i64, width: u8 },
}

impl GroupStates {
    /// Keeps the sums before each piece of `span` row groups, and the last one.
    pub(crate) fn by_piece(self, span: usize, groups: RowGroups) -> Self {
        let by_piece = |sums: Vec<i64>| {
            let last = sums.last().copied();
            let before = sums.into_iter().take(groups.count()).step_by(span.max(1));
            before.chain(last).collect()
        };
        match self {
            Self::Sums { scale, sums } => Self::Sums { scale, sums: by_piece(sums) },
            Self::Mixed { scale, sums, exceptions } => {
                Self::Mixed { scale, sums: by_piece(sums), exceptions }
            }
            other => other,
        }
    }
}

impl ChunkSections {
    /// Divides a chunk; returns `None` for a type that is never cut, and for a chunk that has
    /// another number of cells or numbers of more than 64 bits.
    ///
    /// # Errors
    ///
    /// Fails if the chunk is malformed.
    pub(crate) fn of(kind: u8, chunk: &[u8], groups: RowGroups) -> Result<Option<Self>> {
        let mut stream = StreamCursor::new("values", chunk);
        let each = |group| groups.cells_between(group, group + 1);
        let counts = || (0..groups.count()).map(each);
        Ok(match kind {
            TEXT => {
                let borders = line_borders(chunk, counts());
                borders.map(|cells| Self::without_head(vec![cells], GroupStates::Text))
            }
            INT => number_sections(&mut stream, None, counts())?,
            DEC => {
                let scale = stream.u8("scale")?;
                number_sections(&mut stream, Some(scale), counts())?
            }
            NUMEXC => mixed_sections(&mut stream, groups)?,
            DICT => {
                let count = stream.size("value count")?;
                let entries = stream.count(1, "entry count")?;
                for _ in 0..entries {
                    stream.lp("entry")?;
                }
                let head = offset(&stream);
                let borders = number_borders(stream.rest(), head, counts());
                let state = GroupStates::Dict;
                let sections = borders.map(|borders| Self { head, borders: vec![borders], state });
                sections.filter(|_| count == groups.cells)
            }
            SHUF => shuffled_sections(&mut stream, groups)?,
            _ => None,
        })
    }

    fn without_head(borders: Vec<Vec<usize>>, state: GroupStates) -> Self {
        Self { head: 0, borders, state }
    }
}

fn offset(stream: &StreamCursor<'_>) -> usize {
    usize::try_from(stream.offset()).unwrap_or(usize::MAX)
}

/// Divides a list of lines; `None` unless it has as many as all groups together.
fn line_borders(list: &[u8], counts: impl Iterator<Item = usize>) -> Option<Vec<usize>> {
    let mut borders = vec![0];
    let mut newlines = memchr::memchr_iter(b'\n', list);
    let mut counts = counts.peekable();
    while let Some(count) = counts.next() {
        if counts.peek().is_some() {
            borders.push(newlines.nth(count.checked_sub(1)?)? + 1);
        } else {
            // No newline follows the last line.
            let others = newlines.by_ref().count();
            borders.push(list.len());
            (others + 1 == count).then_some(())?;
        }
    }
    Some(borders)
}

/// Divides varints that start at an offset of the chunk; `None` unless there are as many as
/// all groups together.
fn number_borders(
    bytes: &[u8],
    start: usize,
    counts: impl Iterator<Item = usize>,
) -> Option<Vec<usize>> {
    let mut borders = vec![start];
    let mut rest = bytes;
    for count in counts {
        let mut left = count;
        let end = match left {
            0 => 0,
            _ => {
                1 + rest.iter().position(|&byte| {
                    left -= usize::from(byte < 0x80);
                    left == 0
                })?
            }
        };
        rest = rest.get(end..)?;
        borders.push(start + bytes.len() - rest.len());
    }
    rest.is_empty().then_some(borders)
}

/// Divides deltas; `None` unless there are as many as all groups together, with sums of at
/// most 64 bits.
fn number_sections(
    stream: &mut StreamCursor<'_>,
    scale: Option<u8>,
    counts: impl Iterator<Item = usize> + Clone,
) -> Result<Option<ChunkSections>> {
    let start = offset(stream);
    let bytes = stream.rest();
    let sums = sums_before(bytes, counts.clone());
    let borders = number_borders(bytes, start, counts);
    Ok(sums.zip(borders).map(|(sums, mut borders)| {
        if let Some(first) = borders.first_mut() {
            *first = 0;
        }
        ChunkSections::without_head(vec![borders], GroupStates::Sums { scale, sums })
    }))
}

/// Returns the sum of the deltas before each group, and of all.
fn sums_before(bytes: &[u8], counts: impl Iterator<Item = usize>) -> Option<Vec<i64>> {
    let (mut sums, mut rest) = (Vec::new(), bytes);
    let (mut sum, mut overflow) = (0_i64, false);
    for count in counts {
        sums.push(sum);
        rest = numbers(rest, count, |value| {
            let delta = (value >> 1).cast_signed() ^ (value & 1).cast_signed().wrapping_neg();
            let (next, over) = sum.overflowing_add(delta);
            (sum, overflow) = (next, overflow | over);
        })?;
    }
    sums.push(sum);
    (!overflow).then_some(sums)
}

fn mixed_sections(
    stream: &mut StreamCursor<'_>,
    groups: RowGroups,
) -> Result<Option<ChunkSections>> {
    let scale = match stream.u8("subtype")? {
        0 => None,
        _ => Some(stream.u8("scale")?),
    };
    let count = stream.size("value count")?;
    if count != groups.cells || !groups.rows.is_multiple_of(8) {
        return Ok(None);
    }
    let bits_start = offset(stream);
    let bits = stream.take(count.div_ceil(8), "bitmap")?;
    let bits_end = offset(stream);
    let byte_of = |group: usize| groups.before(group).div_ceil(8);
    let mut bit_borders: Vec<usize> =
        (0..=groups.count()).map(|group| bits_start + byte_of(group)).collect();
    if let (Some(first), Some(last)) = (bit_borders.first().copied(), bit_borders.last_mut()) {
        *last = bits_end.max(first);
    }
    if let Some(first) = bit_borders.first_mut() {
        *first = 0;
    }
    let mut numbers_of = Vec::with_capacity(groups.count());
    for group in 0..groups.count() {
        let cells = groups.cells_between(group, group + 1);
        let bytes = bits.get(byte_of(group)..byte_of(group + 1)).unwrap_or_default();
        numbers_of.push(super::column::ones(bytes, cells));
    }
    let list_start = offset(stream);
    let nexc = stream.count(1, "exception count")?;
    let (mut exception_borders, mut exceptions) = (vec![list_start], vec![0]);
    let mut before = 0_usize;
    for (group, numbers) in numbers_of.iter().enumerate() {
        let count = groups.cells_between(group, group + 1) - numbers;
        for _ in 0..count {
            stream.lp("entry")?;
        }
        before += count;
        exceptions.push(before);
        exception_borders.push(offset(stream));
    }
    if before != nexc {
        return Ok(None);
    }
    let start = offset(stream);
    let bytes = stream.rest();
    let counts = || numbers_of.iter().copied();
    let (Some(sums), Some(deltas)) =
        (sums_before(bytes, counts()), number_borders(bytes, start, counts()))
    else {
        return Ok(None);
    };
    let state = GroupStates::Mixed { scale, sums, exceptions };
    let borders = vec![bit_borders, exception_borders, deltas];
    Ok(Some(ChunkSections::without_head(borders, state)))
}

fn shuffled_sections(
    stream: &mut StreamCursor<'_>,
    groups: RowGroups,
) -> Result<Option<ChunkSections>> {
    let count = stream.size("value count")?;
    let min = i64::try_from(stream.sv("minimum")?).ok();
    let width = stream.u8("width")?;
    let start = offset(stream);
    let len = count.checked_mul(usize::from(width));
    let (Some(min), true) = (min, count == groups.cells && len == Some(stream.left())) else {
        return Ok(None);
    };
    let plane = |plane: usize| {
        let first = start + plane * count;
        let mut borders: Vec<usize> =
            (0..=groups.count()).map(|group| first + groups.before(group)).collect();
        if let Some(first) = borders.first_mut().filter(|_| plane == 0) {
            *first = 0;
        }
        borders
    };
    let borders = (0..usize::from(width)).map(plane).collect();
    Ok(Some(ChunkSections::without_head(borders, GroupStates::Planes { min, width })))
}

/// Returns the error for a chunk that does not fit its row groups.
pub(crate) fn unfit(why: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::malformed("row groups", why)
}
