//! Decodes `.xz` streams without a C library.
//!
//! The container is parsed here, so that every way in which a stream can be damaged is told with
//! the words of liblzma; `lzma-rust2` decodes the LZMA2 data and undoes the filters.

use std::borrow::Cow;
use std::io::Read;

use lzma_rust2::filter::StreamFilter;
use lzma_rust2::{Action, FilterConfig, Lzma2Reader, Lzma2Stream, Status};
use sha2::{Digest, Sha256};

use super::index::{HEADER_BYTES, MAGIC, index_and_footer};
use super::limit::{WHAT, check_limit, dictionary_too_large};
use crate::compress::capacity::initial_capacity;
use crate::error::{Error, Result};
use crate::limits::Limits;
use crate::wire::crc32;

/// The filter id of LZMA2.
const LZMA2: u64 = 0x21;

/// The filter id of delta.
const DELTA: u64 = 0x03;

/// Filter ids from here on are reserved, and a header that has one is damaged.
const FIRST_RESERVED_FILTER: u64 = 1 << 62;

/// The largest dictionary that a decoder may use; the same limit as in the native build.
const MAX_DICTIONARY: u32 = (2 << 30) - (1 << 20);

/// Bytes by which the output grows at least.
const MIN_GROWTH: usize = 1 << 16;

/// Bytes of the index and the footer together that are no record: at least these are there.
const FOOTER_FLAGS: std::ops::Range<usize> = 8..10;

/// Decodes one stream, given in parts, and returns its content and its length.
///
/// `raw` is the length that the content claims to have, or more. Bytes after the stream are
/// ignored. Without `verifies`, the caller verifies the checksums of blocks.
///
/// # Errors
///
/// Fails if the stream is damaged or cut off, and if its content exceeds `limits`.
#[cfg_attr(
    not(feature = "pure-decoders"),
    expect(unreachable_pub, reason = "the feature exports it")
)]
pub fn decode_stream(
    parts: &[&[u8]],
    raw: u64,
    limits: &Limits,
    verifies: bool,
) -> Result<(Vec<u8>, usize)> {
    let input = match parts {
        [whole] => Cow::Borrowed(*whole),
        _ => Cow::Owned(parts.concat()),
    };
    let claimed = usize::try_from(raw.min(limits.block_bytes)).unwrap_or(usize::MAX);
    let out = Vec::with_capacity(initial_capacity(input.len(), claimed));
    let mut decoder = Decoder { input: &input, at: 0, out, limits, verifies };
    match decoder.stream() {
        Ok(()) => Ok((decoder.out, decoder.at)),
        Err(Fault::Error(error)) => Err(error),
        Err(Fault::Cut) => {
            let why = format!("is cut off after {} bytes of data", decoder.out.len());
            Err(Error::malformed(WHAT, why))
        }
        Err(Fault::UnknownCheck) => {
            Err(Error::unsupported("an xz stream with an unknown kind of check"))
        }
        Err(fault) => {
            let cause = match fault {
                Fault::Options => "invalid options",
                Fault::Format => "stream/file format not recognized",
                Fault::Memory => return Err(dictionary_too_large()),
                _ => "lzma data error",
            };
            let why = format!("is damaged after {} bytes of data: {cause}", decoder.out.len());
            Err(Error::malformed(WHAT, why))
        }
    }
}

/// Decodes the first `len` bytes; see [`super::decompress_start`].
#[cfg(target_family = "wasm")]
pub(super) fn decode_start(stream: &[u8], len: usize, limits: &Limits) -> Result<(Vec<u8>, usize)> {
    // The limit, which is `len`, ends the decoder; so does the end of the bytes.
    let mut decoder = Decoder { input: stream, at: 0, out: Vec::new(), limits, verifies: true };
    match decoder.stream() {
        Err(Fault::Data | Fault::Options | Fault::Format | Fault::Memory | Fault::UnknownCheck)
            if decoder.out.len() < len =>
        {
            decode_stream(&[stream], len as u64, limits, true)
        }
        _ => Ok((decoder.out, decoder.at)),
    }
}

/// What is wrong with a stream.
enum Fault {
    /// The input ends before the stream does.
    Cut,
    /// The data is damaged.
    Data,
    /// The stream asks for what no decoder knows.
    Options,
    /// There is no stream.
    Format,
    /// The dictionary is too large.
    Memory,
    /// The kind of check is not known.
    UnknownCheck,
    /// An error that already has its words.
    Error(Error),
}

type Outcome<T> = std::result::Result<T, Fault>;

/// The kinds of check values (.xz file format, 2.1.1.2).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    None,
    Crc32,
    Crc64,
    Sha256,
}

