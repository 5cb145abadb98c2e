//! Parses the magic, the codec, the frame headers and the trailer (§2).

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::codec::Codec;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format::Sniff;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// The first bytes of every archive, before its version.
pub(super) const MAGIC: [u8; 3] = *b"AT1";
/// The version of a whole-file archive, which has one frame.
pub(super) const WHOLE: u8 = 2;
/// The version of a streaming archive, which has any number of frames.
pub(super) const STREAMING: u8 = 3;
/// The length of magic, version and codec.
const HEADER: u64 = 5;
/// The last bytes of an archive with a hash, after the hash.
pub(super) const TRAILER_MAGIC: [u8; 4] = [0xA1, 0x53, 0x36, 0x01];
/// The length of the hash and its magic.
const TRAILER: u64 = 36;
/// The largest length of a `uv` number.
const MAX_UV_BYTES: u64 = 10;

/// The header and trailer of an archive, and the range of its frames.
#[derive(Debug)]
pub(super) struct Container {
    pub(super) codec: Codec,
    /// The lines in a chunk, as a streaming archive states them; `None` for a whole-file one.
    pub(super) chunk_lines: Option<u64>,
    /// The offset of the first frame, or of the only stream set.
    pub(super) start: u64,
    /// The end of the frames.
    pub(super) end: u64,
    /// The SHA-256 of the original bytes.
    pub(super) hash: Option<[u8; 32]>,
}

/// The place of a frame, which is decoded independently of the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    pub(super) method: Method,
    pub(super) offset: u64,
    pub(super) len: u64,
}

/// How a frame is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// A stream set of the archive's codec.
    Structured,
    /// A backend byte and the compressed text.
    Raw,
}

/// Returns whether a file that starts with these bytes is an archive of any version.
///
/// Text may start with the same three letters, but not with a control character after them.
pub(super) fn has_magic(head: &[u8]) -> bool {
    matches!(head.strip_prefix(&MAGIC), Some([0..=15, ..]))
}

/// Returns whether the content is AT-1.
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
    /// Parses the header and the trailer.
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
            // A bundle has no trailer; its last entry may end with one.
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

    /// Returns the first frame: the whole body, or the frame that the first length bounds.
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

    /// Returns the frame after `frame`.
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
                // A19: the vendor reads any byte but 1 as structured; no known file has one.
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

/// Returns the end of the frames, and the hash of the trailer if there is one (§2.4).
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

/// Reads a number at `at`; returns it and its length.
fn number(source: &dyn ByteSource, at: u64, end: u64, what: &'static str) -> Result<(u64, u64)> {
    let len = end.saturating_sub(at).min(MAX_UV_BYTES);
    let bytes: Bytes = source::range(source, at, len, what)?;
    let mut cursor = Cursor::new(&bytes, at);
    let value = cursor.uv(what)?;
    Ok((value, cursor.offset().saturating_sub(at)))
}

/// Marks an error as one of an AT-1 archive.
pub(super) fn in_at1(err: Error) -> Error {
    err.in_format(FormatId::At1)
}
