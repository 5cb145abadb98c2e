//! A column of columnar in each of its types (§5.2).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use crate::codecs::kind;
use crate::fields::unquoted;
use crate::pack::tables::interned::{Cells, MISSING, bits};
use crate::pack::tables::split::Rows;
use hypostyle_core::wire::put;

/// Numbers stay below this, so that differences between them fit 64 bits (§12).
const BOUND: u64 = 1 << 62;

/// Digits behind the point that the format knows.
const DIGITS: usize = 18;

/// How a column is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) enum Kind {
    Text,
    Int,
    /// With so many digits behind the point.
    Dec(u8),
    /// Numbers with so many digits behind the point, 0 for none, and exceptions.
    Mixed(u8),
    Dict(Order),
    Shuf,
}

/// How the entries of a dictionary are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::pack) enum Order {
    First,
    Frequency,
    Value,
    /// By value, with numbers of two bytes of which the first says roughly where.
    Coarse,
}

/// Values that are alike in their first byte in [`Order::Coarse`].
const ALIKE: u32 = 120;

/// The most entries that two such bytes tell apart.
const COARSE: usize = 128 * ALIKE as usize;

impl Kind {
    /// The number of the type.
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

/// A number whose printed form is the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pack) struct Number {
    value: i64,
    digits: u8,
}

impl Number {
    /// Reads a cell, if it is as it would be printed.
    pub(in crate::pack) fn parse(text: &[u8]) -> Option<Self> {
        let (negative, size) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let point = size.iter().position(|&byte| byte == b'.');
        let whole = size.get(..point.unwrap_or(size.len()))?;
        let digits = point.map_or(&[][..], |point| size.get(point + 1..).unwrap_or_default());
        if whole.is_empty() || (whole.len() > 1 && whole.starts_with(b"0")) {
            return None;
        }
        if digits.len() > DIGITS || point.is_some() && digits.is_empty() {
            return None;
        }
        let mut value = 0_u64;
        for &byte in whole.iter().chain(digits) {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(digit.into())?;
        }
        if value >= BOUND || negative && value == 0 {
            return None;
        }
        let value = i64::try_from(value).ok()?;
        let value = if negative { -value } else { value };
        Some(Self { value, digits: u8::try_from(digits.len()).ok()? })
    }

    /// The value, if there is no point in it.
    pub(in crate::pack) fn integer(self) -> Option<i64> {
        (self.digits == 0).then_some(self.value)
    }

    /// Which of two is smaller.
    fn compare(self, other: Self) -> Ordering {
        // Good enough to order a dictionary by; ties go by text.
        let size = |number: Self| number.value as f64 / 10_f64.powi(number.digits.into());
        size(self).total_cmp(&size(other))
    }
}

/// A column, and what is known of its distinct cells.
#[derive(Debug)]
pub(in crate::pack) struct Column<'a> {
    pub(in crate::pack) cells: Cells,
    /// Whether quotes around every cell were taken off.
    pub(in crate::pack) quoted: bool,
    texts: Vec<Cow<'a, [u8]>>,
    numbers: Vec<Option<Number>>,
    counts: Vec<u32>,
}

/// A dictionary and where its entries are in it.
#[derive(Debug)]
pub(in crate::pack) struct Dictionary {
    /// The entries, each behind its length.
    pub(in crate::pack) bytes: Vec<u8>,
    /// Entries, those that nobody asks for included.
    len: u64,
    ranks: Vec<u32>,
}

