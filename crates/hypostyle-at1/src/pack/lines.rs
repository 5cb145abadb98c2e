//! Splits input into frames of whole lines, and looks at the ends of a text.

use std::io::Read;

use hypostyle_core::error::Result;

/// Maximum bytes of a frame, however many lines it has.
const MAX_FRAME_BYTES: usize = 256 << 20;

/// Bytes that are read at a time.
const READ_BYTES: u64 = 1 << 20;

/// Bytes at the start of content by which it is recognized as text.
const TEXT_SAMPLE_BYTES: usize = 64 << 10;

/// Returns a text without the newline at its end, and whether there was one.
pub(super) fn split_final_newline(text: &[u8]) -> (&[u8], bool) {
    match text.strip_suffix(b"\n") {
        Some(lines) => (lines, true),
        None => (text, false),
    }
}

/// Returns the start of some content if it is text: at most one byte in a hundred is a
/// control character.
pub(super) fn text_start(content: &[u8]) -> Option<&[u8]> {
    let start = content.get(..content.len().min(TEXT_SAMPLE_BYTES)).unwrap_or_default();
    let is_control = |byte: &&u8| **byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    (start.iter().filter(is_control).count() * 100 <= start.len()).then_some(start)
}

/// Splits input into the texts of frames.
#[derive(Default)]
pub(super) struct FrameSplitter {
    /// Bytes that were read after the end of the last frame.
    rest: Vec<u8>,
    at_end: bool,
}

impl FrameSplitter {
    /// Reads the next frame, of at most `lines` lines.
    ///
    /// A line longer than a frame is split. Returns `None` at the end of the input.
    pub(super) fn next(&mut self, input: &mut impl Read, lines: u64) -> Result<Option<Vec<u8>>> {
        let mut text = std::mem::take(&mut self.rest);
        let (mut searched, mut newlines) = (0, 0);
        loop {
            let fresh = text.get(searched..).unwrap_or_default();
            for at in memchr::memchr_iter(b'\n', fresh) {
                newlines += 1;
                if newlines == lines {
                    self.rest = text.split_off(searched + at + 1);
                    return Ok(Some(text));
                }
            }
            searched = text.len();
            if searched >= MAX_FRAME_BYTES {
                let end = memchr::memrchr(b'\n', &text).map_or(searched, |at| at + 1);
                self.rest = text.split_off(end);
                return Ok(Some(text));
            }
            if self.at_end {
                return Ok((!text.is_empty()).then_some(text));
            }
            let read = input.by_ref().take(READ_BYTES).read_to_end(&mut text)?;
            self.at_end = read == 0;
        }
    }
}
