//! Reads byte ranges of an archive, and the directories of its frames.

use std::ops::RangeInclusive;

use bytes::Bytes;

use crate::container::Extent;
use crate::frame_checksums::{DirectoryHasher, FrameChecksums, mismatch};
use crate::frames::FrameReader;
use crate::streams::{self, Backend, CompressedStream, StreamSet};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// The directory of a frame is read in steps of this fraction of the frame ...
const STEP_FRACTION: u64 = 1024;
/// ... but of at least and at most so many bytes.
const STEP_BYTES: RangeInclusive<u64> = 2 << 10..=64 << 10;

/// Ranges with a gap of at most so many bytes between them are read together.
const MAX_GAP: u64 = 16 << 10;

/// The largest number of concurrent reads; each has a thread that waits for it.
const MAX_READS: usize = 32;

/// Returns the number of concurrent reads that a source profits from.
pub(super) fn concurrent_reads(source: &dyn ByteSource) -> usize {
    source.concurrent_reads().clamp(1, MAX_READS)
}

/// Reads ranges that are sorted by their start; reads neighbouring ranges together.
pub(super) fn read_ranges(
    source: &dyn ByteSource,
    ranges: &[(u64, u64)],
    what: &'static str,
) -> Result<Vec<Bytes>> {
    let near = |one: &(u64, u64), other: &(u64, u64)| {
        other.0.saturating_sub(one.0.saturating_add(one.1)) <= MAX_GAP
    };
    let runs: Vec<&[(u64, u64)]> = ranges.chunk_by(near).collect();
    let read = |run: &&[(u64, u64)]| {
        let start = run.first().map_or(0, |range| range.0);
        let end = run.iter().map(|range| range.0.saturating_add(range.1)).max();
        let end = end.unwrap_or(start);
        Ok((start, source::range(source, start, end.saturating_sub(start), what)?))
    };
    let mut all = Vec::with_capacity(ranges.len());
    parallel::for_each(&runs, concurrent_reads(source), read, |run, (start, bytes)| {
        for &(at, len) in *run {
            let from = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
            let len = usize::try_from(len).unwrap_or(usize::MAX);
            all.push(bytes.slice(from..from.saturating_add(len)));
        }
        Ok(())
    })?;
    Ok(all)
}

/// The name and place of a bulk stream, which is not read as a whole.
#[derive(Debug)]
struct BlocksStream {
    name: String,
    backend: Backend,
    offset: u64,
    len: u64,
}

/// The streams of a frame, without the payloads of bulk streams.
#[derive(Debug)]
pub(crate) struct StreamDirectory {
    /// All streams except bulk ones, still compressed.
    pub(crate) set: StreamSet,
    blocks: Vec<BlocksStream>,
    /// The checksum of everything but the payloads of bulk streams.
    checksum: u32,
}

impl StreamDirectory {
    /// Reads the directory of a frame, and its streams except the bulk ones.
    ///
    /// Returns `None` for a directory in an old form, in which streams cannot be found
    /// without reading all of them. With `truncated`, the bulk streams may run past the end of
    /// the file.
    pub(crate) fn read(
        archive: &FrameReader,
        extent: Extent,
        truncated: bool,
    ) -> Result<Option<Self>> {
        Self::without(archive, extent, truncated, |name| archive.codec().is_bulk(name))
    }

    /// Finds all streams of a frame, and reads none of them.
    pub(crate) fn places(archive: &FrameReader, extent: Extent) -> Result<Option<Self>> {
        Self::without(archive, extent, false, |_| true)
    }

