//! `hyp unpack`: the files in AT-1 archives, byte for byte.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hypostyle::formats::at1::{Archive, BundleEntry, Codec};

use super::Status;
use crate::cli::ReadArgs;
use crate::failure::{Failure, InFile, Result};
use crate::input::{Input, is_dash};
use crate::output::{Attributes, Out, Progress, Target};
use crate::tables::warn_of_damage;

/// Arguments of `hyp unpack`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp unpack data.csv.at1                 writes data.csv
  hyp unpack *.at1 -o restored            writes every file into the folder restored
  hyp unpack log.at1 -c | grep error
  cat data.csv.at1 | hyp unpack - -o data.csv

A file appears under its name only when all of it is there and its hash agrees; the archive is
kept. A bundle is unpacked into a folder; its files get the permissions and times that it has.")]
pub(crate) struct Args {
    /// The archives; - for standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    /// The file to write, or the folder for several archives or a bundle
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,

    /// Write to standard output
    #[arg(long, short = 'c', conflicts_with = "output")]
    stdout: bool,

    /// Overwrite files that exist
    #[arg(long, short)]
    force: bool,

    /// Say nothing when all is well
    #[arg(long, short)]
    quiet: bool,

    /// Of damaged archives, write the lines that can still be read, and say which are lost
    #[arg(long)]
    salvage: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Unpacks every archive; the first failure ends it.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let mut worst = Status::Fine;
    for path in &args.files {
        let input = Input::open(path)?;
        let name = input.name();
        let archive = input.into_archive(&args.read.options())?;
        if args.salvage && archive.codec() != Codec::Bundle {
            let status = salvage(&archive, &name, path, args, out);
            worst = worst.max(status.map_err(|failure| failure.in_file(name))?);
            continue;
        }
        one(&archive, path, args, out).map_err(|failure| failure.in_file(name))?;
    }
    Ok(worst)
}

/// Writes what can still be read.
fn salvage(
    archive: &Archive,
    name: &str,
    path: &Path,
    args: &Args,
    out: &mut dyn Out,
) -> Result<Status> {
    let target = if args.stdout { "-".into() } else { target_for(path, false, args)? };
    // An archive that is whole is unpacked as ever, and its hash compared.
    if archive.unpack(&mut io::sink()).is_ok() {
        one(archive, path, args, out)?;
        return Ok(Status::Fine);
    }
    let file = Target::create(&target, false, args.force, out)?;
    let mut damaged = Vec::new();
    file.stream(out, |sink| {
        damaged = archive.salvage(&mut Counted::new(sink))?;
        Ok(())
    })?;
    warn_of_damage(name, &damaged);
    if damaged.is_empty() {
        let why = "the hash does not agree, and nothing shows what is wrong";
        writeln!(io::stderr(), "warning: `{name}`: {why}")?;
    }
    Ok(Status::Corrupt)
}

fn one(archive: &Archive, path: &Path, args: &Args, out: &mut dyn Out) -> Result<()> {
    let bundle = archive.codec() == Codec::Bundle;
    if args.stdout {
        if bundle {
            return Err(Failure::usage("is a bundle of files, which -c cannot write"));
        }
        archive.unpack(&mut Counted::new(&mut *out))?;
        out.flush()?;
        return Ok(());
    }
    let target = target_for(path, bundle, args)?;
    if bundle {
        return unpack_bundle(archive, &target, args, out);
    }
    let file = Target::create(&target, false, args.force, out)?;
    unpack_file(archive, file, &target, args, out)
}

/// Where the content of an archive goes.
fn target_for(path: &Path, bundle: bool, args: &Args) -> Result<PathBuf> {
    let stem = || -> Result<PathBuf> {
        let is_at1 =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("at1"));
        if is_dash(path) || !is_at1 {
            return Err(Failure::usage("says no name for its content: give one with -o"));
        }
        Ok(path.with_extension(""))
    };
    let Some(output) = &args.output else { return stem() };
    let folder = args.files.len() > 1 || (output.is_dir() && !bundle);
    if !folder {
        return Ok(output.clone());
    }
    fs::create_dir_all(output).in_file(output.display())?;
    let stem = stem()?;
    Ok(output.join(stem.file_name().unwrap_or_default()))
}

fn unpack_file(
    archive: &Archive,
    file: Target,
    target: &Path,
    args: &Args,
    out: &mut dyn Out,
) -> Result<()> {
    let mut bytes = 0;
    file.stream(out, |sink| {
        bytes = archive.unpack(&mut Counted::new(sink))?.bytes;
        Ok(())
    })?;
    if !args.quiet && !is_dash(target) {
        let hash = if archive.hash().is_some() { "hash agrees" } else { "no hash to compare" };
        writeln!(out, "{}: {bytes} bytes, {hash}", target.display())?;
    }
    Ok(())
}

/// Bytes in the path of an entry at most, the folder included.
const LONGEST: usize = 1023;

/// Unpacks every entry below `folder`; names have been checked to stay there.
fn unpack_bundle(archive: &Archive, folder: &Path, args: &Args, out: &mut dyn Out) -> Result<()> {
    let entries = archive.bundle()?;
    let long = |path: &Path| path.as_os_str().len() > LONGEST;
    if let Some(entry) = entries.iter().find(|entry| long(&folder.join(&entry.file.name))) {
        let why =
            format!("its path would be longer than {LONGEST} bytes: unpack to another folder");
        return Err(Failure::input(why).in_file(&entry.file.name));
    }
    for BundleEntry { file, archive } in entries {
        let target = folder.join(&file.name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).in_file(parent.display())?;
            stays_inside(folder, parent)?;
        }
        if fs::symlink_metadata(&target).is_ok_and(|meta| meta.is_symlink()) {
            let why = "there is a link of that name, which would lead elsewhere: remove it";
            return Err(Failure::input(why).in_file(target.display()));
        }
        let attributes = Attributes { mode: file.mode, modified: file.modified };
        Target::create(&target, false, args.force, out)
            .map(|target| target.with_attributes(attributes))
            .and_then(|made| unpack_file(&archive, made, &target, args, out))
            .map_err(|failure| failure.in_file(&file.name))?;
    }
    Ok(())
}

/// Refuses a folder that a link has led elsewhere.
fn stays_inside(folder: &Path, parent: &Path) -> Result<()> {
    let (folder, parent) = (fs::canonicalize(folder)?, fs::canonicalize(parent)?);
    if parent.starts_with(&folder) {
        return Ok(());
    }
    Err(Failure::input("an entry would be written outside the folder, through a link"))
}

/// Shows how much has been written.
struct Counted<W> {
    out: W,
    progress: Progress,
    written: u64,
}

impl<W: Write> Counted<W> {
    fn new(out: W) -> Self {
        Self { out, progress: Progress::bytes("unpacking", 0), written: 0 }
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let done = self.out.write(buf)?;
        self.written += done as u64;
        self.progress.set(self.written);
        Ok(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
