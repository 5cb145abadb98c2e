//! Variant calls as columnar with an empty delimiter (§7.6.1).
//!
//! With nothing between cells a line may be cut anywhere. Identifiers then end where
//! their number begins, each key of INFO has a column for its name and one for its
//! value, and numbers are differences or follow from each other. Genotypes that tell
//! the two chromosomes of a sample apart get a column for each chromosome: people
//! share long stretches of them, so that most of a column is a copy of earlier ones.

use hashbrown::HashMap;

use crate::codec::Codec;
use crate::codecs::VIEW;
use crate::pack::context::EncodeContext;
use crate::pack::lines::ended;
use crate::pack::options::Layout;
use crate::pack::science::vcf::{self, Record, suits};
use crate::pack::stream_set::Stream;
use crate::pack::tables::columnar::{Table, Tail};
use crate::pack::tables::split::Rows;
use hypostyle_core::error::Result;
use hypostyle_core::wire::put;

/// Keys of INFO that have columns, at most; what follows the last is one text.
const KEYS: usize = 64;

/// Lines whose keys are looked at.
const LOOKED_AT: usize = 1 << 16;

/// Cells of one chromosome that may differ: their dictionary is in each column.
const ALLELES: usize = 64;

/// Fewer samples have no columns of their own.
const SAMPLES: usize = 16;

/// More of them neither: rows of so many cells are no table.
const MOST_SAMPLES: usize = 1 << 16;

/// The streams of variant calls; `None` if no line has samples.
pub(in crate::pack) fn streams(
    text: &[u8],
    job: &EncodeContext<'_>,
) -> Result<Option<Vec<Stream>>> {
    if !suits(text) {
        return Ok(None);
    }
    let (lines, trailing) = ended(text);
    let Some(samples) = vcf::samples(lines) else { return Ok(None) };
    let keys = Keys::find(lines);
    // The published text has no dictionaries.
    let tellable = job.search.layout == Layout::Reference;
    let tail = if tellable { chromosomes(lines, samples) } else { None };
    let with_samples = tail.is_none();
    let cut = |line: &[u8], ends: &mut Vec<usize>| {
        let record = Record::cut(line).filter(|record| record.samples() == samples);
        record.is_some_and(|record| keys.cut(line, &record, with_samples, ends))
    };
    let Some(rows) = Rows::by(lines, cut) else { return Ok(None) };
    let table =
        Table { rows, delimiter: b"", header: None, trailing, tail: tail.unwrap_or_default() };
    let mut streams = table.best(job)?;
    if tellable {
        streams.push(Stream::small(VIEW, &[Codec::Vcf.id()], job.search.layout)?);
    }
    Ok(Some(streams))
}

/// The keys of INFO, in an order in which most lines have them.
struct Keys<'a> {
    places: HashMap<&'a [u8], usize>,
}

impl<'a> Keys<'a> {
    fn find(lines: &'a [u8]) -> Self {
        let mut seen: HashMap<Vec<&[u8]>, (usize, usize)> = HashMap::new();
        let records = lines.split(|&byte| byte == b'\n').filter_map(Record::cut);
        for (index, record) in records.take(LOOKED_AT).enumerate() {
            let keys: Vec<&[u8]> = items(record.info()).map(key).collect();
            seen.entry(keys).or_insert((0, index)).0 += 1;
        }
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_by_key(|(_, (count, first))| (std::cmp::Reverse(*count), *first));
        let mut order: Vec<&[u8]> = Vec::new();
        for (keys, _) in &seen {
            let mut after = 0;
            for key in keys {
                match order.iter().position(|known| known == key) {
                    Some(at) => after = at + 1,
                    None if order.len() < KEYS => {
                        order.insert(after, key);
                        after += 1;
                    }
                    None => break,
                }
            }
        }
        Self { places: order.into_iter().zip(0..).collect() }
    }

