//! Appends text to an archive: the old bytes stay, and old and new rows are one table.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;
use hypostyle::formats::at1::{
    self, Appended, Appender, Archive, Choice, Codec, Layout, PackOptions,
};
use hypostyle::predicate::Predicate;
use hypostyle::text::TextOptions;
use hypostyle::{ErrorKind, ReadOptions, Refusal, Result, ScanStats};
use hypostyle_testkit::text_tables::archive_table;
use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::archives::{self, cells, opened as open, table};

const TRAILER: usize = 36;

fn quick() -> PackOptions {
    PackOptions::default().with_level(1).with_rows_per_group(NonZeroUsize::new(7))
}

/// Packs a text as a whole archive, or in frames of this many lines.
fn packed(text: &str, codec: Choice, frames: Option<u64>) -> Vec<u8> {
    archives::packed(text, &quick().with_codec(codec), frames)
}

fn append(archive: &[u8], text: &[u8]) -> Result<(Vec<u8>, Appended)> {
    let mut new = Vec::new();
    let appended = at1::append(&open(archive), text, &mut new, &quick(), |_, _| {})?;
    assert_eq!(appended.stored, new.len() as u64);
    assert!([0, HEADER.len()].contains(&(text.len() - usize::try_from(appended.added).unwrap())));
    Ok((new, appended))
}

fn unpacked(archive: &[u8]) -> String {
    let mut text = Vec::new();
    assert!(open(archive).unpack(&mut text).unwrap().hash_agreed);
    String::from_utf8(text).unwrap()
}

/// Returns the rows that match a predicate, as text, and what the scan read.
fn ask(archive: &[u8], test: &str, options: &TextOptions) -> Result<(Vec<Vec<String>>, ScanStats)> {
    let table = archive_table(None, archive, options)?;
    let mut names: Vec<String> =
        table.schema()?.fields().iter().map(|field| field.name().clone()).collect();
    names.sort();
    let scan = table.scan().columns(names.iter().map(String::as_str));
    let mut batches = scan.filter(Predicate::parse(test)?).batches()?;
    let mut rows = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        rows.extend(cells(&batch));
    }
    Ok((rows, batches.stats()))
}

/// Returns the rows that match a predicate, as text.
fn rows(archive: &[u8], test: &str) -> Vec<Vec<String>> {
    ask(archive, test, &TextOptions::default()).unwrap().0
}

/// Returns the rows that match a predicate, without lines that are no rows.
fn well_formed_rows(archive: &[u8], test: &str) -> Vec<Vec<String>> {
    let mut options = TextOptions::default();
    options.skip = true;
    ask(archive, test, &options).unwrap().0
}

