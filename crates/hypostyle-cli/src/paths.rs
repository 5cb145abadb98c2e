//! The files that the user names: paths, folders and patterns.

use std::fs;
use std::path::{Path, PathBuf};

use hypostyle::formats::at1::{Archive, BundleEntry, Codec};
use hypostyle::projection::nearest;
use hypostyle::{Compression, FileKind};

use crate::failure::{Failure, InFile, Result};
use crate::path_arg::{is_dash, is_url};

/// Returns the files of all arguments, in their order: those of a folder and of a pattern by name.
pub(crate) fn expanded(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        match kind_of(path) {
            PathKind::File => files.push(path.clone()),
            PathKind::Folder => {
                let before = files.len();
                walk(path, &mut files)?;
                if files.len() == before {
                    let why = "is a directory without tables";
                    return Err(Failure::usage(why).in_file(path.display()));
                }
            }
            PathKind::Pattern(pattern) => {
                let wrong = |err: String| Failure::usage(err).in_file(path.display());
                let found = glob::glob(&pattern).map_err(|err| wrong(err.to_string()))?;
                let mut found = found.collect::<Result<Vec<_>, _>>().map_err(|err| {
                    Failure::io("cannot read", err.error()).in_file(err.path().display())
                })?;
                found.retain(|path| path.is_file());
                if found.is_empty() {
                    return Err(wrong("no file matches the pattern".to_owned()));
                }
                files.append(&mut found);
            }
        }
    }
    Ok(files)
}

enum PathKind {
    File,
    Folder,
    Pattern(String),
}

fn kind_of(path: &Path) -> PathKind {
    if is_dash(path) || is_url(path) {
        return PathKind::File;
    }
    match (fs::metadata(path), path.to_str()) {
        (Ok(meta), _) if meta.is_dir() => PathKind::Folder,
        // A file may have such a name.
        (Err(_), Some(text)) if text.contains(['*', '?', '[']) => PathKind::Pattern(text.into()),
        _ => PathKind::File,
    }
}

/// Adds the tables in a folder and the folders in it; a hidden name, and one without an extension
/// of a table, is none.
fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let list = fs::read_dir(folder).in_file(folder.display())?;
    let mut entries = list.collect::<std::io::Result<Vec<_>>>().in_file(folder.display())?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') {
            continue;
        }
        let kind = entry.file_type().in_file(path.display())?;
        if kind.is_dir() {
            walk(&path, files)?;
        } else if is_table(&name) {
            files.push(path);
        }
    }
    Ok(())
}

fn is_table(name: &str) -> bool {
    let inner = Compression::of_name(name).map_or(name, |(_, inner)| inner);
    let extension = inner.rsplit_once('.').map(|(_, extension)| extension);
    let by_extension =
        |extension| extension == "json" || FileKind::by_extension(extension).is_some();
    extension.is_some_and(by_extension)
}

/// Returns the bundle and the member that a path such as `logs.at1/web/a.log` names.
pub(crate) fn member_of(path: &Path) -> Option<(&Path, String)> {
    let bundle = path.ancestors().skip(1).find(|above| above.is_file())?;
    let member = path.strip_prefix(bundle).ok()?;
    Some((bundle, member.to_string_lossy().into_owned()))
}

/// Returns the member of a bundle with this name.
pub(crate) fn member(archive: &Archive, name: &str) -> Result<BundleEntry> {
    if archive.codec() != Codec::Bundle {
        return Err(Failure::input("is not a bundle, so it has no members"));
    }
    let mut entries = archive.bundle()?;
    let Some(found) = entries.iter().position(|entry| entry.file.name == name) else {
        let near = nearest(name, entries.iter().map(|entry| entry.file.name.as_str()));
        let hint = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => "`hyp ls` lists the members".to_owned(),
        };
        return Err(Failure::input(format!("has no member `{name}`")).with_hint(Some(hint)));
    };
    Ok(entries.swap_remove(found))
}

/// Returns the file beside a missing one that the user may have meant.
pub(crate) fn near(missing: &Path) -> Option<String> {
    let name = missing.file_name()?.to_str()?;
    let folder = missing.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<String> = names.collect();
    let found = nearest(name, names.iter().map(String::as_str))?;
    Some(missing.with_file_name(found).display().to_string())
}