    /// Reads the directory of a frame, and its streams except some.
    fn without(
        archive: &FrameReader,
        extent: Extent,
        truncated: bool,
        is_left_out: impl Fn(&str) -> bool,
    ) -> Result<Option<Self>> {
        let (source, codec) = (archive.source(), archive.codec());
        let mut hasher = DirectoryHasher::new(codec, extent.method);
        let end = extent.offset.saturating_add(extent.len);
        let step = (extent.len / STEP_FRACTION).clamp(*STEP_BYTES.start(), *STEP_BYTES.end());
        let mut window = Window { start: extent.offset, bytes: Bytes::new(), step };
        let mut at = extent.offset;
        let mut cursor = window.cursor(source, at, end)?;
        let count = cursor.uv("stream count")?;
        at = cursor.offset();
        hasher.count(&window.get(source, extent.offset, at.saturating_sub(extent.offset))?);
        if count > streams::MAX_STREAMS as u64 {
            return Ok(None);
        }
        let (mut small, mut blocks): (Vec<CompressedStream>, Vec<BlocksStream>) =
            (Vec::new(), Vec::new());
        for _ in 0..count {
            let start = at;
            let mut cursor = window.cursor(source, at, end)?;
            let name_len = cursor.size("stream name length")?;
            if name_len > streams::MAX_NAME_BYTES {
                return Ok(None);
            }
            let name = cursor.text(name_len, "stream name")?.to_owned();
            let Some(backend) = Backend::from_id(cursor.u8("backend")?) else { return Ok(None) };
            let len = cursor.uv("stream length")?;
            let offset = cursor.offset();
            at = offset.saturating_add(len);
            let is_blocks = is_left_out(&name);
            let entry = window.get(source, start, offset.saturating_sub(start))?;
            if at > end && is_blocks && truncated {
                blocks.push(BlocksStream { name, backend, offset, len });
                break;
            }
            if at > end {
                return Ok(None);
            }
            let payload = match is_blocks {
                true => None,
                false => Some(window.get(source, offset, len)?),
            };
            hasher.stream(&name, &entry, payload.as_deref());
            let known = |known: &str| known == name;
            let twice =
                small.iter().any(|it| known(&it.name)) || blocks.iter().any(|it| known(&it.name));
            if twice {
                continue;
            }
            match payload {
                None => blocks.push(BlocksStream { name, backend, offset, len }),
                Some(bytes) => small.push(CompressedStream { name, backend, offset, bytes }),
            }
        }
        let checksum = hasher.finish();
        Ok(Some(Self { set: StreamSet { streams: small }, blocks, checksum }))
    }

    /// Reads the directory of a frame, and compares its checksum if it is known.
    pub(crate) fn checked(
        archive: &FrameReader,
        extent: Extent,
        checksums: Option<FrameChecksums>,
    ) -> Result<Option<Self>> {
        let found = Self::read(archive, extent, false)?;
        match (&found, checksums) {
            (Some(found), Some(checksums)) if found.checksum != checksums.directory => {
                Err(mismatch(extent))
            }
            _ => Ok(found),
        }
    }

    /// Returns the name, backend, offset and length of each stream that was not read.
    pub(crate) fn all_unread(&self) -> impl Iterator<Item = (&str, Backend, u64, u64)> {
        self.blocks.iter().map(|it| (it.name.as_str(), it.backend, it.offset, it.len))
    }

    /// Returns the backend, offset and length of a stream that was not read.
    pub(crate) fn unread(&self, name: &str) -> Option<(Backend, u64, u64)> {
        let stream = self.blocks.iter().find(|stream| stream.name == name)?;
        Some((stream.backend, stream.offset, stream.len))
    }

    /// Returns the offset and length of the blocks of a table, or zeros if the table has no
    /// blocks; `None` if they are compressed as a whole.
    pub(crate) fn blocks(&self, name: &str) -> Option<(u64, u64)> {
        match self.blocks.iter().find(|stream| stream.name == name) {
            None => Some((0, 0)),
            Some(stream) if stream.backend == Backend::Stored => Some((stream.offset, stream.len)),
            Some(_) => None,
        }
    }
}

/// The part of the file that was read last.
struct Window {
    start: u64,
    bytes: Bytes,
    /// The number of bytes to read next.
    step: u64,
}

impl Window {
    /// Returns a cursor at an offset, with enough bytes for one entry of the directory.
    fn cursor(&mut self, source: &dyn ByteSource, at: u64, end: u64) -> Result<Cursor<'_>> {
        // A name, a backend and two lengths.
        let wanted = (streams::MAX_NAME_BYTES as u64 + 32).min(end.saturating_sub(at));
        if !self.has(at, wanted) {
            let len = self.step.min(end.saturating_sub(at));
            (self.start, self.bytes) = (at, source::range(source, at, len, "directory")?);
        }
        let from = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        Ok(Cursor::new(self.bytes.get(from..).unwrap_or_default(), at))
    }

    fn has(&self, at: u64, len: u64) -> bool {
        let end = self.start.saturating_add(self.bytes.len() as u64);
        at >= self.start && at.saturating_add(len) <= end
    }

    fn get(&self, source: &dyn ByteSource, at: u64, len: u64) -> Result<Bytes> {
        if !self.has(at, len) {
            return source::range(source, at, len, "stream");
        }
        let from = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(from..from.saturating_add(len)))
    }
}
