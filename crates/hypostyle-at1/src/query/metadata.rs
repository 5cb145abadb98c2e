//! What a query holds of an archive: everything but its blocks.

use bytes::Bytes;

use super::frame_tables::FrameTables;
use super::source::{CountedSource, StreamDirectory};
use crate::archive::Archive;
use crate::codecs::DecodeContext;
use crate::container::{Extent, Method};
use crate::group_index::{INDEX, SUMS};
use crate::streams::{PackedSet, Streams};
use hypostyle_core::error::{ErrorKind, Result};

/// A frame without its blocks.
enum FrameMetadata {
    Tables(StreamDirectory, Streams),
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

/// The frames of an archive without their blocks.
pub(super) struct ArchiveMetadata<'a> {
    pub(super) archive: &'a Archive,
    pub(super) source: CountedSource<'a>,
    parts: Vec<FrameMetadata>,
    empty: PackedSet,
}

impl<'a> ArchiveMetadata<'a> {
    /// Reads every frame; `None` if one of them cannot be asked.
    pub(super) fn all(archive: &'a Archive) -> Result<Option<Self>> {
        if !archive.codec().has_groups() {
            return Ok(None);
        }
        let mut metadata = Self::nothing(archive);
        let mut asked = 0_u64;
        for extent in archive.extents()? {
            let Some(part) = metadata.read(extent, false)? else { return Ok(None) };
            asked = asked.saturating_add(part.bytes());
            let (what, limit) = ("size of what is not in blocks", archive.limits().read_bytes);
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
            metadata.parts.push(part);
        }
        Ok(Some(metadata))
    }

    /// Reads one frame, whose blocks may be cut off; `None` if it cannot be asked.
    pub(super) fn one(archive: &'a Archive, extent: Extent) -> Result<Option<Self>> {
        if !archive.codec().has_groups() {
            return Ok(None);
        }
        let mut metadata = Self::nothing(archive);
        let Some(part) = metadata.read(extent, true)? else { return Ok(None) };
        metadata.parts.push(part);
        Ok(Some(metadata))
    }

    fn nothing(archive: &'a Archive) -> Self {
        let source = CountedSource::new(archive.source());
        Self { archive, source, parts: Vec::new(), empty: PackedSet { streams: Vec::new() } }
    }

    /// Reads a frame but for its blocks; `None` if that is not possible.
    fn read(&self, extent: Extent, cut: bool) -> Result<Option<FrameMetadata>> {
        Ok(match extent.method {
            Method::Raw => Some(FrameMetadata::Text(self.archive.raw_text(extent)?)),
            Method::Structured => match StreamDirectory::read(&self.source, extent, cut)? {
                None => None,
                Some(directory) => {
                    let context = self.archive.context(&directory.set);
                    // What only our queries know is not needed: damaged, it is as if absent.
                    let added = |name: &str| matches!(name, INDEX | SUMS);
                    let mut streams = context.expand(|name| !added(name))?;
                    if let Ok(more) = context.expand(added) {
                        streams.join(more);
                    }
                    Some(FrameMetadata::Tables(directory, streams))
                }
            },
        })
    }

    /// The frames; `None` if one of them cannot be asked.
    pub(super) fn frames(&self) -> Result<Option<Vec<FrameTables<'_>>>> {
        let mut frames: Vec<FrameTables<'_>> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let frame = match part {
                FrameMetadata::Text(text) => FrameTables::raw(text),
                FrameMetadata::Tables(directory, streams) => {
                    let context = self.archive.context(&directory.set);
                    match FrameTables::new(self.archive.codec(), directory, streams, &context)? {
                        Some(frame) => frame,
                        None => return Ok(None),
                    }
                }
            };
            frames.push(frame);
        }
        let dialect = frames.iter().find_map(|frame| frame.dialect.clone());
        frames.iter_mut().for_each(|frame| frame.dialect.clone_from(&dialect));
        Ok(Some(frames))
    }

    /// What it takes to expand the blocks of a frame.
    pub(super) fn context(&self, frame: usize) -> DecodeContext<'_> {
        match self.parts.get(frame) {
            Some(FrameMetadata::Tables(directory, _)) => self.archive.context(&directory.set),
            _ => self.archive.context(&self.empty),
        }
    }
}
