//! Which files are searched: those that are named, and those in folders.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::arguments::Args;
use crate::failure::{Failure, Result};
use crate::path_arg::{input_name, is_dash, is_url};
use crate::paths::member_of;

/// A file to search.
#[derive(Debug)]
pub(super) struct SearchFile {
    pub(super) path: PathBuf,
    /// The name as it is printed.
    pub(super) name: String,
    /// Whether the file was found in a folder or by a glob.
    pub(super) is_in_folder: bool,
    /// The path of a member, if the file is a bundle of which only that is searched.
    pub(super) member: Option<String>,
}

/// Lists the files that words stand for, and the words for which there is none.
pub(super) fn list(words: &[OsString], args: &Args) -> Result<(Vec<SearchFile>, Vec<Failure>)> {
    let (mut files, mut problems) = (Vec::new(), Vec::new());
    if words.is_empty() {
        files.push(file(Path::new("-"), false));
    }
    for word in words {
        let path = Path::new(word);
        if is_dash(path) || is_url(path) {
            files.push(file(path, false));
            continue;
        }
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => walk(path, path, args, &mut files, &mut problems),
            Ok(_) => files.push(file(path, false)),
            Err(cause) => match (member_of(path), globbed(word)) {
                (Some((bundle, member)), _) => {
                    let member = Some(member);
                    files.push(SearchFile { member, ..file(bundle, true) });
                }
                (None, Some(found)) => {
                    for path in found {
                        if path.is_dir() {
                            walk(&path, &path, args, &mut files, &mut problems);
                        } else {
                            files.push(file(&path, true));
                        }
                    }
                }
                (None, None) => {
                    problems.push(Failure::io("cannot open", &cause).in_file(path.display()));
                }
            },
        }
    }
    Ok((files, problems))
}

fn file(path: &Path, is_in_folder: bool) -> SearchFile {
    let name = if is_dash(path) { "(standard input)".to_owned() } else { input_name(path) };
    SearchFile { path: path.to_owned(), name, is_in_folder, member: None }
}

/// Adds the files in a folder, in the order of their names. Links are not followed.
fn walk(
    folder: &Path,
    root: &Path,
    args: &Args,
    files: &mut Vec<SearchFile>,
    problems: &mut Vec<Failure>,
) {
    let entries = fs::read_dir(folder).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(cause) => {
            problems.push(Failure::io("cannot read", &cause).in_file(folder.display()));
            return;
        }
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => walk(&path, root, args, files, problems),
            Ok(kind) if kind.is_file() => {
                let below = path.strip_prefix(root).unwrap_or(&path);
                if args.chooses(&below.to_string_lossy()) {
                    files.push(file(&path, true));
                }
            }
            _ => {}
        }
    }
}

/// Returns the files that a quoted glob stands for; `None` if it is no glob, or stands for none.
fn globbed(word: &OsStr) -> Option<Vec<PathBuf>> {
    let text = word.to_str().filter(|text| text.contains(['*', '?', '[']))?;
    let found: Vec<PathBuf> = glob::glob(text).ok()?.filter_map(Result::ok).collect();
    (!found.is_empty()).then_some(found)
}
