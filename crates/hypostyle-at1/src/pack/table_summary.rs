//! Finds out what table a text is while it is packed.

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use bytes::Bytes;

use crate::codec::Codec;
use crate::frame_checksums::{ArchiveChecksums, FrameChecksums};
use crate::pack::options::{Layout, PackOptions};
use crate::pack::row_syntax::RowSyntax;
use crate::pack::stream_set::{Body, Stream, put_set};
use crate::table_frame::{self, FRAME, TABLE};
use crate::table_metadata::{FrameSize, TableMetadata};
use hypostyle_core::error::Result;
use hypostyle_core::text::{self, HEAD_BYTES, TextFormat, TextOptions, TextSummary};
use hypostyle_core::wire::put;

/// Pieces of text that may wait for the thread that summarizes them.
const WAITING_PIECES: usize = 2;

/// Bytes that the stream of a table may take in any archive.
const MAX_TABLE_BYTES: usize = 512;

/// A larger stream of a table may take one part in so many of the archive: decoding a small
/// archive of many columns costs little.
const TABLES_PER_ARCHIVE: usize = 50;

/// Returns the most bytes that the stream of a table may take in an archive of this size.
pub(super) fn max_table_bytes(archive: usize) -> usize {
    MAX_TABLE_BYTES.max(archive / TABLES_PER_ARCHIVE)
}

/// Returns what kind of table a text is; `None` if it is not text.
pub(super) fn table_format(text: &[u8], options: &PackOptions) -> Option<TextFormat> {
    let head = text.get(..HEAD_BYTES.min(text.len())).unwrap_or_default();
    text::detect(options.name.as_deref(), head)
}

/// An input whose first bytes were read before.
type Restarted<R> = io::Chain<io::Cursor<Vec<u8>>, R>;

/// Returns what kind of table an input is, and an input that starts again.
///
/// The first frame may be shorter than what the kind depends on.
pub(super) fn peek_format<R: Read>(
    mut input: R,
    options: &PackOptions,
) -> Result<(Option<TextFormat>, Restarted<R>)> {
    let mut head = Vec::new();
    input.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok((table_format(&head, options), io::Cursor::new(head).chain(input)))
}

/// Returns what table a text is; `None` if it is not text.
pub(super) fn table_metadata(text: &[u8], options: &PackOptions) -> Option<TableMetadata> {
    let format = table_format(text, options)?;
    // A text that cannot be read as a table fails again when the archive is opened.
    let summary = summarize(text, format, options.threads).ok();
    Some(TableMetadata {
        format,
        summary,
        frames: Vec::new(),
        has_spellings: true,
        checksums: None,
    })
}

/// Returns the syntax of the rows of a table whose cells a codec can serve.
pub(super) fn served_syntax(metadata: &TableMetadata) -> Option<RowSyntax> {
    let summary = metadata.summary.as_ref()?;
    RowSyntax::of(metadata.format).filter(|_| summary.rows_are_lines)
}

fn summarize(
    mut input: impl Read,
    format: TextFormat,
    threads: Option<NonZeroUsize>,
) -> Result<TextSummary> {
    let mut options = TextOptions::default();
    options.threads = threads;
    TextSummary::of(&mut input, format, &options)
}

/// Returns the stream of a table, whole or without its summary.
pub(super) fn table_stream(metadata: &TableMetadata) -> Result<Option<Stream>> {
    let Some(content) = metadata.content() else { return Ok(None) };
    Ok(Some(Stream { name: TABLE.into(), body: Body::smallest(&content, Layout::Reference)? }))
}

/// Returns the bytes that the stream of a table takes in an archive.
pub(super) fn table_size(metadata: &TableMetadata) -> Result<usize> {
    Ok(table_stream(metadata)?.map_or(usize::MAX, |stream| stream.written_size()))
}

/// Returns the last frame of a streaming archive; `None` if its codec cannot have one.
pub(super) fn table_frame(codec: Codec, metadata: &TableMetadata) -> Result<Option<Vec<u8>>> {
    let Some(contents) = table_frame::contents(codec) else { return Ok(None) };
    let Some(table) = table_stream(metadata)? else { return Ok(None) };
    let stored = |(name, content): (&'static str, _)| Stream {
        name: name.into(),
        body: Body::stored(content),
    };
    let mut streams: Vec<Stream> = contents.into_iter().map(stored).collect();
    streams.push(table);
    streams.push(stored((FRAME, vec![0; 4])));
    let mut body = vec![0];
    put_set(&streams, Layout::Reference, &mut body);
    let mut frame = Vec::new();
    put::lp(&mut frame, &body);
    let Ok(distance) = u32::try_from(frame.len()) else { return Ok(None) };
    if let Some(end) = frame.last_chunk_mut::<4>() {
        *end = distance.to_le_bytes();
    }
    Ok(Some(frame))
}

/// Summarizes a text on a thread of its own, while it is packed frame by frame.
#[derive(Debug)]
pub(super) struct TextSummarizer {
    format: TextFormat,
    thread: Option<(SyncSender<Bytes>, JoinHandle<Result<TextSummary>>)>,
    frames: Vec<FrameSize>,
    checksums: Vec<Option<FrameChecksums>>,
}

impl TextSummarizer {
    /// Starts to summarize a text of this format.
    pub(super) fn new(format: TextFormat, threads: Option<NonZeroUsize>) -> Self {
        let (sender, receiver) = sync_channel(WAITING_PIECES);
        let pieces = Pieces { receiver, piece: Bytes::new() };
        let thread = thread::spawn(move || summarize(pieces, format, threads));
        Self { format, thread: Some((sender, thread)), frames: Vec::new(), checksums: Vec::new() }
    }

    /// Returns the format of the text.
    pub(super) fn format(&self) -> TextFormat {
        self.format
    }

    /// Adds a piece of the text.
    pub(super) fn push(&mut self, text: &Bytes) {
        // The thread is gone if the text cannot be read as a table.
        if self.thread.as_ref().is_some_and(|(sender, _)| sender.send(text.clone()).is_err()) {
            self.thread = None;
        }
    }

    /// Adds the sizes and the checksums of a frame.
    pub(super) fn push_frame(&mut self, frame: FrameSize, checksums: Option<FrameChecksums>) {
        self.frames.push(frame);
        self.checksums.push(checksums);
    }

    /// Returns the table of all pieces.
    pub(super) fn finish(self) -> TableMetadata {
        let Self { format, thread, frames, checksums } = self;
        let summary = thread.and_then(|(sender, thread)| {
            drop(sender);
            thread.join().ok()?.ok()
        });
        let checksums: Option<Vec<FrameChecksums>> = checksums.into_iter().collect();
        let checksums = checksums.map(ArchiveChecksums::new);
        TableMetadata { format, summary, frames, has_spellings: true, checksums }
    }
}

/// Reads pieces as they arrive.
struct Pieces {
    receiver: Receiver<Bytes>,
    piece: Bytes,
}

impl Read for Pieces {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.piece.is_empty() && !buf.is_empty() {
            match self.receiver.recv() {
                Ok(piece) => self.piece = piece,
                Err(_) => return Ok(0),
            }
        }
        let len = self.piece.len().min(buf.len());
        let bytes = self.piece.split_to(len);
        if let Some(room) = buf.get_mut(..len) {
            room.copy_from_slice(&bytes);
        }
        Ok(len)
    }
}
