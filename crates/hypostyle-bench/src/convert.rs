//! One conversion in a process of its own, so that its memory can be told.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use hypostyle::stage::{FileScratch, Stage};
use hypostyle::text::{ImportOptions, csv};
use hypostyle::{SeekSink, WriteOptions, formats};

use crate::Result;
use crate::measure::{self, Cost};

/// Converts a CSV file and prints what that took.
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
    /// Megabytes of rows to keep in memory before a temporary file is used.
    #[arg(long, default_value_t = BUDGET_MB)]
    budget: u64,
}

/// Rows in memory before a temporary file is used, in MB.
pub(crate) const BUDGET_MB: u64 = 256;

/// What a conversion took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub(crate) cost: Cost,
    /// The most memory, in MB.
    pub(crate) memory: f64,
}

impl Conversion {
    /// The lesser costs, and the greater memory.
    pub(crate) fn or_less(self, other: Self) -> Self {
        Self { cost: self.cost.or_less(other.cost), memory: self.memory.max(other.memory) }
    }
}

/// Converts in this process, and prints one line for [`in_child`] to read.
pub(crate) fn run(args: &Args) -> Result<()> {
    let (cost, done) = measure::once(|| convert(args));
    done?;
    let memory = measure::peak_memory().unwrap_or(f64::NAN);
    println!("{} {} {memory}", cost.wall, cost.cpu);
    Ok(())
}

fn convert(args: &Args) -> Result<()> {
    let format = formats::by_name(&args.format).ok_or("no such format")?;
    let scratch = FileScratch::try_new(tempfile::tempfile()?)?;
    let stage = Stage::with_scratch(args.budget * 1_000_000, Box::new(scratch));
    let options = ImportOptions::new(format.abilities());
    let mut input = File::open(&args.from)?;
    let csv = csv::CsvOptions::default();
    let table = csv::import(&mut input, &csv, &options, stage, &mut |_| {})?;
    let mut sink = SeekSink::try_new(File::create(&args.to)?)?;
    format.encode(&table, &mut sink, &WriteOptions::default().with_level(args.level))?;
    Ok(())
}

/// Converts in a process of its own.
pub(crate) fn in_child(from: &Path, to: &Path, format: &str, level: u8) -> Result<Conversion> {
    let output = Command::new(env::current_exe()?)
        .arg("convert")
        .args([from, to])
        .args(["--format", format, "--level", &level.to_string()])
        .output()?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr)).into());
    }
    let line = String::from_utf8(output.stdout)?;
    let mut words = line.split_whitespace().map(str::parse);
    let mut word = || words.next().ok_or("a figure is missing");
    let cost = Cost { wall: word()??, cpu: word()?? };
    Ok(Conversion { cost, memory: word()?? })
}