fn find(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

const HEADER: &str = "id,city,price\n";

fn csv_rows(ids: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for id in ids {
        let city = ["Oslo", "Rome", "\"Nice, FR\""][(id * id % 3) as usize];
        let _ = writeln!(text, "{id},{city},{}.{:02}", id % 40, id % 100);
    }
    text
}

/// Returns lines of objects with two sets of keys.
fn json_rows(ids: std::ops::Range<u32>) -> String {
    let mut text = String::new();
    for id in ids {
        let _ = match id % 3 {
            0 => writeln!(text, "{{\"price\":{id}.5,\"id\":{id}}}"),
            _ => writeln!(text, "{{\"id\":{id},\"city\":\"c{}\",\"price\":{}.5}}", id % 5, id % 40),
        };
    }
    text
}

/// Returns a text for each codec, in four parts.
fn cases() -> Vec<(Choice, [String; 4])> {
    let csv = [0..50, 50..60, 60..61, 61..130].map(csv_rows);
    let [first, rest @ ..] = csv;
    let [second, third, fourth] = rest;
    let json = [0..50, 50..60, 60..62, 62..130].map(json_rows);
    let csv = [format!("{HEADER}{first}"), second, third, fourth];
    vec![
        (Choice::Only(Codec::QColumnar), csv.clone()),
        (Choice::Only(Codec::Columnar), csv),
        (Choice::Only(Codec::QJson), json.clone()),
        (Choice::Only(Codec::QJson2), json),
    ]
}

#[test]
fn old_frames_stay_and_all_of_it_is_one_archive() {
    for (codec, parts) in cases() {
        for frames in [None, Some(20)] {
            let mut archive = packed(&parts[0], codec, frames);
            let mut text = parts[0].clone();
            for part in &parts[1..] {
                let (new, appended) = append(&archive, part.as_bytes()).unwrap();
                text += part;
                assert_eq!(unpacked(&new), text);
                assert_eq!(appended.original, text.len() as u64);
                assert_eq!(appended.frames.1, 0);
                assert_eq!(appended.codec, open(&archive).codec());
                // All old bytes stay, except the head of a whole archive, the frame of the
                // table and the trailer.
                match open(&archive).chunk_lines() {
                    Some(_) => {
                        let frames = open(&archive).frames().unwrap();
                        let last = &frames[frames.len() - 2];
                        let end = usize::try_from(last.offset + last.stored).unwrap();
                        assert!(new.starts_with(&archive[..end]));
                    }
                    None => assert!(find(&new, &archive[5..archive.len() - TRAILER])),
                }
                assert_eq!(new[..4], *b"AT1\x03");
                assert_eq!(new[new.len() - TRAILER..new.len() - 4], *Sha256::digest(&text));
                assert_eq!(open(&new).chunk_lines(), Some(frames.unwrap_or(500_000)));
                archive = new;
            }
            let frames_now = open(&archive).frames().unwrap().len();
            assert_eq!(
                frames_now,
                1 + if frames.is_some() { 3 + 1 + 1 + 4 } else { 4 },
                "{codec:?}"
            );
            let at_once = packed(&text, codec, None);
            for test in ["id >= 0", "id between 45 and 65", "price > 30", "city = 'Rome'", "id = 5"]
            {
                assert_eq!(rows(&archive, test), rows(&at_once, test), "{codec:?} {test}");
            }
            assert_eq!(rows(&archive, "id >= 0").len(), 130);
        }
    }
}

#[test]
fn a_repeated_header_is_left_out() {
    let old = packed(&format!("{HEADER}{}", csv_rows(0..30)), Choice::Only(Codec::QColumnar), None);
    let (new, appended) = append(&old, format!("{HEADER}{}", csv_rows(30..50)).as_bytes()).unwrap();
    assert_eq!(appended.frames, (1, 0));
    assert_eq!(rows(&new, "id >= 0").len(), 50);
    assert_eq!(rows(&new, "city = 'city'").len(), 0);
    assert_eq!(unpacked(&new), format!("{HEADER}{}", csv_rows(0..50)));
    assert_eq!(table(&new).num_rows().unwrap(), 50);
    let mut options = TextOptions::default();
    options.header = Some(false);
    assert_eq!(archive_table(None, &new, &options).unwrap().num_rows().unwrap(), 51);
    // The column is still numeric, so its statistics prune groups.
    let stats = ask(&new, "id > 1000", &TextOptions::default()).unwrap().1;
    assert_eq!(stats.row_groups_read, 0);
    // A header without rows adds nothing.
    for alone in [HEADER, HEADER.trim_end()] {
        let mut same = Vec::new();
        let appended = at1::append(&open(&new), alone.as_bytes(), &mut same, &quick(), |_, _| {});
        assert_eq!(appended.unwrap().frames, (0, 0));
        assert_eq!(same, new);
    }
    // Several texts may start with the header; the same line elsewhere is a row.
    let mut out = Vec::new();
    let archive = open(&old);
    let mut appender = Appender::new(&archive, &mut out, &quick()).unwrap();
    for ids in [30..35, 35..40] {
        let text = format!("{HEADER}{}", csv_rows(ids));
        appender.add(text.as_bytes(), |_, _| {}).unwrap();
    }
    assert_eq!(appender.finish().unwrap().frames, (2, 0));
    assert_eq!(rows(&out, "id >= 0").len(), 40);
    // A streaming archive gets more frames with the same number of lines.
    let old =
        packed(&format!("{HEADER}{}", csv_rows(0..30)), Choice::Only(Codec::QColumnar), Some(10));
    let (new, appended) = append(&old, format!("{HEADER}{}", csv_rows(30..50)).as_bytes()).unwrap();
    assert_eq!(appended.frames, (3, 0));
    assert_eq!(rows(&new, "id >= 0").len(), 50);
}

#[test]
fn lines_that_do_not_fit_are_kept_and_frames_without_any_are_raw() {
    let old = packed(&format!("{HEADER}{}", csv_rows(0..30)), Choice::Only(Codec::QColumnar), None);
    let odd = "what\n30,Oslo,1.00\n1,2,3,4\n\n";
    let (new, appended) = append(&old, odd.as_bytes()).unwrap();
    assert_eq!(appended.frames, (1, 0));
    assert_eq!(well_formed_rows(&new, "id >= 0").len(), 31);
    let (newer, appended) = append(&new, b"no\nrow\nhere\n").unwrap();
    assert_eq!(appended.frames, (1, 1));
    assert_eq!(well_formed_rows(&newer, "id >= 0").len(), 31);
    let (newest, appended) = append(&newer, csv_rows(31..33).as_bytes()).unwrap();
    assert_eq!(appended.frames, (1, 0));
    assert_eq!(well_formed_rows(&newest, "id >= 0").len(), 33);
    let old = packed(&json_rows(0..30), Choice::Only(Codec::QJson2), None);
    assert_eq!(append(&old, b"\xFF\x00\n[1]\n").unwrap().1.frames, (1, 1));
}

#[test]
fn nothing_to_add_changes_nothing() {
    for frames in [None, Some(10)] {
        let old = packed(&json_rows(0..30), Choice::Only(Codec::QJson), frames);
        let (new, appended) = append(&old, b"").unwrap();
        assert_eq!(new, old);
        assert_eq!(appended.frames, (0, 0));
    }
}

#[test]
fn an_empty_archive_accepts_a_table() {
    // A streaming archive of codec 7 without a frame, and one of an empty text.
    let none = b"AT1\x03\x07\x0A".to_vec();
    let json = packed("", Choice::Only(Codec::QJson), Some(10));
    for (old, text) in [(none, format!("{HEADER}{}", csv_rows(0..25))), (json, json_rows(0..25))] {
        let (new, appended) = append(&old, text.as_bytes()).unwrap();
        assert_eq!((appended.frames.1, appended.original), (0, text.len() as u64));
        assert_eq!(unpacked(&new), text);
        assert_eq!(rows(&new, "id >= 0").len(), 25);
    }
}

#[test]
fn an_archive_without_a_trailer_gets_one() {
    for (codec, [first, second, ..]) in cases() {
        for frames in [None, Some(20)] {
            let whole = packed(&first, codec, frames);
            let old = &whole[..whole.len() - TRAILER];
            assert_eq!(open(old).hash(), None);
            let (new, _) = append(old, second.as_bytes()).unwrap();
            assert_eq!(new, append(&whole, second.as_bytes()).unwrap().0);
            assert_eq!(unpacked(&new), first.clone() + &second);
        }
    }
}

#[test]
fn what_is_damaged_is_refused() {
    let old =
        packed(&format!("{HEADER}{}", csv_rows(0..60)), Choice::Only(Codec::QColumnar), Some(20));
    for at in 6..old.len() - 4 {
        let mut bad = old.clone();
        bad[at] ^= 0x20;
        let source = Arc::new(Bytes::from(bad));
        let Ok(archive) = Archive::open(source, &ReadOptions::default()) else { continue };
        let mut new = Vec::new();
        let sound = archive.unpack(&mut std::io::sink()).is_ok();
        let appended = at1::append(&archive, &b"1,a,2\n"[..], &mut new, &quick(), |_, _| {});
        // Damage outside the text is refused too, except in the table of the text, which is new.
        assert!(sound || appended.is_err(), "byte {at}");
        assert!(appended.is_ok() || new.is_empty());
        if appended.is_ok() {
            assert_eq!(open(&new).check_table().unwrap().map(|err| err.to_string()), None);
            assert!(open(&new).check_groups().unwrap().is_empty(), "byte {at}");
        }
    }
    let mut bad = old.clone();
    let at = old.len() - TRAILER;
    bad[at] ^= 1;
    let message = append(&bad, b"1,a,2\n").unwrap_err().to_string();
    assert!(message.contains("hash"), "{message}");
}

#[test]
fn what_would_join_two_lines_is_refused() {
    let text = format!("{HEADER}{}", csv_rows(0..30));
    let old = packed(text.trim_end(), Choice::Only(Codec::QColumnar), None);
    let err = append(&old, b"30,Oslo,1.00\n").unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{err}");
    assert!(err.to_string().contains("newline"), "{err}");
    let archive = packed(&text, Choice::Only(Codec::QColumnar), None);
    let archive = open(&archive);
    let mut appender = Appender::new(&archive, Vec::new(), &quick()).unwrap();
    appender.add(&b"30,Oslo,1.00"[..], |_, _| {}).unwrap();
    appender.add(&b""[..], |_, _| {}).unwrap();
    let err = appender.add(&b"31,Oslo,1.00"[..], |_, _| {}).unwrap_err();
    assert!(err.to_string().contains("newline"), "{err}");
}

#[test]
fn other_codecs_and_layouts_are_refused() {
    let text = format!("{HEADER}{}", csv_rows(0..300));
    for codec in [Codec::Log, Codec::Raw] {
        let choice = Choice::Only(codec);
        let text = text.replace(',', " took ");
        let err = append(&packed(&text, choice, None), b"1,2,3\n").unwrap_err();
        assert_eq!(err.refusal(), Some(Refusal::NotAppendable), "{err}");
        let message = err.to_string();
        assert!(message.contains(codec.name()) && message.contains("Choice::Query"), "{message}");
    }
    let old = packed(&text, Choice::Only(Codec::QColumnar), None);
    for options in
        [quick().with_layout(Layout::Published), quick().with_level(0), quick().with_chunk_lines(0)]
    {
        assert!(
            at1::append(&open(&old), &b"1,2,3\n"[..], Vec::new(), &options, |_, _| {}).is_err()
        );
    }
}

fn csv_line() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..99_u32, prop::sample::select(&["Oslo", "", "\"a, b\"", "é"][..]), -50..50_i32)
            .prop_map(|(id, city, price)| format!("{id},{city},{price}.5")),
        1 => prop::sample::select(&["", "odd", "1,2", "1,2,3,4", "id,city,price"][..])
            .prop_map(str::to_owned),
    ]
}

