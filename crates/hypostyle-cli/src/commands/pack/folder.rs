//! A folder and all that is in it, as one bundle.

use std::cell::Cell;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hypostyle::formats::at1::{self, BundleFile, Content, PackedBundle};

use super::{Args, WHOLE, compared, explained, share, tell};
use crate::commands::Status;
use crate::failure::{Failure, InFile, Result};
use crate::input::{is_dash, name_of};
use crate::output::{Out, Progress, Target};

/// What is in a folder.
#[derive(Debug, Default)]
struct Found {
    files: Vec<BundleFile>,
    /// What a bundle cannot hold, and what it is.
    left_out: Vec<(PathBuf, &'static str)>,
    /// Folders in which there is nothing.
    empty: Vec<PathBuf>,
}

/// Packs a folder; the status says whether all of it could be packed.
pub(super) fn pack(folder: &Path, args: &Args, out: &mut dyn Out) -> Result<Status> {
    let place = args.target(folder)?;
    let mut found = Found::default();
    found.walk(folder, "", fs::canonicalize(&place).ok().as_deref())?;
    let Found { mut files, left_out, empty } = found;
    files.sort_by(|one, other| one.name.cmp(&other.name));
    let target = Target::create(&place, true, args.force, out)?;
    let progress = Progress::steps(&format!("packing {}", name_of(folder)), files.len() as u64);
    let rival = Cell::new(args.compare.then_some(0));
    let open =
        |file: &BundleFile| content(&folder.join(&file.name), args, &rival).in_file(&file.name);
    let (archive, packed) =
        at1::pack_bundle(&files, open, &args.options(), |_, _| progress.step())?;
    drop(progress);
    target.stream(out, |sink| Ok(sink.write_all(&archive)?))?;
    for (path, what) in &left_out {
        warn(path, &format!("is {what}, which a bundle cannot hold: left out"))?;
    }
    for path in &empty {
        warn(path, "is a folder without files, which a bundle does not keep")?;
    }
    if !args.quiet {
        let mut lines = summary(&place, &packed, rival.get(), args);
        for (file, packed) in files.iter().zip(&packed.files).filter(|_| args.explain) {
            lines += &format!("{}: {}\n", file.name, packed.codec);
            lines += &explained(packed, args.options().codec);
        }
        tell(&place, &lines, out)?;
    }
    Ok(if left_out.is_empty() { Status::Fine } else { Status::Failed })
}

impl Found {
    /// Adds what is in a folder, whose names begin with `prefix`, but not `archive`.
    fn walk(&mut self, folder: &Path, prefix: &str, archive: Option<&Path>) -> Result<()> {
        let before = self.files.len() + self.left_out.len();
        let list = fs::read_dir(folder).in_file(folder.display())?;
        let mut entries = list.collect::<io::Result<Vec<_>>>().in_file(folder.display())?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                let why = "its name is not UTF-8, as it must be in a bundle: rename it";
                return Err(Failure::usage(why).in_file(path.display()));
            };
            let name = format!("{prefix}{name}");
            // Of the entry itself: links are not followed.
            let meta = fs::symlink_metadata(&path).in_file(path.display())?;
            if meta.is_dir() {
                self.walk(&path, &format!("{name}/"), archive)?;
            } else if !meta.is_file() {
                self.left_out.push((path, kind(meta.file_type())));
            } else if archive.is_none() || fs::canonicalize(&path).ok().as_deref() != archive {
                self.files.push(described(name, &meta));
            }
        }
        if self.files.len() + self.left_out.len() == before && !prefix.is_empty() {
            self.empty.push(folder.to_owned());
        }
        Ok(())
    }
}

/// What a file is that is neither a file nor a folder.
fn kind(file: FileType) -> &'static str {
    if file.is_symlink() { "a symbolic link" } else { "a special file" }
}

fn described(name: String, meta: &Metadata) -> BundleFile {
    let seconds = |time: std::time::SystemTime| match time.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok(),
        Err(before) => {
            let before = before.duration();
            let whole = i64::try_from(before.as_secs()).ok()?;
            Some(-whole - i64::from(before.subsec_nanos() > 0))
        }
    };
    BundleFile::new(name)
        .with_mode(mode(meta))
        .with_modified(meta.modified().ok().and_then(seconds))
}

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have no such bits")]
fn mode(meta: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(meta.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// What is in a file; adds to what `xz` takes, if that is wanted and can be known.
fn content(path: &Path, args: &Args, rival: &Cell<Option<u64>>) -> Result<Content> {
    let mut file = File::open(path)?;
    if args.stream || file.metadata()?.len() > WHOLE {
        rival.set(None);
        return Ok(Content::Stream(Box::new(file)));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if let Some(so_far) = rival.get() {
        rival.set(Some(so_far + at1::xz_size(&bytes)?));
    }
    Ok(Content::Whole(bytes))
}

fn warn(path: &Path, what: &str) -> Result<()> {
    Ok(writeln!(io::stderr(), "warning: `{}` {what}", path.display())?)
}

fn summary(place: &Path, packed: &PackedBundle, rival: Option<u64>, args: &Args) -> String {
    let &PackedBundle { ref files, original, stored } = packed;
    let name = if is_dash(place) { String::new() } else { format!("{}: ", place.display()) };
    let count = match files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let percent = share(stored, original);
    let mut line = format!("{name}{count}, {original} bytes to {stored}, {percent:.1} %, bundle");
    if args.options().codec.is_queryable() {
        let asked = files.iter().filter(|file| file.codec.has_groups()).count();
        line += &format!(", {asked} of them can be queried");
    }
    line + &compared(stored, rival, "of each takes", args) + "\n"
}
