//! Variant calls as vcf (§7.6).
//!
//! Columns are lists of their own; of the samples only those that have not the usual
//! cell are named. How they are named is not settled by the format, and a few forms
//! are tried: see [`Form`].

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashMap, HashTable};

use crate::pack::context::EncodeContext;
use crate::pack::lines::ended;
use crate::pack::newline_list::NewlineList;
use crate::pack::search::SearchParams;
use crate::pack::stream_set::{Body, Stream, TUNINGS};
use crate::pack::tables::decimal::canonical;
use hypostyle_core::compress::xz::encode::{Block, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Columns before the samples.
const COLUMNS: usize = 9;

/// Where the position stands among them.
const POS: usize = 1;

/// Lines of a header that are passed over to see what stands below them.
const HEADER: usize = 1 << 20;

/// Cells by which forms are judged, about.
const JUDGED: usize = 2 << 20;

/// The share of lines that may be verbatim for the sake of positions as differences.
const ODD: usize = 20;

/// What named samples may be compressed with, if pairs start at even places, and if not.
const EVEN: &[Tuning] = &[Tuning::pairs(3)];
const ANYWHERE: &[Tuning] =
    &[Tuning::flat(0), Tuning::flat(4), Tuning::flat(3), Tuning::flat(1), Tuning::pairs(0)];

/// Whether content is variant calls, or lines out of the middle of them.
pub(in crate::pack) fn suits(content: &[u8]) -> bool {
    let start = content.get(..content.len().min(HEADER)).unwrap_or_default();
    let first = start.split(|&byte| byte == b'\n').find(|line| !line.starts_with(b"#"));
    match first.and_then(Record::cut) {
        Some(record) => record.is_likely(),
        // A long header, or the first line is longer than what was looked at.
        None => start.starts_with(b"##fileformat=VCF") && start.len() == HEADER,
    }
}

/// The streams of variant calls; `None` if no line has samples.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    let (lines, trailing) = ended(text);
    let Some(layout) = Layout::find(lines) else { return Ok(None) };
    let mut table = Table::new(lines, &layout);
    let tokens = Tokens::count(&table.samples);
    let form = Form::best(&table.samples, &tokens, job.search)?;
    let gt = tokens.name(&table.samples, form);

    let mut meta = Vec::new();
    put::uv(&mut meta, table.flags.len() as u64);
    meta.push(trailing.into());
    put::uv(&mut meta, layout.samples as u64);
    meta.push(layout.deltas.into());
    tokens.put_vocabulary(form, &mut meta);
    let [chrom, text, id, reference, alt, qual, filter, info, format] =
        std::mem::take(&mut table.lists).map(|list| list.bytes);
    let pos = if layout.deltas { table.deltas } else { text };
    let contents = [
        ("meta", meta, TUNINGS),
        ("flags", table.flags, TUNINGS),
        ("chrom", chrom, TUNINGS),
        ("pos", pos, TUNINGS),
        ("id", id, TUNINGS),
        ("ref", reference, TUNINGS),
        ("alt", alt, TUNINGS),
        ("qual", qual, TUNINGS),
        ("filter", filter, TUNINGS),
        ("info", info, TUNINGS),
        ("format", format, TUNINGS),
        ("gt", gt, form.tunings()),
        ("verbatim", table.verbatim.bytes, TUNINGS),
    ];
    Body::tuned(&contents, job).map(Some)
}

/// The samples that most lines with any have.
pub(in crate::pack) fn samples(lines: &[u8]) -> Option<usize> {
    Layout::find(lines).map(|layout| layout.samples)
}

/// A line cut at its tabs.
pub(in crate::pack) struct Record<'a> {
    pub(in crate::pack) columns: [&'a [u8]; COLUMNS],
    /// Everything behind them, tabs and all.
    pub(in crate::pack) samples: &'a [u8],
}

impl<'a> Record<'a> {
    /// `None` for lines of the header, and for those without samples.
    pub(in crate::pack) fn cut(line: &'a [u8]) -> Option<Self> {
        if line.starts_with(b"#") {
            return None;
        }
        let mut columns = [&[][..]; COLUMNS];
        let mut rest = line;
        for column in &mut columns {
            let end = memchr::memchr(b'\t', rest)?;
            *column = rest.get(..end)?;
            rest = rest.get(end + 1..)?;
        }
        Some(Self { columns, samples: rest })
    }

