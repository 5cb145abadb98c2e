//! Ten columns of strings.
//!
//! Real strings come from the corpus (logs) and from the sources of the crates that this project
//! depends on, which are the same everywhere: their lines, comments, paths and URLs. The other
//! columns are generated with fixed seeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hypostyle_testkit::rng::Rng;
use tpchgen::generators::{LineItemGenerator, PartSuppGenerator};

use crate::Result;
use crate::corpus::{self, Corpus};
use crate::table::ReportTable;

/// The size of a column in bytes.
pub(crate) const COLUMN_BYTES: usize = 64 << 20;

/// A column of concatenated strings.
#[derive(Debug, Default)]
pub(crate) struct StringColumn {
    pub(crate) name: &'static str,
    pub(crate) bytes: Vec<u8>,
    pub(crate) offsets: Vec<u32>,
    max_bytes: usize,
    /// A substring of few rows.
    pub(crate) needle: &'static str,
}

impl StringColumn {
    fn new(name: &'static str, needle: &'static str, max_bytes: usize) -> Self {
        Self { name, bytes: Vec::new(), offsets: vec![0], max_bytes, needle }
    }

    /// Adds a string; returns whether the column is below its size.
    fn push(&mut self, string: &[u8]) -> bool {
        self.bytes.extend_from_slice(string);
        // A column is far below 4 GiB.
        self.offsets.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
        self.bytes.len() < self.max_bytes
    }

    /// Adds strings until the column has its size.
    fn fill(mut self, mut next: impl FnMut() -> Vec<u8>) -> Self {
        while self.push(&next()) {}
        self
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn get(&self, row: usize) -> &[u8] {
        &self.bytes[self.offsets[row] as usize..self.offsets[row + 1] as usize]
    }

    pub(crate) fn rows(&self) -> Vec<&[u8]> {
        (0..self.len()).map(|row| self.get(row)).collect()
    }
}

/// Generates all columns, with `max_bytes` bytes each.
pub(crate) fn all(corpus: &Corpus, max_bytes: usize) -> Result<Vec<StringColumn>> {
    let sources = Sources::read()?;
    let mut rng = Rng::new(42);
    let words = &sources.words;
    let drawn = |from: &[Vec<u8>], rng: &mut Rng| {
        let place = rng.below(from.len());
        mutated(&from[place], rng)
    };
    let mut columns = vec![
        StringColumn::new("urls", "session=77", max_bytes).fill(|| url(&sources, &mut rng)),
        StringColumn::new("user_agents", "Edg/99.", max_bytes).fill(|| agent(&mut rng)),
    ];
    let lines = log_lines(corpus)?;
    if !lines.is_empty() {
        let logs = StringColumn::new("logs", "ERROR", max_bytes);
        columns.push(logs.fill(|| drawn(&lines, &mut rng)));
    }
    columns.push(
        StringColumn::new("paths", "/tests/ui/", max_bytes)
            .fill(|| drawn(&sources.paths, &mut rng)),
    );
    columns
        .push(StringColumn::new("queries", "serialize", max_bytes).fill(|| query(words, &mut rng)));
    columns.push(StringColumn::new("uuids", "dead", max_bytes).fill(|| uuid(&mut rng)));
    let mut comments = StringColumn::new("l_comment", "pinto", max_bytes);
    for item in LineItemGenerator::new(1.0, 1, 1).iter() {
        if !comments.push(item.l_comment.as_bytes()) {
            break;
        }
    }
    columns.push(comments);
    let mut comments = StringColumn::new("ps_comment", "pinto bean", max_bytes);
    for item in PartSuppGenerator::new(1.0, 1, 1).iter() {
        if !comments.push(item.ps_comment.as_bytes()) {
            break;
        }
    }
    columns.push(comments);
    let mut lines = sources.code.iter().cycle();
    columns.push(
        StringColumn::new("code_lines", "unsafe {", max_bytes)
            .fill(|| lines.next().cloned().unwrap_or_default()),
    );
    let mut lines = sources.docs.iter().cycle();
    columns.push(
        StringColumn::new("doc_lines", "implementation", max_bytes)
            .fill(|| lines.next().cloned().unwrap_or_default()),
    );
    Ok(columns)
}

/// Generates a column of user agents with `max_bytes` bytes, which needs no other data.
pub(crate) fn agents(max_bytes: usize) -> StringColumn {
    let mut rng = Rng::new(42);
    StringColumn::new("user_agents", "Edg/99.", max_bytes).fill(|| agent(&mut rng))
}

/// StringColumn from the sources of crates.
#[derive(Debug, Default)]
struct Sources {
    code: Vec<Vec<u8>>,
    docs: Vec<Vec<u8>>,
    paths: Vec<Vec<u8>>,
    urls: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
}

impl Sources {
    /// Reads the sources that cargo has unpacked.
    fn read() -> Result<Self> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
        let root = home.ok_or("the home folder of cargo is unknown")?.join("registry").join("src");
        let mut files = Vec::new();
        let registries = fs::read_dir(&root).map_err(|err| format!("{}: {err}", root.display()))?;
        for registry in registries {
            let registry = registry?.path();
            for package in packages() {
                // Cargo does not unpack packages of other platforms.
                let folder = registry.join(package);
                if folder.is_dir() {
                    walk(&registry, &folder, &mut files)?;
                }
            }
        }
        files.sort();
        let mut sources = Self::default();
        let (mut urls, mut words) = (BTreeSet::new(), BTreeSet::new());
        for (name, path) in files {
            sources.paths.push(name.into_bytes());
            let Ok(text) = fs::read(&path) else { continue };
            // Skip large data tables, which would outweigh handwritten text.
            if text.len() > 300_000 {
                continue;
            }
            urls.extend(urls_in(&text).map(<[u8]>::to_vec));
            if path.extension().is_none_or(|it| it != "rs") {
                continue;
            }
            for line in text.split(|&byte| byte == b'\n') {
                let bare = line.trim_ascii();
                match bare.strip_prefix(b"///").or_else(|| bare.strip_prefix(b"//!")) {
                    Some(comment) => {
                        let plain = |word: &&[u8]| {
                            (3..13).contains(&word.len()) && word.iter().all(u8::is_ascii_lowercase)
                        };
                        let all = comment.split(|&byte| byte == b' ').filter(plain);
                        words.extend(all.map(<[u8]>::to_vec));
                        sources.docs.push(comment.trim_ascii().to_vec());
                    }
                    None if !bare.is_empty() => sources.code.push(line.trim_ascii_end().to_vec()),
                    None => {}
                }
            }
        }
        (sources.urls, sources.words) = (urls.into_iter().collect(), words.into_iter().collect());
        Ok(sources)
    }
}

