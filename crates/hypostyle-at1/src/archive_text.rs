//! The text of an archive as a source of a text table, decoded frame by frame, or group by
//! group if it has line groups.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::container::{Extent, in_at1};
use super::frame_checksums::ArchiveChecksums;
use super::frame_pipe::FramePipe;
use super::frames::FrameReader;
use super::line_groups::LineGroups;
use super::table_metadata::FrameSize;
use super::unpack::Unpacker;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::text::TextSource;

/// The text of an archive.
#[derive(Debug)]
pub(super) struct ArchiveText {
    frames: Arc<FrameReader>,
    /// The sizes of the frames, if the archive states them.
    sizes: Vec<FrameSize>,
    /// The size of the text, if the archive states it.
    bytes: Option<u64>,
    /// The line groups, if the archive has them.
    groups: Option<Arc<LineGroups>>,
    /// The checksums of the frames, if the archive states them.
    checksums: Option<ArchiveChecksums>,
    /// Whether the whole text must be compared with the hash before a part of it is returned.
    is_suspect: Mutex<bool>,
}

impl ArchiveText {
    /// Returns the text of an archive of which this is known beforehand.
    pub(super) fn new(frames: Arc<FrameReader>, sizes: Vec<FrameSize>, bytes: Option<u64>) -> Self {
        let is_suspect = Mutex::new(false);
        Self { frames, sizes, bytes, groups: None, checksums: None, is_suspect }
    }

    /// Sets the checksums of the frames. Without them, the whole text is decoded and compared
    /// with the hash before any part of it is returned.
    pub(super) fn with_checksums(mut self, checksums: Option<ArchiveChecksums>) -> Self {
        self.is_suspect = Mutex::new(checksums.is_none());
        self.checksums = checksums;
        self
    }

    /// Sets the line groups, which must be those of the text.
    pub(super) fn with_groups(mut self, groups: Option<Arc<LineGroups>>) -> Self {
        self.groups = groups;
        self
    }

    /// Decodes the first bytes of the text, and little more than them.
    pub(super) fn head(frames: &FrameReader, len: usize) -> Result<Vec<u8>> {
        let mut head = Head { bytes: Vec::new(), len };
        let unpacker = Unpacker::new(frames);
        let mut next = frames.container().first(frames.source()).map_err(in_at1)?;
        while let Some(extent) = next.filter(|_| head.bytes.len() < len) {
            match unpacker.frame(extent, &mut head) {
                // The frame has more text than the head needs.
                Err(_) if head.bytes.len() >= len => {}
                decoded => decoded.map_err(in_at1)?,
            }
            next = frames.container().after(frames.source(), extent).map_err(in_at1)?;
        }
        head.bytes.truncate(len);
        Ok(head.bytes)
    }

    /// Compares the whole text with the hash of the archive, unless a part of it can be checked
    /// by itself.
    fn check_whole(&self) -> Result<()> {
        // Other threads wait, because they would decode the same.
        let mut is_suspect = self.is_suspect.lock().unwrap_or_else(PoisonError::into_inner);
        let hash = self.frames.container().hash;
        if *is_suspect && hash.is_some() {
            Unpacker::new(&self.frames).original(&mut io::sink(), hash)?;
        }
        *is_suspect = false;
        Ok(())
    }
}

