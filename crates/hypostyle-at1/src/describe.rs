//! Lists what an archive is made of: frames, streams, columns, row groups.

use std::ops::Range;

use super::codecs;
use super::codecs::entry::Describe;
use super::container::{Extent, Method, in_at1};
use super::description::{Frame, FrameInfo, StreamInfo};
use super::frames::FrameReader;
use super::row_groups::source::StreamDirectory;
use super::streams::{Backend, CompressedStream};
use hypostyle_core::compress::xz::RemoteBlocks;
use hypostyle_core::compress::zstd;
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::source::{self, ByteSource, MissingRanges};

/// A list of frames, whose memory is limited.
struct FrameList {
    frames: Vec<Frame>,
    bytes: u64,
    limit: u64,
}

impl FrameList {
    fn new(reader: &FrameReader) -> Self {
        Self { frames: Vec::new(), bytes: 0, limit: reader.limits().header_bytes }
    }

    fn push(&mut self, extent: Extent, streams: Vec<StreamInfo>) -> Result<()> {
        let names: usize = streams.iter().map(|stream| stream.name.len()).sum();
        let bytes = size_of::<Frame>() + streams.len() * size_of::<StreamInfo>() + names;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        let (what, asked, limit) = ("list of frames", self.bytes, self.limit);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        let (offset, stored, raw) = (extent.offset, extent.len, extent.method == Method::Raw);
        self.frames.push(Frame { offset, stored, raw, streams });
        Ok(())
    }
}

/// Lists the frames and their streams; decompresses nothing.
pub(super) fn frames(reader: &FrameReader) -> Result<Vec<Frame>> {
    let mut list = FrameList::new(reader);
    reader.for_each(|extent, body| {
        let streams = match extent.method {
            Method::Raw => vec![reader.raw_stream(extent, body)?],
            Method::Structured => reader.stream_set(extent, body)?.streams,
        };
        list.push(extent, streams.iter().map(stream_info).collect())
    })?;
    list.frames.extend(table_frame(reader));
    Ok(list.frames)
}

/// Returns the frame of the table, if the archive has one.
fn table_frame(reader: &FrameReader) -> Option<Frame> {
    let table = reader.table_frame()?;
    Some(Frame {
        offset: table.extent.offset,
        stored: table.extent.len,
        raw: false,
        streams: table.set.streams.iter().map(stream_info).collect(),
    })
}

/// Lists the frames from their directories; see [`super::Archive::layout`].
pub(super) fn layout(reader: &FrameReader) -> Result<Vec<Frame>> {
    let source = reader.source();
    let mut list = FrameList::new(reader);
    for extent in reader.extents().map_err(in_at1)? {
        let streams = frame_layout(reader, extent).map_err(in_at1)?;
        list.push(extent, streams).map_err(in_at1)?;
    }
    let mut frames = list.frames;
    frames.extend(table_frame(reader));
    let ends: Vec<Range<u64>> =
        frames.iter().flat_map(|frame| &frame.streams).flat_map(size_ranges).collect();
    source.read_ranges(&ends).map_err(|err| in_at1(err.into()))?;
    for stream in frames.iter_mut().flat_map(|frame| &mut frame.streams) {
        stream.raw = content_size(source, stream).map_err(in_at1)?;
    }
    Ok(frames)
}

