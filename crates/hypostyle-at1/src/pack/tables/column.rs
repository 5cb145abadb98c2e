//! The chunk of a column in each of its types (§5.2).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use crate::codecs::kind;
use crate::pack::tables::decimal::{CanonicalNumber, MAX_SCALE};
use crate::pack::tables::interned::{InternedCells, MISSING, entropy_bits};
use crate::pack::tables::split::SplitRows;
use hypostyle_core::text::csv::unquote;
use hypostyle_core::wire::put;

/// The type of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) enum ChunkType {
    Text,
    Int,
    /// Decimals with this scale.
    Dec(u8),
    /// Numbers with this scale, 0 for integers, and exceptions.
    Mixed(u8),
    Dict(DictOrder),
    Shuf,
}

/// The order of the entries of a dictionary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) enum DictOrder {
    FirstAppearance,
    /// By frequency in tiers that double in size from [`FIRST_TIER_ENTRIES`] on, and by value
    /// within a tier: ranks of one byte for the most frequent entries, and entries that
    /// compress nearly as well as sorted ones.
    Frequency,
    Value,
    /// By value, with ranks of exactly two bytes. The first byte changes only every
    /// [`ENTRIES_PER_FIRST_BYTE`] entries, so that close values share it.
    TwoByte,
}

/// Entries of the first tier of [`DictOrder::Frequency`]: those with ranks of one byte.
const FIRST_TIER_ENTRIES: usize = 128;

/// Neighbouring entries whose ranks have the same first byte in [`DictOrder::TwoByte`].
const ENTRIES_PER_FIRST_BYTE: u32 = 120;

/// Maximum number of entries of [`DictOrder::TwoByte`].
const MAX_TWO_BYTE_ENTRIES: usize = 128 * ENTRIES_PER_FIRST_BYTE as usize;

impl ChunkType {
    /// Returns the number of the type in the format.
    pub(in crate::pack) fn id(self) -> u8 {
        match self {
            Self::Text => kind::TEXT,
            Self::Int => kind::INT,
            Self::Dec(_) => kind::DEC,
            Self::Mixed(_) => kind::NUMEXC,
            Self::Dict(_) => kind::DICT,
            Self::Shuf => kind::SHUF,
        }
    }
}

/// Encodes one column as a chunk of any type.
#[derive(Debug)]
pub(in crate::pack) struct ColumnEncoder<'a> {
    pub(in crate::pack) cells: InternedCells,
    /// Whether every cell was quoted; `texts` are without the quotes then.
    pub(in crate::pack) quoted: bool,
    /// The text of each distinct cell.
    texts: Vec<Cow<'a, [u8]>>,
    /// The number that each distinct cell is, if it is one.
    numbers: Vec<Option<CanonicalNumber>>,
    /// The rows of each distinct cell.
    counts: Vec<u32>,
}

/// A dictionary, and the rank of each distinct cell in it.
#[derive(Debug)]
pub(in crate::pack) struct RankedDict {
    /// The entries, each with its length before it.
    pub(in crate::pack) bytes: Vec<u8>,
    /// Entries, including the empty ones that only fill gaps between ranks.
    len: u64,
    ranks: Vec<u32>,
}