impl TextSource for ArchiveText {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        self.check_whole()?;
        // From the start, the text is decoded as a whole, and its hash is compared.
        if let Some(groups) = self.groups.as_ref().filter(|_| offset > 0) {
            return Ok(Box::new(GroupTexts::new(groups, offset, groups.len(), None)));
        }
        let container = self.frames.container();
        let mut next = container.first(self.frames.source()).map_err(in_at1)?;
        let (mut start, mut index) = (0_u64, 0);
        // Whole frames before the offset need not be decoded.
        while let (Some(extent), Some(size)) = (next, self.sizes.get(index))
            && start.saturating_add(size.bytes) <= offset
        {
            start = start.saturating_add(size.bytes);
            index = index.saturating_add(1);
            next = container.after(self.frames.source(), extent).map_err(in_at1)?;
        }
        let hash = container.hash.filter(|_| start == 0).map(|want| (Sha256::new(), want));
        let end = End { hash, decoded: start, bytes: self.bytes };
        if next.is_none() {
            end.check().map_err(in_at1)?;
        }
        let checksums = self.checksums.clone();
        Ok(Box::new(FrameTexts {
            checksums,
            index,
            frames: self.frames.clone(),
            sizes: self.sizes.get(index..).unwrap_or_default().to_vec().into_iter(),
            next,
            pipe: None,
            in_frame: 0,
            again: 0,
            held: None,
            text: Bytes::new(),
            skip: offset.saturating_sub(start),
            end,
        }))
    }

    fn open_part(
        &self,
        offset: u64,
        end: Option<u64>,
        columns: &[&str],
    ) -> Result<Box<dyn Read + Send>> {
        if let Some(groups) = &self.groups
            && let Some((group, _)) = groups.group_at(offset)
            && let Some(range) = groups.text_range(group)
            && range.end == end.unwrap_or(groups.text_bytes())
        {
            let is_whole = range.start == offset;
            let names = columns.iter().map(|&name| name.to_owned()).collect();
            let end = group.saturating_add(1);
            return Ok(Box::new(GroupTexts::new(groups, offset, end, is_whole.then_some(names))));
        }
        self.open_until(offset, end)
    }

    fn is_seekable(&self) -> bool {
        self.sizes.len() > 1 || self.groups.is_some()
    }

    fn size(&self) -> Option<u64> {
        self.bytes
    }
}

/// Reads the text of one line group after the other.
#[derive(Debug)]
struct GroupTexts {
    groups: Arc<LineGroups>,
    /// The next group, and the one after the last.
    next: usize,
    end: usize,
    /// Bytes of the next group before the offset that was asked for.
    skip: u64,
    /// The members of objects that are needed; `None` for all.
    members: Option<Vec<String>>,
    /// The rest of the group that is being read.
    text: Bytes,
}

impl GroupTexts {
    fn new(
        groups: &Arc<LineGroups>,
        offset: u64,
        end: usize,
        members: Option<Vec<String>>,
    ) -> Self {
        let (next, start) = groups.group_at(offset).unwrap_or((end, offset));
        let skip = offset.saturating_sub(start);
        Self { groups: groups.clone(), next, end, skip, members, text: Bytes::new() }
    }
}

impl Read for GroupTexts {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        while self.text.is_empty() && self.next < self.end && !buf.is_empty() {
            let text = match &self.members {
                Some(names) => {
                    let names: Vec<&str> = names.iter().map(String::as_str).collect();
                    self.groups.members(self.next, &names)
                }
                None => self.groups.text(self.next),
            };
            let text = text.map_err(in_at1)?;
            let skip = text.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
            (self.text, self.skip) = (text.slice(skip..), 0);
            self.next = self.next.saturating_add(1);
        }
        let len = self.text.len().min(buf.len());
        let piece = self.text.split_to(len);
        if let Some(room) = buf.get_mut(..len) {
            room.copy_from_slice(&piece);
        }
        Ok(len)
    }
}

/// Reads the text of one frame after the other.
#[derive(Debug)]
struct FrameTexts {
    frames: Arc<FrameReader>,
    checksums: Option<ArchiveChecksums>,
    /// The number of the frame `next`.
    index: usize,
    sizes: std::vec::IntoIter<FrameSize>,
    next: Option<Extent>,
    /// The decoder of the frame `next`, if it was started.
    pipe: Option<FramePipe>,
    /// Bytes of the frame that were taken from decoders.
    in_frame: u64,
    /// Bytes of them that the decoder must produce again after an error.
    again: u64,
    /// The piece after `text`, which waits for the check at the end of the text.
    held: Option<Bytes>,
    /// The rest of the piece that is being read.
    text: Bytes,
    /// Bytes before the offset that was asked for.
    skip: u64,
    end: End,
}

/// What must be true at the end of the text.
#[derive(Clone, Debug)]
struct End {
    /// The hash of the text so far and the one that the archive states, if the text is read
    /// from its start.
    hash: Option<(Sha256, [u8; 32])>,
    /// Bytes of text that were decoded.
    decoded: u64,
    /// The size of the text, if the archive states it.
    bytes: Option<u64>,
}

impl End {
    /// Adds a piece of the text.
    fn add(&mut self, text: &[u8]) {
        self.decoded = self.decoded.saturating_add(text.len() as u64);
        if let Some((hash, _)) = &mut self.hash {
            hash.update(text);
        }
    }

