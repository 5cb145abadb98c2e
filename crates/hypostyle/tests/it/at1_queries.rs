//! Queries of an archive return what a scan of the table returns, and read less.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use hypostyle::cast::cast;
use hypostyle::formats::Capabilities;
use hypostyle::formats::at1::{
    self, Answer, Archive, Choice, Codec, PackOptions, Query, QueryStats, TableOptions,
};
use hypostyle::predicate::{BatchColumns, Predicate};
use hypostyle::spill::SpillBuffer;
use hypostyle::text::{ImportOptions, Imported};
use hypostyle::{ByteSource, ColumnSource, ReadOptions, Result};
use hypostyle_testkit::source::{CountingSource, SlowSource};
use proptest::prelude::*;

use crate::archives;

fn open(source: Arc<dyn ByteSource>) -> Archive {
    Archive::open(source, &ReadOptions::default()).unwrap()
}

fn ask(archive: &Archive, query: &Query) -> Result<Option<Answer>> {
    let options = ImportOptions::new(Capabilities::EVERYTHING);
    archive.query(query, &TableOptions::default(), &options, SpillBuffer::in_memory())
}

fn whole(archive: &Archive) -> Imported {
    let options = ImportOptions::new(Capabilities::EVERYTHING);
    archive.import(&TableOptions::default(), &options, SpillBuffer::in_memory()).unwrap()
}

fn batches(table: &Imported) -> Vec<RecordBatch> {
    (0..table.batches()).map(|index| table.batch(index).unwrap()).collect()
}

/// Returns the cells of some columns as text, row by row; a null is an empty text.
fn rows(batches: &[RecordBatch], columns: &[&str]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for batch in batches {
        let cells: Vec<_> = columns
            .iter()
            .map(|name| cast(batch.column_by_name(name).unwrap(), &DataType::Utf8).unwrap())
            .collect();
        for row in 0..batch.num_rows() {
            let cell = |column: &arrow_array::ArrayRef| {
                if column.is_null(row) {
                    String::new()
                } else {
                    column.as_string::<i32>().value(row).to_owned()
                }
            };
            all.push(cells.iter().map(cell).collect());
        }
    }
    all
}

/// Returns the rows that a full scan keeps.
fn scanned(archive: &Archive, filter: &Predicate, columns: &[&str]) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for batch in batches(&whole(archive)) {
        let kept = filter.evaluate(batch.num_rows(), &BatchColumns::new(&batch)).unwrap();
        let rows = rows(&[batch], columns);
        all.extend(rows.into_iter().zip(kept).filter(|row| row.1).map(|row| row.0));
    }
    all
}

fn answered(
    archive: &Archive,
    filter: &Predicate,
    columns: &[&str],
) -> (Vec<Vec<String>>, QueryStats) {
    let names = columns.iter().map(|&name| name.to_owned()).collect();
    let query = Query::default().with_filter(Some(filter.clone())).with_columns(Some(names));
    let Answer { table, stats, .. } = ask(archive, &query).unwrap().unwrap();
    let found = if table.rows() == 0 { Vec::new() } else { rows(&batches(&table), columns) };
    (found, stats)
}

fn test() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (0..60, prop::sample::select(&["=", "<>", "<", "<=", ">", ">="][..]))
            .prop_map(|(value, op)| format!("id {op} {value}")),
        (-50..500, 0..50).prop_map(|(low, wide)| {
            format!("price between {} and {}", f64::from(low) / 10.0, f64::from(low + wide) / 10.0)
        }),
        (0..9).prop_map(|value| format!("size in ({value}, 3)")),
        prop::sample::select(&["Oslo", "Rome", "A", "", "Zürich", "a, \"b\"", "nobody"][..])
            .prop_map(|text| format!("name = '{text}'")),
        prop::sample::select(&["Os%", "%e", "R_me", "%", "x%", "%, %"][..])
            .prop_map(|text| format!("name like '{text}'")),
        prop::sample::select(&["a", "m", "t5", "t9"][..])
            .prop_map(|text| format!("note > '{text}'")),
        prop::sample::select(&["t1", "t15", "t29", "zz"][..])
            .prop_map(|text| format!("note = '{text}'")),
        prop::sample::select(&["size is null", "price is not null", "note is null"][..])
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" and "))),
            prop::collection::vec(inner.clone(), 2..4)
                .prop_map(|all| format!("({})", all.join(" or "))),
            inner.prop_map(|one| format!("not {one}")),
        ]
    })
}