impl Check {
    fn of(content: &[u8], check: Self) -> Vec<u8> {
        match check {
            Self::None => Vec::new(),
            Self::Crc32 => crc32(content).to_le_bytes().to_vec(),
            Self::Crc64 => crc64(content).to_le_bytes().to_vec(),
            Self::Sha256 => Sha256::digest(content).to_vec(),
        }
    }
}

/// What a block header says.
struct BlockHeader {
    compressed: Option<u64>,
    uncompressed: Option<u64>,
    /// The filters before LZMA2, in the order of encoding.
    filters: Vec<FilterConfig>,
    dictionary: u32,
}

struct Decoder<'a> {
    input: &'a [u8],
    at: usize,
    out: Vec<u8>,
    limits: &'a Limits,
    verifies: bool,
}

impl<'a> Decoder<'a> {
    fn take(&mut self, len: usize) -> Outcome<&'a [u8]> {
        let end = self.at.checked_add(len).ok_or(Fault::Cut)?;
        let bytes = self.input.get(self.at..end).ok_or(Fault::Cut)?;
        self.at = end;
        Ok(bytes)
    }

    fn stream(&mut self) -> Outcome<()> {
        let header = self.take(HEADER_BYTES)?;
        let check = stream_header(header)?;
        let flags = header.get(6..8).unwrap_or_default();
        let mut sizes = Vec::new();
        while self.input.get(self.at).ok_or(Fault::Cut)? != &0 {
            sizes.push(self.block(check)?);
        }
        self.index_and_footer(&sizes, flags)
    }

    /// Decodes a block, and returns its unpadded and uncompressed sizes.
    fn block(&mut self, check: Check) -> Outcome<(u64, u64)> {
        let start = self.at;
        let first = *self.input.get(start).ok_or(Fault::Cut)?;
        let header = self.take((usize::from(first) + 1) * 4)?;
        let header = block_header(header)?;
        if header.dictionary > MAX_DICTIONARY {
            return Err(Fault::Memory);
        }
        let content_at = self.out.len();
        let data_at = self.at;
        self.data(&header)?;
        let compressed = (self.at - data_at) as u64;
        let content = self.out.get_mut(content_at..).unwrap_or_default();
        let uncompressed = content.len() as u64;
        for filter in header.filters.iter().rev() {
            let mut filter = StreamFilter::new(filter).map_err(|_| Fault::Options)?;
            filter.decode(content);
            filter.finish();
        }
        let is = |stated: Option<u64>, size| stated.is_none_or(|stated| stated == size);
        if !is(header.compressed, compressed) || !is(header.uncompressed, uncompressed) {
            return Err(Fault::Data);
        }
        while !(self.at - data_at).is_multiple_of(4) {
            if self.take(1)? != [0] {
                return Err(Fault::Data);
            }
        }
        let content = self.out.get(content_at..).unwrap_or_default();
        let expected = Check::of(content, check);
        if self.take(expected.len())? != expected && self.verifies {
            return Err(Fault::Data);
        }
        let header_len = data_at - start;
        let unpadded = compressed + (header_len + expected.len()) as u64;
        Ok((unpadded, uncompressed))
    }

    /// Decodes the LZMA2 data of a block.
    fn data(&mut self, header: &BlockHeader) -> Outcome<()> {
        let start = self.at;
        let content_at = self.out.len();
        let left = self.input.get(start..).unwrap_or_default();
        // A block ends where its header says, also if its data goes on.
        let stated = header.compressed.and_then(|len| usize::try_from(len).ok());
        let input = stated.and_then(|len| left.get(..len)).unwrap_or(left);
        let most = header.uncompressed.unwrap_or(u64::MAX);
        let mut stream = Lzma2Stream::new(header.dictionary);
        let mut used = 0;
        loop {
            let before = self.out.len();
            let decoded = (before - content_at) as u64;
            let space = self.space(most.saturating_sub(decoded))?;
            self.out.resize(before + space, 0);
            let rest = input.get(used..).unwrap_or_default();
            let place = self.out.get_mut(before..).unwrap_or_default();
            let step = stream.process(rest, place, Action::Run);
            let Ok(step) = step else {
                self.out.truncate(content_at);
                self.data_until_damage(input, header.dictionary, most);
                return Err(Fault::Data);
            };
            self.out.truncate(before + step.bytes_produced);
            used += step.bytes_consumed;
            self.at = start + used;
            if step.status == Status::StreamEnd {
                return Ok(());
            }
            let is_stuck = step.bytes_consumed == 0 && step.bytes_produced == 0;
            let decoded = (self.out.len() - content_at) as u64;
            let is_cut = used == input.len() && input.len() == left.len();
            if is_stuck && is_cut && cut_chunk_end(input) != Some(decoded) {
                return Err(Fault::Cut);
            }
            if is_stuck {
                return Err(Fault::Data);
            }
        }
    }

    /// Returns how many bytes of output to make room for, at most `most`.
    fn space(&self, most: u64) -> Outcome<usize> {
        let len = self.out.len();
        if most > 0 {
            check_limit((len as u64).saturating_add(1), self.limits).map_err(Fault::Error)?;
        }
        let limit = usize::try_from(self.limits.block_bytes).unwrap_or(usize::MAX);
        let free = self.out.capacity() - len;
        let wanted = if free > 0 { free } else { len.max(MIN_GROWTH) };
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Ok(wanted.min(limit.saturating_sub(len)).min(most))
    }

    /// Decodes damaged data once more, byte by byte, up to the damage: messages state how much
    /// was decoded before it.
    fn data_until_damage(&mut self, input: &[u8], dictionary: u32, most: u64) {
        let mut reader = Lzma2Reader::new(input, dictionary, None);
        let mut byte = [0; 1];
        let mut decoded = 0;
        while decoded < most {
            match reader.read(&mut byte) {
                Ok(1) => self.out.extend_from_slice(&byte),
                // The last byte of a chunk is decoded before the chunk turns out to be too long.
                Err(error) if error.to_string().starts_with("rc not finished") => {
                    self.out.push(0);
                    return;
                }
                _ => return,
            }
            decoded += 1;
        }
    }

    fn index_and_footer(&mut self, sizes: &[(u64, u64)], flags: &[u8]) -> Outcome<()> {
        let expected = index_and_footer(sizes, flags);
        let index_len = expected.len().saturating_sub(HEADER_BYTES);
        let (index, footer) = expected.split_at_checked(index_len).unwrap_or_default();
        for byte in index {
            if self.take(1)? != [*byte] {
                return Err(Fault::Data);
            }
        }
        let found = self.take(HEADER_BYTES)?;
        if found == footer {
            return Ok(());
        }
        let sum = found.get(4..10).map(|covered| crc32(covered).to_le_bytes());
        let is_whole = found.ends_with(b"YZ") && found.first_chunk() == sum.as_ref();
        let found_flags = found.get(FOOTER_FLAGS).unwrap_or_default();
        let is_known = matches!(found_flags, [0, check] if check & 0xF0 == 0);
        Err(if is_whole && !is_known { Fault::Options } else { Fault::Data })
    }
}