    /// Fails unless the text is the one that was packed.
    fn check(&self) -> Result<()> {
        if let Some((hash, want)) = &self.hash
            && hash.clone().finalize().as_slice() != want
        {
            let why = "the hash of the unpacked bytes does not match";
            return Err(Error::malformed("trailer", why));
        }
        match self.bytes {
            Some(bytes) if bytes != self.decoded => {
                let why = format!("{bytes} is stated, but it has {} bytes", self.decoded);
                Err(Error::malformed("size of the text", why))
            }
            _ => Ok(()),
        }
    }
}

impl FrameTexts {
    /// Returns the next piece of text; `None` at the end of the text.
    ///
    /// The last piece is returned only if the whole text is the one that was packed: a
    /// caller may stop at the last row. A call that fails can be repeated.
    fn next_piece(&mut self) -> Result<Option<Bytes>> {
        loop {
            let Some(extent) = self.next else { return Ok(self.held.take()) };
            match self.step(extent) {
                Ok(None) => {}
                Ok(ready) => return Ok(ready),
                Err(err) => {
                    (self.pipe, self.again) = (None, self.in_frame);
                    return Err(err);
                }
            }
        }
    }

    /// Takes a piece of the frame, or ends it; returns the piece that was held before.
    fn step(&mut self, extent: Extent) -> Result<Option<Bytes>> {
        let pipe = match &mut self.pipe {
            Some(pipe) => pipe,
            None => {
                let checksums = self.checksums.as_ref();
                let checksums = checksums.map(|all| all.frame(self.index, extent)).transpose()?;
                self.pipe.insert(FramePipe::start(&self.frames, extent, checksums)?)
            }
        };
        let Some(mut piece) = pipe.next()? else {
            self.end_frame(extent)?;
            return Ok(None);
        };
        let again = piece.len().min(usize::try_from(self.again).unwrap_or(usize::MAX));
        drop(piece.split_to(again));
        self.again = self.again.saturating_sub(again as u64);
        if piece.is_empty() {
            return Ok(None);
        }
        let frames = &self.frames;
        let (what, asked) = ("unpacked size", self.end.decoded.saturating_add(piece.len() as u64));
        let limit = frames.limits().output_bytes;
        let limit = frames.budget().map_or(limit, |budget| budget.left(limit));
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        self.in_frame = self.in_frame.saturating_add(piece.len() as u64);
        self.end.add(&piece);
        Ok(self.held.replace(piece))
    }

    /// Checks the text of a frame, and moves to the next one.
    fn end_frame(&mut self, extent: Extent) -> Result<()> {
        if let Some(size) = self.sizes.as_slice().first()
            && size.bytes != self.in_frame
        {
            let why = format!("{} is stated, but it has {} bytes", size.bytes, self.in_frame);
            return Err(Error::malformed("text of a frame", why).at(extent.offset));
        }
        let next = self.frames.container().after(self.frames.source(), extent)?;
        let index = self.index.saturating_add(1);
        if next.is_none() {
            self.end.check()?;
            if let Some(checksums) = &self.checksums {
                checksums.expect_frames(index)?;
            }
        }
        self.sizes.next();
        self.index = index;
        (self.next, self.pipe, self.in_frame, self.again) = (next, None, 0, 0);
        Ok(())
    }
}

impl Read for FrameTexts {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if buf.is_empty() {
            return Ok(0);
        }
        loop {
            if self.skip > 0 {
                let step = self.text.len().min(usize::try_from(self.skip).unwrap_or(usize::MAX));
                drop(self.text.split_to(step));
                self.skip = self.skip.saturating_sub(step as u64);
            }
            if !self.text.is_empty() {
                break;
            }
            match self.next_piece().map_err(in_at1)? {
                Some(piece) => self.text = piece,
                None => return Ok(0),
            }
        }
        let len = self.text.len().min(buf.len());
        let piece = self.text.split_to(len);
        if let Some(room) = buf.get_mut(..len) {
            room.copy_from_slice(&piece);
        }
        Ok(len)
    }
}

/// A writer that keeps the first bytes and then fails, which ends the decoding.
struct Head {
    bytes: Vec<u8>,
    len: usize,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() >= self.len {
            return Err(io::Error::other("the head is complete"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
