//! Templates and times that are read without lines are those of the text.

use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;

use super::{LOG, LogColumn, LogColumns};
use crate::codec::Codec;
use crate::frames::FrameReader;
use crate::line_groups::tests::{batch, open_source, with_stream};
use crate::line_groups::{LineGroups, ListDirectory};
use crate::pack::{Choice, PackOptions, pack, pack_stream};
use hypostyle_core::error::Result;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::scan::{Scan, Table};
use hypostyle_core::source::RangeCache;
use hypostyle_core::text::{SourceText, TextOptions, TextTable, detect};
use hypostyle_core::wire::crc32;

const NAME: &str = "t.log";

/// More rows than any log here has, so that there is one group.
const WHOLE: usize = 1 << 20;

/// A log with lines that are easily taken for something else.
fn nasty(lines: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for i in 0..lines {
        let (a, b) = (i * 7919 % 1009, i * 31 % 97);
        let time = format!(
            "2015-10-{:02} 18:{:02}:{:02},{:03}",
            1 + i / 90 % 28,
            i % 60,
            b % 60,
            a % 1000
        );
        let user = ["root", "admin", "u7", "7", "x=1", "é", ""][i % 7];
        let line = match i % 23 {
            0 => format!("{time} INFO [main] Task attempt_{a}_{b:04} is <*> done\r").into_bytes(),
            1 => format!("{time} WARN block{b}x Slow block blk_-{a} took {b}ms on 10.0.{b}.{a}:80").into_bytes(),
            2 => format!("{time} WARN Invalid user {user} from 10.0.0.{b} port {a} in session").into_bytes(),
            3 => format!("10.{b}.0.{a} - - [13/Sep/2020:12:{:02}:{:02} +0000] \"GET /a/{b}?id={a} HTTP/1.1\" 200 {a}", b % 60, a % 60).into_bytes(),
            4 => Vec::new(),
            5 => b"no digits here, but some words of text in this line".to_vec(),
            6 => [format!("{time} bytes \u{e9}{a}").as_bytes(), &[0xC3, 0xFF, b' ', 0xA4], format!("{b} of a line").as_bytes()].concat(),
            7 => [&b"odd "[..], &[0xC3], format!("{a} and {b} more text of a line").as_bytes()].concat(),
            8 => format!("at com.example.Frame{}.run(Frame.java:{i})", "x".repeat(i % 7)).into_bytes(),
            // The stamp starts after the bytes in which it is looked for, or just before.
            9 => format!("{} {time} late stamp {a}", "9".repeat(40 + b % 9)).into_bytes(),
            10 => format!("{a}-{time} and {time} of {b} glued to a number").into_bytes(),
            11 => b"\t  ".to_vec(),
            n => format!("{time} INFO [pool-{n}-thread-{b}] Served request {a} of tenant {b} in {}.{b:02} ms", a % 13).into_bytes(),
        };
        text.extend_from_slice(&line);
        text.push(b'\n');
    }
    text
}

/// Lines of sshd, and others.
fn ssh(lines: usize) -> Vec<u8> {
    let line = |i: usize| {
        let head =
            format!("Dec {:>2} {:02}:{:02}:{:02} LabSZ", 1 + i / 200, i / 60 % 24, i % 60, i % 59);
        match i % 29 {
            28 => format!("{head} CRON[{i}]: session opened\r"),
            27 => format!("{head} sshd[{i}]: a <*> of {i}"),
            26 => format!("x {i} {} {head} sshd[{i}]: Server listening", i % 3),
            7 => format!("{head} sshd[{}]: odd message {}", 100 + i, "z".repeat(i % 5)),
            8 | 9 => format!("{head} sshd[{i}]: Server listening"),
            10..14 => format!(
                "{head} sshd[{i}]: Invalid user {} from 10.0.0.{}",
                ["bob", "u7", "a=b"][i % 3],
                i % 250
            ),
            _ => format!(
                "{head} sshd[{}]: Failed password for user{} from 10.{}.{}.9 port {} ssh2",
                100 + i / 3,
                i % 13,
                i % 200,
                i % 7,
                i * 37 % 60_000
            ),
        }
    };
    (0..lines).map(|i| line(i) + "\n").collect::<String>().into_bytes()
}

fn cases(lines: usize) -> Vec<(Vec<u8>, Codec)> {
    let mut open = nasty(lines);
    open.pop();
    vec![
        (nasty(lines), Codec::JsonDoc),
        (open.clone(), Codec::JsonDoc),
        (open, Codec::Log),
        (nasty(lines), Codec::Log),
        (ssh(lines), Codec::Ssh),
        (ssh(lines), Codec::JsonDoc),
    ]
}

