//! Lets the `parquet` crate read from a [`ByteSource`].

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use super::thrift;
use hypostyle_core::error::Error;
use hypostyle_core::limits::Limits;
use hypostyle_core::source::ByteSource;

/// Bytes that are read at a time for page headers, which are small.
const HEADER_READ_BYTES: u64 = 1 << 10;

/// The longest page header that is read. Statistics in it may be long texts.
const MAX_HEADER_BYTES: u64 = 16 << 20;

/// The maximum ratio of zstd, which is the highest but that of Brotli, which has none.
const MAX_RATIO: i128 = (128 << 10) / 4;

/// The size up to which a page may claim any ratio. Writers end a page after a megabyte.
const CHEAP_PAGE_BYTES: i128 = 64 << 20;

/// The column chunks of a row group, in memory or in a source.
#[derive(Clone, Debug)]
pub(super) struct ChunkSource {
    source: Arc<dyn ByteSource>,
    /// Column chunks that were fetched as a whole.
    held: Arc<Vec<(Range<u64>, Bytes)>>,
    /// The error of the source: the `parquet` crate keeps only its message.
    failure: Arc<Mutex<Option<io::Error>>>,
    /// The largest size that a page may claim.
    max_page_bytes: u64,
}

impl ChunkSource {
    /// Returns a source that serves `held` from memory.
    pub(super) fn new(source: Arc<dyn ByteSource>, held: Vec<(Range<u64>, Bytes)>) -> Self {
        let max_page_bytes = Limits::default().block_bytes;
        Self { source, held: Arc::new(held), failure: Arc::default(), max_page_bytes }
    }

    /// Sets the size that a page may claim.
    pub(super) fn with_limits(&self, limits: &Limits) -> Self {
        Self { max_page_bytes: limits.block_bytes, ..self.clone() }
    }

    /// Turns an error of the `parquet` crate into one of this library.
    pub(super) fn error(&self, what: &'static str, err: impl std::fmt::Display) -> Error {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        failure.map_or_else(|| Error::malformed(what, err.to_string()), Error::from)
    }

    fn bytes(&self, start: u64, len: usize) -> Result<Bytes, ParquetError> {
        let end = start.saturating_add(len as u64);
        let holds = |(range, _): &&(Range<u64>, Bytes)| range.start <= start && end <= range.end;
        if let Some((range, bytes)) = self.held.iter().find(holds)
            && let Ok(from) = usize::try_from(start - range.start)
            && let Some(to) = from.checked_add(len).filter(|&to| to <= bytes.len())
        {
            return Ok(bytes.slice(from..to));
        }
        if end > self.source.size() {
            let why = format!("{len} bytes at {start} lie beyond the end of the file");
            return Err(ParquetError::EOF(why));
        }
        self.source.read(start, len).map_err(|cause| {
            let text = cause.to_string();
            *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause);
            ParquetError::General(text)
        })
    }
}

impl Length for ChunkSource {
    fn len(&self) -> u64 {
        self.source.size()
    }
}

impl ChunkReader for ChunkSource {
    type T = ChunkRead;

    fn get_read(&self, start: u64) -> Result<ChunkRead, ParquetError> {
        let source = self.clone();
        Ok(ChunkRead { source, next: start, buffer: Bytes::new(), is_checked: false })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.bytes(start, length)
    }
}

/// Reads a page header.
#[derive(Debug)]
pub(super) struct ChunkRead {
    source: ChunkSource,
    next: u64,
    buffer: Bytes,
    is_checked: bool,
}

impl ChunkRead {
    /// Fills the buffer with the next bytes, at most `max`.
    fn fill(&mut self, max: u64) -> Result<(), ParquetError> {
        // Bytes beyond a held column chunk may have to be fetched, so stop at its end.
        let held = self.source.held.iter().map(|(range, _)| range);
        let inside = held.filter(|range| range.contains(&self.next)).map(|range| range.end);
        let end = inside.min().unwrap_or_else(|| self.source.source.size());
        let len = usize::try_from(end.saturating_sub(self.next).min(max)).unwrap_or_default();
        self.buffer = self.source.bytes(self.next, len)?;
        Ok(())
    }

    /// Reads the header, and fails if the page claims more than it may have.
    fn check(&mut self) -> Result<(), ParquetError> {
        let mut max = HEADER_READ_BYTES;
        let sizes = loop {
            self.fill(max)?;
            match thrift::page_sizes(&self.buffer) {
                Ok(sizes) => break sizes,
                // A longer header, or none.
                Err(_) if self.buffer.len() as u64 == max && max < MAX_HEADER_BYTES => max *= 16,
                Err(err) => return Err(ParquetError::General(err.to_string())),
            }
        };
        let (claimed, stored) = (sizes.uncompressed, sizes.compressed.max(0));
        let limit = self.source.max_page_bytes;
        if claimed > i128::from(limit) {
            let why = format!("page: {claimed} bytes are over the limit of {limit}");
            return Err(ParquetError::General(why));
        }
        if claimed > CHEAP_PAGE_BYTES && claimed > stored.saturating_mul(MAX_RATIO) {
            let why = format!("{stored} bytes cannot hold the {claimed} bytes that they claim");
            return Err(ParquetError::General(why));
        }
        self.is_checked = true;
        Ok(())
    }
}

impl Read for ChunkRead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if !self.is_checked {
            self.check().map_err(io::Error::other)?;
            self.next = self.next.saturating_add(self.buffer.len() as u64);
        } else if self.buffer.is_empty() {
            self.fill(HEADER_READ_BYTES).map_err(io::Error::other)?;
            self.next = self.next.saturating_add(self.buffer.len() as u64);
        }
        let count = out.len().min(self.buffer.len());
        let taken = self.buffer.split_to(count);
        if let Some(out) = out.get_mut(..count) {
            out.copy_from_slice(&taken);
        }
        Ok(count)
    }
}
