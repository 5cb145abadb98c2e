//! Queries of an archive return what a naive scan of its text returns, and read less.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use hypostyle::formats::at1::{self, Archive, Choice, Codec, PackOptions};
use hypostyle::predicate::Predicate;
use hypostyle::text::TextOptions;
use hypostyle::{
    ByteSource, ErrorKind, OpenOptions, ReadOptions, Result, ScanStats, Table, open_source,
};
use hypostyle_testkit::scans::collected;
use hypostyle_testkit::source::{CountingSource, SlowSource};
use hypostyle_testkit::text_tables::{archive_table, text_table};
use proptest::prelude::*;

use crate::archives::{self, cells, table};

fn open(archive: Vec<u8>) -> Archive {
    Archive::open(Arc::new(Bytes::from(archive)), &ReadOptions::default()).unwrap()
}

fn parse(test: &str) -> Predicate {
    Predicate::parse(test).unwrap()
}

/// Returns the rows of a text that a naive scan keeps.
fn filtered(text: &str, test: &str, columns: &[&str], options: &TextOptions) -> RecordBatch {
    let all = collected(text_table(None, text.as_bytes(), options).unwrap().scan()).unwrap();
    let bound = parse(test).bind(all.schema_ref()).unwrap();
    let matches = bound.matches(all.num_rows(), &mut &all).unwrap();
    let indices: Vec<usize> =
        columns.iter().map(|name| all.schema().index_of(name).unwrap()).collect();
    filter_record_batch(&all, &matches).unwrap().project(&indices).unwrap()
}

/// Returns the rows that a query selects, and what it read.
fn answered(table: &Table, test: &str, columns: &[&str]) -> (Vec<Vec<String>>, ScanStats) {
    let scan = table.scan().filter(parse(test)).columns(columns.iter().copied());
    let mut batches = scan.batches().unwrap();
    let mut found = Vec::new();
    while let Some(batch) = batches.next_batch().unwrap() {
        found.extend(cells(&batch));
    }
    (found, batches.stats())
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

/// Returns the records as CSV, with some empty lines.
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
        if *odd == 22 {
            text += "\n";
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
    }
    text
}

