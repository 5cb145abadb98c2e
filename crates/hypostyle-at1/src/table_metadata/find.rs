//! Finds the stream `hyp.table` in an archive.

use bytes::Bytes;

use super::TableMetadata;
use crate::container::Method;
use crate::frames::FrameReader;
use crate::streams::{Backend, CompressedStream};
use crate::table_frame::TABLE;
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::source;
use hypostyle_core::wire::Cursor;

/// Bytes at the start of an archive that are read to find the stream.
const HEAD_BYTES: u64 = 1 << 10;

/// The largest length of the stream: it has a few hundred bytes for most tables.
const MAX_BYTES: u64 = 64 << 20;

/// Returns what an archive says about the table of its text: in the first stream of a whole
/// archive, or in the last frame of a streaming one.
pub(crate) fn find(reader: &FrameReader) -> Result<Option<TableMetadata>> {
    let stream = match reader.table_frame() {
        Some(frame) => frame.set.streams.iter().find(|stream| stream.name == TABLE).cloned(),
        None if reader.container().chunk_lines.is_some() => None,
        None => first_stream(reader)?,
    };
    let Some(stream) = stream else { return Ok(None) };
    let max = reader.limits().header_bytes.min(MAX_BYTES);
    let limits = Limits::default().with_block_bytes(max);
    let content = stream.decompress(&limits, 1, reader.deviations());
    TableMetadata::parse(&content.map_err(|err| err.in_stream(TABLE))?)
}

/// Returns the first stream of a whole archive if it has the name of the table.
fn first_stream(reader: &FrameReader) -> Result<Option<CompressedStream>> {
    let source = reader.source();
    let Some(frame) = reader.container().first(source)? else { return Ok(None) };
    if frame.method == Method::Raw {
        return Ok(None);
    }
    let head = source::range(source, frame.offset, frame.len.min(HEAD_BYTES), "streams")?;
    let Some(Place { backend, offset, len }) = place(&head, frame.offset) else {
        return Ok(None);
    };
    let limit = reader.limits().header_bytes.min(MAX_BYTES);
    if len > limit {
        let kind = ErrorKind::LimitExceeded { what: "table", asked: len, limit };
        return Err(hypostyle_core::error::Error::from(kind).at(offset).in_stream(TABLE));
    }
    let start = usize::try_from(offset.saturating_sub(frame.offset)).unwrap_or(usize::MAX);
    let end = start.saturating_add(usize::try_from(len).unwrap_or(usize::MAX));
    let bytes: Bytes = if end <= head.len() {
        head.slice(start..end)
    } else {
        source::range(source, offset, len, "table")?
    };
    Ok(Some(CompressedStream { name: TABLE.to_owned(), backend, offset, bytes }))
}

struct Place {
    backend: Backend,
    offset: u64,
    len: u64,
}

/// Finds the payload of the first stream; `None` if it has another name or another form
/// than our writer gives it.
fn place(head: &[u8], offset: u64) -> Option<Place> {
    let mut cursor = Cursor::new(head, offset);
    cursor.uv("stream count").ok()?;
    if cursor.lp("stream name").ok()? != TABLE.as_bytes() {
        return None;
    }
    let backend = Backend::from_id(cursor.u8("backend").ok()?)?;
    let len = cursor.uv("stream length").ok()?;
    Some(Place { backend, offset: cursor.offset(), len })
}
