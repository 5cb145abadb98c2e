//! A directory of row groups that lies is found out, or changes nothing.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::DataType;
use bytes::Bytes;

use super::frame::ColumnarFrame;
use crate::archive::Archive;
use crate::codec::Codec;
use crate::codecs::columnar::group_directory::{ColumnPieces, GROUPS, GroupDirectory};
use crate::codecs::columnar::kind::{DEC, DERIVED, DICT, INT, NUMEXC, SHUF, TEXT};
use crate::codecs::columnar::sections::GroupStates;
use crate::streams::Backend;
use crate::table::TableShape;
use crate::table::tests::{CSV, packed, plain, table_of};
use hypostyle_core::error::Result;
use hypostyle_core::options::ReadOptions;
use hypostyle_core::predicate::Predicate;
use hypostyle_core::scan::Table;
use hypostyle_core::source::RangeCache;
use hypostyle_core::text::TextKind;
use hypostyle_core::wire::{crc32, put};

/// Returns a table with a column for each type, and some lines that are no rows of cells.
fn text_of_all_types(rows: i64) -> String {
    let mut text = String::from("text,walk,word,price,code,gap,noise\n");
    let mut dice = 1_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((dice >> 33) % sides).unwrap()
    };
    let (mut walk, mut price, mut gap) = (5000, 700_000, 90_000);
    for row in 0..rows {
        walk += roll(100) - 40;
        price += roll(120) - 60;
        gap += roll(110) - 55;
        // Not every word occurs in every row group.
        let word = (roll(14) + row / 70) % 30;
        let gap = if roll(12) == 0 { "NA".to_owned() } else { gap.to_string() };
        let (whole, part) = (price / 100, price % 100);
        let (high, low) = (roll(1 << 24), roll(1 << 31));
        let code = word * word * 7 % 1000;
        let _ = writeln!(
            text,
            "{low:08x},{walk},w{word}x,{whole}.{part:02},c{code},{gap},{}",
            high - 5_000_000
        );
        if row % 150 == 70 {
            // The writer cuts such a line in another place, so that it is verbatim.
            let _ = writeln!(text, "\"{low:08x},\"x,{walk},w{word}x,{whole}.{part:02},c{code},,1");
        }
    }
    text
}