#[derive(Clone, Debug)]
struct Record {
    id: u32,
    price: Option<i32>,
    size: Option<i32>,
    name: &'static str,
    note: u32,
    odd: u32,
}

fn records() -> impl Strategy<Value = Vec<Record>> {
    let names = &["Oslo", "Rome", "A", "", "Zürich", "a, \"b\""][..];
    let one = (
        prop::option::weighted(0.9, -60..600),
        prop::option::weighted(0.8, 0..9),
        prop::sample::select(names),
        0_u32..30,
        0_u32..25,
    );
    prop::collection::vec(one, 12..60).prop_map(|all| {
        let record = |(id, (price, size, name, note, odd)): (u32, _)| Record {
            id,
            price,
            size,
            name,
            // Bounds and Bloom filters then differ between groups.
            note: note / 3 + id / 3,
            odd,
        };
        (0..).zip(all).map(record).collect()
    })
}

/// Returns the records as CSV, with some malformed lines and some unusual ones.
fn csv(records: &[Record]) -> String {
    let mut text = String::from("id,price,size,name,\"note\"\n");
    for Record { id, price, size, name, note, odd } in records {
        let price =
            price.map_or("NA".to_owned(), |price| format!("{:.1}", f64::from(price) / 10.0));
        let size = size.map_or(String::new(), |size| size.to_string());
        let name = if name.contains(',') {
            format!("\"{}\"", name.replace('"', "\"\""))
        } else {
            (*name).to_owned()
        };
        let _ = writeln!(text, "{id},{price},{size},{name},t{note}");
        match odd {
            24 => text += "no row\n",
            23 => text += "7,1.5,,,,,,\n",
            22 => text += "\n",
            _ => {}
        }
    }
    text
}

/// Returns the records as objects with several sets of keys.
fn jsonl(records: &[Record]) -> String {
    let mut text = String::new();
    for Record { id, price, size, name, note, odd } in records {
        let price =
            price.map_or("null".to_owned(), |price| format!("{:.1}", f64::from(price) / 10.0));
        let name = serde_json::to_string(name).unwrap();
        let size = size.map_or(String::new(), |size| format!(",\"size\":{size}"));
        match odd % 5 {
            0 => {
                let _ = writeln!(
                    text,
                    "{{ \"note\":\"t{note}\",\"name\":{name},\"price\":{price},\"id\":{id}{size}}}"
                );
            }
            _ => {
                let _ = writeln!(
                    text,
                    "{{\"id\":{id},\"price\":{price}{size},\"name\":{name},\"note\":\"t{note}\"}}"
                );
            }
        }
        if *odd == 24 {
            text += "no object\n";
        }
    }
    text
}

