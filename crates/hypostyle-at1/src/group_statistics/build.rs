//! Collects and writes the statistics of row groups.

use super::number_sets::{self, DistinctIntegers};
use super::{
    ANYWHERE, FILTERS, IN_SOME, INTEGERS, MAX_COMMON_BYTES, MAX_DIGITS, NO_NUMBERS, NOWHERE,
    NUMBERS, PRESENCES, TEXTS, put_bitmap,
};
use crate::bloom::{self, FilterSize};
use crate::statistics::put_sv;
use hypostyle_core::predicate::Decimal;
use hypostyle_core::wire::put;

/// Bytes of the texts of a group that are kept to find its bounds.
const KEPT_BYTES: usize = MAX_COMMON_BYTES + 16;

/// Lengths of bounds of texts that are tried, after the prefix that all texts share.
const BOUND_BYTES: [usize; 3] = [4, 8, 16];

/// Bounds are left out if they contain more than this fraction of the bounds of other groups.
///
/// Values without any order give a half: each group then starts before half of the others.
const MAX_OVERLAP: f64 = 0.4;

/// Bytes that the bounds of the numbers of a group take, about. Sets of integers may take as many.
const BYTES_OF_BOUNDS: usize = 4;

/// Longer bounds are used only if they lower the overlap by this much.
const MIN_GAIN: f64 = 0.02;

/// The largest magnitude of a bound, scaled by its digits.
const MAX_SCALED: i128 = 1 << 96;

/// Hashes of a group that are collected before repeated ones are removed.
const MIN_HASHES: usize = 1024;

/// What a reader may ask about a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatisticsKind {
    /// Nothing that statistics answer.
    Nothing,
    /// The column has numbers; its cells that are no numbers only need to be known.
    Numbers,
    /// The column has texts.
    Texts,
}

/// Collects the statistics of all columns of a table.
#[derive(Debug)]
pub(crate) struct TableStatisticsBuilder {
    columns: Vec<ColumnBuilder>,
    groups: usize,
}

#[derive(Debug)]
struct ColumnBuilder {
    kind: StatisticsKind,
    groups: Vec<ChunkBuilder>,
    /// The last cell: cells that repeat it add nothing.
    last: Vec<u8>,
    last_group: Option<usize>,
}

/// The cells of one column in one group.
#[derive(Clone, Debug, Default)]
struct ChunkBuilder {
    /// Null or empty cells, filled cells, empty texts, filled cells that are no numbers.
    present: [bool; PRESENCES],
    numbers: Option<(Decimal, Decimal)>,
    integers: DistinctIntegers,
    /// Prefixes of the least and the greatest text.
    texts: Option<(Vec<u8>, Vec<u8>)>,
    hashes: Vec<u64>,
    /// The number of hashes at which repeated ones are removed next.
    next_dedup: usize,
}

impl TableStatisticsBuilder {
    /// Starts the statistics of so many row groups of columns of these kinds.
    pub(crate) fn new(groups: usize, kinds: impl IntoIterator<Item = StatisticsKind>) -> Self {
        let column = |kind| ColumnBuilder {
            kind,
            groups: vec![ChunkBuilder::default(); groups],
            last: Vec::new(),
            last_group: None,
        };
        Self { columns: kinds.into_iter().map(column).collect(), groups }
    }

    /// Adds a cell of a column, as the text of its value; `None` is null.
    pub(crate) fn push(&mut self, group: usize, column: usize, text: Option<&[u8]>) {
        if let Some(column) = self.columns.get_mut(column) {
            column.push(group, text);
        }
    }

    /// Appends the statistics.
    ///
    /// `max_bytes` is the size that the filters of each column may have; `None` if its values are
    /// known otherwise.
    pub(crate) fn put(&self, max_bytes: &[Option<usize>], out: &mut Vec<u8>) {
        for (index, column) in self.columns.iter().enumerate() {
            column.put(self.groups, max_bytes.get(index).copied().flatten(), out);
        }
    }
}

impl ColumnBuilder {
    fn push(&mut self, group: usize, text: Option<&[u8]>) {
        let Some(chunk) = self.groups.get_mut(group) else { return };
        if self.kind == StatisticsKind::Nothing {
            return;
        }
        let [blank, filled, empty, other] = &mut chunk.present;
        let Some(text) = text else {
            *blank = true;
            return;
        };
        if text.is_empty() {
            (*blank, *empty) = (true, true);
            return;
        }
        if self.last_group == Some(group) && self.last == text {
            return;
        }
        self.last_group = Some(group);
        self.last.clear();
        self.last.extend_from_slice(text);
        *filled = true;
        match Decimal::parse(text) {
            Some(number) => {
                let (min, max) = chunk.numbers.get_or_insert((number, number));
                *min = number.min(*min);
                *max = number.max(*max);
                if self.kind == StatisticsKind::Numbers {
                    chunk.integers.push(number);
                }
            }
            None => *other = true,
        }
        if self.kind == StatisticsKind::Texts {
            chunk.push_text(text);
        }
    }

