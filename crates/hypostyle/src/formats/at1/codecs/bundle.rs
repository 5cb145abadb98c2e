//! bundle: several archives under names (§7.9).
//!
//! | stream | content |
//! |---|---|
//! | `manifest` | JSON: an array of objects with `"name"` |
//! | `e0`, `e1`, ... | archives, up to the first that is missing or empty |
//!
//! A bundle becomes files, so what it calls them matters: a name is a relative
//! path that stays inside the folder it is joined to, on any system.

use std::fmt;

use bytes::Bytes;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::Job;
use crate::error::{Error, ErrorKind, Result};

/// Bytes in a name at most.
const LONGEST: usize = 511;

/// An archive in a bundle.
#[derive(Debug)]
pub(in crate::formats::at1) struct Entry {
    /// A safe relative path with `/` between its parts.
    pub(in crate::formats::at1) name: String,
    /// The stream that it is in.
    pub(in crate::formats::at1) stream: String,
    pub(in crate::formats::at1) bytes: Bytes,
}

/// The entries of a bundle, with all names checked.
pub(in crate::formats::at1) fn entries(job: &Job<'_>) -> Result<Vec<Entry>> {
    let has = |name: &str| job.set.streams.iter().any(|stream| stream.name == name);
    let present: Vec<String> =
        (0..).map(|index| format!("e{index}")).take_while(|name| has(name)).collect();
    let wanted = |name: &str| name == "manifest" || present.iter().any(|known| known == name);
    let streams = job.expand(wanted)?;
    let archives: Vec<(String, Bytes)> = present
        .iter()
        .map(|name| (name.clone(), streams.shared(name)))
        .take_while(|(_, bytes)| !bytes.is_empty())
        .collect();
    let in_manifest = |err: Error| err.in_stream("manifest");
    let names = names(streams.bytes("manifest"), job).map_err(in_manifest)?;
    if names.len() < archives.len() {
        let why = format!("{} names for {} entries", names.len(), archives.len());
        return Err(in_manifest(Error::malformed("manifest", why)));
    }
    let entries = names.into_iter().zip(archives);
    let entries: Vec<Entry> =
        entries.map(|(name, (stream, bytes))| Entry { name, stream, bytes }).collect();
    check(&entries).map_err(in_manifest)?;
    Ok(entries)
}

/// The names in the manifest; those that no set could have entries for are left out.
fn names(manifest: &[u8], job: &Job<'_>) -> Result<Vec<String>> {
    let (asked, limit) = (manifest.len() as u64, job.limits.header_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what: "manifest", asked, limit }.into());
    }
    // What serde_json says may quote any amount of the manifest.
    let Manifest(names) = serde_json::from_slice(manifest).map_err(|err| {
        let why = match err.classify() {
            Category::Data => "is not an array of objects with one `name` each",
            _ => "is not JSON",
        };
        let why = format!("{why}: line {}, column {}", err.line(), err.column());
        Error::malformed("manifest", why)
    })?;
    Ok(names)
}

/// Fails unless each name is a path of its own inside any folder.
fn check(entries: &[Entry]) -> Result<()> {
    for (index, entry) in entries.iter().enumerate() {
        let name = &entry.name;
        if let Some(why) = unsafe_because(name) {
            return Err(Error::malformed("name", format!("that of entry {index} {why}")));
        }
        let others = entries.iter().take(index).map(|other| &other.name);
        for other in others {
            if other == name {
                return Err(Error::malformed("name", format!("{name:?} is given twice")));
            }
            if is_inside(other, name) || is_inside(name, other) {
                let why = format!("{name:?} and {other:?} make a file and a folder of one name");
                return Err(Error::malformed("name", why));
            }
        }
    }
    Ok(())
}

fn unsafe_because(name: &str) -> Option<&'static str> {
    let odd = |c: char| c == '\\' || c == ':' || c.is_control();
    if name.is_empty() {
        Some("is empty")
    } else if name.len() > LONGEST {
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

/// Whether `path` lies in the folder `folder`.
fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// The names of a manifest.
#[derive(Debug)]
struct Manifest(Vec<String>);

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
        /// Streams that a set can have, so names beyond them have no entry.
        const MOST: usize = 256;
        let mut names = Vec::new();
        while names.len() < MOST {
            match seq.next_element::<Name>()? {
                Some(Name(name)) => names.push(name),
                None => return Ok(Manifest(names)),
            }
        }
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Manifest(names))
    }
}

/// The `"name"` of an object.
struct Name(String);

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Members)
    }
}

struct Members;

impl<'de> Visitor<'de> for Members {
    type Value = Name;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `name`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "name" {
                map.next_value::<IgnoredAny>()?;
            } else if found.replace(map.next_value()?).is_some() {
                return Err(de::Error::duplicate_field("name"));
            }
        }
        found.map(Name).ok_or_else(|| de::Error::missing_field("name"))
    }
}
