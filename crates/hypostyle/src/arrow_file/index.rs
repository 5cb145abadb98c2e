//! Finds the messages of an Arrow IPC file or stream, without reading their bodies.

use std::ops::Range;
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::{Block, Endianness, Message, MessageHeader};
use arrow_schema::SchemaRef;
use bytes::Bytes;

use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::Cursor;

/// The bytes that a file starts and ends with.
pub(super) const FILE_MAGIC: &[u8] = b"ARROW1";

/// The bytes before the length of each message; a stream starts with them.
pub(super) const CONTINUATION: &[u8] = &[0xFF; 4];

/// Bytes after the footer of a file: its length, and the magic.
const TAIL_BYTES: u64 = 10;

/// Bytes that are read from the end of a file, or for a message of a stream: enough for most
/// footers and messages, so that one read is enough.
const FIRST_READ_BYTES: u64 = 64 << 10;
const MESSAGE_READ_BYTES: u64 = 1 << 10;

/// Where a message is.
#[derive(Clone, Debug)]
pub(super) struct MessagePlace {
    /// The prefix and the metadata.
    pub(super) metadata: Range<u64>,
    /// The buffers.
    pub(super) body: Range<u64>,
}

impl MessagePlace {
    fn new(offset: u64, metadata: u64, body: u64, source: &dyn ByteSource) -> Result<Self> {
        let middle = offset.checked_add(metadata);
        let end = middle.and_then(|middle| middle.checked_add(body));
        match (middle, end) {
            (Some(middle), Some(end)) if end <= source.size() => {
                Ok(Self { metadata: offset..middle, body: middle..end })
            }
            _ => Err(Error::malformed("message", "lies outside the file").at(offset)),
        }
    }

    /// Returns the bytes of the whole message.
    pub(super) fn range(&self) -> Range<u64> {
        self.metadata.start..self.body.end
    }

    /// Returns the number of bytes before the body.
    pub(super) fn metadata_len(&self) -> usize {
        usize::try_from(self.metadata.end - self.metadata.start).unwrap_or(usize::MAX)
    }
}

/// A record batch, which is a row group.
#[derive(Clone, Debug)]
pub(super) struct BatchPlace {
    pub(super) place: MessagePlace,
    pub(super) rows: u64,
    /// The number of dictionary messages that apply to it.
    pub(super) dictionaries: usize,
}

/// The messages of a file or stream.
#[derive(Debug)]
pub(super) struct Index {
    pub(super) schema: SchemaRef,
    pub(super) dictionaries: Vec<MessagePlace>,
    pub(super) batches: Vec<BatchPlace>,
}

/// Reads the footer of a file and the metadata of its record batches, or the metadata of all
/// messages of a stream.
pub(super) fn read(source: &dyn ByteSource, limits: &Limits) -> Result<Index> {
    let len = source.size().min(FILE_MAGIC.len() as u64);
    if source::range(source, 0, len, "magic")? == FILE_MAGIC {
        of_file(source, limits)
    } else {
        of_stream(source, limits)
    }
}

fn of_file(source: &dyn ByteSource, limits: &Limits) -> Result<Index> {
    let footer_bytes = footer_bytes(source, limits)?;
    let footer = arrow_ipc::root_as_footer(&footer_bytes)
        .map_err(|err| Error::malformed("footer", err.to_string()))?;
    let schema = footer.schema().ok_or_else(|| Error::malformed("footer", "has no schema"))?;
    let schema = schema_of(schema)?;
    let place = |block: &Block| {
        let number = |number: i64| u64::try_from(number).unwrap_or(u64::MAX);
        let metadata = number(i64::from(block.metaDataLength()));
        MessagePlace::new(number(block.offset()), metadata, number(block.bodyLength()), source)
    };
    let dictionaries = footer.dictionaries().into_iter().flatten().map(place);
    let dictionaries = dictionaries.collect::<Result<Vec<_>>>()?;
    let batches = footer.recordBatches().into_iter().flatten().map(place);
    let batches = batches.collect::<Result<Vec<_>>>()?;
    let ranges: Vec<Range<u64>> = batches.iter().map(|place| place.metadata.clone()).collect();
    // Footers have no row counts, so the metadata of every record batch is read here.
    let metadata_bytes: u64 = ranges.iter().map(|range| range.end - range.start).sum();
    check_limit("metadata of record batches", metadata_bytes, limits.header_bytes)?;
    let pieces = source.read_ranges(&ranges)?;
    let count = dictionaries.len();
    let batches = batches.into_iter().zip(pieces).map(|(place, metadata)| {
        let rows = rows_of(&message(&metadata)?).map_err(|err| err.at(place.metadata.start))?;
        Ok(BatchPlace { place, rows, dictionaries: count })
    });
    let batches = batches.collect::<Result<Vec<_>>>()?;
    Ok(Index { schema, dictionaries, batches })
}

