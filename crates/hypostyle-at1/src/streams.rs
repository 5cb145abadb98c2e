//! Parses the named streams of a frame (§2.3) and decompresses them (§2.5).

#![deny(clippy::arithmetic_side_effects)]

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use memchr::{memchr, memchr_iter};

use hypostyle_core::compress::{xz, zstd};
use hypostyle_core::deviations::Deviations;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::parallel;
use hypostyle_core::wire::Cursor;

/// The largest number of streams in a set; the vendor's decoder has the same limit.
pub(super) const MAX_STREAMS: usize = 256;
/// The largest length of the name of a stream.
pub(super) const MAX_NAME_BYTES: usize = 1024;

/// The compressor of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Backend {
    Xz,
    Zstd,
    Stored,
}

impl Backend {
    const ALL: [Self; 3] = [Self::Xz, Self::Zstd, Self::Stored];

    /// The byte that names the backend in the file.
    pub(super) fn id(self) -> u8 {
        match self {
            Self::Xz => 0,
            Self::Zstd => 1,
            Self::Stored => 2,
        }
    }

    /// Returns the backend that a byte names.
    pub(super) fn from_id(id: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|backend| backend.id() == id)
    }

    /// The name that users see.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Xz => "xz",
            Self::Zstd => "zstd",
            Self::Stored => "stored",
        }
    }
}

/// A compressed stream and its place in the file.
#[derive(Clone, Debug)]
pub(super) struct CompressedStream {
    pub(super) name: String,
    pub(super) backend: Backend,
    pub(super) offset: u64,
    pub(super) bytes: Bytes,
}

impl CompressedStream {
    /// Parses the body of a RAW frame: a backend byte and the compressed bytes.
    ///
    /// A body without a backend byte is reported as deviation `legacy_code`.
    pub(super) fn raw(
        body: &Bytes,
        offset: u64,
        legacy_code: &'static str,
        deviations: &Deviations,
    ) -> Result<Self> {
        let name = String::new();
        if xz::is_xz(body) {
            report_legacy(deviations, legacy_code, offset, "a raw body")?;
            return Ok(Self { name, backend: Backend::Xz, offset, bytes: body.clone() });
        }
        let mut cursor = Cursor::new(body, offset);
        let backend = backend(cursor.u8("backend")?, body.get(1..), offset, deviations)?;
        Ok(Self { name, backend, offset: offset.saturating_add(1), bytes: body.slice(1..) })
    }

    /// Returns the decompressed size that the stream states.
    pub(super) fn raw_size(&self) -> Option<u64> {
        match self.backend {
            Backend::Xz => xz::Blocks::find(&self.bytes).map(|blocks| blocks.raw_total()),
            Backend::Zstd => zstd::content_size(&self.bytes),
            Backend::Stored => Some(self.bytes.len() as u64),
        }
    }

    /// Returns whether the stream has several blocks, which can be decompressed in parallel.
    fn has_blocks(&self) -> bool {
        self.backend == Backend::Xz
            && xz::Blocks::find(&self.bytes).is_some_and(|blocks| blocks.len() > 1)
    }

    pub(super) fn decompress(
        &self,
        limits: &Limits,
        threads: usize,
        deviations: &Deviations,
    ) -> Result<Bytes> {
        let decompressed = match self.backend {
            Backend::Xz => xz::decompress(&self.bytes, limits, threads),
            Backend::Zstd => zstd::decompress(&self.bytes, limits),
            Backend::Stored => {
                let (asked, limit) = (self.bytes.len() as u64, limits.block_bytes);
                if asked > limit {
                    return Err(ErrorKind::LimitExceeded { what: "stream", asked, limit }.into());
                }
                return Ok(self.bytes.clone());
            }
        };
        let (decompressed, used) = decompressed.map_err(|err| err.at(self.offset))?;
        let at = self.offset.saturating_add(used as u64);
        report_stray(self.bytes.len(), used, at, self.backend.name(), deviations)?;
        Ok(decompressed.into())
    }
}

/// Reports bytes after the compressed data, which are ignored (A7).
pub(super) fn report_stray(
    len: usize,
    used: usize,
    at: u64,
    backend: &str,
    deviations: &Deviations,
) -> Result<()> {
    let more = len.saturating_sub(used);
    if more == 0 {
        return Ok(());
    }
    deviations.report("A7", at, format!("{more} bytes after the {backend} data are ignored"))
}

