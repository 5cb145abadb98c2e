//! Packs a folder into a bundle.

use std::cell::Cell;
use std::fs::{self, File, FileType, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use hypostyle::formats::at1::{self, BundleFile, Content, PackedBundle};

use super::{Args, MAX_IN_MEMORY_BYTES, explanation, percent, print_summary, xz_comparison};
use crate::commands::Status;
use crate::failure::{Failure, InFile, Result};
use crate::output::{Attributes, Out, Progress, Target, warn};
use crate::path_arg::{input_name, is_dash};

/// The contents of a folder.
#[derive(Debug, Default)]
struct FolderContents {
    files: Vec<BundleFile>,
    /// Entries that a bundle cannot store, and what they are.
    skipped: Vec<(PathBuf, &'static str)>,
    /// Empty folders.
    empty: Vec<PathBuf>,
}

/// Packs a folder; fails the status if some entries cannot be packed.
pub(super) fn pack(folder: &Path, args: &Args, out: &mut dyn Out) -> Result<Status> {
    let place = args.target(folder)?;
    let mut contents = FolderContents::default();
    contents.walk(folder, "", fs::canonicalize(&place).ok().as_deref())?;
    let FolderContents { mut files, skipped, empty } = contents;
    files.sort_by(|one, other| one.name.cmp(&other.name));
    // Everyone who can read the archive can read every file in it.
    let mode_of_new = files.iter().filter_map(|file| file.mode).reduce(|all, mode| all & mode);
    let mode_of_new = mode_of_new.map(|mode| mode & 0o666);
    let attributes = Attributes { mode_of_new, ..Attributes::default() };
    let target = Target::create(&place, true, args.output.write.force, out)?;
    let target = target.with_attributes(attributes);
    let progress = Progress::steps(&format!("packing {}", input_name(folder)), files.len() as u64);
    let xz_bytes = Cell::new(args.compare.then_some(0));
    let open =
        |file: &BundleFile| content(&folder.join(&file.name), args, &xz_bytes).in_file(&file.name);
    let (archive, packed) =
        at1::pack_bundle(&files, open, &args.options(), |_, _| progress.step())?;
    drop(progress);
    target.stream(out, |sink| Ok(sink.write_all(&archive)?))?;
    for (path, what) in &skipped {
        warn_of(path, &format!("is {what}, which a bundle cannot store: left out"));
    }
    for path in &empty {
        warn_of(path, "is an empty folder, which a bundle cannot store: left out");
    }
    if !args.output.write.is_quiet() {
        let mut lines = summary(&place, &packed, xz_bytes.get(), args);
        for (file, packed) in files.iter().zip(&packed.files).filter(|_| args.explain) {
            lines += &format!("{}: {}\n", file.name, packed.codec);
            lines += &explanation(packed, args.options().codec);
        }
        print_summary(&place, &lines, out)?;
    }
    Ok(if skipped.is_empty() { Status::Fine } else { Status::Failed })
}

impl FolderContents {
    /// Adds the entries of a folder, except `archive`; their names start with `prefix`.
    fn walk(&mut self, folder: &Path, prefix: &str, archive: Option<&Path>) -> Result<()> {
        let before = self.files.len() + self.skipped.len();
        let list = fs::read_dir(folder).in_file(folder.display())?;
        let mut entries = list.collect::<io::Result<Vec<_>>>().in_file(folder.display())?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            let Ok(name) = entry.file_name().into_string() else {
                let why = "its name is not UTF-8, which a bundle requires: rename it";
                return Err(Failure::usage(why).in_file(path.display()));
            };
            let name = format!("{prefix}{name}");
            // The metadata of the entry itself: do not follow links.
            let meta = fs::symlink_metadata(&path).in_file(path.display())?;
            if meta.is_dir() {
                self.walk(&path, &format!("{name}/"), archive)?;
            } else if !meta.is_file() {
                self.skipped.push((path, special_kind(meta.file_type())));
            } else if archive.is_none() || fs::canonicalize(&path).ok().as_deref() != archive {
                self.files.push(described(name, &meta));
            }
        }
        if self.files.len() + self.skipped.len() == before && !prefix.is_empty() {
            self.empty.push(folder.to_owned());
        }
        Ok(())
    }
}

/// Describes an entry that is neither a file nor a folder.
fn special_kind(file: FileType) -> &'static str {
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
#[expect(clippy::unnecessary_wraps, reason = "other systems have no permission bits")]
fn mode(meta: &Metadata) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    Some(meta.permissions().mode())
}

#[cfg(not(unix))]
fn mode(_: &Metadata) -> Option<u32> {
    None
}

/// Reads a file; adds its size in xz to `xz_bytes`, unless the file is too large to know.
fn content(path: &Path, args: &Args, xz_bytes: &Cell<Option<u64>>) -> Result<Content> {
    let mut file = File::open(path)?;
    if args.stream || file.metadata()?.len() > MAX_IN_MEMORY_BYTES {
        xz_bytes.set(None);
        return Ok(Content::Stream(Box::new(file)));
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    if let Some(so_far) = xz_bytes.get() {
        xz_bytes.set(Some(so_far + at1::xz_size(&bytes)?));
    }
    Ok(Content::Whole(bytes))
}

fn warn_of(path: &Path, what: &str) {
    warn(format_args!("`{}` {what}", path.display()));
}

fn summary(place: &Path, packed: &PackedBundle, xz_bytes: Option<u64>, args: &Args) -> String {
    let &PackedBundle { ref files, original, stored } = packed;
    let name = if is_dash(place) { String::new() } else { format!("{}: ", place.display()) };
    let count = match files.len() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let percent = percent(stored, original);
    let mut line = format!("{name}{count}, {original} bytes to {stored}, {percent:.1} %, bundle");
    if args.options().codec.is_queryable() {
        let queryable = files.iter().filter(|file| file.is_queryable).count();
        line += &format!(", {queryable} of them can be queried");
    }
    line + &xz_comparison(stored, xz_bytes, "of each takes", args) + "\n"
}
