//! The bytes of a column chunk, read from the source and compared with their checksums.

#![deny(clippy::arithmetic_side_effects)]

use bytes::Bytes;

use super::column_chunk::{ChunkSection, ColumnChunk, padded_len};
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::source::{self, ByteSource};

/// The bytes of one section of a column chunk, or of all.
#[derive(Debug)]
pub(super) struct SectionBytes<'a> {
    chunk: &'a ColumnChunk,
    /// The offset of the first byte.
    offset: u64,
    bytes: Bytes,
}

impl<'a> SectionBytes<'a> {
    /// Reads all sections at once.
    pub(super) fn read(source: &dyn ByteSource, chunk: &'a ColumnChunk) -> Result<Self> {
        Self::read_range(source, chunk, chunk.offset, chunk.len())
    }

    /// Reads one section.
    pub(super) fn read_one(
        source: &dyn ByteSource,
        chunk: &'a ColumnChunk,
        section: ChunkSection,
    ) -> Result<Self> {
        let len = padded_len(chunk.section(section).len);
        Self::read_range(source, chunk, chunk.section_offset(section), len)
    }

    fn read_range(
        source: &dyn ByteSource,
        chunk: &'a ColumnChunk,
        offset: u64,
        len: u64,
    ) -> Result<Self> {
        let bytes = match len {
            0 => Bytes::new(),
            _ => source::range(source, offset, len, "sections")?,
        };
        Ok(Self { chunk, offset, bytes })
    }

    /// Returns the content of a section and its offset, after checking checksum and padding.
    pub(super) fn get(&self, section: ChunkSection) -> Result<(&[u8], u64)> {
        let (offset, entry) = (self.chunk.section_offset(section), self.chunk.section(section));
        if entry.len == 0 {
            return Ok((&[], offset));
        }
        let what = self.chunk.section_name(section);
        let start = usize::try_from(offset.saturating_sub(self.offset)).unwrap_or(usize::MAX);
        let end = start.saturating_add(entry.len as usize);
        let padded_end = end.saturating_add(7) & !7;
        let (Some(content), Some(padding)) =
            (self.bytes.get(start..end), self.bytes.get(end..padded_end))
        else {
            let (needed, left) = (u64::from(entry.len), self.bytes.len() as u64);
            return Err(Error::new(ErrorKind::Truncated { what, needed, left }).at(offset));
        };
        if hypostyle_core::wire::crc32(content) != entry.checksum {
            return Err(Error::malformed(what, "the checksum does not agree").at(offset));
        }
        if padding.iter().any(|&byte| byte != 0) {
            let at = self.offset.saturating_add(end as u64);
            return Err(Error::malformed(what, "the padding is not 0").at(at));
        }
        Ok((content, offset))
    }

    /// Returns the same as [`SectionBytes::get`], without a borrow.
    pub(super) fn get_owned(&self, section: ChunkSection) -> Result<(Bytes, u64)> {
        let (content, offset) = self.get(section)?;
        Ok((self.bytes.slice_ref(content), offset))
    }
}
