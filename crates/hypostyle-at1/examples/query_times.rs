//! Times queries of an archive with row groups: the scan, and decompression alone.
//!
//! `cargo run --release -p hypostyle-at1 --example query_times -- flights.csv.at1`
#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a program for measuring")]

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use hypostyle_at1::Archive;
use hypostyle_core::compress::{xz, zstd};
use hypostyle_core::limits::Limits;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::Predicate;
use hypostyle_core::reader::{Reader, RowGroupRequest};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::scan::Table;
use hypostyle_core::source::{ByteSource, RangeCache};
use hypostyle_core::text::TextOptions;

const ROUNDS: usize = 15;

fn best<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        last = Some(work());
        best = best.min(start.elapsed().as_secs_f64());
    }
    (best * 1e3, last.unwrap())
}

fn decompress(bytes: &Bytes, ranges: &[std::ops::Range<u64>]) -> usize {
    let limits = Limits::default();
    let mut total = 0;
    for range in ranges {
        let block =
            bytes.slice(usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap());
        let (tag, packed) = block.split_first().unwrap();
        total += match tag {
            1 => zstd::decompress(packed, &limits).unwrap().0.len(),
            _ => xz::decompress(packed, &limits, 1).unwrap().0.len(),
        };
    }
    total
}

fn main() {
    let path = std::env::args().nth(1).unwrap();
    let is_json = std::env::args().nth(2).as_deref() == Some("json");
    let bytes = Bytes::from(std::fs::read(&path).unwrap());
    let source: Arc<dyn ByteSource> = Arc::new(bytes.clone());
    let one = NonZeroUsize::new(1);
    let options = ReadOptions::default().with_threads(one);
    let mut text = TextOptions::default();
    text.threads = one;
    let open = || {
        let cache = Arc::new(RangeCache::over(source.clone()));
        let archive = Archive::open(cache.clone(), &options).unwrap();
        let reader = archive.table(None, &text).unwrap();
        (Table::new(reader.clone(), cache), reader)
    };
    let (ms, _) = best(open);
    println!("open {ms:.2} ms, {} row groups", open().1.row_groups());
    let two: &[&str] = if is_json { &["delay", "distance"] } else { &["carrier", "dep_delay"] };
    type TimedQuery<'a> = (&'a str, Option<u64>, Option<&'a [&'a str]>);
    let queries: Vec<TimedQuery<'_>> = if is_json {
        vec![
            ("delay > 100", None, Some(two)),
            ("distance > 0", None, Some(two)),
            ("", Some(100_000), None),
            ("", None, None),
        ]
    } else {
        vec![
            ("dep_delay > 600", None, Some(two)),
            ("dep_delay > 320", None, Some(two)),
            ("dep_delay > 190", None, Some(two)),
            ("dep_delay > 49", None, Some(two)),
            ("dep_delay > -3", None, Some(two)),
            ("distance > 0", None, Some(two)),
            ("month = 7 and day = 4", None, Some(two)),
            ("tailnum = 'N14228'", None, Some(two)),
            ("distance > 5000", None, Some(&["carrier"])),
            ("", Some(200_000), None),
            ("", None, None),
        ]
    };
    println!(
        "{:28} {:>9} {:>9} {:>9} {:>6} {:>6}",
        "query", "scan", "decode", "inflate", "ratio", "decode"
    );
    for (text, row, columns) in &queries {
        let filter = (!text.is_empty()).then(|| Predicate::parse(text).unwrap());
        let names = columns.map(|all| all.iter().map(|&name| name.to_owned()).collect::<Vec<_>>());
        let run = || {
            let (table, reader) = open();
            let mut scan = table.scan().threads(1);
            if let Some(filter) = &filter {
                scan = scan.filter(filter.clone());
            }
            if let Some(names) = &names {
                scan = scan.columns(names.iter().map(String::as_str));
            }
            if let Some(row) = row {
                scan = scan.take(&[*row]);
            }
            let rows: usize = scan.batches().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
            (rows, reader)
        };
        let (after, (_, reader)) = best(run);
        let tasks = tasks(&reader, filter.as_ref(), *row, names.as_deref());
        let ranges: Vec<_> =
            tasks.iter().flat_map(|task| reader.ranges(task.group, &task.all_columns())).collect();
        let (decode, _) = best(|| tasks.iter().map(|task| task.read(&reader)).sum::<usize>());
        let (inflate, _) = best(|| decompress(&bytes, &ranges));
        let name = if text.is_empty() { format!("row {row:?}") } else { (*text).to_owned() };
        println!(
            "{name:28} {after:9.2} {decode:9.2} {inflate:9.2} {:6.2} {:6.2}",
            after / inflate,
            decode / inflate
        );
    }
}

/// A row group that a query reads.
struct Task {
    group: usize,
    /// The columns of the predicate, of which all rows are read.
    tested: Vec<usize>,
    projected: Vec<usize>,
    /// The rows whose projected columns are read.
    rows: RowSelection,
}

impl Task {
    fn all_columns(&self) -> Vec<usize> {
        let mut all = self.tested.clone();
        if !self.rows.is_empty() {
            all.extend(&self.projected);
        }
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Decodes what the scan decodes, without evaluating the predicate.
    fn read(&self, reader: &Arc<dyn Reader>) -> usize {
        let request = RowGroupRequest::new(&self.projected);
        let mut group = reader.clone().open_row_group(self.group, &request).unwrap();
        group.next_window(usize::MAX).unwrap();
        let tested = group.read(&self.tested, None).unwrap();
        let projected = group.read(&self.projected, Some(&self.rows)).unwrap();
        tested.len() + projected.len()
    }
}

fn tasks(
    reader: &Arc<dyn Reader>,
    filter: Option<&Predicate>,
    row: Option<u64>,
    columns: Option<&[String]>,
) -> Vec<Task> {
    let schema = reader.schema();
    let index = |name: &str| schema.index_of(name).unwrap();
    let projected: Vec<usize> = match columns {
        Some(names) => names.iter().map(|name| index(name)).collect(),
        None => (0..schema.fields().len()).collect(),
    };
    let tested: Vec<usize> =
        filter.map(|filter| filter.columns().into_iter().map(index).collect()).unwrap_or_default();
    let mut tasks = Vec::new();
    let mut first = 0;
    for group in 0..reader.row_groups() {
        let rows = first..first + reader.row_group_rows(group);
        first = rows.end;
        let selected = match filter {
            None => {
                let wanted = |row: u64| (row.max(rows.start) - rows.start)..(row + 1 - rows.start);
                let range = row.map_or(0..rows.end - rows.start, |row| {
                    if rows.contains(&row) { wanted(row) } else { 0..0 }
                });
                let range =
                    usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap();
                RowSelection::from(range)
            }
            Some(filter) => {
                let statistics = reader.pruning_statistics(group);
                let all = filter.bind(&schema).unwrap();
                if statistics.is_some_and(|statistics| !all.may_match(statistics.as_ref())) {
                    continue;
                }
                let batch = reader.read(group, &tested).unwrap();
                let bound = filter.bind(batch.schema_ref()).unwrap();
                let matches = bound.matches(batch.num_rows(), &mut &batch).unwrap();
                let mask: Vec<bool> = matches.values().iter().collect();
                RowSelection::from_mask(&mask)
            }
        };
        if filter.is_some() || !selected.is_empty() {
            let (tested, projected) = (tested.clone(), projected.clone());
            tasks.push(Task { group, tested, projected, rows: selected });
        }
    }
    tasks
}