fn stream_header(header: &[u8]) -> Outcome<Check> {
    if !header.starts_with(&MAGIC) {
        return Err(Fault::Format);
    }
    let flags = header.get(6..8).unwrap_or_default();
    if header.get(8..) != Some(&crc32(flags).to_le_bytes()) {
        return Err(Fault::Data);
    }
    match flags {
        [0, 0] => Ok(Check::None),
        [0, 1] => Ok(Check::Crc32),
        [0, 4] => Ok(Check::Crc64),
        [0, 10] => Ok(Check::Sha256),
        [0, check] if check & 0xF0 == 0 => Err(Fault::UnknownCheck),
        _ => Err(Fault::Options),
    }
}

fn block_header(header: &[u8]) -> Outcome<BlockHeader> {
    let Some((covered, sum)) = header.split_last_chunk::<4>() else { return Err(Fault::Data) };
    if crc32(covered) != u32::from_le_bytes(*sum) {
        return Err(Fault::Data);
    }
    let (&flags, mut rest) = match covered {
        [_, flags, rest @ ..] => (flags, rest),
        _ => return Err(Fault::Data),
    };
    if flags & 0x3C != 0 {
        return Err(Fault::Options);
    }
    let compressed = if flags & 0x40 != 0 { Some(number(&mut rest)?) } else { None };
    if compressed == Some(0) {
        return Err(Fault::Data);
    }
    let uncompressed = if flags & 0x80 != 0 { Some(number(&mut rest)?) } else { None };
    let (mut filters, mut dictionary) = (Vec::new(), None);
    for left in (0..=usize::from(flags & 3)).rev() {
        let id = number(&mut rest)?;
        if id >= FIRST_RESERVED_FILTER {
            return Err(Fault::Data);
        }
        let len = usize::try_from(number(&mut rest)?).map_err(|_| Fault::Data)?;
        let (properties, after) = rest.split_at_checked(len).ok_or(Fault::Data)?;
        rest = after;
        match (id, properties) {
            (LZMA2, &[bits]) if left == 0 => dictionary = Some(dictionary_size(bits)?),
            (_, _) if left == 0 => return Err(Fault::Options),
            (id, properties) => filters.push(filter(id, properties)?),
        }
    }
    if rest.iter().any(|&byte| byte != 0) {
        return Err(Fault::Options);
    }
    let dictionary = dictionary.ok_or(Fault::Options)?;
    Ok(BlockHeader { compressed, uncompressed, filters, dictionary })
}