/// Returns JSON Lines with values of each kind in objects of one shape, and a few others.
fn objects_of_all_kinds(rows: i64) -> String {
    let mut text = String::new();
    let mut dice = 7_u64;
    let mut roll = |sides: u64| {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i64::try_from((dice >> 33) % sides).unwrap()
    };
    let mut walk = 5000;
    for row in 0..rows {
        walk += roll(100) - 40;
        let word = (roll(14) + row / 70) % 30;
        let word_text = ["\\\"w", "wé", r"w\u00e9", "w"][usize::try_from(word % 4).unwrap()];
        let price = ["null", "1.50", "-0", "2e3", "17"][usize::try_from(roll(5)).unwrap()];
        let (note, flag) = (roll(1 << 31), [r#""NA""#, "true", "12"][usize::from(row % 9 == 1)]);
        let _ = writeln!(
            text,
            r#"{{"walk":{walk},"word": "{word_text}{word}x","price":{price},"note":"{note:08x}","in":{{"code":"c{}","at":[{},{word}]}},"flag":{flag}}}"#,
            word * word * 7 % 100,
            roll(3),
        );
        if row == 70 {
            let _ = writeln!(text, r#"{{"walk":{walk},"word":"w7x","else":[1,{{"b":2}}]}}"#);
        }
        if row == 400 {
            // The keys are those of all lines, in another order.
            let _ = writeln!(
                text,
                r#"{{"word":"w","walk":{walk},"price":1,"note":"","in":{{"at":[1,2],"code":"c"}},"flag":1}}"#
            );
        }
    }
    text
}

/// An archive, and its stream of row groups.
struct Sample {
    archive: Bytes,
    directory: Bytes,
    kinds: Vec<u8>,
    widths: Vec<usize>,
}

impl Sample {
    fn new(text: &str, rows_per_group: usize) -> Self {
        let archive = packed(text, Codec::Columnar, rows_per_group, None);
        let opened = Archive::open(Arc::new(archive.clone()), &ReadOptions::default()).unwrap();
        let reader = opened.reader();
        let extent = reader.extents().unwrap()[0];
        let set = reader.stream_set(extent, &reader.body(extent).unwrap()).unwrap();
        let streams = reader.context(&set).decompress(|name| name == GROUPS).unwrap();
        let frame = ColumnarFrame::read(reader, extent, None).unwrap().unwrap();
        let columns = &frame.layout.columns;
        Self {
            directory: streams.shared(GROUPS),
            kinds: columns.iter().map(|column| column.kind).collect(),
            widths: columns.iter().map(|column| column.width).collect(),
            archive,
        }
    }

    fn read(&self, directory: &Bytes) -> Result<Option<GroupDirectory>> {
        GroupDirectory::read(directory, &self.kinds, &self.widths)
    }

    /// Returns the archive with another stream of row groups.
    fn with(&self, directory: &[u8]) -> Bytes {
        let opened =
            Archive::open(Arc::new(self.archive.clone()), &ReadOptions::default()).unwrap();
        let reader = opened.reader();
        let extent = reader.extents().unwrap()[0];
        let start = usize::try_from(extent.offset).unwrap();
        let end = start + usize::try_from(extent.len).unwrap();
        let set = reader.stream_set(extent, &reader.body(extent).unwrap()).unwrap();
        let mut out = self.archive[..start].to_vec();
        put::uv(&mut out, set.streams.len() as u64);
        for stream in &set.streams {
            put::lp(&mut out, stream.name.as_bytes());
            let (backend, bytes) = match stream.name.as_str() {
                GROUPS => (Backend::Stored, directory),
                _ => (stream.backend, &stream.bytes[..]),
            };
            out.push(backend.id());
            put::lp(&mut out, bytes);
        }
        out.extend_from_slice(&self.archive[end..]);
        out.into()
    }
}

fn opened(archive: &Bytes) -> Archive {
    Archive::open(Arc::new(archive.clone()), &ReadOptions::default()).unwrap()
}

/// Returns the rows that a predicate selects, as text; `None` if the columns do not serve the
/// table.
fn rows(archive: &Bytes, shape: &TableShape, predicate: &str) -> Result<Option<Vec<String>>> {
    let cache = Arc::new(RangeCache::over(Arc::new(archive.clone())));
    let archive = Archive::open(cache.clone(), &ReadOptions::default())?;
    let Some(reader) = crate::table::open(archive.reader(), shape, None)? else { return Ok(None) };
    let predicate: Predicate = predicate.parse().unwrap();
    rows_of(&Table::new(reader, cache), predicate).map(Some)
}

fn rows_of(table: &Table, predicate: Predicate) -> Result<Vec<String>> {
    let batches = table.scan().threads(1).filter(predicate).batches()?;
    let schema = batches.schema();
    let mut found = Vec::new();
    for batch in batches {
        found.extend(row_texts(&plain(&schema, &batch?)));
    }
    Ok(found)
}

fn row_texts(batch: &RecordBatch) -> Vec<String> {
    (0..batch.num_rows()).map(|row| format!("{:?}", batch.slice(row, 1).columns())).collect()
}

/// Returns whether a directory differs from another one in a value that only the first piece of
/// a column has too: a reader of other pieces relies on the checksum (§5.7).
fn has_other_start(one: &GroupDirectory, other: &GroupDirectory) -> bool {
    let start = |pieces: &ColumnPieces| match pieces.cut().map(|cut| &cut.state) {
        Some(GroupStates::Sums { scale, .. } | GroupStates::Mixed { scale, .. }) => (*scale, None),
        Some(GroupStates::Planes { min, .. }) => (None, Some(*min)),
        _ => (None, None),
    };
    let mut columns = one.columns.iter().zip(&other.columns);
    columns.any(|(one, other)| start(one) != start(other))
}

#[test]
fn a_directory_comes_back_as_it_was_written() {
    comes_back(&Sample::new(&text_of_all_types(900), 96));
    let objects = Sample::new(&objects_of_all_kinds(900), 96);
    comes_back(&objects);
    let directory = objects.read(&objects.directory).unwrap().unwrap();
    assert!(directory.templates.is_some() && directory.groups.count() > 8);
}

fn comes_back(sample: &Sample) {
    let directory = sample.read(&sample.directory).unwrap().unwrap();
    assert_eq!(directory.content(), sample.directory);
    let mut later = sample.directory.to_vec();
    later[0] = 3;
    assert!(sample.read(&later.into()).unwrap().is_none());
    for len in 1..sample.directory.len() {
        assert!(sample.read(&sample.directory.slice(..len)).is_err());
    }
}

#[test]
fn a_directory_that_lies_is_found_out_or_changes_nothing() {
    let text = text_of_all_types(900);
    let sample = Sample::new(&text, 96);
    let good = sample.read(&sample.directory).unwrap().unwrap();
    let cut: BTreeSet<u8> = sample
        .kinds
        .iter()
        .zip(&good.columns)
        .filter(|(_, pieces)| !matches!(pieces, ColumnPieces::Whole))
        .map(|(kind, _)| *kind)
        .collect();
    let all_types = BTreeSet::from([TEXT, INT, DEC, NUMEXC, DERIVED, DICT, SHUF]);
    assert_eq!(cut, all_types, "{:?}", sample.kinds);
    assert!(good.verbatim.is_some() && good.sets.iter().flatten().any(Option::is_some));

    let predicates = ["true", "walk between 5500 and 5600", "word = 'w7x' and noise > 0"];
    lies_are_found_out(&sample, &text, CSV, &predicates);
}

#[test]
fn a_directory_that_lies_about_objects_is_found_out_or_changes_nothing() {
    let text = objects_of_all_kinds(600);
    let sample = Sample::new(&text, 96);
    let directory = sample.read(&sample.directory).unwrap().unwrap();
    assert!(directory.verbatim.is_some());
    assert!(directory.sets.iter().flatten().any(Option::is_some));
    let predicates = [
        "true",
        "walk between 5500 and 5600",
        "word like 'wé%' and price > 0",
        "\"in\".code = 'c7'",
        "note >= '7'",
    ];
    lies_are_found_out(&sample, &text, TextKind::JsonLines, &predicates);
}

/// Returns a table of days, whose months are not in numeric order, and a null.
fn text_of_days(days: u64, rows: u64) -> String {
    let mut text = String::from("month,day,noise\n");
    let mut dice = 3_u64;
    for row in 0..days * rows {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (day, noise) = (row / rows, dice >> 33);
        let month = match day / 20 % 6 {
            _ if row == 7 => "",
            0 => "1",
            1 => "10",
            2 => "11",
            3 => "12",
            4 => "2",
            _ => "3",
        };
        let _ = writeln!(text, "{month},{},{noise}", 1 + day % 20);
    }
    text
}

#[test]
fn a_directory_that_lies_about_integers_is_found_out_or_changes_nothing() {
    let text = text_of_days(120, 9);
    let sample = Sample::new(&text, 96);
    let predicates = ["true", "month = 12 and day < 9", "day in (3, 17)", "month is not null"];
    lies_are_found_out(&sample, &text, CSV, &predicates);
}

#[test]
fn row_groups_without_an_integer_are_not_read() {
    let text = text_of_days(120, 40);
    let archive = packed(&text, Codec::Columnar, 400, None);
    let (want, shape) = table_of(&text, CSV);
    let cache = Arc::new(RangeCache::over(Arc::new(archive.clone())));
    let opened = Archive::open(cache.clone(), &ReadOptions::default()).unwrap();
    let reader = opened.reader();
    let extent = reader.extents().unwrap()[0];
    let frame = ColumnarFrame::read(reader, extent, None).unwrap().unwrap();
    let sets = |field| frame.statistics.integers(0, field, &DataType::Int32);
    let kinds: Vec<u8> = frame.layout.columns.iter().map(|column| column.kind).collect();
    assert!(sets(1).is_some() && sets(2).is_none(), "{kinds:?}");
    let table = Table::new(crate::table::open(reader, &shape, None).unwrap().unwrap(), cache);
    for (predicate, groups) in [
        ("month = 2 and day = 4", 1),
        ("month = 2", 2),
        ("month in (2, 99)", 2),
        ("not (month <> 2)", 2),
        ("day % 20 = 0", 6),
        ("day = 4", 6),
        ("day between 3 and 12 and month = 3", 2),
        ("day = 21", 0),
        ("month is null", 1),
    ] {
        let predicate: Predicate = predicate.parse().unwrap();
        assert_eq!(
            rows_of(&table, predicate.clone()).unwrap(),
            rows_of(&want, predicate.clone()).unwrap(),
            "{predicate}"
        );
        let mut batches = table.scan().threads(1).filter(predicate.clone()).batches().unwrap();
        while batches.next_batch().unwrap().is_some() {}
        assert_eq!(batches.stats().row_groups_read, groups, "{predicate}");
    }
}

#[test]
fn a_key_that_a_template_renames_is_missed() {
    let text = objects_of_all_kinds(600);
    let sample = Sample::new(&text, 96);
    let (table, shape) = table_of(&text, TextKind::JsonLines);
    let columns = 0..shape.schema.fields().len();
    let known = columns.map(|column| table.column_statistics(column).unwrap()).collect();
    let shape = shape.with_statistics(known);
    assert!(rows(&sample.archive, &shape, "walk > 5").unwrap().is_some());
    // Only a verbatim line has the other key.
    let mut bad = sample.directory.to_vec();
    let at = memchr::memmem::find(&bad, b"\"walk\":").unwrap();
    bad[at..at + 6].copy_from_slice(b"\"else\"");
    let body = bad.len() - 4;
    let sum = crc32(&bad[..body]);
    bad[body..].copy_from_slice(&sum.to_le_bytes());
    let lying = sample.with(&bad);
    let err = rows(&lying, &shape, "walk > 5").unwrap_err();
    assert!(err.to_string().contains("lack a key"), "{err}");
    assert!(!opened(&lying).check_groups().unwrap().is_empty());
}

/// Changes every byte of a directory, and compares what queries and checks say.
fn lies_are_found_out(sample: &Sample, text: &str, kind: TextKind, predicates: &[&str]) {
    let good = sample.read(&sample.directory).unwrap().unwrap();
    let (want, shape) = table_of(text, kind);
    let wanted: Vec<Vec<String>> =
        predicates.iter().map(|test| rows_of(&want, test.parse().unwrap()).unwrap()).collect();
    assert!(wanted.iter().all(|rows| rows.len() > 5));
    let intact = sample.with(&sample.directory);
    assert!(opened(&intact).check_groups().unwrap().is_empty());
    for (test, want) in predicates.iter().zip(&wanted) {
        assert_eq!(rows(&intact, &shape, test).unwrap().as_ref(), Some(want), "{test}");
    }

    let body = sample.directory.len() - 4;
    let (mut refused, mut found_out, mut harmless) = (0, 0, 0);
    for at in 0..sample.directory.len() {
        for flip in [0x01, 0x80] {
            let mut bad = sample.directory.to_vec();
            bad[at] ^= flip;
            // With a wrong checksum, or as another version.
            let wrong_sum = sample.with(&bad);
            match rows(&wrong_sum, &shape, "true") {
                Ok(Some(rows)) => assert_eq!(rows, wanted[0], "byte {at}"),
                Ok(None) => {}
                Err(_) => {
                    let errors = opened(&wrong_sum).check_groups().unwrap();
                    assert!(!errors.is_empty(), "byte {at}");
                }
            }
            // With the right checksum.
            if at >= body {
                continue;
            }
            let sum = crc32(&bad[..body]);
            bad[body..].copy_from_slice(&sum.to_le_bytes());
            let lying = sample.with(&bad);
            let mut is_right = true;
            for (test, want) in predicates.iter().zip(&wanted) {
                let Ok(found) = rows(&lying, &shape, test) else {
                    is_right = false;
                    continue;
                };
                let Some(found) = found else { continue };
                is_right &= found == *want;
                let known: BTreeSet<&String> = want.iter().collect();
                let is_part = found.iter().all(|row| known.contains(row));
                if *test == "true" {
                    assert_eq!(found, *want, "byte {at}");
                } else if !is_part {
                    let stated = sample.read(&bad.clone().into()).unwrap().unwrap();
                    assert!(has_other_start(&stated, &good), "byte {at}: {test}");
                }
            }
            match opened(&lying).check_groups() {
                Err(_) => refused += 1,
                Ok(errors) if !errors.is_empty() => found_out += 1,
                Ok(_) => {
                    assert!(is_right, "byte {at} changes a query, and no check finds it");
                    harmless += 1;
                }
            }
            if at % 32 == 0 {
                let mut unpacked = Vec::new();
                opened(&lying).unpack(&mut unpacked).unwrap();
                assert!(unpacked == text.as_bytes());
            }
        }
    }
    assert!(refused + found_out > 5 * harmless, "{refused} {found_out} {harmless}");
}

#[test]
fn damage_in_a_piece_loses_its_row_groups_and_nothing_else() {
    let text = text_of_all_types(900);
    // One text ends with a newline, the other does not.
    damage_loses_row_groups(&[&text, text.trim_end()], CSV);
    damage_loses_row_groups(&[&objects_of_all_kinds(900)], TextKind::JsonLines);
}

fn damage_loses_row_groups(texts: &[&str], kind: TextKind) {
    for &text in texts {
        let sample = Sample::new(text, 96);
        let frames = opened(&sample.archive).frames().unwrap();
        let values = frames[0].streams.iter().find(|stream| stream.name == "values").unwrap();
        let start = usize::try_from(values.offset).unwrap();
        let end = start + usize::try_from(values.stored).unwrap();
        let (want, shape) = table_of(text, kind);
        let want = rows_of(&want, "true".parse().unwrap()).unwrap();
        let (mut saved, mut lost) = (0, 0);
        for at in (start + 20..end).step_by(251) {
            let mut bad = sample.archive.to_vec();
            bad[at] ^= 0x10;
            let bad: Bytes = bad.into();
            let archive = opened(&bad);
            let mut left = Vec::new();
            let Ok(damaged) = archive.salvage(&mut left) else {
                // A dictionary, a map or a column that is not cut.
                assert!(left.is_empty());
                lost += 1;
                continue;
            };
            saved += 1;
            let errors = archive.check_groups().unwrap();
            assert_eq!(errors.len(), 1, "byte {at}: {errors:?}");
            let message = errors[0].to_string();
            assert!(message.contains("column ") && message.contains("row group"), "{message}");
            assert!(message.contains(" `"), "{message}");
            let is_lost =
                |line: u64| damaged.iter().any(|it| it.lines.iter().any(|it| it.contains(&line)));
            let kept =
                (1_u64..).zip(text.split_inclusive('\n')).filter(|(line, _)| !is_lost(*line));
            let kept: String = kept.map(|(_, line)| line).collect();
            assert_eq!(String::from_utf8(left).unwrap(), kept, "byte {at}");

            let cache = Arc::new(RangeCache::over(Arc::new(bad.clone())));
            let archive = Archive::open(cache.clone(), &ReadOptions::default()).unwrap();
            let table = Table::new(
                crate::table::open(archive.reader(), &shape, None).unwrap().unwrap(),
                cache,
            );
            let mut batches = table.scan().skip_damaged(true).batches().unwrap();
            let schema = batches.schema();
            let mut found = Vec::new();
            for batch in batches.by_ref() {
                found.extend(row_texts(&plain(&schema, &batch.unwrap())));
            }
            let groups = batches.stats().damaged;
            assert!(!groups.is_empty() && groups.iter().all(|it| it.error.contains("row group")));
            let is_left = |row: &(u64, &String)| !groups.iter().any(|it| it.rows.contains(&row.0));
            let want: Vec<&String> = (0..).zip(&want).filter(is_left).map(|(_, row)| row).collect();
            assert!(found.iter().eq(want), "byte {at}");
        }
        assert!(saved > 4 * lost && lost > 0, "{saved} {lost}");
    }
}
