//! What is done, each time in a process of its own.

use std::cell::RefCell;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fmt, fs};

use hypostyle::formats::Capabilities;
use hypostyle::formats::at1::{Archive, Query, TableOptions};
use hypostyle::predicate::Predicate;
use hypostyle::spill::SpillBuffer;
use hypostyle::text::ImportOptions;
use hypostyle::{FileSource, ReadOptions};
use hypostyle_onpair::{Column, Config, Joined, compress};

use crate::Result;
use crate::measure::{self, Usage};
use crate::packers::{Unpacker, XZ, tell};
use crate::strings::agents;

use super::{BASE_COLUMNS, Sample};

/// Rounds within one process, of what takes milliseconds.
const ROUNDS: usize = 7;

/// Something that is done with a table, or with as many bytes of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Convert,
    ReadAll,
    ReadTwo,
    Pack(u8),
    PackQuery,
    Unpack(u8),
    Ask,
    Compress,
    Decode,
    Xz,
    Unxz,
}

/// In an order in which each finds what it needs.
pub(super) const ALL: [Work; 13] = [
    Work::Convert,
    Work::ReadAll,
    Work::ReadTwo,
    Work::Pack(1),
    Work::Unpack(1),
    Work::Pack(6),
    Work::Unpack(6),
    Work::PackQuery,
    Work::Ask,
    Work::Compress,
    Work::Decode,
    Work::Xz,
    Work::Unxz,
];

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Convert => f.write_str("CSV to COLM"),
            Self::ReadAll => f.write_str("COLM, all columns"),
            Self::ReadTwo => f.write_str("COLM, 2 columns"),
            Self::Pack(level) => write!(f, "AT-1 pack, level {level}"),
            Self::PackQuery => f.write_str("AT-1 pack to query"),
            Self::Unpack(level) => write!(f, "AT-1 unpack, level {level}"),
            Self::Ask => f.write_str("AT-1 query, one row"),
            Self::Compress => f.write_str("OnPair compress"),
            Self::Decode => f.write_str("OnPair decode"),
            Self::Xz => f.write_str("xz -6"),
            Self::Unxz => f.write_str("xz -d"),
        }
    }
}

/// What came of it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Took(Usage),
    /// More than so many CPU seconds, and it was ended.
    TooLong(u64),
    /// It failed, or there was nothing to do it with.
    Nothing,
}

impl Work {
    /// Numbers of threads. What takes several too many CPU seconds is not tried with one.
    pub(super) fn threads(self) -> &'static [usize] {
        match self {
            Self::Decode | Self::Xz | Self::Unxz => &[1],
            _ => &[2, 1],
        }
    }

    /// Whether it has to do with columns.
    pub(super) fn has_columns(self) -> bool {
        !matches!(self, Self::Compress | Self::Decode | Self::Xz | Self::Unxz)
    }

    /// Whether it should take as long as there are bytes: otherwise it looks at few of them.
    pub(super) fn is_for_all(self) -> bool {
        !matches!(self, Self::ReadTwo | Self::Ask)
    }

    pub(super) fn is_for(self, sample: &Sample) -> bool {
        self.has_columns() || sample.columns == BASE_COLUMNS
    }

    /// Does it `rounds` times, or until that has taken `seconds`; gives the best.
    pub(super) fn run(
        self,
        sample: &Sample,
        threads: usize,
        rounds: usize,
        seconds: f64,
    ) -> Outcome {
        let (mut best, mut spent): (Option<Usage>, f64) = (None, 0.0);
        for _ in 0..rounds {
            match self.once(sample, threads) {
                Ok(Some(usage)) => {
                    spent += usage.cost.wall;
                    best = Some(best.map_or(usage, |best| best.or_less(usage)));
                }
                Ok(None) => return Outcome::TooLong(sample.limit()),
                Err(why) => {
                    eprintln!("{self}, {sample}: {why}");
                    return Outcome::Nothing;
                }
            }
            if spent > seconds {
                break;
            }
        }
        best.map_or(Outcome::Nothing, Outcome::Took)
    }

    fn once(self, sample: &Sample, threads: usize) -> Result<Option<Usage>> {
        let file = |end: &str| sample.file(end);
        let archive = |level: u8| sample.file(&format!("{level}.at1"));
        let text = sample.file("csv");
        let mut command = Command::new(env::current_exe()?);
        // It gets its name when it is done.
        let half = file("half");
        let mut made = None;
        match self {
            Self::Convert => {
                made = Some(file("colm"));
                command.arg("convert").args([&text, &half]);
            }
            Self::ReadAll | Self::ReadTwo => {
                command.arg("read").arg(there(file("colm"))?);
                command.args(["--alone", "--rounds", &ROUNDS.to_string()]);
            }
            Self::Pack(level) => {
                made = Some(archive(level));
                command.arg("pack").args([&text, &half]);
                command.args(["--level", &level.to_string()]);
            }
            Self::PackQuery => {
                made = Some(file("query.at1"));
                command.arg("pack").args([&text, &half]).arg("--query");
            }
            Self::Unpack(level) => {
                command.arg("unpack").arg(there(archive(level))?);
            }
            Self::Ask => {
                let test = format!("id_0 = {}", sample.rows / 2);
                command.arg("ask").arg(there(file("query.at1"))?).arg(test);
            }
            Self::Compress | Self::Decode => {
                command.arg("onpair").arg(sample.megabytes.to_string());
                command.args((self == Self::Decode).then_some("--decode"));
            }
            Self::Xz => return XZ.pack(&text, &file("xz")).map(Some),
            Self::Unxz => {
                return Unpacker { of: XZ, threads }.unpack(&there(file("xz"))?).map(Some);
            }
        }
        if self == Self::ReadTwo {
            // An integer and a text from the middle.
            let middle = sample.columns / 6 * 3;
            command.args(["--columns", &format!("{middle},{}", middle + 1)]);
        }
        command.args(["--threads", &threads.to_string()]);
        let told = Usage::told_within(&mut command, sample.limit())?;
        if let (Some(_), Some(made)) = (told, made) {
            fs::rename(half, made)?;
        }
        Ok(told)
    }
}

