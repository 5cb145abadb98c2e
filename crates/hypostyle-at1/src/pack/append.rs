//! Appends text to a queryable archive (§2.2.1).
//!
//! Frames are independent of each other, so the existing ones are copied and the new ones
//! follow. Only the hash in the trailer covers the whole text. To compute it, the archive is
//! unpacked once, which also verifies it.

use std::io::{self, Read, Write};
use std::ops::Range;

use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::cell_syntax::Syntax;
use crate::codec::Codec;
use crate::codecs;
use crate::codecs::entry::TableRows;
use crate::container::in_at1;
use crate::fields::Dialect;
use crate::header_dedup::FirstLine;
use crate::pack::driver::{FrameEncoder, table_format};
use crate::pack::frame::FrameModel;
use crate::pack::groups::qcolumnar::RowFormat;
use crate::pack::lines::FrameSplitter;
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use crate::pack::stream_set::put_trailer;
use crate::unpack::Unpacker;
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::source;
use hypostyle_core::wire::put;

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// The result of appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The codec of the archive.
    pub codec: Codec,
    /// Bytes of text that were added.
    pub added: u64,
    /// Bytes of the original, including the added text.
    pub original: u64,
    /// Bytes of the archive, including the added frames.
    pub stored: u64,
    /// Frames that were added, and how many of them are raw.
    pub frames: (u64, u64),
}

/// Writes a copy of an archive with more text at its end, with memory for a few frames.
///
/// The output is a complete archive once [`Appender::finish`] has returned. Do not replace
/// the old archive before.
#[derive(Debug)]
pub struct Appender<'a, W> {
    archive: &'a Archive,
    output: W,
    options: PackOptions,
    frames: FrameEncoder,
    hash: Sha256,
    /// The first line of delimited text. An added text that repeats it starts with a header.
    first_line: FirstLine,
    /// Whether the text so far ends without a newline.
    open_line: bool,
    appended: Appended,
}

/// Appends an input to an archive, and writes the new archive to `output`.
///
/// An empty input makes `output` a copy of the archive. Calls `progress` after each frame
/// with the bytes that were read from the input and written to the output so far.
///
/// # Errors
///
/// Fails for the same reasons as [`Appender::new`] and [`Appender::add`].
///
/// ```
/// use std::sync::Arc;
/// use hypostyle_core::options::ReadOptions;
/// use hypostyle_at1::{Archive, Choice, PackOptions};
///
/// let options = PackOptions::default().with_codec(Choice::Query);
/// let (old, _) = hypostyle_at1::pack(b"id,city\n1,Oslo\n2,Rome\n", &options)?;
/// let archive = Archive::open(Arc::new(bytes::Bytes::from(old)), &ReadOptions::default())?;
/// let mut new = Vec::new();
/// let appended = hypostyle_at1::append(&archive, &b"3,Nice\n"[..], &mut new, &options, |_, _| {})?;
/// assert_eq!((appended.added, appended.frames), (7, (1, 0)));
/// # Ok::<(), hypostyle_core::error::Error>(())
/// ```
pub fn append(
    archive: &Archive,
    input: impl Read,
    output: impl Write,
    options: &PackOptions,
    progress: impl FnMut(u64, u64),
) -> Result<Appended> {
    let mut appender = Appender::new(archive, output, options)?;
    appender.add(input, progress)?;
    appender.finish()
}

impl<'a, W: Write> Appender<'a, W> {
    /// Unpacks the archive to verify it, without writing anything yet.
    ///
    /// Uses the level, the threads, the rows per group and the index of the options. Frames
    /// have as many lines as the archive says; if it does not say, as the options say.
    ///
    /// # Errors
    ///
    /// Fails if the archive is damaged, if its codec has no row groups, and if its text does
    /// not end with a newline.
    pub fn new(archive: &'a Archive, output: W, options: &PackOptions) -> Result<Self> {
        let codec = archive.codec();
        if !codec.has_groups() {
            let why = format!("an archive of codec `{codec}` has no row groups to append to");
            let way_out = "unpack it and pack it again with `Choice::Query`";
            return Err(in_at1(Error::refused(Refusal::NotAppendable, why, way_out)));
        }
        options.clone().with_codec(Choice::Query).check()?;
        let mut old = TextObserver::default();
        let original = Unpacker::new(archive.reader()).original(&mut old, None)?.bytes;
        if archive.hash().is_some_and(|hash| old.hash.clone().finalize().as_slice() != hash) {
            let why = "the hash does not match the unpacked bytes";
            return Err(in_at1(Error::malformed("trailer", why)));
        }
        if old.open_line {
            let why = "the text of the archive does not end with a newline, so its last line \
                       and the first new line would become one";
            let way_out = "unpack it, add a newline, and pack it again";
            return Err(in_at1(Error::refused(Refusal::OpenLine, why, way_out)));
        }
        let model = match codec {
            Codec::QColumnar if original > 0 => table_model(archive)?,
            Codec::QColumnar => None,
            _ => Some(FrameModel::Json(Some(codec), true)),
        };
        let lines = archive.chunk_lines().filter(|&lines| lines > 0);
        let lines = lines.unwrap_or(options.chunk_lines);
        let frames = FrameEncoder::with_codec(codec, model, lines);
        // A frame that fits no table is raw, because an archive has only one codec.
        let options = options.clone().with_codec(Choice::Only(Codec::Raw)).with_chunk_lines(lines);
        let appended = Appended { codec, added: 0, original, stored: 0, frames: (0, 0) };
        let TextObserver { hash, first_line, .. } = old;
        let open_line = false;
        Ok(Self { archive, output, options, frames, hash, first_line, open_line, appended })
    }