impl<'a> ColumnEncoder<'a> {
    /// Collects the texts, the numbers and the counts of the distinct cells.
    pub(in crate::pack) fn new(cells: InternedCells, rows: &SplitRows<'a>) -> Self {
        let texts = cells.texts(rows);
        let unquoted_texts: Option<Vec<Cow<'a, [u8]>>> = match cells.fields.len() {
            1 => texts.iter().map(|text| unquote(text)).collect(),
            _ => None,
        };
        let quoted = unquoted_texts.is_some();
        let texts =
            unquoted_texts.unwrap_or_else(|| texts.into_iter().map(Cow::Borrowed).collect());
        let numbers = match cells.fields.len() {
            1 => texts.iter().map(|text| CanonicalNumber::parse(text)).collect(),
            _ => vec![None; texts.len()],
        };
        let counts = cells.counts();
        Self { cells, quoted, texts, numbers, counts }
    }

    /// Estimates the bytes of the column by entropy.
    ///
    /// Each distinct text counts once, and each row counts by how frequent its cell is, or
    /// by how often neighbouring rows differ, whichever is less.
    pub(in crate::pack) fn entropy(&self) -> f64 {
        let ids = &self.cells.ids;
        let mut change_counts = vec![0_u32; self.counts.len()];
        let (mut previous, mut changes) = (MISSING, 0_u32);
        for &id in ids {
            if id != previous {
                changes += 1;
                if let Some(count) = change_counts.get_mut(id as usize) {
                    *count += 1;
                }
            }
            previous = id;
        }
        let repeats = u32::try_from(ids.len()).unwrap_or(u32::MAX) - changes;
        let runs = entropy_bits(&[repeats, changes], ids.len())
            + entropy_bits(&change_counts, changes as usize);
        // Compressed text takes about a third of its size.
        let sizes = || self.texts.iter().map(|text| (text.len() as f64 + 1.0) * 0.35);
        let plain: f64 =
            sizes().zip(&self.counts).map(|(size, &count)| size * f64::from(count)).sum();
        let ids = entropy_bits(&self.counts, self.cells.len()).min(runs) / 8.0;
        (ids + sizes().sum::<f64>()).min(plain)
    }

    /// Returns the types that the column can have and that are likely to be small; with
    /// `all`, also those that seldom are.
    pub(in crate::pack) fn likely_types(&self, all: bool) -> Vec<ChunkType> {
        let (cells, distinct) = (self.cells.len(), self.cells.distinct());
        let mut types = Vec::new();
        if distinct <= 1 && cells > 0 {
            return vec![ChunkType::Dict(DictOrder::FirstAppearance), ChunkType::Text];
        }
        let mut numbers_by_scale = [0_usize; MAX_SCALE + 1];
        for (number, &count) in self.numbers.iter().zip(&self.counts) {
            if let Some(number) = number
                && let Some(numbers) = numbers_by_scale.get_mut(usize::from(number.scale))
            {
                *numbers += count as usize;
            }
        }
        let (ints, decimals) = numbers_by_scale.split_first().unwrap_or((&0, &[]));
        let usual = decimals.iter().enumerate().max_by_key(|&(index, &count)| (count, index));
        let (scale, decimals) = usual.map_or((0, 0), |(index, &count)| (index + 1, count));
        let scale = u8::try_from(scale).unwrap_or_default();
        if *ints == cells {
            types.push(ChunkType::Int);
            types.push(ChunkType::Shuf);
        } else if decimals == cells {
            types.push(ChunkType::Dec(scale));
        } else if ints.max(&decimals) * 10 >= cells * 3 {
            types.push(ChunkType::Mixed(if *ints >= decimals { 0 } else { scale }));
        }
        if distinct <= 256 || distinct <= cells * 3 / 4 {
            types.push(ChunkType::Dict(DictOrder::Value));
            types.push(ChunkType::Dict(DictOrder::Frequency));
            if (256..=MAX_TWO_BYTE_ENTRIES).contains(&distinct) && distinct * 16 < cells {
                types.push(ChunkType::Dict(DictOrder::TwoByte));
            }
            if all || distinct > MAX_TWO_BYTE_ENTRIES {
                types.push(ChunkType::Dict(DictOrder::FirstAppearance));
            }
        }
        if distinct * 4 > cells || (distinct >= 128 && self.cells.fields.len() == 1) || all {
            types.push(ChunkType::Text);
        }
        types
    }

    /// Returns the bytes of all cells, each with a newline.
    pub(in crate::pack) fn text_len(&self) -> usize {
        let sizes = self.texts.iter().zip(&self.counts);
        sizes.map(|(text, &count)| (text.len() + 1) * count as usize).sum()
    }

    /// Returns the text of a distinct cell, without the quotes that were removed.
    pub(in crate::pack) fn text(&self, id: u32) -> &[u8] {
        self.texts.get(id as usize).map(AsRef::as_ref).unwrap_or_default()
    }

    /// Returns the dictionary of the distinct cells in an order.
    pub(in crate::pack) fn dictionary(&self, order: DictOrder) -> RankedDict {
        let distinct = u32::try_from(self.cells.distinct()).unwrap_or(MISSING);
        let mut entries: Vec<u32> = (0..distinct).collect();
        let count = |id: u32| self.counts.get(id as usize).copied().unwrap_or_default();
        let number = |id: u32| self.numbers.get(id as usize).copied().flatten();
        let by_value = |&one: &u32, &other: &u32| {
            let by_text = || natural_order(self.text(one), self.text(other));
            match (number(one), number(other)) {
                (Some(one), Some(other)) => one.compare(other).then_with(by_text),
                (Some(_), None) => Ordering::Greater,
                (None, Some(_)) => Ordering::Less,
                (None, None) => by_text(),
            }
        };
        match order {
            DictOrder::FirstAppearance => {}
            DictOrder::Frequency => {
                entries.sort_by_key(|&id| (u32::MAX - count(id), id));
                let (mut rest, mut tier_entries) = (&mut entries[..], FIRST_TIER_ENTRIES);
                while !rest.is_empty() {
                    let (tier, after) = rest.split_at_mut(tier_entries.min(rest.len()));
                    tier.sort_by(by_value);
                    // The second tier is as large as the first.
                    tier_entries = (distinct as usize - after.len()).max(FIRST_TIER_ENTRIES);
                    rest = after;
                }
            }
            DictOrder::Value | DictOrder::TwoByte => entries.sort_by(by_value),
        }
        let mut ranked: Vec<(u32, u32)> = (0_u32..).zip(entries).collect();
        if order == DictOrder::TwoByte {
            // A varint starts with its lowest seven bits, so those hold the high part of
            // the rank. From 128 on a varint has two bytes.
            for (rank, _) in &mut ranked {
                *rank = (*rank % ENTRIES_PER_FIRST_BYTE + 1) * 128 + *rank / ENTRIES_PER_FIRST_BYTE;
            }
            ranked.sort_unstable();
        }
        let mut bytes = Vec::new();
        let mut ranks = vec![0; ranked.len()];
        let mut len = 0;
        for (rank, id) in ranked {
            // A zero byte is an empty entry.
            bytes.resize(bytes.len() + (rank - len) as usize, 0);
            len = rank + 1;
            put::lp(&mut bytes, self.text(id));
            if let Some(place) = ranks.get_mut(id as usize) {
                *place = rank;
            }
        }
        RankedDict { bytes, len: len.into(), ranks }
    }

    /// Encodes the whole column.
    pub(in crate::pack) fn chunk(&self, chunk_type: ChunkType) -> Vec<u8> {
        let rows = 0..self.cells.ids.len();
        match chunk_type {
            ChunkType::Dict(order) => {
                let dictionary = self.dictionary(order);
                let mut out = Vec::with_capacity(dictionary.bytes.len() + self.cells.len() + 16);
                put::uv(&mut out, self.cells.len() as u64);
                put::uv(&mut out, dictionary.len);
                out.extend_from_slice(&dictionary.bytes);
                self.put_ranks(&dictionary, rows, &mut out);
                out
            }
            _ => self.partial_chunk(chunk_type, std::slice::from_ref(&rows)),
        }
    }

    /// Appends the ranks of the cells of some rows.
    pub(in crate::pack) fn put_ranks(
        &self,
        dictionary: &RankedDict,
        rows: Range<usize>,
        out: &mut Vec<u8>,
    ) {
        for &id in self.cells.ids.get(rows).unwrap_or_default() {
            if let Some(&rank) = dictionary.ranks.get(id as usize) {
                put::uv(out, rank.into());
            }
        }
    }

    /// Encodes the cells of some rows, with any type but DICT.
    pub(in crate::pack) fn partial_chunk(
        &self,
        chunk_type: ChunkType,
        rows: &[Range<usize>],
    ) -> Vec<u8> {
        let ids = || {
            let runs = rows.iter().flat_map(|rows| self.cells.ids.get(rows.clone()));
            runs.flatten().copied().filter(|&id| id != MISSING)
        };
        let number = |id: u32| self.numbers.get(id as usize).copied().flatten();
        let value = |id: u32| number(id).map_or(0, |number| number.value);
        let mut out = Vec::new();
        match chunk_type {
            ChunkType::Text | ChunkType::Dict(_) => {
                for (at, id) in ids().enumerate() {
                    if at > 0 {
                        out.push(b'\n');
                    }
                    out.extend_from_slice(self.text(id));
                }
            }
            ChunkType::Int => put_deltas(ids().map(value), &mut out),
            ChunkType::Dec(scale) => {
                out.push(scale);
                put_deltas(ids().map(value), &mut out);
            }
            ChunkType::Mixed(scale) => {
                let number = |id| number(id).filter(|number| number.scale == scale);
                match scale {
                    0 => out.push(0),
                    _ => out.extend_from_slice(&[1, scale]),
                }
                let mut bits = vec![0_u8; ids().count().div_ceil(8)];
                put::uv(&mut out, ids().count() as u64);
                let (mut exceptions, mut count) = (Vec::new(), 0);
                for (at, id) in ids().enumerate() {
                    if number(id).is_none() {
                        put::lp(&mut exceptions, self.text(id));
                        count += 1;
                    } else if let Some(byte) = bits.get_mut(at / 8) {
                        *byte |= 1 << (at % 8);
                    }
                }
                out.extend_from_slice(&bits);
                put::uv(&mut out, count);
                out.extend_from_slice(&exceptions);
                put_deltas(ids().filter_map(number).map(|number| number.value), &mut out);
            }
            ChunkType::Shuf => {
                let values = || self.numbers.iter().flatten().map(|number| number.value);
                let min = values().min().unwrap_or_default();
                let span = values().max().unwrap_or_default().abs_diff(min);
                let width = u8::try_from((u64::BITS - span.leading_zeros()).div_ceil(8).max(1));
                let width = width.unwrap_or(8);
                put::uv(&mut out, ids().count() as u64);
                put::sv(&mut out, min);
                out.push(width);
                for plane in 0..usize::from(width) {
                    let byte = |id| {
                        let bytes = value(id).abs_diff(min).to_le_bytes();
                        bytes.get(plane).copied().unwrap_or_default()
                    };
                    out.extend(ids().map(byte));
                }
            }
        }
        out
    }

    /// Encodes the column as derived from the column with number `source`: `map` has the
    /// cell of this column for each distinct cell of that one.
    pub(in crate::pack) fn derived(&self, source: usize, map: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        put::uv(&mut out, source as u64);
        put::uv(&mut out, map.len() as u64);
        out.extend_from_slice(&self.map_bytes(map));
        out
    }

    /// Returns the texts of the cells of a map, each with its length before it.
    pub(in crate::pack) fn map_bytes(&self, map: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        for &id in map {
            put::lp(&mut out, self.text(id));
        }
        out
    }
}

