//! Encodes variant calls with codec columnar and an empty delimiter (§7.6.1).
//!
//! An empty delimiter lets the encoder cut a line anywhere. Identifiers are cut before their
//! number, and each key of INFO has one column for its name and one for its value, so that the
//! table encoder stores numbers as differences or derives them from each other. Phased
//! genotypes have a column for each chromosome of each sample: people share long stretches of
//! chromosomes, so most of a column repeats earlier columns.

use std::cmp::Reverse;

use hashbrown::HashMap;

use crate::pack::context::EncodeContext;
use crate::pack::lines::split_final_newline;
use crate::pack::options::Layout;
use crate::pack::science::vcf::record::{VcfLayout, VcfRecord};
use crate::pack::science::vcf::suits;
use crate::pack::stream_set::Stream;
use crate::pack::tables::columnar::{ColumnarTable, DictTail};
use crate::pack::tables::split::SplitRows;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Keys of INFO that have columns; the items after the last one are a single text.
const MAX_INFO_KEYS: usize = 64;

/// Lines in which keys of INFO are looked for.
const SAMPLE_LINES: usize = 1 << 16;

/// Distinct cells of a chromosome: each column repeats their dictionary.
const MAX_ALLELES: usize = 64;

/// Samples from which chromosomes have columns.
const MIN_SAMPLES: usize = 16;

/// Samples up to which chromosomes have columns: wider rows make no useful table.
const MAX_SAMPLES: usize = 1 << 16;

/// Encodes variant calls; returns `None` if no line has samples.
pub(in crate::pack) fn streams(
    text: &[u8],
    context: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    if !suits(text) {
        return Ok(None);
    }
    let (lines, trailing) = split_final_newline(text);
    let Some(VcfLayout { samples, .. }) = VcfLayout::find(lines) else { return Ok(None) };
    let keys = InfoKeys::find(lines);
    // The published text has no dictionaries.
    let has_dictionaries = context.search.layout == Layout::Reference;
    let tail = if has_dictionaries { chromosomes(lines, samples) } else { None };
    let with_samples = tail.is_none();
    let cut = |line: &[u8], ends: &mut Vec<usize>| {
        let record = VcfRecord::parse(line).filter(|record| record.sample_count() == samples);
        record.is_some_and(|record| keys.cut(line, &record, with_samples, ends))
    };
    let Some(rows) = SplitRows::with_cuts(lines, cut) else { return Ok(None) };
    let table = ColumnarTable {
        rows,
        delimiter: b"",
        header: None,
        objects: None,
        trailing,
        dict_tail: tail.unwrap_or_default(),
    };
    table.best(context).map(Some)
}

/// The keys of INFO, in an order that most lines follow.
struct InfoKeys<'a> {
    ranks: HashMap<&'a [u8], usize>,
}

impl<'a> InfoKeys<'a> {
    /// Finds the keys; lists of keys that occur more often are merged into the order first.
    fn find(lines: &'a [u8]) -> Self {
        let mut seen: HashMap<Vec<&[u8]>, (usize, usize)> = HashMap::new();
        let records = lines.split(|&byte| byte == b'\n').filter_map(VcfRecord::parse);
        for (index, record) in records.take(SAMPLE_LINES).enumerate() {
            let keys: Vec<&[u8]> = info_items(record.info()).map(info_key).collect();
            seen.entry(keys).or_insert((0, index)).0 += 1;
        }
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_by_key(|(_, (count, first))| (Reverse(*count), *first));
        let mut order: Vec<&[u8]> = Vec::new();
        for (keys, _) in &seen {
            let mut next = 0;
            for key in keys {
                match order.iter().position(|known| known == key) {
                    Some(at) => next = at + 1,
                    None if order.len() < MAX_INFO_KEYS => {
                        order.insert(next, key);
                        next += 1;
                    }
                    None => break,
                }
            }
        }
        Self { ranks: order.into_iter().zip(0..).collect() }
    }