    pub(in crate::pack) fn samples(&self) -> usize {
        memchr::memchr_iter(b'\t', self.samples).count() + 1
    }

    pub(in crate::pack) fn cells(&self) -> impl Iterator<Item = &'a [u8]> {
        cells(self.samples)
    }

    pub(in crate::pack) fn info(&self) -> &'a [u8] {
        let [.., info, _] = self.columns;
        info
    }

    /// Whether this is a position and bases, and not some other table.
    fn is_likely(&self) -> bool {
        let [_, pos, _, bases, _, _, _, _, format] = self.columns;
        canonical(pos).is_some()
            && !bases.is_empty()
            && bases.iter().all(|base| b"ACGTNacgtn".contains(base))
            && format.iter().all(|&byte| byte.is_ascii_alphanumeric() || b":_.".contains(&byte))
    }
}

/// What all structured lines have in common.
struct Layout {
    samples: usize,
    /// Whether positions are stored as differences.
    deltas: bool,
}

impl Layout {
    /// What most lines with samples have in common.
    fn find(lines: &[u8]) -> Option<Self> {
        // For each number of samples the lines, and those with a position that is a number.
        let mut seen: HashMap<usize, (usize, usize)> = HashMap::new();
        for record in lines.split(|&byte| byte == b'\n').filter_map(Record::cut) {
            let (all, numbered) = seen.entry(record.samples()).or_default();
            *all += 1;
            *numbered += usize::from(position(&record).is_some());
        }
        let (samples, (all, numbered)) = seen
            .into_iter()
            .max_by_key(|&(samples, (all, _))| (all, std::cmp::Reverse(samples)))?;
        Some(Self { samples, deltas: numbered > 0 && (all - numbered) * ODD <= all })
    }
}

fn position(record: &Record<'_>) -> Option<i64> {
    record.columns.get(POS).and_then(|pos| canonical(pos))
}

/// Lines taken apart.
#[derive(Default)]
struct Table<'a> {
    flags: Vec<u8>,
    verbatim: NewlineList,
    lists: [NewlineList; COLUMNS],
    /// The positions, if they are differences.
    deltas: Vec<u8>,
    /// What stands behind the columns of each structured line.
    samples: Vec<&'a [u8]>,
}

impl<'a> Table<'a> {
    fn new(lines: &'a [u8], layout: &Layout) -> Self {
        let mut table = Self::default();
        let mut last = 0;
        for line in lines.split(|&byte| byte == b'\n') {
            let record = Record::cut(line).filter(|record| record.samples() == layout.samples);
            let value = record.as_ref().and_then(position);
            let record = record.filter(|_| value.is_some() || !layout.deltas);
            table.flags.push(record.is_some().into());
            let Some(record) = record else {
                table.verbatim.push(line);
                continue;
            };
            for (at, (list, column)) in table.lists.iter_mut().zip(record.columns).enumerate() {
                match value.filter(|_| at == POS && layout.deltas) {
                    Some(value) => {
                        put::sv(&mut table.deltas, value - last);
                        last = value;
                    }
                    None => list.push(column),
                }
            }
            table.samples.push(record.samples);
        }
        table
    }
}

/// How samples are named that are not usual.
///
/// A number and a cell for each of them is what the format has. Where numbers that
/// would fit one byte are made to take two, so that every pair starts at an even
/// place, xz learns what either half is like. Where many samples are unusual, naming
/// all of them puts each at the same place of its line, so that xz finds lines that
/// are almost the same: sites near each other are inherited together.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Form {
    aligned: bool,
    /// The share of unusual samples beyond which all are named.
    all_beyond: Option<f64>,
}

impl Form {
    const ALL: [Self; 3] = [
        Self { aligned: false, all_beyond: None },
        Self { aligned: true, all_beyond: Some(0.25) },
        Self { aligned: true, all_beyond: Some(0.05) },
    ];