/// Finds the streams of a frame; their sizes of content are not known yet.
fn frame_layout(reader: &FrameReader, extent: Extent) -> Result<Vec<StreamInfo>> {
    let source = reader.source();
    let stream = |name: &str, backend: Backend, offset, stored| StreamInfo {
        name: name.to_owned(),
        backend: backend.name(),
        offset,
        stored,
        raw: None,
    };
    if extent.method == Method::Raw {
        let head = source::range(source, extent.offset, extent.len.min(HEAD_BYTES), "frame")?;
        let backend = head.first().and_then(|&id| Backend::from_id(id));
        if let Some(backend) = backend {
            let (offset, len) = (extent.offset.saturating_add(1), extent.len.saturating_sub(1));
            return Ok(vec![stream("", backend, offset, len)]);
        }
        return Ok(vec![stream_info(&reader.raw_stream(extent, &reader.body(extent)?)?)]);
    }
    let directory = readable(StreamDirectory::places(reader, extent))?;
    Ok(match directory {
        Some(directory) => directory
            .all_unread()
            .map(|(name, backend, offset, len)| stream(name, backend, offset, len))
            .collect(),
        None => {
            let set = reader.stream_set(extent, &reader.body(extent)?)?;
            set.streams.iter().map(stream_info).collect()
        }
    })
}

/// Returns a directory; `None` if it is in an old form, or damaged. Then the whole frame is read,
/// which fails with a better error.
fn readable(found: Result<Option<StreamDirectory>>) -> Result<Option<StreamDirectory>> {
    match found {
        Err(err) if MissingRanges::of(&err).is_none() => Ok(None),
        found => found,
    }
}

/// Bytes at the start of a stream that say what it is: a zstd header has up to 18.
const HEAD_BYTES: u64 = 18;

/// Bytes at the end of an xz stream that hold the index of most streams.
const TAIL_BYTES: u64 = 4 << 10;

/// Returns the parts of a stream that say how large its content is.
fn size_ranges(stream: &StreamInfo) -> Vec<Range<u64>> {
    let (start, end) = (stream.offset, stream.offset.saturating_add(stream.stored));
    let head = start..start.saturating_add(HEAD_BYTES).min(end);
    match stream.backend {
        _ if stream.raw.is_some() => Vec::new(),
        "xz" => vec![head, end.saturating_sub(TAIL_BYTES).max(start)..end],
        "zstd" => vec![head],
        _ => Vec::new(),
    }
}

fn content_size(source: &dyn ByteSource, stream: &StreamInfo) -> Result<Option<u64>> {
    let read = |range: Range<u64>| {
        let start = stream.offset.saturating_add(range.start);
        source::range(source, start, range.end.saturating_sub(range.start), "stream")
    };
    match stream.backend {
        _ if stream.raw.is_some() => Ok(stream.raw),
        "xz" => {
            let blocks = RemoteBlocks::find(stream.stored, read)?;
            Ok(blocks.map(|blocks| {
                (0..blocks.len()).fold(0, |sum, index| blocks.raw(index).saturating_add(sum))
            }))
        }
        "zstd" => Ok(zstd::content_size(&read(0..HEAD_BYTES.min(stream.stored))?)),
        _ => Ok(Some(stream.stored)),
    }
}

fn stream_info(packed: &CompressedStream) -> StreamInfo {
    StreamInfo {
        name: packed.name.clone(),
        backend: packed.backend.name(),
        offset: packed.offset,
        stored: packed.bytes.len() as u64,
        raw: packed.raw_size(),
    }
}

/// Describes the tables of each structured frame, for codecs that have columns.
///
/// Bulk streams are not read: no description needs them.
pub(super) fn tables(reader: &FrameReader) -> Result<Vec<FrameInfo>> {
    let Some(describe) = codecs::entry(reader.codec()).describe else { return Ok(Vec::new()) };
    let mut tables = Vec::new();
    for extent in reader.extents().map_err(in_at1)? {
        if extent.method == Method::Structured {
            tables.extend(frame_tables(reader, extent, describe).map_err(in_at1)?);
        }
    }
    Ok(tables)
}

fn frame_tables(
    reader: &FrameReader,
    extent: Extent,
    describe: Describe,
) -> Result<Vec<FrameInfo>> {
    let set = match readable(StreamDirectory::read(reader, extent, false))? {
        Some(directory) => directory.set,
        None => reader.stream_set(extent, &reader.body(extent)?)?,
    };
    describe(&reader.context(&set))
}