/// Returns the backend that a byte names; an unknown byte before xz data means xz (A24).
fn backend(byte: u8, payload: Option<&[u8]>, at: u64, deviations: &Deviations) -> Result<Backend> {
    match Backend::from_id(byte) {
        Some(backend) => Ok(backend),
        None if payload.is_some_and(xz::is_xz) => {
            let message = format!("backend {byte} is unknown, but its data is xz");
            deviations.report("A24", at, message)?;
            Ok(Backend::Xz)
        }
        None => Err(unknown_backend(byte, at)),
    }
}

fn unknown_backend(byte: u8, at: u64) -> Error {
    Error::malformed("backend", format!("{byte} is not 0, 1 or 2")).at(at)
}

/// Reports a stream without a backend byte, a form that only the published text describes.
fn report_legacy(deviations: &Deviations, code: &'static str, at: u64, what: &str) -> Result<()> {
    let message = format!("{what} without a backend byte, as the published text has it");
    deviations.report(code, at, message)
}

/// The streams of a frame, still compressed.
#[derive(Debug)]
pub(super) struct StreamSet {
    pub(super) streams: Vec<CompressedStream>,
}

impl StreamSet {
    /// Parses the directory of a set that starts at `offset` in the file.
    pub(super) fn parse(body: &Bytes, offset: u64, deviations: &Deviations) -> Result<Self> {
        let mut cursor = Cursor::new(body, offset);
        // A name, a backend and a length take at least three bytes.
        let count = cursor.count(3, "stream count")?;
        if count > MAX_STREAMS {
            let (asked, limit) = (count as u64, MAX_STREAMS as u64);
            let kind = ErrorKind::LimitExceeded { what: "stream count", asked, limit };
            return Err(Error::new(kind).at(offset));
        }
        let mut streams: Vec<CompressedStream> = Vec::with_capacity(count);
        for _ in 0..count {
            let at = cursor.offset();
            let stream = Self::stream(&mut cursor, body, offset, deviations)?;
            if streams.iter().any(|known| known.name == stream.name) {
                let message = format!("a second stream `{}` is ignored", stream.name);
                deviations.report("A13", at, message)?;
            } else {
                streams.push(stream);
            }
        }
        if !cursor.is_empty() {
            let message = format!("{} bytes after the last stream", cursor.left());
            deviations.report("A22", cursor.offset(), message)?;
        }
        Ok(Self { streams })
    }

    fn stream(
        cursor: &mut Cursor<'_>,
        body: &Bytes,
        base: u64,
        deviations: &Deviations,
    ) -> Result<CompressedStream> {
        let at = cursor.offset();
        let name_len = cursor.size("stream name length")?;
        if name_len > MAX_NAME_BYTES {
            let (what, asked, limit) = ("stream name", name_len as u64, MAX_NAME_BYTES as u64);
            return Err(Error::new(ErrorKind::LimitExceeded { what, asked, limit }).at(at));
        }
        let name = cursor.text(name_len, "stream name")?.to_owned();
        let at = cursor.offset();
        let mut peek = cursor.clone();
        let first = peek.u8("backend").map_err(|err| err.in_stream(&name))?;
        // The smallest xz stream has 32 bytes, so a length where the backend
        // should be starts with 0x20 or more (§2.3).
        let no_backend_byte = first >= 0x20;
        if !no_backend_byte {
            *cursor = peek;
        }
        let found = Self::payload(cursor, body, base).map_err(|err| err.in_stream(&name));
        let (start, bytes) = match found {
            Err(_) if no_backend_byte => return Err(unknown_backend(first, at).in_stream(&name)),
            found => found?,
        };
        let backend = if no_backend_byte {
            if !xz::is_xz(&bytes) {
                return Err(unknown_backend(first, at).in_stream(&name));
            }
            report_legacy(deviations, "A1", at, "a stream")?;
            Backend::Xz
        } else {
            backend(first, Some(&bytes), at, deviations).map_err(|err| err.in_stream(&name))?
        };
        Ok(CompressedStream { name, backend, offset: start, bytes })
    }

