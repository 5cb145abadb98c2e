//! The layout of an `.xz` stream: header, blocks, index and footer.

use crate::wire::{Cursor, crc32, put};

/// The first bytes of the stream header.
pub(super) const MAGIC: [u8; 6] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00];

/// The last bytes of the stream footer.
const FOOTER_MAGIC: [u8; 2] = *b"YZ";

/// Bytes of the stream header, and of the stream footer.
pub(super) const HEADER_BYTES: usize = 12;

/// One record of the index, and the place of its block.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexRecord {
    /// Offset of the block in the stream.
    pub(super) start: usize,
    /// Bytes of the block without padding, as the index counts them.
    pub(super) unpadded: u64,
    /// Bytes that the block decompresses to.
    pub(super) raw: u64,
}

/// Parses the index of a stream that fills `stream` exactly.
///
/// Returns `None` if the bytes are not one stream, or if the stream is not laid out
/// as its index says.
pub(super) fn parse(stream: &[u8]) -> Option<Vec<IndexRecord>> {
    let tail_len = tail_len(stream.last_chunk()?)?;
    let tail = stream.get(stream.len().checked_sub(tail_len)?..)?;
    parse_tail(stream.first_chunk()?, tail, stream.len())
}

/// Returns the bytes of the index and the footer together, which the footer states.
pub(super) fn tail_len(footer: &[u8; HEADER_BYTES]) -> Option<usize> {
    if !footer.ends_with(&FOOTER_MAGIC) {
        return None;
    }
    let backward = u32::from_le_bytes(*footer.get(4..8)?.first_chunk()?);
    let index_len = usize::try_from(backward).ok()?.checked_add(1)?.checked_mul(4)?;
    index_len.checked_add(HEADER_BYTES)
}

/// Parses the index of a stream of `len` bytes from its header and its last
/// [`tail_len`] bytes.
pub(super) fn parse_tail(
    header: &[u8; HEADER_BYTES],
    tail: &[u8],
    len: usize,
) -> Option<Vec<IndexRecord>> {
    let header_flags = header.get(6..8)?;
    let (index, footer) = tail.split_last_chunk::<HEADER_BYTES>()?;
    if !header.starts_with(&MAGIC) || footer.get(8..10)? != header_flags {
        return None;
    }
    let blocks_len = len.checked_sub(tail.len())?.checked_sub(HEADER_BYTES)?;
    let mut cursor = Cursor::new(index, 0);
    if cursor.u8("index indicator").ok()? != 0 {
        return None;
    }
    let count = cursor.count(2, "number of records").ok()?;
    let mut records = Vec::with_capacity(count);
    let mut start = 0_usize;
    for _ in 0..count {
        let unpadded = cursor.uv("unpadded size").ok()?;
        let raw = cursor.uv("uncompressed size").ok()?;
        let padded = usize::try_from(unpadded.checked_next_multiple_of(4)?).ok()?;
        records.push(IndexRecord { start: start.checked_add(HEADER_BYTES)?, unpadded, raw });
        start = start.checked_add(padded)?;
    }
    // A decoder of a single block never reads the index and the footer of the stream,
    // so check them here: written anew, they must be the same bytes, checksums included.
    let sizes: Vec<(u64, u64)> = records.iter().map(|it| (it.unpadded, it.raw)).collect();
    let written = index_and_footer(&sizes, header_flags);
    (start == blocks_len && tail == written).then_some(records)
}

/// Returns the index and the footer of a stream of blocks with these sizes, each a
/// pair of unpadded and uncompressed size.
pub(super) fn index_and_footer(sizes: &[(u64, u64)], flags: &[u8]) -> Vec<u8> {
    let mut tail = vec![0];
    put::uv(&mut tail, sizes.len() as u64);
    for &(unpadded, raw) in sizes {
        put::uv(&mut tail, unpadded);
        put::uv(&mut tail, raw);
    }
    tail.resize(tail.len().next_multiple_of(4), 0);
    tail.extend_from_slice(&crc32(&tail).to_le_bytes());
    let backward = u32::try_from(tail.len() / 4).unwrap_or_default().saturating_sub(1);
    let mut footer = backward.to_le_bytes().to_vec();
    footer.extend_from_slice(flags);
    tail.extend_from_slice(&crc32(&footer).to_le_bytes());
    tail.extend_from_slice(&footer);
    tail.extend_from_slice(&FOOTER_MAGIC);
    tail
}
