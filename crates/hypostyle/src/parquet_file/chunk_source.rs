//! Lets the `parquet` crate read from a [`ByteSource`].

use std::io::{self, Read};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use hypostyle_core::error::Error;
use hypostyle_core::source::ByteSource;

/// Bytes that are read at a time for page headers, which are small.
const HEADER_READ_BYTES: u64 = 1 << 10;

/// The column chunks of a row group, in memory or in a source.
#[derive(Clone, Debug)]
pub(super) struct ChunkSource {
    source: Arc<dyn ByteSource>,
    /// Column chunks that were fetched as a whole.
    held: Arc<Vec<(Range<u64>, Bytes)>>,
    /// The error of the source: the `parquet` crate keeps only its message.
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl ChunkSource {
    /// Returns a source that serves `held` from memory.
    pub(super) fn new(source: Arc<dyn ByteSource>, held: Vec<(Range<u64>, Bytes)>) -> Self {
        Self { source, held: Arc::new(held), failure: Arc::default() }
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
        Ok(ChunkRead { source: self.clone(), next: start, buffer: Bytes::new() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        self.bytes(start, length)
    }
}

/// Reads on from an offset.
#[derive(Debug)]
pub(super) struct ChunkRead {
    source: ChunkSource,
    next: u64,
    buffer: Bytes,
}

impl Read for ChunkRead {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.buffer.is_empty() {
            // Bytes beyond a held column chunk may have to be fetched, so stop at its end.
            let held = self.source.held.iter().map(|(range, _)| range);
            let inside = held.filter(|range| range.contains(&self.next)).map(|range| range.end);
            let end = inside.min().unwrap_or_else(|| self.source.source.size());
            let len = end.saturating_sub(self.next).min(HEADER_READ_BYTES);
            let len = usize::try_from(len).unwrap_or_default();
            self.buffer = self.source.bytes(self.next, len).map_err(io::Error::other)?;
            self.next = self.next.saturating_add(len as u64);
        }
        let count = out.len().min(self.buffer.len());
        let taken = self.buffer.split_to(count);
        if let Some(out) = out.get_mut(..count) {
            out.copy_from_slice(&taken);
        }
        Ok(count)
    }
}
