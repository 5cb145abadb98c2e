//! Remote archives are read in few requests and few rounds.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{self, Choice, PackOptions};
use hypostyle::{ByteSource, MissingRanges, OpenOptions, RangeCache, Scan, Step, open_source};
use hypostyle_testkit::source::CountingSource;

/// More than the columns between two blocks of a column take, and less than the archive.
const READ_COST: u64 = 32 << 10;

/// Returns an archive of 40 row groups with sorted days, a column that takes most of it, and one
/// with a dictionary.
fn archive() -> Bytes {
    let mut text = String::from("day,user,noise,kind\n");
    let mut dice = 1_u64;
    for row in 0..20_000 {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let kind = ["login", "logout", "error", "retry"][(dice >> 40) as usize % 4];
        writeln!(text, "{},user{:05},{dice:016x},{kind}", row / 100, row / 7).unwrap();
    }
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_name(Some("diary.csv"))
        .with_rows_per_group(NonZeroUsize::new(500));
    at1::pack(text.as_bytes(), &options).unwrap().0.into()
}

/// A scan, its rows, and the reads that it takes at most after the table is open.
type Case = (fn(Scan) -> Scan, usize, usize);

const CASES: [Case; 7] = [
    // All row groups may match: one read of each would be 32 or 40.
    (|scan| scan.columns(["user"]).filter("day <> 7".parse().unwrap()), 19_900, 2),
    (|scan| scan.columns(["noise"]).filter("day = 42".parse().unwrap()), 100, 1),
    (|scan| scan.columns(["day"]).filter("user like 'user0250%'".parse().unwrap()), 70, 1),
    (|scan| scan.filter("day = 5000".parse().unwrap()), 0, 0),
    // The block of `noise` lies far from those of the other columns.
    (|scan| scan.take(&[12_345]), 1, 2),
    // The dictionary comes with the column.
    (|scan| scan.columns(["kind"]).filter("kind = 'retry'".parse().unwrap()), 4_935, 1),
    // Four row groups match; the dictionary is read once for them.
    (|scan| scan.columns(["kind"]).filter("noise like 'a5f%'".parse().unwrap()), 4, 2),
];

#[test]
fn a_query_of_a_remote_archive_takes_few_reads() {
    let archive = archive();
    for (request, rows, reads) in CASES {
        let source = Arc::new(CountingSource::remote(Arc::new(archive.clone()), READ_COST));
        let table = open_source(source.clone(), &OpenOptions::default()).unwrap();
        table.schema().unwrap();
        assert_eq!(source.reads().len(), 2, "one read of each end opens the table");
        source.clear_reads();
        for threads in [1, 2] {
            let mut batches = request(table.scan()).threads(threads).batches().unwrap();
            let mut found = 0;
            while let Some(batch) = batches.next_batch().unwrap() {
                found += batch.num_rows();
            }
            assert_eq!(found, rows);
            let stats = batches.stats();
            assert_eq!(stats.reads, 2 + source.reads().len() as u64);
            assert!(source.reads().len() <= reads, "{:?}", source.reads());
            source.clear_reads();
        }
    }
}

#[test]
fn a_small_remote_archive_takes_one_read() {
    let archive = archive();
    for (request, rows, _) in CASES {
        let source = Arc::new(CountingSource::remote(Arc::new(archive.clone()), 1 << 20));
        let table = open_source(source.clone(), &OpenOptions::default()).unwrap();
        let batches = request(table.scan()).batches().unwrap();
        assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), rows);
        assert_eq!(source.reads().len(), 1, "{:?}", source.reads());
    }
}

/// A local file is read in more and shorter pieces.
#[test]
fn a_query_of_a_local_archive_reads_what_it_needs() {
    let archive = archive();
    let source = Arc::new(CountingSource::new(Arc::new(archive.clone())));
    let table = open_source(source.clone(), &OpenOptions::default()).unwrap();
    let filter = "day = 42".parse().unwrap();
    let batches = table.scan().columns(["noise"]).filter(filter).batches().unwrap();
    assert_eq!(batches.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 100);
    let read: u64 = source.covered().iter().map(|range| range.end - range.start).sum();
    assert!(read * 8 < archive.size(), "{read} of {} bytes", archive.size());
}

#[test]
fn an_engine_that_fetches_bytes_itself_is_asked_for_them_in_few_rounds() {
    let archive = archive();
    let fetch = |ranges: &[Range<u64>]| -> Vec<(Range<u64>, Bytes)> {
        let read = |range: &Range<u64>| {
            let len = usize::try_from(range.end - range.start).unwrap();
            (range.clone(), archive.read(range.start, len).unwrap())
        };
        ranges.iter().map(read).collect()
    };
    for (request, rows, _) in CASES {
        let cache = RangeCache::of_size(archive.size()).with_read_cost(READ_COST);
        let cache = Arc::new(cache);
        let mut rounds = 0;
        let table = loop {
            let opened = hypostyle::open_cache(cache.clone(), &OpenOptions::default());
            match opened.and_then(|table| table.schema().map(|_| table)) {
                Ok(table) => break table,
                Err(err) => cache.supply(fetch(&MissingRanges::of(&err).unwrap().0)),
            }
            rounds += 1;
        };
        assert_eq!(rounds, 1, "both ends are fetched in one round");
        let mut found = 0;
        rounds = 0;
        let mut decoder = loop {
            match request(table.scan()).decoder() {
                Ok(decoder) => break decoder,
                Err(err) => cache.supply(fetch(&MissingRanges::of(&err).unwrap().0)),
            }
            rounds += 1;
        };
        loop {
            match decoder.step().unwrap() {
                Step::Batch(batch) => found += batch.num_rows(),
                Step::Missing(ranges) => {
                    rounds += 1;
                    decoder.supply(fetch(&ranges));
                }
                Step::Done => break,
            }
        }
        assert_eq!(found, rows);
        assert!(rounds <= 2, "{rounds} rounds");
    }
}