fn json_line() -> impl Strategy<Value = String> {
    prop_oneof![
        5 => (0..99_u32, "[a-c]{0,3}").prop_map(|(id, city)| format!("{{\"id\":{id},\"city\":\"{city}\"}}")),
        3 => (0..99_u32, -50..50_i32).prop_map(|(id, price)| format!("{{\"price\":{price}.5, \"id\":{id}}}")),
        1 => prop::sample::select(&["odd", "{}", "[1]"][..]).prop_map(str::to_owned),
    ]
}

/// Splits lines into texts at random positions.
fn texts(lines: &[String], cuts: &[prop::sample::Index]) -> Vec<String> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(lines.len() + 1)).collect();
    ends.push(lines.len());
    ends.sort_unstable();
    let mut start = 0;
    let text = |end: usize| {
        let text = lines[start..end].iter().flat_map(|line| [line, "\n"]).collect();
        start = end;
        text
    };
    ends.into_iter().map(text).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn appending_part_by_part_is_packing_at_once(
        csv in prop::collection::vec(csv_line(), 1..60),
        json in prop::collection::vec(json_line(), 1..60),
        codec in prop::sample::select(&[
            Choice::Only(Codec::QColumnar),
            Choice::Only(Codec::Columnar),
            Choice::Only(Codec::QJson),
            Choice::Only(Codec::QJson2),
        ][..]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..5),
        frames in prop::option::of(3_u64..30),
    ) {
        let (first, lines) = match codec {
            Choice::Only(Codec::QColumnar | Codec::Columnar) => {
                ("id,city,price\n1,Oslo,1.5\n2,Rome,2.5\n", csv)
            }
            _ => ("{\"id\":1,\"city\":\"Oslo\"}\n{\"price\":1.5, \"id\":7}\n", json),
        };
        let mut archive = packed(first, codec, frames);
        let mut text = first.to_owned();
        for part in texts(&lines, &cuts) {
            let (new, appended) = append(&archive, part.as_bytes()).unwrap();
            // A text that starts with the header is added without it.
            let is_csv = matches!(codec, Choice::Only(Codec::QColumnar | Codec::Columnar));
            let repeats = is_csv && part.starts_with(HEADER);
            text += if repeats { &part[HEADER.len()..] } else { &part };
            prop_assert_eq!(unpacked(&new), text.clone());
            prop_assert_eq!(appended.original, text.len() as u64);
            archive = new;
        }
        // A repeated header is a row except at the start of a frame, so no predicate tests it.
        for test in ["id >= 0", "id > 50 and city <> ''", "price < 0"] {
            let at_once = packed(&text, codec, None);
            let rows = |archive: &[u8]| {
                let found = ask(archive, test, &TextOptions::default());
                found.map(|found| found.0).map_err(|err| err.to_string())
            };
            prop_assert_eq!(rows(&archive), rows(&at_once));
            prop_assert_eq!(well_formed_rows(&archive, test), well_formed_rows(&at_once, test));
        }
    }
}