    /// Takes a length and as many bytes; returns their offset and the bytes.
    fn payload(cursor: &mut Cursor<'_>, body: &Bytes, base: u64) -> Result<(u64, Bytes)> {
        let len = cursor.size("stream length")?;
        let start = cursor.offset();
        cursor.take(len, "stream")?;
        let from = usize::try_from(start.saturating_sub(base)).unwrap_or(usize::MAX);
        Ok((start, body.slice(from..from.saturating_add(len))))
    }

    /// Decompresses the streams whose names `wanted` accepts, in parallel.
    pub(super) fn decompress(
        &self,
        wanted: impl Fn(&str) -> bool,
        limits: &Limits,
        threads: usize,
        deviations: &Deviations,
    ) -> Result<Streams> {
        let chosen = self.streams.iter().filter(|stream| wanted(&stream.name));
        // A stream of many blocks occupies all threads by itself. The others are
        // decompressed one per thread.
        let (long, short): (Vec<&CompressedStream>, Vec<&CompressedStream>) =
            chosen.partition(|stream| threads > 1 && stream.has_blocks());
        let mut streams = Vec::with_capacity(short.len().saturating_add(long.len()));
        let mut total = 0_u64;
        let decompress = |packed: &CompressedStream, threads| {
            packed
                .decompress(limits, threads, deviations)
                .map_err(|err| err.in_stream(&packed.name))
        };
        let mut keep = |packed: &CompressedStream, bytes: Bytes| -> Result<()> {
            total = total.saturating_add(bytes.len() as u64);
            let (what, limit) = ("size of the streams", limits.read_bytes);
            if total > limit {
                return Err(ErrorKind::LimitExceeded { what, asked: total, limit }.into());
            }
            streams.push((packed.name.clone(), bytes));
            Ok(())
        };
        for packed in long {
            keep(packed, decompress(packed, threads)?)?;
        }
        let work = |packed: &&CompressedStream| decompress(packed, 1);
        parallel::for_each(&short, threads, work, |packed, bytes| keep(packed, bytes))?;
        let left = limits.read_bytes.saturating_sub(total);
        Ok(Streams { streams, limit: limits.read_bytes, left: AtomicU64::new(left) })
    }
}

/// The decompressed streams of a frame.
#[derive(Debug)]
pub(super) struct Streams {
    streams: Vec<(String, Bytes)>,
    /// The limit of a read, and the bytes of it that are left.
    limit: u64,
    left: AtomicU64,
}

impl Streams {
    /// Returns a set of streams that are not compressed.
    #[cfg(test)]
    pub(super) fn of<const N: usize>(streams: [(&str, Bytes); N]) -> Self {
        let streams = streams.map(|(name, bytes)| (name.to_owned(), bytes)).into();
        Self { streams, limit: u64::MAX, left: AtomicU64::new(u64::MAX) }
    }

    /// Charges a list of so many elements to the limit of the read, before it is allocated.
    ///
    /// A byte of a stream can become an element of any size: each newline of a list is one.
    ///
    /// # Errors
    ///
    /// Fails if the streams and the lists made of them exceed the limit.
    pub(super) fn charge<T>(&self, count: usize, what: &'static str) -> Result<()> {
        let bytes = (count as u64).saturating_mul(size_of::<T>() as u64);
        let spend = |left: u64| left.checked_sub(bytes);
        match self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(_) => Ok(()),
            Err(left) => {
                let asked = self.limit.saturating_sub(left).saturating_add(bytes);
                let limit = self.limit;
                Err(ErrorKind::LimitExceeded { what, asked, limit }.into())
            }
        }
    }

    /// Charges a list of the elements of a stream that newlines separate.
    pub(super) fn charge_lines<T>(&self, name: &str, what: &'static str) -> Result<()> {
        let newlines = memchr_iter(b'\n', self.bytes(name)).count();
        self.charge::<T>(newlines.saturating_add(1), what)
    }

    /// Adds the streams of another set.
    pub(super) fn join(&mut self, more: Self) {
        self.streams.extend(more.streams);
    }

    /// The total size of the streams.
    pub(super) fn total(&self) -> u64 {
        self.streams.iter().map(|(_, bytes)| bytes.len() as u64).sum()
    }

    /// Returns the bytes of a stream; a stream that is absent reads as empty (A13).
    pub(super) fn bytes(&self, name: &str) -> &[u8] {
        self.streams.iter().find(|(known, _)| known == name).map_or(&[], |(_, bytes)| bytes)
    }

    /// Returns the bytes of a stream without borrowing the set.
    pub(super) fn shared(&self, name: &str) -> Bytes {
        let found = self.streams.iter().find(|(known, _)| known == name);
        found.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
    }

    /// Returns a cursor over a stream, whose errors name it.
    pub(super) fn read<'a>(&'a self, name: &'a str) -> StreamCursor<'a> {
        StreamCursor::new(name, self.bytes(name))
    }
}