    /// The form in which some lines from the middle are smallest.
    fn best(samples: &[&[u8]], tokens: &Tokens<'_>, search: &SearchParams) -> Result<Self> {
        let each = tokens.cells.div_ceil(samples.len().max(1)).max(1);
        let lines = JUDGED.div_ceil(each).min(samples.len());
        let start = (samples.len() - lines) / 2;
        let some = samples.get(start..start + lines).unwrap_or_default();
        let mut best: Option<(usize, Self)> = None;
        for form in Self::ALL {
            let gt = tokens.name(some, form);
            let tuning = form.tunings().first().copied().unwrap_or(Tuning::flat(0));
            let cost = match search.is_quick() {
                true => zstd::compress(&gt, 1)?.len(),
                // Only a thorough search finds lines that are almost the same.
                false => Block::new(&gt, tuning)?.cost(),
            };
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, form));
            }
        }
        Ok(best.map_or(Self::ALL[0], |(_, form)| form))
    }

    /// What may suit it; the first one most likely does.
    fn tunings(self) -> &'static [Tuning] {
        if self.aligned { EVEN } else { ANYWHERE }
    }

    /// Whether all samples of a line are named.
    fn names_all(self, unusual: usize, samples: usize) -> bool {
        self.all_beyond.is_some_and(|share| unusual as f64 > samples as f64 * share)
    }

    fn put_count(self, count: usize, out: &mut Vec<u8>) {
        match self.aligned && count < 0x80 {
            true => wide(count, out),
            false => put::uv(out, count as u64),
        }
    }

    fn put_pair(self, step: usize, token: usize, out: &mut Vec<u8>) {
        if self.aligned && (step < 0x80) != (token < 0x80) {
            for number in [step, token] {
                match number < 0x80 {
                    true => wide(number, out),
                    false => put::uv(out, number as u64),
                }
            }
        } else {
            put::uv(out, step as u64);
            put::uv(out, token as u64);
        }
    }
}

/// A number below 128 as a varint of two bytes.
fn wide(number: usize, out: &mut Vec<u8>) {
    out.push(u8::try_from(number).unwrap_or(0) | 0x80);
    out.push(0);
}

/// The distinct cells of all samples.
struct Tokens<'a> {
    hasher: DefaultHashBuilder,
    /// The hash and the number of each.
    numbers: HashTable<(u64, usize)>,
    texts: Vec<&'a [u8]>,
    /// Numbers by how many cells they are, the usual one first.
    order: Vec<usize>,
    /// Where each number stands in that order.
    places: Vec<usize>,
    /// Cells altogether.
    cells: usize,
}

