//! Where the text of a table comes from.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use bytes::Bytes;

use crate::error::Result;
use crate::source::ByteSource;

/// A text that can be read several times.
pub trait TextSource: fmt::Debug + Send + Sync {
    /// Starts to read at a byte offset.
    ///
    /// A source that [cannot seek](TextSource::is_seekable) may read and drop everything
    /// before the offset.
    ///
    /// # Errors
    ///
    /// Fails if the text cannot be read, or decoded.
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>>;

    /// Starts to read a part of the text, whose rows start at `offset` and end before `end`, or
    /// at the end of the text.
    ///
    /// Only the named columns of its rows are needed. A source of objects may leave other
    /// members out, so that the part is shorter than in the text; it keeps every line.
    ///
    /// # Errors
    ///
    /// As [`TextSource::open`].
    fn open_part(
        &self,
        offset: u64,
        end: Option<u64>,
        columns: &[&str],
    ) -> Result<Box<dyn Read + Send>> {
        let _ = columns;
        self.open_until(offset, end)
    }

    /// Starts to read at a byte offset, up to an end or that of the text.
    ///
    /// # Errors
    ///
    /// As [`TextSource::open`].
    fn open_until(&self, offset: u64, end: Option<u64>) -> Result<Box<dyn Read + Send>> {
        let len = end.map_or(u64::MAX, |end| end.saturating_sub(offset));
        Ok(Box::new(self.open(offset)?.take(len)))
    }

    /// Returns whether reading from the middle costs no more than reading from the start.
    fn is_seekable(&self) -> bool;

    /// Returns the number of bytes, if it is known.
    fn size(&self) -> Option<u64>;
}

/// The text of a file.
#[derive(Clone, Debug)]
pub struct SourceText(pub Arc<dyn ByteSource>);

impl TextSource for SourceText {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new(SourceReader { source: self.0.clone(), offset, ready: Bytes::new() }))
    }

    fn is_seekable(&self) -> bool {
        true
    }

    fn size(&self) -> Option<u64> {
        Some(self.0.size())
    }
}

/// Reads a source from an offset to its end, with one read of the source for each read.
#[derive(Debug)]
struct SourceReader {
    source: Arc<dyn ByteSource>,
    offset: u64,
    /// Bytes that were read from the source and not yet returned.
    ready: Bytes,
}

impl Read for SourceReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() {
            let left = self.source.size().saturating_sub(self.offset);
            let len = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
            if len == 0 {
                return Ok(0);
            }
            self.ready = self.source.read(self.offset, len)?;
            self.offset = self.offset.saturating_add(self.ready.len() as u64);
        }
        let len = self.ready.len().min(buf.len());
        let bytes = self.ready.split_to(len);
        if let Some(room) = buf.get_mut(..len) {
            room.copy_from_slice(&bytes);
        }
        Ok(len)
    }
}
