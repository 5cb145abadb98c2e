//! `hyp bench`: compares the formats of hyp with other compressors on one file.
//!
//! `candidates` lists the formats and compressors, `restore_bytes` and `restore_rows` run one
//! round of them, `measure` repeats rounds and keeps the best, and `report` prints the figures.
//! The file and all outputs stay in memory; only the report is written to disk, and large tables
//! spill to an unnamed file, as in `hyp convert`.

mod candidates;
mod measure;
mod report;
mod restore_bytes;
mod restore_rows;
mod round;

use std::io::Read;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use ::bytes::Bytes;
use hypostyle::FileKind;

use super::Status;
use super::pack::MAX_IN_MEMORY_BYTES;
use crate::args::{FileArg, ReadArgs};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::output::{Out, Target};
use crate::path_arg::is_dash;

use report::BenchReport;

/// Arguments of `hyp bench`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp bench data.csv                      measure everything, and list the smallest first
  hyp bench data.csv --quick              skip slow candidates
  hyp bench server.log --only at1,xz-9e   measure these; at1 means all of its levels and query
  hyp bench server.log --codecs           measure each AT-1 codec, too
  hyp bench data.csv --rounds 5           keep the best of five rounds
  hyp bench data.csv --report bench.md    write the table as Markdown
  hyp bench data.csv --json | jq -r '.contenders[0].name'
  head -c 50M huge.csv | hyp bench -

Candidates:
  at1-1, at1-6, at1-9   AT-1 archives at this level, with the best codec
  at1-query             an AT-1 archive that can be queried
  at1-log, ...          AT-1 with one codec; see --codecs
  colm, colf, clmn, onpair, parquet
                        files that hyp convert writes; Parquet is compressed with zstd
  xz-6, xz-9e, zstd-3, zstd-19, gzip-6, gzip-9
                        through liblzma, libzstd and libdeflate

Candidates restore either every byte of the file or the rows of its table; the table shows which.
hyp checks both, and fails if a candidate restores something else. The time to make rows includes
parsing the text, inferring types and writing; the time to restore them ends when they are in memory.
The time to make an archive includes unpacking and comparing it, as in hyp pack.

hyp keeps the file, of up to 1 GiB, and all outputs in memory and writes no file but the report.")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Skip the slow candidates: at1-9, xz-9e and zstd-19
    #[arg(long)]
    quick: bool,

    /// Measure only these: names, or the part of names before the -
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "quick")]
    only: Vec<String>,

    /// Also measure each AT-1 codec that suits the content
    #[arg(long)]
    codecs: bool,

    /// Number of rounds, of which the best time counts [default: one, or more for candidates
    /// that take less than 0.2 seconds]
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write the table as Markdown to this file; - prints it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Overwrite the report if it exists
    #[arg(long, short, requires = "report")]
    force: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// The file to measure, and how its table is read.
#[derive(Debug)]
struct BenchInput<'a> {
    path: &'a Path,
    name: String,
    content: Bytes,
    read: &'a ReadArgs,
}

impl BenchInput<'_> {
    /// Returns the file as if it had just been opened.
    fn open(&self) -> Input {
        Input::in_memory(self.path, self.content.clone())
    }

    /// Returns the number of threads for archives and column files.
    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().ok();
        self.read.threads().or_else(cores).map_or(1, NonZeroUsize::get)
    }
}

/// Measures the candidates and prints the figures.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let candidates = candidates::chosen(args.quick, args.codecs, &args.only)?;
    let printed = args.report.as_deref().is_some_and(is_dash);
    if printed && args.json {
        return Err(Failure::usage(
            "--json and --report - both print to standard output: choose one",
        ));
    }
    // Check the output first: a long measurement must not fail at its end.
    let target = args.report.as_deref().map(|path| Target::create(path, false, args.force, out));
    let target = target.transpose()?;
    let path = args.file.file.as_path();
    let input = Input::open(path)?;
    let name = input.name();
    let content = read_all(input).map_err(|failure| failure.in_file(&name))?;
    let input = BenchInput { path, name, content, read: &args.read };
    let report = measured(&input, candidates, args)?;
    if args.json {
        writeln!(out, "{:#}", report.json())?;
    } else if !printed {
        report.print(out)?;
    }
    if let Some(target) = target {
        target.stream(out, |sink| Ok(sink.write_all(report.markdown().as_bytes())?))?;
    }
    Ok(Status::Fine)
}

fn measured(
    input: &BenchInput<'_>,
    candidates: Vec<candidates::Candidate>,
    args: &Args,
) -> Result<BenchReport> {
    let kind = input.open().kind(args.read.from).ok();
    let measured = measure::all(candidates, input, args.rounds)
        .map_err(|failure| failure.in_file(&input.name))?;
    let report = BenchReport::new(input, kind.map(FileKind::name), measured);
    if report.is_empty() {
        return Err(Failure::input(report.reasons().join("; ")).in_file(&input.name));
    }
    Ok(report)
}

/// Reads a whole input; fails if it is empty or too large.
fn read_all(input: Input) -> Result<Bytes> {
    if input.is_empty() {
        return Err(Failure::input("is empty: nothing to measure"));
    }
    let too_large = || {
        let why = format!(
            "is larger than {MAX_IN_MEMORY_BYTES} bytes, the most that hyp keeps in memory"
        );
        let hint = "head -c 500M FILE | hyp bench - measures a part";
        Failure::usage(why).with_hint(Some(hint))
    };
    if input.size()?.is_some_and(|size| size > MAX_IN_MEMORY_BYTES) {
        return Err(too_large());
    }
    let mut content = Vec::new();
    input.into_read()?.take(MAX_IN_MEMORY_BYTES + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_IN_MEMORY_BYTES {
        return Err(too_large());
    }
    Ok(content.into())
}