    /// Says where the cells of a line end.
    fn cut(&self, line: &[u8], record: &Record<'_>, samples: bool, ends: &mut Vec<usize>) -> bool {
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
        for item in items(info) {
            let (key, between) = (key(item), usize::from(rest.len() < info.len()));
            // A key that comes twice or too late, and all that follows, is one text.
            let Some(place) = self.places.get(key).copied().filter(|&place| place >= next) else {
                break;
            };
            (next..place).for_each(|_| [0, 0].into_iter().for_each(&mut put));
            let name = key.len() + usize::from(item.len() > key.len());
            put(between + name);
            put(item.len() - name);
            rest = rest.get(between + item.len()..).unwrap_or_default();
            next = place + 1;
        }
        (next..self.places.len()).for_each(|_| [0, 0].into_iter().for_each(&mut put));
        put(rest.len());
        put(1 + format.len() + 1);
        if samples {
            put(record.samples.len());
        }
        // What is left has columns of its own.
        at + if samples { 0 } else { record.samples.len() } == line.len()
    }
}

/// What INFO says, item by item.
fn items(info: &[u8]) -> impl Iterator<Item = &[u8]> {
    info.split(|&byte| byte == b';')
}

fn key(item: &[u8]) -> &[u8] {
    item.get(..memchr::memchr(b'=', item).unwrap_or(item.len())).unwrap_or(item)
}

