//! One conversion in a child process, so that its peak memory can be measured.

use std::env;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::Command;

use hypostyle::{OpenOptions, ReadOptions, WriteOptions, WriterOptions, formats};

use crate::Result;
use crate::measure::{self, Usage};

/// Converts a CSV file and prints its cost.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The CSV file.
    from: PathBuf,
    /// The file to write.
    to: PathBuf,
    /// The format to write.
    #[arg(long, default_value = "colm")]
    format: String,
    /// The compression level.
    #[arg(long, default_value_t = WriteOptions::DEFAULT_LEVEL)]
    level: u8,
    /// Megabytes of rows to buffer in memory before spilling to a temporary file.
    #[arg(long, default_value_t = BUDGET_MB)]
    budget: u64,
    /// The number of threads [default: one per core].
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

/// The default size of the row buffer before it spills, in MB.
pub(crate) const BUDGET_MB: u64 = 256;

/// Converts in this process, and prints one line for [`in_child`] to read.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (cost, done) = measure::once(|| convert(args));
    done?;
    Usage::of_this_process(cost).print();
    Ok(())
}

fn convert(args: &Args) -> Result<()> {
    let format = formats::by_name(&args.format).ok_or("unknown format")?.id();
    let read = ReadOptions::default().with_threads(args.threads);
    let options = OpenOptions::default().with_read(read).with_target(format);
    let scan = hypostyle::open_with(&args.from, &options)?.scan().threads_or_all(args.threads);
    let encode = WriteOptions::default().with_level(args.level).with_threads(args.threads);
    let write = WriterOptions::default().with_encode(encode).with_memory(args.budget * 1_000_000);
    hypostyle::convert(scan, args.to.as_path(), format, &write)?;
    Ok(())
}

/// Converts in a child process.
pub(crate) fn in_child(from: &Path, to: &Path, format: &str, level: u8) -> Result<Usage> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("convert").args([from, to]);
    Usage::of_child(command.args(["--format", format, "--level", &level.to_string()]))
}