fn packed(text: &str, codec: Choice, group: usize, frames: Option<u64>, index: bool) -> Archive {
    let options = PackOptions::default()
        .with_level(1)
        .with_codec(codec)
        .with_rows_per_group(NonZeroUsize::new(group))
        .with_index(index);
    let archive = archives::packed(text, &options, frames);
    open(Arc::new(Bytes::from(archive)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_query_of_csv_matches_a_scan(
        records in records(), test in test(), group in 1_usize..9,
        frames in prop::option::of(5_u64..30), index in any::<bool>(),
    ) {
        let archive = packed(&csv(&records), Choice::Only(Codec::QColumnar), group, frames, index);
        // A few lines may be split differently than intended.
        prop_assume!(ask(&archive, &Query::default()).unwrap().is_some());
        let filter = Predicate::parse(&test).unwrap();
        let columns = ["name", "id", "price", "note"];
        prop_assert_eq!(answered(&archive, &filter, &columns).0, scanned(&archive, &filter, &columns));
    }

    #[test]
    fn a_query_of_json_matches_a_scan(
        records in records(), test in test(), group in 1_usize..9,
        frames in prop::option::of(5_u64..30), one in any::<bool>(),
    ) {
        let codec = if one { Choice::Only(Codec::QJson) } else { Choice::Only(Codec::QJson2) };
        let mut text = jsonl(&records);
        // Every member occurs at least once, so that a predicate may name it.
        text += "{\"id\":0,\"price\":1.5,\"size\":1,\"name\":\"\",\"note\":\"\"}\n";
        let archive = packed(&text, codec, group, frames, true);
        // A few lines may be split differently than intended.
        prop_assume!(ask(&archive, &Query::default()).unwrap().is_some());
        let filter = Predicate::parse(&test).unwrap();
        let columns = ["name", "id", "price", "note"];
        prop_assert_eq!(answered(&archive, &filter, &columns).0, scanned(&archive, &filter, &columns));
    }

    #[test]
    fn rows_by_number_are_those_of_the_table(
        records in records(), group in 1_usize..9, picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        json in any::<bool>(),
    ) {
        let (text, codec) = if json { (jsonl(&records), Choice::Only(Codec::QJson2)) } else { (csv(&records), Choice::Only(Codec::QColumnar)) };
        let archive = packed(&text, codec, group, None, true);
        prop_assume!(ask(&archive, &Query::default()).unwrap().is_some());
        let all = rows(&batches(&whole(&archive)), &["id", "note"]);
        let mut picks: Vec<usize> = picks.iter().map(|pick| pick.index(all.len())).collect();
        let query = Query::default().with_rows(Some(picks.iter().map(|&pick| pick as u64).collect()));
        let found = ask(&archive, &query).unwrap().unwrap();
        picks.sort_unstable();
        picks.dedup();
        let want: Vec<_> = picks.iter().map(|&pick| all[pick].clone()).collect();
        prop_assert_eq!(rows(&batches(&found.table), &["id", "note"]), want);
        let beyond = Query::default().with_rows(Some(vec![all.len() as u64]));
        prop_assert!(ask(&archive, &beyond).is_err());
    }
}

/// Returns a table with sorted days and one column that takes most of the archive.
fn diary(rows: u64) -> String {
    let mut text = String::from("day,user,noise\n");
    let mut dice = 1_u64;
    for row in 0..rows {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let _ = writeln!(text, "{},user{:05},{:016x}", row / 100, row / 7, dice);
    }
    text
}

#[test]
fn a_query_reads_the_index_and_the_blocks_that_it_needs() {
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(1000));
    let (archive, _) = at1::pack(diary(40_000).as_bytes(), &options).unwrap();
    let size = archive.len() as u64;
    let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(archive))));
    let archive = open(source.clone());
    let read = || source.reads().iter().map(|(_, len)| *len as u64).sum::<u64>();
    assert!(read() <= 64, "opening reads the container, and no frame");
    for (test, groups, share) in [
        ("day = 123", 1, 0.10),
        ("day between 100 and 119", 2, 0.10),
        ("user = 'user03000'", 1, 0.20),
        ("user like 'user0300%'", 2, 0.20),
        ("user >= 'user05700'", 2, 0.20),
        ("day = 5000", 0, 0.10),
        ("user = 'nobody'", 0, 0.10),
    ] {
        source.clear_reads();
        let filter = Predicate::parse(test).unwrap();
        let (found, stats) = answered(&archive, &filter, &["user"]);
        assert_eq!(found, scanned(&archive, &filter, &["user"]), "{test}");
        assert!(stats.groups_read <= groups, "{test}: {} of {}", stats.groups_read, stats.groups);
        assert_eq!(stats.groups, 40);
        assert!((stats.bytes_read as f64) < share * size as f64, "{test}: {}", stats.bytes_read);
    }
    source.clear_reads();
    let query = Query::default().with_rows(Some(vec![39_999]));
    let answer = ask(&archive, &query).unwrap().unwrap();
    assert_eq!(rows(&batches(&answer.table), &["day"]), [["399"]]);
    assert!(read() < size / 6, "{} of {size}", read());
    assert_eq!(answer.stats.bytes_read, read());
}

/// Several reads are in flight at once, also if only one thread decodes.
#[test]
fn remote_sources_read_several_ranges_at_once() {
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(500));
    let (archive, _) = at1::pack(diary(8_000).as_bytes(), &options).unwrap();
    let near: Arc<dyn ByteSource> = Arc::new(Bytes::from(archive));
    let one_thread = ReadOptions::default().with_threads(NonZeroUsize::new(1));
    let filter = Predicate::parse("user like '%00' and day >= 10").unwrap();
    let (expected, counted) = answered(&open(near.clone()), &filter, &["user", "day"]);
    assert!(expected.len() > 10);
    for (at_once, min, max) in [(1, 1, 1), (8, 2, usize::MAX)] {
        let far = Arc::new(SlowSource::new(near.clone(), at_once));
        let archive = Archive::open(far.clone(), &one_thread).unwrap();
        let (found, stats) = answered(&archive, &filter, &["user", "day"]);
        assert_eq!(found, expected);
        assert_eq!(stats.bytes_read, counted.bytes_read);
        assert!((min..=max).contains(&far.max_in_flight()), "{} of {at_once}", far.max_in_flight());
    }
}

