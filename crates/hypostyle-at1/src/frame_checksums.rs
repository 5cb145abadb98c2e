//! The checksums of frames, by which a read of a part of an archive finds damage (§11.2).
//!
//! The hash of the trailer is that of the whole text, so it tells nothing about a part. The
//! stream `hyp.table` therefore has two checksums of each frame. A reader of a part reads all
//! streams of a frame but the bulk ones, so that one checksum covers those. The bulk streams have
//! checksums of their parts elsewhere, or are read as a whole and compared with the second one.

#![deny(clippy::arithmetic_side_effects)]

use std::sync::Arc;

use super::codec::Codec;
use super::container::{Extent, Method};
use super::table_frame::TABLE;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::wire::{Crc32, Cursor};

/// The checksums of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FrameChecksums {
    /// Of everything but the payloads of bulk streams.
    pub(super) directory: u32,
    /// Of the payloads of bulk streams, one after the other, or of the body of a raw frame.
    pub(super) bulk: u32,
}

/// The checksums of all frames of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ArchiveChecksums(Arc<[FrameChecksums]>);

/// Computes the checksum of a directory while it is read.
#[derive(Debug)]
pub(super) struct DirectoryHasher(Crc32);

impl DirectoryHasher {
    /// Starts with the codec and the method of a frame.
    pub(super) fn new(codec: Codec, method: Method) -> Self {
        let mut hash = Crc32::default();
        hash.update(&[codec.id(), u8::from(method == Method::Raw)]);
        Self(hash)
    }

    /// Adds the bytes of the stream count.
    pub(super) fn count(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds a stream: the bytes before its payload and, unless it is a bulk stream, its payload.
    pub(super) fn stream(&mut self, name: &str, entry: &[u8], payload: Option<&[u8]>) {
        // The stream that holds the checksum has another one of its own.
        if name != TABLE {
            self.0.update(entry);
            self.0.update(payload.unwrap_or_default());
        }
    }

    pub(super) fn finish(self) -> u32 {
        self.0.finish()
    }
}

impl FrameChecksums {
    /// Computes the checksums of a frame.
    ///
    /// # Errors
    ///
    /// Fails if the body is no stream set with a backend for each stream.
    pub(super) fn of(codec: Codec, method: Method, body: &[u8]) -> Result<Self> {
        let (mut directory, mut bulk) = (DirectoryHasher::new(codec, method), Crc32::default());
        if method == Method::Raw {
            bulk.update(body);
            return Ok(Self { directory: directory.finish(), bulk: bulk.finish() });
        }
        let mut cursor = Cursor::new(body, 0);
        let count = cursor.uv("stream count")?;
        directory.count(between(body, body.len(), cursor.left()));
        for _ in 0..count {
            let before = cursor.left();
            let name_len = cursor.size("stream name length")?;
            let name = cursor.text(name_len, "stream name")?;
            cursor.u8("backend")?;
            let len = cursor.size("stream length")?;
            let entry = between(body, before, cursor.left());
            let payload = cursor.take(len, "stream")?;
            if codec.is_bulk(name) {
                bulk.update(payload);
                directory.stream(name, entry, None);
            } else {
                directory.stream(name, entry, Some(payload));
            }
        }
        Ok(Self { directory: directory.finish(), bulk: bulk.finish() })
    }

    /// Fails unless a frame has these checksums.
    pub(super) fn check(self, codec: Codec, extent: Extent, body: &[u8]) -> Result<()> {
        match Self::of(codec, extent.method, body) {
            Ok(found) if found == self => Ok(()),
            _ => Err(mismatch(extent)),
        }
    }
}

impl ArchiveChecksums {
    pub(super) fn new(frames: Vec<FrameChecksums>) -> Self {
        Self(frames.into())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &FrameChecksums> {
        self.0.iter()
    }

    /// Returns the checksums of a frame.
    ///
    /// # Errors
    ///
    /// Fails if the archive states no checksums of this frame.
    pub(super) fn frame(&self, index: usize, extent: Extent) -> Result<FrameChecksums> {
        self.0.get(index).copied().ok_or_else(|| mismatch(extent))
    }

    /// Fails unless the archive has so many frames.
    pub(super) fn expect_frames(&self, frames: usize) -> Result<()> {
        if frames == self.0.len() {
            return Ok(());
        }
        let why = format!("{} are stated, but {frames} found", self.0.len());
        Err(Error::malformed("frames", why))
    }
}

/// Returns the error for a frame that has other checksums than stated.
pub(super) fn mismatch(extent: Extent) -> Error {
    Error::malformed("frame", "does not match its checksum").at(extent.offset)
}

/// Returns the bytes that a cursor passed: it had `before` bytes left, and has `after` left.
fn between(body: &[u8], before: usize, after: usize) -> &[u8] {
    let place = body.len().saturating_sub(before)..body.len().saturating_sub(after);
    body.get(place).unwrap_or_default()
}
