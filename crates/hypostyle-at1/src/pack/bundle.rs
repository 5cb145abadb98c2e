//! Several files as one bundle (§7.9): each an archive of its own, with the codec that
//! suits it best.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::codec::Codec;
use crate::codecs::bundle::{self as reader, BundleFile, MOST};
use crate::container::{MAGIC, WHOLE};
use crate::pack::Packed;
use crate::pack::options::{Layout, PackOptions};
use crate::pack::pack;
use crate::pack::pack_stream;
use crate::pack::stream_set::{Body, Stream, put_set};
use crate::pack::{check, self_check};
use hypostyle_core::error::{Error, Result};

/// What a file of a bundle holds.
#[non_exhaustive]
pub enum Content {
    /// All of its bytes; packed as [`pack`] does it.
    Whole(Vec<u8>),
    /// Bytes that need not fit in memory; packed as [`pack_stream`] does it.
    Stream(Box<dyn Read>),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(bytes) => write!(f, "Whole({} bytes)", bytes.len()),
            Self::Stream(_) => f.write_str("Stream(..)"),
        }
    }
}

/// What came of packing a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBundle {
    /// What came of each file.
    pub files: Vec<Packed>,
    /// Bytes of all originals.
    pub original: u64,
    /// Bytes of the bundle.
    pub stored: u64,
}

/// Packs several files into one archive, in the order in which they are listed.
///
/// Names are checked before the first file is read. `open` then gives the content of
/// one file after the other, so that one original at a time is in memory, and what has
/// been packed. `done` hears what came of each. Folders are not kept but in names.
///
/// # Errors
///
/// No file or more than 255, a name that could lead out of a folder or is given twice,
/// the published layout, which has no bundles; what `open` fails with; else as [`pack`].
///
/// ```
/// use hypostyle_at1::{BundleFile, Content, PackOptions};
///
/// let files = [BundleFile::new("a.csv"), BundleFile::new("notes/b.txt")];
/// let open = |file: &BundleFile| {
///     Ok::<_, hypostyle_core::error::Error>(Content::Whole(file.name.clone().into_bytes()))
/// };
/// let (archive, packed) =
///     hypostyle_at1::pack_bundle(&files, open, &PackOptions::default(), |_, _| {})?;
/// assert_eq!((packed.files.len(), packed.original), (2, 16));
/// assert_eq!(packed.stored, archive.len() as u64);
/// # Ok::<(), hypostyle_core::error::Error>(())
/// ```
pub fn pack_bundle<E: From<Error>>(
    files: &[BundleFile],
    mut open: impl FnMut(&BundleFile) -> Result<Content, E>,
    options: &PackOptions,
    mut done: impl FnMut(&BundleFile, &Packed),
) -> Result<(Vec<u8>, PackedBundle), E> {
    check(options)?;
    check_files(files, options)?;
    let mut streams = Vec::with_capacity(files.len() + 1);
    let mut packed = PackedBundle { files: Vec::new(), original: 0, stored: 0 };
    for (index, file) in files.iter().enumerate() {
        let stream = format!("e{index}");
        let one = archive(open(file)?, options).map_err(|err| err.in_stream(&stream));
        let (archive, one) = one?;
        done(file, &one);
        packed.original += one.original;
        packed.files.push(one);
        streams.push(Stream { name: stream.into(), body: Body::stored(archive) });
    }
    let manifest = Body::smallest(manifest(files, &packed.files).as_bytes(), options.layout)?;
    streams.insert(0, Stream { name: "manifest".into(), body: manifest });
    let mut bundle = MAGIC.to_vec();
    bundle.extend_from_slice(&[WHOLE, Codec::Bundle.id()]);
    put_set(&streams, options.layout, &mut bundle);
    let bundle = compare(bundle, files, &streams, options)?;
    packed.stored = bundle.len() as u64;
    Ok((bundle, packed))
}

/// Fails unless these files can be a bundle.
fn check_files(files: &[BundleFile], options: &PackOptions) -> Result<()> {
    if options.layout == Layout::Published {
        let why = "the published text has no bundles";
        return Err(Error::refused(why, "leave the layout as it is by default"));
    }
    if files.is_empty() {
        return Err(Error::refused("there is no file", "a bundle holds one at least"));
    }
    if files.len() > MOST {
        let why = format!("{} files, and a bundle holds {MOST} at most", files.len());
        let way_out = "pack parts of the folder one by one, or make one file of it with tar";
        return Err(Error::refused(why, way_out));
    }
    for BundleFile { name, .. } in files {
        if let Some(why) = reader::unsafe_because(name) {
            let name: String = name.chars().take(80).collect();
            return Err(Error::refused(format!("the name {name:?} {why}"), "rename the file"));
        }
    }
    reader::check(files).map_err(|why| Error::refused(why, "give each file a name of its own"))
}

/// The archive of one file.
fn archive(content: Content, options: &PackOptions) -> Result<(Vec<u8>, Packed)> {
    match content {
        Content::Whole(bytes) => pack(&bytes, options),
        Content::Stream(input) => {
            let mut archive = Vec::new();
            let packed = pack_stream(input, &mut archive, options, |_, _| {})?;
            Ok((archive, packed))
        }
    }
}

/// What names the files. Some decoders look for `"name":` and know no escapes, so
/// that nothing stands between the two, and no letter is escaped that need not be.
fn manifest(files: &[BundleFile], packed: &[Packed]) -> String {
    let object = |(file, packed): (&BundleFile, &Packed)| {
        let mut object = Map::new();
        object.insert("name".into(), file.name.clone().into());
        object.insert("bytes".into(), packed.original.into());
        if let Some(mode) = file.mode {
            object.insert("mode".into(), format!("{:04o}", mode & BundleFile::MODE).into());
        }
        if let Some(modified) = file.modified {
            object.insert("modified".into(), modified.into());
        }
        Value::Object(object)
    };
    Value::Array(files.iter().zip(packed).map(object).collect()).to_string()
}

/// Reads a bundle again: it must name these files, and hold these streams.
fn compare(
    bundle: Vec<u8>,
    files: &[BundleFile],
    streams: &[Stream],
    options: &PackOptions,
) -> Result<Vec<u8>> {
    let bundle = Bytes::from(bundle);
    // Each entry was unpacked when it was made, so that its bytes are enough.
    let read = self_check::open(&bundle, options)
        .and_then(|archive| archive.reader().first_structured(reader::entries));
    let read =
        read.map_err(|err| Error::invalid_argument(format!("the bundle would not open: {err}")))?;
    let entries = read.unwrap_or_default();
    let archives = streams.iter().skip(1).map(|stream| &stream.body.bytes);
    let agree = entries
        .iter()
        .map(|entry| (&entry.file, &entry.bytes[..]))
        .eq(files.iter().zip(archives.map(|bytes| &bytes[..])));
    if !agree {
        return Err(Error::invalid_argument("the bundle would not unpack to its files"));
    }
    drop(entries);
    Ok(bundle.into())
}
