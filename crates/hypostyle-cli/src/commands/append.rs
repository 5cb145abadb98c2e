//! `hyp append`: appends lines to an archive that can be queried.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hypostyle::formats::FormatId;
use hypostyle::formats::at1::{Appended, Appender, Archive};
use hypostyle::{FileSource, Limits, ReadOptions};

use super::Status;
use crate::args::{PackArgs, QuietArg};
use crate::failure::{Failure, InFile, Result};
use crate::hint;
use crate::input::Input;
use crate::output::{Out, Progress, Target, plain, warn};
use crate::path_arg::is_dash;

/// Arguments of `hyp append`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp pack jan.csv -o year.at1            pack a table
  hyp append year.at1 feb.csv mar.csv     skip the header of each file in queries
  tail -n 1000 app.jsonl | hyp append app.jsonl.at1 -
  hyp cat year.at1 --where 'price > 10'   query all of it
  hyp unpack year.at1 -c                  print jan.csv, feb.csv and mar.csv in sequence

hyp keeps the existing frames of the archive byte for byte and appends new frames for each file.
Lines that do not fit the table are stored as they are. hyp verifies the archive first and refuses
to change a damaged one. It writes the new archive beside the old one and renames it when complete,
so the name always refers to a complete archive.")]
pub(crate) struct Args {
    /// The archive of a table, or of JSON Lines packed with `hyp pack --query`
    archive: PathBuf,

    /// The files to append; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    report: QuietArg,

    #[command(flatten)]
    pack: PackArgs,
}

/// Appends the files; changes the archive only if all of them can be appended.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let name = args.archive.display();
    if is_dash(&args.archive) {
        return Err(Failure::usage("the archive must be a file, not standard input"));
    }
    let file = lock(&args.archive).map_err(|failure| failure.in_file(&name))?;
    // Keep the lock until the new archive is renamed. Windows cannot rename over an open file.
    let lock = cfg!(unix).then(|| file.try_clone()).transpose().in_file(&name)?;
    // The unpacked content is only hashed, so its size needs no limit.
    let limits = Limits::default().with_output_bytes(u64::MAX);
    let options = ReadOptions::default().with_limits(limits).with_threads(args.pack.threads());
    let source = FileSource::try_new(file).in_file(&name)?;
    let archive = Archive::open(Arc::new(source), &options).in_file(&name)?;

    let mut files = args.files.iter();
    let first = loop {
        let Some(path) = files.next() else {
            if !args.report.quiet {
                writeln!(
                    out,
                    "{}: nothing to append, archive unchanged",
                    plain(&name.to_string())
                )?;
            }
            return Ok(Status::Fine);
        };
        let input = Input::open(path)?;
        if !input.is_empty() {
            break input;
        }
    };
    let target = Target::create(&args.archive, true, true, out)?;
    let mut appended = None;
    target.stream(out, |sink| {
        let done = add_all(archive, first, files, args, sink)?;
        appended = Some(done);
        Ok(())
    })?;
    drop(lock);
    let Some(appended) = appended else { return Ok(Status::Fine) };
    let Appended { added, stored, frames: (frames, raw), .. } = appended;
    let count =
        |frames: u64| if frames == 1 { "1 frame".into() } else { format!("{frames} frames") };
    if !args.report.quiet {
        let frames = count(frames);
        let (name, frames) = (name.to_string(), frames);
        let name = plain(&name);
        writeln!(out, "{name}: {added} bytes appended in {frames}, archive now {stored} bytes")?;
    }
    if raw > 0 {
        let shown = if raw == frames { count(raw) } else { format!("{raw} of {}", count(frames)) };
        let why = "no line fits the table of the archive";
        warn(format_args!("`{name}`: {shown} stored raw: {why}"));
    }
    Ok(Status::Fine)
}

fn add_all<'a>(
    archive: Archive,
    first: Input,
    rest: impl Iterator<Item = &'a PathBuf>,
    args: &Args,
    sink: &mut dyn Write,
) -> Result<Appended> {
    let name = args.archive.display();
    let checking = Progress::bytes(&format!("checking {name}"), 0);
    let file_name = args.archive.file_name().and_then(|name| name.to_str());
    let options = args.pack.options().with_name(file_name);
    let mut appender =
        Appender::new(&archive, sink, &options).map_err(hint::appending).in_file(&name)?;
    drop(checking);
    let mut add = |input: Input| {
        let name = input.name();
        if input.kind(None).is_ok_and(|kind| kind.id() == FormatId::At1) {
            let why = "is an archive, not text: unpack it, and append its content";
            return Err(Failure::usage(why).in_file(&name));
        }
        let size = input.size().in_file(&name)?.unwrap_or_default();
        let progress = Progress::bytes(&format!("appending {name}"), size);
        appender.add(input.into_read()?, |read, _| progress.set(read)).in_file(&name)
    };
    add(first)?;
    for path in rest {
        add(Input::open(path)?)?;
    }
    appender.finish().in_file(&name)
}

/// Opens and locks an archive; fails if another process appends to it.
fn lock(path: &Path) -> Result<File> {
    let cannot = |cause: io::Error| Failure::io("cannot open", &cause);
    let file = File::open(path).map_err(cannot)?;
    let meta = file.metadata().map_err(cannot)?;
    if !meta.is_file() {
        return Err(Failure::usage("is not a regular file"));
    }
    if meta.permissions().readonly() {
        return Err(Failure::new(crate::failure::IO, "is read-only"));
    }
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(busy()),
        // Some file systems do not support locks.
        Ok(()) | Err(TryLockError::Error(_)) if is_at(&file, path)? => Ok(file),
        _ => Err(busy()),
    }
}

/// Returns whether the path still names this file: another process may have replaced it.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (open, named) = (file.metadata()?, fs::metadata(path)?);
    Ok((open.dev(), open.ino()) == (named.dev(), named.ino()))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> Result<bool> {
    Ok(fs::metadata(path)?.is_file())
}

fn busy() -> Failure {
    Failure::new(crate::failure::IO, "another process is appending to it: try again later")
}