/// The index and the checksums of this file were written by another implementation.
#[test]
fn what_is_added_is_read_as_the_spec_has_it() {
    let file = "../../conformance/at1/valid/qcolumnar/index-of-texts-and-checksums.at1";
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let archive = open(Arc::new(Bytes::from(std::fs::read(root.join(file)).unwrap())));
    for (test, found, groups) in [
        ("name = 'Grace, H.'", 1, 1),
        ("name = 'Zoe'", 0, 0),
        ("name = 'Ben'", 0, 0),
        // The bounds of a group without texts are meaningless.
        ("name like 'Ad%'", 1, 2),
        ("id = 3", 1, 1),
    ] {
        let filter = Predicate::parse(test).unwrap();
        let (rows, stats) = answered(&archive, &filter, &["id", "name"]);
        assert_eq!((rows.len(), stats.groups_read), (found, groups), "{test}");
    }
    assert!(archive.check_groups().unwrap().is_empty());
}

#[test]
fn odd_lines_are_counted_and_those_that_are_rows_take_part() {
    let mut text = diary(2000);
    text += "what\n5,ann,x,y\n\n77,\"ann, too\",z\n";
    let archive = packed(&text, Choice::Query, 100, None, true);
    let filter = Predicate::parse("user like 'ann%'").unwrap();
    let (found, stats) = answered(&archive, &filter, &["day", "user"]);
    assert_eq!(found, [["77", "ann, too"]]);
    assert_eq!(stats.odd_lines, 2);
}

#[test]
fn a_damaged_block_is_named_and_can_be_left_out() {
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(500));
    let (mut archive, _) = at1::pack(diary(5000).as_bytes(), &options).unwrap();
    let at = archive.len() / 2;
    archive[at] ^= 0x10;
    let archive = open(Arc::new(Bytes::from(archive)));
    let query = Query::default().with_filter(Some(Predicate::parse("day >= 0").unwrap()));
    let err = ask(&archive, &query).unwrap_err();
    let message = err.to_string();
    assert!(message.contains("group ") && message.contains("noise"), "{message}");
    let answer = ask(&archive, &query.with_skip_damaged(true)).unwrap().unwrap();
    assert_eq!(answer.table.rows(), 4500);
    assert_eq!(answer.stats.damaged.len(), 1);
    let damage = &answer.stats.damaged[0];
    assert_eq!(damage.count(), 500);
    assert!(damage.what.contains("noise"), "{damage:?}");
    let errors = archive.check_groups().unwrap();
    assert_eq!(errors.len(), 1);
    assert!(errors[0].to_string().contains("column 3"), "{}", errors[0]);
    // The error names the lost lines, and the other lines are restored.
    let mut left = Vec::new();
    let damaged = archive.salvage(&mut left).unwrap();
    assert_eq!(damaged[0].lines, damage.lines);
    let gone = &damage.lines[0];
    let text = diary(5000);
    let lines = (1_u64..).zip(text.lines()).filter(|(line, _)| !gone.contains(line));
    let want: String = lines.map(|(_, line)| format!("{line}\n")).collect();
    assert!(left == want.as_bytes());
    // A query of other columns does not detect the damage.
    let filter = Predicate::parse("day >= 0").unwrap();
    assert_eq!(answered(&archive, &filter, &["user"]).0.len(), 5000);
}