/// A [`Cursor`] whose errors name the stream.
#[derive(Clone, Debug)]
pub(super) struct StreamCursor<'a> {
    name: &'a str,
    cursor: Cursor<'a>,
}

impl<'a> StreamCursor<'a> {
    pub(super) fn new(name: &'a str, bytes: &'a [u8]) -> Self {
        Self { name, cursor: Cursor::new(bytes, 0) }
    }

    #[inline]
    fn named<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|err| err.in_stream(self.name))
    }

    #[inline]
    pub(super) fn uv(&mut self, what: &'static str) -> Result<u64> {
        let value = self.cursor.uv(what);
        self.named(value)
    }

    #[inline]
    pub(super) fn sv(&mut self, what: &'static str) -> Result<i128> {
        let value = self.cursor.sv(what);
        self.named(value)
    }

    pub(super) fn u8(&mut self, what: &'static str) -> Result<u8> {
        let value = self.cursor.u8(what);
        self.named(value)
    }

    pub(super) fn lp(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let value = self.cursor.lp(what);
        self.named(value)
    }

    /// Returns the next bytes without consuming them.
    #[inline]
    pub(super) fn peek<const N: usize>(&self) -> Option<[u8; N]> {
        self.cursor.clone().rest().first_chunk().copied()
    }

    pub(super) fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8]> {
        let value = self.cursor.take(len, what);
        self.named(value)
    }

    #[inline]
    pub(super) fn size(&mut self, what: &'static str) -> Result<usize> {
        let value = self.cursor.size(what);
        self.named(value)
    }

    pub(super) fn count(&mut self, min_item: usize, what: &'static str) -> Result<usize> {
        let value = self.cursor.count(min_item, what);
        self.named(value)
    }

    /// Skips a number of any length.
    pub(super) fn skip_number(&mut self, what: &'static str) -> Result<()> {
        while self.u8(what)? >= 0x80 {}
        Ok(())
    }

    pub(super) fn rest(&mut self) -> &'a [u8] {
        self.cursor.rest()
    }

    pub(super) fn left(&self) -> usize {
        self.cursor.left()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cursor.is_empty()
    }

    pub(super) fn offset(&self) -> u64 {
        self.cursor.offset()
    }

    /// Returns an error at the next byte of the stream.
    pub(super) fn malformed(
        &self,
        what: &'static str,
        why: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Error {
        self.cursor.malformed(what, why).in_stream(self.name)
    }

    /// Returns an error at a byte of the stream that was already read.
    pub(super) fn malformed_at(
        &self,
        offset: u64,
        what: &'static str,
        why: impl Into<std::borrow::Cow<'static, str>>,
    ) -> Error {
        Error::malformed(what, why).at(offset).in_stream(self.name)
    }

    /// Returns the rest of the stream as a list of lines.
    pub(super) fn lines(self) -> LineList<'a> {
        let Self { name, mut cursor } = self;
        LineList { name, rest: Some(cursor.rest()), at: 0 }
    }
}

/// Byte strings joined by newlines (§1.2).
///
/// A list of zero bytes has one empty element.
#[derive(Clone, Debug)]
pub(super) struct LineList<'a> {
    name: &'a str,
    rest: Option<&'a [u8]>,
    at: u64,
}

impl<'a> LineList<'a> {
    /// Returns the next element; fails at the end of the list.
    pub(super) fn line(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let (at, name) = (self.at, self.name);
        self.next().ok_or_else(|| {
            Error::malformed(what, "is missing: the list has ended").at(at).in_stream(name)
        })
    }
}

impl<'a> Iterator for LineList<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = memchr(b'\n', rest);
        let line = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        self.rest = end.and_then(|end| rest.get(end.saturating_add(1)..));
        self.at = self.at.saturating_add(line.len() as u64).saturating_add(1);
        Some(line)
    }
}