/// Returns how many bytes LZMA2 data has decoded to at the end of a last chunk that is cut off, as
/// the headers of the chunks state it; `None` if no chunk is cut off.
///
/// A chunk that has all of its content, but not all of its compressed bytes, is damaged.
fn cut_chunk_end(data: &[u8]) -> Option<u64> {
    let (mut at, mut end) = (0_usize, 0_u64);
    while let Some(&[control, a, b, c, d]) = data.get(at..).and_then(|rest| rest.first_chunk()) {
        let size = |high: u8, low: u8| u64::from(u16::from_be_bytes([high, low])) + 1;
        let (header, stored, content) = match control {
            0 => break,
            0x80.. => {
                let header = if control >= 0xC0 { 6 } else { 5 };
                (header, size(c, d), size(a, b) + (u64::from(control & 0x1F) << 16))
            }
            _ => (3, size(a, b), size(a, b)),
        };
        end = end.saturating_add(content);
        at =
            at.saturating_add(header).saturating_add(usize::try_from(stored).unwrap_or(usize::MAX));
    }
    (at > data.len()).then_some(end)
}

/// Returns the size that a byte stands for (.xz file format, 5.3.1).
fn dictionary_size(bits: u8) -> Outcome<u32> {
    match bits {
        0..40 => Ok((2 | u32::from(bits & 1)) << (bits / 2 + 11)),
        40 => Ok(u32::MAX),
        _ => Err(Fault::Options),
    }
}

/// Returns a filter that stands before LZMA2 (.xz file format, 5.3.2 and 5.3.3).
fn filter(id: u64, properties: &[u8]) -> Outcome<FilterConfig> {
    if let (DELTA, &[distance]) = (id, properties) {
        return Ok(FilterConfig::new_delta(u32::from(distance) + 1));
    }
    let start = match *properties {
        [] => 0,
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => return Err(Fault::Options),
    };
    match id {
        0x04 => Ok(FilterConfig::new_bcj_x86(start)),
        0x05 => Ok(FilterConfig::new_bcj_ppc(start)),
        0x06 => Ok(FilterConfig::new_bcj_ia64(start)),
        0x07 => Ok(FilterConfig::new_bcj_arm(start)),
        0x08 => Ok(FilterConfig::new_bcj_arm_thumb(start)),
        0x09 => Ok(FilterConfig::new_bcj_sparc(start)),
        0x0A => Ok(FilterConfig::new_bcj_arm64(start)),
        0x0B => Ok(FilterConfig::new_bcj_risc_v(start)),
        _ => Err(Fault::Options),
    }
}

/// Reads a number of variable length (.xz file format, 1.2) from the front of `bytes`.
fn number(bytes: &mut &[u8]) -> Outcome<u64> {
    let mut value = 0_u64;
    for place in 0..9 {
        let (&byte, rest) = bytes.split_first().ok_or(Fault::Data)?;
        *bytes = rest;
        value |= u64::from(byte & 0x7F) << (place * 7);
        if byte & 0x80 == 0 {
            // A last byte of zero says nothing, and is an error.
            return if byte == 0 && place > 0 { Err(Fault::Data) } else { Ok(value) };
        }
    }
    Err(Fault::Data)
}

/// Returns the CRC-64 (ECMA-182, reflected) of some bytes.
fn crc64(bytes: &[u8]) -> u64 {
    const POLYNOMIAL: u64 = 0xC96C_5795_D787_0F42;
    const TABLE: [u64; 256] = {
        let mut table = [0; 256];
        let mut index = 0_usize;
        while index < table.len() {
            let mut sum = index as u64;
            let mut bit = 0;
            while bit < 8 {
                sum = (sum >> 1) ^ (POLYNOMIAL * (sum & 1));
                bit += 1;
            }
            #[expect(clippy::indexing_slicing, reason = "the loop ends before the table does")]
            {
                table[index] = sum;
            }
            index += 1;
        }
        table
    };
    let step = |sum: u64, &byte: &u8| {
        let [low, ..] = sum.to_le_bytes();
        let entry = TABLE.get(usize::from(low ^ byte)).copied().unwrap_or_default();
        entry ^ (sum >> 8)
    };
    !bytes.iter().fold(u64::MAX, step)
}