impl<'a> Column<'a> {
    pub(in crate::pack) fn new(cells: Cells, rows: &Rows<'a>) -> Self {
        let texts = cells.texts(rows);
        let plain: Option<Vec<Cow<'a, [u8]>>> = match cells.fields.len() {
            1 => texts.iter().map(|text| unquoted(text)).collect(),
            _ => None,
        };
        let quoted = plain.is_some();
        let texts = plain.unwrap_or_else(|| texts.into_iter().map(Cow::Borrowed).collect());
        let numbers = match cells.fields.len() {
            1 => texts.iter().map(|text| Number::parse(text)).collect(),
            _ => vec![None; texts.len()],
        };
        let counts = cells.counts();
        Self { cells, quoted, texts, numbers, counts }
    }

    /// Bytes that the column takes if its cells are told apart by how frequent they
    /// are, or by how often they change, and each text is written once.
    pub(in crate::pack) fn entropy(&self) -> f64 {
        let ids = &self.cells.ids;
        let mut changed = vec![0_u32; self.counts.len()];
        let (mut before, mut changes) = (MISSING, 0_u32);
        for &id in ids {
            if id != before {
                changes += 1;
                if let Some(count) = changed.get_mut(id as usize) {
                    *count += 1;
                }
            }
            before = id;
        }
        let same = u32::try_from(ids.len()).unwrap_or(u32::MAX) - changes;
        let runs = bits(&[same, changes], ids.len()) + bits(&changed, changes as usize);
        // Texts are roughly a third of their size once compressed.
        let sizes = || self.texts.iter().map(|text| (text.len() as f64 + 1.0) * 0.35);
        let all: f64 =
            sizes().zip(&self.counts).map(|(size, &count)| size * f64::from(count)).sum();
        let coded = bits(&self.counts, self.cells.len()).min(runs) / 8.0 + sizes().sum::<f64>();
        coded.min(all)
    }

    /// The types that the column can have and that may pay.
    pub(in crate::pack) fn kinds(&self, all: bool) -> Vec<Kind> {
        let (cells, distinct) = (self.cells.len(), self.cells.distinct());
        let mut kinds = Vec::new();
        if distinct <= 1 && cells > 0 {
            return vec![Kind::Dict(Order::First), Kind::Text];
        }
        // How many cells are numbers, by digits behind the point.
        let mut scales = [0_usize; DIGITS + 1];
        for (number, &count) in self.numbers.iter().zip(&self.counts) {
            if let Some(number) = number
                && let Some(scale) = scales.get_mut(usize::from(number.digits))
            {
                *scale += count as usize;
            }
        }
        let (ints, decimals) = scales.split_first().unwrap_or((&0, &[]));
        let most = decimals.iter().enumerate().max_by_key(|&(index, &count)| (count, index));
        let (digits, decimals) = most.map_or((0, 0), |(index, &count)| (index + 1, count));
        let digits = u8::try_from(digits).unwrap_or_default();
        if *ints == cells {
            kinds.push(Kind::Int);
            kinds.push(Kind::Shuf);
        } else if decimals == cells {
            kinds.push(Kind::Dec(digits));
        } else if ints.max(&decimals) * 10 >= cells * 3 {
            kinds.push(Kind::Mixed(if *ints >= decimals { 0 } else { digits }));
        }
        if distinct <= 256 || distinct <= cells * 3 / 4 {
            kinds.push(Kind::Dict(Order::Value));
            kinds.push(Kind::Dict(Order::Frequency));
            if (256..=COARSE).contains(&distinct) && distinct * 16 < cells {
                kinds.push(Kind::Dict(Order::Coarse));
            }
            if all || distinct > COARSE {
                kinds.push(Kind::Dict(Order::First));
            }
        }
        if distinct * 4 > cells || (distinct >= 128 && self.cells.fields.len() == 1) || all {
            kinds.push(Kind::Text);
        }
        kinds
    }

    /// Bytes of all cells.
    pub(in crate::pack) fn text_len(&self) -> usize {
        let sizes = self.texts.iter().zip(&self.counts);
        sizes.map(|(text, &count)| (text.len() + 1) * count as usize).sum()
    }

    /// The text of a cell by its number, without quotes that were taken off.
    fn text(&self, id: u32) -> &[u8] {
        self.texts.get(id as usize).map(AsRef::as_ref).unwrap_or_default()
    }

    /// The entries in some order.
    pub(in crate::pack) fn dictionary(&self, order: Order) -> Dictionary {
        let distinct = u32::try_from(self.cells.distinct()).unwrap_or(MISSING);
        let mut entries: Vec<u32> = (0..distinct).collect();
        let count = |id: u32| self.counts.get(id as usize).copied().unwrap_or_default();
        let number = |id: u32| self.numbers.get(id as usize).copied().flatten();
        match order {
            Order::First => {}
            Order::Frequency => entries.sort_by_key(|&id| (u32::MAX - count(id), id)),
            Order::Value | Order::Coarse => entries.sort_by(|&one, &other| {
                let ties = || natural(self.text(one), self.text(other));
                match (number(one), number(other)) {
                    (Some(one), Some(other)) => one.compare(other).then_with(ties),
                    (Some(_), None) => Ordering::Greater,
                    (None, Some(_)) => Ordering::Less,
                    (None, None) => ties(),
                }
            }),
        }
        let mut places: Vec<(u32, u32)> = (0_u32..).zip(entries).collect();
        if order == Order::Coarse {
            // The first seven bits of a number are written first, and tell the run;
            // from 128 on it has a second byte.
            for (rank, _) in &mut places {
                *rank = (*rank % ALIKE + 1) * 128 + *rank / ALIKE;
            }
            places.sort_unstable();
        }
        let mut bytes = Vec::new();
        let mut ranks = vec![0; places.len()];
        let mut len = 0;
        for (rank, id) in places {
            bytes.resize(bytes.len() + (rank - len) as usize, 0);
            len = rank + 1;
            put::lp(&mut bytes, self.text(id));
            if let Some(place) = ranks.get_mut(id as usize) {
                *place = rank;
            }
        }
        Dictionary { bytes, len: len.into(), ranks }
    }

    /// The chunk of the whole column.
    pub(in crate::pack) fn chunk(&self, kind: Kind) -> Vec<u8> {
        let rows = 0..self.cells.ids.len();
        match kind {
            Kind::Dict(order) => {
                let dictionary = self.dictionary(order);
                let mut out = Vec::with_capacity(dictionary.bytes.len() + self.cells.len() + 16);
                put::uv(&mut out, self.cells.len() as u64);
                put::uv(&mut out, dictionary.len);
                out.extend_from_slice(&dictionary.bytes);
                self.put_ranks(&dictionary, rows, &mut out);
                out
            }
            _ => self.part(kind, std::slice::from_ref(&rows)),
        }
    }

    /// The numbers of the entries of some rows.
    pub(in crate::pack) fn put_ranks(
        &self,
        dictionary: &Dictionary,
        rows: Range<usize>,
        out: &mut Vec<u8>,
    ) {
        for &id in self.cells.ids.get(rows).unwrap_or_default() {
            if let Some(&rank) = dictionary.ranks.get(id as usize) {
                put::uv(out, rank.into());
            }
        }
    }

    /// A chunk of the cells of some rows, of any type but DICT.
    pub(in crate::pack) fn part(&self, kind: Kind, rows: &[Range<usize>]) -> Vec<u8> {
        let ids = || {
            let parts = rows.iter().flat_map(|rows| self.cells.ids.get(rows.clone()));
            parts.flatten().copied().filter(|&id| id != MISSING)
        };
        let number = |id: u32| self.numbers.get(id as usize).copied().flatten();
        let value = |id: u32| number(id).map_or(0, |number| number.value);
        let mut out = Vec::new();
        match kind {
            Kind::Text | Kind::Dict(_) => {
                for (at, id) in ids().enumerate() {
                    if at > 0 {
                        out.push(b'\n');
                    }
                    out.extend_from_slice(self.text(id));
                }
            }
            Kind::Int => put_deltas(ids().map(value), &mut out),
            Kind::Dec(digits) => {
                out.push(digits);
                put_deltas(ids().map(value), &mut out);
            }
            Kind::Mixed(digits) => {
                let number = |id| number(id).filter(|number| number.digits == digits);
                match digits {
                    0 => out.push(0),
                    _ => out.extend_from_slice(&[1, digits]),
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
            Kind::Shuf => {
                let values = || self.numbers.iter().flatten().map(|number| number.value);
                let least = values().min().unwrap_or_default();
                let span = values().max().unwrap_or_default().abs_diff(least);
                let width = u8::try_from((u64::BITS - span.leading_zeros()).div_ceil(8).max(1));
                let width = width.unwrap_or(8);
                put::uv(&mut out, ids().count() as u64);
                put::sv(&mut out, least);
                out.push(width);
                for plane in 0..usize::from(width) {
                    let byte = |id| {
                        let bytes = value(id).abs_diff(least).to_le_bytes();
                        bytes.get(plane).copied().unwrap_or_default()
                    };
                    out.extend(ids().map(byte));
                }
            }
        }
        out
    }

    /// The chunk of a column that follows from the one with number `source`.
    pub(in crate::pack) fn derived(&self, source: usize, map: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        put::uv(&mut out, source as u64);
        put::uv(&mut out, map.len() as u64);
        out.extend_from_slice(&self.map_bytes(map));
        out
    }

    /// The entries of a map, each behind its length.
    pub(in crate::pack) fn map_bytes(&self, map: &[u32]) -> Vec<u8> {
        let mut out = Vec::new();
        for &id in map {
            put::lp(&mut out, self.text(id));
        }
        out
    }
}

/// Differences between neighbours.
fn put_deltas(values: impl Iterator<Item = i64>, out: &mut Vec<u8>) {
    let mut before = 0;
    for value in values {
        put::sv(out, value - before);
        before = value;
    }
}

/// Compares texts, runs of digits by their value.
fn natural(one: &[u8], other: &[u8]) -> Ordering {
    let (mut left, mut right) = (one, other);
    loop {
        match (left.split_first(), right.split_first()) {
            (Some((a, rest)), Some((b, others))) => {
                if a.is_ascii_digit() && b.is_ascii_digit() {
                    let (x, after) = digits(left);
                    let (y, afters) = digits(right);
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

/// A run of digits without the zeros before it, and what follows.
fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (run, rest) = text.split_at_checked(end).unwrap_or((text, &[]));
    let zeros = run.iter().position(|&byte| byte != b'0').unwrap_or(run.len());
    (run.get(zeros..).unwrap_or_default(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_print_as_they_are_count() {
        let number = |value, digits| Some(Number { value, digits });
        for (text, want) in [
            ("0", number(0, 0)),
            ("-1", number(-1, 0)),
            ("10.50", number(1050, 2)),
            ("-0.05", number(-5, 2)),
            ("0.000000000000000001", number(1, 18)),
            ("4611686018427387903", number((1 << 62) - 1, 0)),
            ("4611686018427387904", None),
            ("0.0000000000000000001", None),
            ("+5", None),
            ("007", None),
            ("00.5", None),
            ("-0", None),
            ("-0.0", None),
            (".5", None),
            ("5.", None),
            ("1e3", None),
            (" 1", None),
            ("", None),
            ("-", None),
            ("99999999999999999999999", None),
        ] {
            assert_eq!(Number::parse(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn runs_of_digits_are_ordered_by_value() {
        let mut texts = ["b10", "b9", "a", "b9x", "b010", "", "10", "9", "10,3", "9,12", "9,3"];
        texts.sort_by(|one, other| natural(one.as_bytes(), other.as_bytes()));
        assert_eq!(texts, ["", "9", "9,3", "9,12", "10", "10,3", "a", "b9", "b9x", "b010", "b10"]);
    }
}
