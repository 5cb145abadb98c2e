//! `.xz` streams, by liblzma, block by block.
//!
//! A stream may hold many blocks, and its index, at the end, says where they are
//! and how long each becomes. So blocks are expanded in parallel, and a reader
//! can expand the ones that it wants and leave the others alone ([`Blocks`]).

use liblzma::stream::{Action, Error as Fault, Status, Stream, TELL_UNSUPPORTED_CHECK};

use super::earned;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::parallel;
use crate::wire::{Cursor, put};

pub mod encode;
mod encoder;

const WHAT: &str = "xz stream";
const MAGIC: [u8; 6] = [0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00];
const FOOT_MAGIC: [u8; 2] = *b"YZ";
/// Bytes of the stream header, and of the stream footer.
const EDGE: usize = 12;
/// Memory that a decoder may take for its dictionary: that of preset 9 and some.
const DICTIONARY: u64 = 2 << 30;

/// The blocks of a stream, as its index gives them.
#[derive(Debug)]
pub struct Blocks<'a> {
    stream: &'a [u8],
    blocks: Vec<Block>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    start: usize,
    /// Bytes without padding, as the index counts them.
    unpadded: u64,
    raw: u64,
}

impl<'a> Blocks<'a> {
    /// Finds the blocks of a stream that fills `stream` exactly.
    ///
    /// `None` if it does not, or is not laid out as its index says; such a
    /// stream can still be expanded from front to back.
    pub fn find(stream: &'a [u8]) -> Option<Self> {
        let (head, rest) = stream.split_first_chunk::<EDGE>()?;
        let (body, foot) = rest.split_last_chunk::<EDGE>()?;
        let head_flags = head.get(6..8)?;
        let (foot_size, foot_flags) = (foot.get(4..8)?, foot.get(8..10)?);
        if !head.starts_with(&MAGIC) || !foot.ends_with(&FOOT_MAGIC) || head_flags != foot_flags {
            return None;
        }
        let backward = u32::from_le_bytes(*foot_size.first_chunk()?);
        let index_len = usize::try_from(backward).ok()?.checked_add(1)?.checked_mul(4)?;
        let index_at = body.len().checked_sub(index_len)?;
        let index = body.get(index_at..)?;
        let mut cursor = Cursor::new(index, 0);
        if cursor.u8("index indicator").ok()? != 0 {
            return None;
        }
        let count = cursor.count(2, "number of records").ok()?;
        let mut blocks = Vec::with_capacity(count);
        let mut start = 0_usize;
        for _ in 0..count {
            let unpadded = cursor.uv("unpadded size").ok()?;
            let raw = cursor.uv("uncompressed size").ok()?;
            let padded = usize::try_from(unpadded.checked_next_multiple_of(4)?).ok()?;
            blocks.push(Block { start: start.checked_add(EDGE)?, unpadded, raw });
            start = start.checked_add(padded)?;
        }
        // Written anew, index and footer must be what is there, sums and all: a
        // block that is expanded by itself never gets to see them.
        let sizes: Vec<(u64, u64)> = blocks.iter().map(|it| (it.unpadded, it.raw)).collect();
        let tail = tail_for(&sizes, head_flags);
        (start == index_at && rest.get(index_at..) == Some(&tail[..]))
            .then_some(Self { stream, blocks })
    }

    /// The number of blocks.
    pub fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Whether there are none: the stream of nothing.
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Bytes that a block becomes, if its index tells the truth.
    pub fn raw(&self, index: usize) -> u64 {
        self.blocks.get(index).map_or(0, |block| block.raw)
    }

    /// Bytes that all blocks become together.
    pub fn raw_total(&self) -> u64 {
        self.blocks.iter().fold(0, |sum, block| sum.saturating_add(block.raw))
    }

    /// Expands one block.
    ///
    /// The block is put between a header and an index of its own and handed to
    /// liblzma as a stream, which so checks everything there is to check.
    pub fn expand(&self, index: usize, limits: &Limits) -> Result<Vec<u8>> {
        let block = self.blocks.get(index).copied();
        let Some(Block { start, unpadded, raw }) = block else {
            return Err(Error::invalid_argument(format!("there is no block {index}")));
        };
        let padded = unpadded.next_multiple_of(4);
        let body = usize::try_from(padded)
            .ok()
            .and_then(|padded| start.checked_add(padded))
            .and_then(|end| self.stream.get(start..end))
            .ok_or_else(|| Error::malformed(WHAT, "has a block that runs past its end"))?;
        let head = self.stream.get(..EDGE).unwrap_or_default();
        let tail = tail_for(&[(unpadded, raw)], head.get(6..8).unwrap_or_default());
        let mut decoder = Decoder::new(limits, raw, body.len())?;
        decoder.feed(head)?;
        decoder.feed(body)?;
        decoder.feed(&tail)?;
        decoder.finish(Some(raw))
    }
}

