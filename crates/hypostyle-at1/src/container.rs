//! Magic, codec, frames and trailer (§2).

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::codec::Codec;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// What every archive starts with, before its version.
pub(super) const MAGIC: [u8; 3] = *b"AT1";
/// The version of an archive that is one part.
pub(super) const WHOLE: u8 = 2;
/// The version of an archive of frames.
pub(super) const STREAMING: u8 = 3;
/// Magic and codec.
const HEADER: u64 = 5;
/// What ends an archive, after the hash.
pub(super) const TRAILER_MAGIC: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];
const TRAILER: u64 = 36;
/// The longest that a number off the wire is.
const NUMBER: u64 = 10;

/// An archive as far as its container goes.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) codec: Codec,
    /// Lines in a chunk, as a streaming archive states them; a whole one has none.
    pub(super) chunk_lines: Option<u64>,
    /// Where the frames, or the one stream set, start.
    pub(super) start: u64,
    /// Where they end.
    pub(super) end: u64,
    /// What the original bytes must hash to.
    pub(super) hash: Option<[u8; 32]>,
}

/// A part of an archive that is decoded by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) method: Method,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// How a frame is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A packed stream set for the archive's codec.
    Structured,
    /// A backend byte and the bytes themselves, compressed.
    Raw,
}

/// Whether the content is AT-1.
pub(super) fn sniff(source: &dyn ByteSource) -> Result<Sniff> {
    if source.size() < HEADER {
        return Ok(Sniff::No);
    }
    let head = source::range(source, 0, HEADER, "header")?;
    match *head {
        [b'A', b'T', b'1', WHOLE | STREAMING, _] => Ok(Sniff::Yes),
        [b'A', b'T', b'1', version @ 0..=15, _] => {
            let why =
                format!("has the magic of AT-1, but version {version}, which is not supported");
            Ok(Sniff::Lookalike(why))
        }
        _ => Ok(Sniff::No),
    }
}

impl Container {
    pub(super) fn parse(source: &dyn ByteSource) -> Result<Self> {
        let head = source::range(source, 0, HEADER, "header")?;
        let mut cursor = Cursor::new(&head, 0);
        if cursor.take(MAGIC.len(), "magic")? != MAGIC {
            return Err(Error::malformed("magic", "is not `AT1`").at(0));
        }
        let version = cursor.u8("version")?;
        if !matches!(version, WHOLE | STREAMING) {
            return Err(Error::unsupported(format!("version {version}")).at(3));
        }
        let codec = Codec::from_id(cursor.u8("codec")?).map_err(|err| err.at(4))?;
        if codec == Codec::Bundle && version == STREAMING {
            return Err(Error::malformed("codec", "a bundle cannot be a streaming archive").at(4));
        }
        let (end, hash) = match codec {
            // A bundle has no trailer: what looks like one is its last entry's.
            Codec::Bundle => (source.size(), None),
            _ => trailer(source)?,
        };
        let mut container = Self { codec, chunk_lines: None, start: HEADER, end, hash };
        if version == STREAMING {
            let (lines, used) = number(source, HEADER, end, "chunk lines")?;
            container.chunk_lines = Some(lines);
            container.start = HEADER.saturating_add(used);
        }
        Ok(container)
    }

    /// The first frame: the whole body, or what the first length says.
    pub(super) fn first(&self, source: &dyn ByteSource) -> Result<Option<Extent>> {
        if self.chunk_lines.is_some() {
            return self.frame_at(source, self.start);
        }
        let method = match self.codec {
            Codec::Raw => Method::Raw,
            _ => Method::Structured,
        };
        let len = self.end.saturating_sub(self.start);
        Ok(Some(Extent { method, offset: self.start, len }))
    }

    /// The frame after `frame`.
    pub(super) fn after(&self, source: &dyn ByteSource, frame: Extent) -> Result<Option<Extent>> {
        match self.chunk_lines {
            Some(_) => self.frame_at(source, frame.offset.saturating_add(frame.len)),
            None => Ok(None),
        }
    }

    fn frame_at(&self, source: &dyn ByteSource, at: u64) -> Result<Option<Extent>> {
        if at >= self.end {
            return Ok(None);
        }
        let (len, used) = number(source, at, self.end, "frame length")?;
        let start = at.saturating_add(used);
        let left = self.end.saturating_sub(start);
        if len > left {
            let (what, needed) = ("frame", len);
            return Err(Error::new(ErrorKind::Truncated { what, needed, left }).at(start));
        }
        let Some(body) = len.checked_sub(1) else {
            return Err(Error::malformed("frame length", "is 0").at(at));
        };
        let method = source::range(source, start, 1, "method")?;
        let method = match method.first() {
            Some(0) => Method::Structured,
            Some(1) => Method::Raw,
            other => {
                // A19: the vendor takes anything but 1 as structured; no file has it.
                let why = format!("{} is neither 0 nor 1", other.copied().unwrap_or_default());
                return Err(Error::malformed("method", why).at(start));
            }
        };
        if method == Method::Structured && self.codec == Codec::Raw {
            return Err(Error::malformed("method", "a structured frame without a codec").at(start));
        }
        Ok(Some(Extent { method, offset: start.saturating_add(1), len: body }))
    }
}

/// The trailer, if there is one, and where the body ends (§2.4).
fn trailer(source: &dyn ByteSource) -> Result<(u64, Option<[u8; 32]>)> {
    let size = source.size();
    let Some(start) = size.checked_sub(TRAILER) else { return Ok((size, None)) };
    let bytes = source::range(source, start, TRAILER, "trailer")?;
    match bytes.split_first_chunk::<32>() {
        Some((_, magic)) if magic == TRAILER_MAGIC && start < HEADER => {
            Err(Error::malformed("trailer", "leaves no room for the header").at(start))
        }
        Some((hash, magic)) if magic == TRAILER_MAGIC => Ok((start, Some(*hash))),
        _ => Ok((size, None)),
    }
}

/// A number at `at`, and how many bytes it takes.
fn number(source: &dyn ByteSource, at: u64, end: u64, what: &'static str) -> Result<(u64, u64)> {
    let len = end.saturating_sub(at).min(NUMBER);
    let bytes: Bytes = source::range(source, at, len, what)?;
    let mut cursor = Cursor::new(&bytes, at);
    let value = cursor.uv(what)?;
    Ok((value, cursor.offset().saturating_sub(at)))
}

/// Marks an error as one of an AT-1 archive.
pub(super) fn in_at1(err: Error) -> Error {
    err.in_format(FormatId::At1)
}
