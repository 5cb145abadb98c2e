//! Decompresses `.xz` streams, whole or one block at a time.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::index::{self, HEADER_BYTES, IndexRecord, MAGIC};
use super::limit::{WHAT, check_limit};
#[cfg(not(target_family = "wasm"))]
use super::native_decoder::{decode_start, decode_stream};
#[cfg(target_family = "wasm")]
use super::pure_decoder::{decode_start, decode_stream};
use crate::compress::capacity::initial_capacity;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::parallel;
use crate::wire::crc32;

/// The flags of a stream whose blocks end with a CRC-32.
const CRC32_FLAGS: [u8; 2] = [0, 1];

/// The blocks of a stream, as its index lists them.
#[derive(Debug)]
pub struct Blocks<'a> {
    stream: &'a [u8],
    records: Vec<IndexRecord>,
}

impl<'a> Blocks<'a> {
    /// Finds the blocks of a stream that fills `stream` exactly.
    ///
    /// Returns `None` if the bytes are not one stream, or if the stream is not laid out
    /// as its index says; [`decompress`] can still read such a stream from front to back.
    pub fn find(stream: &'a [u8]) -> Option<Self> {
        index::parse(stream).map(|records| Self { stream, records })
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether the stream has no blocks, and so decompresses to no bytes.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the bytes that a block decompresses to, according to the index.
    pub fn raw(&self, index: usize) -> u64 {
        self.records.get(index).map_or(0, |record| record.raw)
    }

    /// Returns the bytes that all blocks decompress to, according to the index.
    pub fn raw_total(&self) -> u64 {
        self.records.iter().fold(0, |sum, record| sum.saturating_add(record.raw))
    }

    /// Decompresses one block.
    ///
    /// The decoder gets the block as a stream of its own, between a header and an index, so
    /// that it checks the block's header, sizes and check value.
    ///
    /// # Errors
    ///
    /// Fails if there is no block `index`, if the block is damaged, and if it exceeds
    /// `limits`.
    pub fn decompress(&self, index: usize, limits: &Limits) -> Result<Vec<u8>> {
        let Some(record) = self.records.get(index) else {
            let count = self.len();
            let why = format!("block {index} is out of range: the stream has {count} blocks");
            return Err(Error::invalid_argument(why));
        };
        self.decompress_record(record, limits)
    }

    /// Decompresses all blocks in parallel, to `total` bytes.
    ///
    /// The largest blocks come first, so that no thread starts one of them last. Each block
    /// has a place in the result, so that none waits for those before it.
    fn decompress_all(&self, total: usize, limits: &Limits, threads: usize) -> Result<Vec<u8>> {
        let mut out = vec![0; total];
        let mut rest = &mut out[..];
        let mut jobs = Vec::with_capacity(self.records.len());
        for (index, record) in self.records.iter().enumerate() {
            let len = usize::try_from(record.raw).unwrap_or(usize::MAX);
            let (place, after) = rest.split_at_mut_checked(len).unwrap_or_default();
            jobs.push((index, record, place));
            rest = after;
        }
        jobs.sort_by_key(|(_, record, _)| std::cmp::Reverse(record.unpadded));
        let jobs = Mutex::new(jobs.into_iter());
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let workers: Vec<usize> = (0..threads).collect();
        let failed = parallel::map(&workers, threads, |_| {
            let mut failed = Vec::new();
            while let Some((index, record, place)) = next() {
                match self.decompress_record(record, limits) {
                    Ok(content) if content.len() == place.len() => place.copy_from_slice(&content),
                    Ok(_) => failed.push((index, Error::malformed(WHAT, "has a block too long"))),
                    Err(err) => failed.push((index, err)),
                }
            }
            Ok(failed)
        })?;
        match failed.into_iter().flatten().min_by_key(|&(index, _)| index) {
            Some((_, err)) => Err(err),
            None => Ok(out),
        }
    }

    fn decompress_record(&self, record: &IndexRecord, limits: &Limits) -> Result<Vec<u8>> {
        let padded = usize::try_from(record.unpadded.next_multiple_of(4)).ok();
        let body = padded
            .and_then(|padded| record.start.checked_add(padded))
            .and_then(|end| self.stream.get(record.start..end))
            .ok_or_else(|| Error::malformed(WHAT, "has a block that runs past its end"))?;
        let header = self.stream.get(..HEADER_BYTES).unwrap_or_default();
        decompress_block(header, body, record, limits)
    }
}

/// Decompresses a block of a stream with this header.
fn decompress_block(
    header: &[u8],
    body: &[u8],
    record: &IndexRecord,
    limits: &Limits,
) -> Result<Vec<u8>> {
    let IndexRecord { unpadded, raw, .. } = *record;
    let flags = header.get(6..8).unwrap_or_default();
    let tail = index::index_and_footer(&[(unpadded, raw)], flags);
    // We compute this checksum faster than liblzma does.
    let has_crc32 = flags == CRC32_FLAGS;
    let (content, _) = decode_stream(&[header, body, &tail], raw, limits, !has_crc32)?;
    if raw != content.len() as u64 {
        return Err(Error::malformed(WHAT, "has a block whose size differs from its index"));
    }
    // The checksum ends a block.
    if has_crc32 && body.last_chunk() != Some(&crc32(&content).to_le_bytes()) {
        return Err(Error::malformed(WHAT, "is damaged: the checksum of a block does not fit"));
    }
    Ok(content)
}

/// Bytes at the end of a stream that hold the index of most streams.
const LIKELY_TAIL_BYTES: u64 = 4 << 10;

/// The blocks of a stream that is not in memory as a whole.
#[derive(Debug)]
pub struct RemoteBlocks {
    header: [u8; HEADER_BYTES],
    records: Vec<IndexRecord>,
}

impl RemoteBlocks {
    /// Finds the blocks of a stream of `len` bytes; `read` reads a range of it.
    ///
    /// Returns `None` where [`Blocks::find`] does.
    ///
    /// # Errors
    ///
    /// Fails if `read` does.
    pub fn find(
        len: u64,
        mut read: impl FnMut(Range<u64>) -> Result<Bytes>,
    ) -> Result<Option<Self>> {
        let header = read(0..(HEADER_BYTES as u64).min(len))?;
        let last = read(len.saturating_sub(LIKELY_TAIL_BYTES)..len)?;
        let (Some(header), Some(footer)) = (header.first_chunk(), last.last_chunk()) else {
            return Ok(None);
        };
        let Some(tail_len) = index::tail_len(footer) else { return Ok(None) };
        let tail = match last.len().checked_sub(tail_len) {
            Some(before) => last.slice(before..),
            None => match len.checked_sub(tail_len as u64) {
                Some(tail_at) => read(tail_at..len)?,
                None => return Ok(None),
            },
        };
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        let records = index::parse_tail(header, &tail, len);
        Ok(records.map(|records| Self { header: *header, records }))
    }