/// A file that something else has made, unless that took too long.
fn there(path: PathBuf) -> Result<PathBuf> {
    if path.exists() { Ok(path) } else { Err("there is no such file".into()) }
}

/// Asks an archive for the city and the price of some rows.
#[derive(clap::Args, Debug)]
pub(crate) struct AskArgs {
    /// The archive.
    archive: PathBuf,
    /// Which rows.
    test: String,
    /// How many threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

pub(crate) fn ask(args: &AskArgs) -> Result<()> {
    let columns = ["city_1", "price_2"].map(str::to_owned).to_vec();
    let test = Predicate::parse(&args.test)?;
    let query = Query::default().with_filter(Some(test)).with_columns(Some(columns));
    let cost = measure::repeated(ROUNDS, || match answer(&args.archive, &query, args.threads)? {
        0 => Err("no row was found".into()),
        rows => Ok(rows),
    })?;
    Usage::of_this_process(cost).tell();
    Ok(())
}

fn answer(archive: &Path, query: &Query, threads: usize) -> Result<u64> {
    let threads = NonZeroUsize::new(threads);
    let source = Arc::new(FileSource::try_new(File::open(archive)?)?);
    let archive = Archive::open(source, &ReadOptions::default().with_threads(threads))?;
    let mut options = ImportOptions::new(Capabilities::EVERYTHING);
    options.threads = threads;
    let answer =
        archive.query(query, &TableOptions::default(), &options, SpillBuffer::in_memory())?;
    Ok(answer.ok_or("the archive does not answer")?.stats.rows)
}

/// Compresses made strings with OnPair, or decodes them.
#[derive(clap::Args, Debug)]
pub(crate) struct StringsArgs {
    /// MB of strings.
    megabytes: usize,
    /// Decode.
    #[arg(long)]
    decode: bool,
    /// How many threads compress.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

pub(crate) fn strings(args: &StringsArgs) -> Result<()> {
    let strings = agents(args.megabytes * 1_000_000);
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let mut config = Config::default();
    config.threads = args.threads;
    if !args.decode {
        return tell(|| Ok(compress(&joined, &config)?));
    }
    let column = Column::new(compress(&joined, &config)?)?;
    let out = RefCell::new(vec![0; strings.bytes.len()]);
    let cost = measure::repeated(ROUNDS, || Ok(column.decode_into(&mut out.borrow_mut())?))?;
    Usage::of_this_process(cost).tell();
    Ok(())
}
