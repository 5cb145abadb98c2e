//! Archives with line groups are the tables that their texts are, however they are read.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use bytes::Bytes;

use super::{GROUPS, LineGroups, layout};
use crate::archive::Archive;
use crate::codec::Codec;
use crate::frame_checksums::{ArchiveChecksums, FrameChecksums};
use crate::pack::{Choice, PackOptions, pack};
use crate::streams::Backend;
use crate::table_frame::TABLE;
use hypostyle_core::error::Result;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::scan::{Scan, Table};
use hypostyle_core::source::RangeCache;
use hypostyle_core::text::{SourceText, TextOptions, TextTable, detect};
use hypostyle_core::wire::{Cursor, crc32, put};

/// Lines of JSON: nested and ragged objects, derived strings, lines with spaces.
fn json(lines: usize) -> String {
    let line = |i: usize| {
        let (user, kind) = (i * 7919 % 1009, ["get", "put", "delete"][i / 90 % 3]);
        let mut line = format!(
            r#"{{"id":{},"url":"https://example.org/items/{}","kind":"{kind}","a":{{"b":{},"c":"u{user}"}}"#,
            1000 + i,
            1000 + i,
            i / 50,
        );
        if i % 3 != 1 {
            line +=
                &format!(r#","ratio":{}.{:02},"flag":{}"#, i % 17, i % 100, i.is_multiple_of(2));
        }
        if i % 11 == 5 {
            line += &format!(
                r#","tags":["t{}",null,{{"x":{i}}}],"note":"line\n{i} \u00e9 \"q\"""#,
                i % 5
            );
        }
        if i % 13 == 4 { format!("{} ", line + "}") } else { line + "}" }
    };
    (0..lines).map(|i| line(i) + "\n").collect()
}

/// Lines of a log, some of which share no template with others.
fn log(lines: usize) -> String {
    let line = |i: usize| match i % 41 {
        40 => format!("at com.example.Frame{}.run(Frame.java:{i})", "x".repeat(i % 7)),
        n if n % 3 == 0 => format!(
            "2015-10-{:02} 18:{:02}:{:02},{:03} INFO [main] Task attempt_{}_{:04} is done",
            1 + i / 300 % 28,
            i / 60 % 60,
            i % 60,
            i * 7 % 1000,
            i * 31 % 977,
            i % 50,
        ),
        n => format!(
            "2015-10-{:02} 18:{:02}:{:02},{:03} WARN [block-{n}] Slow block {} took {} ms on 10.0.{}.{}",
            1 + i / 300 % 28,
            i / 60 % 60,
            i % 60,
            i * 3 % 1000,
            i * 7919 % 100_003,
            i % 97,
            i % 4,
            i % 250,
        ),
    };
    (0..lines).map(|i| line(i) + "\n").collect()
}

/// Lines of sshd.
fn ssh(lines: usize) -> String {
    let line = |i: usize| {
        let head =
            format!("Dec {:>2} {:02}:{:02}:{:02} LabSZ", 1 + i / 200, i / 60 % 24, i % 60, i % 59);
        match i % 29 {
            28 => format!("{head} CRON[{i}]: session opened"),
            7 => format!("{head} sshd[{}]: odd message {}", 100 + i, "z".repeat(i % 5)),
            _ => format!(
                "{head} sshd[{}]: Failed password for user{} from 10.{}.{}.9 port {} ssh2",
                100 + i / 3,
                i % 13,
                i % 200,
                i % 7,
                i * 37 % 60_000,
            ),
        }
    };
    (0..lines).map(|i| line(i) + "\n").collect()
}

struct Case {
    text: String,
    name: &'static str,
    codec: Codec,
}

fn cases(lines: usize) -> Vec<Case> {
    let case = |text: String, name, codec| Case { text, name, codec };
    let mut open = log(lines);
    open.pop();
    vec![
        case(json(lines), "t.jsonl", Codec::Json),
        case(log(lines), "t.log", Codec::Log),
        case(log(lines), "t.log", Codec::JsonDoc),
        case(open.clone(), "t.txt", Codec::JsonDoc),
        case(open, "t.log", Codec::Log),
        case(ssh(lines), "t.log", Codec::Ssh),
    ]
}

fn options(case: &Case, rows: usize) -> PackOptions {
    PackOptions::default()
        .with_level(2)
        .with_codec(Choice::Only(case.codec))
        .with_name(Some(case.name))
        .with_rows_per_group(NonZeroUsize::new(rows))
}

fn packed(case: &Case, rows: usize) -> Vec<u8> {
    let (archive, packed) = pack(case.text.as_bytes(), &options(case, rows)).unwrap();
    assert_eq!(packed.codec, case.codec);
    archive
}

fn open(archive: &[u8]) -> Archive {
    open_source(archive).0
}

pub(crate) fn open_source(archive: &[u8]) -> (Archive, Arc<RangeCache>) {
    let bytes = Bytes::copy_from_slice(archive);
    let source = Arc::new(RangeCache::over(Arc::new(bytes)));
    (Archive::open(source.clone(), &ReadOptions::default()).unwrap(), source)
}

fn table(archive: &[u8]) -> Result<Table> {
    let (archive, source) = open_source(archive);
    Ok(Table::new(archive.table(None, &TextOptions::default())?, source))
}

fn text_table(case: &Case) -> Table {
    let bytes: Bytes = case.text.clone().into();
    let format = detect(Some(case.name), &bytes).unwrap();
    let source = Arc::new(RangeCache::over(Arc::new(bytes)));
    let text = Arc::new(SourceText(source.clone()));
    let table = TextTable::open(text, format, &TextOptions::default(), None).unwrap();
    Table::new(Arc::new(table), source)
}

pub(crate) fn batch(scan: Scan) -> Result<RecordBatch> {
    let mut batches = scan.batches()?;
    let mut all = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        all.push(batch);
    }
    Ok(concat_batches(&batches.schema(), &all).unwrap())
}

