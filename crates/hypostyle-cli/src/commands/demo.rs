//! `hyp demo`: a guided tour with a bundled sample.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Parser;

use super::Cli;
use super::Status;
use crate::failure::{Failure, InFile, Result};
use crate::output::{Out, Paint};

/// Flights from New York City in January 2013; see `demo/README.md`.
const SAMPLE: &[u8] = include_bytes!("../../demo/flights.csv");

/// Arguments of `hyp demo`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Write the files to this folder and keep them [default: a temporary folder]
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// The steps of the tour: a sentence and the command it introduces.
const TOUR: &[(&str, &[&str])] = &[
    (
        "Pack a CSV file of 10,000 flights. --compare also runs xz -9e on it:",
        &["pack", "flights.csv", "--compare"],
    ),
    ("The archive is a table with types:", &["schema", "flights.csv.at1"]),
    (
        "Ask for some rows. hyp does not unpack the archive; --stats says how much of it was read:",
        &[
            "cat",
            "flights.csv.at1",
            "--columns",
            "carrier,flight,dest,dep_delay",
            "--where",
            "day = 9 and dep_delay > 200",
            "--format",
            "table",
            "--stats",
        ],
    ),
    ("Search its lines:", &["grep", "-n", "EWR,AVL", "flights.csv.at1"]),
    (
        "Describe columns, in a record for each:",
        &["stats", "flights.csv.at1", "--columns", "dep_delay,carrier", "-x"],
    ),
    (
        "Convert it; every kind of table converts to every other:",
        &["convert", "flights.csv.at1", "flights.parquet"],
    ),
    ("Compare the tables:", &["diff", "flights.csv", "flights.parquet"]),
    ("Restore the file, byte for byte:", &["unpack", "flights.csv.at1", "-o", "back.csv"]),
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
        let shown = words.iter().map(|word| match word.contains(' ') {
            true => format!("\"{word}\""),
            false => (*word).to_owned(),
        });
        let shown = shown.collect::<Vec<_>>().join(" ");
        let line = paint.bold(format!("$ hyp {shown}"));
        writeln!(out, "{line}")?;
        // What the command prints on standard error comes after it.
        out.flush()?;
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

/// Runs one command as if the user had typed it in `folder`.
fn step(words: &[&str], folder: &Path, out: &mut dyn Out) -> Result<Status> {
    let is_file = |word: &str| word.contains('.') && !word.contains("..");
    let typed = words.iter().map(|word| {
        if is_file(word) { folder.join(word).into_os_string() } else { (*word).into() }
    });
    let mut line: Vec<std::ffi::OsString> = vec!["hyp".into()];
    line.extend(typed);
    if words.first().is_some_and(|verb| ["convert", "pack", "unpack"].contains(verb)) {
        line.push("--force".into());
    }
    let cli = Cli::try_parse_from(line).map_err(|err| Failure::usage(err.to_string()))?;
    let prefix = format!("{}{}", folder.display(), std::path::MAIN_SEPARATOR);
    let mut tour = TourOut { out, prefix, line: Vec::new() };
    let status = super::run(&cli, &mut tour)?;
    tour.flush()?;
    Ok(status)
}

/// Removes the folder of the tour from printed paths, as if it were the working directory.
struct TourOut<'a> {
    out: &'a mut dyn Out,
    prefix: String,
    line: Vec<u8>,
}

impl Write for TourOut<'_> {
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

impl Out for TourOut<'_> {
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
