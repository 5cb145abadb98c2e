//! `hyp bench`: what everything here, and what others use, would make of a file.
//!
//! [`contenders`] is the list, [`bytes`] and [`rows`] are what its entries do, [`measure`]
//! lets them take turns, and [`report`] shows what came of it. The file and what is made
//! of it are in memory, and the report is the only file that is ever written; rows beyond
//! some hundred megabytes wait in a nameless one, as they do for `hyp convert`.

mod bytes;
mod contenders;
mod measure;
mod report;
mod rows;

use std::io::Read;
use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use ::bytes::Bytes;

use super::Status;
use super::pack::WHOLE;
use crate::cli::{FileArg, ReadArgs};
use crate::failure::{Failure, Result};
use crate::file_kind::FileKind;
use crate::input::{Input, is_dash};
use crate::output::{Out, Target};

use report::Report;

/// Arguments of `hyp bench`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp bench data.csv                      everything, the smallest first
  hyp bench data.csv --quick              without what takes long
  hyp bench server.log --only at1,xz-9e   these only; at1 stands for every level, and for query
  hyp bench server.log --codecs           every AT-1 codec by itself, too
  hyp bench data.csv --rounds 5           the best of five
  hyp bench data.csv --report bench.md    the same table as Markdown
  hyp bench data.csv --json | jq -r '.contenders[0].name'
  head -c 50M huge.csv | hyp bench -

Contenders:
  at1-1, at1-6, at1-9   AT-1 archives of this level, by the codec that suits
  at1-query             an archive that can be queried
  at1-log, ...          with --codecs, one codec each
  colm, colf, clmn, onpair, parquet
                        what hyp convert makes of a table; Parquet is compressed with zstd
  xz-6, xz-9e, zstd-3, zstd-19, gzip-6, gzip-9
                        by liblzma, libzstd and libdeflate

Some give back every byte of the file, some the rows of the table in it; the table says which. Both
are checked: what does not come back as it was is an error. Making rows is reading the text, finding
types, and writing; bringing them back is having them in memory. Making an archive is also
unpacking it and comparing, as in hyp pack.

Nothing is written but a report, if one is asked for. The file is held in memory, up to 1 GiB.")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Leave out what takes long: at1-9, xz-9e and zstd-19
    #[arg(long)]
    quick: bool,

    /// Measure these only: names, or what stands before the - in them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "quick")]
    only: Vec<String>,

    /// Measure every AT-1 codec that suits the content by itself, too
    #[arg(long)]
    codecs: bool,

    /// Rounds in which the contenders take turns; the best time counts [default: one, and more
    /// for what takes less than 0.2 seconds]
    #[arg(long, value_name = "N")]
    rounds: Option<NonZeroU32>,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Write the table to this file as Markdown; - prints it
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,

    /// Overwrite the report if it exists
    #[arg(long, short, requires = "report")]
    force: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// A file to be measured, and how its table is read.
#[derive(Debug)]
struct Subject<'a> {
    path: &'a Path,
    name: String,
    content: Bytes,
    read: &'a ReadArgs,
}

impl Subject<'_> {
    /// The file as if it had just been opened.
    fn input(&self) -> Input {
        Input::in_memory(self.path, self.content.clone())
    }

    /// Threads that our own contenders work with.
    fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().ok();
        self.read.threads.or_else(cores).map_or(1, NonZeroUsize::get)
    }
}

/// Measures every contender and prints what came of it.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let contenders = contenders::chosen(args.quick, args.codecs, &args.only)?;
    let printed = args.report.as_deref().is_some_and(is_dash);
    if printed && args.json {
        return Err(Failure::usage("--json and --report - cannot both be printed"));
    }
    // Before anything is measured: that may take long, and must not end in a refusal.
    let target = args.report.as_deref().map(|path| Target::create(path, false, args.force, out));
    let target = target.transpose()?;
    let path = args.file.file.as_path();
    let input = Input::open(path)?;
    let name = input.name();
    let content = whole(input).map_err(|failure| failure.in_file(&name))?;
    let subject = Subject { path, name, content, read: &args.read };
    let report = measured(&subject, contenders, args)?;
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
    subject: &Subject<'_>,
    contenders: Vec<contenders::Contender>,
    args: &Args,
) -> Result<Report> {
    let kind = subject.input().kind(args.read.from).ok();
    let measured = measure::all(contenders, subject, args.rounds)
        .map_err(|failure| failure.in_file(&subject.name))?;
    let report = Report::new(subject, kind.map(FileKind::name), measured);
    match report.is_empty() {
        true => Err(Failure::input(report.reasons().join("; ")).in_file(&subject.name)),
        false => Ok(report),
    }
}

/// Reads all of an input, unless that is nothing or too much.
fn whole(input: Input) -> Result<Bytes> {
    if input.is_empty() {
        return Err(Failure::input("is empty: there is nothing to measure"));
    }
    let too_large = || {
        let why = format!(
            "is larger than {WHOLE} bytes, and all of it is held in memory\n\
             hint: head -c 500M FILE | hyp bench - measures a part"
        );
        Failure::usage(why)
    };
    if input.size()?.is_some_and(|size| size > WHOLE) {
        return Err(too_large());
    }
    let mut content = Vec::new();
    input.into_read().take(WHOLE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > WHOLE {
        return Err(too_large());
    }
    Ok(content.into())
}
