//! Lists what an archive is made of: frames, streams, columns, row groups.

use super::codecs;
use super::container::Method;
use super::description::{Frame, FrameInfo, StreamInfo};
use super::frames::FrameReader;
use super::streams::CompressedStream;
use hypostyle_core::error::{ErrorKind, Result};

/// Lists the frames and their streams; decompresses nothing.
pub(super) fn frames(reader: &FrameReader) -> Result<Vec<Frame>> {
    let mut frames = Vec::new();
    let mut asked = 0_u64;
    reader.for_each(|extent, body| {
        let streams = match extent.method {
            Method::Raw => vec![reader.raw_stream(extent, body)?],
            Method::Structured => reader.stream_set(extent, body)?.streams,
        };
        let names: usize = streams.iter().map(|stream| stream.name.len()).sum();
        let bytes = size_of::<Frame>() + streams.len() * size_of::<StreamInfo>() + names;
        asked = asked.saturating_add(bytes as u64);
        let (what, limit) = ("list of frames", reader.limits().header_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        frames.push(Frame {
            offset: extent.offset,
            stored: extent.len,
            raw: extent.method == Method::Raw,
            streams: streams.iter().map(stream_info).collect(),
        });
        Ok(())
    })?;
    if let Some(table) = reader.table_frame() {
        frames.push(Frame {
            offset: table.extent.offset,
            stored: table.extent.len,
            raw: false,
            streams: table.set.streams.iter().map(stream_info).collect(),
        });
    }
    Ok(frames)
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
pub(super) fn tables(reader: &FrameReader) -> Result<Vec<FrameInfo>> {
    let mut tables = Vec::new();
    if let Some(describe) = codecs::entry(reader.codec()).describe {
        reader.for_each_structured(|context| {
            tables.extend(describe(context)?);
            Ok(())
        })?;
    } else {
        // Frames of other codecs are still checked: damage is reported here too.
        reader.for_each_structured(|_| Ok(()))?;
    }
    Ok(tables)
}