fn packed(text: &[u8], codec: Codec, rows: usize) -> Vec<u8> {
    let options = PackOptions::default()
        .with_level(2)
        .with_codec(Choice::Only(codec))
        .with_name(Some(NAME))
        .with_rows_per_group(NonZeroUsize::new(rows));
    let (archive, packed) = pack(text, &options).unwrap();
    assert_eq!(packed.codec, codec);
    archive
}

fn table(archive: &[u8]) -> Result<Table> {
    let (archive, source) = open_source(archive);
    Ok(Table::new(archive.table(Some(NAME), &TextOptions::default())?, source))
}

fn text_table(text: &[u8]) -> Table {
    let source = Arc::new(RangeCache::over(Arc::new(Bytes::copy_from_slice(text))));
    let format = detect(Some(NAME), text).unwrap();
    let source_text = Arc::new(SourceText(source.clone()));
    let table = TextTable::open(source_text, format, &TextOptions::default(), None).unwrap();
    Table::new(Arc::new(table), source)
}

/// Returns the columns of a log that an archive serves without lines.
fn served(archive: &[u8], lines: u64) -> Option<LogColumns> {
    let bytes = Arc::new(Bytes::copy_from_slice(archive));
    let frames = Arc::new(FrameReader::open(bytes, &ReadOptions::default(), None).unwrap());
    let directory = ListDirectory::read(&frames, None).unwrap()?;
    let groups = LineGroups::of(&directory).unwrap().map(Arc::new);
    LogColumns::open(&directory, groups.as_ref(), lines).unwrap()
}

const PREDICATES: [&str; 9] = [
    "template like '%Task%'",
    "template = 'no digits here, but some words of text in this line'",
    "template is null",
    "time is null",
    "time between '2015-10-02' and '2015-10-03'",
    "time >= '2015-10-03' and template like '%WARN%'",
    "time < '2015-10-02' or line like '%Invalid user%'",
    "template like '%<*>%<*> done%' and line like '%9%'",
    "not (time > '2015-10-02 18:30')",
];

/// Compares an archive with the text that it holds.
fn check(archive: &[u8], text: &[u8], what: &str) {
    let (truth, table) = (text_table(text), table(archive).unwrap());
    let all = batch(truth.scan()).unwrap();
    assert_eq!(batch(table.scan()).unwrap(), all, "{what}");
    let sets: [&[&str]; 8] = [
        &["template"],
        &["time"],
        &["variables"],
        &["line"],
        &["time", "template"],
        &["template", "line"],
        &["variables", "template"],
        &["variables", "time", "line", "template"],
    ];
    for columns in sets {
        let scan = |table: &Table| batch(table.scan().columns(columns.iter().copied())).unwrap();
        assert_eq!(scan(&table), scan(&truth), "{what}: {columns:?}");
        for predicate in PREDICATES {
            let scan = |table: &Table| {
                let scan = table.scan().columns(columns.iter().copied());
                batch(scan.filter(predicate.parse().unwrap()).batch_size(64)).unwrap()
            };
            assert_eq!(scan(&table), scan(&truth), "{what}: {columns:?} {predicate}");
        }
    }
    let rows = all.num_rows() as u64;
    for range in [0..1, rows / 2..rows / 2 + 3, rows - 1..rows] {
        let scan = |table: &Table| {
            batch(table.scan().columns(["template", "variables"]).rows(range.clone()))
        };
        assert_eq!(scan(&table).unwrap(), scan(&truth).unwrap(), "{what}: {range:?}");
    }
    let taken = [rows - 1, 0, rows / 3, 0];
    for columns in [["time", "line"], ["variables", "time"]] {
        let scan = |table: &Table| batch(table.scan().columns(columns).take(&taken)).unwrap();
        assert_eq!(scan(&table), scan(&truth), "{what}: rows");
    }
    assert_eq!(
        open_source(archive).0.check_table().unwrap().map(|err| err.to_string()),
        None,
        "{what}"
    );
    let mut unpacked = Vec::new();
    open_source(archive).0.unpack(&mut unpacked).unwrap();
    assert!(unpacked == text, "{what}");
}

#[test]
fn columns_are_those_of_the_text() {
    for (text, codec) in cases(700) {
        for rows in [64, 300, WHOLE] {
            let what = format!("{codec} in groups of {rows}");
            let archive = packed(&text, codec, rows);
            let log = served(&archive, 700).unwrap();
            assert_eq!(log.groups(), 700_usize.div_ceil(rows), "{what}");
            assert!(LogColumn::ALL.into_iter().all(|column| log.serves(column)), "{what}");
            check(&archive, &text, &what);
        }
    }
}