fn groups(archive: &[u8]) -> LineGroups {
    let archive = open(archive);
    let source = archive.reader().shared_source();
    let frames = crate::frames::FrameReader::open(source, &ReadOptions::default(), None).unwrap();
    LineGroups::open(&Arc::new(frames), None).unwrap().unwrap()
}

/// Predicates of each kind of table.
fn predicates(case: &Case) -> &'static [&'static str] {
    match case.name {
        "t.jsonl" => &[
            "id = 1234",
            "id between 1100 and 1130",
            "id > 5000000",
            "kind = 'put'",
            "kind = 'nothing'",
            "a.b = 3",
            "a.b > 7 and flag",
            "a.c = 'u42'",
            "a.c is null",
            "ratio < 0.02",
            "ratio is null",
            "note is not null",
            "note like 'line%' and id < 1200",
            "url = 'https://example.org/items/1017'",
            "not (id >= 1010)",
            "tags is not null and a.b <> 2",
        ],
        "t.txt" => &["line like '2015-10-02%'", "line = 'x'", "line like '%block%'"],
        _ => &[
            "time >= '2015-10-02' and time < '2015-10-03 18:20'",
            "time is null",
            "template like '%Slow block%'",
            "template = 'nothing'",
            "line like 'Dec  2%'",
            "time between '2015-10-01 18:03' and '2015-10-01 18:05'",
        ],
    }
}

