//! zlib streams (RFC 1950), by libdeflate.

use libdeflater::{CompressionLvl, Compressor, Decompressor, adler32};
use memchr::memmem;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

/// What `shrink` writes for no bytes at all, at any level.
///
/// A known COLM reader fails on a block of zero bytes, so nothing is not an
/// option there (M11).
pub const EMPTY: [u8; 8] = [0x78, 0x9C, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01];

const HEADER: usize = 2;
const CHECKSUM: usize = 4;

/// Checks what a block of `stored` bytes claims to expand to.
///
/// The result is safe to allocate: it is at most [`Limits::DEFLATE_RATIO`]
/// times the bytes that are there, and within `limits`.
pub fn claim(stored: u64, claimed: u64, limits: &Limits) -> Result<usize> {
    const WHAT: &str = "uncompressed size";
    if claimed > stored.saturating_mul(Limits::DEFLATE_RATIO) {
        return Err(Error::malformed(
            WHAT,
            format!("{claimed} bytes cannot come from {stored} compressed bytes"),
        ));
    }
    if claimed > limits.block_bytes {
        let (asked, limit) = (claimed, limits.block_bytes);
        return Err(ErrorKind::LimitExceeded { what: WHAT, asked, limit }.into());
    }
    usize::try_from(claimed).map_err(|_| {
        ErrorKind::LimitExceeded { what: WHAT, asked: claimed, limit: usize::MAX as u64 }.into()
    })
}

/// Expands one zlib stream into `out`, which it must fill exactly.
///
/// Returns the length of the stream: bytes of `block` after it were ignored,
/// and the caller decides what to think of them.
///
/// # Errors
///
/// Anything but a whole zlib stream of exactly `out.len()` bytes whose Adler-32
/// agrees. Any level and any window size will do; a preset dictionary will not.
pub fn expand(block: &[u8], out: &mut [u8], care: Care) -> Result<usize> {
    let Some((body, &last)) = block.get(HEADER..).and_then(<[u8]>::split_last_chunk::<CHECKSUM>)
    else {
        let (needed, left) = ((HEADER + CHECKSUM) as u64, block.len() as u64);
        return Err(ErrorKind::Truncated { what: "zlib stream", needed, left }.into());
    };
    check_header(block)?;
    // libdeflate does not tell where the stream ended. But its checksum follows
    // it, so if the checksum of the data stands at the end of the block and
    // nowhere before, no bytes follow; in all other cases the slow way finds out.
    let made = match care {
        Care::Quick => Decompressor::new().deflate_decompress(body, out),
        Care::Thorough => Decompressor::new().zlib_decompress(block, out),
    };
    if made.is_ok_and(|made| made == out.len()) {
        let sum = adler32(out).to_be_bytes();
        if sum == last && memmem::find(block, &sum) == block.len().checked_sub(CHECKSUM) {
            return Ok(block.len());
        }
    }
    expand_slowly(block, out)
}

/// How closely a stream is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Care {
    /// The checksum is compared with the last bytes of the block. A forger could
    /// put the right one there, behind a stream whose own is wrong; the data is
    /// what it is either way.
    #[default]
    Quick,
    /// The stream's own checksum is compared as well, at the price of taking it
    /// twice.
    Thorough,
}

/// Compresses `raw` to a zlib stream at `level`, 0 to 12.
///
/// Equal input gives equal output on every machine.
pub fn shrink(raw: &[u8], level: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let made = shrink_into(raw, level, &mut out)?;
    out.truncate(made);
    out.shrink_to_fit();
    Ok(out)
}

/// Like [`shrink`], to the front of a buffer that may have been used before.
///
/// Returns the length of the stream. What else is in `out` means nothing.
pub fn shrink_into(raw: &[u8], level: u8, out: &mut Vec<u8>) -> Result<usize> {
    if raw.is_empty() {
        out.clear();
        out.extend_from_slice(&EMPTY);
        return Ok(EMPTY.len());
    }
    let level = CompressionLvl::new(i32::from(level))
        .map_err(|_| Error::invalid_argument(format!("there is no compression level {level}")))?;
    let mut compressor = Compressor::new(level);
    let bound = compressor.zlib_compress_bound(raw.len());
    if out.len() < bound {
        // Zeros from the system cost nothing until they are written to, so this
        // is better than growing the buffer.
        *out = vec![0; bound];
    }
    compressor
        .zlib_compress(raw, out)
        .map_err(|_| Error::invalid_argument("the compressor's own bound was too small"))
}

