//! Decodes the frames of an archive into the original text.

use std::io::Write;

use bytes::Bytes;

use super::codecs;
use super::container::{Extent, Method, in_at1};
use super::frame_checksums::FrameChecksums;
use super::frames::FrameReader;
use super::output::Output;
use hypostyle_core::error::Result;

/// The result of unpacking an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// The number of bytes of the original.
    pub bytes: u64,
    /// Whether the archive has a hash; if it does, the unpacked bytes match it.
    pub hash_agreed: bool,
}

/// Decodes the frames of one archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unpacker<'a> {
    frames: &'a FrameReader,
}

impl<'a> Unpacker<'a> {
    /// Returns an unpacker for all frames of an archive.
    pub(super) fn new(frames: &'a FrameReader) -> Self {
        Self { frames }
    }

    /// Writes the original bytes, and compares their hash with `hash` if there is one.
    pub(super) fn original(&self, out: &mut dyn Write, hash: Option<[u8; 32]>) -> Result<Unpacked> {
        let mut limits = self.frames.limits().clone();
        if let Some(budget) = self.frames.budget() {
            limits.output_bytes = budget.left(limits.output_bytes);
        }
        let mut output = Output::new(out, hash.is_some(), &limits);
        self.frames.for_each(|extent, body| self.put_frame(extent, body, &mut output))?;
        let bytes = output.finish(hash.as_ref()).map_err(in_at1)?;
        if let Some(budget) = self.frames.budget() {
            budget.spend(bytes);
        }
        Ok(Unpacked { bytes, hash_agreed: hash.is_some() })
    }

    /// Writes the text of one frame.
    pub(super) fn frame(&self, extent: Extent, out: &mut dyn Write) -> Result<()> {
        self.checked_frame(extent, None, out)
    }

    /// Writes the text of one frame, after a comparison with its checksums if they are known.
    pub(super) fn checked_frame(
        &self,
        extent: Extent,
        checksums: Option<FrameChecksums>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let body = self.frames.body(extent)?;
        if let Some(checksums) = checksums {
            checksums.check(self.frames.codec(), extent, &body)?;
        }
        let mut output = Output::new(out, false, self.frames.limits());
        self.put_frame(extent, &body, &mut output)?;
        output.finish(None).map(|_| ())
    }

    fn put_frame(&self, extent: Extent, body: &Bytes, output: &mut Output<'_>) -> Result<()> {
        match extent.method {
            Method::Raw => output.put(&self.frames.raw_text(extent, body)?),
            Method::Structured => {
                let set = self.frames.stream_set(extent, body)?;
                (codecs::entry(self.frames.codec()).decode)(&self.frames.context(&set), output)
            }
        }
    }
}
