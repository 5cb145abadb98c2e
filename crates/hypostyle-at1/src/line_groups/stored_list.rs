//! Streams of which the parts of single groups are read.

#![deny(clippy::arithmetic_side_effects)]

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;

use crate::frames::FrameReader;
use crate::streams::{Backend, CompressedStream};
use hypostyle_core::compress::xz::{self, RemoteBlocks};
use hypostyle_core::error::{Error, Result};
use hypostyle_core::source;
use hypostyle_core::wire::crc32;

/// A stream that is read when it is needed.
#[derive(Debug)]
pub(crate) struct StoredStream {
    pub(super) name: &'static str,
    backend: Backend,
    offset: u64,
    len: u64,
    /// The checksum of the content; `None` if the blocks have checks.
    crc: Option<u32>,
    content: Mutex<Option<Bytes>>,
    blocks: OnceLock<CheckedBlocks>,
    /// Blocks that several groups need.
    kept: Mutex<BTreeMap<usize, Bytes>>,
    /// The longest start of the content that was read.
    start: Mutex<Bytes>,
}

/// The xz blocks of a stream, and where the content of each starts.
#[derive(Debug)]
struct CheckedBlocks {
    blocks: RemoteBlocks,
    starts: Vec<u64>,
}

impl StoredStream {
    pub(crate) fn new(
        name: &'static str,
        place: Option<(Backend, u64, u64)>,
        crc: Option<u32>,
    ) -> Self {
        let (backend, offset, len) = place.unwrap_or((Backend::Stored, 0, 0));
        Self {
            name,
            backend,
            offset,
            len,
            crc,
            content: Mutex::default(),
            blocks: OnceLock::new(),
            kept: Mutex::default(),
            start: Mutex::default(),
        }
    }

    /// Returns whether the content is read by blocks.
    pub(super) fn has_blocks(&self) -> bool {
        self.crc.is_none()
    }

    /// Returns the whole content.
    pub(crate) fn content(&self, archive: &FrameReader) -> Result<Bytes> {
        // Other threads wait, because they would read the same.
        let mut kept = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(content) = &*kept {
            return Ok(content.clone());
        }
        let bytes = source::range(archive.source(), self.offset, self.len, "stream")?;
        let name = self.name.to_owned();
        let stream = CompressedStream { name, backend: self.backend, offset: self.offset, bytes };
        let content = stream
            .decompress(archive.limits(), 1, archive.deviations())
            .map_err(|err| err.in_stream(self.name))?;
        if self.crc.is_some_and(|crc| crc != crc32(&content)) {
            return Err(self.malformed("does not match its checksum"));
        }
        Ok(kept.insert(content).clone())
    }

    /// Returns the first bytes of the content of a stream that is not read by blocks.
    ///
    /// They can probably be decompressed from the first `stored` bytes of the stream; 0 if that
    /// is not known.
    pub(crate) fn start(&self, archive: &FrameReader, len: usize, stored: u64) -> Result<Bytes> {
        let too_short = || self.malformed("is shorter than its columns");
        if self.backend != Backend::Xz {
            let content = self.content(archive)?;
            return if len <= content.len() { Ok(content.slice(..len)) } else { Err(too_short()) };
        }
        let mut kept = self.start.lock().unwrap_or_else(PoisonError::into_inner);
        let mut stored = if stored == 0 { self.len } else { stored.min(self.len) };
        while kept.len() < len {
            let bytes = source::range(archive.source(), self.offset, stored, "stream")?;
            let (content, _) = xz::decompress_start(&bytes, len, archive.limits())
                .map_err(|err| err.at(self.offset).in_stream(self.name))?;
            if content.len() == len {
                *kept = content.into();
            } else if stored == self.len {
                return Err(too_short());
            }
            stored = stored.saturating_mul(2).min(self.len);
        }
        Ok(kept.slice(..len))
    }

    fn malformed(&self, why: &'static str) -> Error {
        Error::malformed("stream", why).at(self.offset).in_stream(self.name)
    }

    fn blocks(&self, archive: &FrameReader) -> Result<&CheckedBlocks> {
        if let Some(blocks) = self.blocks.get() {
            return Ok(blocks);
        }
        if self.backend != Backend::Xz {
            return Err(self.malformed("has no blocks"));
        }
        let found = RemoteBlocks::find(self.len, |range| {
            let start = self.offset.saturating_add(range.start);
            let len = range.end.saturating_sub(range.start);
            source::range(archive.source(), start, len, "index of xz blocks")
        })?;
        let Some(blocks) = found.filter(RemoteBlocks::have_checks) else {
            return Err(self.malformed("has no blocks with checks"));
        };
        let mut starts = vec![0_u64];
        for index in 0..blocks.len() {
            let start = starts.last().copied().unwrap_or_default();
            starts.push(start.saturating_add(blocks.raw(index)));
        }
        Ok(self.blocks.get_or_init(|| CheckedBlocks { blocks, starts }))
    }

    /// Returns the first of the `count` blocks whose content is exactly a range of the content.
    pub(super) fn blocks_of(
        &self,
        archive: &FrameReader,
        range: &Range<u64>,
        count: usize,
    ) -> Result<usize> {
        let CheckedBlocks { starts, .. } = self.blocks(archive)?;
        let first = starts.partition_point(|&start| start < range.start);
        let end = starts.get(first.saturating_add(count));
        if starts.get(first) != Some(&range.start) || end != Some(&range.end) {
            return Err(self.malformed("its blocks are not those of the groups"));
        }
        Ok(first)
    }