/// The way for streams that do not fill their block, and for good messages.
#[cold]
fn expand_slowly(block: &[u8], out: &mut [u8]) -> Result<usize> {
    use zlib_rs::{Inflate, InflateFlush, Status};

    const WHAT: &str = "zlib stream";
    let mut inflate = Inflate::new(true, 15);
    let mut spill = [0; 1];
    let mut status = inflate.decompress(block, out, InflateFlush::Finish);
    if inflate.total_out() == out.len() as u64 && !matches!(status, Ok(Status::StreamEnd)) {
        // Full: either the checksum is still to come, or there is too much.
        let used = usize::try_from(inflate.total_in()).unwrap_or(usize::MAX);
        let rest = block.get(used..).unwrap_or_default();
        if status.is_ok() {
            status = inflate.decompress(rest, &mut spill, InflateFlush::Finish);
        }
    }
    let made = inflate.total_out();
    match status {
        Ok(Status::StreamEnd) if made == out.len() as u64 => {
            usize::try_from(inflate.total_in()).map_err(|_| Error::malformed(WHAT, "too long"))
        }
        Ok(Status::StreamEnd) => Err(Error::malformed(
            WHAT,
            format!("expands to {made} bytes where {} are declared", out.len()),
        )),
        Ok(_) if made > out.len() as u64 => Err(Error::malformed(
            WHAT,
            format!("expands to more than the {} bytes declared", out.len()),
        )),
        Ok(_) => Err(Error::malformed(WHAT, format!("ends early, after {made} bytes of data"))),
        Err(_) if made == out.len() as u64 => {
            Err(Error::malformed(WHAT, "is damaged: the checksum does not agree"))
        }
        Err(_) => Err(Error::malformed(WHAT, format!("is damaged after {made} bytes of data"))),
    }
}

/// Checks the two bytes before the deflate data (RFC 1950, 2.2).
fn check_header(block: &[u8]) -> Result<()> {
    let Some(&[cmf, flg]) = block.first_chunk::<HEADER>() else {
        return Err(Error::malformed("zlib stream", "has no header"));
    };
    let (method, window) = (cmf & 0x0F, cmf >> 4);
    if method != 8 || window > 7 || !u16::from_be_bytes([cmf, flg]).is_multiple_of(31) {
        return Err(Error::malformed(
            "zlib stream",
            format!("does not start like one: {cmf:02X} {flg:02X}"),
        ));
    }
    if flg & 0x20 != 0 {
        return Err(Error::unsupported("a zlib stream with a preset dictionary"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARE: Care = Care::Quick;

    fn sample() -> Vec<u8> {
        (0..5000_u32).flat_map(|i| (i % 97).to_le_bytes()).collect()
    }

    #[test]
    fn expand_undoes_shrink_at_every_level() {
        for level in 0..=12 {
            for raw in [&sample()[..], b"x", b""] {
                let block = shrink(raw, level).unwrap();
                let mut out = vec![0; raw.len()];
                assert_eq!(expand(&block, &mut out, CARE).unwrap(), block.len());
                assert_eq!(out, raw);
            }
        }
        assert!(shrink(b"x", 13).is_err());
    }

    #[test]
    fn a_used_buffer_makes_no_difference() {
        let mut out = Vec::new();
        for raw in [&sample()[..], b"x", b"", &sample()[..100]] {
            let made = shrink_into(raw, 6, &mut out).unwrap();
            assert_eq!(&out[..made], shrink(raw, 6).unwrap());
        }
    }

    #[test]
    fn nothing_becomes_the_eight_bytes_that_every_reader_takes() {
        assert_eq!(shrink(b"", 6).unwrap(), EMPTY);
    }

    #[test]
    fn bytes_after_the_stream_are_counted() {
        let raw = sample();
        let mut block = shrink(&raw, 6).unwrap();
        let len = block.len();
        block.extend_from_slice(b"JUNK IN THE BLOCK");
        let mut out = vec![0; raw.len()];
        assert_eq!(expand(&block, &mut out, CARE).unwrap(), len);
        assert_eq!(out, raw);
        let mut block = EMPTY.to_vec();
        block.push(0);
        assert_eq!(expand(&block, &mut [], CARE).unwrap(), EMPTY.len());
    }

    #[test]
    fn a_wrong_size_is_refused_either_way() {
        let raw = sample();
        let block = shrink(&raw, 6).unwrap();
        for size in [0, 1, raw.len() - 1, raw.len() + 1, raw.len() * 2] {
            let err = expand(&block, &mut vec![0; size], CARE).unwrap_err();
            assert!(err.to_string().contains("expands to"), "{size}: {err}");
        }
    }

    #[test]
    fn every_prefix_and_a_bad_checksum_are_refused() {
        let raw = sample();
        let block = shrink(&raw, 6).unwrap();
        let mut out = vec![0; raw.len()];
        for cut in 0..block.len() {
            assert!(expand(&block[..cut], &mut out, CARE).is_err(), "{cut}");
        }
        let mut bad = block.clone();
        *bad.last_mut().unwrap() ^= 1;
        let err = expand(&bad, &mut out, CARE).unwrap_err();
        assert!(err.to_string().contains("checksum"), "{err}");
    }

    #[test]
    fn a_claim_is_checked_before_it_is_believed() {
        let limits = Limits::default();
        assert_eq!(claim(100, 103_200, &limits).unwrap(), 103_200);
        assert!(claim(100, 103_201, &limits).is_err());
        assert!(claim(17, 1 << 60, &limits).is_err());
        let err = claim(100, 200, &limits.with_block_bytes(199)).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { limit: 199, .. }));
    }
}