/// Two columns for each sample; `None` if its chromosomes are not told apart, or if
/// there is more in its cells than which allele each of them has.
fn chromosomes(lines: &[u8], samples: usize) -> Option<Tail> {
    if !(SAMPLES..=MOST_SAMPLES).contains(&samples) {
        return None;
    }
    let records = || {
        let records = lines.split(|&byte| byte == b'\n').filter_map(Record::cut);
        records.filter(|record| record.samples() == samples)
    };
    let mut alleles: [Alleles<'_>; 2] = Default::default();
    let (mut told, mut cells) = (0, 0);
    for record in records() {
        for cell in record.cells() {
            let (one, other) = halves(cell);
            told += usize::from(!one.is_empty());
            cells += 1;
            let [first, second] = &mut alleles;
            if !(first.count(one) && second.count(other)) {
                return None;
            }
        }
    }
    if told * 10 < cells * 9 {
        return None;
    }
    let rows = cells / samples;
    let [first, second] = alleles.map(Alleles::ordered);
    let mut tail = Tail::default();
    for at in 0..samples {
        tail.chunks.push(first.chunk(rows, b""));
        tail.chunks.push(second.chunk(rows, if at + 1 < samples { b"\t" } else { b"" }));
    }
    for record in records() {
        for (cell, chunks) in record.cells().zip(tail.chunks.chunks_exact_mut(2)) {
            let (one, other) = halves(cell);
            if let [left, right] = chunks {
                left.push(first.place(one));
                right.push(second.place(other));
            }
        }
    }
    Some(tail)
}

/// A genotype cut behind its bar.
fn halves(cell: &[u8]) -> (&[u8], &[u8]) {
    cell.split_at_checked(memchr::memchr(b'|', cell).map_or(0, |at| at + 1)).unwrap_or((&[], cell))
}

/// What may stand in a column of one chromosome.
#[derive(Default)]
struct Alleles<'a> {
    /// Texts and how often they were met.
    texts: Vec<(&'a [u8], usize)>,
}

impl<'a> Alleles<'a> {
    /// Counts a cell; says whether there are few enough.
    fn count(&mut self, cell: &'a [u8]) -> bool {
        match self.texts.iter_mut().find(|(text, _)| *text == cell) {
            Some((_, count)) => *count += 1,
            None => self.texts.push((cell, 1)),
        }
        self.texts.len() <= ALLELES
    }

    fn ordered(mut self) -> Self {
        self.texts.sort_by_key(|&(text, count)| (std::cmp::Reverse(count), text));
        self
    }

    fn place(&self, cell: &[u8]) -> u8 {
        let place = self.texts.iter().position(|(text, _)| *text == cell);
        place.and_then(|place| u8::try_from(place).ok()).unwrap_or(0)
    }

    /// The start of a column (§5.2.5), with `end` behind each entry.
    fn chunk(&self, rows: usize, end: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(rows + 64);
        put::uv(&mut out, rows as u64);
        put::uv(&mut out, self.texts.len() as u64);
        for (text, _) in &self.texts {
            put::lp(&mut out, &[text, end].concat());
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

    fn cut(line: &str, keys: &Keys<'_>) -> Vec<String> {
        let mut ends = Vec::new();
        let record = Record::cut(line.as_bytes()).unwrap();
        assert!(keys.cut(line.as_bytes(), &record, true, &mut ends));
        let starts = [0].into_iter().chain(ends.iter().copied());
        starts.zip(&ends).map(|(start, &end)| line[start..end].to_owned()).collect()
    }

    #[test]
    fn keys_have_columns_in_an_order_that_most_lines_keep() {
        let lines = ["AC=1;DP=7", "AC=1;DP=7", "AC=2;DB;DP=7", "NS=3;AC=1;DP=7"].map(call);
        let text = lines.join("\n");
        let keys = Keys::find(text.as_bytes());
        let info = |info: &str| {
            let cells = cut(&call(info), &keys);
            assert_eq!(cells.concat(), call(info));
            assert_eq!(cells.len(), 8 + 4 * 2 + 3);
            cells[8..17].join("_")
        };
        assert_eq!(cut(&lines[0], &keys)[..8].join("_"), "1\t_5_\trs_12_\tA_\tG\t_9.5_\tPASS\t");
        assert_eq!(info("NS=3;AC=1;DB;DP=7"), "NS=_3_;AC=_1_;DB__;DP=_7_");
        assert_eq!(info("AC=1;DP=7"), "__AC=_1___;DP=_7_");
        // What is unknown, late or there twice is text, and so is all behind it.
        assert_eq!(info("DP=7;AC=1"), "______DP=_7_;AC=1");
        assert_eq!(info("AC=1;XX=9;DP=7"), "__AC=_1_____;XX=9;DP=7");
        assert_eq!(info("AC=1;AC=2"), "__AC=_1_____;AC=2");
        assert_eq!(info(""), "________");
        assert_eq!(info("."), "________.");
    }

    #[test]
    fn chromosomes_need_bars_and_few_alleles() {
        let lines = |cell: &dyn Fn(usize) -> String| {
            let cells: Vec<String> = (0..SAMPLES).map(cell).collect();
            let line = format!("1\t5\t.\tA\tG\t.\t.\t.\tGT\t{}", cells.join("\t"));
            [line.clone(), line].join("\n")
        };
        let tail = chromosomes(lines(&|at| format!("{}|{}", at % 3, at % 2)).as_bytes(), SAMPLES);
        let chunks = tail.unwrap().chunks;
        assert_eq!(chunks.len(), 2 * SAMPLES);
        assert_eq!(chunks[2], b"\x02\x03\x020|\x021|\x022|\x01\x01");
        assert_eq!(chunks[3], b"\x02\x02\x020\t\x021\t\x01\x01");
        assert_eq!(chunks[2 * SAMPLES - 1], b"\x02\x02\x010\x011\x01\x01");
        assert!(chromosomes(lines(&|_| "0/1".to_owned()).as_bytes(), SAMPLES).is_none());
        assert!(chromosomes(lines(&|at| format!("0|{at}:{at}")).as_bytes(), SAMPLES).is_some());
        let many = [lines(&|at| format!("0|{at}")), lines(&|at| format!("0|{}", at + 50))];
        assert!(chromosomes(many.join("\n").as_bytes(), SAMPLES).is_some());
        let more = (0..5).map(|n| lines(&|at| format!("0|{}", at + n * 16))).collect::<Vec<_>>();
        assert!(chromosomes(more.join("\n").as_bytes(), SAMPLES).is_none());
    }
}