    /// Pushes the ends of the cells of a line; the last cell are the samples, if wanted.
    ///
    /// Returns false if the cells do not make up the line.
    fn cut(
        &self,
        line: &[u8],
        record: &VcfRecord<'_>,
        with_samples: bool,
        ends: &mut Vec<usize>,
    ) -> bool {
        let [chrom, pos, id, reference, alt, qual, filter, info, format] = record.columns;
        let mut at = 0;
        let mut put = |len: usize| {
            at += len;
            ends.push(at);
        };
        put(chrom.len() + 1);
        put(pos.len());
        let number = id.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        put(1 + id.len() - number);
        put(number);
        put(1 + reference.len());
        put(1 + alt.len() + 1);
        put(qual.len());
        put(1 + filter.len() + 1);
        let mut next = 0;
        let mut rest = info;
        for item in info_items(info) {
            let (key, separator) = (info_key(item), usize::from(rest.len() < info.len()));
            // From the first key that is unknown or out of order on, the items are one text.
            let rank = self.ranks.get(key).copied().filter(|&rank| rank >= next);
            let Some(rank) = rank else { break };
            (next..rank).for_each(|_| [0, 0].into_iter().for_each(&mut put));
            let name = key.len() + usize::from(item.len() > key.len());
            put(separator + name);
            put(item.len() - name);
            rest = rest.get(separator + item.len()..).unwrap_or_default();
            next = rank + 1;
        }
        (next..self.ranks.len()).for_each(|_| [0, 0].into_iter().for_each(&mut put));
        put(rest.len());
        put(1 + format.len() + 1);
        if with_samples {
            put(record.samples.len());
        }
        // Otherwise the samples have columns of their own after these cells.
        at + if with_samples { 0 } else { record.samples.len() } == line.len()
    }
}

/// Returns the items of INFO.
fn info_items(info: &[u8]) -> impl Iterator<Item = &[u8]> {
    info.split(|&byte| byte == b';')
}

/// Returns the key of an item, which may have no value.
fn info_key(item: &[u8]) -> &[u8] {
    item.get(..memchr::memchr(b'=', item).unwrap_or(item.len())).unwrap_or(item)
}

