//! Checks the buffers of a message before the `arrow-ipc` crate allocates memory for them.

use arrow_ipc::{CompressionType, RecordBatch};

use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::limits::Limits;
use hypostyle_core::wire::Cursor;

/// The length that means that a buffer is not compressed.
const NOT_COMPRESSED: u64 = u64::MAX;

/// The maximum ratio of an LZ4 block.
const LZ4_RATIO: u64 = 255;

/// The maximum ratio of zstd: a block of 128 KiB takes at least 4 bytes.
const ZSTD_RATIO: u64 = (128 << 10) / 4;

/// Checks that every buffer lies in the body, and that compressed buffers do not claim more
/// than their compressor can yield and the limits allow.
pub(super) fn check(batch: &RecordBatch<'_>, body: &[u8], limits: &Limits) -> Result<()> {
    let ratio = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(LZ4_RATIO),
        Some(CompressionType::ZSTD) => Some(ZSTD_RATIO),
        Some(other) => return Err(Error::unsupported(format!("compression {other:?}"))),
    };
    let mut total = 0_u64;
    for buffer in batch.buffers().into_iter().flatten() {
        let start = usize::try_from(buffer.offset()).ok();
        let end = usize::try_from(buffer.length()).ok().and_then(|len| start?.checked_add(len));
        let bytes = start.zip(end).and_then(|(start, end)| body.get(start..end));
        let bytes = bytes.ok_or_else(|| Error::malformed("buffer", "lies outside its message"))?;
        let (Some(ratio), false) = (ratio, bytes.is_empty()) else { continue };
        let mut cursor = Cursor::new(bytes, 0);
        let claimed = cursor.u64_le("buffer length")?;
        if claimed == NOT_COMPRESSED {
            continue;
        }
        let stored = cursor.left() as u64;
        if claimed > stored.saturating_mul(ratio) {
            let why = format!("{stored} bytes cannot hold the {claimed} bytes that they claim");
            return Err(Error::malformed("buffer", why));
        }
        total = total.saturating_add(claimed);
        let limits =
            [("buffer", claimed, limits.block_bytes), ("row group", total, limits.read_bytes)];
        for (what, asked, limit) in limits {
            if asked > limit {
                return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
            }
        }
    }
    Ok(())
}
