//! Reads the statistics of row groups, and applies them to predicates.

#![deny(clippy::arithmetic_side_effects)]

use std::collections::BTreeSet;
use std::ops::Range;

use arrow_schema::DataType;
use bytes::Bytes;

use super::number_sets::NumberSets;
use super::{
    ANYWHERE, FILTERS, IN_SOME, INTEGERS, MAX_COMMON_BYTES, MAX_DIGITS, NO_NUMBERS, NOWHERE,
    NUMBERS, PRESENCES, TEXTS,
};
use crate::bloom;
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;
use hypostyle_core::predicate::{
    CellPresence, Decimal, NumberBounds, OccurringEntries, PruningStatistics, TextBounds,
};

/// The statistics of the row groups of a table.
#[derive(Debug, Default)]
pub(crate) struct TableStatistics {
    bytes: Bytes,
    /// The bounds of texts, each with the prefix that all texts of its column share.
    texts: Vec<u8>,
    columns: Vec<ColumnStatistics>,
}

#[derive(Debug)]
struct ColumnStatistics {
    presence: [Presence; PRESENCES],
    numbers: Numbers,
    integers: Option<NumberSets>,
    /// The places of the minimum and maximum text of each group in `texts`, or nothing.
    texts: Vec<(Range<usize>, Range<usize>)>,
    /// The place of the Bloom filter of each group, or nothing.
    filters: Vec<Range<usize>>,
    /// The number of bits that a text sets in a filter.
    bits: u8,
}

#[derive(Debug)]
enum Numbers {
    Unknown,
    Nowhere,
    /// The bounds of each group, times ten to the power of `digits`.
    Scaled {
        digits: u8,
        bounds: Vec<Option<(i128, i128)>>,
    },
}

/// Which groups may have cells of a kind.
#[derive(Clone, Debug)]
enum Presence {
    Nowhere,
    Anywhere,
    /// The place of a bitmap.
    InSome(Range<usize>),
}

impl TableStatistics {
    /// Reads the statistics of so many columns and row groups from the start of a stream, of
    /// which `bytes` is the content.
    ///
    /// The caller must know from elsewhere that the archive has so many groups.
    pub(crate) fn read(
        stream: &mut StreamCursor<'_>,
        bytes: &Bytes,
        groups: usize,
        columns: usize,
    ) -> Result<Self> {
        let mut all = Self { bytes: bytes.clone(), texts: Vec::new(), columns: Vec::new() };
        for _ in 0..columns {
            let column = all.column(stream, groups)?;
            all.columns.push(column);
        }
        Ok(all)
    }

