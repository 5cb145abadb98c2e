//! Bodies, streams, stream sets and trailers (§2).

use std::borrow::Cow;

use sha2::Sha256;
use sha2::digest::Output;

use crate::container::TRAILER_MAGIC;
use crate::pack::context::EncodeContext;
use crate::pack::options::Layout;
use crate::pack::search::SearchParams;
use crate::streams::Backend;
use hypostyle_core::compress::xz::encode::{self as xz, Effort, Tuning};
use hypostyle_core::compress::zstd;
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::wire::put;

/// Content of no more bytes is compressed in every way that there is.
const SMALL: usize = 4 << 10;

/// Pieces by which longer content is judged, and the bytes of each.
const PIECES: usize = 3;
const PIECE: usize = 128 << 10;

/// Bytes of a trial that are next to nothing.
const NOTHING: f64 = 384.0;

/// What is tried for it.
pub(super) const TUNINGS: &[Tuning] =
    &[Tuning::flat(3), Tuning::flat(0), Tuning::flat(4), Tuning::flat(1), Tuning::pairs(0)];

/// Bytes behind their backend.
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

    /// The shorter one.
    pub(super) fn min(self, other: Self) -> Self {
        if other.bytes.len() < self.bytes.len() { other } else { self }
    }

    /// Content that is not much, in whichever way is smallest.
    pub(super) fn smallest(content: &[u8], layout: Layout) -> Result<Self> {
        let xz = || {
            Ok::<_, hypostyle_core::error::Error>(Self::xz(xz::compress(content, Tuning::flat(3))?))
        };
        if layout == Layout::Published {
            return xz();
        }
        let best = Self::stored(content.to_vec()).min(Self::zstd(zstd::compress(content, 19)?));
        // An empty xz stream has 32 bytes.
        if best.bytes.len() > 48 { Ok(best.min(xz()?)) } else { Ok(best) }
    }

    /// Content of any size, with what suits it best of a few tunings.
    pub(super) fn fitted(content: &[u8], search: &SearchParams) -> Result<Self> {
        Self::fitted_among(content, TUNINGS, search)
    }

    /// The same with what suits it best of these tunings.
    pub(super) fn fitted_among(
        content: &[u8],
        tunings: &[Tuning],
        search: &SearchParams,
    ) -> Result<Self> {
        if content.len() <= SMALL || search.layout == Layout::Published {
            return Self::smallest(content, search.layout);
        }
        let stored = Self::stored(content.to_vec());
        if search.is_quick() {
            return Ok(stored.min(Self::zstd(zstd::compress(content, search.zstd)?)));
        }
        if search.is_rough() {
            let tuning = tunings.first().copied().unwrap_or(Tuning::flat(3));
            let tuning = tuning.with_effort(search.effort);
            return Ok(stored.min(Self::xz(xz::compress(content, tuning)?)));
        }
        let step = (content.len() - PIECE.min(content.len())) / (PIECES - 1);
        let piece = |at: usize| content.get(at * step..(at * step + PIECE).min(content.len()));
        let few = content.len() <= PIECE * PIECES;
        let pieces: Vec<&[u8]> = (0..PIECES).map(|at| piece(at).unwrap_or_default()).collect();
        let pieces = if few { Cow::Borrowed(content) } else { pieces.concat().into() };
        let mut best: Option<(f64, Tuning)> = None;
        for &tuning in tunings {
            let cost = search.glance(&pieces, tuning)?;
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, tuning));
            }
        }
        let (cost, tuning) = best.unwrap_or((0.0, Tuning::flat(3)));
        // Of what is nearly nothing, little is to be had with much effort.
        let effort = if cost < NOTHING { Effort::Quick } else { search.effort };
        let tuning = tuning.with_effort(effort);
        let best = stored.min(Self::xz(xz::compress(content, tuning)?));
        // Of what is all alike zstd leaves even less.
        match best.bytes.len() < 1 << 10 {
            true => Ok(best.min(Self::zstd(zstd::compress(content, 19)?))),
            false => Ok(best),
        }
    }

    /// Streams of these names with these contents, made on several threads.
    pub(super) fn all<const N: usize>(
        contents: [(&'static str, Vec<u8>); N],
        job: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        Self::tuned(&contents.map(|(name, content)| (name, content, TUNINGS)), job)
    }

    /// The same, each with what suits it best of its tunings.
    pub(super) fn tuned(
        contents: &[(&'static str, Vec<u8>, &[Tuning])],
        job: &EncodeContext<'_>,
    ) -> Result<Vec<Stream>> {
        let mut streams = Vec::with_capacity(contents.len());
        let work = |at: usize| {
            contents
                .get(at)
                .map(|(name, content, tunings)| {
                    let body = Self::fitted_among(content, tunings, job.search)?;
                    Ok(Stream { name: (*name).into(), body })
                })
                .transpose()
        };
        parallel::in_order(contents.len(), job.threads, work, |_, stream| {
            streams.extend(stream);
            Ok(())
        })?;
        Ok(streams)
    }

    /// As the body of RAW, or of a raw frame.
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
    /// One whose content is not much.
    pub(super) fn small(name: &'static str, content: &[u8], layout: Layout) -> Result<Self> {
        Ok(Self { name: name.into(), body: Body::smallest(content, layout)? })
    }
}

/// Bytes of all streams.
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

/// Appends the hash of the original, if the layout has one.
pub(super) fn put_trailer(hash: &Output<Sha256>, layout: Layout, out: &mut Vec<u8>) {
    if layout == Layout::Reference {
        out.extend_from_slice(hash);
        out.extend_from_slice(&TRAILER_MAGIC);
    }
}
