//! Flips every bit of small archives of every codec: a scan is right, or it fails.

use std::fmt::Write;
use std::num::NonZeroUsize;

use hypostyle::formats::at1::{Choice, Codec, PackOptions};
use hypostyle_testkit::gen_osm::{Attributes, osm};
use hypostyle_testkit::gen_vcf::{Calls, vcf};
use hypostyle_testkit::sweeps::no_flip_changes_a_row;

use crate::archives::{only, packed};

/// Lines of the texts.
const LINES: usize = 20;

/// A text that a codec suits, its name, and predicates on its columns.
#[derive(Clone)]
struct Sample {
    name: &'static str,
    text: String,
    filters: &'static [&'static str],
}

const ROW_FILTERS: [&str; 2] = ["id = 7", "city = 'Oslo' or id > 17"];

fn city(row: usize) -> &'static str {
    ["Oslo", "Rome", "Nice"][row * 7 % 5 % 3]
}

fn delimited() -> Sample {
    let mut text = "id,day,city,amount\n".to_owned();
    for row in 0..LINES {
        let (day, cents) = (row % 28 + 1, row * 7919 % 10_000);
        writeln!(text, "{row},2024-01-{day:02},{},{}.{:02}", city(row), cents / 100, cents % 100)
            .unwrap();
    }
    Sample { name: "t.csv", text, filters: &ROW_FILTERS }
}

/// Cells in quotes, empty ones, and a line that is stored as it is.
fn quoted() -> Sample {
    let mut text = "id,city,x\n".to_owned();
    for row in 0..LINES {
        match row % 9 {
            4 => writeln!(text, "{row},\"c \"\"q\"\"\",").unwrap(),
            8 => writeln!(text, "{row}, Oslo ,\"1\"").unwrap(),
            _ => writeln!(text, "{row},\"{}, b{}\",{}", city(row), row % 7, row % 5).unwrap(),
        }
    }
    Sample { name: "t.csv", text, filters: &["id = 7", "city like '%Oslo%'"] }
}

fn objects(shapes: usize) -> Sample {
    let mut text = String::new();
    for row in 0..LINES {
        let value = row * 7919 % 10_000;
        match row % shapes {
            0 => writeln!(text, r#"{{"id":{row},"city":"{}","v":{value}}}"#, city(row)).unwrap(),
            _ => writeln!(text, r#"{{"id":{row},"tags":["a",{value}],"v":null}}"#).unwrap(),
        }
    }
    Sample { name: "t.jsonl", text, filters: &ROW_FILTERS }
}

fn log() -> Sample {
    let mut text = String::new();
    for row in 0..LINES {
        let took = row * 7919 % 1000;
        writeln!(text, "2024-01-02 03:04:{:02} INFO worker-{} took {took} ms", row % 60, row % 9)
            .unwrap();
    }
    Sample { name: "t.log", text, filters: &["line like '%worker-7%'"] }
}

fn ssh() -> Sample {
    let mut text = String::new();
    for row in 0..LINES {
        let port = 1024 + row * 7919 % 60_000;
        writeln!(
            text,
            "Dec 10 06:55:{:02} LabSZ sshd[{}]: Failed password for root from 10.0.0.{} port {port} ssh2",
            row % 60,
            24_200 + row,
            row % 5
        )
        .unwrap();
    }
    Sample { name: "auth.log", text, filters: &["line like '%10.0.0.3%'"] }
}

/// Returns texts for a codec; no texts if the codec does not store tables.
fn samples(codec: Codec) -> Vec<Sample> {
    match codec {
        Codec::Columnar | Codec::QColumnar | Codec::Raw => vec![delimited(), quoted()],
        Codec::Json | Codec::JsonDoc | Codec::QJson => vec![objects(1)],
        Codec::QJson2 => vec![objects(2)],
        Codec::Log => vec![log()],
        Codec::Ssh => vec![ssh()],
        Codec::Vcf => {
            let text = String::from_utf8(vcf(Calls::Phased, 12, 2, 7)).unwrap();
            vec![Sample { name: "t.vcf", text, filters: &["POS > 16060000"] }]
        }
        Codec::Osm => {
            let text = String::from_utf8(osm(Attributes::Plain, 3, 3)).unwrap();
            vec![Sample { name: "t.osm", text, filters: &[] }]
        }
        _ => Vec::new(),
    }
}

/// An archive, the name of its text, and predicates on its columns.
struct Case {
    what: String,
    archive: Vec<u8>,
    name: &'static str,
    filters: &'static [&'static str],
}

impl Case {
    fn new(sample: &Sample, options: &PackOptions, frames: Option<u64>) -> Self {
        let Sample { name, text, filters } = sample;
        let archive = packed(text, &options.clone().with_name(Some(name)), frames);
        let what = format!("{name}, {:?}, level {}, {frames:?}", options.codec, options.level);
        Self { what, archive, name, filters }
    }
}

/// Returns archives of every codec whose content is a table, of the fastest and of the default
/// level.
fn codecs() -> impl Iterator<Item = Case> {
    Codec::ALL.into_iter().flat_map(|codec| {
        let case = move |(sample, level)| Case::new(&sample, &only(codec).with_level(level), None);
        samples(codec).into_iter().flat_map(|sample| [(sample.clone(), 1), (sample, 6)]).map(case)
    })
}

/// Returns archives with row groups, line groups and frames.
fn layouts() -> impl Iterator<Item = Case> {
    [delimited(), objects(1), objects(2), log()].into_iter().flat_map(|sample| {
        let options = PackOptions::default();
        let grouped = options.clone().with_rows_per_group(NonZeroUsize::new(8));
        let query = grouped.clone().with_codec(Choice::Query);
        [
            (grouped.clone(), None),
            (query.clone(), None),
            (query.clone().with_level(1), None),
            (options.clone().with_index(false).with_codec(Choice::Query), None),
            (options.with_level(1), Some(8)),
            (query, Some(8)),
        ]
        .map(|(options, frames)| Case::new(&sample, &options, frames))
    })
}

#[test]
fn no_flip_in_an_archive_of_any_codec_changes_a_row() {
    for Case { what, archive, name, filters } in codecs() {
        let (flips, found) = no_flip_changes_a_row(Some(name), &archive, filters, 0..1);
        assert!(found * 2 > flips, "{what}: {found} of {flips} found");
    }
}

#[test]
fn no_flip_in_an_archive_with_groups_or_frames_changes_a_row() {
    for Case { what, archive, name, filters } in layouts() {
        let (flips, found) = no_flip_changes_a_row(Some(name), &archive, filters, 0..1);
        assert!(found * 2 > flips, "{what}: {found} of {flips} found");
    }
}

/// The same with every bit, on the smallest archives of the codec that stores most of them.
#[test]
fn no_flip_of_any_bit_in_a_small_table_changes_a_row() {
    let text = "id,city\n1,Oslo\n7,Rome\n3,Nice\n".to_owned();
    let sample = Sample { name: "t.csv", text, filters: &ROW_FILTERS };
    for level in [1, 6] {
        let case = Case::new(&sample, &only(Codec::Columnar).with_level(level), None);
        no_flip_changes_a_row(Some(case.name), &case.archive, case.filters, 0..8);
    }
}

#[test]
#[ignore = "takes minutes without optimization"]
fn no_flip_of_any_bit_changes_a_row() {
    for Case { what, archive, name, filters } in codecs().chain(layouts()) {
        let (flips, found) = no_flip_changes_a_row(Some(name), &archive, filters, 0..8);
        assert!(found * 2 > flips, "{what}: {found} of {flips} found");
    }
}
