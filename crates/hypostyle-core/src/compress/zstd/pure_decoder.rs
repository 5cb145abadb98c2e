//! Frames by `ruzstd`, for targets without libzstd.
//!
//! Headers are parsed here, so that claims are checked before memory is allocated, and so that
//! damage is told with the words of libzstd.

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{MAGIC, WHAT};
use crate::error::{Error, Result};
#[cfg(feature = "pure-decoders")]
use crate::limits::Limits;

/// The most bytes that a block decompresses to.
const MAX_BLOCK_BYTES: u64 = 128 << 10;

/// The largest window that libzstd accepts, as a power of two.
const MAX_WINDOW_LOG: u8 = 31;

const CORRUPT: &str = "Data corruption detected";
const CUT: &str = "Src size is incorrect";

/// The header of a frame (RFC 8878, 3.1.1.1).
struct Header {
    /// Bytes of the header, those of the magic included.
    len: usize,
    content_size: Option<u64>,
    dictionary: u32,
    has_checksum: bool,
    /// The most bytes of a block.
    block_max: u64,
}

impl Header {
    /// Parses the header; `None` if it is damaged or cut off.
    fn parse(frame: &[u8]) -> Option<Self> {
        let &descriptor = frame.get(MAGIC.len())?;
        if descriptor & 0x08 != 0 {
            return None;
        }
        let mut at = MAGIC.len() + 1;
        let is_single = descriptor & 0x20 != 0;
        let mut window = None;
        if !is_single {
            let &byte = frame.get(at)?;
            at += 1;
            let log = (byte >> 3) + 10;
            if log > MAX_WINDOW_LOG {
                return None;
            }
            let base = 1_u64 << log;
            window = Some(base + base / 8 * u64::from(byte & 7));
        }
        let mut number = |len: usize| {
            let bytes = frame.get(at..at + len)?;
            at += len;
            Some(bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte)))
        };
        let dictionary = number([0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?)?;
        let content_size = match descriptor >> 6 {
            0 if is_single => Some(number(1)?),
            0 => None,
            1 => Some(number(2)? + 256),
            2 => Some(number(4)?),
            _ => Some(number(8)?),
        };
        Some(Self {
            len: at,
            content_size,
            dictionary: u32::try_from(dictionary).ok()?,
            has_checksum: descriptor & 0x04 != 0,
            block_max: window.or(content_size)?.min(MAX_BLOCK_BYTES),
        })
    }
}

/// Returns the content size that the header of a frame declares, if it does.
pub(super) fn declared_size(frame: &[u8]) -> std::result::Result<Option<u64>, ()> {
    match frame.first_chunk() {
        // A frame to skip has no content.
        Some([0x50..=0x5F, 0x2A, 0x4D, 0x18]) => return Ok(Some(0)),
        Some(magic) if *magic == MAGIC => {}
        _ => return Err(()),
    }
    Header::parse(frame).map(|header| header.content_size).ok_or(())
}

/// Decompresses one frame, as [`super::decompress`] does.
///
/// # Errors
///
/// As [`super::decompress`].
#[cfg(feature = "pure-decoders")]
pub fn decompress(frame: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize)> {
    let size = super::check_start(frame, declared_size, limits)?;
    decode_frame(frame, size)
}

/// Decompresses a frame that declares `size` bytes, and returns its content and its length.
pub(super) fn decode_frame(frame: &[u8], size: usize) -> Result<(Vec<u8>, usize)> {
    let Some(header) = Header::parse(frame) else { return Err(Error::malformed(WHAT, CUT)) };
    let blocks = frame.get(header.len..).unwrap_or_default();
    let (blocks_len, most) = measure(blocks, &header)?;
    if header.dictionary != 0 {
        return Err(Error::malformed(WHAT, "Dictionary mismatch"));
    }
    // No output comes of fewer blocks: the claim would be allocated before that shows.
    if size as u64 > most {
        return Err(Error::malformed(WHAT, CORRUPT));
    }
    // The window of the header may be larger than the content, and would be allocated.
    let mut source = MAGIC.to_vec();
    source.push(if header.has_checksum { 0xE4 } else { 0xE0 });
    source.extend_from_slice(&(size as u64).to_le_bytes());
    source.extend_from_slice(blocks.get(..blocks_len).unwrap_or(blocks));
    let mut source = source.as_slice();
    let corrupt = |_| Error::malformed(WHAT, CORRUPT);
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(u64::MAX);
    decoder.init(&mut source).map_err(corrupt)?;
    while !decoder.is_finished() {
        decoder
            .decode_blocks(&mut source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(corrupt)?;
        // Nothing of a frame that fits in its window is ready before its end.
        if !decoder.is_finished() && decoder.can_collect() > 0 {
            return Err(Error::malformed(WHAT, "Destination buffer is too small"));
        }
    }
    let content = decoder.collect().unwrap_or_default();
    if content.len() > size {
        return Err(Error::malformed(WHAT, "Destination buffer is too small"));
    }
    if content.len() != size {
        return Err(Error::malformed(WHAT, CORRUPT));
    }
    if header.has_checksum && decoder.get_checksum_from_data() != decoder.get_calculated_checksum()
    {
        return Err(Error::malformed(WHAT, "Restored data doesn't match checksum"));
    }
    Ok((content, header.len + blocks_len))
}

/// Walks over the blocks of a frame. Returns how many bytes they and the checksum have, and how
/// many bytes they decompress to at most.
fn measure(blocks: &[u8], header: &Header) -> Result<(usize, u64)> {
    let cut = || Error::malformed(WHAT, CUT);
    let (mut at, mut most) = (0_usize, 0_u64);
    loop {
        let Some(&[a, b, c]) = blocks.get(at..).unwrap_or_default().first_chunk() else {
            return Err(cut());
        };
        let block = u32::from_le_bytes([a, b, c, 0]);
        let size = u64::from(block >> 3);
        let (stored, content) = match block >> 1 & 3 {
            0 => (size, size),
            1 => (1, size),
            2 => (size, header.block_max),
            _ => return Err(Error::malformed(WHAT, CORRUPT)),
        };
        at += 3 + usize::try_from(stored).map_err(|_| cut())?;
        most = most.saturating_add(content);
        if at > blocks.len() {
            return Err(cut());
        }
        if block & 1 == 1 {
            break;
        }
    }
    if header.has_checksum {
        at += 4;
    }
    if at > blocks.len() { Err(cut()) } else { Ok((at, most)) }
}