#[test]
fn an_archive_with_groups_of_any_size_is_the_table_of_its_text() {
    for (lines, sizes) in [(60, &[1, 2, 7][..]), (1100, &[64, 1000, 5000])] {
        for case in cases(lines) {
            let truth = text_table(&case);
            let all = batch(truth.scan()).unwrap();
            assert_eq!(all.num_rows(), lines);
            for &size in sizes {
                let what = format!("{} {} in groups of {size}", case.name, case.codec);
                let archive = packed(&case, size);
                let mut unpacked = Vec::new();
                open(&archive).unpack(&mut unpacked).unwrap();
                assert!(unpacked == case.text.as_bytes(), "{what}");
                let table = table(&archive).unwrap();
                let groups = table.reader().unwrap().row_groups();
                // Another form of jsondoc is smaller than records in tiny groups.
                let is_grouped = case.codec != Codec::JsonDoc || size > 7;
                assert_eq!(groups, if is_grouped { lines.div_ceil(size) } else { 1 }, "{what}");
                assert_eq!(batch(table.scan()).unwrap(), all, "{what}");
                assert_eq!(open(&archive).check_table().unwrap().map(|it| it.to_string()), None);
                check_reads(&table, &truth, &what, predicates(&case));
            }
        }
    }
}

/// Compares single columns, rows and predicates.
fn check_reads(table: &Table, truth: &Table, what: &str, predicates: &[&str]) {
    let rows = truth.num_rows().unwrap();
    let schema = truth.schema().unwrap();
    assert_eq!(table.schema().unwrap(), schema);
    for field in schema.fields() {
        let scan = |table: &Table| batch(table.scan().columns([field.name().as_str()])).unwrap();
        assert_eq!(scan(table), scan(truth), "{what}: {}", field.name());
    }
    let none: [&str; 0] = [];
    assert_eq!(batch(table.scan().columns(none)).unwrap().num_rows() as u64, rows, "{what}");
    for range in [rows / 2..rows / 2 + 3, 0..1, rows - 1..rows, 5..rows - 5] {
        let scan = |table: &Table| batch(table.scan().rows(range.clone())).unwrap();
        assert_eq!(scan(table), scan(truth), "{what}: {range:?}");
    }
    let taken = [rows - 1, 3, 3, rows / 3, 0];
    assert_eq!(
        batch(table.scan().take(&taken)).unwrap(),
        batch(truth.scan().take(&taken)).unwrap()
    );
    for predicate in predicates {
        let scan = |table: &Table| batch(table.scan().filter(predicate.parse().unwrap()));
        match (scan(table), scan(truth)) {
            (Ok(found), Ok(want)) => assert_eq!(found, want, "{what}: {predicate}"),
            (Err(_), Err(_)) => {}
            (found, want) => panic!("{what}: {predicate}: {found:?}, not {want:?}"),
        }
    }
    for (at, part) in table.partitions(3).unwrap().iter().enumerate() {
        let found = batch(table.scan().partition(part)).unwrap();
        assert!(found.num_rows() > 0 || at > 0);
    }
}

#[test]
fn predicates_skip_groups() {
    for (case, predicate, most) in [
        (0, "id = 1234", 1),
        (0, "a.b = 3", 1),
        (0, "a.b = 300", 0),
        (0, "url = 'https://example.org/items/1017'", 3),
        (1, "time >= '2015-10-02' and time < '2015-10-02 18:01'", 2),
        (2, "time < '2015-10-01 18:01'", 2),
        (1, "template = 'nothing'", 15),
    ] {
        let case = cases(2100).swap_remove(case);
        let table = table(&packed(&case, 100)).unwrap();
        let mut batches = table.scan().filter(predicate.parse().unwrap()).batches().unwrap();
        while batches.next_batch().unwrap().is_some() {}
        let stats = batches.stats();
        assert_eq!(stats.row_groups, 21, "{predicate}");
        assert!(stats.row_groups_read <= most, "{predicate}: {stats:?}");
    }
}

#[test]
fn a_group_is_decoded_from_its_own_parts() {
    for case in cases(2100) {
        let archive = packed(&case, 500);
        let found = groups(&archive);
        let mut start = 0;
        for group in 0..found.len() {
            let text = found.text(group).unwrap();
            assert!(case.text.as_bytes()[start..].starts_with(&text), "{}", case.codec);
            start += text.len();
        }
        assert_eq!(start, case.text.len());
        assert!(found.text(found.len()).is_err());
    }
}

