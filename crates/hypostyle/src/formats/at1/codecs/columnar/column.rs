//! A column chunk of each type (§5.2).

use std::collections::HashMap;
use std::hash::Hash;

use bytes::Bytes;
use memchr::memchr_iter;

use super::number::{Scale, Sum, Values, sums, unshuffle};
use crate::error::{Error, Result};
use crate::formats::at1::streams::Stream;

const TEXT: u8 = 0;
const INT: u8 = 1;
const DEC: u8 = 2;
const NUMEXC: u8 = 3;
pub(super) const DERIVED: u8 = 4;
const DICT: u8 = 5;
const SHUF: u8 = 6;

/// What a type is called.
pub(super) fn kind_name(kind: u8) -> &'static str {
    match kind {
        TEXT => "TEXT",
        INT => "INT",
        DEC => "DEC",
        NUMEXC => "NUMEXC",
        DERIVED => "DERIVED",
        DICT => "DICT",
        SHUF => "SHUF",
        _ => "unknown",
    }
}

/// A column whose cells can be taken in any order.
#[derive(Debug)]
pub(in crate::formats::at1) enum Column {
    /// Cells one after the other, a newline between them.
    Text { bytes: Bytes, ends: Vec<u32> },
    /// Numbers.
    Numbers { values: Values, scale: Scale },
    /// Numbers and exceptions: a slot holds a number, or which exception.
    Mixed { slots: Values, scale: Scale, numbers: Vec<u8>, exceptions: Entries },
    /// Numbers of entries.
    Dict { ids: Vec<u32>, entries: Entries },
}

/// Byte strings by number.
#[derive(Debug, Default)]
pub(in crate::formats::at1) struct Entries {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Entries {
    fn read(stream: &mut Stream<'_>, count: usize) -> Result<Self> {
        let mut entries = Self::default();
        for _ in 0..count {
            entries.bytes.extend_from_slice(stream.lp("entry")?);
            entries.ends.push(entries.bytes.len());
        }
        Ok(entries)
    }

    fn len(&self) -> usize {
        self.ends.len()
    }

    #[inline]
    fn get(&self, index: usize) -> Option<&[u8]> {
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => *self.ends.get(before)?,
        };
        self.bytes.get(start..*self.ends.get(index)?)
    }
}

/// Decodes a chunk of any type but DERIVED; `note` takes deviations.
pub(super) fn decode(
    kind: u8,
    chunk: &Bytes,
    note: impl Fn(&'static str, &str) -> Result<()>,
) -> Result<Column> {
    let mut stream = Stream::new("values", chunk);
    let (column, wide) = match kind {
        TEXT => (text(chunk)?, false),
        INT => {
            let (values, wide) = sums(&mut stream)?;
            (Column::Numbers { values, scale: Scale::Whole }, wide)
        }
        DEC => {
            let scale = Scale::read(&mut stream)?;
            let (values, wide) = sums(&mut stream)?;
            (Column::Numbers { values, scale }, wide)
        }
        NUMEXC => mixed(&mut stream)?,
        DICT => (dict(&mut stream)?, false),
        SHUF => shuffled(&mut stream)?,
        other => return Err(Error::malformed("column type", format!("{other} is over {SHUF}"))),
    };
    if wide {
        note("A11", "has numbers of more than 64 bits")?;
    }
    if let Column::Numbers { scale, .. } | Column::Mixed { scale, .. } = &column
        && *scale == Scale::Digits(0)
    {
        note("A10", "has decimals without a digit behind the point, printed as `5.`")?;
    }
    Ok(column)
}

fn text(chunk: &Bytes) -> Result<Column> {
    let too_long = || Error::malformed("text column", "is longer than 4 GiB");
    let mut ends = Vec::with_capacity(chunk.len() / 8);
    for newline in memchr_iter(b'\n', chunk) {
        ends.push(u32::try_from(newline).map_err(|_| too_long())?);
    }
    ends.push(u32::try_from(chunk.len()).map_err(|_| too_long())?);
    Ok(Column::Text { bytes: chunk.clone(), ends })
}

fn mixed(stream: &mut Stream<'_>) -> Result<(Column, bool)> {
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
    let numbers = stream.take(count.div_ceil(8), "bitmap")?.to_vec();
    let at = stream.clone();
    let exceptions = stream.count(1, "exception count")?;
    if exceptions > count {
        return Err(at.malformed("exception count", "is more than there are values"));
    }
    let exceptions = Entries::read(stream, exceptions)?;
    let mut slots = Values::with_capacity(count);
    let (mut sum, mut exception) = (Sum::default(), 0_i128);
    for index in 0..count {
        if bit(&numbers, index) {
            slots.push(sum.next(stream)?);
        } else {
            slots.push(exception);
            exception = exception.saturating_add(1);
        }
    }
    if exception > exceptions.len() as i128 {
        return Err(stream.malformed("exception", "is missing: the list has ended"));
    }
    Ok((Column::Mixed { slots, scale, numbers, exceptions }, sum.wide))
}

fn dict(stream: &mut Stream<'_>) -> Result<Column> {
    let at = stream.clone();
    let count = stream.size("value count")?;
    let entries = stream.count(1, "entry count")?;
    let entries = Entries::read(stream, entries)?;
    if count > stream.left() {
        return Err(at.malformed("value count", "is more than the bytes that follow can hold"));
    }
    let mut ids = Vec::with_capacity(count);
    for _ in 0..count {
        let at = stream.clone();
        let id = stream.uv("index")?;
        match u32::try_from(id) {
            Ok(id) if (id as usize) < entries.len() => ids.push(id),
            _ => return Err(at.malformed("index", format!("there is no entry {id}"))),
        }
    }
    Ok(Column::Dict { ids, entries })
}

fn shuffled(stream: &mut Stream<'_>) -> Result<(Column, bool)> {
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
        let why = format!("{count} of {width} bytes are more than there are");
        return Err(at.malformed("value count", why));
    };
    let planes = stream.take(len, "byte planes")?;
    let values = unshuffle(min, width, count, planes)
        .ok_or_else(|| stream.malformed_at(before_min, "minimum", "leads beyond 128 bits"))?;
    let wide = matches!(values, Values::Wide(_));
    Ok((Column::Numbers { values, scale: Scale::Whole }, wide))
}

