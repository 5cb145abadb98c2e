//! A block that is read and decompressed as its values are needed.

use std::sync::Arc;

use arrow_buffer::{MutableBuffer, ScalarBuffer};
use bytes::Bytes;

use super::layout::BlockLocation;
use hypostyle_core::compress::zlib::{Inflated, Inflater};
use hypostyle_core::error::Result;
use hypostyle_core::source::{self, ByteSource};
use hypostyle_core::wire::numbers::{self, Number, Order};

/// Bytes that are decompressed at a time, at least.
///
/// It is the window of deflate: shorter pieces are copied once more by the decompressor.
const CHUNK_BYTES: usize = 32 << 10;

/// The first read of a block; each later one is twice as long, up to a maximum.
pub(super) const FIRST_PIECE_BYTES: u64 = 16 << 10;

/// Opens the blocks of a file for decompression piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct BlockStreams {
    pub(super) source: Arc<dyn ByteSource>,
    /// The longest read of a block.
    pub(super) max_piece: u64,
}

impl BlockStreams {
    /// Starts at the first byte of a block; reads nothing.
    pub(crate) fn open(&self, block: &BlockLocation) -> BlockStream {
        // A source in memory returns slices, which cost nothing.
        let is_resident = self.source.is_resident();
        BlockStream {
            source: self.source.clone(),
            block: *block,
            piece_len: if is_resident { block.stored } else { FIRST_PIECE_BYTES },
            max_piece: if is_resident { block.stored } else { self.max_piece },
            piece: Bytes::new(),
            fetched: 0,
            inflater: Inflater::new(block.raw),
            buffer: Vec::new(),
            start: 0,
            end: 0,
        }
    }
}

/// The content of a block, from its first byte to its last.
///
/// A call that fails because the source lacks bytes can be repeated: what was read and
/// decompressed before is kept.
#[derive(Debug)]
pub(crate) struct BlockStream {
    source: Arc<dyn ByteSource>,
    block: BlockLocation,
    piece_len: u64,
    max_piece: u64,
    /// Compressed bytes that were read from the source, but not decompressed.
    piece: Bytes,
    /// Bytes of the block that were read from the source.
    fetched: u64,
    inflater: Inflater,
    buffer: Vec<u8>,
    /// The part of `buffer` that was decompressed, but not consumed.
    start: usize,
    end: usize,
}

impl BlockStream {
    /// Returns the number of bytes of the content that were consumed.
    pub(crate) fn position(&self) -> u64 {
        self.inflater.total_out().saturating_sub((self.end - self.start) as u64)
    }

    /// Returns the number of bytes of the content that were not consumed.
    pub(crate) fn left(&self) -> u64 {
        self.block.raw.saturating_sub(self.position())
    }

    /// Returns the bytes that were decompressed, but not consumed.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// Decompresses until `len` bytes are available, or all that are left; returns them.
    ///
    /// The caller has checked `len` against [`BlockStream::left`], so that the memory for
    /// it is backed by the size that the reader has checked.
    pub(crate) fn fill(&mut self, len: usize) -> Result<&[u8]> {
        if self.end - self.start < len {
            let left = usize::try_from(self.left()).unwrap_or(usize::MAX);
            self.decompress_at_least(len.min(left), left)?;
        }
        Ok(self.bytes())
    }

    fn decompress_at_least(&mut self, len: usize, left: usize) -> Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        let target = len.max(self.end.saturating_add(CHUNK_BYTES)).min(left);
        if self.buffer.len() < target {
            self.buffer.resize(target, 0);
        }
        while self.end < len {
            self.fetch_piece()?;
            let out = self.buffer.get_mut(self.end..target).unwrap_or_default();
            let is_last = self.fetched == self.block.stored;
            let Inflated { read, written } = self.inflater.inflate(&self.piece, out, is_last)?;
            self.piece = self.piece.slice(read..);
            self.end += written;
        }
        Ok(())
    }

    /// Reads the next piece of the block if all of the last one was decompressed.
    fn fetch_piece(&mut self) -> Result<()> {
        let left = self.block.stored.saturating_sub(self.fetched);
        if !self.piece.is_empty() || left == 0 {
            return Ok(());
        }
        let len = self.piece_len.min(left);
        let offset = self.block.offset.saturating_add(self.fetched);
        self.piece = source::range(self.source.as_ref(), offset, len, "block")?;
        self.fetched = self.fetched.saturating_add(len);
        self.piece_len = self.piece_len.saturating_mul(2).min(self.max_piece).max(1);
        Ok(())
    }

    /// Moves over bytes that [`BlockStream::fill`] made available.
    pub(crate) fn consume(&mut self, len: usize) {
        self.start = self.start.saturating_add(len).min(self.end);
    }

    /// Moves forward to a position in the content.
    pub(crate) fn skip_to(&mut self, position: u64) -> Result<()> {
        loop {
            let ahead = position.saturating_sub(self.position()).min(self.left());
            if ahead == 0 {
                return Ok(());
            }
            let ahead = usize::try_from(ahead).unwrap_or(usize::MAX);
            let available = self.fill(ahead.min(CHUNK_BYTES))?.len();
            self.consume(ahead.min(available));
        }
    }

    /// Verifies the rest of the block, and returns the number of bytes after its stream.
    pub(crate) fn finish(&mut self) -> Result<u64> {
        self.skip_to(self.block.raw)?;
        loop {
            self.fetch_piece()?;
            let is_last = self.fetched == self.block.stored;
            let (is_complete, read) = self.inflater.finish(&self.piece, is_last)?;
            self.piece = self.piece.slice(read..);
            if is_complete {
                return Ok(self.block.stored.saturating_sub(self.inflater.total_in()));
            }
        }
    }
}

/// Takes the next numbers of a block.
///
/// The caller has checked that the block has so many.
pub(crate) fn number_values<T: Number>(
    block: &mut BlockStream,
    rows: usize,
    order: Order,
) -> Result<ScalarBuffer<T>> {
    let len = rows.saturating_mul(T::WIDTH);
    let bytes = block.fill(len)?;
    let bytes = bytes.get(..len).unwrap_or(bytes);
    let mut content = MutableBuffer::new(bytes.len());
    content.extend_from_slice(bytes);
    block.consume(len);
    Ok(numbers::in_place(content, order))
}