#[test]
fn objects_have_the_members_that_are_asked_for() {
    let case = cases(300).swap_remove(0);
    let found = groups(&packed(&case, 64));
    let text = found.members(2, &["url"]).unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert_eq!(text.lines().count(), 64);
    assert_eq!(text.lines().next(), Some(r#"{"url":"https://example.org/items/1128"}"#));
    // Lines that are stored as they are have all members.
    assert!(text.lines().any(|line| line.contains("kind")));
    let none = found.members(0, &[]).unwrap();
    assert!(none.starts_with(b"{}\n{}\n{}\n"));
}

/// Returns the range of the payload of a stream, and its backend.
fn payload(archive: &[u8], wanted: &str) -> (Backend, Range<usize>) {
    let mut cursor = Cursor::new(&archive[5..], 5);
    let count = cursor.uv("streams").unwrap();
    for _ in 0..count {
        let name = cursor.lp("name").unwrap();
        let backend = Backend::from_id(cursor.u8("backend").unwrap()).unwrap();
        let len = cursor.lp("payload").unwrap().len();
        let end = usize::try_from(cursor.offset()).unwrap();
        if name == wanted.as_bytes() {
            return (backend, end - len..end);
        }
    }
    panic!("no stream {wanted}");
}

/// Returns an archive in which a stream is stored with another content, and whose checksums
/// are right.
pub(crate) fn with_stream(archive: &[u8], wanted: &str, content: &[u8]) -> Vec<u8> {
    let changed = replace_stream(archive, wanted, content);
    let opened = open(&changed);
    let reader = opened.reader();
    let extent = reader.extents().unwrap()[0];
    let body = reader.body(extent).unwrap();
    let checksums = FrameChecksums::of(opened.codec(), extent.method, &body).unwrap();
    let mut metadata = opened.table_metadata().unwrap().unwrap().clone();
    metadata.checksums = Some(ArchiveChecksums::new(vec![checksums]));
    replace_stream(&changed, TABLE, &metadata.content().unwrap())
}

fn replace_stream(archive: &[u8], wanted: &str, content: &[u8]) -> Vec<u8> {
    let mut cursor = Cursor::new(&archive[5..], 5);
    let mut out = archive[..5].to_vec();
    let count = cursor.uv("streams").unwrap();
    put::uv(&mut out, count);
    for _ in 0..count {
        let name = cursor.lp("name").unwrap();
        put::lp(&mut out, name);
        let backend = cursor.u8("backend").unwrap();
        let payload = cursor.lp("payload").unwrap();
        let is_wanted = name == wanted.as_bytes();
        out.push(if is_wanted { 2 } else { backend });
        put::lp(&mut out, if is_wanted { content } else { payload });
    }
    out.extend_from_slice(cursor.rest());
    out
}

/// Returns the content of `hyp.groups`.
fn groups_content(archive: &[u8]) -> Vec<u8> {
    let found = groups(archive);
    found.metadata.content(layout(open(archive).codec()).unwrap())
}

#[test]
fn damage_in_any_byte_of_the_groups_is_an_error_of_the_table_only() {
    for case in cases(200) {
        let archive = packed(&case, 50);
        let content = groups_content(&archive);
        assert_eq!(
            batch(table(&with_stream(&archive, GROUPS, &content)).unwrap().scan())
                .unwrap()
                .num_rows(),
            200
        );
        for at in 1..content.len() {
            let mut damaged = content.clone();
            damaged[at] ^= 0x41;
            let damaged = with_stream(&archive, GROUPS, &damaged);
            assert!(table(&damaged).is_err(), "byte {at}");
            assert!(open(&damaged).check_table().unwrap().is_some(), "byte {at}");
            open(&damaged).unpack(&mut std::io::sink()).unwrap();
        }
    }
}

#[test]
fn groups_that_lie_give_an_error_or_the_same_rows() {
    let mut found_out = 0;
    let (small, large) = (cases(60), cases(600));
    let is_small = |case: &Case| case.codec != Codec::JsonDoc;
    let small = small.iter().filter(|case| is_small(case)).map(|case| (case, 20, 1));
    let large = large.iter().filter(|case| !is_small(case)).map(|case| (case, 200, 11));
    for (case, size, step) in small.chain(large) {
        let archive = packed(case, size);
        let content = groups_content(&archive);
        let inner = content.len() - 4;
        let truth = batch(text_table(case).scan()).unwrap();
        let all = predicates(case);
        for at in (0..inner).step_by(step) {
            for flip in [0x01, 0x80] {
                let mut lying = content[..inner].to_vec();
                lying[at] ^= flip;
                let sum = crc32(&lying);
                lying.extend_from_slice(&sum.to_le_bytes());
                let lying = with_stream(&archive, GROUPS, &lying);
                let said = open(&lying).check_table();
                let Ok(table) = table(&lying) else {
                    found_out += 1;
                    assert!(!matches!(said, Ok(None)) || at == 0, "byte {at} is not reported");
                    continue;
                };
                match batch(table.scan()) {
                    Ok(found) => assert_eq!(found, truth, "byte {at}"),
                    Err(_) => assert!(!matches!(said, Ok(None)), "byte {at} is not reported"),
                }
                // Statistics that exclude rows can only be found out by reading all rows.
                let predicate = all[at % all.len()];
                let scan = |table: &Table| batch(table.scan().filter(predicate.parse().unwrap()));
                if let (Ok(found), Ok(want)) = (scan(&table), scan(&text_table(case)))
                    && found != want
                {
                    assert!(!matches!(said, Ok(None)), "byte {at} is not reported");
                }
                let schema = truth.schema();
                let name = schema.field(at % schema.fields().len()).name();
                if let Ok(found) = batch(table.scan().columns([name.as_str()])) {
                    assert_eq!(found.column(0), truth.column_by_name(name).unwrap(), "byte {at}");
                }
            }
        }
    }
    assert!(found_out > 400, "{found_out}");
}

#[test]
fn damage_in_a_block_loses_its_group_only() {
    for (case, stream) in [(0, "values"), (1, "vars"), (2, "values"), (5, "vars")] {
        let case = cases(8400).swap_remove(case);
        let archive = packed(&case, 2800);
        let (backend, place) = payload(&archive, stream);
        assert_eq!(backend, Backend::Xz);
        let truth = batch(text_table(&case).scan()).unwrap();
        let (mut one_lost, mut tried) = (0, 0);
        for at in (place.start + 12..place.end - 80).step_by(place.len() / 40) {
            let mut damaged = archive.clone();
            damaged[at] ^= 0x10;
            let table = table(&damaged).unwrap();
            tried += 1;
            let lost = (0..3).filter(|group| {
                let rows = group * 2800..(group + 1) * 2800;
                match batch(table.scan().rows(rows.clone())) {
                    Err(_) => true,
                    Ok(found) => {
                        let start = usize::try_from(rows.start).unwrap();
                        assert_eq!(found, truth.slice(start, 2800), "byte {at}");
                        false
                    }
                }
            });
            let lost = lost.count();
            assert!(lost >= 1, "{} byte {at}", case.codec);
            one_lost += usize::from(lost == 1);
            if lost == 1 {
                let kept = batch(table.scan().skip_damaged(true)).unwrap();
                assert_eq!(kept.num_rows(), 5600);
                let mut salvaged = Vec::new();
                let damage = open(&damaged).salvage(&mut salvaged).unwrap();
                assert_eq!(damage.len(), 1);
                assert_eq!(damage[0].count(), 2800);
                assert_eq!(memchr::memchr_iter(b'\n', &salvaged).count(), 5600);
            }
            assert!(open(&damaged).unpack(&mut std::io::sink()).is_err());
        }
        // The rest of the bytes belong to columns that are not cut.
        assert!(one_lost * 4 > tried, "{}: {one_lost} of {tried}", case.codec);
    }
}

/// Lines of JSON of which no two have the same values.
fn events(lines: u64) -> String {
    let mut state = 7_u64;
    let mut random = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 20
    };
    let mut line = |i: u64| {
        let kind = ["click", "view", "buy"][usize::try_from(random() % 3).unwrap()];
        format!(
            "{{\"at\":{},\"id\":\"{:011x}{:011x}\",\"kind\":\"{kind}\",\"user\":{{\"age\":{}}}}}\n",
            1_000_000 + i * 13 + random() % 13,
            random(),
            random(),
            random() % 90,
        )
    };
    (0..lines).map(&mut line).collect()
}

/// The share of the archive that a scan reads.
fn share_read(table: &Table, scan: Scan) -> f64 {
    let mut batches = scan.batches().unwrap();
    let mut rows = 0;
    while let Some(batch) = batches.next_batch().unwrap() {
        rows += batch.num_rows();
    }
    assert!(rows > 0);
    let stats = batches.stats();
    assert_eq!(stats.row_groups, table.reader().unwrap().row_groups() as u64);
    stats.bytes_read as f64 / stats.bytes as f64
}

#[test]
fn a_scan_reads_the_bytes_of_its_groups_and_columns() {
    let case = Case { text: events(20_000), name: "t.jsonl", codec: Codec::Json };
    let archive = packed(&case, 2000);
    // Each table has its own cache of what was read.
    let share = |scan: &dyn Fn(&Table) -> Scan| {
        let table = table(&archive).unwrap();
        share_read(&table, scan(&table))
    };
    let row = share(&|table| table.scan().rows(9000..9001));
    let range =
        share(&|table| table.scan().filter("at between 1100000 and 1100100".parse().unwrap()));
    let column = share(&|table| table.scan().columns(["kind"]));
    let nested =
        share(&|table| table.scan().columns(["at"]).filter("user.age = 7".parse().unwrap()));
    let both = share(&|table| {
        table.scan().columns(["kind"]).filter("at between 1100000 and 1100100".parse().unwrap())
    });
    assert!(row < 0.2 && range < 0.2, "{row} {range}");
    assert!(column < 0.15 && nested < 0.25, "{column} {nested}");
    assert!(both < 0.12, "{both}");
}

#[test]
fn groups_are_chosen_only_where_they_pay() {
    let options = PackOptions::default().with_level(3).with_name(Some("t.jsonl"));
    let options = options.with_codec(Choice::Only(Codec::Json));
    let groups_and_size = |text: &str, options: &PackOptions| {
        let (archive, _) = pack(text.as_bytes(), options).unwrap();
        (table(&archive).unwrap().reader().unwrap().row_groups(), archive.len())
    };
    let text = events(20_000);
    let (groups, size) = groups_and_size(&text, &options);
    let (one, without) = groups_and_size(&text, &options.clone().with_index(false));
    assert!(groups > 1 && one == 1);
    assert!(size as f64 <= without as f64 * 1.03, "{size} {without}");
    // A short text has one group, and so has a text whose second half repeats the first.
    assert_eq!(groups_and_size(&events(2000), &options).0, 1);
    let repeated = events(10_000).repeat(2);
    assert_eq!(groups_and_size(&repeated, &options).0, 1);
}

#[test]
fn without_an_index_there_are_no_groups() {
    let case = cases(500).swap_remove(0);
    let options = options(&case, 10).with_index(false);
    let (archive, _) = pack(case.text.as_bytes(), &options).unwrap();
    assert_eq!(table(&archive).unwrap().reader().unwrap().row_groups(), 1);
}

/// A reader of line groups reads the parts of these streams, and all of the others.
#[test]
fn the_lists_are_the_bulk_streams_of_their_codec() {
    for codec in Codec::ALL {
        for stream in super::layout(codec).unwrap_or_default() {
            let is_list = stream.role != super::StreamRole::Shared;
            assert_eq!(codec.is_bulk(stream.name), is_list, "{codec}: {}", stream.name);
        }
    }
}
