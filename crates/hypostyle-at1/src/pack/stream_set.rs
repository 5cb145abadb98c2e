//! Compresses content into bodies and streams, and writes stream sets and trailers (§2).

use std::borrow::Cow;

use bytes::Bytes;
use sha2::Sha256;
use sha2::digest::Output;

use crate::container::TRAILER_MAGIC;
use crate::pack::context::EncodeContext;
use crate::pack::options::Layout;
use crate::pack::sample::spaced_pieces;
use crate::pack::search::SearchParams;
use crate::streams::{Backend, CompressedStream};
use hypostyle_core::compress::xz::encode::{self as xz, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Content of at most this many bytes is compressed with every backend.
const MAX_SMALL_BYTES: usize = 4 << 10;

/// Pieces of longer content by which tunings are compared, and the bytes of each.
const TUNING_PIECES: usize = 3;
const TUNING_PIECE_BYTES: usize = 128 << 10;

/// If the pieces compress to fewer bytes, a low effort is enough.
const MAX_QUICK_BYTES: f64 = 384.0;

/// If xz leaves fewer bytes, zstd may leave even less.
const MAX_ZSTD_BYTES: usize = 1 << 10;

/// The bytes of an empty xz stream, and some more; a smaller body is not tried with xz.
const MIN_XZ_BYTES: usize = 48;

/// The tunings to try for a stream unless the encoder knows better.
pub(super) const TUNINGS: &[Tuning] =
    &[Tuning::flat(3), Tuning::flat(0), Tuning::flat(4), Tuning::flat(1), Tuning::pairs(0)];

/// Compressed bytes, and the backend that compressed them.
#[derive(Debug)]
pub(super) struct Body {
    backend: Backend,
    pub(super) bytes: Vec<u8>,
}

impl Body {
    pub(super) fn xz(bytes: Vec<u8>) -> Self {
        Self { backend: Backend::Xz, bytes }
    }

    pub(super) fn zstd(bytes: Vec<u8>) -> Self {
        Self { backend: Backend::Zstd, bytes }
    }

    pub(super) fn stored(bytes: Vec<u8>) -> Self {
        Self { backend: Backend::Stored, bytes }
    }

    /// Decompresses the body.
    pub(super) fn content(&self) -> Result<Bytes> {
        let bytes = Bytes::copy_from_slice(&self.bytes);
        let stream =
            CompressedStream { name: String::new(), backend: self.backend, offset: 0, bytes };
        let limits = Limits::default().with_block_bytes(u64::MAX);
        stream.decompress(&limits, 1, &Deviations::new(false))
    }

    /// Returns the shorter of two bodies.
    pub(super) fn min(self, other: Self) -> Self {
        if other.bytes.len() < self.bytes.len() { other } else { self }
    }

    /// Compresses small content with every backend, and returns the smallest body.
    pub(super) fn smallest(content: &[u8], layout: Layout) -> Result<Self> {
        let xz = || Ok::<_, Error>(Self::xz(xz::compress(content, Tuning::flat(3))?));
        if layout == Layout::Published {
            return xz();
        }
        let best = Self::stored(content.to_vec()).min(Self::zstd(zstd::compress(content, 19)?));
        if best.bytes.len() > MIN_XZ_BYTES { Ok(best.min(xz()?)) } else { Ok(best) }
    }

    /// Compresses content of any size with the best of [`TUNINGS`].
    pub(super) fn fitted(content: &[u8], search: &SearchParams) -> Result<Self> {
        Self::fitted_among(content, TUNINGS, search)
    }

    /// Compresses content of any size with the best of some tunings.
    pub(super) fn fitted_among(
        content: &[u8],
        tunings: &[Tuning],
        search: &SearchParams,
    ) -> Result<Self> {
        if content.len() <= MAX_SMALL_BYTES || search.layout == Layout::Published {
            return Self::smallest(content, search.layout);
        }
        let stored = Self::stored(content.to_vec());
        if search.is_quick() {
            return Ok(stored.min(Self::zstd(zstd::compress(content, search.zstd_level)?)));
        }
        if search.is_rough() {
            let tuning = tunings.first().copied().unwrap_or(Tuning::flat(3));
            let tuning = tuning.with_effort(search.effort);
            return Ok(stored.min(Self::xz(xz::compress(content, tuning)?)));
        }
        let pieces = match &spaced_pieces(content, TUNING_PIECE_BYTES, TUNING_PIECES)[..] {
            [whole] => Cow::Borrowed(*whole),
            pieces => pieces.concat().into(),
        };
        let mut best: Option<(f64, Tuning)> = None;
        for &tuning in tunings {
            let cost = search.rough_estimate(&pieces, tuning)?;
            if best.is_none_or(|(cheapest, _)| cost < cheapest) {
                best = Some((cost, tuning));
            }
        }
        let (cost, tuning) = best.unwrap_or((0.0, Tuning::flat(3)));
        // Output is already tiny; more effort saves nothing.
        let effort = if cost < MAX_QUICK_BYTES { Effort::Quick } else { search.effort };
        let tuning = tuning.with_effort(effort);
        let best = stored.min(Self::xz(xz::compress(content, tuning)?));
        if best.bytes.len() < MAX_ZSTD_BYTES {
            Ok(best.min(Self::zstd(zstd::compress(content, 19)?)))
        } else {
            Ok(best)
        }
    }

    /// Returns content in a body that takes little time to decompress, if that has at most
    /// `max_more` bytes more than this one.
    pub(super) fn or_quick(self, content: &[u8], max_more: usize) -> Result<Self> {
        if self.backend != Backend::Xz {
            return Ok(self);
        }
        let quick = Self::zstd(zstd::compress(content, 19)?);
        let is_small = quick.bytes.len() <= self.bytes.len() + max_more;
        Ok(if is_small { quick } else { self })
    }

    /// Compresses named contents on several threads, each with the best of [`TUNINGS`].
    pub(super) fn all<const N: usize>(
        contents: [(&'static str, Vec<u8>); N],
        context: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        Self::tuned(&contents.map(|(name, content)| (name, content, TUNINGS)), context)
    }

    /// Compresses named contents on several threads, each with the best of its tunings.
    pub(super) fn tuned(
        contents: &[(&'static str, Vec<u8>, &[Tuning])],
        context: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        parallel::map(contents, context.threads, |(name, content, tunings)| {
            let body = Self::fitted_among(content, tunings, context.search)?;
            Ok(Stream { name: (*name).into(), body })
        })
    }

    /// Appends the body of a RAW archive or of a raw frame.
    pub(super) fn put(&self, layout: Layout, out: &mut Vec<u8>) {
        if layout == Layout::Reference {
            out.push(self.backend.id());
        }
        out.extend_from_slice(&self.bytes);
    }
}

/// A named body.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) name: Cow<'static, str>,
    pub(super) body: Body,
}

impl Stream {
    /// Compresses small content with every backend.
    pub(super) fn small(name: &'static str, content: &[u8], layout: Layout) -> Result<Self> {
        Ok(Self { name: name.into(), body: Body::smallest(content, layout)? })
    }
}

impl Stream {
    /// Returns the bytes of the stream in a stream set.
    pub(super) fn written_size(&self) -> usize {
        let mut lengths = Vec::new();
        put::uv(&mut lengths, self.name.len() as u64);
        put::uv(&mut lengths, self.body.bytes.len() as u64);
        lengths.len() + self.name.len() + 1 + self.body.bytes.len()
    }
}

/// Returns the bytes of the bodies of all streams.
pub(super) fn size(streams: &[Stream]) -> usize {
    streams.iter().map(|stream| stream.body.bytes.len()).sum()
}

/// Appends a stream set.
pub(super) fn put_set(streams: &[Stream], layout: Layout, out: &mut Vec<u8>) {
    put::uv(out, streams.len() as u64);
    for Stream { name, body } in streams {
        put::lp(out, name.as_bytes());
        if layout == Layout::Reference {
            out.push(body.backend.id());
        }
        put::lp(out, &body.bytes);
    }
}

/// Appends the trailer with the hash of the original, if the layout has one.
pub(super) fn put_trailer(hash: &Output<Sha256>, layout: Layout, out: &mut Vec<u8>) {
    if layout == Layout::Reference {
        out.extend_from_slice(hash);
        out.extend_from_slice(&TRAILER_MAGIC);
    }
}
