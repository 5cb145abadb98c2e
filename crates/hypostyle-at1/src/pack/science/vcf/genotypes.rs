//! Encodes the cells of samples (§7.6).

use std::cmp::Reverse;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::record::cells;
use crate::pack::search::SearchParams;
use hypostyle_core::compress::xz::encode::{Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Cells by which forms are compared, about.
const SAMPLE_CELLS: usize = 2 << 20;

/// Tunings for pairs that start at even offsets, and for other pairs.
const ALIGNED_TUNINGS: &[Tuning] = &[Tuning::pairs(3)];
const UNALIGNED_TUNINGS: &[Tuning] =
    &[Tuning::flat(0), Tuning::flat(4), Tuning::flat(3), Tuning::flat(1), Tuning::pairs(0)];

/// How samples are named whose cell is not the usual one.
///
/// The format stores a step and a cell number for each named sample, and leaves open which
/// samples are named and how long their varints are. If every pair of numbers starts at an even
/// offset, xz models each half separately; one-byte varints are then padded to two bytes where
/// the other number needs two. If many samples are unusual, naming all of them puts each sample
/// at the same offset of its line. xz then finds lines that are almost equal, which are common
/// since neighbouring sites are inherited together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GenotypeForm {
    /// Whether pairs start at even offsets.
    is_aligned: bool,
    /// The share of unusual samples above which a line names all samples.
    name_all_above: Option<f64>,
}

impl GenotypeForm {
    const ALL: [Self; 3] = [
        Self { is_aligned: false, name_all_above: None },
        Self { is_aligned: true, name_all_above: Some(0.25) },
        Self { is_aligned: true, name_all_above: Some(0.05) },
    ];

    /// Returns the form that makes some lines from the middle smallest.
    pub(super) fn smallest(
        samples: &[&[u8]],
        dict: &GenotypeDict<'_>,
        search: &SearchParams,
    ) -> Result<Self> {
        let cells_per_line = dict.cells.div_ceil(samples.len().max(1)).max(1);
        let lines = SAMPLE_CELLS.div_ceil(cells_per_line).min(samples.len());
        let start = (samples.len() - lines) / 2;
        let middle = samples.get(start..start + lines).unwrap_or_default();
        let mut best: Option<(usize, Self)> = None;
        for form in Self::ALL {
            let gt = dict.encode(middle, form);
            let tuning = form.tunings().first().copied().unwrap_or(Tuning::flat(0));
            let cost = if search.is_quick() {
                zstd::compress(&gt, 1)?.len()
            } else {
                // A quick trial would miss lines that are almost equal.
                Block::new(&gt, tuning)?.cost()
            };
            if best.is_none_or(|(best_cost, _)| cost < best_cost) {
                best = Some((cost, form));
            }
        }
        Ok(best.map_or(Self::ALL[0], |(_, form)| form))
    }

    /// Returns the tunings that may suit this form, the likeliest first.
    pub(super) fn tunings(self) -> &'static [Tuning] {
        if self.is_aligned { ALIGNED_TUNINGS } else { UNALIGNED_TUNINGS }
    }

    /// Returns whether a line names all samples.
    fn names_all(self, unusual: usize, samples: usize) -> bool {
        self.name_all_above.is_some_and(|share| unusual as f64 > samples as f64 * share)
    }

    /// Returns whether the usual cell has a number too.
    fn numbers_usual(self) -> bool {
        self.name_all_above.is_some()
    }

    fn put_count(self, count: usize, out: &mut Vec<u8>) {
        if self.is_aligned {
            put_wide(count, out);
        } else {
            put::uv(out, count as u64);
        }
    }

    fn put_pair(self, step: usize, cell: usize, out: &mut Vec<u8>) {
        if self.is_aligned && (step < 0x80) != (cell < 0x80) {
            put_wide(step, out);
            put_wide(cell, out);
        } else {
            put::uv(out, step as u64);
            put::uv(out, cell as u64);
        }
    }
}

