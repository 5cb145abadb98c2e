//! What a decoder is given: the streams of one frame and the options to read them.

use crate::streams::{CompressedStream, StreamSet, Streams};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::limits::Limits;

/// One structured frame, with its streams still compressed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DecodeContext<'a> {
    pub(crate) set: &'a StreamSet,
    pub(crate) limits: &'a Limits,
    pub(crate) threads: usize,
    pub(crate) deviations: &'a Deviations,
}

impl DecodeContext<'_> {
    /// Decompresses the streams of these names, and no others.
    pub(super) fn streams(&self, names: &[&str]) -> Result<Streams> {
        self.decompress(|name| names.contains(&name))
    }

    /// Decompresses the streams whose names `wanted` accepts, and no others.
    pub(crate) fn decompress(&self, wanted: impl Fn(&str) -> bool) -> Result<Streams> {
        self.set.decompress(wanted, self.limits, self.threads, self.deviations)
    }

    /// Fails if a description with so many elements of a type would be larger than a header
    /// may be.
    pub(super) fn check_described<T>(&self, count: usize, what: &'static str) -> Result<()> {
        let asked = (count as u64).saturating_mul(size_of::<T>() as u64);
        let limit = self.limits.header_bytes;
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Returns a compressed stream, if the frame has it.
    pub(super) fn compressed(&self, name: &str) -> Option<&CompressedStream> {
        self.set.streams.iter().find(|stream| stream.name == name)
    }

    /// Returns the offset of a stream in the file, which deviations cite.
    pub(super) fn offset_of(&self, name: &str) -> u64 {
        self.compressed(name).map_or(0, |stream| stream.offset)
    }
}
