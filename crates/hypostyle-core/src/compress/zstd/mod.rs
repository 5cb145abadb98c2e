//! zstd frames that declare their content size.
//!
//! libzstd does the work. WebAssembly has no C library, so there `pure_decoder` decodes with
//! `ruzstd`, and nothing encodes.

#[cfg(not(target_family = "wasm"))]
mod native;
#[cfg(any(target_family = "wasm", feature = "pure-decoders"))]
pub(super) mod pure_decoder;

#[cfg(not(target_family = "wasm"))]
use native as codec;
#[cfg(target_family = "wasm")]
use pure_decoder as codec;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;

#[cfg(not(target_family = "wasm"))]
pub use native::{compress, compress_far};

pub(super) const WHAT: &str = "zstd frame";
pub(super) const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

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
    let size = check_start(frame, codec::declared_size, limits)?;
    codec::decode_frame(frame, size)
}

/// Checks the start of a frame with `declared_size`, and returns the size of its content.
fn check_start(
    frame: &[u8],
    declared_size: fn(&[u8]) -> std::result::Result<Option<u64>, ()>,
    limits: &Limits,
) -> Result<usize> {
    if !frame.starts_with(&MAGIC) {
        return Err(Error::malformed(WHAT, "has no zstd magic number"));
    }
    let size = match declared_size(frame) {
        Ok(Some(size)) => size,
        Ok(None) => return Err(Error::malformed(WHAT, "does not declare its content size")),
        Err(()) => return Err(Error::malformed(WHAT, "has a malformed header")),
    };
    let (what, limit) = (WHAT, limits.block_bytes);
    if size > limit {
        return Err(ErrorKind::LimitExceeded { what, asked: size, limit }.into());
    }
    usize::try_from(size).map_err(|_| Error::malformed(WHAT, "is larger than memory"))
}

/// Returns the content size that a frame declares.
pub fn content_size(frame: &[u8]) -> Option<u64> {
    codec::declared_size(frame).ok().flatten()
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