/// Returns the folder names of the packages that this project depends on.
fn packages() -> impl Iterator<Item = String> {
    let value = |line: &'static str, name: &str| {
        line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"')
    };
    LOCK.split("[[package]]").filter_map(move |package| {
        let find = |name| package.lines().find_map(|line| value(line, name));
        Some(format!("{}-{}", find("name")?, find("version")?))
    })
}

const LOCK: &str = include_str!("../../../../Cargo.lock");

/// Lists the columns with rows, size and SHA-256.
pub(super) fn table(columns: &[StringColumn]) -> ReportTable {
    let mut table = ReportTable::new(["Column", "Rows", "Bytes", "SHA-256"]);
    for column in columns {
        table.row([
            column.name.to_owned(),
            column.len().to_string(),
            column.bytes.len().to_string(),
            corpus::hash(&column.bytes),
        ]);
    }
    table
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(root, &entry.path(), files)?;
        } else {
            let name = entry.path().strip_prefix(root)?.to_string_lossy().into_owned();
            files.push((format!("/registry/src/{name}"), entry.path()));
        }
    }
    Ok(())
}

fn urls_in(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"./_-?=&%#:~+,".contains(byte);
    text.split(move |byte| !is_part(byte)).filter(|word| {
        (word.starts_with(b"https://") || word.starts_with(b"http://")) && word.len() > 12
    })
}

/// Returns the lines of the log files of the corpus.
fn log_lines(corpus: &Corpus) -> Result<Vec<Vec<u8>>> {
    let mut lines = Vec::new();
    for sample in corpus.samples.iter().filter(|sample| sample.name.ends_with(".log")) {
        let text = fs::read(&sample.path)?;
        let all = text.split(|&byte| byte == b'\n').map(|line| line.trim_ascii_end().to_vec());
        lines.extend(all.filter(|line| !line.is_empty()));
    }
    Ok(lines)
}