/// Values never move to another column.
#[test]
fn another_header_is_refused_and_named() {
    let text = format!("{HEADER}{}", csv_rows(0..30));
    for codec in [Choice::Query, Choice::Only(Codec::QColumnar)] {
        let old = packed(&text, codec, None);
        let names: Vec<&str> = HEADER.trim_end().split(',').collect();
        for header in [format!("{},town", names[0]), HEADER.trim_end().to_owned() + ",x"] {
            let err = append(&old, format!("{header}\n1,2,3\n").as_bytes()).unwrap_err();
            assert_eq!(err.refusal(), Some(Refusal::OtherHeader), "{err}");
            for name in &names {
                assert!(err.to_string().contains(name), "{err}");
            }
        }
        // The same names in quotes, or with another line end, are the same header.
        let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
        for header in [quoted.join(",") + "\n", HEADER.replace('\n', "\r\n")] {
            let (text, mut new) = (format!("{header}{}", csv_rows(30..31)), Vec::new());
            at1::append(&open(&old), text.as_bytes(), &mut new, &quick(), |_, _| {}).unwrap();
            assert_eq!(unpacked(&new), format!("{HEADER}{}", csv_rows(0..31)));
        }
    }
}

/// Another order of the columns is put right by name.
#[test]
fn columns_in_another_order_are_appended_in_that_of_the_archive() {
    let text = format!("{HEADER}{}", csv_rows(0..30));
    let reversed = |text: &str| {
        let line = |line: &str| line.split(',').rev().collect::<Vec<_>>().join(",") + "\n";
        text.lines().map(line).collect::<String>()
    };
    let added = csv_rows(30..75);
    assert!(!added.contains('"'), "cells in quotes would need a parser");
    for codec in [Choice::Query, Choice::Only(Codec::QColumnar)] {
        let old = packed(&text, codec, None);
        let (new, _) = append(&old, reversed(&format!("{HEADER}{added}")).as_bytes()).unwrap();
        assert_eq!(unpacked(&new), format!("{text}{added}"));
        let ragged = format!("{}1,2\n", reversed(HEADER));
        let err = append(&old, ragged.as_bytes()).unwrap_err();
        assert_eq!(err.refusal(), Some(Refusal::OtherHeader), "{err}");
    }
}