/// Makes two columns for each sample, one for each chromosome.
///
/// Returns `None` if most genotypes are not phased, or if cells contain more than alleles.
fn chromosomes(lines: &[u8], samples: usize) -> Option<DictTail> {
    if !(MIN_SAMPLES..=MAX_SAMPLES).contains(&samples) {
        return None;
    }
    let records = || {
        let records = lines.split(|&byte| byte == b'\n').filter_map(VcfRecord::parse);
        records.filter(|record| record.sample_count() == samples)
    };
    let mut alleles: [AlleleDict<'_>; 2] = Default::default();
    let (mut phased, mut cells) = (0, 0);
    for record in records() {
        for cell in record.cells() {
            let (one, other) = split_genotype(cell);
            phased += usize::from(!one.is_empty());
            cells += 1;
            let [first, second] = &mut alleles;
            if !(first.count(one) && second.count(other)) {
                return None;
            }
        }
    }
    if phased * 10 < cells * 9 {
        return None;
    }
    let rows = cells / samples;
    let [first, second] = alleles.map(AlleleDict::sorted);
    let mut tail = DictTail::default();
    for at in 0..samples {
        tail.chunks.push(first.chunk(rows, b""));
        tail.chunks.push(second.chunk(rows, if at + 1 < samples { b"\t" } else { b"" }));
    }
    for record in records() {
        for (cell, chunks) in record.cells().zip(tail.chunks.chunks_exact_mut(2)) {
            let (one, other) = split_genotype(cell);
            if let [left, right] = chunks {
                left.push(first.rank(one));
                right.push(second.rank(other));
            }
        }
    }
    Some(tail)
}

/// Splits a genotype after its bar; the first half is empty if it has no bar.
fn split_genotype(cell: &[u8]) -> (&[u8], &[u8]) {
    cell.split_at_checked(memchr::memchr(b'|', cell).map_or(0, |at| at + 1)).unwrap_or((&[], cell))
}

/// The distinct cells of the columns of one chromosome.
#[derive(Default)]
struct AlleleDict<'a> {
    /// Texts and how often they occur.
    texts: Vec<(&'a [u8], usize)>,
}

impl<'a> AlleleDict<'a> {
    /// Counts a cell; returns false if there are too many distinct ones.
    fn count(&mut self, cell: &'a [u8]) -> bool {
        match self.texts.iter_mut().find(|(text, _)| *text == cell) {
            Some((_, count)) => *count += 1,
            None => self.texts.push((cell, 1)),
        }
        self.texts.len() <= MAX_ALLELES
    }

    /// Sorts the texts by frequency.
    fn sorted(mut self) -> Self {
        self.texts.sort_by_key(|&(text, count)| (Reverse(count), text));
        self
    }

    /// Returns the index of a cell.
    fn rank(&self, cell: &[u8]) -> u8 {
        let rank = self.texts.iter().position(|(text, _)| *text == cell);
        rank.and_then(|rank| u8::try_from(rank).ok()).unwrap_or(0)
    }

    /// Starts a DICT column (§5.2.5) whose entries are the texts with `suffix` after them.
    fn chunk(&self, rows: usize, suffix: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(rows + 64);
        put::uv(&mut out, rows as u64);
        put::uv(&mut out, self.texts.len() as u64);
        for (text, _) in &self.texts {
            put::lp(&mut out, &[text, suffix].concat());
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(info: &str) -> String {
        format!("1\t5\trs12\tA\tG\t9.5\tPASS\t{info}\tGT\t0|0")
    }

    fn cut(line: &str, keys: &InfoKeys<'_>) -> Vec<String> {
        let mut ends = Vec::new();
        let record = VcfRecord::parse(line.as_bytes()).unwrap();
        assert!(keys.cut(line.as_bytes(), &record, true, &mut ends));
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| line[start..end].to_owned()).collect()
    }

    #[test]
    fn keys_have_columns_in_an_order_that_most_lines_follow() {
        let lines = ["AC=1;DP=7", "AC=1;DP=7", "AC=2;DB;DP=7", "NS=3;AC=1;DP=7"].map(call);
        let text = lines.join("\n");
        let keys = InfoKeys::find(text.as_bytes());
        let info = |info: &str| {
            let cells = cut(&call(info), &keys);
            assert_eq!(cells.concat(), call(info));
            assert_eq!(cells.len(), 8 + 4 * 2 + 3);
            cells[8..17].join("_")
        };
        assert_eq!(cut(&lines[0], &keys)[..8].join("_"), "1\t_5_\trs_12_\tA_\tG\t_9.5_\tPASS\t");
        assert_eq!(info("NS=3;AC=1;DB;DP=7"), "NS=_3_;AC=_1_;DB__;DP=_7_");
        assert_eq!(info("AC=1;DP=7"), "__AC=_1___;DP=_7_");
        // An unknown, late or repeated key and all items after it are one text.
        assert_eq!(info("DP=7;AC=1"), "______DP=_7_;AC=1");
        assert_eq!(info("AC=1;XX=9;DP=7"), "__AC=_1_____;XX=9;DP=7");
        assert_eq!(info("AC=1;AC=2"), "__AC=_1_____;AC=2");
        assert_eq!(info(""), "________");
        assert_eq!(info("."), "________.");
    }

    #[test]
    fn columns_of_chromosomes_need_phased_genotypes_and_few_alleles() {
        let lines = |cell: &dyn Fn(usize) -> String| {
            let cells: Vec<String> = (0..MIN_SAMPLES).map(cell).collect();
            let line = format!("1\t5\t.\tA\tG\t.\t.\t.\tGT\t{}", cells.join("\t"));
            [line.clone(), line].join("\n")
        };
        let tail =
            chromosomes(lines(&|at| format!("{}|{}", at % 3, at % 2)).as_bytes(), MIN_SAMPLES);
        let chunks = tail.unwrap().chunks;
        assert_eq!(chunks.len(), 2 * MIN_SAMPLES);
        assert_eq!(chunks[2], b"\x02\x03\x020|\x021|\x022|\x01\x01");
        assert_eq!(chunks[3], b"\x02\x02\x020\t\x021\t\x01\x01");
        assert_eq!(chunks[2 * MIN_SAMPLES - 1], b"\x02\x02\x010\x011\x01\x01");
        assert!(chromosomes(lines(&|_| "0/1".to_owned()).as_bytes(), MIN_SAMPLES).is_none());
        assert!(chromosomes(lines(&|at| format!("0|{at}:{at}")).as_bytes(), MIN_SAMPLES).is_some());
        let many = [lines(&|at| format!("0|{at}")), lines(&|at| format!("0|{}", at + 50))];
        assert!(chromosomes(many.join("\n").as_bytes(), MIN_SAMPLES).is_some());
        let more = (0..5).map(|n| lines(&|at| format!("0|{}", at + n * 16))).collect::<Vec<_>>();
        assert!(chromosomes(more.join("\n").as_bytes(), MIN_SAMPLES).is_none());
    }
}