    /// Returns the number of blocks.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns whether the stream has no blocks, and so decompresses to no bytes.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the bytes that a block decompresses to, according to the index.
    pub fn raw(&self, index: usize) -> u64 {
        self.records.get(index).map_or(0, |record| record.raw)
    }

    /// Returns whether damage in a block is found when the block is decompressed by itself.
    pub fn have_checks(&self) -> bool {
        self.header.get(7).is_some_and(|&check| check != 0)
    }

    /// Returns the place of a block in the stream.
    pub fn range(&self, index: usize) -> Range<u64> {
        let Some(record) = self.records.get(index) else { return 0..0 };
        let start = record.start as u64;
        start..start.saturating_add(record.unpadded.next_multiple_of(4))
    }

    /// Decompresses a block from the bytes of its [range](RemoteBlocks::range).
    ///
    /// # Errors
    ///
    /// As [`Blocks::decompress`].
    pub fn decompress(&self, index: usize, bytes: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let Some(record) = self.records.get(index) else {
            let count = self.len();
            let why = format!("block {index} is out of range: the stream has {count} blocks");
            return Err(Error::invalid_argument(why));
        };
        decompress_block(&self.header, bytes, record, limits)
    }
}

/// Decompresses one stream and returns its content and its length in bytes.
///
/// Bytes after the stream are ignored (at1 §2.5). On more than one thread, the blocks
/// of a stream with an index are decompressed in parallel.
///
/// # Errors
///
/// Fails if the stream is damaged or cut off, and if its content exceeds `limits`.
pub fn decompress(stream: &[u8], limits: &Limits, threads: usize) -> Result<(Vec<u8>, usize)> {
    match Blocks::find(stream) {
        Some(blocks) if blocks.len() > 1 && threads > 1 => {
            check_limit(blocks.raw_total(), limits)?;
            let claimed = usize::try_from(blocks.raw_total()).unwrap_or(usize::MAX);
            let capacity = initial_capacity(stream.len(), claimed);
            if capacity == claimed {
                return Ok((blocks.decompress_all(claimed, limits, threads)?, stream.len()));
            }
            let mut out = Vec::with_capacity(capacity);
            let work = |record| blocks.decompress_record(record, limits);
            parallel::for_each(&blocks.records, threads, work, |_, content| {
                out.extend_from_slice(&content);
                check_limit(out.len() as u64, limits)
            })?;
            Ok((out, stream.len()))
        }
        found => {
            let raw = found.map_or(u64::MAX, |blocks| blocks.raw_total());
            if raw != u64::MAX {
                check_limit(raw, limits)?;
            }
            decode_stream(&[stream], raw, limits, true)
        }
    }
}

/// Decompresses the first `len` bytes of the content of a stream from the first bytes of the
/// stream; returns fewer if there are not enough of them.
///
/// Also returns how many bytes of the stream were needed. What follows them is not read, and the
/// check of the last block is not compared.
///
/// # Errors
///
/// Fails if the stream is damaged, and if `len` exceeds `limits`.
pub fn decompress_start(stream: &[u8], len: usize, limits: &Limits) -> Result<(Vec<u8>, usize)> {
    check_limit(len as u64, limits)?;
    decode_start(stream, len, &limits.clone().with_block_bytes(len as u64))
}

/// Returns whether the bytes start with the magic of an `.xz` stream.
pub fn is_xz(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

#[cfg(test)]
mod tests {
    use liblzma::stream::{Action, Check, Status, Stream};

    use super::*;
    use crate::error::ErrorKind;

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| u8::try_from(i * i / 7 % 13 + i / 1000 % 50).unwrap()).collect()
    }