#[test]
fn archives_without_the_stream_are_read_from_their_lines() {
    let text = nasty(500);
    let options = PackOptions::default().with_level(2).with_name(Some(NAME));
    let options = options.with_codec(Choice::Only(Codec::JsonDoc));
    let (plain, _) = pack(&text, &options.clone().with_index(false)).unwrap();
    assert!(served(&plain, 500).is_none());
    check(&plain, &text, "no index");
    let mut frames = Vec::new();
    pack_stream(&text[..], &mut frames, &options.with_chunk_lines(100), |_, _| {}).unwrap();
    assert!(served(&frames, 500).is_none());
    check(&frames, &text, "frames");
    // A byte order mark is part of no line.
    let marked = [&b"\xEF\xBB\xBF"[..], &text].concat();
    let archive = packed(&marked, Codec::Log, WHOLE);
    assert!(served(&archive, 500).is_none());
    check(&archive, &marked, "byte order mark");
}

/// Words, numbers and separators of which lines are made.
const PIECES: [&str; 24] = [
    "2015-10-18 18:01:47,978",
    "Dec 10 06:55:46",
    "081109 203615",
    "[",
    "] ",
    " ",
    " ",
    ": ",
    "=",
    "<*>",
    "7",
    "42",
    "1001",
    "blk_-",
    "é",
    "user",
    "error",
    "10.0.0.1",
    "/a/",
    "\r",
    "\t",
    "x9y",
    "-",
    "T",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn generated_logs_are_their_tables(
        shapes in prop::collection::vec(prop::collection::vec(0..PIECES.len(), 0..14), 1..6),
        picks in prop::collection::vec((0_usize..6, 0..PIECES.len(), any::<u8>()), 40..160),
        rows in prop::sample::select(vec![16_usize, WHOLE]),
        codec in prop::sample::select(vec![Codec::Log, Codec::JsonDoc]),
    ) {
        let mut text = Vec::new();
        for (shape, odd, byte) in picks {
            for &piece in &shapes[shape % shapes.len()] {
                text.extend_from_slice(PIECES[piece].as_bytes());
                if piece == 10 {
                    text.extend_from_slice(byte.to_string().as_bytes());
                }
                if piece == 15 && byte > 250 {
                    text.push(byte);
                }
            }
            if byte % 16 == 0 {
                text.extend_from_slice(PIECES[odd].as_bytes());
            }
            text.push(b'\n');
        }
        let options = PackOptions::default()
            .with_level(2)
            .with_codec(Choice::Only(codec))
            .with_name(Some(NAME))
            .with_rows_per_group(NonZeroUsize::new(rows));
        let (archive, _) = pack(&text, &options).unwrap();
        check(&archive, &text, "generated");
    }
}

/// Returns the content of `hyp.log`.
fn log_content(archive: &[u8]) -> Vec<u8> {
    let bytes = Arc::new(Bytes::copy_from_slice(archive));
    let frames = Arc::new(FrameReader::open(bytes, &ReadOptions::default(), None).unwrap());
    ListDirectory::read(&frames, None).unwrap().unwrap().read.bytes(LOG).to_vec()
}

/// Returns an archive with another content of `hyp.log`, and right checksums of its frame.
fn with_log(archive: &[u8], content: &[u8]) -> Vec<u8> {
    with_stream(archive, LOG, content)
}

#[test]
fn a_stream_that_lies_gives_an_error_or_the_same_rows() {
    let (mut errors, mut equal) = (0, 0);
    for (text, codec) in cases(200) {
        for rows in [100, WHOLE] {
            let archive = packed(&text, codec, rows);
            let content = log_content(&archive);
            let truth = batch(text_table(&text).scan()).unwrap();
            let inner = content.len() - 4;
            for at in 1..inner {
                for flip in [0x01, 0x02, 0x04, 0x80] {
                    let mut lying = content[..inner].to_vec();
                    lying[at] ^= flip;
                    let sum = crc32(&lying);
                    lying.extend_from_slice(&sum.to_le_bytes());
                    let lying = with_log(&archive, &lying);
                    let said = open_source(&lying).0.check_table();
                    let is_reported = !matches!(said, Ok(None));
                    let Ok(table) = table(&lying) else {
                        errors += 1;
                        assert!(is_reported, "byte {at}");
                        continue;
                    };
                    for name in ["template", "time", "variables"] {
                        match batch(table.scan().columns([name])) {
                            Ok(found) => {
                                let truth = truth.column_by_name(name).unwrap();
                                assert_eq!(found.column(0), truth, "byte {at}");
                                equal += 1;
                            }
                            Err(_) => {
                                errors += 1;
                                assert!(is_reported, "byte {at}");
                            }
                        }
                    }
                    let lines = batch(table.scan().columns(["line"])).unwrap();
                    assert_eq!(lines.column(0), truth.column_by_name("line").unwrap());
                }
            }
        }
    }
    assert!(errors > 500 && equal > 500, "{errors} {equal}");
}

