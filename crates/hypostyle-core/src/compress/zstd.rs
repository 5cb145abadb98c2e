//! zstd frames that declare their size.

use std::cell::RefCell;

use zstd::zstd_safe;
use zstd::zstd_safe::{CParameter, DCtx};

use super::earned;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

const WHAT: &str = "zstd frame";
const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

thread_local! {
    // Setting one up costs more than most blocks of a row group.
    static CONTEXT: RefCell<DCtx<'static>> = RefCell::new(DCtx::create());
}

/// Expands one frame, which must declare its content size (at1 §2.5).
///
/// Bytes after the frame are ignored; says how many bytes the frame has. One that
/// may be skipped is not one of content.
///
/// # Errors
///
/// A frame that is damaged, or does not say how long its content is, or says
/// more than `limits` allow or than it turns out to hold.
pub fn expand(frame: &[u8], limits: &Limits) -> Result<(Vec<u8>, usize)> {
    if !frame.starts_with(&MAGIC) {
        return Err(Error::malformed(WHAT, "does not start like one"));
    }
    let size = match zstd_safe::get_frame_content_size(frame) {
        Ok(Some(size)) => size,
        Ok(None) => return Err(Error::malformed(WHAT, "does not declare its content size")),
        Err(_) => return Err(Error::malformed(WHAT, "does not start like one")),
    };
    let (what, limit) = (WHAT, limits.block_bytes);
    if size > limit {
        return Err(ErrorKind::LimitExceeded { what, asked: size, limit }.into());
    }
    let size = usize::try_from(size).map_err(|_| Error::malformed(WHAT, "is beyond memory"))?;
    let len = zstd_safe::find_frame_compressed_size(frame)
        .map_err(|code| Error::malformed(WHAT, zstd_safe::get_error_name(code)))?;
    let frame = frame.get(..len).unwrap_or(frame);
    let mut out = Vec::with_capacity(earned(frame.len(), size));
    if out.capacity() >= size {
        CONTEXT
            .with_borrow_mut(|context| context.decompress(&mut out, frame))
            .map_err(|code| Error::malformed(WHAT, zstd_safe::get_error_name(code)))?;
    } else {
        expand_slowly(frame, size, &mut out)?;
    }
    if out.len() != size {
        let why = format!("holds {} bytes where it declares {size}", out.len());
        return Err(Error::malformed(WHAT, why));
    }
    Ok((out, len))
}

/// Expands a frame that claims more than is taken on trust: memory grows with
/// what comes out.
fn expand_slowly(frame: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
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
        // Full, and yet not at its end: or out of input, and nothing comes out.
        if out.len() == at && (at == size || input.pos() == frame.len()) {
            return Err(Error::malformed(WHAT, "is cut off, or holds more than it declares"));
        }
    }
}

/// Compresses into one frame that declares its size, with no checksum.
///
/// # Errors
///
/// When memory runs out.
pub fn compress(raw: &[u8], level: i32) -> Result<Vec<u8>> {
    zstd::bulk::compress(raw, level)
        .map_err(|err| Error::invalid_argument(format!("zstd cannot compress: {err}")))
}

/// As [`compress`], with matches from as far away as there are bytes.
///
/// # Errors
///
/// When memory runs out.
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

/// The content size that a frame declares.
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
    fn a_frame_comes_back_whatever_its_size() {
        for size in [0, 1, 1000, (1 << 16) + 1, 1 << 17, 3 << 20] {
            let raw: Vec<u8> = (0..size).map(|i: u32| u8::try_from(i % 251).unwrap()).collect();
            assert!(expand(&frame(&raw), &Limits::default()).unwrap().0 == raw, "{size}");
            let zeros = vec![0; usize::try_from(size).unwrap()];
            assert!(expand(&frame(&zeros), &Limits::default()).unwrap().0 == zeros, "{size}");
        }
    }

    #[test]
    fn bytes_after_the_frame_are_ignored_and_a_cut_is_not() {
        let mut file = frame(b"hello hello hello hello");
        for cut in 0..file.len() {
            assert!(expand(&file[..cut], &Limits::default()).is_err(), "{cut}");
        }
        let len = file.len();
        file.extend_from_slice(b"more");
        let (raw, used) = expand(&file, &Limits::default()).unwrap();
        assert_eq!((raw.as_slice(), used), (&b"hello hello hello hello"[..], len));
    }

    #[test]
    fn a_frame_that_may_be_skipped_is_no_content() {
        let skip = [0x50, 0x2A, 0x4D, 0x18, 1, 0, 0, 0, 9];
        assert!(expand(&skip, &Limits::default()).is_err());
        assert!(expand(&[&skip[..], &frame(b"hello")].concat(), &Limits::default()).is_err());
    }

    #[test]
    fn limits_come_before_memory() {
        let file = frame(&vec![0; 1 << 20]);
        let small = Limits::default().with_block_bytes(1000);
        assert!(matches!(
            expand(&file, &small).unwrap_err().kind(),
            ErrorKind::LimitExceeded { limit: 1000, .. }
        ));
    }
}
