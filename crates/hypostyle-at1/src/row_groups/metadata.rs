//! Everything that readers of row groups need from an archive except the blocks.

use bytes::Bytes;

use super::frame_tables::FrameTables;
use super::source::StreamDirectory;
use crate::codecs;
use crate::codecs::context::DecodeContext;
use crate::codecs::entry::GroupedCodec;
use crate::container::{Extent, Method};
use crate::frame_checksums::{ArchiveChecksums, FrameChecksums};
use crate::frames::FrameReader;
use crate::group_index::{INDEX, SUMS};
use crate::streams::{StreamSet, Streams};
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::source::ByteSource;

/// The streams of one frame except its blocks.
enum FrameMetadata {
    Tables(StreamDirectory, Streams),
    /// The text of a raw frame.
    Text(Bytes),
}

impl FrameMetadata {
    fn bytes(&self) -> u64 {
        match self {
            Self::Tables(_, streams) => streams.total(),
            Self::Text(text) => text.len() as u64,
        }
    }
}

/// The streams of all frames except their blocks.
pub(crate) struct ArchiveMetadata<'a> {
    reader: &'a FrameReader,
    pub(crate) groups: GroupedCodec,
    pub(super) source: &'a dyn ByteSource,
    frames: Vec<FrameMetadata>,
    no_streams: StreamSet,
}

impl<'a> ArchiveMetadata<'a> {
    /// Reads every frame, and compares their checksums if they are known; `None` if the
    /// archive cannot be queried.
    pub(crate) fn all(
        reader: &'a FrameReader,
        checksums: Option<&ArchiveChecksums>,
    ) -> Result<Option<Self>> {
        let Some(mut metadata) = Self::without_frames(reader) else { return Ok(None) };
        let mut asked = 0_u64;
        for extent in reader.extents()? {
            let checks = checksums.map(|all| all.frame(metadata.frames.len(), extent));
            let Some(frame) = metadata.read(extent, checks.transpose()?, false)? else {
                return Ok(None);
            };
            asked = asked.saturating_add(frame.bytes());
            let (what, limit) = ("size of the streams without blocks", reader.limits().read_bytes);
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
            metadata.frames.push(frame);
        }
        if let Some(checksums) = checksums {
            checksums.expect_frames(metadata.frames.len())?;
        }
        Ok(Some(metadata))
    }

    /// Reads one frame, whose blocks may be truncated; `None` if it cannot be queried.
    pub(super) fn one(reader: &'a FrameReader, extent: Extent) -> Result<Option<Self>> {
        let Some(mut metadata) = Self::without_frames(reader) else { return Ok(None) };
        let Some(frame) = metadata.read(extent, None, true)? else { return Ok(None) };
        metadata.frames.push(frame);
        Ok(Some(metadata))
    }

    fn without_frames(reader: &'a FrameReader) -> Option<Self> {
        let groups = codecs::entry(reader.codec()).groups?;
        let source = reader.source();
        let no_streams = StreamSet { streams: Vec::new() };
        Some(Self { reader, groups, source, frames: Vec::new(), no_streams })
    }

    /// Reads a frame except its blocks; `None` if its blocks cannot be read one by one.
    fn read(
        &self,
        extent: Extent,
        checksums: Option<FrameChecksums>,
        truncated: bool,
    ) -> Result<Option<FrameMetadata>> {
        if extent.method == Method::Raw {
            let body = self.reader.body(extent)?;
            if let Some(checksums) = checksums {
                checksums.check(self.reader.codec(), extent, &body)?;
            }
            return Ok(Some(FrameMetadata::Text(self.reader.raw_text(extent, &body)?)));
        }
        let directory = match checksums {
            None => StreamDirectory::read(self.reader, extent, truncated)?,
            some => StreamDirectory::checked(self.reader, extent, some)?,
        };
        let Some(directory) = directory else { return Ok(None) };
        let context = self.reader.context(&directory.set);
        // Only our writer adds these streams. If they are damaged, queries do without them.
        let is_added = |name: &str| matches!(name, INDEX | SUMS);
        let mut streams = context.decompress(|name| !is_added(name))?;
        if let Ok(added) = context.decompress(is_added) {
            streams.join(added);
        }
        Ok(Some(FrameMetadata::Tables(directory, streams)))
    }

    /// Parses the tables of all frames; `None` if a frame cannot be queried.
    pub(crate) fn frames(&self) -> Result<Option<Vec<FrameTables>>> {
        let mut frames: Vec<FrameTables> = Vec::with_capacity(self.frames.len());
        for frame in &self.frames {
            let tables = match frame {
                FrameMetadata::Text(text) => FrameTables::raw(text),
                FrameMetadata::Tables(directory, streams) => {
                    let context = self.reader.context(&directory.set);
                    match FrameTables::parse(self.groups, directory, streams, &context)? {
                        Some(tables) => tables,
                        None => return Ok(None),
                    }
                }
            };
            frames.push(tables);
        }
        Ok(Some(frames))
    }

    /// Returns the context to decompress the blocks of a frame with.
    pub(super) fn context(&self, frame: usize) -> DecodeContext<'_> {
        match self.frames.get(frame) {
            Some(FrameMetadata::Tables(directory, _)) => self.reader.context(&directory.set),
            _ => self.reader.context(&self.no_streams),
        }
    }
}