    /// Returns the bytes of the content.
    pub(super) fn raw_len(&self, archive: &FrameReader) -> Result<u64> {
        match self.crc {
            Some(_) => Ok(self.content(archive)?.len() as u64),
            None => Ok(self.blocks(archive)?.starts.last().copied().unwrap_or_default()),
        }
    }

    /// Returns the place of a block in the archive.
    pub(super) fn place(&self, archive: &FrameReader, block: usize) -> Result<Range<u64>> {
        let Range { start, end } = self.blocks(archive)?.blocks.range(block);
        Ok(self.offset.saturating_add(start)..self.offset.saturating_add(end))
    }

    /// The name of the stream.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the place of the whole stream in the archive.
    pub(crate) fn whole_place(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.len)
    }

    /// Decompresses a block.
    pub(super) fn block(&self, archive: &FrameReader, block: usize) -> Result<Bytes> {
        let Range { start, end } = self.place(archive, block)?;
        let bytes = source::range(archive.source(), start, end.saturating_sub(start), "xz block")?;
        let blocks = &self.blocks(archive)?.blocks;
        let content = blocks.decompress(block, &bytes, archive.limits());
        Ok(content.map_err(|err| err.at(start).in_stream(self.name))?.into())
    }

    /// Returns a range of the content, and keeps the blocks that it is in.
    pub(super) fn range(&self, archive: &FrameReader, range: Range<u64>) -> Result<Bytes> {
        let cut = |content: &Bytes, start: u64| {
            let from = usize::try_from(range.start.saturating_sub(start)).ok()?;
            let to = usize::try_from(range.end.saturating_sub(start)).ok()?.min(content.len());
            (from <= to).then(|| content.slice(from..to))
        };
        let too_short = || self.malformed("is shorter than its columns");
        if self.crc.is_some() {
            let content = self.content(archive)?;
            let found = cut(&content, 0).filter(|_| range.end <= content.len() as u64);
            return found.ok_or_else(too_short);
        }
        let starts = &self.blocks(archive)?.starts;
        if starts.last().is_none_or(|&end| range.end > end) {
            return Err(too_short());
        }
        let first = starts.partition_point(|&start| start <= range.start).saturating_sub(1);
        let mut pieces = Vec::new();
        // Other threads wait, because they would read the same blocks.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        for (block, &start) in starts.iter().enumerate().skip(first) {
            if start >= range.end {
                break;
            }
            let content = match kept.get(&block) {
                Some(content) => content.clone(),
                None => {
                    let content = self.block(archive, block)?;
                    kept.insert(block, content.clone());
                    content
                }
            };
            pieces.push(cut(&content, start).ok_or_else(too_short)?);
        }
        match <[Bytes; 1]>::try_from(pieces) {
            Ok([only]) => Ok(only),
            Err(pieces) => Ok(pieces.concat().into()),
        }
    }
}

/// Finds the parts of a list: returns where each starts, and the end of the last one.
///
/// A part of elements ends after the newline that follows it. `None` if the parts do not add up
/// to the list.
pub(crate) fn part_starts(list: &[u8], parts: &[u64], is_bytes: bool) -> Option<Vec<usize>> {
    let mut starts = Vec::with_capacity(parts.len().saturating_add(1));
    starts.push(0);
    let mut at = 0_usize;
    // After the last element, where another one would start.
    let end = list.len().checked_add(usize::from(!is_bytes))?;
    if is_bytes {
        for &part in parts {
            at = at.checked_add(usize::try_from(part).ok()?)?;
            starts.push(at);
        }
    } else {
        let mut newlines = memchr::memchr_iter(b'\n', list);
        for &part in parts {
            if let Some(last) = usize::try_from(part).ok()?.checked_sub(1) {
                at = newlines.nth(last).map_or(end, |newline| newline.saturating_add(1));
            }
            starts.push(at);
        }
        // A list without elements is as empty as a list of one empty element.
        if list.is_empty() && parts.iter().all(|&part| part == 0) {
            return Some(starts);
        }
        let count = memchr::memchr_iter(b'\n', list).count() as u64;
        let sum = parts.iter().try_fold(0_u64, |sum, &part| sum.checked_add(part))?;
        if sum != count.checked_add(1)? {
            return None;
        }
    }
    (at == end).then_some(starts)
}

/// Returns the elements of a part without the newline after it; `None` if it has none.
pub(super) fn elements(part: Bytes, is_last: bool, count: u64) -> Result<Option<Bytes>> {
    let wrong = || Error::malformed("part of a list", "has other elements than stated");
    if count == 0 {
        return if part.is_empty() { Ok(None) } else { Err(wrong()) };
    }
    let inner = match part.len().checked_sub(1) {
        _ if is_last => part,
        Some(len) if part.last() == Some(&b'\n') => part.slice(..len),
        _ => return Err(wrong()),
    };
    let newlines = memchr::memchr_iter(b'\n', &inner).count() as u64;
    if newlines.checked_add(1) != Some(count) {
        return Err(wrong());
    }
    Ok(Some(inner))
}