#[test]
fn line_ends_null_words_and_marks_at_the_start_mean_what_they_mean_to_a_scan() {
    let text = diary(300).replace("user00012", "NA");
    let test = Predicate::parse("user is null or user = 'user00013' or noise like '%f'").unwrap();
    let mut options = ImportOptions::new(Capabilities::EVERYTHING);
    options.null_words = vec!["NA".to_owned()];
    for text in [text.clone(), text.replace('\n', "\r\n")] {
        let archive = packed(&text, Choice::Only(Codec::QColumnar), 32, None, true);
        let query = Query::default().with_filter(Some(test.clone()));
        let stage = SpillBuffer::in_memory;
        let answer = archive.query(&query, &TableOptions::default(), &options, stage());
        let answer = answer.unwrap().unwrap();
        let whole = archive.import(&TableOptions::default(), &options, stage()).unwrap();
        let columns = ["day", "user", "noise"];
        let mut want = Vec::new();
        for batch in batches(&whole) {
            let kept = test.evaluate(batch.num_rows(), &BatchColumns::new(&batch)).unwrap();
            let rows = rows(&[batch], &columns);
            want.extend(rows.into_iter().zip(kept).filter(|row| row.1).map(|row| row.0));
        }
        assert!(want.len() > 14);
        assert_eq!(rows(&batches(&answer.table), &columns), want);
    }
    // With a byte order mark, rows by number are left to a scan.
    let query = Query::default().with_rows(Some(vec![0]));
    let marked = packed(&format!("\u{feff}{text}"), Choice::Only(Codec::QColumnar), 32, None, true);
    assert!(ask(&marked, &query).unwrap().is_none());
    let objects: String = (0..50).map(|i| format!("{{\"a\":{i}}}\n")).collect();
    let marked = packed(&format!("\u{feff}{objects}"), Choice::Only(Codec::QJson), 32, None, true);
    assert!(ask(&marked, &query).unwrap().is_none());
}

