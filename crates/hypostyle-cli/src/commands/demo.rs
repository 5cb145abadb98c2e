//! `hyp demo`: a guided tour on a bundled sample.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Parser;

use super::Status;
use crate::cli::Cli;
use crate::failure::{Failure, InFile, Result};
use crate::output::{Out, Paint};

/// Flights from New York City in January 2013; see `demo/README.md`.
const SAMPLE: &[u8] = include_bytes!("../../demo/flights.csv");

/// Arguments of `hyp demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Work in this folder and keep the files [default: a temporary one]
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// What the tour shows, in order: a sentence, then a command.
const TOUR: &[(&str, &[&str])] = &[
    (
        "A CSV file of 10,000 flights, with NA where a value is missing. COLF has nulls:",
        &["convert", "flights.csv", "flights.colf", "--null", "NA"],
    ),
    ("Types were found by looking at every cell of every column:", &["schema", "flights.colf"]),
    (
        "Reading some columns touches only their blocks:",
        &[
            "cat",
            "flights.colf",
            "--columns",
            "carrier,flight,origin,dest,dep_delay",
            "--rows",
            "836..842",
            "--format",
            "table",
        ],
    ),
    ("Where the bytes go:", &["inspect", "flights.colf"]),
    ("Everything decoded and checked:", &["verify", "flights.colf"]),
    (
        "Other formats are as near. CLMN has no nulls, so columns with NA stay text:",
        &["convert", "flights.csv", "flights.clmn"],
    ),
    ("Smaller, if there is time:", &["convert", "flights.csv", "flights.colm", "--level", "12"]),
    ("To Parquet, Arrow or JSON Lines:", &["convert", "flights.colf", "flights.parquet"]),
    (
        "One line of JSON:",
        &[
            "head",
            "flights.parquet",
            "-n",
            "1",
            "--format",
            "jsonl",
            "--columns",
            "time_hour,carrier,dep_delay",
        ],
    ),
    ("And back: every cell of the CSV is what it was.", &["convert", "flights.colm", "back.csv"]),
];

/// Runs the tour.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let temporary = tempfile::tempdir()?;
    let folder = match &args.keep {
        Some(folder) => {
            fs::create_dir_all(folder).in_file(folder.display())?;
            folder.as_path()
        }
        None => temporary.path(),
    };
    fs::write(folder.join("flights.csv"), SAMPLE).in_file(folder.display())?;
    for (sentence, words) in TOUR {
        let paint = out.paint();
        writeln!(out, "{sentence}\n")?;
        let line = paint.bold(format!("$ hyp {}", words.join(" ")));
        writeln!(out, "{line}")?;
        let status = step(words, folder, out)?;
        if status != Status::Fine {
            return Ok(status);
        }
        writeln!(out)?;
    }
    compare(folder, out)?;
    if let Some(folder) = &args.keep {
        writeln!(out, "\nThe files are in `{}`.", folder.display())?;
    }
    Ok(Status::Fine)
}

/// Runs one command as if it had been typed in `folder`.
fn step(words: &[&str], folder: &Path, out: &mut dyn Out) -> Result<Status> {
    let is_file = |word: &str| word.contains('.') && !word.contains("..");
    let typed = words.iter().map(|word| match is_file(word) {
        true => folder.join(word).into_os_string(),
        false => (*word).into(),
    });
    let mut line: Vec<std::ffi::OsString> = vec!["hyp".into()];
    line.extend(typed);
    if words.first() == Some(&"convert") {
        line.push("--force".into());
    }
    let cli = Cli::try_parse_from(line).map_err(|err| Failure::usage(err.to_string()))?;
    let prefix = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
    let mut tour = Tour { out, prefix, line: Vec::new() };
    let status = super::run(&cli, &mut tour)?;
    tour.flush()?;
    Ok(status)
}

/// Shows names as if the reader stood in the folder of the tour.
struct Tour<'a> {
    out: &'a mut dyn Out,
    prefix: String,
    line: Vec<u8>,
}

impl Write for Tour<'_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.line.extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let text = String::from_utf8_lossy(&self.line).replace(&self.prefix, "");
        self.line.clear();
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

impl Out for Tour<'_> {
    fn terminal_width(&self) -> Option<usize> {
        self.out.terminal_width()
    }

    fn paint(&self) -> Paint {
        self.out.paint()
    }
}

fn compare(folder: &Path, out: &mut dyn Out) -> Result<()> {
    let back = fs::read(folder.join("back.csv")).in_file(folder.display())?;
    if back != SAMPLE {
        return Err(Failure::new(crate::failure::CHECK, "back.csv differs from flights.csv"));
    }
    let line =
        out.paint().good(format!("back.csv and flights.csv are the same {} bytes.", back.len()));
    writeln!(out, "{line}")?;
    Ok(())
}
