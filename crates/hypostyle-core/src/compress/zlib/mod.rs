//! zlib streams (RFC 1950), compressed and decompressed with libdeflate.
//!
//! [`Inflater`] decompresses piece by piece with zlib-rs. WebAssembly has no C library, so there
//! zlib-rs decompresses everything, and nothing is compressed.

mod inflater;

#[cfg(not(target_family = "wasm"))]
mod native;

#[cfg(not(target_family = "wasm"))]
use native::decompress_whole;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

pub use inflater::{Inflated, Inflater};
#[cfg(not(target_family = "wasm"))]
pub use native::{compress, compress_into};

/// The stream that [`compress`] writes for empty input, at any level.
///
/// A known COLM reader fails on a block of zero bytes, so even empty content is
/// written as a stream (M11).
pub const EMPTY: [u8; 8] = [0x78, 0x9C, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01];

const WHAT: &str = "zlib stream";
const HEADER: usize = 2;
const CHECKSUM: usize = 4;

/// Checks the size that a block of `stored` bytes claims to decompress to.
///
/// The result is safe to allocate: it is within `limits`, and at most
/// [`Limits::DEFLATE_RATIO`] times `stored`.
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

/// Decompresses one zlib stream into `out`, which it must fill exactly.
///
/// Returns the length of the stream. Bytes of `block` after the stream are ignored; the
/// caller decides whether they are an error.
///
/// # Errors
///
/// Fails unless `block` starts with a whole zlib stream of exactly `out.len()` bytes
/// whose Adler-32 agrees. Every level and window size is accepted, but a preset
/// dictionary is not.
pub fn decompress(block: &[u8], out: &mut [u8], care: Care) -> Result<usize> {
    let (body, last) = check_start(block)?;
    if decompress_whole(block, body, *last, out, care) {
        return Ok(block.len());
    }
    decompress_slowly(block, out)
}

/// How closely [`decompress`] verifies a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Care {
    /// Compares the checksum of the data with the last bytes of the block.
    ///
    /// A forged block could carry the right checksum there, after a stream whose own
    /// checksum is wrong. The data is the same either way.
    #[default]
    Quick,
    /// Compares the stream's own checksum as well, which computes it twice.
    Thorough,
}

/// Compresses nothing: this build has no encoder.
///
/// # Errors
///
/// Always fails; equal tables must give equal files, and another encoder gives other bytes.
#[cfg(target_family = "wasm")]
pub fn compress_into(_: &[u8], _: u8, _: &mut Vec<u8>) -> Result<usize> {
    Err(Error::unsupported("compression on WebAssembly"))
}

/// Decompresses a stream that fills its block and becomes exactly `out`, and returns whether it
/// is certain that it does; see `native`. Only a [quick](Care::Quick) check differs from the slow
/// path: it does not look at the stream's own checksum.
#[cfg(target_family = "wasm")]
fn decompress_whole(
    block: &[u8],
    body: &[u8],
    last: [u8; CHECKSUM],
    out: &mut [u8],
    care: Care,
) -> bool {
    use zlib_rs::{Inflate, InflateFlush, Status};

    if care == Care::Thorough {
        return false;
    }
    let mut inflate = Inflate::new(false, 15);
    let status = inflate.decompress(body, out, InflateFlush::Finish);
    if !matches!(status, Ok(Status::StreamEnd)) || inflate.total_out() != out.len() as u64 {
        return false;
    }
    let sum = zlib_rs::adler32::adler32(1, out).to_be_bytes();
    sum == last && memchr::memmem::find(block, &sum) == block.len().checked_sub(CHECKSUM)
}

/// Decompresses streams that do not fill their block, and finds out what is wrong with
/// damaged ones.
#[cfg_attr(not(target_family = "wasm"), cold)]
fn decompress_slowly(block: &[u8], out: &mut [u8]) -> Result<usize> {
    use zlib_rs::{Inflate, InflateFlush, Status};

    let mut inflate = Inflate::new(true, 15);
    let mut spill = [0; 1];
    let mut status = inflate.decompress(block, out, InflateFlush::Finish);
    if inflate.total_out() == out.len() as u64 && !matches!(status, Ok(Status::StreamEnd)) {
        // The output is full: either the checksum follows, or more data.
        let used = usize::try_from(inflate.total_in()).unwrap_or(usize::MAX);
        let rest = block.get(used..).unwrap_or_default();
        if status.is_ok() {
            status = inflate.decompress(rest, &mut spill, InflateFlush::Finish);
        }
    }
    let written = inflate.total_out();
    match status {
        Ok(Status::StreamEnd) if written == out.len() as u64 => {
            usize::try_from(inflate.total_in()).map_err(|_| Error::malformed(WHAT, "too long"))
        }
        Ok(Status::StreamEnd) => Err(Error::malformed(
            WHAT,
            format!("decompresses to {written} bytes, but {} are declared", out.len()),
        )),
        Ok(_) if written > out.len() as u64 => Err(Error::malformed(
            WHAT,
            format!("decompresses to more than the {} bytes declared", out.len()),
        )),
        Ok(_) => Err(Error::malformed(WHAT, format!("ends early, after {written} bytes of data"))),
        Err(_) if written == out.len() as u64 => {
            Err(Error::malformed(WHAT, "is damaged: the checksum does not agree"))
        }
        Err(_) => Err(Error::malformed(WHAT, format!("is damaged after {written} bytes of data"))),
    }
}

