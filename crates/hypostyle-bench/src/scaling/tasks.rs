//! The tasks, each of which runs in a child process.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fmt, fs};

use hypostyle::predicate::Predicate;
use hypostyle::{OpenOptions, ReadOptions};
use hypostyle_onpair::{Column, Config, Joined, compress};

use crate::Result;
use crate::measure::{self, Usage};
use crate::packers::{Unpacker, XZ, print_usage};
use crate::strings::agents;

use super::{BASE_COLUMNS, ScaledTable};

/// The number of rounds within one process, for tasks that take milliseconds.
const ROUNDS: usize = 7;

/// A task on a table, or on as many bytes of strings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    Convert,
    ReadAll,
    ReadTwo,
    Pack(u8),
    PackQuery,
    Unpack(u8),
    Query,
    Compress,
    Decode,
    Xz,
    Unxz,
}

/// All tasks; each follows the tasks that write its inputs.
pub(super) const ALL: [Task; 13] = [
    Task::Convert,
    Task::ReadAll,
    Task::ReadTwo,
    Task::Pack(1),
    Task::Unpack(1),
    Task::Pack(6),
    Task::Unpack(6),
    Task::PackQuery,
    Task::Query,
    Task::Compress,
    Task::Decode,
    Task::Xz,
    Task::Unxz,
];

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Convert => f.write_str("CSV to COLM"),
            Self::ReadAll => f.write_str("COLM, all columns"),
            Self::ReadTwo => f.write_str("COLM, 2 columns"),
            Self::Pack(level) => write!(f, "AT-1 pack, level {level}"),
            Self::PackQuery => f.write_str("AT-1 pack, queryable"),
            Self::Unpack(level) => write!(f, "AT-1 unpack, level {level}"),
            Self::Query => f.write_str("AT-1 query, one row"),
            Self::Compress => f.write_str("OnPair compress"),
            Self::Decode => f.write_str("OnPair decode"),
            Self::Xz => f.write_str("xz -6"),
            Self::Unxz => f.write_str("xz -d"),
        }
    }
}

/// The outcome of a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Outcome {
    Took(Usage),
    /// The task took more than so many CPU seconds and was killed.
    TooLong(u64),
    /// The task failed, or its input is missing.
    Failed,
}

impl Task {
    /// Returns the numbers of threads to run with. A task that is too slow on two threads is not
    /// tried on one.
    pub(super) fn threads(self) -> &'static [usize] {
        match self {
            Self::Decode | Self::Xz | Self::Unxz => &[1],
            _ => &[2, 1],
        }
    }

    /// Returns whether the cost depends on the number of columns.
    pub(super) fn has_columns(self) -> bool {
        !matches!(self, Self::Compress | Self::Decode | Self::Xz | Self::Unxz)
    }

    /// Returns whether the task processes the whole file rather than a small part of it.
    pub(super) fn is_full_scan(self) -> bool {
        !matches!(self, Self::ReadTwo | Self::Query)
    }

    pub(super) fn supports(self, table: &ScaledTable) -> bool {
        self.has_columns() || table.columns == BASE_COLUMNS
    }

    /// Runs the task `rounds` times, or until it has used `seconds`, and returns the best.
    pub(super) fn run(
        self,
        table: &ScaledTable,
        threads: usize,
        rounds: usize,
        seconds: f64,
    ) -> Outcome {
        let (mut best, mut spent): (Option<Usage>, f64) = (None, 0.0);
        for _ in 0..rounds {
            match self.once(table, threads) {
                Ok(Some(usage)) => {
                    spent += usage.cost.wall;
                    best = Some(best.map_or(usage, |best| best.min(usage)));
                }
                Ok(None) => return Outcome::TooLong(table.limit()),
                Err(why) => {
                    eprintln!("{self}, {table}: {why}");
                    return Outcome::Failed;
                }
            }
            if spent > seconds {
                break;
            }
        }
        best.map_or(Outcome::Failed, Outcome::Took)
    }

    fn once(self, table: &ScaledTable, threads: usize) -> Result<Option<Usage>> {
        let file = |end: &str| table.file(end);
        let archive = |level: u8| table.file(&format!("{level}.at1"));
        let text = table.file("csv");
        let mut command = Command::new(env::current_exe()?);
        // The output gets its name when the task has succeeded.
        let partial = file("partial");
        let mut output = None;
        match self {
            Self::Convert => {
                output = Some(file("colm"));
                command.arg("convert").args([&text, &partial]);
            }
            Self::ReadAll | Self::ReadTwo => {
                command.arg("read").arg(existing(file("colm"))?);
                command.args(["--alone", "--rounds", &ROUNDS.to_string()]);
            }
            Self::Pack(level) => {
                output = Some(archive(level));
                command.arg("pack").args([&text, &partial]);
                command.args(["--level", &level.to_string()]);
            }
            Self::PackQuery => {
                output = Some(file("query.at1"));
                command.arg("pack").args([&text, &partial]).arg("--query");
            }
            Self::Unpack(level) => {
                command.arg("unpack").arg(existing(archive(level))?);
            }
            Self::Query => {
                let predicate = format!("id_0 = {}", table.rows / 2);
                command.arg("query").arg(existing(file("query.at1"))?).arg(predicate);
            }
            Self::Compress | Self::Decode => {
                command.arg("onpair").arg(table.megabytes.to_string());
                command.args((self == Self::Decode).then_some("--decode"));
            }
            Self::Xz => return XZ.pack(&text, &file("xz")).map(Some),
            Self::Unxz => {
                return Unpacker { of: XZ, threads }.unpack(&existing(file("xz"))?).map(Some);
            }
        }
        if self == Self::ReadTwo {
            // An integer column and a text column from the middle.
            let middle = table.columns / 6 * 3;
            command.args(["--columns", &format!("{middle},{}", middle + 1)]);
        }
        command.args(["--threads", &threads.to_string()]);
        let usage = Usage::of_child_within(&mut command, table.limit())?;
        if let (Some(_), Some(output)) = (usage, output) {
            fs::rename(partial, output)?;
        }
        Ok(usage)
    }
}

