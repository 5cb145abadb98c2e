//! Decodes the text of a frame on a thread, with a bounded number of pieces in memory.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use bytes::Bytes;

use super::container::Extent;
use super::frame_checksums::FrameChecksums;
use super::frames::FrameReader;
use super::unpack::Unpacker;
use hypostyle_core::error::{ErrorKind, Result};

/// Pieces of text that may wait for the reader.
const WAITING_PIECES: usize = 4;

/// The most bytes of a piece.
const PIECE_BYTES: usize = 1 << 20;

/// A frame that is being decoded.
///
/// Decoders write their output and cannot pause. A thread of its own lets a frame of any
/// size be read in bounded memory.
#[derive(Debug)]
pub(super) struct FramePipe {
    pieces: Receiver<Delivery>,
}

/// A piece of text, or `None` after the last piece of the frame.
type Delivery = Result<Option<Bytes>>;

impl FramePipe {
    /// Starts to decode a frame; compares it with its checksums first if they are known.
    pub(super) fn start(
        frames: &Arc<FrameReader>,
        extent: Extent,
        checksums: Option<FrameChecksums>,
    ) -> Result<Self> {
        let (sender, pieces) = sync_channel(WAITING_PIECES);
        let frames = frames.clone();
        let decode = move || {
            let mut pipe = PipeWriter(&sender);
            let decoded = Unpacker::new(&frames).checked_frame(extent, checksums, &mut pipe);
            // Nobody waits for the end if the reader was dropped.
            let _ = sender.send(decoded.map(|()| None));
        };
        thread::Builder::new().name("hypostyle-decode".into()).spawn(decode)?;
        Ok(Self { pieces })
    }

    /// Returns the next piece; `None` at the end of the frame.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>> {
        match self.pieces.recv() {
            Ok(delivery) => delivery,
            Err(_) => Err(ErrorKind::Internal("a decoding thread panicked".into()).into()),
        }
    }
}

struct PipeWriter<'s>(&'s SyncSender<Delivery>);

impl Write for PipeWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        if piece.is_empty() {
            return Ok(0);
        }
        let sent = self.0.send(Ok(Some(Bytes::copy_from_slice(piece))));
        // The error ends the decoder; its result goes nowhere.
        sent.map_err(|_| io::Error::other("the reader of the frame was dropped"))?;
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