fn packed(text: &str, codec: Choice, group: usize, frames: Option<u64>, index: bool) -> Vec<u8> {
    let options = PackOptions::default()
        .with_level(1)
        .with_codec(codec)
        .with_rows_per_group(NonZeroUsize::new(group))
        .with_index(index);
    archives::packed(text, &options, frames)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_query_of_csv_matches_a_scan(
        records in records(), test in test(), group in 1_usize..9,
        frames in prop::option::of(5_u64..30), index in any::<bool>(),
    ) {
        let text = csv(&records);
        let archive = packed(&text, Choice::Only(Codec::QColumnar), group, frames, index);
        let columns = ["name", "id", "price", "note"];
        let want = cells(&filtered(&text, &test, &columns, &TextOptions::default()));
        prop_assert_eq!(answered(&table(&archive), &test, &columns).0, want);
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
        let columns = ["name", "id", "price", "note"];
        let want = cells(&filtered(&text, &test, &columns, &TextOptions::default()));
        prop_assert_eq!(answered(&table(&archive), &test, &columns).0, want);
    }

    #[test]
    fn rows_by_number_are_those_of_the_table(
        records in records(), group in 1_usize..9, picks in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        json in any::<bool>(),
    ) {
        let (text, codec) = if json { (jsonl(&records), Choice::Only(Codec::QJson2)) } else { (csv(&records), Choice::Only(Codec::QColumnar)) };
        let archive = packed(&text, codec, group, None, true);
        let columns = ["id", "note"];
        let all = cells(&filtered(&text, "true", &columns, &TextOptions::default()));
        let picks: Vec<usize> = picks.iter().map(|pick| pick.index(all.len())).collect();
        let numbers: Vec<u64> = picks.iter().map(|&pick| pick as u64).collect();
        let table = table(&archive);
        let found = collected(table.scan().columns(columns).take(&numbers)).unwrap();
        let want: Vec<_> = picks.iter().map(|&pick| all[pick].clone()).collect();
        prop_assert_eq!(cells(&found), want);
        prop_assert!(table.scan().take(&[all.len() as u64]).batches().is_err());
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
    let text = diary(40_000);
    let (archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let size = archive.len() as u64;
    let source = Arc::new(CountingSource::new(Arc::new(Bytes::from(archive))));
    let read = || source.reads().iter().map(|(_, len)| *len as u64).sum::<u64>();
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
        let table = open_source(source.clone(), &OpenOptions::default()).unwrap();
        let (found, stats) = answered(&table, test, &["user"]);
        let want = filtered(&text, test, &["user"], &TextOptions::default());
        assert_eq!(found, cells(&want), "{test}");
        let read_groups = stats.row_groups_read;
        assert!(read_groups <= groups, "{test}: {read_groups} of {}", stats.row_groups);
        assert_eq!(stats.row_groups, 40);
        assert!((stats.bytes_read as f64) < share * size as f64, "{test}: {}", stats.bytes_read);
        assert_eq!(stats.bytes_read, read(), "{test}");
    }
    source.clear_reads();
    let table = open_source(source.clone(), &OpenOptions::default()).unwrap();
    let found = collected(table.scan().columns(["day"]).take(&[39_999])).unwrap();
    assert_eq!(cells(&found), [["399"]]);
    assert!(read() < size / 6, "{} of {size}", read());
}

/// Several reads are in flight at once, also if only one thread decodes.
#[test]
fn remote_sources_read_several_ranges_at_once() {
    // Larger than what is fetched of any remote file when it is opened.
    let text = diary(40_000);
    for (codec, group, test, columns) in [
        (Choice::Only(Codec::QColumnar), 4000, "user like '%00' and day >= 10", ["user", "day"]),
        // A column of columnar is in one place, so that row groups must lie between two reads.
        (Choice::Query, 504, "day in (10, 90, 200, 330) and noise > 'c'", ["user", "noise"]),
    ] {
        let options =
            PackOptions::default().with_codec(codec).with_rows_per_group(NonZeroUsize::new(group));
        let (archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
        let near: Arc<dyn ByteSource> = Arc::new(Bytes::from(archive));
        let expected = cells(&filtered(&text, test, &columns, &TextOptions::default()));
        assert!(expected.len() > 10);
        for (at_once, min, max) in [(1, 1, 1), (8, 2, usize::MAX)] {
            let far = Arc::new(SlowSource::new(near.clone(), at_once));
            let table = open_source(far.clone(), &OpenOptions::default()).unwrap();
            assert_eq!(answered(&table, test, &columns).0, expected);
            let in_flight = far.max_in_flight();
            assert!((min..=max).contains(&in_flight), "{codec:?}: {in_flight} of {at_once}");
        }
    }
}

/// The index and the checksums of this file were written by another implementation, which states
/// no checksums of frames. So rows come from its text, and all of them are read.
#[test]
fn an_archive_without_checksums_of_frames_is_read_as_text() {
    let file = "../../conformance/at1/valid/qcolumnar/index-of-texts-and-checksums.at1";
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let archive = std::fs::read(root.join(file)).unwrap();
    for (test, found) in [("name = 'Grace, H.'", 1), ("name = 'Zoe'", 0), ("id = 3", 1)] {
        let (rows, stats) = answered(&table(&archive), test, &["id", "name"]);
        assert_eq!((rows.len(), stats.row_groups), (found, 1), "{test}");
    }
    assert!(open(archive).check_groups().unwrap().is_empty());
}

#[test]
fn odd_lines_are_an_error_or_are_left_out_and_those_that_are_rows_take_part() {
    let mut text = diary(2000);
    text += "what\n5,ann,x,y\n\n77,\"ann, too\",z\n";
    let archive = packed(&text, Choice::Query, 100, None, true);
    let err = archive_table(None, &archive, &TextOptions::default()).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::RaggedRow { .. }), "{err}");
    let mut options = TextOptions::default();
    options.skip = true;
    let table = archive_table(None, &archive, &options).unwrap();
    let (found, _) = answered(&table, "user like 'ann%'", &["day", "user"]);
    assert_eq!(found, [["77", "ann, too"]]);
    let notes = table.reader().unwrap().notes();
    assert!(notes.iter().any(|note| note.contains('2')), "{notes:?}");
}

#[test]
fn a_damaged_block_is_named_and_can_be_left_out() {
    damage_is_named_and_can_be_left_out(Choice::Only(Codec::QColumnar), 500);
}