/// Decodes a DERIVED chunk, given the columns before it.
pub(super) fn derive(chunk: &Bytes, before: &[Column]) -> Result<Column> {
    let mut stream = Stream::new("values", chunk);
    let at = stream.clone();
    let source = stream.size("source column")?;
    let Some(source) = before.get(source) else {
        let why = format!("column {} is not before this one", source.saturating_add(1));
        return Err(at.malformed("source column", why));
    };
    let count = stream.count(1, "map size")?;
    let entries = Entries::read(&mut stream, count)?;
    let ids = source.distinct(entries.len());
    let ids = ids.ok_or_else(|| {
        stream.malformed("map size", "is less than the source has distinct values")
    })?;
    Ok(Column::Dict { ids, entries })
}

impl Column {
    /// The number of cells.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Text { ends, .. } => ends.len(),
            Self::Numbers { values, .. } => values.len(),
            Self::Mixed { slots, .. } => slots.len(),
            Self::Dict { ids, .. } => ids.len(),
        }
    }

    /// Appends one cell; `false` if there is none.
    #[inline]
    pub(super) fn put(&self, index: usize, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Numbers { values, scale } => values.put(index, *scale, out),
            _ => match self.slice(index) {
                Some(cell) => {
                    out.extend_from_slice(cell);
                    true
                }
                None => match self {
                    Self::Mixed { slots, scale, .. } => slots.put(index, *scale, out),
                    _ => false,
                },
            },
        }
    }

    /// A cell that is there as text.
    #[inline]
    fn slice(&self, index: usize) -> Option<&[u8]> {
        match self {
            Self::Text { bytes, ends } => {
                let start = match index.checked_sub(1) {
                    None => 0,
                    Some(before) => *ends.get(before)? as usize + 1,
                };
                bytes.get(start..*ends.get(index)? as usize)
            }
            Self::Dict { ids, entries } => entries.get(*ids.get(index)? as usize),
            Self::Mixed { slots, numbers, exceptions, .. } => {
                if index >= slots.len() || bit(numbers, index) {
                    return None;
                }
                exceptions.get(usize::try_from(slots.get(index)?).ok()?)
            }
            Self::Numbers { .. } => None,
        }
    }

    /// Numbers the cells by when their text first appears; `None` if there are
    /// more than `most` distinct ones.
    ///
    /// By hashing, so that the work does not grow with the number of distinct
    /// values; and without printing numbers where numbers will do.
    fn distinct(&self, most: usize) -> Option<Vec<u32>> {
        match self {
            Self::Numbers { values: Values::Narrow(values), .. } => number(values.iter(), most),
            Self::Numbers { values: Values::Wide(values), .. } => number(values.iter(), most),
            Self::Dict { ids, entries } => {
                // Two entries may be spelled alike.
                let mut spelled: HashMap<&[u8], u32> = HashMap::new();
                let mut same = Vec::with_capacity(entries.len());
                for id in 0..entries.len() {
                    let next = u32::try_from(id).ok()?;
                    same.push(*spelled.entry(entries.get(id)?).or_insert(next));
                }
                let keys: Option<Vec<u32>> =
                    ids.iter().map(|&id| same.get(id as usize).copied()).collect();
                number(keys?.iter(), most)
            }
            Self::Text { ends, .. } => {
                let cells = (0..ends.len()).map(|index| self.slice(index).unwrap_or_default());
                number(cells, most)
            }
            Self::Mixed { slots, .. } => {
                let mut cell = Vec::new();
                let cells = (0..slots.len()).map(|index| {
                    cell.clear();
                    self.put(index, &mut cell);
                    cell.clone()
                });
                number(cells, most)
            }
        }
    }
}

fn number<K: Hash + Eq>(keys: impl ExactSizeIterator<Item = K>, most: usize) -> Option<Vec<u32>> {
    let mut seen: HashMap<K, u32> = HashMap::new();
    let mut ids = Vec::with_capacity(keys.len());
    for key in keys {
        let next = seen.len();
        let id = *seen.entry(key).or_insert(u32::try_from(next).ok()?);
        if id as usize >= most {
            return None;
        }
        ids.push(id);
    }
    Some(ids)
}

/// A bit of a bitmap, least significant first.
#[inline]
pub(super) fn bit(bits: &[u8], index: usize) -> bool {
    bits.get(index / 8).is_some_and(|byte| byte >> (index % 8) & 1 == 1)
}