/// Appends the differences between neighbouring values.
fn put_deltas(values: impl Iterator<Item = i64>, out: &mut Vec<u8>) {
    let mut previous = 0;
    for value in values {
        put::sv(out, value - previous);
        previous = value;
    }
}

/// Compares texts by bytes, but runs of digits by value.
fn natural_order(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        match (left.split_first(), right.split_first()) {
            (Some((a, rest)), Some((b, others))) => {
                if a.is_ascii_digit() && b.is_ascii_digit() {
                    let (x, after) = digit_run(left);
                    let (y, afters) = digit_run(right);
                    let order = x.len().cmp(&y.len()).then_with(|| x.cmp(y));
                    if order != Ordering::Equal {
                        return order;
                    }
                    (left, right) = (after, afters);
                    continue;
                }
                if a != b {
                    return a.cmp(b);
                }
                (left, right) = (rest, others);
            }
            (None, None) => return one.cmp(other),
            (left, right) => return left.is_some().cmp(&right.is_some()),
        }
    }
}

/// Returns the digits that a text starts with, without leading zeros, and the rest.
fn digit_run(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    let zeros = run.iter().position(|&byte| byte != b'0').unwrap_or(run.len());
    (run.get(zeros..).unwrap_or_default(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_digits_are_ordered_by_value() {
        let mut texts = ["b10", "b9", "a", "b9x", "b010", "", "10", "9", "10,3", "9,12", "9,3"];
        texts.sort_by(|one, other| natural_order(one.as_bytes(), other.as_bytes()));
        assert_eq!(texts, ["", "9", "9,3", "9,12", "10", "10,3", "a", "b9", "b9x", "b010", "b10"]);
    }
}