    /// Returns what is known of a row group, whose columns have the names that `index` finds.
    pub(crate) fn group<F: Fn(&str) -> Option<usize>>(
        &self,
        group: usize,
        index: F,
    ) -> RowGroupStatistics<'_, F> {
        RowGroupStatistics { table: self, group, index }
    }

    /// Returns bounds of the texts of a column in a row group.
    pub(crate) fn texts_of(&self, group: usize, column: usize) -> Option<TextBounds<'_>> {
        let (min, max) = self.columns.get(column)?.texts.get(group)?;
        Some(TextBounds { min: self.texts.get(min.clone())?, max: self.texts.get(max.clone())? })
    }

    /// Returns which integers a column of this type has in a row group, if they are few.
    pub(crate) fn integers(
        &self,
        group: usize,
        column: usize,
        data_type: &DataType,
    ) -> Option<OccurringEntries> {
        self.columns.get(column)?.integers.as_ref()?.occurring(&self.bytes, group, data_type)
    }

    /// Returns the integers that a column may have in a row group, if they are few.
    pub(crate) fn integers_of(&self, group: usize, column: usize) -> Option<BTreeSet<i64>> {
        Some(self.columns.get(column)?.integers.as_ref()?.of_group(&self.bytes, group))
    }

    /// Returns whether a row group may have a cell in a column; `None` is a null.
    pub(crate) fn may_hold_cell(&self, group: usize, column: usize, cell: Option<&[u8]>) -> bool {
        let integers = self.columns.get(column).and_then(|column| column.integers.as_ref());
        if let (Some(integers), Some(number)) = (integers, cell.and_then(Decimal::parse))
            && !integers.may_hold(&self.bytes, group, number)
        {
            return false;
        }
        let group = self.group(group, |_| Some(column));
        let presence = group.cells("");
        let text = match cell {
            None => return presence.blank,
            Some(b"") => return presence.blank && group.may_be_empty(""),
            Some(text) => text,
        };
        let by_number = match (Decimal::parse(text), group.numbers("")) {
            (Some(number), NumberBounds::Between(min, max)) => min <= number && number <= max,
            (Some(_), bounds) => bounds != NumberBounds::NoNumbers,
            (None, _) => group.may_be_special_float(""),
        };
        by_number
            && presence.filled
            && group.may_hold("", text)
            && group.texts("").is_none_or(|bounds| bounds.may_hold(text))
    }

    fn column(&mut self, stream: &mut StreamCursor<'_>, groups: usize) -> Result<ColumnStatistics> {
        let at = stream.offset();
        let flags = stream.u8("flags of a column")?;
        let contradicts = flags & (NUMBERS | INTEGERS) != 0 && flags & NO_NUMBERS != 0;
        if flags & !(NUMBERS | TEXTS | FILTERS | NO_NUMBERS | INTEGERS) != 0 || contradicts {
            let why = format!("{flags} has bits that mean nothing");
            return Err(stream.malformed_at(at, "flags of a column", why));
        }
        let presence = presence(stream, groups)?;
        let numbers = match flags & (NUMBERS | NO_NUMBERS) {
            NUMBERS => numbers(stream, groups)?,
            NO_NUMBERS => Numbers::Nowhere,
            _ => Numbers::Unknown,
        };
        let integers = match flags & INTEGERS {
            0 => None,
            _ => Some(NumberSets::read(stream, groups)?),
        };
        let mut column = ColumnStatistics {
            presence,
            numbers,
            integers,
            texts: Vec::new(),
            filters: Vec::new(),
            bits: 0,
        };
        if flags & TEXTS != 0 {
            column.texts = self.text_bounds(stream, groups)?;
        }
        if flags & FILTERS != 0 {
            column.bits = stream.u8("bits of a text")?;
            for _ in 0..groups {
                column.filters.push(place(stream, |stream| stream.lp("filter"))?);
            }
        }
        Ok(column)
    }

    fn text_bounds(
        &mut self,
        stream: &mut StreamCursor<'_>,
        groups: usize,
    ) -> Result<Vec<(Range<usize>, Range<usize>)>> {
        let at = stream.offset();
        let common = stream.lp("common prefix")?;
        if common.len() > MAX_COMMON_BYTES {
            let why = format!("it has {} bytes, more than {MAX_COMMON_BYTES}", common.len());
            return Err(stream.malformed_at(at, "common prefix", why));
        }
        let mut bounds = Vec::new();
        for _ in 0..groups {
            let mut bound = |what| -> Result<Range<usize>> {
                let start = self.texts.len();
                self.texts.extend_from_slice(common);
                self.texts.extend_from_slice(stream.lp(what)?);
                Ok(start..self.texts.len())
            };
            bounds.push((bound("minimum")?, bound("maximum")?));
        }
        Ok(bounds)
    }

    fn may_have(&self, presence: &Presence, group: usize) -> bool {
        match presence {
            Presence::Nowhere => false,
            Presence::Anywhere => true,
            Presence::InSome(place) => {
                let byte = self.bytes.get(place.clone()).and_then(|bits| bits.get(group / 8));
                byte.is_none_or(|byte| byte >> (group % 8) & 1 != 0)
            }
        }
    }
}

/// Takes some bytes of a stream and returns their place in it.
fn place<'a>(
    stream: &mut StreamCursor<'a>,
    take: impl FnOnce(&mut StreamCursor<'a>) -> Result<&'a [u8]>,
) -> Result<Range<usize>> {
    let len = take(stream)?.len();
    let end = usize::try_from(stream.offset()).unwrap_or(usize::MAX);
    Ok(end.saturating_sub(len)..end)
}