#[test]
fn a_damaged_piece_of_a_column_is_named_and_can_be_left_out() {
    damage_is_named_and_can_be_left_out(Choice::Query, 504);
}

/// Damages the column of noise, which takes most of the archive, in one row group.
fn damage_is_named_and_can_be_left_out(codec: Choice, group: usize) {
    let options =
        PackOptions::default().with_codec(codec).with_rows_per_group(NonZeroUsize::new(500));
    let (mut bytes, _) = at1::pack(diary(5000).as_bytes(), &options).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 0x10;
    let table = table(&bytes);
    let message = collected(table.scan().filter(parse("day >= 0"))).unwrap_err().to_string();
    assert!(message.contains("group ") && message.contains("noise"), "{message}");
    let scan = table.scan().filter(parse("day >= 0")).skip_damaged(true);
    let mut batches = scan.batches().unwrap();
    let rows: usize = batches.by_ref().map(|batch| batch.unwrap().num_rows()).sum();
    assert_eq!(rows, 5000 - group);
    let group = group as u64;
    let stats = batches.stats();
    assert_eq!(stats.damaged.len(), 1, "{:?}", stats.damaged);
    let lost = &stats.damaged[0];
    assert_eq!(lost.rows.end - lost.rows.start, group);
    assert!(lost.error.contains("noise"), "{lost:?}");
    let archive = open(bytes);
    let errors = archive.check_groups().unwrap();
    assert_eq!(errors.len(), 1, "{errors:?}");
    let message = errors[0].to_string();
    assert!(message.contains("column 3") && message.contains("group "), "{message}");
    // The error names the lost lines, and the other lines are restored. Line 1 is the header.
    let mut left = Vec::new();
    let damaged = archive.salvage(&mut left).unwrap();
    let gone = lost.rows.start + 2..=lost.rows.end + 1;
    assert_eq!(damaged[0].lines, std::slice::from_ref(&gone));
    assert_eq!(damaged[0].count(), group);
    let text = diary(5000);
    let lines = (1_u64..).zip(text.lines()).filter(|(line, _)| !gone.contains(line));
    let want: String = lines.map(|(_, line)| format!("{line}\n")).collect();
    assert!(left == want.as_bytes());
    // A query of other columns does not detect the damage.
    assert_eq!(answered(&table, "day >= 0", &["user"]).0.len(), 5000);
}