impl<'a> Tokens<'a> {
    fn count(samples: &[&'a [u8]]) -> Self {
        let mut tokens = Self {
            hasher: DefaultHashBuilder::default(),
            numbers: HashTable::new(),
            texts: Vec::new(),
            order: Vec::new(),
            places: Vec::new(),
            cells: 0,
        };
        let mut counts: Vec<usize> = Vec::new();
        let (mut last, mut number): (Option<&[u8]>, usize) = (None, 0);
        for &line in samples {
            for cell in cells(line) {
                if last != Some(cell) {
                    number = tokens.insert(cell);
                    last = Some(cell);
                }
                if counts.len() < tokens.texts.len() {
                    counts.push(0);
                }
                if let Some(count) = counts.get_mut(number) {
                    *count += 1;
                }
                tokens.cells += 1;
            }
        }
        tokens.order = (0..counts.len()).collect();
        tokens.order.sort_by_key(|&number| std::cmp::Reverse(counts.get(number)));
        tokens.places = vec![0; counts.len()];
        for (place, &number) in tokens.order.iter().enumerate() {
            if let Some(slot) = tokens.places.get_mut(number) {
                *slot = place;
            }
        }
        tokens
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

    /// Where a cell stands in the order; 0 is the usual one.
    fn place(&self, cell: &[u8]) -> usize {
        let hash = self.hasher.hash_one(cell);
        let is_it = |&(other, number): &(u64, usize)| {
            hash == other && self.texts.get(number).is_some_and(|&text| text == cell)
        };
        let found = self.numbers.find(hash, is_it);
        found.and_then(|&(_, number)| self.places.get(number)).copied().unwrap_or(0)
    }

    fn text(&self, place: usize) -> &'a [u8] {
        let number = self.order.get(place).copied().unwrap_or(0);
        self.texts.get(number).copied().unwrap_or_default()
    }

    /// The usual cell, and those that can be named.
    fn put_vocabulary(&self, form: Form, meta: &mut Vec<u8>) {
        put::lp(meta, self.text(0));
        let first = usize::from(form.all_beyond.is_none()).min(self.order.len());
        put::uv(meta, (self.order.len() - first) as u64);
        (first..self.order.len()).for_each(|place| put::lp(meta, self.text(place)));
    }

    /// The samples of lines, named in a form.
    fn name(&self, samples: &[&[u8]], form: Form) -> Vec<u8> {
        let usual = self.text(0);
        let skipped = usize::from(form.all_beyond.is_none());
        let mut out = Vec::new();
        let mut named: Vec<(usize, usize)> = Vec::new();
        let (mut last, mut place): (&[u8], usize) = (usual, 0);
        for &line in samples {
            named.clear();
            let mut count = 0;
            for cell in cells(line) {
                if cell != usual {
                    if cell != last {
                        (last, place) = (cell, self.place(cell));
                    }
                    named.push((count, place));
                }
                count += 1;
            }
            let all = form.names_all(named.len(), count);
            form.put_count(if all { count } else { named.len() }, &mut out);
            let mut at = 0;
            for &(index, place) in &named {
                if all {
                    (at..index).for_each(|at| form.put_pair(usize::from(at > 0), 0, &mut out));
                    form.put_pair(usize::from(index > 0), place.saturating_sub(skipped), &mut out);
                    at = index + 1;
                } else {
                    form.put_pair(index - at, place.saturating_sub(skipped), &mut out);
                    at = index;
                }
            }
            if all {
                (at..count).for_each(|at| form.put_pair(usize::from(at > 0), 0, &mut out));
            }
        }
        out
    }
}

/// The cells of the samples of a line.
fn cells(samples: &[u8]) -> impl Iterator<Item = &[u8]> {
    samples.split(|&byte| byte == b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use hypostyle_core::wire::Cursor;

    /// What a decoder makes of named samples.
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
    fn every_form_names_all_samples() {
        // Many samples, so that steps take two bytes; many cells, so that tokens do.
        for (samples, distinct) in [(1, 2), (3, 1), (10, 4), (300, 3), (300, 500), (40, 20_000)] {
            let cell = |at: usize| at * at % 7919 % distinct * usize::from(at % 11 < at / 200 % 11);
            let text: Vec<String> = (0..60)
                .map(|line| {
                    let cells = (0..samples).map(|at| format!("{}", cell(line * samples + at)));
                    cells.collect::<Vec<_>>().join("\t")
                })
                .collect();
            let rows: Vec<&[u8]> = text.iter().map(|line| line.as_bytes()).collect();
            let tokens = Tokens::count(&rows);
            for form in Form::ALL {
                let mut meta = Vec::new();
                tokens.put_vocabulary(form, &mut meta);
                assert_eq!(lines(&tokens.name(&rows, form), &meta, samples), text, "{form:?}");
            }
        }
    }

    #[test]
    fn pairs_start_at_even_places() {
        let form = Form { aligned: true, all_beyond: None };
        let mut out = Vec::new();
        form.put_count(3, &mut out);
        for (step, token) in [(1, 1), (200, 1), (1, 200), (200, 300)] {
            form.put_pair(step, token, &mut out);
            assert_eq!(out.len() % 2, 0, "{step} {token}");
        }
        assert_eq!(out.len(), 2 + 2 + 4 + 4 + 4);
    }

    #[test]
    fn calls_are_told_from_other_tables() {
        let call = "1\t5\t.\tA\tG\t9\tPASS\tDP=1\tGT:DP\t0/0:3";
        assert!(suits(call.as_bytes()));
        assert!(suits(["##fileformat=VCFv4.2\n#CHROM\n", call, "\n"].concat().as_bytes()));
        for other in [
            "",
            "##fileformat=VCFv4.2\n",
            "1\t5\t.\tA\tG\t9\tPASS\tDP=1",
            &call.replace("\t5\t", "\tx\t"),
            &call.replace("\tA\t", "\tBerlin\t"),
            &call.replace('\t', ","),
        ] {
            assert!(!suits(other.as_bytes()), "{other}");
        }
    }
}
