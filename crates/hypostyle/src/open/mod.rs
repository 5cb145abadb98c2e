//! Opens a file of any kind as a [`Table`].

mod options;

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::file_kind::{FileKind, id_of_text};
use crate::formats;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::reader::InFormat;
use hypostyle_core::scan::Table;
use hypostyle_core::source::{ByteSource, FileSource, RangeCache};
use hypostyle_core::text::{self, SourceText, TextFormat, TextOptions, TextTable};

pub use options::OpenOptions;

/// Opens a file.
///
/// The format is found by the content, and that of text by the content and the extension. The
/// file is read when and where a scan needs it, and must not change meanwhile.
///
/// # Errors
///
/// Fails if the file cannot be read, if it is in no known format, and if its metadata are
/// damaged.
pub fn open(path: impl AsRef<Path>) -> Result<Table> {
    open_with(path, &OpenOptions::default())
}

/// Opens a file with options.
///
/// # Errors
///
/// As [`open`].
pub fn open_with(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Table> {
    let path = path.as_ref();
    let in_file = |cause: io::Error| {
        io::Error::new(cause.kind(), format!("cannot open `{}`: {cause}", path.display()))
    };
    let source = file_source(path).map_err(in_file)?;
    let mut options = options.clone();
    if options.name.is_none() {
        options.name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    }
    open_source(Arc::new(source), &options)
}

/// Opens a path for reading at any offset; a pipe is copied to a temporary file.
fn file_source(path: &Path) -> io::Result<FileSource> {
    let file = File::open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    FileSource::try_new(if kind.is_file() { file } else { copy_of_pipe(file)? })
}

#[cfg(not(target_family = "wasm"))]
fn copy_of_pipe(mut pipe: File) -> io::Result<File> {
    use std::io::Seek;

    let mut copy = tempfile::tempfile()?;
    io::copy(&mut pipe, &mut copy)?;
    copy.rewind()?;
    Ok(copy)
}

/// There are no pipes on WebAssembly, and no temporary files.
#[cfg(target_family = "wasm")]
fn copy_of_pipe(_: File) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Opens the bytes of a file, wherever they are.
///
/// # Errors
///
/// As [`open`].
pub fn open_source(source: Arc<dyn ByteSource>, options: &OpenOptions) -> Result<Table> {
    open_cache(Arc::new(RangeCache::over(source)), options)
}

/// A file of at most this many bytes is read at once.
const SMALL_BYTES: u64 = 16 << 10;

/// The fewest bytes at each end of a remote file that are fetched when it is opened.
const MIN_EDGE_BYTES: u64 = 64 << 10;

/// The share of a remote file that is fetched at each end. The indexes of an archive take some
/// 1 % of it.
const EDGE_FRACTION: u64 = 64;

/// Fetches both ends of a remote file.
///
/// Formats have their metadata at the start or at the end. Fetching both at once saves the
/// round trips of finding them piece by piece.
fn prefetch_ends(source: &RangeCache) -> Result<()> {
    let (size, max) = (source.size(), source.read_cost().max(MIN_EDGE_BYTES));
    let edge = (size / EDGE_FRACTION).clamp(MIN_EDGE_BYTES, max).min(size);
    let tail = size.saturating_sub(edge);
    // What lies between the ends of a small file comes with them, and is kept.
    let head = if tail.saturating_sub(edge) <= source.read_cost() { size } else { edge };
    Ok(source.prefetch(&[0..head, tail..size])?)
}

/// Opens a file through a cache of its byte ranges.
///
/// With a [cache that has no source below](RangeCache::of_size), a caller fetches bytes in any
/// way: this function and the scans say which ranges are missing.
///
/// # Errors
///
/// As [`open`], and with [`MissingRanges`](crate::MissingRanges).
pub fn open_cache(source: Arc<RangeCache>, options: &OpenOptions) -> Result<Table> {
    if source.is_remote() {
        prefetch_ends(&source)?;
    } else if source.size() <= SMALL_BYTES {
        let whole = 0..source.size();
        source.prefetch(std::slice::from_ref(&whole))?;
    }
    let (format, text) = match options.format {
        Some(format) => (format, None),
        None => detect(source.as_ref(), options.name.as_deref())?,
    };
    let kind = FileKind::of(format)?;
    if let Some(text_kind) = kind.text_kind() {
        let text_format = text.unwrap_or_else(|| TextFormat::new(text_kind));
        let (text, options) = (Arc::new(SourceText(source.clone())), text_options(options));
        let open = move || {
            InFormat::open(format, || TextTable::open(text.clone(), text_format, &options, None))
        };
        return Ok(Table::deferred(source, open));
    }
    match (format, kind.format()) {
        #[cfg(feature = "parquet")]
        (FormatId::Parquet, _) => {
            let reader = crate::parquet_file::open(source.clone(), &options.read)?;
            Ok(Table::new(reader, source))
        }
        #[cfg(feature = "arrow")]
        (FormatId::Arrow, _) => {
            let reader = crate::arrow_file::open(source.clone(), &options.read)?;
            Ok(Table::new(reader, source))
        }
        #[cfg(feature = "at1")]
        (FormatId::At1, _) => {
            let archive = formats::at1::Archive::open(source.clone(), &options.read)?;
            // An archive that says nothing about its table is read once to find out.
            let (name, options) = (options.name.clone(), text_options(options));
            Ok(Table::deferred(source, move || archive.table(name.as_deref(), &options)))
        }
        (_, Some(format)) => Ok(Table::new(format.open(source.clone(), &options.read)?, source)),
        (_, None) => Err(Error::unsupported("reading the format").in_format(format)),
    }
}

/// Returns the options for text, with the limits and threads of all formats.
fn text_options(options: &OpenOptions) -> TextOptions {
    let mut text = options.text.clone();
    text.limits = options.read.limits.clone();
    text.threads = text.threads.or(options.read.threads);
    text
}

/// Finds the format of a file by its content and its name.
///
/// # Errors
///
/// Fails with [`ErrorKind::UnknownFormat`] for content that is in no known format, and if the
/// source fails.
pub fn detect_format(source: &dyn ByteSource, name: Option<&str>) -> Result<FormatId> {
    Ok(detect(source, name)?.0)
}

fn detect(source: &dyn ByteSource, name: Option<&str>) -> Result<(FormatId, Option<TextFormat>)> {
    if let Some(format) = formats::detect(source)? {
        return Ok((format.id(), None));
    }
    let len = usize::try_from(source.size()).unwrap_or(usize::MAX).min(text::HEAD_BYTES);
    let head = source.read(0, len)?;
    if let Some(kind) = FileKind::by_magic(&head).filter(|kind| kind.format().is_none()) {
        return Ok((kind.id(), None));
    }
    let extension = name.and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
    match extension.and_then(FileKind::by_extension) {
        Some(kind) if !kind.is_text() => {
            let first = first_bytes(&head);
            let why = format!("has the extension of {kind}, but other content: {first}");
            return Err(ErrorKind::UnknownFormat(why.into()).into());
        }
        _ => {}
    }
    match text::detect(name, &head) {
        Some(format) => Ok((id_of_text(format.kind), Some(format))),
        None => {
            let why = format!("is in no known format: {}", first_bytes(&head));
            Err(ErrorKind::UnknownFormat(why.into()).into())
        }
    }
}

/// Describes the first bytes of a file for a message.
fn first_bytes(head: &Bytes) -> String {
    if head.is_empty() {
        return "it is empty".to_owned();
    }
    let start = head.get(..8.min(head.len())).unwrap_or_default();
    format!("it starts with `{}`", start.escape_ascii())
}