    fn put(&self, groups: usize, max_bytes: Option<usize>, out: &mut Vec<u8>) {
        let are_values_known = max_bytes.is_none();
        let max_bytes = max_bytes.unwrap_or(0);
        if self.kind == StatisticsKind::Nothing {
            out.extend_from_slice(&[0, [ANYWHERE; PRESENCES].iter().rev().fold(0, joined)]);
            return;
        }
        let has_numbers = self.groups.iter().any(|chunk| chunk.numbers.is_some());
        let is_text = self.kind == StatisticsKind::Texts;
        let numbers = if is_text { None } else { self.numbers(max_bytes) };
        let integers = match is_text || are_values_known {
            true => None,
            false => self.integers(max_bytes, numbers.is_some()),
        };
        let texts = if is_text { self.texts() } else { None };
        let filter = if is_text { self.filters(max_bytes) } else { None };
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        out.push(
            flag(numbers.is_some(), NUMBERS)
                | flag(texts.is_some(), TEXTS)
                | flag(filter.is_some(), FILTERS)
                | flag(!has_numbers, NO_NUMBERS)
                | flag(integers.is_some(), INTEGERS),
        );
        self.put_presence(groups, out);
        if let Some(bounds) = numbers {
            bounds.put(out);
        }
        if let Some(sets) = integers {
            out.extend_from_slice(&sets);
        }
        if let Some(bounds) = texts {
            bounds.put(out);
        }
        if let Some((size, hashes)) = filter {
            out.push(size.count);
            for hashes in &hashes {
                put::lp(out, &bloom::make(hashes, size.count, size.bytes(hashes.len())));
            }
        }
    }

    /// Appends in which groups there are cells of each kind.
    fn put_presence(&self, groups: usize, out: &mut Vec<u8>) {
        let mut states = [NOWHERE; PRESENCES];
        for (kind, state) in states.iter_mut().enumerate() {
            let is_unused = kind == 3 && self.kind == StatisticsKind::Texts;
            let count = self.groups.iter().filter(|chunk| chunk.has(kind)).count();
            *state = match count {
                0 => NOWHERE,
                _ if count == groups || is_unused => ANYWHERE,
                _ => IN_SOME,
            };
        }
        out.push(states.iter().rev().fold(0, joined));
        for (kind, _) in states.iter().enumerate().filter(|(_, state)| **state == IN_SOME) {
            put_bitmap(self.groups.iter().map(|chunk| chunk.has(kind)), out);
        }
    }

    /// Returns the size of the filters and the hashes of each group; `None` if filters would be
    /// too large, or skip few groups.
    fn filters(&self, max_bytes: usize) -> Option<(FilterSize, Vec<Vec<u64>>)> {
        let hashes: Vec<Vec<u64>> = self.groups.iter().map(ChunkBuilder::distinct).collect();
        let size = FilterSize::choose(&hashes, max_bytes)?;
        Some((size, hashes))
    }

    /// Returns the sets of integers of each group; `None` if they do not pay.
    fn integers(&self, max_bytes: usize, has_bounds: bool) -> Option<Vec<u8>> {
        let max_bytes = max_bytes.max(self.groups.len().saturating_mul(BYTES_OF_BOUNDS));
        let integers = self.groups.iter().map(|chunk| &chunk.integers);
        number_sets::stored(integers, has_bounds, max_bytes)
    }

    /// Returns the digits after the point and the bounds of the numbers of each group as
    /// integers; `None` if they would skip few groups.
    ///
    /// Bounds that overlap still answer questions about the largest and smallest numbers, so
    /// that they stay if they take only a part of `max_bytes`.
    fn numbers(&self, max_bytes: usize) -> Option<ScaledBounds> {
        let bounds: Vec<_> = self.groups.iter().filter_map(|chunk| chunk.numbers).collect();
        let bytes = self.groups.len().saturating_mul(BYTES_OF_BOUNDS);
        if overlap(&bounds) > MAX_OVERLAP && bytes > max_bytes / 2 {
            return None;
        }
        let all = bounds.iter().flat_map(|(min, max)| [min, max]);
        let digits = all.map(|number| number.scale()).max()?;
        let digits = u8::try_from(digits.max(0)).unwrap_or(MAX_DIGITS).min(MAX_DIGITS);
        // Fewer digits widen the bounds, but leave room for larger numbers.
        let tries = [digits, digits.min(6), 0];
        tries.into_iter().find_map(|digits| self.scaled(digits))
    }

    /// Returns the bounds of the numbers with so many digits after the point, rounded outward.
    fn scaled(&self, digits: u8) -> Option<ScaledBounds> {
        let scale = |chunk: &ChunkBuilder| {
            let Some((min, max)) = chunk.numbers else { return Some(None) };
            let (min, _) = min.scaled_floor(digits.into());
            let (max, is_whole) = max.scaled_floor(digits.into());
            let max = max.checked_add(i128::from(!is_whole))?;
            let fits = min >= -MAX_SCALED && max <= MAX_SCALED;
            fits.then_some(Some((min, max)))
        };
        let bounds = self.groups.iter().map(scale).collect::<Option<Vec<_>>>()?;
        Some(ScaledBounds { digits, bounds })
    }