/// Returns the path of a file that another task wrote, if it exists.
fn existing(path: PathBuf) -> Result<PathBuf> {
    if path.exists() { Ok(path) } else { Err("the input file does not exist".into()) }
}

/// Queries an archive for the city and the price of some rows.
#[derive(clap::Args, Debug)]
pub(crate) struct QueryArgs {
    /// The archive.
    archive: PathBuf,
    /// The predicate.
    predicate: String,
    /// The number of threads.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

pub(crate) fn query(args: &QueryArgs) -> Result<()> {
    let filter = Predicate::parse(&args.predicate)?;
    let cost = measure::repeated(ROUNDS, || {
        match matching_rows(&args.archive, filter.clone(), args.threads)? {
            0 => Err("the query matched no row".into()),
            rows => Ok(rows),
        }
    })?;
    Usage::of_this_process(cost).print();
    Ok(())
}

fn matching_rows(archive: &Path, filter: Predicate, threads: usize) -> Result<u64> {
    let read = ReadOptions::default().with_threads(NonZeroUsize::new(threads));
    let table = hypostyle::open_with(archive, &OpenOptions::default().with_read(read))?;
    let scan = table.scan().columns(["city_1", "price_2"]).filter(filter).threads(threads);
    let mut batches = scan.batches()?;
    while batches.next_batch()?.is_some() {}
    Ok(batches.stats().rows_returned)
}

/// Compresses generated strings with OnPair, or decodes them.
#[derive(clap::Args, Debug)]
pub(crate) struct StringsArgs {
    /// MB of strings.
    megabytes: usize,
    /// Decode instead of compressing.
    #[arg(long)]
    decode: bool,
    /// The number of threads that compress.
    #[arg(long, default_value_t = 1)]
    threads: usize,
}

pub(crate) fn strings(args: &StringsArgs) -> Result<()> {
    let strings = agents(args.megabytes * 1_000_000);
    let joined = Joined::new(&strings.bytes, &strings.offsets)?;
    let mut config = Config::default();
    config.threads = args.threads;
    if !args.decode {
        return print_usage(|| Ok(compress(&joined, &config)?));
    }
    let column = Column::new(compress(&joined, &config)?)?;
    let out = RefCell::new(vec![0; strings.bytes.len()]);
    let cost = measure::repeated(ROUNDS, || Ok(column.decode_into(&mut out.borrow_mut())?))?;
    Usage::of_this_process(cost).print();
    Ok(())
}
