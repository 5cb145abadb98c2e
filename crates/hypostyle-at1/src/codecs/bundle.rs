//! bundle: several archives under names (§7.9).
//!
//! | stream | content |
//! |---|---|
//! | `manifest` | JSON: an array of objects with `"name"`, `"mode"`, `"modified"` |
//! | `e0`, `e1`, ... | archives, up to the first that is missing or empty |
//!
//! A bundle is unpacked to files, so names must be safe: a name is a relative path that
//! stays inside the folder that it is joined to, on any system.

use std::fmt;

use bytes::Bytes;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::context::DecodeContext;
use super::entry::CodecEntry;
use crate::output::Output;
use hypostyle_core::error::{Error, ErrorKind, Result};

/// The longest name in bytes.
const MAX_NAME_BYTES: usize = 511;

/// The largest number of entries: a set has 256 streams, and one is the manifest.
pub(crate) const MAX_FILES: usize = 255;

/// The name and the metadata of a file in a bundle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BundleFile {
    /// The path that it is unpacked to: relative, with `/` between its parts.
    ///
    /// No part is empty, `.` or `..`, and no character is a backslash, a colon or a control
    /// character. No two files of a bundle have the same path, and none is inside another.
    pub name: String,
    /// Its Unix permissions; only the nine bits of [`BundleFile::MODE`].
    pub mode: Option<u32>,
    /// Its modification time in seconds since 1970-01-01 UTC.
    pub modified: Option<i64>,
}

impl BundleFile {
    /// The permission bits that a bundle stores: read, write and execute.
    pub const MODE: u32 = 0o777;

    /// Returns a file without metadata.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Sets [`BundleFile::mode`], without bits outside [`BundleFile::MODE`].
    #[must_use]
    pub fn with_mode(mut self, mode: Option<u32>) -> Self {
        self.mode = mode.map(|mode| mode & Self::MODE);
        self
    }

    /// Sets [`BundleFile::modified`].
    #[must_use]
    pub fn with_modified(mut self, modified: Option<i64>) -> Self {
        self.modified = modified;
        self
    }
}

pub(super) static ENTRY: CodecEntry = CodecEntry::new(decode);

/// Fails: a bundle is unpacked entry by entry, see [`entries`].
fn decode(_: &DecodeContext<'_>, _: &mut Output<'_>) -> Result<()> {
    Err(Error::unsupported("unpacking a bundle to a single file"))
}

/// An archive in a bundle, not yet opened.
#[derive(Debug)]
pub(crate) struct PackedEntry {
    pub(crate) file: BundleFile,
    /// The stream that contains it.
    pub(crate) stream: String,
    pub(crate) bytes: Bytes,
}

/// Reads the entries of a bundle, and checks their names.
pub(crate) fn entries(context: &DecodeContext<'_>) -> Result<Vec<PackedEntry>> {
    let has = |name: &str| context.set.streams.iter().any(|stream| stream.name == name);
    let present: Vec<String> =
        (0..).map(|index| format!("e{index}")).take_while(|name| has(name)).collect();
    let wanted = |name: &str| name == "manifest" || present.iter().any(|known| known == name);
    let streams = context.decompress(wanted)?;
    let archives: Vec<(String, Bytes)> = present
        .iter()
        .map(|name| (name.clone(), streams.shared(name)))
        .take_while(|(_, bytes)| !bytes.is_empty())
        .collect();
    let in_manifest = |err: Error| err.in_stream("manifest");
    let mut files = files(streams.bytes("manifest"), context).map_err(in_manifest)?;
    if files.len() < archives.len() {
        let why = format!("{} names for {} entries", files.len(), archives.len());
        return Err(in_manifest(Error::malformed("manifest", why)));
    }
    files.truncate(archives.len());
    check(&files).map_err(|why| in_manifest(Error::malformed("name", why)))?;
    let entries = files.into_iter().zip(archives);
    Ok(entries.map(|(file, (stream, bytes))| PackedEntry { file, stream, bytes }).collect())
}

/// Parses the manifest; drops files beyond the largest number of entries.
fn files(manifest: &[u8], context: &DecodeContext<'_>) -> Result<Vec<BundleFile>> {
    let (asked, limit) = (manifest.len() as u64, context.limits.header_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what: "manifest", asked, limit }.into());
    }
    // The message of serde_json may quote any amount of the manifest, so it is not used.
    let Manifest(files) = serde_json::from_slice(manifest).map_err(|err| {
        let why = match err.classify() {
            Category::Data => "is not an array of objects with one `name` each",
            _ => "is not JSON",
        };
        let why = format!("{why}: line {}, column {}", err.line(), err.column());
        Error::malformed("manifest", why)
    })?;
    Ok(files)
}

/// Fails with the reason unless every name is safe, and no two files collide.
pub(crate) fn check(files: &[BundleFile]) -> Result<(), String> {
    for (index, BundleFile { name, .. }) in files.iter().enumerate() {
        if let Some(why) = unsafe_because(name) {
            return Err(format!("that of entry {index} {why}"));
        }
        for BundleFile { name: other, .. } in files.iter().take(index) {
            if other == name {
                return Err(format!("{name:?} is given twice"));
            }
            if is_inside(other, name) || is_inside(name, other) {
                return Err(format!("{name:?} and {other:?} make a file and a folder of one name"));
            }
        }
    }
    Ok(())
}

/// Returns why a name is not safe, or `None` if it is.
pub(crate) fn unsafe_because(name: &str) -> Option<&'static str> {
    let odd = |c: char| c == '\\' || c == ':' || c.is_control();
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > MAX_NAME_BYTES {
        Some("is longer than 511 bytes")
    } else if name.contains(odd) {
        Some("has a backslash, a colon or a control character")
    } else if name.starts_with('/') {
        Some("is an absolute path")
    } else if name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        Some("has a part that is empty, `.` or `..`")
    } else {
        None
    }
}

/// Returns whether `path` is inside the folder `folder`.
fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The files of a manifest.
#[derive(Debug)]
struct Manifest(Vec<BundleFile>);

impl<'de> Deserialize<'de> for Manifest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Objects)
    }
}

struct Objects;

impl<'de> Visitor<'de> for Objects {
    type Value = Manifest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut files = Vec::new();
        // A set without a manifest could have one entry more.
        while files.len() <= MAX_FILES {
            match seq.next_element::<Listed>()? {
                Some(Listed(file)) => files.push(file),
                None => return Ok(Manifest(files)),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Manifest(files))
    }
}

/// An object of a manifest.
struct Listed(BundleFile);

impl<'de> Deserialize<'de> for Listed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Listed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `name`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut name = None;
        let (mut mode, mut modified) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "name" => {
                    if name.replace(map.next_value()?).is_some() {
                        return Err(de::Error::duplicate_field("name"));
                    }
                }
                "mode" => mode = octal(map.next_value()?),
                "modified" => {
                    modified = serde_json::from_str(map.next_value::<&RawValue>()?.get()).ok()
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        let name: String = name.ok_or_else(|| de::Error::missing_field("name"))?;
        Ok(Listed(BundleFile::new(name).with_mode(mode).with_modified(modified)))
    }
}

/// Parses a string of octal digits; other values are ignored.
fn octal(value: &RawValue) -> Option<u32> {
    let digits: String = serde_json::from_str(value.get()).ok()?;
    let all = digits.bytes().all(|digit| digit.is_ascii_digit());
    u32::from_str_radix(&digits, 8).ok().filter(|_| all)
}
