//! `hyp unpack`: restores the files in AT-1 archives.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use hypostyle::formats::at1::{Archive, BundleEntry, Codec, Damage};

use super::Status;
use crate::args::{HabitArgs, OutputArgs, ReadArgs, names_folder};
use crate::failure::{Failure, InFile, Result};
use crate::input::Input;
use crate::output::{Attributes, Out, Progress, Target, counted, plain, unix_time, warn};
use crate::path_arg::is_dash;
use crate::paths::{member, member_of};

/// Arguments of `hyp unpack`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp unpack data.csv.at1                 write data.csv
  hyp unpack *.at1 -o restored            write all files to the folder restored
  hyp unpack log.at1 -c | grep error
  hyp unpack folder.at1/sub/a.csv         write a.csv, one file of the bundle folder.at1
  cat data.csv.at1 | hyp unpack - -o data.csv

hyp names a file once it is complete and its hash matches, and keeps the archive. It unpacks a
bundle into a folder and restores the permissions and times of its files.")]
pub(crate) struct Args {
    /// The archives to unpack; - reads standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,

    #[command(flatten)]
    output: OutputArgs,

    /// Recover the readable lines of damaged archives, and warn of the lost ones
    #[arg(long)]
    salvage: bool,

    #[command(flatten)]
    habits: HabitArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// Unpacks every archive; stops at the first failure.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let mut worst = Status::Fine;
    for path in &args.files {
        if let Some((bundle, name)) = member_of(path).filter(|_| !is_dash(path)) {
            let unpacked = unpack_member(bundle, &name, args, out);
            unpacked.map_err(|failure| failure.in_file(bundle.display()))?;
            continue;
        }
        let input = Input::open(path)?;
        let (name, attributes) = (input.name(), input.attributes_of_content());
        let archive = input.into_archive(&args.read.options())?;
        if args.salvage && archive.codec() != Codec::Bundle {
            let status = salvage(&archive, (&name, path, attributes), args, out);
            worst = worst.max(status.map_err(|failure| failure.in_file(name))?);
            continue;
        }
        unpack_archive(&archive, path, attributes, args, out)
            .map_err(|failure| failure.in_file(name))?;
        drop(archive);
        args.habits.remove_input(path, args.output.stdout)?;
    }
    Ok(worst)
}

/// Unpacks one file of a bundle, to the current folder unless the user named a place.
fn unpack_member(bundle: &Path, name: &str, args: &Args, out: &mut dyn Out) -> Result<()> {
    let archive = Input::open(bundle)?.into_archive(&args.read.options())?;
    let BundleEntry { file, archive } = member(&archive, name)?;
    if args.output.stdout {
        archive.unpack(&mut CountedWriter::new(&mut *out))?;
        return Ok(out.flush()?);
    }
    let last = file.name.rsplit('/').next().unwrap_or(&file.name);
    let is_folder = |output: &Path| args.files.len() > 1 || names_folder(output);
    let target = args.output.path(is_folder, || Ok(PathBuf::from(last)))?;
    let (mode, modified) = (file.mode, file.modified.and_then(unix_time));
    let attributes = Attributes { mode, modified, ..Attributes::default() };
    let place = Target::create(&target, false, args.output.write.force, out)?;
    unpack_file(&archive, place.with_attributes(attributes), &target, args, out)
}

/// Writes the lines that can be read.
fn salvage(
    archive: &Archive,
    (name, path, attributes): (&str, &Path, Attributes),
    args: &Args,
    out: &mut dyn Out,
) -> Result<Status> {
    let target = target_for(path, false, args)?;
    // An undamaged archive is unpacked as usual, so that its hash is checked.
    if archive.unpack(&mut io::sink()).is_ok() {
        unpack_archive(archive, path, attributes, args, out)?;
        return Ok(Status::Fine);
    }
    let file = Target::create(&target, false, args.output.write.force, out)?;
    let file = file.with_attributes(attributes);
    let mut damaged = Vec::new();
    file.stream(out, |sink| {
        damaged = archive.salvage(&mut CountedWriter::new(sink))?;
        Ok(())
    })?;
    warn_of_damage(name, &damaged);
    if damaged.is_empty() {
        let why = "the hash does not match, but no part is known to be damaged";
        warn(format_args!("`{name}`: {why}"));
    }
    Ok(Status::Corrupt)
}

fn unpack_archive(
    archive: &Archive,
    path: &Path,
    attributes: Attributes,
    args: &Args,
    out: &mut dyn Out,
) -> Result<()> {
    let bundle = archive.codec() == Codec::Bundle;
    if args.output.stdout {
        if bundle {
            return Err(Failure::usage("is a bundle of files, which cannot go to standard output"));
        }
        archive.unpack(&mut CountedWriter::new(&mut *out))?;
        out.flush()?;
        return Ok(());
    }
    let target = target_for(path, bundle, args)?;
    if bundle {
        return unpack_bundle(archive, &target, args, out);
    }
    let file = Target::create(&target, false, args.output.write.force, out)?;
    let file = file.with_attributes(attributes);
    unpack_file(archive, file, &target, args, out)
}