    /// Compresses `raw` with a block for every `block` bytes, or with one block for 0.
    fn packed(raw: &[u8], block: usize) -> Vec<u8> {
        let mut stream = Stream::new_easy_encoder(6, Check::Crc64).unwrap();
        let mut out = Vec::with_capacity(raw.len() * 2 + 4096);
        if block > 0 {
            for chunk in raw.chunks(block) {
                let done = stream.process_vec(chunk, &mut out, Action::FullFlush).unwrap();
                assert_eq!(done, Status::StreamEnd);
            }
        }
        let rest = if block > 0 { &[][..] } else { raw };
        let done = stream.process_vec(rest, &mut out, Action::Finish).unwrap();
        assert_eq!(done, Status::StreamEnd);
        out
    }

    /// Little content needs no large dictionary, but a decoder allocates what the header claims.
    #[test]
    fn a_large_dictionary_is_not_called_damage() {
        let mut file = packed(&sample(1000), 0);
        // The header of the block: size, flags, the filter LZMA2 with one byte, and a CRC-32.
        let len = (usize::from(file[12]) + 1) * 4;
        assert_eq!(file[13..16], [0, 0x21, 1]);
        // 4 GiB - 1.
        file[16] = 40;
        let crc = crate::wire::crc32(&file[12..12 + len - 4]);
        file[12 + len - 4..12 + len].copy_from_slice(&crc.to_le_bytes());
        let err = decompress(&file, &Limits::default(), 1).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::Unsupported(_)), "{err}");
    }

    #[test]
    fn streams_of_one_and_of_many_blocks_come_back() {
        for len in [0, 1, 1000, 300_000] {
            let raw = sample(len);
            for block in [0, 4096, 50_000] {
                let file = packed(&raw, block);
                for threads in [1, 3] {
                    let (got, used) = decompress(&file, &Limits::default(), threads).unwrap();
                    assert!(got == raw);
                    assert_eq!(used, file.len());
                }
                let blocks = Blocks::find(&file).unwrap();
                assert_eq!(blocks.raw_total(), raw.len() as u64);
                let place = |at: u64| usize::try_from(at).unwrap();
                let read = |range: Range<u64>| {
                    let bytes = &file[place(range.start)..place(range.end)];
                    Ok(Bytes::copy_from_slice(bytes))
                };
                let remote = RemoteBlocks::find(file.len() as u64, read).unwrap().unwrap();
                let parts = (0..remote.len()).flat_map(|index| {
                    let bytes = read(remote.range(index)).unwrap();
                    remote.decompress(index, &bytes, &Limits::default()).unwrap()
                });
                assert!(parts.eq(raw.iter().copied()));
                let parts =
                    (0..blocks.len()).map(|i| blocks.decompress(i, &Limits::default()).unwrap());
                assert!(parts.flatten().collect::<Vec<_>>() == raw);
            }
        }
    }

    #[test]
    fn the_start_of_the_content_needs_the_start_of_the_stream() {
        let raw = sample(200_000);
        let limits = Limits::default();
        for block in [0, 30_000] {
            let file = packed(&raw, block);
            for len in [0, 1, 100, 29_999, 30_000, 30_001, 199_999, 200_000] {
                let (start, used) = decompress_start(&file, len, &limits).unwrap();
                assert!(start == raw[..len], "{len}");
                assert!(len > 100_000 || used < file.len() * 3 / 4, "{len} {used}");
                let (again, _) = decompress_start(&file[..used], len, &limits).unwrap();
                assert!(again == start);
                assert!(used == 0 || decompress_start(&file[..used - 1], len, &limits).is_ok());
            }
            let (all, used) = decompress_start(&file, 300_000, &limits).unwrap();
            assert!(all == raw && used == file.len());
        }
        let small = Limits::default().with_block_bytes(1000);
        assert!(decompress_start(&packed(&raw, 0), 1001, &small).is_err());
    }

    #[test]
    fn bytes_after_the_stream_are_ignored() {
        let raw = sample(10_000);
        let one = packed(&raw, 0);
        for tail in [&b"tail"[..], &one] {
            let mut file = one.clone();
            file.extend_from_slice(tail);
            assert!(Blocks::find(&file).is_none());
            let (got, used) = decompress(&file, &Limits::default(), 2).unwrap();
            assert!(got == raw);
            assert_eq!(used, one.len());
        }
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let raw = sample(3000);
        for block in [0, 1000] {
            let file = packed(&raw, block);
            for cut in 0..file.len() {
                assert!(decompress(&file[..cut], &Limits::default(), 2).is_err(), "cut at {cut}");
            }
            for at in 0..file.len() {
                let mut bad = file.clone();
                bad[at] ^= 0x10;
                let got = decompress(&bad, &Limits::default(), 2);
                assert!(got.is_err() || got.unwrap().0 == raw, "byte {at} of {}", file.len());
            }
        }
    }

    /// Threads that decompress single blocks do not read the index and the footer.
    #[test]
    fn damage_behind_the_blocks_is_found_on_any_number_of_threads() {
        let file = packed(&sample(3000), 1000);
        let index = file.len() - HEADER_BYTES - 16;
        for at in index..file.len() {
            for flip in [0x01, 0x80] {
                let mut bad = file.clone();
                bad[at] ^= flip;
                for threads in [1, 3] {
                    assert!(
                        decompress(&bad, &Limits::default(), threads).is_err(),
                        "{at} {threads}"
                    );
                }
            }
        }
    }

    #[test]
    fn limits_come_before_memory() {
        let raw = vec![0; 1 << 20];
        for block in [0, 100_000] {
            let file = packed(&raw, block);
            let small = Limits::default().with_block_bytes(70_000);
            let err = decompress(&file, &small, 2).unwrap_err();
            assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
            let mut longer = file.clone();
            longer.push(0); // without an index, only the output itself can hit the limit
            assert!(decompress(&longer, &small, 2).is_err());
        }
    }

    #[test]
    fn the_first_damaged_block_is_the_error() {
        // The first block is the smallest, which is decompressed last.
        let raw = [vec![0; 4096], sample(8192)].concat();
        let mut stream = packed(&raw, 4096);
        let starts: Vec<usize> =
            Blocks::find(&stream).unwrap().records.iter().map(|record| record.start).collect();
        // A reserved flag, which is not supported, and a byte of data.
        stream[starts[0] + 1] ^= 0x04;
        stream[starts[1] + 40] ^= 0xFF;
        let blocks = Blocks::find(&stream).unwrap();
        let first = blocks.decompress(0, &Limits::default()).unwrap_err().to_string();
        assert_ne!(blocks.decompress(1, &Limits::default()).unwrap_err().to_string(), first);
        for threads in [2, 3, 20] {
            let err = decompress(&stream, &Limits::default(), threads).unwrap_err();
            assert_eq!(err.to_string(), first);
        }
    }
}