/// Checks the start of a block, and returns what follows the header: data and checksum.
fn check_start(block: &[u8]) -> Result<(&[u8], &[u8; CHECKSUM])> {
    let after_header = block.get(HEADER..).unwrap_or_default();
    let Some(parts) = after_header.split_last_chunk::<CHECKSUM>() else {
        let (needed, left) = ((HEADER + CHECKSUM) as u64, block.len() as u64);
        return Err(ErrorKind::Truncated { what: WHAT, needed, left }.into());
    };
    check_header(block)?;
    Ok(parts)
}

/// Checks the two bytes before the deflate data (RFC 1950, 2.2).
fn check_header(block: &[u8]) -> Result<()> {
    let Some(&[cmf, flg]) = block.first_chunk::<HEADER>() else {
        return Err(Error::malformed(WHAT, "has no header"));
    };
    let (method, window) = (cmf & 0x0F, cmf >> 4);
    if method != 8 || window > 7 || !u16::from_be_bytes([cmf, flg]).is_multiple_of(31) {
        return Err(Error::malformed(
            WHAT,
            format!("has no zlib header: it starts with {cmf:02X} {flg:02X}"),
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
    fn decompress_undoes_compress_at_every_level() {
        for level in 0..=12 {
            for raw in [&sample()[..], b"x", b""] {
                let block = compress(raw, level).unwrap();
                let mut out = vec![0; raw.len()];
                assert_eq!(decompress(&block, &mut out, CARE).unwrap(), block.len());
                assert_eq!(out, raw);
            }
        }
        assert!(compress(b"x", 13).is_err());
    }

    #[test]
    fn a_used_buffer_makes_no_difference() {
        let mut out = Vec::new();
        for raw in [&sample()[..], b"x", b"", &sample()[..100]] {
            let len = compress_into(raw, 6, &mut out).unwrap();
            assert_eq!(&out[..len], compress(raw, 6).unwrap());
        }
    }

    #[test]
    fn empty_input_becomes_the_eight_bytes_that_every_reader_accepts() {
        assert_eq!(compress(b"", 6).unwrap(), EMPTY);
    }

    #[test]
    fn bytes_after_the_stream_are_counted() {
        let raw = sample();
        let mut block = compress(&raw, 6).unwrap();
        let len = block.len();
        block.extend_from_slice(b"JUNK IN THE BLOCK");
        let mut out = vec![0; raw.len()];
        assert_eq!(decompress(&block, &mut out, CARE).unwrap(), len);
        assert_eq!(out, raw);
        let mut block = EMPTY.to_vec();
        block.push(0);
        assert_eq!(decompress(&block, &mut [], CARE).unwrap(), EMPTY.len());
    }

    #[test]
    fn a_wrong_size_is_refused_either_way() {
        let raw = sample();
        let block = compress(&raw, 6).unwrap();
        for size in [0, 1, raw.len() - 1, raw.len() + 1, raw.len() * 2] {
            let err = decompress(&block, &mut vec![0; size], CARE).unwrap_err();
            assert!(err.to_string().contains("decompresses to"), "{size}: {err}");
        }
    }

    #[test]
    fn every_prefix_and_a_bad_checksum_are_refused() {
        let raw = sample();
        let block = compress(&raw, 6).unwrap();
        let mut out = vec![0; raw.len()];
        for cut in 0..block.len() {
            assert!(decompress(&block[..cut], &mut out, CARE).is_err(), "{cut}");
        }
        let mut bad = block.clone();
        *bad.last_mut().unwrap() ^= 1;
        let err = decompress(&bad, &mut out, CARE).unwrap_err();
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