/// Expands one stream; bytes after it are ignored (at1 §2.5).
///
/// Says how many bytes the stream has.
pub fn expand(stream: &[u8], limits: &Limits, threads: usize) -> Result<(Vec<u8>, usize)> {
    match Blocks::find(stream) {
        Some(blocks) if blocks.len() > 1 && threads > 1 => {
            check_limit(blocks.raw_total(), limits)?;
            let claimed = usize::try_from(blocks.raw_total()).unwrap_or(usize::MAX);
            let mut out = Vec::with_capacity(earned(stream.len(), claimed));
            let work = |index| blocks.expand(index, limits);
            parallel::in_order(blocks.len(), threads, work, |_, part| {
                out.extend_from_slice(&part);
                check_limit(out.len() as u64, limits)
            })?;
            Ok((out, stream.len()))
        }
        found => {
            let raw = found.map_or(u64::MAX, |blocks| blocks.raw_total());
            if raw != u64::MAX {
                check_limit(raw, limits)?;
            }
            let mut decoder = Decoder::new(limits, raw, stream.len())?;
            decoder.feed(stream)?;
            let used = usize::try_from(decoder.stream.total_in()).unwrap_or(stream.len());
            Ok((decoder.finish(None)?, used))
        }
    }
}

/// Whether the bytes start like an `.xz` stream.
pub fn is_xz(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

fn check_limit(asked: u64, limits: &Limits) -> Result<()> {
    let (what, limit) = (WHAT, limits.block_bytes);
    if asked > limit {
        return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
    }
    Ok(())
}

/// The index and the footer of a stream of blocks with these sizes: unpadded, raw.
fn tail_for(sizes: &[(u64, u64)], flags: &[u8]) -> Vec<u8> {
    let mut tail = vec![0];
    put::uv(&mut tail, sizes.len() as u64);
    for &(unpadded, raw) in sizes {
        put::uv(&mut tail, unpadded);
        put::uv(&mut tail, raw);
    }
    tail.resize(tail.len().next_multiple_of(4), 0);
    tail.extend_from_slice(&libdeflater::crc32(&tail).to_le_bytes());
    let backward = u32::try_from(tail.len() / 4).unwrap_or_default().saturating_sub(1);
    let mut foot = backward.to_le_bytes().to_vec();
    foot.extend_from_slice(flags);
    tail.extend_from_slice(&libdeflater::crc32(&foot).to_le_bytes());
    tail.extend_from_slice(&foot);
    tail.extend_from_slice(&FOOT_MAGIC);
    tail
}

/// Collects what comes out, within the limits.
struct Decoder<'a> {
    stream: Stream,
    out: Vec<u8>,
    limits: &'a Limits,
    ended: bool,
}

impl<'a> Decoder<'a> {
    fn new(limits: &'a Limits, raw: u64, stored: usize) -> Result<Self> {
        // Without being told, the library takes a check that it does not know for none.
        let stream = Stream::new_stream_decoder(DICTIONARY, TELL_UNSUPPORTED_CHECK)
            .map_err(|_| Error::malformed(WHAT, "cannot be expanded: out of memory"))?;
        let claimed = usize::try_from(raw.min(limits.block_bytes)).unwrap_or(usize::MAX);
        Ok(Self { stream, out: Vec::with_capacity(earned(stored, claimed)), limits, ended: false })
    }

    fn feed(&mut self, mut input: &[u8]) -> Result<()> {
        while !input.is_empty() && !self.ended {
            self.room()?;
            let (before_in, before_out) = (self.stream.total_in(), self.out.len());
            let status = self.stream.process_vec(input, &mut self.out, Action::Run);
            let used = usize::try_from(self.stream.total_in() - before_in).unwrap_or(input.len());
            input = input.get(used..).unwrap_or_default();
            match status {
                Ok(Status::StreamEnd) => self.ended = true,
                Ok(_) if used == 0 && self.out.len() == before_out => {
                    return Err(Error::malformed(WHAT, "is damaged: it stands still"));
                }
                Ok(_) => {}
                Err(Fault::UnsupportedCheck) => {
                    return Err(Error::unsupported("an xz stream with an unknown kind of check"));
                }
                Err(err) => {
                    let why = format!("is damaged after {} bytes of data: {err}", self.out.len());
                    return Err(Error::malformed(WHAT, why));
                }
            }
        }
        Ok(())
    }

