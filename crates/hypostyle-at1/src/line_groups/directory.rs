//! The streams of an archive whose lists are read by parts.

use std::sync::Arc;

use super::lists::{GroupedStream, StreamRole, layout};
use super::{GROUPS, LOG};
use crate::container::Method;
use crate::frames::FrameReader;
use crate::row_groups::source::StreamDirectory;
use crate::streams::{Backend, Streams};
use hypostyle_core::error::Result;

/// The places of the lists of a whole-file archive, and the content of its other streams.
#[derive(Debug)]
pub(crate) struct ListDirectory {
    pub(crate) archive: Arc<FrameReader>,
    pub(crate) layout: &'static [GroupedStream],
    directory: StreamDirectory,
    pub(crate) read: Streams,
}

impl ListDirectory {
    /// Reads the directory of an archive; `None` if it says nothing about parts of its lists.
    pub(crate) fn read(archive: &Arc<FrameReader>) -> Result<Option<Self>> {
        let container = archive.container();
        let Some(layout) = layout(container.codec).filter(|_| container.chunk_lines.is_none())
        else {
            return Ok(None);
        };
        let Some(extent) = container.first(archive.source())? else { return Ok(None) };
        if extent.method == Method::Raw {
            return Ok(None);
        }
        let is_list = |name: &str| {
            let mut streams = layout.iter();
            streams.any(|stream| stream.name == name && stream.role != StreamRole::Shared)
        };
        let directory = StreamDirectory::read(archive.source(), extent, false, is_list)?;
        let Some(directory) = directory else { return Ok(None) };
        let mut streams = directory.set.streams.iter();
        if !streams.any(|stream| stream.name == GROUPS || stream.name == LOG) {
            return Ok(None);
        }
        let context = archive.context(&directory.set);
        let read = context.decompress(|name| name != "raw" && !is_list(name))?;
        Ok(Some(Self { archive: archive.clone(), layout, directory, read }))
    }

    /// Returns whether the archive has a stream that is not a list.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.directory.set.streams.iter().any(|stream| stream.name == name)
    }

    /// Returns the backend, offset and length of a list.
    pub(crate) fn place(&self, name: &str) -> Option<(Backend, u64, u64)> {
        self.directory.unread(name)
    }
}