#[test]
fn line_ends_null_words_and_marks_at_the_start_mean_what_they_mean_in_the_text() {
    let text = diary(300).replace("user00012", "NA");
    let test = "user is null or user = 'user00013' or noise like '%f'";
    let columns = ["day", "user", "noise"];
    let mut options = TextOptions::default();
    options.null_words = vec!["NA".to_owned()];
    for text in [text.clone(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
        let archive = packed(&text, Choice::Only(Codec::QColumnar), 32, None, true);
        let want = cells(&filtered(&text, test, &columns, &options));
        assert!(want.len() > 14);
        let table = archive_table(None, &archive, &options).unwrap();
        assert_eq!(answered(&table, test, &columns).0, want);
        let first = collected(table.scan().take(&[0])).unwrap();
        assert_eq!(cells(&first)[0][..2], ["0", "user00000"]);
    }
    let objects: String = (0..50).map(|i| format!("{{\"a\":{i}}}\n")).collect();
    let marked = packed(&format!("\u{feff}{objects}"), Choice::Only(Codec::QJson), 32, None, true);
    assert_eq!(cells(&collected(table(&marked).scan().take(&[0])).unwrap()), [["0"]]);
}

#[test]
fn damage_in_what_is_added_and_what_is_cut_off_is_said_to_be() {
    let options = PackOptions::default()
        .with_codec(Choice::Only(Codec::QColumnar))
        .with_rows_per_group(NonZeroUsize::new(100))
        .with_chunk_lines(1000);
    let text = diary(2999);
    let (mut archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let frames = open(archive.clone()).frames().unwrap();
    let added = frames[0].streams.iter().find(|stream| stream.name == "hyp.index").unwrap();
    let at = usize::try_from(added.offset).unwrap();
    archive[at..at + 4].fill(0xFF);
    let err = archive_table(None, &archive, &TextOptions::default()).unwrap_err();
    assert!(err.to_string().contains("checksum"), "{err}");
    assert!(open(archive.clone()).check_table().unwrap().is_some());
    open(archive).unpack(&mut std::io::sink()).unwrap();

    // The groups before the end of a truncated file can be read.
    let (archive, _) = at1::pack(text.as_bytes(), &options).unwrap();
    let half = archive[..archive.len() / 2].to_vec();
    let mut left = Vec::new();
    let damaged = open(half).salvage(&mut left).unwrap();
    let lost: u64 = damaged.iter().map(at1::Damage::count).sum();
    assert!(lost > 1000 && lost < 2000, "{lost}");
    let kept = text.lines().count() - usize::try_from(lost).unwrap();
    let want: String = text.lines().take(kept).map(|line| format!("{line}\n")).collect();
    assert!(left == want.as_bytes());

    let mut archive = Vec::new();
    at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
    let third = open(archive.clone()).frames().unwrap()[2].offset;
    archive.truncate(usize::try_from(third).unwrap() + 500);
    let archive = open(archive);
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
    let grouped = Choice::Only(Codec::QColumnar);
    for codec in [grouped, Choice::Query, Choice::Only(Codec::Columnar)] {
        let mut options = options.clone().with_codec(codec);
        if codec == Choice::Only(Codec::Columnar) {
            options = options.with_index(false);
        }
        let mut archive = Vec::new();
        at1::pack_stream(text.as_bytes(), &mut archive, &options, |_, _| {}).unwrap();
        let frames = open(archive.clone()).frames().unwrap();
        let [_, second, third, _] = &frames[..] else { panic!("{} frames", frames.len()) };
        // A wrong number of streams in the second frame hides everything after it.
        archive[usize::try_from(second.offset).unwrap()] = 0x7F;
        // Also change a byte of the last block of the last frame of the text. A stream of xz
        // blocks ends with their index and a footer.
        let stream = |name| third.streams.iter().find(|stream| stream.name == name);
        let last_block = match codec {
            Choice::Query => stream("values").map(|values| values.offset + values.stored - 200),
            codec if codec == grouped => Some(third.offset + third.stored - 24),
            _ => None,
        };
        if let Some(at) = last_block {
            archive[usize::try_from(at).unwrap()] ^= 0x10;
        }
        let archive = open(archive);
        let mut left = Vec::new();
        let damaged = archive.salvage(&mut left).unwrap();
        assert!(damaged[0].what.starts_with("frame 1: ") && damaged[0].lines.is_empty());
        let lost = damaged.get(1).map(|damage| damage.lines.clone()).unwrap_or_default();
        // Columnar has row groups of 104 lines for 100.
        let (kept, want) = match codec {
            Choice::Query => (2936, vec![1937..=2000]),
            codec if codec == grouped => (2900, vec![1901..=2000]),
            _ => (3000, vec![]),
        };
        assert_eq!(lost, want, "{codec:?} {damaged:?}");
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
    let whole = open(good.clone());
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
fn names_that_are_not_there_are_an_error_and_nested_ones_are_found() {
    let archive = packed(&diary(50), Choice::Query, 10, None, true);
    let missing = table(&archive).scan().filter(parse("dya = 1")).batches();
    let message = missing.map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("`dya`") && message.contains("`day`"), "{message}");

    let lines: String =
        (0..50).map(|i| format!("{{\"a\":{{\"b\":{i},\"c\":[1,{i}]}},\"d\":[]}}\n")).collect();
    let table = table(&packed(&lines, Choice::Query, 10, None, true));
    assert!(table.reader().unwrap().row_groups() > 1);
    for (test, rows) in [
        ("a.b = 7 and a.c[1] >= 7", 1),
        ("a is null", 0),
        ("length(a.c) = 2", 50),
        ("d is null", 0),
    ] {
        let found = collected(table.scan().filter(parse(test))).unwrap();
        assert_eq!(found.num_rows(), rows, "{test}");
    }
    assert!(table.scan().filter(parse("a.x = 1")).batches().is_err());
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
        let filter = parse(test);
        for at in 0..archive.len() {
            for flip in [0x01, 0x80, 0xFF] {
                let mut bad = archive.clone();
                bad[at] ^= flip;
                let read = || -> Result<()> {
                    let table = archive_table(None, &bad, &TextOptions::default())?;
                    let _ = collected(table.scan().filter(filter.clone()));
                    collected(table.scan().take(&[3])).map(|_| ())
                };
                let _ = read();
            }
        }
    }
}
