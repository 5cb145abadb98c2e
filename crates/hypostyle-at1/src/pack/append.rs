//! Appends text to a queryable archive (§2.2.1).
//!
//! Frames are independent of each other, so the existing ones are copied and the new ones
//! follow. Only the hash in the trailer covers the whole text. To compute it, the archive is
//! unpacked once, which also verifies it.

use std::io::{self, Read, Write};
use std::ops::Range;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::archive::Archive;
use crate::archive_text::ArchiveText;
use crate::cell_syntax::Syntax;
use crate::codec::Codec;
use crate::codecs;
use crate::codecs::columnar::table::widths;
use crate::codecs::groups::GroupsMeta;
use crate::container::in_at1;
use crate::fields::{self, Dialect};
use crate::frame_checksums::FrameChecksums;
use crate::pack::first_line::FirstLine;
use crate::pack::frame::FrameModel;
use crate::pack::frame_encoder::{FrameEncoder, WrittenFrame};
use crate::pack::groups::qcolumnar::RowFormat;
use crate::pack::lines::FrameSplitter;
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use crate::pack::stream_set::put_trailer;
use crate::pack::table_summary::{TextSummarizer, peek_format, table_format, table_frame};
use crate::table_metadata::FrameSize;
use crate::unpack::Unpacker;
use hypostyle_core::error::{Error, ErrorKind, Refusal, Result, clipped};
use hypostyle_core::source;
use hypostyle_core::text::{BOM, HEAD_BYTES, TextKind};
use hypostyle_core::wire::put;

