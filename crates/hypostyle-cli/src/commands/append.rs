//! `hyp append`: more lines for an archive that can be queried.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hypostyle::formats::at1::{Appended, Appender, Archive};
use hypostyle::{FileSource, Limits, ReadOptions};

use super::Status;
use crate::cli::PackArgs;
use crate::failure::{Failure, InFile, Result};
use crate::hint;
use crate::input::{Input, is_dash};
use crate::output::{Out, Progress, Target};

/// Arguments of `hyp append`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp pack --query jan.csv -o year.at1    an archive that can be queried
  hyp append year.at1 feb.csv mar.csv     the names in the first line of each are no row
  tail -n 1000 app.jsonl | hyp append app.jsonl.at1 -
  hyp cat year.at1 --where 'price > 10'   asks all of it
  hyp unpack year.at1 -c                  jan.csv, feb.csv and mar.csv, one after the other

What is in the archive stays as it is, byte for byte; each file is added in frames of its own, and
lines that do not fit the table are kept as they are. The archive is checked first, and a damaged
one is left alone. The new one is written beside it and takes its place when it is complete, so
that at any moment there is the old archive or the new one. A run that is killed may leave a file
whose name ends in .partial, which can be removed.")]
pub(crate) struct Args {
    /// The archive, made by `hyp pack --query`
    archive: PathBuf,

    /// The files with new lines; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// Say nothing when all is well
    #[arg(long, short)]
    quiet: bool,

    #[command(flatten)]
    pack: PackArgs,
}

/// Appends the files; the archive changes only if all of them could be added.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let name = args.archive.display();
    if is_dash(&args.archive) {
        return Err(Failure::usage("the archive must be a file, not standard input"));
    }
    let file = lock(&args.archive).map_err(|failure| failure.in_file(&name))?;
    // Others must wait until the new archive has its name; Windows gives none to a
    // file whose place is taken by an open one.
    let held = cfg!(unix).then(|| file.try_clone()).transpose().in_file(&name)?;
    // What is unpacked to check it goes nowhere.
    let limits = Limits::default().with_output_bytes(u64::MAX);
    let options = ReadOptions::default().with_limits(limits).with_threads(args.pack.threads());
    let source = FileSource::try_new(file).in_file(&name)?;
    let archive = Archive::open(Arc::new(source), &options).in_file(&name)?;

    let mut files = args.files.iter();
    let first = loop {
        let Some(path) = files.next() else {
            if !args.quiet {
                writeln!(out, "{name}: nothing to append, archive unchanged")?;
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
    drop(held);
    let Some(appended) = appended else { return Ok(Status::Fine) };
    let Appended { added, stored, frames: (frames, raw), .. } = appended;
    let count =
        |frames: u64| if frames == 1 { "1 frame".into() } else { format!("{frames} frames") };
    if !args.quiet {
        let frames = count(frames);
        writeln!(out, "{name}: {added} bytes appended in {frames}, archive now {stored} bytes")?;
    }
    if raw > 0 {
        let shown = if raw == frames { count(raw) } else { format!("{raw} of {}", count(frames)) };
        writeln!(
            io::stderr(),
            "warning: `{name}`: {shown} stored as plain text: no line fits the table of the archive"
        )?;
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
    let mut appender = Appender::new(&archive, sink, &args.pack.options())
        .map_err(hint::appending)
        .in_file(&name)?;
    drop(checking);
    let mut add = |input: Input| {
        let name = input.name();
        let size = input.size().in_file(&name)?.unwrap_or_default();
        let progress = Progress::bytes(&format!("appending {name}"), size);
        appender.add(input.into_read(), |read, _| progress.set(read)).in_file(&name)
    };
    add(first)?;
    for path in rest {
        add(Input::open(path)?)?;
    }
    appender.finish().in_file(&name)
}

/// Opens an archive that nobody else is appending to.
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
        // Some file systems have no locks.
        Ok(()) | Err(TryLockError::Error(_)) if is_at(&file, path)? => Ok(file),
        _ => Err(busy()),
    }
}

/// Whether a file still has this name: someone may have put another in its place.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let (one, other) = (file.metadata()?, fs::metadata(path)?);
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> Result<bool> {
    Ok(fs::metadata(path)?.is_file())
}

fn busy() -> Failure {
    Failure::new(crate::failure::IO, "another process is appending to it: try again later")
}