/// Replaces runs of two or more digits with random digits.
fn mutated(string: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut out = string.to_vec();
    for run in out.chunk_by_mut(|one, other| one.is_ascii_digit() && other.is_ascii_digit()) {
        if run.len() > 1 && run[0].is_ascii_digit() {
            run.fill_with(|| *rng.choose(b"0123456789"));
        }
    }
    out
}

/// Returns an index below `count`; small indices are more common, roughly by a power law.
fn ranked(count: usize, exponent: f64, rng: &mut Rng) -> usize {
    let place = (count as f64).powf(rng.fraction().powf(exponent)) - 1.0;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the count")]
    let place = place as usize;
    place.min(count - 1)
}

fn url(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mut url = sources.urls[ranked(sources.urls.len(), 0.8, rng)].clone();
    if rng.chance(0.4) {
        for _ in 0..1 + rng.below(4) {
            url.extend_from_slice(if url.ends_with(b"/") { b"" } else { b"-" });
            let word = ranked(sources.words.len(), 0.8, rng);
            url.extend_from_slice(&sources.words[word]);
        }
    }
    if rng.chance(0.3) {
        let key = *rng.choose(&["id", "session", "utm_source", "page", "q"]);
        let digits = 1 + rng.below(8);
        let value = rng.below(10_usize.pow(u32::try_from(digits).unwrap_or(1)));
        url.extend_from_slice(format!("?{key}={value}").as_bytes());
    }
    url
}

fn query(words: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let count = 1 + rng.below(6);
    let words: Vec<&[u8]> = (0..count).map(|_| &words[ranked(words.len(), 0.9, rng)][..]).collect();
    words.join(&b' ')
}

fn uuid(rng: &mut Rng) -> Vec<u8> {
    let (a, b) = (rng.next_u64(), rng.next_u64());
    let text = format!(
        "{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}",
        a >> 32,
        a >> 16 & 0xFFFF,
        a & 0xFFF,
        8 | b >> 62,
        b >> 48 & 0xFFF,
        b & 0xFFFF_FFFF_FFFF
    );
    text.into_bytes()
}

/// Generates a user agent string with random versions.
fn agent(rng: &mut Rng) -> Vec<u8> {
    const SYSTEMS: [&str; 14] = [
        "Windows NT 10.0; Win64; x64",
        "Windows NT 6.1; Win64; x64",
        "Windows NT 10.0; WOW64",
        "Macintosh; Intel Mac OS X 10_15_7",
        "Macintosh; Intel Mac OS X 10_14_6",
        "X11; Linux x86_64",
        "X11; Ubuntu; Linux x86_64",
        "X11; CrOS x86_64 14541.0.0",
        "Linux; Android 13; SM-G991B",
        "Linux; Android 12; Pixel 6",
        "Linux; Android 10; K",
        "Linux; Android 11; Redmi Note 8 Pro",
        "iPhone; CPU iPhone OS 16_5 like Mac OS X",
        "iPad; CPU OS 15_6 like Mac OS X",
    ];
    let system = SYSTEMS[ranked(SYSTEMS.len(), 0.7, rng)];
    let (major, minor, build) = (60 + rng.below(70), rng.below(9999), rng.below(250));
    let text = match rng.below(7) {
        _ if system.starts_with('i') => format!(
            "Mozilla/5.0 ({system}) AppleWebKit/605.1.{} (KHTML, like Gecko) Version/{}.{} \
             Mobile/15E{} Safari/604.1",
            rng.below(20),
            13 + rng.below(4),
            rng.below(7),
            rng.below(400)
        ),
        0 => format!("Mozilla/5.0 ({system}; rv:{major}.0) Gecko/20100101 Firefox/{major}.0"),
        1 => format!(
            "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/{major}.0.{minor}.{build} Safari/537.36 Edg/{major}.0.{}.{}",
            rng.below(2000),
            rng.below(99)
        ),
        2 => format!(
            "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/{major}.0.{minor}.{build} Safari/537.36 OPR/{}.0.{}.{}",
            major - 14,
            rng.below(5000),
            rng.below(99)
        ),
        3 => "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)".to_owned(),
        _ => format!(
            "Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) \
             Chrome/{major}.0.{minor}.{build} Safari/537.36"
        ),
    };
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_lock_file() {
        let all: Vec<String> = packages().collect();
        assert!(all.iter().any(|name| name == "onpair-0.3.0"), "{all:?}");
        assert_eq!(all.len(), LOCK.matches("[[package]]").count());
    }
}
