//! What a query holds of an archive: everything but its blocks.

use bytes::Bytes;

use super::frame::Frame;
use super::source::{Counted, Directory};
use crate::archive::Archive;
use crate::codecs::Job;
use crate::container::{Extent, Method};
use crate::group_index::{INDEX, SUMS};
use crate::streams::{PackedSet, Streams};
use hypostyle_core::error::{ErrorKind, Result};

/// A frame without its blocks.
enum Part {
    Tables(Directory, Streams),
    Text(Bytes),
}

impl Part {
    fn bytes(&self) -> u64 {
        match self {
            Self::Tables(_, streams) => streams.total(),
            Self::Text(text) => text.len() as u64,
        }
    }
}

/// The frames of an archive without their blocks.
pub(super) struct Held<'a> {
    pub(super) archive: &'a Archive,
    pub(super) source: Counted<'a>,
    parts: Vec<Part>,
    empty: PackedSet,
}

impl<'a> Held<'a> {
    /// Reads every frame; `None` if one of them cannot be asked.
    pub(super) fn all(archive: &'a Archive) -> Result<Option<Self>> {
        if !archive.codec().has_groups() {
            return Ok(None);
        }
        let mut held = Self::nothing(archive);
        let mut asked = 0_u64;
        for extent in archive.extents()? {
            let Some(part) = held.read(extent, false)? else { return Ok(None) };
            asked = asked.saturating_add(part.bytes());
            let (what, limit) = ("size of what is not in blocks", archive.limits().read_bytes);
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
            held.parts.push(part);
        }
        Ok(Some(held))
    }

    /// Reads one frame, whose blocks may be cut off; `None` if it cannot be asked.
    pub(super) fn one(archive: &'a Archive, extent: Extent) -> Result<Option<Self>> {
        if !archive.codec().has_groups() {
            return Ok(None);
        }
        let mut held = Self::nothing(archive);
        let Some(part) = held.read(extent, true)? else { return Ok(None) };
        held.parts.push(part);
        Ok(Some(held))
    }

    fn nothing(archive: &'a Archive) -> Self {
        let source = Counted::new(archive.source());
        Self { archive, source, parts: Vec::new(), empty: PackedSet { streams: Vec::new() } }
    }

    /// Reads a frame but for its blocks; `None` if that is not possible.
    fn read(&self, extent: Extent, cut: bool) -> Result<Option<Part>> {
        Ok(match extent.method {
            Method::Raw => Some(Part::Text(self.archive.raw_text(extent)?)),
            Method::Structured => match Directory::read(&self.source, extent, cut)? {
                None => None,
                Some(directory) => {
                    let job = self.archive.job(&directory.set);
                    // What only our queries know is not needed: damaged, it is as if absent.
                    let added = |name: &str| matches!(name, INDEX | SUMS);
                    let mut streams = job.expand(|name| !added(name))?;
                    if let Ok(more) = job.expand(added) {
                        streams.join(more);
                    }
                    Some(Part::Tables(directory, streams))
                }
            },
        })
    }

    /// The frames; `None` if one of them cannot be asked.
    pub(super) fn frames(&self) -> Result<Option<Vec<Frame<'_>>>> {
        let mut frames: Vec<Frame<'_>> = Vec::with_capacity(self.parts.len());
        for part in &self.parts {
            let frame = match part {
                Part::Text(text) => Frame::raw(text),
                Part::Tables(directory, streams) => {
                    let job = self.archive.job(&directory.set);
                    match Frame::new(self.archive.codec(), directory, streams, &job)? {
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
    pub(super) fn job(&self, frame: usize) -> Job<'_> {
        match self.parts.get(frame) {
            Some(Part::Tables(directory, _)) => self.archive.job(&directory.set),
            _ => self.archive.job(&self.empty),
        }
    }
}