    /// Adds a text, in its own frames. May be called several times.
    ///
    /// If the first line of the text is also the first line of the archive, it is a header
    /// and not a row.
    ///
    /// # Errors
    ///
    /// Fails if reading or writing fails, if memory runs out, and if the text before this
    /// one does not end with a newline.
    pub fn add(&mut self, mut input: impl Read, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        let mut splitter = FrameSplitter::default();
        let mut read = 0;
        while let Some(text) = splitter.next(&mut input, self.options.chunk_lines)? {
            self.add_frame(&text, read == 0)?;
            read += text.len() as u64;
            progress(read, self.appended.stored);
        }
        Ok(())
    }

    /// Writes the trailer of the archive.
    ///
    /// # Errors
    ///
    /// Fails if writing fails.
    pub fn finish(mut self) -> Result<Appended> {
        if self.appended.frames.0 == 0 {
            self.copy(0..self.archive.reader().source().size())?;
        } else {
            let mut trailer = Vec::new();
            put_trailer(&self.hash.clone().finalize(), Layout::Reference, &mut trailer);
            self.send(&trailer)?;
        }
        self.output.flush()?;
        Ok(self.appended)
    }

    /// Adds a frame; `is_first` says whether it is the first one of its text.
    fn add_frame(&mut self, text: &[u8], is_first: bool) -> Result<()> {
        if is_first && self.open_line {
            let why = "the text before it does not end with a newline, so two lines would \
                       become one";
            return Err(Error::refused(Refusal::OpenLine, why, "add a newline"));
        }
        if self.appended.frames.0 == 0 {
            self.copy_old_frames()?;
        }
        let has_header = is_first && self.first_line.starts(text);
        let model = &mut self.frames.model;
        if model.is_none() {
            // The archive has no rows, so the new text decides the dialect.
            let table = table_format(text, &self.options).and_then(RowSyntax::of);
            *model = FrameModel::find(text, table, Choice::Only(Codec::QColumnar))?;
        }
        // If the archive is empty, `FrameModel::find` has looked for a header.
        if let (Some(FrameModel::Table(format)), 1..) = (model, self.appended.original) {
            format.header = has_header;
        }
        self.first_line.push(text);
        let (frame, is_raw) = self.frames.encode(text, &self.options)?;
        self.send(&frame)?;
        self.hash.update(text);
        self.open_line = !text.ends_with(b"\n");
        self.appended.added += text.len() as u64;
        self.appended.original += text.len() as u64;
        self.appended.frames.0 += 1;
        self.appended.frames.1 += u64::from(is_raw);
        Ok(())
    }

    /// Writes the archive without its trailer, as a streaming archive.
    fn copy_old_frames(&mut self) -> Result<()> {
        let container = self.archive.reader().container();
        let (start, end) = (container.start, container.end);
        // Leave out an empty frame: queries would have to skip it.
        let end = if self.appended.original == 0 { start } else { end };
        if self.archive.chunk_lines().is_some() {
            return self.copy(0..end);
        }
        let mut head = self.frames.head.clone();
        if end > start {
            put::uv(&mut head, end - start + 1);
            head.push(0);
        }
        self.send(&head)?;
        self.copy(start..end)
    }

    /// Copies a range of bytes of the archive.
    fn copy(&mut self, mut range: Range<u64>) -> Result<()> {
        while range.start < range.end {
            let len = COPY_BYTES.min(range.end - range.start);
            let piece = source::range(self.archive.reader().source(), range.start, len, "frame");
            self.send(&piece.map_err(in_at1)?)?;
            range.start += len;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.appended.stored += bytes.len() as u64;
        Ok(self.output.write_all(bytes)?)
    }
}

/// Returns the row format of the first structured frame; `None` if there is none.
fn table_model(archive: &Archive) -> Result<Option<FrameModel>> {
    let TableRows::Delimited(read_cells) = codecs::entry(archive.codec()).rows else {
        return Ok(None);
    };
    let cells = archive.reader().first_structured(read_cells)?;
    let Some(cells) = cells.filter(|it| it.columns > 0 && !it.delimiter.is_empty()) else {
        return Ok(None);
    };
    let quotes = Syntax::of_delimiter(&cells.delimiter) == Syntax::Csv;
    let dialect = Dialect { delimiter: cells.delimiter, quotes };
    let width = Some(cells.columns);
    Ok(Some(FrameModel::Table(RowFormat { dialect, width, header: false })))
}

/// A writer that keeps the hash, the first line and the last byte of the old text.
#[derive(Default)]
struct TextObserver {
    hash: Sha256,
    first_line: FirstLine,
    /// Whether the text so far ends without a newline.
    open_line: bool,
}

impl Write for TextObserver {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.hash.update(text);
        self.first_line.push(text);
        if let Some(last) = text.last() {
            self.open_line = *last != b'\n';
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
