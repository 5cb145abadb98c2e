//! `hyp verify`: decodes files completely and lists errors and deviations.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::formats::{FormatId, Reader};
use hypostyle::{DamagedRowGroup, Deviation, FileKind, Table};
use serde_json::{Value, json};

use super::Status;
use crate::args::ReadArgs;
use crate::failure::{CHECK, Failure, Result};
use crate::input::Input;
use crate::output::{Out, Progress};

/// Arguments of `hyp verify`.
#[derive(clap::Args, Debug)]
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
    let mut report = FileReport {
        name: name.clone(),
        format: None,
        rows: 0,
        columns: 0,
        bytes: None,
        hashed: false,
        deviations: Vec::new(),
        errors: Vec::new(),
    };
    let kind = input.kind(args.read.from);
    if let Ok(kind) = kind
        && kind.id() == FormatId::At1
    {
        report.format = Some(kind.name());
        let archive = input.into_archive(&args.read.options().with_strict(false));
        match archive.and_then(|archive| unpack(&archive, &mut report)) {
            Err(failure) if failure.code() == crate::failure::IO => return Err(failure),
            Err(failure) => report.errors.push(failure),
            Ok(()) => {}
        }
        return Ok(report);
    }
    let checked = kind.and_then(|kind| {
        report.format = Some(kind.name());
        match kind.format() {
            Some(format) => {
                // Collect all deviations instead of stopping at the first one.
                let options = args.read.options().with_strict(false).with_thorough(true);
                decode(&input.into_reader(format, &options)?, &mut report);
                Ok(())
            }
            None => scan(&input.into_table(&args.read, None)?, kind, &mut report),
        }
    });
    match checked {
        Err(failure) if failure.code() == crate::failure::IO => return Err(failure),
        Err(failure) => report.errors.push(failure),
        Ok(()) => {}
    }
    Ok(report)
}

/// Decodes all rows through a scan: those of text at once, since a row is parsed as a whole,
/// and each column of other files separately, as [`decode`] does.
fn scan(table: &Table, kind: FileKind, report: &mut FileReport) -> Result<()> {
    // The types of a text follow from all of it, so this finds malformed rows.
    report.rows = table.num_rows()?;
    report.columns = table.schema()?.fields().len();
    let all: Vec<usize> = (0..report.columns).collect();
    let scanned: Vec<&[usize]> = if kind.is_text() { vec![&all] } else { all.chunks(1).collect() };
    let reader = table.reader()?;
    let progress = Progress::steps("verifying", scanned.len() as u64);
    for columns in scanned {
        let scan = table.scan().columns(columns.iter().copied());
        let mut batches = scan.skip_damaged(true).batches()?;
        while batches.next_batch()?.is_some() {}
        for DamagedRowGroup { group, rows, error, .. } in batches.stats().damaged {
            let mut why = format!("{error} (rows {} to {}", rows.start + 1, rows.end);
            if let Some(first) = reader.ranges(group, columns).first() {
                why += &format!(", stored from byte {} on", first.start);
            }
            report.errors.push(Failure::input(why + ")"));
        }
        progress.step();
    }
    report.deviations = reader.deviations();
    Ok(())
}

/// Unpacks an archive and discards the content, to decode and hash everything.
fn unpack(archive: &Archive, report: &mut FileReport) -> Result<()> {
    let done = if archive.codec() == Codec::Bundle {
        verify_bundle(archive, report)
    } else {
        archive.unpack(&mut io::sink()).map(|unpacked| {
            report.bytes = Some(unpacked.bytes);
            report.hashed = unpacked.hash_agreed;
        })
    };
    report.deviations.extend(archive.deviations());
    // Check each block, to list every damaged one, and every index that would mislead queries.
    let mut blocks = archive.check_groups().unwrap_or_default();
    if done.is_ok() {
        // Check what the archive states about its table, which readers rely on.
        blocks.extend(archive.check_table()?);
    }
    if !blocks.is_empty() {
        report.errors.extend(blocks.into_iter().map(Failure::from));
        return Ok(());
    }
    Ok(done?)
}

fn verify_bundle(archive: &Archive, report: &mut FileReport) -> hypostyle::Result<()> {
    report.hashed = true;
    for entry in archive.bundle()? {
        let unpacked = entry.archive.unpack(&mut io::sink());
        report.deviations.extend(entry.archive.deviations());
        let unpacked = unpacked?;
        report.bytes = Some(report.bytes.unwrap_or(0) + unpacked.bytes);
        report.hashed &= unpacked.hash_agreed;
    }
    Ok(())
}

/// Decodes each column separately, so that an error in one does not hide errors in others.
fn decode(reader: &Arc<dyn Reader>, report: &mut FileReport) {
    report.rows = reader.rows();
    report.columns = reader.schema().fields().len();
    let progress = Progress::steps("verifying", report.columns as u64);
    for chunk in 0..reader.row_groups() {
        for column in 0..report.columns {
            if let Err(err) = reader.read(chunk, &[column]) {
                report.errors.push(err.into());
            }
            progress.step();
        }
    }
    report.deviations = reader.deviations();
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
        let paint = out.paint();
        let verdict = match status {
            Status::Fine => paint.good("ok"),
            Status::Failed => paint.bad("failed"),
            Status::Corrupt => paint.bad("corrupt"),
        };
        let format = self.format.map(str::to_uppercase).unwrap_or_default();
        match (self.format, self.bytes) {
            (_, Some(bytes)) => {
                let hash =
                    if self.hashed { "the hash agrees" } else { "there is no hash to compare" };
                writeln!(out, "{name}: {verdict}: AT-1, unpacks to {bytes} bytes, {hash}")?;
            }
            (Some(_), None) if *columns > 0 => {
                writeln!(out, "{name}: {verdict}: {format}, {rows} rows, {columns} columns")?;
            }
            _ => writeln!(out, "{name}: {verdict}")?,
        }
        for failure in &self.errors {
            let line = paint.bad(format!("  error: {}", failure.message()));
            writeln!(out, "{line}")?;
        }
        for deviation in &self.deviations {
            let line = paint.warn(format!("  deviation {deviation}"));
            writeln!(out, "{line}")?;
        }
        Ok(())
    }
}
