//! Text added to an archive that can be queried (§2.2.1).
//!
//! Frames know nothing of each other, so those that are there stay as they are, and
//! the new ones follow. Only the hash at the end is over all of the text: the old
//! part is unpacked for it once, which also shows that it is sound.

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
use crate::pack::Frames;
use crate::pack::check;
use crate::pack::frame::FrameModel;
use crate::pack::groups::qcolumnar::Cut;
use crate::pack::lines::Lines;
use crate::pack::options::{Choice, Layout, PackOptions};
use crate::pack::stream_set::put_trailer;
use crate::unpack::Unpacker;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::source;
use hypostyle_core::wire::put;

/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// What came of appending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The codec, which stays the same.
    pub codec: Codec,
    /// Bytes of text that were added.
    pub added: u64,
    /// Bytes of the original, with what was added.
    pub original: u64,
    /// Bytes of the archive, with what was added.
    pub stored: u64,
    /// Frames that were added, and how many of them have no structure.
    pub frames: (u64, u64),
}

/// Writes an archive again, with more text at its end.
///
/// Takes memory for a few frames. What is written is an archive once
/// [`Appender::finish`] has returned, and must not take the old one's place before.
#[derive(Debug)]
pub struct Appender<'a, W> {
    archive: &'a Archive,
    output: W,
    options: PackOptions,
    frames: Frames,
    hash: Sha256,
    /// The first line of delimited text: above a text that is added it is no row.
    names: FirstLine,
    /// Whether the text so far ends in the middle of a line.
    open: bool,
    appended: Appended,
}

/// Adds what comes out of `input` to an archive, and writes the whole to `output`.
///
/// Nothing to add makes `output` a copy of the archive. `progress` hears how many
/// bytes have been read of the input, and written.
///
/// # Errors
///
/// As [`Appender::new`] and [`Appender::add`].
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
    /// Unpacks the archive to see that it is sound; nothing is written yet.
    ///
    /// Of the options the level, the threads, the rows of a group and the index
    /// matter; frames get as many lines as the archive says, or else the options.
    ///
    /// # Errors
    ///
    /// Besides damage: a codec that has no row groups, and a text that ends in the
    /// middle of a line.
    pub fn new(archive: &'a Archive, output: W, options: &PackOptions) -> Result<Self> {
        let codec = archive.codec();
        if !codec.has_groups() {
            let why = format!("the archive has codec {codec}, to which nothing can be appended");
            let way_out = "unpack it and pack it again for queries (`hyp pack --query`)";
            return Err(in_at1(Error::refused(why, way_out)));
        }
        check(&options.clone().with_codec(Choice::Query))?;
        let mut seen = Seen::default();
        let original = Unpacker::new(archive.reader()).original(&mut seen, None)?.bytes;
        if archive.hash().is_some_and(|hash| seen.hash.clone().finalize().as_slice() != hash) {
            let why = "the hash of the unpacked bytes does not match";
            return Err(in_at1(Error::malformed("trailer", why)));
        }
        if seen.open {
            let why = "its text does not end with a newline, so that its last line and the \
                       first new one would become one";
            let way_out = "unpack it, end the line, and pack it again";
            return Err(in_at1(Error::refused(why, way_out)));
        }
        let model = match codec {
            Codec::QColumnar if original > 0 => table(archive)?,
            Codec::QColumnar => None,
            _ => Some(FrameModel::Json(Some(codec), true)),
        };
        let lines = archive.chunk_lines().filter(|&lines| lines > 0);
        let lines = lines.unwrap_or(options.chunk_lines);
        let frames = Frames::of(codec, model, lines);
        // What fits no table is stored as it is, and not by columns of another codec.
        let options = options.clone().with_codec(Choice::Only(Codec::Raw)).with_chunk_lines(lines);
        let appended = Appended { codec, added: 0, original, stored: 0, frames: (0, 0) };
        let Seen { hash, names, .. } = seen;
        Ok(Self { archive, output, options, frames, hash, names, open: false, appended })
    }

    /// Adds a text, in frames of its own.
    ///
    /// Its first line is no row if it is the first line of the archive too: the
    /// names of the columns once more. May be called again for more texts.
    ///
    /// # Errors
    ///
    /// When reading or writing fails, when memory runs out, and if a text follows
    /// one that ends in the middle of a line.
    pub fn add(&mut self, mut input: impl Read, mut progress: impl FnMut(u64, u64)) -> Result<()> {
        let mut lines = Lines::default();
        let mut read = 0;
        while let Some(text) = lines.next(&mut input, self.options.chunk_lines)? {
            self.frame(&text, read == 0)?;
            read += text.len() as u64;
            progress(read, self.appended.stored);
        }
        Ok(())
    }

    /// Writes the end of the archive.
    ///
    /// # Errors
    ///
    /// When writing fails.
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

    /// Adds a frame, the first of a text or a later one.
    fn frame(&mut self, text: &[u8], first: bool) -> Result<()> {
        if first && self.open {
            let why = "the text before it does not end with a newline, so that two lines \
                       would become one";
            return Err(Error::refused(why, "end the line"));
        }
        if self.appended.frames.0 == 0 {
            self.start()?;
        }
        let named = first && self.names.starts(text);
        let model = &mut self.frames.model;
        if model.is_none() {
            // There was no row yet to tell how the text is cut.
            *model = FrameModel::find(text, Choice::Only(Codec::QColumnar))?;
        }
        // The very first line may hold names, as in any table.
        if let (Some(FrameModel::Table(cut)), 1..) = (model, self.appended.original) {
            cut.header = named;
        }
        self.names.push(text);
        let (frame, raw) = self.frames.frame(text, &self.options)?;
        self.send(&frame)?;
        self.hash.update(text);
        self.open = !text.ends_with(b"\n");
        self.appended.added += text.len() as u64;
        self.appended.original += text.len() as u64;
        self.appended.frames.0 += 1;
        self.appended.frames.1 += u64::from(raw);
        Ok(())
    }

    /// Writes what was there before, but for its trailer.
    fn start(&mut self) -> Result<()> {
        let container = self.archive.reader().container();
        let (start, end) = (container.start, container.end);
        // A frame of nothing would only be in the way of queries.
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

    /// Copies bytes of the archive as they are.
    fn copy(&mut self, mut range: Range<u64>) -> Result<()> {
        while range.start < range.end {
            let len = PIECE.min(range.end - range.start);
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

/// How the first structured frame cuts lines; `None` if there is none.
fn table(archive: &Archive) -> Result<Option<FrameModel>> {
    let TableRows::Delimited(read_cells) = codecs::entry(archive.codec()).rows else {
        return Ok(None);
    };
    let cells = archive.reader().first_structured(read_cells)?;
    let Some(cells) = cells.filter(|it| it.columns > 0 && !it.delimiter.is_empty()) else {
        return Ok(None);
    };
    let quotes = Syntax::of_delimiter(&cells.delimiter) == Syntax::Csv;
    let dialect = Dialect { delimiter: cells.delimiter, quotes };
    Ok(Some(FrameModel::Table(Cut { dialect, width: Some(cells.columns), header: false })))
}

/// Takes the old text, and keeps what must be known of it.
#[derive(Default)]
struct Seen {
    hash: Sha256,
    names: FirstLine,
    /// Whether the text so far ends in the middle of a line.
    open: bool,
}

impl Write for Seen {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.hash.update(text);
        self.names.push(text);
        if let Some(last) = text.last() {
            self.open = *last != b'\n';
        }
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