/// Writes a varint of at least two bytes.
fn put_wide(number: usize, out: &mut Vec<u8>) {
    match u8::try_from(number) {
        Ok(low @ 0..0x80) => out.extend_from_slice(&[low | 0x80, 0]),
        _ => put::uv(out, number as u64),
    }
}

/// The distinct cells of all samples.
pub(super) struct GenotypeDict<'a> {
    hasher: DefaultHashBuilder,
    /// The hash and the number of each cell.
    numbers: HashTable<(u64, usize)>,
    texts: Vec<&'a [u8]>,
    /// Numbers by frequency; the first one is the usual cell.
    order: Vec<usize>,
    /// The rank of each number in that order.
    ranks: Vec<usize>,
    /// How many cells were counted.
    cells: usize,
}

impl<'a> GenotypeDict<'a> {
    /// Counts the cells of all lines.
    pub(super) fn new(samples: &[&'a [u8]]) -> Self {
        let mut dict = Self {
            hasher: DefaultHashBuilder::default(),
            numbers: HashTable::new(),
            texts: Vec::new(),
            order: Vec::new(),
            ranks: Vec::new(),
            cells: 0,
        };
        let mut counts: Vec<usize> = Vec::new();
        // Most cells equal their neighbour, which saves the lookup.
        let (mut last, mut number): (Option<&[u8]>, usize) = (None, 0);
        for &line in samples {
            for cell in cells(line) {
                if last != Some(cell) {
                    number = dict.insert(cell);
                    last = Some(cell);
                }
                if counts.len() < dict.texts.len() {
                    counts.push(0);
                }
                if let Some(count) = counts.get_mut(number) {
                    *count += 1;
                }
                dict.cells += 1;
            }
        }
        dict.order = (0..counts.len()).collect();
        dict.order.sort_by_key(|&number| Reverse(counts.get(number)));
        dict.ranks = vec![0; counts.len()];
        for (rank, &number) in dict.order.iter().enumerate() {
            if let Some(slot) = dict.ranks.get_mut(number) {
                *slot = rank;
            }
        }
        dict
    }

    fn insert(&mut self, cell: &'a [u8]) -> usize {
        let hash = self.hasher.hash_one(cell);
        let texts = &mut self.texts;
        let entry = self.numbers.entry(
            hash,
            |&(other, number)| hash == other && texts.get(number) == Some(&cell),
            |&(hash, _)| hash,
        );
        let add = || {
            texts.push(cell);
            (hash, texts.len() - 1)
        };
        entry.or_insert_with(add).get().1
    }

    /// Returns the rank of a cell; the usual one has rank 0.
    fn rank(&self, cell: &[u8]) -> usize {
        let hash = self.hasher.hash_one(cell);
        let is_equal = |&(other, number): &(u64, usize)| {
            hash == other && self.texts.get(number).is_some_and(|&text| text == cell)
        };
        let found = self.numbers.find(hash, is_equal);
        found.and_then(|&(_, number)| self.ranks.get(number)).copied().unwrap_or(0)
    }

    /// Returns the cell of a rank.
    fn text(&self, rank: usize) -> &'a [u8] {
        let number = self.order.get(rank).copied().unwrap_or(0);
        self.texts.get(number).copied().unwrap_or_default()
    }

    /// Appends the usual cell and the numbered ones to stream `meta`.
    pub(super) fn put_vocabulary(&self, form: GenotypeForm, meta: &mut Vec<u8>) {
        put::lp(meta, self.text(0));
        let first = usize::from(!form.numbers_usual()).min(self.order.len());
        put::uv(meta, (self.order.len() - first) as u64);
        (first..self.order.len()).for_each(|rank| put::lp(meta, self.text(rank)));
    }