    /// Makes sure that there is room, and that room is allowed.
    fn room(&mut self) -> Result<()> {
        if self.out.len() < self.out.capacity() {
            return Ok(());
        }
        check_limit((self.out.len() as u64).saturating_add(1), self.limits)?;
        let limit = usize::try_from(self.limits.block_bytes).unwrap_or(usize::MAX);
        let more = self.out.len().max(1 << 16).min(limit - self.out.len());
        self.out.reserve_exact(more);
        Ok(())
    }

    fn finish(mut self, raw: Option<u64>) -> Result<Vec<u8>> {
        if !self.ended {
            // What was fed may be through, and the decoder not yet told.
            self.room()?;
            self.ended = matches!(
                self.stream.process_vec(&[], &mut self.out, Action::Finish),
                Ok(Status::StreamEnd)
            );
        }
        if !self.ended {
            let why = format!("is cut off after {} bytes of data", self.out.len());
            return Err(Error::malformed(WHAT, why));
        }
        if raw.is_some_and(|raw| raw != self.out.len() as u64) {
            return Err(Error::malformed(WHAT, "has a block of another size than its index says"));
        }
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use liblzma::stream::Check;

    use super::*;

    fn sample(len: usize) -> Vec<u8> {
        (0..len).map(|i| u8::try_from(i * i / 7 % 13 + i / 1000 % 50).unwrap()).collect()
    }

    /// A stream with a block for every `block` bytes, or just one for 0.
    fn packed(raw: &[u8], block: usize) -> Vec<u8> {
        let mut stream = Stream::new_easy_encoder(6, Check::Crc64).unwrap();
        let mut out = Vec::with_capacity(raw.len() * 2 + 4096);
        if block > 0 {
            for part in raw.chunks(block) {
                let done = stream.process_vec(part, &mut out, Action::FullFlush).unwrap();
                assert_eq!(done, Status::StreamEnd);
            }
        }
        let rest = if block > 0 { &[][..] } else { raw };
        let done = stream.process_vec(rest, &mut out, Action::Finish).unwrap();
        assert_eq!(done, Status::StreamEnd);
        out
    }

    #[test]
    fn streams_of_one_and_of_many_blocks_come_back() {
        for len in [0, 1, 1000, 300_000] {
            let raw = sample(len);
            for block in [0, 4096, 50_000] {
                let file = packed(&raw, block);
                for threads in [1, 3] {
                    let (got, used) = expand(&file, &Limits::default(), threads).unwrap();
                    assert!(got == raw);
                    assert_eq!(used, file.len());
                }
                let blocks = Blocks::find(&file).unwrap();
                assert_eq!(blocks.raw_total(), raw.len() as u64);
                let parts =
                    (0..blocks.len()).map(|i| blocks.expand(i, &Limits::default()).unwrap());
                assert!(parts.flatten().collect::<Vec<_>>() == raw);
            }
        }
    }

    #[test]
    fn bytes_after_the_stream_are_ignored() {
        let raw = sample(10_000);
        let one = packed(&raw, 0);
        for tail in [&b"tail"[..], &one] {
            let mut file = one.clone();
            file.extend_from_slice(tail);
            assert!(Blocks::find(&file).is_none());
            let (got, used) = expand(&file, &Limits::default(), 2).unwrap();
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
                assert!(expand(&file[..cut], &Limits::default(), 2).is_err(), "cut at {cut}");
            }
            for at in 0..file.len() {
                let mut bad = file.clone();
                bad[at] ^= 0x10;
                let got = expand(&bad, &Limits::default(), 2);
                assert!(got.is_err() || got.unwrap().0 == raw, "byte {at} of {}", file.len());
            }
        }
    }

    /// Index and footer belong to no block, so threads that have a block each see neither.
    #[test]
    fn damage_behind_the_blocks_is_found_on_any_number_of_threads() {
        let file = packed(&sample(3000), 1000);
        let index = file.len() - EDGE - 16;
        for at in index..file.len() {
            for flip in [0x01, 0x80] {
                let mut bad = file.clone();
                bad[at] ^= flip;
                for threads in [1, 3] {
                    assert!(expand(&bad, &Limits::default(), threads).is_err(), "{at} {threads}");
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
            let err = expand(&file, &small, 2).unwrap_err();
            assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
            let mut longer = file.clone();
            longer.push(0); // the index is not found, so the data itself must be stopped
            assert!(expand(&longer, &small, 2).is_err());
        }
    }
}
