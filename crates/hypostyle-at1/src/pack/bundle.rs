//! Packs several files into one bundle (§7.9), each as an archive with the codec that suits
//! it best.

use std::fmt;
use std::io::Read;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::codec::Codec;
use crate::codecs::bundle::{self as reader, BundleFile, MAX_FILES};
use crate::container::{MAGIC, WHOLE};
use crate::pack::driver::{Packed, pack, pack_stream};
use crate::pack::options::{Layout, PackOptions};
use crate::pack::self_check;
use crate::pack::stream_set::{Body, Stream, put_set};
use hypostyle_core::error::{Error, Refusal, Result};

/// The content of a file of a bundle.
#[non_exhaustive]
pub enum Content {
    /// All bytes of the file, which [`pack`] packs.
    Whole(Vec<u8>),
    /// A reader of a file that need not fit in memory, which [`pack_stream`] packs.
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

/// The result of packing a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedBundle {
    /// The result for each file.
    pub files: Vec<Packed>,
    /// Bytes of all originals.
    pub original: u64,
    /// Bytes of the bundle.
    pub stored: u64,
}

/// Packs several files into one archive, in the order of the list.
///
/// Checks the names before it reads the first file. Then calls `open` for one file after
/// the other, so that only one original is in memory at a time, and `done` with the result
/// for each. Folders are only kept as parts of names.
///
/// # Errors
///
/// Fails if there is no file or more than 255, if a name could lead out of a folder or is
/// given twice, and with the published layout, which has no bundles. Also fails if `open`
/// fails, and for the same reasons as [`pack`].
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
    options.check()?;
    check_files(files, options)?;
    let mut streams = Vec::with_capacity(files.len() + 1);
    let mut packed = PackedBundle { files: Vec::new(), original: 0, stored: 0 };
    for (index, file) in files.iter().enumerate() {
        let stream = format!("e{index}");
        let (archive, result) = archive(open(file)?, &options.clone().with_name(Some(&file.name)))
            .map_err(|err| err.in_stream(&stream))?;
        done(file, &result);
        packed.original += result.original;
        packed.files.push(result);
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

/// Fails unless a bundle can hold these files.
fn check_files(files: &[BundleFile], options: &PackOptions) -> Result<()> {
    if options.layout == Layout::Published {
        let why = "the published text has no bundles";
        return Err(Error::refused(Refusal::ConflictingOptions, why, "use the default layout"));
    }
    if files.is_empty() {
        return Err(Error::refused(
            Refusal::Empty,
            "a bundle needs at least one file",
            "name a file",
        ));
    }
    if files.len() > MAX_FILES {
        let why = format!("a bundle holds at most {MAX_FILES} files, not {}", files.len());
        let way_out = "pack the folder in several bundles, or make one file of it with tar";
        return Err(Error::refused(Refusal::TooLarge, why, way_out));
    }
    for BundleFile { name, .. } in files {
        if let Some(why) = reader::unsafe_because(name) {
            let name: String = name.chars().take(80).collect();
            return Err(Error::refused(
                Refusal::UnsafeName,
                format!("the name {name:?} {why}"),
                "rename the file",
            ));
        }
    }
    reader::check(files).map_err(|why| {
        Error::refused(Refusal::DuplicateName, why, "give each file a different name")
    })
}

/// Packs one file.
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

/// Returns the manifest, which names the files.
///
/// Some decoders search for `"name":` and do not parse escapes, so there is no space before
/// the value, and only characters that JSON requires are escaped.
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

/// Reads a bundle and compares it with its files and streams; returns it if they agree.
fn compare(
    bundle: Vec<u8>,
    files: &[BundleFile],
    streams: &[Stream],
    options: &PackOptions,
) -> Result<Vec<u8>> {
    let bundle = Bytes::from(bundle);
    // Each entry was unpacked and compared when it was packed, so compare its bytes only.
    let read = self_check::open(&bundle, options)
        .and_then(|archive| archive.reader().first_structured(reader::entries));
    let read = read.map_err(|err| self_check::failed(format!("the bundle would not open: {err}")));
    let entries = read?.unwrap_or_default();
    let archives = streams.iter().skip(1).map(|stream| &stream.body.bytes);
    let agree = entries
        .iter()
        .map(|entry| (&entry.file, &entry.bytes[..]))
        .eq(files.iter().zip(archives.map(|bytes| &bytes[..])));
    if !agree {
        return Err(self_check::failed("the bundle would not unpack to its files"));
    }
    drop(entries);
    Ok(bundle.into())
}