    /// Returns the content of stream `gt`: the named samples of each line.
    pub(super) fn encode(&self, samples: &[&[u8]], form: GenotypeForm) -> Vec<u8> {
        let usual = self.text(0);
        let skipped_ranks = usize::from(!form.numbers_usual());
        let mut out = Vec::new();
        let mut unusual: Vec<(usize, usize)> = Vec::new();
        let (mut last, mut rank): (&[u8], usize) = (usual, 0);
        for &line in samples {
            unusual.clear();
            let mut count = 0;
            for cell in cells(line) {
                if cell != usual {
                    if cell != last {
                        (last, rank) = (cell, self.rank(cell));
                    }
                    unusual.push((count, rank));
                }
                count += 1;
            }
            let names_all = form.names_all(unusual.len(), count);
            form.put_count(if names_all { count } else { unusual.len() }, &mut out);
            let put_usual = |at: usize, out: &mut Vec<u8>| {
                form.put_pair(usize::from(at > 0), 0, out);
            };
            let mut at = 0;
            for &(index, rank) in &unusual {
                let cell = rank.saturating_sub(skipped_ranks);
                if names_all {
                    (at..index).for_each(|at| put_usual(at, &mut out));
                    form.put_pair(usize::from(index > 0), cell, &mut out);
                    at = index + 1;
                } else {
                    form.put_pair(index - at, cell, &mut out);
                    at = index;
                }
            }
            if names_all {
                (at..count).for_each(|at| put_usual(at, &mut out));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hypostyle_core::wire::Cursor;

    /// Decodes the named samples of all lines.
    fn lines(gt: &[u8], meta: &[u8], samples: usize) -> Vec<String> {
        let mut meta = Cursor::new(meta, 0);
        let usual = meta.lp("usual").unwrap();
        let count = meta.uv("count").unwrap();
        let tokens: Vec<&[u8]> = (0..count).map(|_| meta.lp("token").unwrap()).collect();
        let mut gt = Cursor::new(gt, 0);
        let mut lines = Vec::new();
        while !gt.is_empty() {
            let mut cells = vec![usual; samples];
            let mut at = 0;
            for _ in 0..gt.uv("named").unwrap() {
                at += usize::try_from(gt.uv("step").unwrap()).unwrap();
                cells[at] = tokens[usize::try_from(gt.uv("token").unwrap()).unwrap()];
            }
            lines.push(String::from_utf8(cells.join(&b'\t')).unwrap());
        }
        lines
    }

    #[test]
    fn every_form_decodes_to_the_same_samples() {
        // Many samples, so that steps take two bytes; many cells, so that cell numbers do.
        for (samples, distinct) in [(1, 2), (3, 1), (10, 4), (300, 3), (300, 500), (40, 20_000)] {
            let cell = |at: usize| at * at % 7919 % distinct * usize::from(at % 11 < at / 200 % 11);
            let text: Vec<String> = (0..60)
                .map(|line| {
                    let cells = (0..samples).map(|at| format!("{}", cell(line * samples + at)));
                    cells.collect::<Vec<_>>().join("\t")
                })
                .collect();
            let rows: Vec<&[u8]> = text.iter().map(|line| line.as_bytes()).collect();
            let dict = GenotypeDict::new(&rows);
            for form in GenotypeForm::ALL {
                let mut meta = Vec::new();
                dict.put_vocabulary(form, &mut meta);
                assert_eq!(lines(&dict.encode(&rows, form), &meta, samples), text, "{form:?}");
            }
        }
    }

    #[test]
    fn aligned_pairs_start_at_even_offsets() {
        let form = GenotypeForm { is_aligned: true, name_all_above: None };
        let mut out = Vec::new();
        form.put_count(3, &mut out);
        for (step, cell) in [(1, 1), (200, 1), (1, 200), (200, 300)] {
            form.put_pair(step, cell, &mut out);
            assert_eq!(out.len() % 2, 0, "{step} {cell}");
        }
        assert_eq!(out.len(), 2 + 2 + 4 + 4 + 4);
    }
}
