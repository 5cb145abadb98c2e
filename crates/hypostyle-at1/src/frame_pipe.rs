//! Decodes the text of a frame on a thread, with a bounded number of pieces in memory.
//!
//! WebAssembly has no threads: there, all pieces are decoded before the first is read.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use bytes::Bytes;

use super::container::Extent;
use super::frame_checksums::FrameChecksums;
use super::frames::FrameReader;
use super::unpack::Unpacker;
use hypostyle_core::error::{ErrorKind, Result};

/// Pieces of text that may wait for the reader.
#[cfg(not(target_family = "wasm"))]
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
        let frames = frames.clone();
        let decode = move |pipe: &mut PipeWriter<'_>| {
            Unpacker::new(&frames).checked_frame(extent, checksums, pipe)
        };
        let pieces = deliver(decode)?;
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

/// Runs `decode` on a thread of its own.
#[cfg(not(target_family = "wasm"))]
fn deliver(
    decode: impl FnOnce(&mut PipeWriter<'_>) -> Result<()> + Send + 'static,
) -> Result<Receiver<Delivery>> {
    let (sender, pieces) = std::sync::mpsc::sync_channel(WAITING_PIECES);
    let run = move || {
        let send = |piece| sender.send(piece).is_ok();
        let decoded = decode(&mut PipeWriter(&send));
        // Nobody waits for the end if the reader was dropped.
        let _ = sender.send(decoded.map(|()| None));
    };
    std::thread::Builder::new().name("hypostyle-decode".into()).spawn(run)?;
    Ok(pieces)
}

/// Runs `decode` at once. Its errors are errors of this function, so that a caller can fetch
/// missing bytes and start again.
#[cfg(target_family = "wasm")]
fn deliver(decode: impl FnOnce(&mut PipeWriter<'_>) -> Result<()>) -> Result<Receiver<Delivery>> {
    let (sender, pieces) = std::sync::mpsc::channel();
    decode(&mut PipeWriter(&|piece| sender.send(piece).is_ok()))?;
    let _ = sender.send(Ok(None));
    Ok(pieces)
}

/// Writes to a function that takes pieces, and returns whether anybody waits for more.
struct PipeWriter<'s>(&'s dyn Fn(Delivery) -> bool);

impl Write for PipeWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        if piece.is_empty() {
            return Ok(0);
        }
        if !(self.0)(Ok(Some(Bytes::copy_from_slice(piece)))) {
            // The error ends the decoder; its result goes nowhere.
            return Err(io::Error::other("the reader of the frame was dropped"));
        }
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
