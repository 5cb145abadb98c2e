//! `hyp verify`: decodes files completely and lists errors and deviations.

use std::path::PathBuf;

use hypostyle::{Deviation, FormatId, VerifyError};
use serde_json::{Value, json};

use super::Status;
use crate::args::ReadArgs;
use crate::failure::{CHECK, Failure, InFile, Result};
use crate::input::Input;
use crate::output::{Out, Progress, counted, plain};

/// Arguments of `hyp verify`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp verify flights.colf
  hyp verify --strict *.colf a.parquet b.csv.gz
  hyp verify backup.at1 --json")]
pub(crate) struct Args {
    /// The files to verify, or their URLs; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Print JSON Lines, one object per file
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// The result of verifying one file.
struct FileReport {
    name: String,
    format: Option<&'static str>,
    rows: u64,
    columns: usize,
    /// Unpacked size of an archive.
    bytes: Option<u64>,
    /// Whether an archive has a hash, and it matched.
    hashed: bool,
    deviations: Vec<Deviation>,
    errors: Vec<Failure>,
}

/// Verifies every file; the worst result determines the exit code.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let mut worst = Status::Fine;
    for path in &args.files {
        let input = Input::open_any(path, &args.read)?;
        let report = check(input, args)?;
        let status = report.status(args.read.strict);
        worst = worst.max(status);
        if args.json {
            writeln!(out, "{}", report.json(status))?;
        } else {
            report.print(status, out)?;
        }
    }
    Ok(worst)
}

fn check(input: Input, args: &Args) -> Result<FileReport> {
    let name = input.name();
    let options = args.read.open_options(input.file_name());
    let progress = Progress::steps("verifying", 0);
    let found = hypostyle::verify(input.into_local_source()?, &options, |done, steps| {
        progress.set_steps(done, steps);
    });
    let found = found.in_file(&name)?;
    let failure = |error| match error {
        VerifyError::Failed(err) => Failure::from(err),
        other => Failure::input(other.to_string()),
    };
    Ok(FileReport {
        name,
        format: found.format.map(FormatId::name),
        rows: found.rows,
        columns: found.columns,
        bytes: found.bytes,
        hashed: found.is_hashed,
        deviations: found.deviations,
        errors: found.errors.into_iter().map(failure).collect(),
    })
}

impl FileReport {
    fn status(&self, strict: bool) -> Status {
        if self.errors.iter().any(|failure| failure.code() != CHECK) {
            Status::Corrupt
        } else if !self.errors.is_empty() || (strict && !self.deviations.is_empty()) {
            Status::Failed
        } else {
            Status::Fine
        }
    }

    fn json(&self, status: Status) -> Value {
        let deviations = self
            .deviations
            .iter()
            .map(|d| json!({ "code": d.code, "offset": d.offset, "message": d.message }));
        json!({
            "file": self.name,
            "ok": status == Status::Fine,
            "format": self.format,
            "rows": self.rows,
            "columns": self.columns,
            "bytes": self.bytes,
            "hash_agreed": self.bytes.map(|_| self.hashed),
            "deviations": deviations.collect::<Vec<_>>(),
            "errors": self.errors.iter().map(Failure::message).collect::<Vec<_>>(),
        })
    }

    fn print(&self, status: Status, out: &mut dyn Out) -> Result<()> {
        let Self { name, rows, columns, .. } = self;
        let (name, paint) = (plain(name), out.paint());
        let verdict = match status {
            Status::Fine => paint.good("ok"),
            Status::Failed => paint.bad("failed"),
            Status::Corrupt | Status::NotFound | Status::NotSearched => paint.bad("corrupt"),
        };
        let format = self.format.map(str::to_uppercase).unwrap_or_default();
        match (self.format, self.bytes) {
            (_, Some(bytes)) => {
                let hash =
                    if self.hashed { "the hash agrees" } else { "there is no hash to compare" };
                writeln!(
                    out,
                    "{name}: {verdict}: AT-1, unpacks to {}, {hash}",
                    counted(bytes, "byte")
                )?;
            }
            (Some(_), None) if *columns > 0 => {
                let (rows, columns) = (counted(*rows, "row"), counted(*columns as u64, "column"));
                writeln!(out, "{name}: {verdict}: {format}, {rows}, {columns}")?;
            }
            _ => writeln!(out, "{name}: {verdict}")?,
        }
        for failure in &self.errors {
            let line = paint.bad(format!("  error: {}", plain(failure.message())));
            writeln!(out, "{line}")?;
        }
        for deviation in &self.deviations {
            let line = paint.warn(format!("  deviation {}", plain(&deviation.to_string())));
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
