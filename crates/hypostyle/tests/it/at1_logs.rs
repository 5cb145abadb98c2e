//! Logs round-trip with any content, are small, and can be queried.

use std::fmt::Write as _;

use hypostyle::formats::at1::{self, Codec, Outcome, PackOptions};
use proptest::prelude::*;

use crate::archives::{self, objects};

/// Returns a log with a few messages, each with variables.
fn log(lines: usize) -> String {
    let users = ["root", "admin", "webmaster", "oracle", "guest", "pi", "test", "nagios", "git"];
    let mut out = String::new();
    let mut time = 36_000_000_usize;
    let mut dice = 12_345_usize;
    for line in 0..lines {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let roll = dice >> 33;
        time += roll % 900;
        let (s, ms) = (time / 1000, time % 1000);
        let _ = write!(
            out,
            "2024-05-06 {:02}:{:02}:{:02},{ms:03} ",
            s / 3600 % 24,
            s / 60 % 60,
            s % 60
        );
        let (user, port) = (users[roll % 9], 30_000 + roll % 7919);
        let _ = match roll % 5 {
            0 => writeln!(out, "INFO  [worker-{}] Accepted user {user} from port {port}", roll % 4),
            1 => writeln!(out, "INFO  [worker-{}] Closed session {line} of {user}", roll % 4),
            2 => {
                writeln!(out, "DEBUG [main] queue holds {} jobs, oldest {} s", roll % 31, roll % 97)
            }
            3 => {
                writeln!(out, "WARN  [io] block blk_-{} took {} ms to write", roll * 31, roll % 211)
            }
            _ => {
                writeln!(out, "ERROR [main] request 0x{:08x} failed: code={}", roll * 77, roll % 3)
            }
        };
    }
    out
}

fn auth_log(lines: usize) -> String {
    let row = |i: usize| {
        let (minute, pid) = (i / 60 % 60, 24_200 + i / 3);
        let head = format!("Dec {:>2} 06:{minute:02}:{:02} LabSZ ", i / 4000 + 9, i % 60);
        let dice = i * 7919 % 251;
        match i % 7 {
            0 => format!("{head}sshd[{pid}]: Invalid user u{dice} from 10.0.{dice}.9\n"),
            1 | 2 => format!(
                "{head}sshd[{pid}]: Failed password for root from 10.1.2.{dice} port {}\n",
                4000 + dice * 7
            ),
            3 => format!("{head}sshd[{pid}]: Connection closed by 10.0.0.{dice} [preauth]\n"),
            4 => format!("{head}sshd[{pid}]: pam_unix(sshd:auth): check pass; user <*> unknown\n"),
            5 => format!("{head}CRON[{pid}]: session opened for user root\n"),
            _ => {
                format!("{head}sshd[{pid}]: reverse mapping checking failed - POSSIBLE BREAK-IN!\n")
            }
        }
    };
    (0..lines).map(row).collect()
}

fn packed(text: &[u8], options: &PackOptions) -> (Vec<u8>, at1::Packed) {
    archives::comes_back(text, options, 5)
}

fn only(codec: Codec) -> PackOptions {
    archives::only(codec).with_level(4)
}

#[test]
fn every_way_makes_a_log_smaller_and_auto_takes_the_best() {
    let text = log(3000);
    let raw = packed(text.as_bytes(), &only(Codec::Raw)).1.stored;
    let auto = packed(text.as_bytes(), &PackOptions::default().with_level(4)).1;
    for codec in [Codec::Log, Codec::JsonDoc] {
        let (_, made) = packed(text.as_bytes(), &only(codec));
        assert_eq!(made.codec, codec);
        assert!(made.stored * 10 < raw * 9, "{codec} {} {raw}", made.stored);
        assert!(auto.stored <= made.stored, "{codec}");
    }
    assert!(auto.stored * 10 < raw * 8, "{} {raw}", auto.stored);
    // Every candidate is reported, and none is smaller than the winner. A codec may have
    // several encoders, some of which do not apply to logs.
    let size = |codec| {
        let mut outcomes = auto.trials.iter().filter(|it| it.codec == codec).map(|it| it.outcome);
        let first = outcomes.next();
        outcomes.find(|it| *it != Outcome::Unlike).or(first)
    };
    let Some(Outcome::Made(smallest)) = size(auto.codec) else { panic!("{:?}", auto.trials) };
    for trial in &auto.trials {
        assert!(!matches!(trial.outcome, Outcome::Made(bytes) if bytes < smallest), "{trial:?}");
    }
    assert_eq!(size(Codec::Ssh), Some(Outcome::Unlike));
    assert_eq!(size(Codec::Raw), Some(Outcome::GivenUp));
}

