//! Reading no more of an archive than is needed, and counting it.

use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

use crate::container::Extent;
use crate::streams::{self, Backend, Packed, PackedSet};
use hypostyle_core::error::Result;
use hypostyle_core::parallel;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// Bytes that are read at once where the directory of a frame is: a small share of
/// it, but not too little, nor too much.
const HEAD_SHARE: u64 = 128;
const HEAD: RangeInclusive<u64> = 4 << 10..=64 << 10;

/// Bytes between two blocks that are rather read than left out.
const GAP: u64 = 16 << 10;

/// Reads that are made at the same time, at most: each has a thread that waits for it.
const AT_ONCE: usize = 32;

/// A source that knows how much was read of it.
#[derive(Debug)]
pub(super) struct CountedSource<'a> {
    source: &'a dyn ByteSource,
    bytes: AtomicU64,
}

impl<'a> CountedSource<'a> {
    pub(super) fn new(source: &'a dyn ByteSource) -> Self {
        Self { source, bytes: AtomicU64::new(0) }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// How many reads are worth making at the same time.
    pub(super) fn at_once(&self) -> usize {
        self.source.concurrent_reads().clamp(1, AT_ONCE)
    }

    fn range(&self, offset: u64, len: u64, what: &'static str) -> Result<Bytes> {
        let bytes = source::range(self.source, offset, len, what)?;
        self.bytes.fetch_add(len, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Reads ranges whose starts lie in order, those that are near each other together.
    pub(super) fn ranges(&self, ranges: &[(u64, u64)], what: &'static str) -> Result<Vec<Bytes>> {
        let near = |one: &(u64, u64), other: &(u64, u64)| {
            other.0.saturating_sub(one.0.saturating_add(one.1)) <= GAP
        };
        let runs: Vec<&[(u64, u64)]> = ranges.chunk_by(near).collect();
        let read = |run: &&[(u64, u64)]| {
            let start = run.first().map_or(0, |range| range.0);
            let end = run.iter().map(|range| range.0.saturating_add(range.1)).max();
            let end = end.unwrap_or(start);
            Ok((start, self.range(start, end.saturating_sub(start), what)?))
        };
        let mut all = Vec::with_capacity(ranges.len());
        parallel::for_each(&runs, self.at_once(), read, |run, (start, bytes)| {
            for &(at, len) in *run {
                let from = usize::try_from(at.saturating_sub(start)).unwrap_or(usize::MAX);
                let len = usize::try_from(len).unwrap_or(usize::MAX);
                all.push(bytes.slice(from..from.saturating_add(len)));
            }
            Ok(())
        })?;
        Ok(all)
    }
}

/// A stream and where it is.
#[derive(Debug)]
struct BlocksStream {
    name: String,
    backend: Backend,
    offset: u64,
    len: u64,
}

/// The streams of a frame, of which only the small ones have been read.
#[derive(Debug)]
pub(super) struct StreamDirectory {
    /// Everything but blocks.
    pub(super) set: PackedSet,
    blocks: Vec<BlocksStream>,
}

impl StreamDirectory {
    /// Reads the directory of a frame, and its streams but for the blocks.
    ///
    /// `None` if it is not as it has been written for long: then it takes more than
    /// a look at the directory to find the streams. With `cut` the blocks may run past
    /// the end of the file.
    pub(super) fn read(
        source: &CountedSource<'_>,
        extent: Extent,
        cut: bool,
    ) -> Result<Option<Self>> {
        let end = extent.offset.saturating_add(extent.len);
        let step = (extent.len / HEAD_SHARE).clamp(*HEAD.start(), *HEAD.end());
        let mut window = Window { start: extent.offset, bytes: Bytes::new(), step };
        let mut at = extent.offset;
        let mut cursor = window.cursor(source, at, end)?;
        let count = cursor.uv("stream count")?;
        at = cursor.offset();
        if count > streams::STREAMS as u64 {
            return Ok(None);
        }
        let (mut small, mut blocks): (Vec<Packed>, Vec<BlocksStream>) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let mut cursor = window.cursor(source, at, end)?;
            let name_len = cursor.size("stream name length")?;
            if name_len > streams::NAME {
                return Ok(None);
            }
            let name = cursor.text(name_len, "stream name")?.to_owned();
            let Some(backend) = Backend::from_id(cursor.u8("backend")?) else { return Ok(None) };
            let len = cursor.uv("stream length")?;
            let offset = cursor.offset();
            at = offset.saturating_add(len);
            let is_blocks = name == "blocks" || name.ends_with(":blocks");
            if at > end && is_blocks && cut {
                blocks.push(BlocksStream { name, backend, offset, len });
                break;
            }
            if at > end {
                return Ok(None);
            }
            let known = |known: &str| known == name;
            let twice =
                small.iter().any(|it| known(&it.name)) || blocks.iter().any(|it| known(&it.name));
            if twice {
                continue;
            }
            if is_blocks {
                blocks.push(BlocksStream { name, backend, offset, len });
            } else {
                let bytes = window.get(source, offset, len)?;
                small.push(Packed { name, backend, offset, bytes });
            }
        }
        Ok(Some(Self { set: PackedSet { streams: small }, blocks }))
    }

    /// Where the blocks of a table are, if they lie in the file as they are; a table
    /// without blocks has none anywhere.
    pub(super) fn blocks(&self, name: &str) -> Option<(u64, u64)> {
        match self.blocks.iter().find(|place| place.name == name) {
            None => Some((0, 0)),
            Some(place) if place.backend == Backend::Stored => Some((place.offset, place.len)),
            Some(_) => None,
        }
    }
}

/// A part of the file that has been read.
struct Window {
    start: u64,
    bytes: Bytes,
    /// Bytes that are read at once.
    step: u64,
}

impl Window {
    /// A cursor at an offset, with room for one entry of the directory.
    fn cursor(&mut self, source: &CountedSource<'_>, at: u64, end: u64) -> Result<Cursor<'_>> {
        // A name, a backend and two lengths.
        let wanted = (streams::NAME as u64 + 32).min(end.saturating_sub(at));
        if !self.has(at, wanted) {
            let len = self.step.min(end.saturating_sub(at));
            (self.start, self.bytes) = (at, source.range(at, len, "directory")?);
        }
        let from = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        Ok(Cursor::new(self.bytes.get(from..).unwrap_or_default(), at))
    }

    fn has(&self, at: u64, len: u64) -> bool {
        let end = self.start.saturating_add(self.bytes.len() as u64);
        at >= self.start && at.saturating_add(len) <= end
    }

    fn get(&self, source: &CountedSource<'_>, at: u64, len: u64) -> Result<Bytes> {
        if !self.has(at, len) {
            return source.range(at, len, "stream");
        }
        let from = usize::try_from(at.saturating_sub(self.start)).unwrap_or(usize::MAX);
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        Ok(self.bytes.slice(from..from.saturating_add(len)))
    }
}