/// Returns the path of the content of an archive.
fn target_for(path: &Path, bundle: bool, args: &Args) -> Result<PathBuf> {
    let is_folder = |output: &Path| args.files.len() > 1 || (names_folder(output) && !bundle);
    args.output.path(is_folder, || {
        let is_at1 =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("at1"));
        if is_dash(path) || !is_at1 {
            return Err(Failure::usage("has no .at1 extension to remove: name the output with -o"));
        }
        let target = path.with_extension("");
        // The name `...at1` without its extension is the folder above.
        match target.file_name() {
            Some(_) => Ok(target),
            None => Err(Failure::usage("has no name before .at1: name the output with -o")),
        }
    })
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
        bytes = archive.unpack(&mut CountedWriter::new(sink))?.bytes;
        Ok(())
    })?;
    if !args.output.write.is_quiet() && !is_dash(target) {
        let hash = if archive.hash().is_some() { "hash agrees" } else { "no hash to compare" };
        let place = target.to_string_lossy();
        writeln!(out, "{}: {}, {hash}", plain(&place), counted(bytes, "byte"))?;
    }
    Ok(())
}

/// Maximum length of the path of an entry, including the folder.
const MAX_PATH_BYTES: usize = 1023;

/// Unpacks every entry into `folder`; the library checked that names do not lead outside.
fn unpack_bundle(archive: &Archive, folder: &Path, args: &Args, out: &mut dyn Out) -> Result<()> {
    let entries = archive.bundle()?;
    let is_too_long = |path: &Path| path.as_os_str().len() > MAX_PATH_BYTES;
    if let Some(entry) = entries.iter().find(|entry| is_too_long(&folder.join(&entry.file.name))) {
        let why =
            format!("its path is longer than {MAX_PATH_BYTES} bytes: unpack to another folder");
        return Err(Failure::input(why).in_file(&entry.file.name));
    }
    for BundleEntry { file, archive } in entries {
        let target = folder.join(&file.name);
        create_folders(folder, Path::new(&file.name)).in_file(target.display())?;
        if let Ok(meta) = fs::symlink_metadata(&target)
            && !meta.is_file()
            && !meta.is_dir()
        {
            let why = match meta.is_symlink() {
                true => "is a link, which would lead elsewhere: remove it",
                false => "is not a regular file: remove it",
            };
            return Err(Failure::input(why).in_file(target.display()));
        }
        let (mode, modified) = (file.mode, file.modified.and_then(unix_time));
        let attributes = Attributes { mode, modified, ..Attributes::default() };
        Target::create(&target, false, args.output.write.force, out)
            .map(|target| target.with_attributes(attributes))
            .and_then(|file| unpack_file(&archive, file, &target, args, out))
            .map_err(|failure| failure.in_file(&file.name))?;
    }
    Ok(())
}

/// Creates the folders that the path of an entry is in, one after the other.
///
/// Fails before it creates anything outside of `folder`: a link may lead there.
fn create_folders(folder: &Path, entry: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let root = fs::canonicalize(folder)?;
    let mut place = root.clone();
    for part in entry.parent().into_iter().flat_map(Path::components) {
        place.push(part);
        match fs::create_dir(&place) {
            Err(err) if err.kind() != io::ErrorKind::AlreadyExists => return Err(err.into()),
            _ => place = fs::canonicalize(&place)?,
        }
        if !place.starts_with(&root) {
            let why = "a link leads outside of the folder: refusing to write through it";
            return Err(Failure::input(why));
        }
    }
    Ok(())
}

/// A writer that shows how much was written.
struct CountedWriter<W> {
    out: W,
    progress: Progress,
    written: u64,
}

impl<W: Write> CountedWriter<W> {
    fn new(out: W) -> Self {
        Self { out, progress: Progress::bytes("unpacking", 0), written: 0 }
    }
}

impl<W: Write> Write for CountedWriter<W> {
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

/// Runs of lines that a warning names.
const MAX_NAMED_RUNS: usize = 20;

/// Warns of damaged parts, and names the lines of the original that are lost.
fn warn_of_damage(name: &str, damaged: &[Damage]) {
    for damage in damaged {
        let lines: Vec<String> = damage
            .lines
            .iter()
            .take(MAX_NAMED_RUNS)
            .map(|run| {
                if run.start() == run.end() {
                    run.start().to_string()
                } else {
                    format!("{} to {}", run.start(), run.end())
                }
            })
            .collect();
        let more = if damage.lines.len() > MAX_NAMED_RUNS { ", ..." } else { "" };
        let lost = if lines.is_empty() {
            "left out".to_owned()
        } else {
            let verb = if damage.count() == 1 { "is" } else { "are" };
            let count = counted(damage.count(), "line");
            format!("{count} {verb} left out, {}{more}", lines.join(", "))
        };
        warn(format_args!("`{name}`: {lost}: {}", damage.what));
    }
}