#[test]
fn lines_of_sshd_are_taken_apart() {
    let text = auth_log(3000);
    let (_, made) = packed(text.as_bytes(), &only(Codec::Ssh));
    let raw = packed(text.as_bytes(), &only(Codec::Raw)).1.stored;
    assert_eq!(made.codec, Codec::Ssh);
    assert!(made.stored * 10 < raw * 8, "{} {raw}", made.stored);
}

#[test]
fn a_log_is_a_table_of_templates_times_and_values() {
    let text = log(400);
    let options = |codec| only(codec).with_name(Some("t.log"));
    for codec in [Codec::Log, Codec::JsonDoc] {
        let rows = objects(Some("t.log"), &packed(text.as_bytes(), &options(codec)).0);
        assert_eq!(rows.len(), 400);
        for (row, line) in rows.iter().zip(text.lines()) {
            assert_eq!(row["line"], line);
            assert_eq!(row["time"], line[..23].replace(',', "."));
            // The message after the timestamp and the level determines the template.
            let other = rows
                .iter()
                .zip(text.lines())
                .find(|(other, _)| other["template"] == row["template"]);
            let word = |line: &str| {
                line.split(' ')
                    .find(|word| word.len() > 4 && word.chars().all(char::is_alphabetic))
                    .map(String::from)
            };
            assert_eq!(other.map(|(_, other)| word(other)), Some(word(line)));
        }
    }
    let text = auth_log(400);
    let rows = objects(Some("t.log"), &packed(text.as_bytes(), &options(Codec::Ssh)).0);
    assert_eq!(rows.len(), 400);
    assert_eq!(rows[0]["time"], "12-09 06:00:00");
    assert_eq!(rows[0]["line"], text.lines().next().unwrap());
    assert_eq!(
        rows[0]["template"],
        "Dec  <*> <*>:<*>:<*> LabSZ sshd[<*>]: Invalid user <*> from <*>"
    );
    assert_eq!(rows[0]["variables"][5], "u0");
}

const ODD: &[&[u8]] = &[
    b" ",
    b"  ",
    b"-",
    b":",
    b"<*>",
    b"\r",
    b"\t",
    b"sshd[7]: ",
    b"sshd[07]: ",
    b"0x",
    b"Dec  9 06:00:01 host ",
    b"2024-01-02 03:04:05,678 ",
    b"\0",
    b"\xff\xfe",
];

/// Parts of generated lines: parts of templates, and parts that break templates.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => "[a-z]{1,6}".prop_map(String::into_bytes),
        3 => any::<i64>().prop_map(|n| n.to_string().into_bytes()),
        2 => "[0-9a-f]{1,12}".prop_map(String::into_bytes),
        2 => prop::sample::select(ODD).prop_map(<[u8]>::to_vec),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ]
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let line = prop::collection::vec(piece(), 0..8).prop_map(|pieces| pieces.join(&b' '));
    let kinds = prop::collection::vec(line, 1..6);
    (kinds, prop::collection::vec((0_usize..6, any::<u16>()), 0..60), any::<bool>()).prop_map(
        |(kinds, lines, trailing)| {
            let line = |&(kind, value): &(usize, u16)| {
                let mut line = kinds[kind % kinds.len()].clone();
                line.extend_from_slice(format!(" {value}").as_bytes());
                line
            };
            let mut text = lines.iter().map(line).collect::<Vec<_>>().join(&b'\n');
            if trailing {
                text.push(b'\n');
            }
            text
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_log_comes_back(
        text in text(),
        codec in prop::sample::select(&[Codec::Log, Codec::Ssh, Codec::JsonDoc][..]),
        level in 1_u8..=6,
    ) {
        packed(&text, &only(codec).with_level(level));
    }
}
