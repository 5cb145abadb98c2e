//! Makes a text of each kind of file.

use std::io::Read;

use hypostyle::Compression;
use hypostyle::formats::at1::{Archive, Codec};
use hypostyle::line_search::{LineMatcher, PartBlocks, WholeText};

use super::arguments::Args;
use super::files::SearchFile;
use crate::failure::{Failure, InFile, Result};
use crate::input::Input;

/// A file that was opened.
pub(super) enum Opened {
    Text(PartBlocks),
    /// The members of a bundle, by name.
    Bundle(Vec<(String, Archive)>),
}

/// Opens a file of any kind, by its content.
pub(super) fn open(file: &SearchFile, matcher: &LineMatcher, args: &Args) -> Result<Opened> {
    let input = Input::open_stored(&file.path, &args.read)?;
    let opened = open_input(input, file, matcher, args);
    opened.map_err(|failure| failure.in_file(&file.name))
}

fn open_input(
    input: Input,
    file: &SearchFile,
    matcher: &LineMatcher,
    args: &Args,
) -> Result<Opened> {
    let head = input.head();
    let is_archive = matches!(head, [b'A', b'T', b'1', 2 | 3, ..]);
    if is_archive {
        let archive = Archive::open(input.into_source()?, &args.read.options())?;
        if archive.codec() == Codec::Bundle {
            return members(&archive, file, args).map(Opened::Bundle);
        }
        if file.member.is_some() {
            return Err(no_bundle());
        }
        return Ok(Opened::Text(self::archive(&archive, matcher, args)?));
    }
    if file.member.is_some() {
        return Err(no_bundle());
    }
    let compression = Compression::of_content(head);
    let read = input.into_read()?;
    let text: Box<dyn Read + Send> = match compression {
        Some(compression) => compression.reader(read)?,
        None => read,
    };
    Ok(Opened::Text(PartBlocks::new(Box::new(WholeText::new(text)))))
}

fn no_bundle() -> Failure {
    Failure::input("is not a bundle, so it has no members")
}

/// Starts to read the text of an archive.
pub(super) fn archive(archive: &Archive, matcher: &LineMatcher, args: &Args) -> Result<PartBlocks> {
    // Lines around those that match may be anywhere.
    let has_context = args.before() > 0 || args.after() > 0;
    let parts = if args.uses_index() && !has_context {
        archive.search(&matcher.required(), matcher.times())?
    } else {
        Box::new(WholeText::new(archive.read()?))
    };
    Ok(PartBlocks::new(parts))
}

/// Returns the members of a bundle that are to be searched.
fn members(bundle: &Archive, file: &SearchFile, args: &Args) -> Result<Vec<(String, Archive)>> {
    let mut members = Vec::new();
    for entry in bundle.bundle()? {
        let name = &entry.file.name;
        let is_named = file.member.as_ref().is_none_or(|member| {
            let rest = name.strip_prefix(member.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        if is_named && args.chooses(name) {
            members.push((format!("{}/{name}", file.name), entry.archive));
        }
    }
    match &file.member {
        Some(member) if members.is_empty() => {
            Err(Failure::input(format!("has no member `{member}`"))).in_file(&file.name)
        }
        _ => Ok(members),
    }
}