fn footer_bytes(source: &dyn ByteSource, limits: &Limits) -> Result<Bytes> {
    let size = source.size();
    source::check(source, 0, FILE_MAGIC.len() as u64 + TAIL_BYTES, "footer")?;
    let first = size.min(FIRST_READ_BYTES);
    let end = source::range(source, size - first, first, "footer")?;
    let tail_at = usize::try_from(first - TAIL_BYTES).unwrap_or_default();
    let mut tail = Cursor::new(end.get(tail_at..).unwrap_or_default(), size - TAIL_BYTES);
    let len = u64::from(tail.u32_le("footer length")?);
    if tail.rest() != FILE_MAGIC {
        let at = size - FILE_MAGIC.len() as u64;
        return Err(Error::malformed("magic", "is missing at the end").at(at));
    }
    check_limit("footer", len, limits.header_bytes)?;
    let start = (size - TAIL_BYTES).checked_sub(len).ok_or_else(|| {
        Error::malformed("footer length", format!("`{len}` is more than the file"))
            .at(size - TAIL_BYTES)
    })?;
    if len + TAIL_BYTES <= first {
        let from = usize::try_from(first - TAIL_BYTES - len).unwrap_or_default();
        return Ok(end.slice(from..tail_at));
    }
    source::range(source, start, len, "footer")
}

fn of_stream(source: &dyn ByteSource, limits: &Limits) -> Result<Index> {
    let (mut offset, mut found) = (0, None);
    while let Some((metadata, prefix)) = next_metadata(source, offset, limits)? {
        let message = parsed(metadata.get(prefix..).unwrap_or_default())?;
        let body = u64::try_from(message.bodyLength()).unwrap_or(u64::MAX);
        let place = MessagePlace::new(offset, metadata.len() as u64, body, source)?;
        let next = place.body.end;
        match (message.header_type(), &mut found) {
            (MessageHeader::Schema, None) => {
                let schema = message.header_as_schema();
                let schema = schema.ok_or_else(|| Error::malformed("schema", "is missing"))?;
                let (dictionaries, batches) = (Vec::new(), Vec::new());
                let schema = schema_of(schema)?;
                found = Some(Index { schema, dictionaries, batches });
            }
            (MessageHeader::DictionaryBatch, Some(index)) => index.dictionaries.push(place),
            (MessageHeader::RecordBatch, Some(index)) => {
                let rows = rows_of(&message).map_err(|err| err.at(offset))?;
                let dictionaries = index.dictionaries.len();
                index.batches.push(BatchPlace { place, rows, dictionaries });
            }
            (kind, _) => {
                let why = format!("{kind:?} is not expected here");
                return Err(Error::malformed("message", why).at(offset));
            }
        }
        offset = next;
    }
    found.ok_or_else(|| Error::malformed("stream", "has no schema"))
}

/// Reads the prefix and the metadata of a message of a stream, and returns them with the length
/// of the prefix; `None` at the end of the stream.
fn next_metadata(
    source: &dyn ByteSource,
    offset: u64,
    limits: &Limits,
) -> Result<Option<(Bytes, usize)>> {
    let left = source.size().saturating_sub(offset);
    if left == 0 {
        return Ok(None);
    }
    let head = source::range(source, offset, left.min(MESSAGE_READ_BYTES), "message")?;
    let mut cursor = Cursor::new(&head, offset);
    let mut first = cursor.clone();
    // Streams before Arrow 0.15 have the length alone.
    if first.take(CONTINUATION.len(), "message").is_ok_and(|bytes| bytes == CONTINUATION) {
        cursor = first;
    }
    let len = u64::from(cursor.u32_le("message length")?);
    if len == 0 {
        return Ok(None);
    }
    check_limit("message", len, limits.header_bytes)?;
    let prefix = head.len() - cursor.left();
    let whole = len.saturating_add(prefix as u64);
    let metadata = match usize::try_from(whole) {
        Ok(whole) if whole <= head.len() => head.slice(..whole),
        _ => source::range(source, offset, whole, "message")?,
    };
    Ok(Some((metadata, prefix)))
}

fn check_limit(what: &'static str, asked: u64, limit: u64) -> Result<()> {
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
    }
    Ok(())
}

fn schema_of(schema: arrow_ipc::Schema<'_>) -> Result<SchemaRef> {
    if schema.endianness() != Endianness::Little {
        return Err(Error::unsupported("big-endian data"));
    }
    if schema.fields().is_none() {
        return Err(Error::malformed("schema", "has no fields"));
    }
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Parses the metadata of a message, with its prefix.
pub(super) fn message(metadata: &[u8]) -> Result<Message<'_>> {
    let prefix = if metadata.starts_with(CONTINUATION) { 2 * CONTINUATION.len() } else { 4 };
    parsed(metadata.get(prefix..).unwrap_or_default())
}

fn parsed(metadata: &[u8]) -> Result<Message<'_>> {
    arrow_ipc::root_as_message(metadata).map_err(|err| Error::malformed("message", err.to_string()))
}

fn rows_of(message: &Message<'_>) -> Result<u64> {
    let batch = message.header_as_record_batch();
    let batch = batch.ok_or_else(|| Error::malformed("record batch", "is another message"))?;
    u64::try_from(batch.length())
        .map_err(|_| Error::malformed("record batch", "has a negative number of rows"))
}
