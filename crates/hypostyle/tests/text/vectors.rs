//! Converts every CSV file of the shared vectors to every format and back.
//!
//! The files are beside the repository in `shared/vectors/csv`, or in the folder that the
//! variable `HYPOSTYLE_VECTORS` names. Without them the test prints a note and passes.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use hypostyle::formats::{self, FormatId};
use hypostyle::text::{Ragged, TextOptions};
use hypostyle::{Error, ErrorKind};

use crate::support::{reference, there_and_back};

/// Files that a format must refuse, and a part of its message.
const REFUSED: &[(&str, FormatId, &str)] = &[
    ("27_blank_header_name.csv", FormatId::Clmn, "CLMN has no columns without a name"),
    ("47_long_column_name.csv", FormatId::Clmn, "a name of 70000 bytes is over CLMN's limit"),
];

/// Files with rows of different widths, which the test pads.
const RAGGED: &[&str] = &["28_ragged_short_row.csv"];

fn folder() -> Option<PathBuf> {
    let root = match std::env::var_os("HYPOSTYLE_VECTORS") {
        Some(root) => PathBuf::from(root),
        None => PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
    };
    let csv = root.join("csv");
    csv.is_dir().then_some(csv)
}

#[test]
fn every_csv_goes_to_every_format_and_back() {
    let Some(folder) = folder() else {
        eprintln!("no vectors: set HYPOSTYLE_VECTORS to the folder that has `csv`; nothing tested");
        return;
    };
    let mut unused: BTreeSet<_> = REFUSED.iter().map(|(name, id, _)| (*name, *id)).collect();
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "csv"));
    paths.sort();
    assert!(!paths.is_empty());
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read(&path).unwrap();
        let mut csv = TextOptions::default();
        let mut want = reference(&text, b',');
        if RAGGED.contains(&name) {
            check_ragged_rows_are_refused(name, &text);
            csv.ragged = Ragged::Pad;
            let width = want[0].len();
            want.iter_mut().for_each(|row| row.resize(width, String::new()));
        }
        for format in formats::tables() {
            let refused = REFUSED.iter().find(|(file, id, _)| *file == name && *id == format.id());
            match (there_and_back(format, &text, &csv), refused) {
                (Ok(back), None) => {
                    assert_eq!(reference(&back, b','), want, "{name} as {}", format.id());
                }
                (Err(err), Some((file, id, why))) => {
                    assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{name}: {err}");
                    assert!(err.to_string().contains(why), "{name}: {err}");
                    unused.remove(&(file, *id));
                }
                (Ok(_), Some(_)) => panic!("{name} is not refused by {}", format.id()),
                (Err(err), None) => panic!("{name} as {}: {err}", format.id()),
            }
        }
    }
    for (name, id) in unused {
        eprintln!("{name} is listed as refused by {id}, but is not among the vectors");
    }
}

fn check_ragged_rows_are_refused(name: &str, text: &[u8]) {
    let colf = formats::by_name("colf").unwrap();
    let err: Error = there_and_back(colf, text, &TextOptions::default()).unwrap_err();
    assert!(err.row().is_some(), "{name}: {err}");
}
