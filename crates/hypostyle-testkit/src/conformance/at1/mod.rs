//! The cases of AT-1: containers, codecs, deviations by number, and invalid archives.

use super::{Case, Expected, ExpectedArchive};
use crate::build::at1::File;
use crate::laws::Original;

mod codecs;
mod columnar;
mod containers;
mod deviations;
mod groups;
mod invalid;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Cases { all: Vec::new() };
    containers::add(&mut cases);
    columnar::add(&mut cases);
    groups::add(&mut cases);
    codecs::add(&mut cases);
    deviations::add(&mut cases);
    invalid::add(&mut cases);
    cases.all
}

/// Collects the cases.
struct Cases {
    all: Vec<Case>,
}

impl Cases {
    /// Adds an archive without deviations.
    fn good(&mut self, name: &'static str, file: &File, original: impl AsRef<[u8]>) {
        self.odd(name, file, original, &[]);
    }

    /// Adds a readable archive with these deviations.
    fn odd(
        &mut self,
        name: &'static str,
        file: &File,
        original: impl AsRef<[u8]>,
        deviations: &[&'static str],
    ) {
        let original = Original::File(original.as_ref().to_vec());
        self.push(name, file, original, deviations, &[]);
    }

    /// Adds an archive with deviations that only the table reports.
    fn odd_table(
        &mut self,
        name: &'static str,
        file: &File,
        original: impl AsRef<[u8]>,
        deviations: &[&'static str],
    ) {
        let original = Original::File(original.as_ref().to_vec());
        self.push(name, file, original, &[], deviations);
    }

    /// Adds a bundle of text files.
    fn bundle(&mut self, name: &'static str, file: &File, files: &[(&str, &str)]) {
        let files = files.iter().map(|&(name, text)| (name.to_owned(), text.into()));
        self.push(name, file, Original::Folder(files.collect()), &[], &[]);
    }

    fn push(
        &mut self,
        name: &'static str,
        file: &File,
        original: Original,
        deviations: &[&'static str],
        table_deviations: &[&'static str],
    ) {
        let expected = ExpectedArchive {
            codec: codec_name(file.codec),
            streaming: file.version == 3,
            hash: file.hash.is_some(),
            original,
            deviations: deviations.to_vec(),
            table_deviations: table_deviations.to_vec(),
        };
        let (format, bytes) = ("at1", file.build());
        self.all.push(Case { format, name, bytes, expected: Expected::Archive(expected) });
    }

    /// Adds an archive that must be refused.
    fn bad(&mut self, name: &'static str, file: &File) {
        self.bad_bytes(name, file.build());
    }

    fn bad_bytes(&mut self, name: &'static str, bytes: Vec<u8>) {
        self.all.push(Case { format: "at1", name, bytes, expected: Expected::Refusal });
    }
}

/// Returns the name of a codec in section 2.6 of the spec.
fn codec_name(codec: u8) -> &'static str {
    match codec {
        0 => "ssh",
        1 => "json",
        2 => "osm",
        3 => "log",
        4 => "columnar",
        5 => "vcf",
        6 => "jsondoc",
        7 => "qcolumnar",
        8 => "qjson",
        9 => "dicom",
        10 => "embed",
        11 => "qjson2",
        12 => "bundle",
        255 => "raw",
        other => unreachable!("codec {other}"),
    }
}