    /// Returns the prefix that all texts share and the bounds of the texts of each group after
    /// it; `None` if they would skip few groups.
    fn texts(&self) -> Option<CommonBounds<'_>> {
        let some = self.groups.iter().filter_map(|chunk| chunk.texts.as_ref());
        let least = some.clone().map(|(min, _)| min).min()?;
        let greatest = some.map(|(_, max)| max).max()?;
        let len = least.iter().zip(greatest).take_while(|(one, other)| one == other).count();
        let common = least.get(..len.min(MAX_COMMON_BYTES))?;
        let mut best: Option<(f64, CommonBounds<'_>)> = None;
        for max_len in BOUND_BYTES {
            let cut = |chunk| ChunkBuilder::text_bounds(chunk, common.len(), max_len);
            let bounds: Vec<_> = self.groups.iter().map(cut).collect();
            let some: Vec<_> = bounds.iter().flatten().copied().collect();
            let overlap = overlap(&some);
            let is_better = best.as_ref().is_none_or(|(least, _)| overlap + MIN_GAIN < *least);
            if overlap <= MAX_OVERLAP && is_better {
                best = Some((overlap, CommonBounds { common, bounds }));
            }
        }
        best.map(|(_, bounds)| bounds)
    }
}

impl ChunkBuilder {
    fn has(&self, kind: usize) -> bool {
        self.present.get(kind).copied().unwrap_or_default()
    }

    fn push_text(&mut self, text: &[u8]) {
        let prefix = text.get(..KEPT_BYTES).unwrap_or(text);
        match &mut self.texts {
            None => self.texts = Some((prefix.to_vec(), prefix.to_vec())),
            Some((min, max)) => {
                if prefix < min.as_slice() {
                    *min = prefix.to_vec();
                }
                if prefix > max.as_slice() {
                    *max = prefix.to_vec();
                }
            }
        }
        self.hashes.push(bloom::hash(text));
        if self.hashes.len() >= self.next_dedup.max(MIN_HASHES) {
            self.hashes = self.distinct();
            self.next_dedup = self.hashes.len().saturating_mul(2);
        }
    }

    /// Returns the hash of each distinct text.
    fn distinct(&self) -> Vec<u64> {
        let mut hashes = self.hashes.clone();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// Returns up to `len` bytes of the bounds of the texts, after `skip` bytes.
    fn text_bounds(&self, skip: usize, len: usize) -> Option<(&[u8], &[u8])> {
        let (min, max) = self.texts.as_ref()?;
        let cut = |text: &'_ [u8]| -> std::ops::Range<usize> {
            let end = skip.saturating_add(len).min(text.len());
            skip.min(end)..end
        };
        Some((min.get(cut(min))?, max.get(cut(max))?))
    }
}

/// The bounds of the numbers of each group, times ten to the power of `digits`.
struct ScaledBounds {
    digits: u8,
    bounds: Vec<Option<(i128, i128)>>,
}

impl ScaledBounds {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.digits);
        let has_all = self.bounds.iter().all(Option::is_some);
        out.push(u8::from(!has_all));
        if !has_all {
            put_bitmap(self.bounds.iter().map(Option::is_some), out);
        }
        let mut before = 0;
        for &(min, max) in self.bounds.iter().flatten() {
            put_sv(min.wrapping_sub(before), out);
            put_sv(max.wrapping_sub(min), out);
            before = min;
        }
    }
}

/// The bounds of the texts of each group, without the prefix that all of them share.
struct CommonBounds<'a> {
    common: &'a [u8],
    bounds: Vec<Option<(&'a [u8], &'a [u8])>>,
}

impl CommonBounds<'_> {
    fn put(&self, out: &mut Vec<u8>) {
        put::lp(out, self.common);
        for bounds in &self.bounds {
            let (min, max) = bounds.unwrap_or_default();
            put::lp(out, min);
            put::lp(out, max);
        }
    }
}

/// Returns the fraction of the bounds of other groups that lie within those of a group, on
/// average.
fn overlap<T: Ord>(bounds: &[(T, T)]) -> f64 {
    let mut all: Vec<&T> = bounds.iter().flat_map(|(min, max)| [min, max]).collect();
    all.sort_unstable();
    let others = |(min, max): &(T, T)| {
        let within = all.partition_point(|bound| *bound <= max);
        let within = within.saturating_sub(all.partition_point(|bound| *bound < min));
        within.saturating_sub(2)
    };
    let found: usize = bounds.iter().map(others).sum();
    let possible = bounds.len().saturating_mul(all.len().saturating_sub(2));
    if possible == 0 { 0.0 } else { found as f64 / possible as f64 }
}

/// Puts the state of a kind of cells below those of the kinds after it.
fn joined(after: u8, state: &u8) -> u8 {
    after << 2 | state
}
