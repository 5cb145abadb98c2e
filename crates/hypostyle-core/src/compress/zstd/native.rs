//! Frames by libzstd.

use std::cell::RefCell;

use zstd::zstd_safe;
use zstd::zstd_safe::{CParameter, DCtx};

use super::WHAT;
use crate::compress::capacity::initial_capacity;
use crate::error::{Error, Result};

thread_local! {
    // Creating a context costs more than decompressing most blocks of a row group.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Returns the content size that the header of a frame declares, if it does.
pub(super) fn declared_size(frame: &[u8]) -> std::result::Result<Option<u64>, ()> {
    zstd_safe::get_frame_content_size(frame).map_err(|_| ())
}

/// Decompresses a frame that declares `size` bytes, and returns its content and its length.
pub(super) fn decode_frame(frame: &[u8], size: usize) -> Result<(Vec<u8>, usize)> {
    let len = zstd_safe::find_frame_compressed_size(frame)
        .map_err(|code| Error::malformed(WHAT, zstd_safe::get_error_name(code)))?;
    let frame = frame.get(..len).unwrap_or(frame);
    let mut out = Vec::with_capacity(initial_capacity(frame.len(), size));
    if out.capacity() >= size {
        CONTEXT
            .with_borrow_mut(|context| context.decompress(&mut out, frame))
            .map_err(|code| Error::malformed(WHAT, zstd_safe::get_error_name(code)))?;
    } else {
        decompress_growing(frame, size, &mut out)?;
    }
    if out.len() != size {
        let why = format!("holds {} bytes, but declares {size}", out.len());
        return Err(Error::malformed(WHAT, why));
    }
    Ok((out, len))
}

/// Decompresses a frame whose claimed size exceeds the initial capacity.
///
/// The buffer grows with the output, up to `size`.
fn decompress_growing(frame: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let mut context = DCtx::create();
    let mut input = zstd_safe::InBuffer::around(frame);
    loop {
        if out.len() == out.capacity() && out.len() < size {
            out.reserve_exact(out.len().max(1 << 16).min(size - out.len()));
        }
        let at = out.len();
        let mut output = zstd_safe::OutBuffer::around_pos(out, at);
        let left = context
            .decompress_stream(&mut output, &mut input)
            .map_err(|code| Error::malformed(WHAT, zstd_safe::get_error_name(code)))?;
        if left == 0 {
            return Ok(());
        }
        // No progress: the output is full before the end, or the input ran out.
        if out.len() == at && (at == size || input.pos() == frame.len()) {
            return Err(Error::malformed(WHAT, "is cut off, or holds more than it declares"));
        }
    }
}

/// Compresses into one frame that declares its size, with no checksum.
///
/// # Errors
///
/// Fails if memory runs out.
pub fn compress(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    zstd::bulk::compress(raw, level)
        .map_err(|err| Error::invalid_argument(format!("zstd cannot compress: {err}")))
}

/// Compresses like [`compress`], with long-distance matches in a window of 128 MiB.
///
/// # Errors
///
/// Fails if memory runs out.
pub fn compress_far(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    let failed = |code| {
        let why = zstd_safe::get_error_name(code);
        Error::invalid_argument(format!("zstd cannot compress: {why}"))
    };
    let mut context = zstd_safe::CCtx::create();
    context.set_parameter(CParameter::CompressionLevel(level)).map_err(failed)?;
    context.set_parameter(CParameter::EnableLongDistanceMatching(true)).map_err(failed)?;
    context.set_parameter(CParameter::WindowLog(27)).map_err(failed)?;
    let mut out = Vec::with_capacity(zstd_safe::compress_bound(raw.len()));
    context.compress2(&mut out, raw).map_err(failed)?;
    Ok(out)
}
