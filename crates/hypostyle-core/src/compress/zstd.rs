//! zstd frames that declare their content size.

use std::cell::RefCell;

use zstd::zstd_safe;
use zstd::zstd_safe::{CParameter, DCtx};

use super::capacity::initial_capacity;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

const WHAT: &str = "zstd frame";
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

thread_local! {
    // Creating a context costs more than decompressing most blocks of a row group.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Decompresses one frame and returns its content and its length in bytes.
///
/// Bytes after the frame are ignored (at1 §2.5).
///
/// # Errors
///
/// Fails if the bytes do not start with a frame that has content (a skippable frame has
/// none), if the frame does not declare its content size, if it declares more than
/// `limits` allow, and if it is damaged or its content has another size.
pub fn decompress(frame: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize)> {
    if !frame.starts_with(&MAGIC) {
        return Err(Error::malformed(WHAT, "has no zstd magic number"));
    }
    let size = match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(size)) => size,
        Ok(None) => return Err(Error::malformed(WHAT, "does not declare its content size")),
        Err(_) => return Err(Error::malformed(WHAT, "has a malformed header")),
    };
    let (what, limit) = (WHAT, limits.block_bytes);
    if size > limit {
        return Err(ErrorKind::LimitExceeded { what, asked: size, limit }.into());
    }
    let size =
        usize::try_from(size).map_err(|_| Error::malformed(WHAT, "is larger than memory"))?;
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

/// Returns the content size that a frame declares.
pub fn content_size(frame: &[u8]) -> Option<u64> {
    zstd_safe::get_frame_content_size(frame).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(raw: &[u8]) -> Vec<u8> {
        zstd::bulk::compress(raw, 3).unwrap()
    }

    #[test]
    fn frames_of_any_size_are_read_back() {
        for size in [0, 1, 1000, (1 << 16) + 1, 1 << 17, 3 << 20] {
            let raw: Vec<u8> = (0..size).map(|i: u32| u8::try_from(i % 251).unwrap()).collect();
            assert!(decompress(&frame(&raw), &Limits::default()).unwrap().0 == raw, "{size}");
            let zeros = vec![0; usize::try_from(size).unwrap()];
            assert!(decompress(&frame(&zeros), &Limits::default()).unwrap().0 == zeros, "{size}");
        }
    }

    #[test]
    fn bytes_after_the_frame_are_ignored_and_a_cut_is_not() {
        let mut file = frame(b"hello hello hello hello");
        for cut in 0..file.len() {
            assert!(decompress(&file[..cut], &Limits::default()).is_err(), "{cut}");
        }
        let len = file.len();
        file.extend_from_slice(b"more");
        let (raw, used) = decompress(&file, &Limits::default()).unwrap();
        assert_eq!((raw.as_slice(), used), (&b"hello hello hello hello"[..], len));
    }

    #[test]
    fn a_skippable_frame_is_refused() {
        let skip = [0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9];
        assert!(decompress(&skip, &Limits::default()).is_err());
        assert!(decompress(&[&skip[..], &frame(b"hello")].concat(), &Limits::default()).is_err());
    }

    #[test]
    fn limits_come_before_memory() {
        let file = frame(&vec![0; 1 << 20]);
        let small = Limits::default().with_block_bytes(1000);
        assert!(matches!(
            decompress(&file, &small).unwrap_err().kind(),
            ErrorKind::LimitExceeded { limit: 1000, .. }
        ));
    }
}
