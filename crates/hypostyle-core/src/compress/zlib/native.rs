//! zlib streams by libdeflate.

use std::cell::RefCell;

use libdeflater::{CompressionLvl, Compressor, Decompressor, adler32};
use memchr::memmem;

use super::{CHECKSUM, Care, EMPTY};
use crate::error::{Error, Result};

thread_local! {
    /// The tables of a decompressor, which cost more to allocate than a small block to
    /// decompress. It keeps nothing from one block to the next.
    static DECOMPRESSOR: RefCell<Decompressor> = RefCell::new(Decompressor::new());
}

/// Decompresses a stream that fills its block and becomes exactly `out`, and returns whether it
/// is certain that it does. `body` is the block after its header, up to the `last` bytes.
pub(super) fn decompress_whole(
    block: &[u8],
    body: &[u8],
    last: [u8; CHECKSUM],
    out: &mut [u8],
    care: Care,
) -> bool {
    // libdeflate does not report where the stream ended. The checksum follows the data,
    // so if the block ends with the checksum of the data and has it nowhere before, no
    // bytes follow the stream. In all other cases the slow path finds the end.
    let written = DECOMPRESSOR.with_borrow_mut(|decompressor| match care {
        Care::Quick => decompressor.deflate_decompress(body, out),
        Care::Thorough => decompressor.zlib_decompress(block, out),
    });
    if !written.is_ok_and(|written| written == out.len()) {
        return false;
    }
    let sum = adler32(out).to_be_bytes();
    sum == last && memmem::find(block, &sum) == block.len().checked_sub(CHECKSUM)
}

/// Compresses `raw` to a zlib stream at `level`, 0 to 12.
///
/// Equal input gives equal output on every machine.
pub fn compress(raw: &[u8], level: u8) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let len = compress_into(raw, level, &mut out)?;
    out.truncate(len);
    out.shrink_to_fit();
    Ok(out)
}

/// Compresses like [`compress`], to the front of a buffer that may be reused.
///
/// Returns the length of the stream. Bytes of `out` after it are unspecified.
pub fn compress_into(raw: &[u8], level: u8, out: &mut Vec<u8>) -> Result<usize> {
    if raw.is_empty() {
        out.clear();
        out.extend_from_slice(&EMPTY);
        return Ok(EMPTY.len());
    }
    let level = CompressionLvl::new(i32::from(level)).map_err(|_| {
        Error::invalid_argument(format!(
            "compression level {level} is out of range: levels are 0 to 12"
        ))
    })?;
    let mut compressor = Compressor::new(level);
    let bound = compressor.zlib_compress_bound(raw.len());
    if out.len() < bound {
        // Pages of zeros from the system cost nothing until they are written to, so a new
        // buffer is cheaper than growing the old one.
        *out = vec![0; bound];
    }
    compressor
        .zlib_compress(raw, out)
        .map_err(|_| Error::invalid_argument("the compressor's own bound was too small"))
}