fn presence(stream: &mut StreamCursor<'_>, groups: usize) -> Result<[Presence; PRESENCES]> {
    let at = stream.offset();
    let mut states = stream.u8("presence of cells")?;
    let mut all = [const { Presence::Anywhere }; PRESENCES];
    for presence in &mut all {
        *presence = match states & 3 {
            NOWHERE => Presence::Nowhere,
            ANYWHERE => Presence::Anywhere,
            IN_SOME => {
                let len = groups.div_ceil(8);
                Presence::InSome(place(stream, |stream| stream.take(len, "presence of cells"))?)
            }
            state => {
                let why = format!("{state} is not 0, 1 or 2");
                return Err(stream.malformed_at(at, "presence of cells", why));
            }
        };
        states >>= 2;
    }
    Ok(all)
}

fn numbers(stream: &mut StreamCursor<'_>, groups: usize) -> Result<Numbers> {
    let at = stream.offset();
    let digits = stream.u8("digits of bounds")?;
    if digits > MAX_DIGITS {
        let why = format!("{digits} is above {MAX_DIGITS}");
        return Err(stream.malformed_at(at, "digits of bounds", why));
    }
    let at = stream.offset();
    let some = match stream.u8("groups with numbers")? {
        0 => None,
        1 => Some(stream.take(groups.div_ceil(8), "groups with numbers")?),
        other => {
            let why = format!("{other} is not 0 or 1");
            return Err(stream.malformed_at(at, "groups with numbers", why));
        }
    };
    let (mut bounds, mut before) = (Vec::new(), 0_i128);
    for group in 0..groups {
        let byte = some.and_then(|bits| bits.get(group / 8));
        if some.is_some() && byte.is_none_or(|byte| byte >> (group % 8) & 1 == 0) {
            bounds.push(None);
            continue;
        }
        let at = stream.offset();
        let min = before.checked_add(stream.sv("minimum")?);
        let max =
            min.zip(Some(stream.sv("maximum")?)).and_then(|(min, width)| min.checked_add(width));
        let Some((min, max)) = min.zip(max).filter(|(min, max)| min <= max) else {
            return Err(stream.malformed_at(at, "bounds", "the maximum is below the minimum"));
        };
        before = min;
        bounds.push(Some((min, max)));
    }
    Ok(Numbers::Scaled { digits, bounds })
}

/// What the statistics say about one row group.
pub(crate) struct RowGroupStatistics<'a, F> {
    table: &'a TableStatistics,
    group: usize,
    /// Finds a column by name.
    index: F,
}

impl<F: Fn(&str) -> Option<usize>> RowGroupStatistics<'_, F> {
    /// Returns which integers a column of this type has, if they are few.
    pub(crate) fn integers(&self, name: &str, data_type: &DataType) -> Option<OccurringEntries> {
        self.table.integers(self.group, (self.index)(name)?, data_type)
    }

    fn column(&self, name: &str) -> Option<&ColumnStatistics> {
        self.table.columns.get((self.index)(name)?)
    }

    fn may_have(&self, name: &str, kind: usize) -> bool {
        let presence = self.column(name).and_then(|column| column.presence.get(kind));
        presence.is_none_or(|presence| self.table.may_have(presence, self.group))
    }
}

impl<F: Fn(&str) -> Option<usize>> PruningStatistics for RowGroupStatistics<'_, F> {
    fn numbers(&self, column: &str) -> NumberBounds {
        match self.column(column).map(|column| &column.numbers) {
            None | Some(Numbers::Unknown) => NumberBounds::Unknown,
            Some(Numbers::Nowhere) => NumberBounds::NoNumbers,
            Some(Numbers::Scaled { digits, bounds }) => match bounds.get(self.group) {
                Some(Some((min, max))) => {
                    let number = |scaled: i128| Decimal::scaled(scaled, *digits);
                    NumberBounds::Between(number(*min), number(*max))
                }
                Some(None) => NumberBounds::NoNumbers,
                None => NumberBounds::Unknown,
            },
        }
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        self.table.texts_of(self.group, (self.index)(column)?)
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        let Some(column) = self.column(column) else { return true };
        let filter = column.filters.get(self.group);
        let filter = filter.and_then(|place| self.table.bytes.get(place.clone()));
        filter.is_none_or(|filter| bloom::may_hold(filter, bloom::hash(text), column.bits))
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.may_have(column, 2)
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        self.may_have(column, 3)
    }

    fn cells(&self, column: &str) -> CellPresence {
        CellPresence { blank: self.may_have(column, 0), filled: self.may_have(column, 1) }
    }
}