#[test]
fn damage_in_any_byte_of_the_stream_is_an_error_of_the_table_only() {
    let archive = packed(&nasty(200), Codec::JsonDoc, 64);
    let content = log_content(&archive);
    for at in 1..content.len() {
        let mut damaged = content.clone();
        damaged[at] ^= 0x41;
        let damaged = with_log(&archive, &damaged);
        assert!(table(&damaged).is_err(), "byte {at}");
        assert!(open_source(&damaged).0.check_table().unwrap().is_some(), "byte {at}");
        open_source(&damaged).0.unpack(&mut std::io::sink()).unwrap();
    }
    // Another version is ignored.
    let mut newer = content;
    newer[0] = 9;
    let newer = with_log(&archive, &newer);
    assert_eq!(batch(table(&newer).unwrap().scan()).unwrap().num_rows(), 200);
}

/// The share of an archive that a scan reads.
fn share_read(archive: &[u8], scan: impl Fn(&Table) -> Scan) -> f64 {
    let table = table(archive).unwrap();
    let mut batches = scan(&table).batches().unwrap();
    while batches.next_batch().unwrap().is_some() {}
    let stats = batches.stats();
    stats.bytes_read as f64 / stats.bytes as f64
}

#[test]
fn a_scan_reads_the_lists_that_its_columns_need() {
    let mut state = 7_u64;
    let mut random = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut line = |i: u64| {
        let (seconds, id, block) = (i / 4, random(100), random(1 << 40));
        let time = format!(
            "0811{:02} {:02}{:02}{:02}",
            1 + seconds / 86_400,
            seconds / 3600 % 24,
            seconds / 60 % 60,
            seconds % 60
        );
        let letters: Vec<char> = ('a'..='z').collect();
        let word: String = (0..12).map(|_| letters[usize::try_from(random(26)).unwrap()]).collect();
        match random(4) {
            3 => {
                format!("{time} {id} INFO dfs.Server: Login of {word} from a known host, {block}\n")
            }
            0 => format!(
                "{time} {id} INFO dfs.DataNode: Received block blk_{block} of size {} from /10.251.{}.{}\n",
                random(1 << 26),
                random(256),
                random(256)
            ),
            1 => format!(
                "{time} {id} INFO dfs.FSNamesystem: BLOCK* allocateBlock: /user/root/part-{:05}. blk_{block}\n",
                random(99_999)
            ),
            _ => format!(
                "{time} {id} WARN dfs.DataNode: Exception while serving blk_{block} to /10.251.{}.{}:50010\n",
                random(256),
                random(256)
            ),
        }
    };
    let text: String = (0..20_000).map(&mut line).collect();
    for (rows, most) in [(WHOLE, [0.3, 0.4]), (5000, [0.4, 0.55])] {
        let archive = packed(text.as_bytes(), Codec::JsonDoc, rows);
        let template = share_read(&archive, |table| table.scan().columns(["template"]));
        let time = share_read(&archive, |table| table.scan().columns(["time"]));
        let nothing = share_read(&archive, |table| {
            table.scan().filter("template = 'nothing <*>'".parse().unwrap())
        });
        let all = share_read(&archive, |table| table.scan().columns(["line"]));
        assert!(template < most[0] && time < most[1], "{template} {time}");
        assert!(nothing < most[0] && all > 0.9, "{nothing} {all}");
        let variables = share_read(&archive, |table| table.scan().columns(["variables"]));
        let unmatched = share_read(&archive, |table| {
            let scan = table.scan().columns(["variables", "template"]);
            scan.filter("template = 'nothing <*>'".parse().unwrap())
        });
        assert!(unmatched < most[0], "{unmatched}");
        // The words of the logins are in a block that variables do not need.
        assert!(variables < if rows == WHOLE { all } else { 0.9 }, "{variables}");
        // Rows on both sides of the border of two checksums.
        let (truth, table) = (text_table(text.as_bytes()), table(&archive).unwrap());
        let predicate = "template like '%Exception%' or template like '%Login%'";
        for range in [0..20_000, 16_380..16_390, 19_999..20_000] {
            let scan = |table: &Table| {
                let scan = table.scan().columns(["variables"]).rows(range.clone());
                batch(scan.filter(predicate.parse().unwrap())).unwrap()
            };
            assert_eq!(scan(&table), scan(&truth), "{range:?}");
        }
    }
}