#[test]
fn what_is_added_may_be_damaged_and_what_is_cut_off_is_said_to_be() {
    let options = PackOptions::default()
        .with_codec(Choice::Query)
        .with_rows_per_group(NonZeroUsize::new(100))
        .with_chunk_lines(1000);
    let text = diary(2999);
    let (mut archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let frames = open(Arc::new(Bytes::from(archive.clone()))).frames().unwrap();
    let added = frames[0].streams.iter().find(|stream| stream.name == "hyp.index").unwrap();
    let at = usize::try_from(added.offset).unwrap();
    archive[at..at + 4].fill(0xFF);
    let archive = open(Arc::new(Bytes::from(archive)));
    let filter = Predicate::parse("user = 'user00200'").unwrap();
    assert_eq!(answered(&archive, &filter, &["user"]).0.len(), 7);

    // The groups before the end of a truncated file can be read.
    let (archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let half = Bytes::from(archive[..archive.len() / 2].to_vec());
    let mut left = Vec::new();
    let damaged = open(Arc::new(half)).salvage(&mut left).unwrap();
    let lost: u64 = damaged.iter().map(at1::Damage::count).sum();
    assert!(lost > 1000 && lost < 2000, "{lost}");
    let kept = text.lines().count() - usize::try_from(lost).unwrap();
    let want: String = text.lines().take(kept).map(|line| format!("{line}\n")).collect();
    assert!(left == want.as_bytes());

    let mut archive = Vec::new();
    at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
    let third = open(Arc::new(Bytes::from(archive.clone()))).frames().unwrap()[2].offset;
    archive.truncate(usize::try_from(third).unwrap() + 500);
    let archive = open(Arc::new(Bytes::from(archive)));
    let mut left = Vec::new();
    let damaged = archive.salvage(&mut left).unwrap();
    assert_eq!(damaged.len(), 1);
    assert!(damaged[0].what.starts_with("frame 2: "), "{:?}", damaged[0]);
    assert_eq!(left.iter().filter(|&&byte| byte == b'\n').count(), 2000);
}

#[test]
fn other_frames_are_recovered_and_lines_keep_their_numbers() {
    let options =
        PackOptions::default().with_rows_per_group(NonZeroUsize::new(100)).with_chunk_lines(1000);
    let text = diary(2999);
    let lines: Vec<&str> = text.lines().collect();
    let all = |kept: &[&str]| kept.iter().map(|line| format!("{line}\n")).collect::<String>();
    for codec in [Choice::Query, Choice::Only(Codec::Columnar)] {
        let options = options.clone().with_codec(codec);
        let mut archive = Vec::new();
        at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
        let frames = open(Arc::new(Bytes::from(archive.clone()))).frames().unwrap();
        let [_, second, third, _] = &frames[..] else { panic!("{} frames", frames.len()) };
        // A wrong number of streams in the second frame hides everything after it.
        archive[usize::try_from(second.offset).unwrap()] = 0x7F;
        if codec == Choice::Query {
            // Also change a byte of the last block, at the end of the last frame of the text.
            let end = third.offset + third.stored;
            archive[usize::try_from(end).unwrap() - 24] ^= 0x10;
        }
        let archive = open(Arc::new(Bytes::from(archive)));
        let mut left = Vec::new();
        let damaged = archive.salvage(&mut left).unwrap();
        assert!(damaged[0].what.starts_with("frame 1: ") && damaged[0].lines.is_empty());
        let kept = if codec == Choice::Query { 2900 } else { 3000 };
        let lost = damaged.get(1).map(|damage| damage.lines.clone()).unwrap_or_default();
        assert_eq!(lost, if codec == Choice::Query { vec![1901..=2000] } else { vec![] });
        let want = all(&lines[..1000]) + &all(&lines[2000..kept]);
        assert!(left == want.as_bytes(), "{codec:?}");
    }
}

#[test]
fn wrong_statistics_are_detected() {
    let text: String = (0..40).map(|row| format!("{row},{}.5,x{row}\n", row * 3)).collect();
    let options = PackOptions::default()
        .with_codec(Choice::Only(Codec::QColumnar))
        .with_rows_per_group(NonZeroUsize::new(10));
    let (good, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let whole = open(Arc::new(Bytes::copy_from_slice(&good)));
    assert!(whole.check_groups().unwrap().is_empty());
    let mut found = 0;
    for at in 5..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x02;
        let Ok(archive) = Archive::open(Arc::new(Bytes::from(bad)), &ReadOptions::default()) else {
            continue;
        };
        let Ok(errors) = archive.check_groups() else { continue };
        let lies = errors.iter().filter(|err| {
            let message = err.to_string();
            message.contains("zone map") || message.contains("index of texts")
        });
        found += usize::from(lies.count() > 0);
    }
    assert!(found > 8, "{found}");
}

#[test]
fn names_that_are_not_there_are_an_error_and_nested_ones_are_left_to_a_scan() {
    let archive = packed(&diary(50), Choice::Query, 10, None, true);
    let missing = Query::default().with_filter(Some(Predicate::parse("dya = 1").unwrap()));
    let message = ask(&archive, &missing).unwrap_err().to_string();
    assert!(message.contains("`dya`") && message.contains("`day`"), "{message}");

    let lines: String =
        (0..50).map(|i| format!("{{\"a\":{{\"b\":{i},\"c\":[1,{i}]}},\"d\":[]}}\n")).collect();
    let archive = packed(&lines, Choice::Query, 10, None, true);
    let query = |test: &str| Query::default().with_filter(Some(Predicate::parse(test).unwrap()));
    let found = ask(&archive, &query("a.b = 7 and a.c[1] >= 7")).unwrap().unwrap();
    assert_eq!(found.table.rows(), 1);
    for nested in ["a is null", "a.c = '[1,2]'", "d = '[]'"] {
        assert!(ask(&archive, &query(nested)).unwrap().is_none(), "{nested}");
    }
    assert!(ask(&archive, &query("a.x = 1")).is_err());
    let (raw, _) = at1::pack(diary(50).as_bytes(), &PackOptions::default()).unwrap();
    let raw = open(Arc::new(Bytes::from(raw)));
    assert!(ask(&raw, &query("day = 1")).unwrap().is_none());
}

#[test]
fn damage_anywhere_is_an_error_at_worst() {
    let lines = jsonl(
        &(0..20)
            .map(|id| Record { id, price: Some(5), size: None, name: "A", note: id, odd: id % 7 })
            .collect::<Vec<_>>(),
    );
    for (text, codec) in
        [(diary(30), Choice::Only(Codec::QColumnar)), (lines, Choice::Only(Codec::QJson2))]
    {
        let options = PackOptions::default()
            .with_level(1)
            .with_codec(codec)
            .with_rows_per_group(NonZeroUsize::new(8));
        let (archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
        let test =
            if codec == Choice::Only(Codec::QJson2) { "id > 3" } else { "day >= 0 and user > 'a'" };
        let query = Query::default().with_filter(Some(Predicate::parse(test).unwrap()));
        for at in 0..archive.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bad = archive.clone();
                bad[at] ^= flip;
                let Ok(archive) =
                    Archive::open(Arc::new(Bytes::from(bad)), &ReadOptions::default())
                else {
                    continue;
                };
                let _ = ask(&archive, &query);
                let _ = ask(&archive, &Query::default().with_rows(Some(vec![3])));
            }
        }
    }
}