/// Bytes of the first line of an added text that are compared with the header.
const MAX_HEADER_BYTES: usize = 1 << 20;

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
    /// The first line of the text. If it is a header, an added text may repeat it.
    first_line: FirstLine,
    /// Finds out what table the text is, if it is text.
    table: Option<TextSummarizer>,
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
    /// Fails if the archive is damaged, if its codec stores no rows of a table, and if its text
    /// does not end with a newline.
    pub fn new(archive: &'a Archive, output: W, options: &PackOptions) -> Result<Self> {
        let codec = archive.codec();
        if !codec.has_groups() && codec != Codec::Columnar {
            let why = format!("an archive of codec `{codec}` cannot be appended to");
            let way_out = "unpack it and pack it again with `Choice::Query`";
            return Err(in_at1(Error::refused(Refusal::NotAppendable, why, way_out)));
        }
        options.clone().with_codec(Choice::Query).check()?;
        let mut old = TextObserver { table: summarizer(archive, options)?, ..Default::default() };
        old.unpack(archive)?;
        let original = old.bytes;
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
            Codec::QColumnar | Codec::Columnar => None,
            _ => Some(FrameModel::Json(Some(codec), true)),
        };
        let lines = archive.chunk_lines().filter(|&lines| lines > 0);
        let lines = lines.unwrap_or(options.chunk_lines);
        let syntax = old.table.as_ref().and_then(|table| RowSyntax::of(table.format()));
        // Only the first line of the archive is a header.
        let syntax = syntax.filter(|_| codec == Codec::Columnar).map(RowSyntax::without_header);
        let syntax = match syntax {
            Some(syntax) => first_width(archive)?.map(|width| syntax.with_width(width)),
            None => None,
        };
        let frames = FrameEncoder::with_codec(codec, model, lines).with_table(syntax);
        // A frame that fits no table is raw, because an archive has only one codec.
        let choice = match codec {
            Codec::Columnar => Choice::Query,
            _ => Choice::Only(Codec::Raw),
        };
        let options = options.clone().with_codec(choice).with_chunk_lines(lines);
        let appended = Appended { codec, added: 0, original, stored: 0, frames: (0, 0) };
        let TextObserver { hash, first_line, table, .. } = old;
        Ok(Self {
            archive,
            output,
            options,
            frames,
            hash,
            first_line,
            table,
            open_line: false,
            appended,
        })
    }

    /// Adds a text, in its own frames. May be called several times.
    ///
    /// If the text starts with the header of the archive, that line is left out, so that the
    /// old and the new rows are one table.
    ///
    /// # Errors
    ///
    /// Fails if reading or writing fails, if memory runs out, and if the text before this
    /// one does not end with a newline.
    pub fn add(&mut self, input: impl Read, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        let (format, mut input) = peek_format(input, &self.options)?;
        if self.appended.original == 0 {
            // The archive has no text, so the new text decides what table it is.
            self.table = format.map(|format| TextSummarizer::new(format, self.options.threads));
        }
        let mut splitter = FrameSplitter::default();
        let mut read = 0;
        while let Some(text) = splitter.next(&mut input, self.options.chunk_lines)? {
            let is_first = read == 0;
            read += text.len() as u64;
            let text = Bytes::from(text);
            let header = if is_first { self.repeated_header(&text)? } else { 0 };
            self.add_frame(&text.slice(header..), is_first)?;
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
            if let Some(table) = self.table.take()
                && let Some(frame) = table_frame(self.frames.codec, &table.finish())?
            {
                self.send(&frame)?;
            }
            let mut trailer = Vec::new();
            put_trailer(&self.hash.clone().finalize(), Layout::Reference, &mut trailer);
            self.send(&trailer)?;
        }
        self.output.flush()?;
        Ok(self.appended)
    }

    /// Returns the bytes of the header of the archive at the start of a text.
    ///
    /// Fails if the text starts with another header: the values of its rows belong to other
    /// columns.
    fn repeated_header(&self, text: &[u8]) -> Result<usize> {
        let format = self.table.as_ref().map(TextSummarizer::format);
        let format = format.filter(|format| format.header && self.appended.original > 0);
        let Some(TextKind::Delimited { delimiter }) = format.map(|format| format.kind) else {
            return Ok(0);
        };
        let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        if self.first_line.starts(text) {
            return Ok(text.len().min(end + 1));
        }
        let dialect = Dialect { delimiter: vec![delimiter], quotes: true };
        let names = |line: &[u8]| -> Vec<String> {
            let line = line.strip_prefix(BOM).unwrap_or(line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            dialect.fields(line).into_iter().map(fields::name).collect()
        };
        let line = text.get(..end.min(MAX_HEADER_BYTES)).unwrap_or_default();
        let (ours, theirs) = (names(self.first_line.line().unwrap_or_default()), names(line));
        if ours == theirs {
            return Ok(text.len().min(end + 1));
        }
        // A row whose cell is the name of a column is a header.
        let is_name = |cell: &&String| {
            !cell.is_empty() && cell.parse::<f64>().is_err() && ours.contains(cell)
        };
        if !theirs.iter().any(|cell| is_name(&cell)) {
            return Ok(0);
        }
        let list = |names: &[String]| clipped(&names.join(", "));
        let (theirs, ours) = (list(&theirs), list(&ours));
        let why = format!("its header is `{theirs}`, but that of the archive is `{ours}`");
        let way_out =
            "put its columns in this order; if the line is a row, put the header before it";
        Err(Error::refused(Refusal::OtherHeader, why, way_out))
    }

    /// Adds a frame; `is_first` says whether it is the first one of its text.
    fn add_frame(&mut self, text: &Bytes, is_first: bool) -> Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if is_first && self.open_line {
            let why = "the text before it does not end with a newline, so two lines would \
                       become one";
            return Err(Error::refused(Refusal::OpenLine, why, "add a newline"));
        }
        if self.appended.frames.0 == 0 {
            self.copy_old_frames()?;
        }
        let model = &mut self.frames.model;
        if model.is_none() && self.frames.codec == Codec::QColumnar {
            let format = self.table.as_ref().map(TextSummarizer::format);
            let syntax = format.and_then(RowSyntax::of);
            *model = FrameModel::find(text, syntax, Choice::Only(Codec::QColumnar))?;
        }
        // Only the first line of the archive is a header.
        if let (Some(FrameModel::Table(format)), 1..) = (model, self.appended.original) {
            format.header = false;
        }
        self.first_line.push(text);
        if let Some(table) = &mut self.table {
            table.push(text);
        }
        let encoded = self.frames.encode(text, &self.options)?;
        let WrittenFrame { bytes: frame, is_raw, checksums } = encoded;
        self.send(&frame)?;
        if let Some(table) = &mut self.table {
            table.push_frame(FrameSize::of(frame.len() as u64, text), checksums);
        }
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
            head.extend_from_slice(&framed(end - start));
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

/// Returns the number of fields of the first structured frame of codec columnar; `None` if
/// there is none.
fn first_width(archive: &Archive) -> Result<Option<usize>> {
    archive.reader().first_structured(|context| {
        let streams = context.decompress(|name| ["coltypes", codecs::FIELDS].contains(&name))?;
        Ok(widths(&streams, streams.bytes("coltypes").len()).iter().sum())
    })
}

/// Returns the row format of the first structured frame; `None` if there is none.
fn table_model(archive: &Archive) -> Result<Option<FrameModel>> {
    if !codecs::entry(archive.codec()).groups.is_some_and(|groups| groups.delimited) {
        return Ok(None);
    }
    let meta = archive.reader().first_structured(|context| {
        let streams = context.decompress(|name| name == "meta")?;
        GroupsMeta::read(&streams, "", true, context)
    })?;
    let Some(meta) = meta.filter(|it| it.columns > 0 && !it.delimiter.is_empty()) else {
        return Ok(None);
    };
    let quotes = Syntax::of_delimiter(&meta.delimiter) == Syntax::Csv;
    let dialect = Dialect { delimiter: meta.delimiter, quotes };
    let width = Some(meta.columns);
    Ok(Some(FrameModel::Table(RowFormat { dialect, width, header: false })))
}

/// Returns what finds out what table the text of an archive is; `None` if it is not text, or
/// if there is none.
fn summarizer(archive: &Archive, options: &PackOptions) -> Result<Option<TextSummarizer>> {
    let format = match archive.table_metadata() {
        Ok(Some(table)) => Some(table.format),
        // A damaged stream is replaced, as one that does not exist.
        Ok(None) | Err(_) => {
            let head = ArchiveText::head(archive.reader(), HEAD_BYTES)?;
            if head.is_empty() { None } else { table_format(&head, options) }
        }
    };
    Ok(format.map(|format| TextSummarizer::new(format, options.threads)))
}

/// A writer that keeps the hash, the first line and the last byte of the old text.
#[derive(Default)]
struct TextObserver {
    hash: Sha256,
    bytes: u64,
    newlines: u64,
    table: Option<TextSummarizer>,
    first_line: FirstLine,
    /// Whether the text so far ends without a newline.
    open_line: bool,
}

impl TextObserver {
    /// Unpacks the frames of an archive.
    fn unpack(&mut self, archive: &Archive) -> Result<()> {
        let reader = archive.reader();
        let mut start = reader.container().start;
        let stated = archive.table_metadata().ok().flatten();
        let stated = stated.and_then(|table| table.checksums.as_ref());
        for (index, extent) in reader.extents()?.into_iter().enumerate() {
            let (bytes, newlines) = (self.bytes, self.newlines);
            let checksums = stated.map(|all| all.frame(index, extent)).transpose();
            let checksums = checksums.map_err(in_at1)?;
            Unpacker::new(reader).checked_frame(extent, checksums, self).map_err(in_at1)?;
            let (what, asked, limit) = ("unpacked size", self.bytes, reader.limits().output_bytes);
            if asked > limit {
                return Err(in_at1(ErrorKind::LimitExceeded { what, asked, limit }.into()));
            }
            let end = extent.offset.saturating_add(extent.len);
            let stored = match archive.chunk_lines() {
                Some(_) => end - start,
                // The only frame gets a length and a method.
                None => framed(end - start).len() as u64 + (end - start),
            };
            start = end;
            if let Some(table) = &mut self.table {
                let (bytes, newlines) = (self.bytes - bytes, self.newlines - newlines);
                let checksums = match checksums {
                    Some(checksums) => Some(checksums),
                    // A frame in the form of the published text has none.
                    None => {
                        let body = reader.body(extent).map_err(in_at1)?;
                        FrameChecksums::of(archive.codec(), extent.method, &body).ok()
                    }
                };
                table.push_frame(FrameSize { stored, bytes, newlines }, checksums);
            }
        }
        Ok(())
    }
}

/// Returns the bytes before the stream set of a structured frame of this many bytes.
fn framed(len: u64) -> Vec<u8> {
    let mut head = Vec::new();
    put::uv(&mut head, len + 1);
    head.push(0);
    head
}

impl Write for TextObserver {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.hash.update(text);
        self.bytes += text.len() as u64;
        self.newlines += memchr::memchr_iter(b'\n', text).count() as u64;
        if let Some(table) = &mut self.table {
            table.push(&Bytes::copy_from_slice(text));
        }
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
