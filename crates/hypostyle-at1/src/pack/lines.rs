//! Text cut into frames.

use std::io::Read;

use hypostyle_core::error::Result;

/// Most bytes of a frame, whatever its lines.
const FRAME: usize = 256 << 20;

/// A text without the newline at its end, and whether there was one.
pub(super) fn ended(text: &[u8]) -> (&[u8], bool) {
    match text.strip_suffix(b"\n") {
        Some(lines) => (lines, true),
        None => (text, false),
    }
}

/// Bytes by which content is taken for text or not.
const LOOKED_AT: usize = 64 << 10;

/// The start of content, if it is text: one byte in a hundred may be of no character.
pub(super) fn text_start(content: &[u8]) -> Option<&[u8]> {
    let start = content.get(..content.len().min(LOOKED_AT)).unwrap_or_default();
    let is_control = |byte: &&u8| **byte < b' ' && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x1b);
    (start.iter().filter(is_control).count() * 100 <= start.len()).then_some(start)
}

/// Cuts what is read into runs of whole lines.
#[derive(Default)]
pub(super) struct Lines {
    /// What was read beyond the last run.
    rest: Vec<u8>,
    ended: bool,
}

impl Lines {
    /// The next run of at most so many lines; a line beyond a frame's size is cut.
    pub(super) fn next(&mut self, input: &mut impl Read, lines: u64) -> Result<Option<Vec<u8>>> {
        let mut text = std::mem::take(&mut self.rest);
        let (mut seen, mut newlines) = (0, 0);
        loop {
            let fresh = text.get(seen..).unwrap_or_default();
            for at in memchr::memchr_iter(b'\n', fresh) {
                newlines += 1;
                if newlines == lines {
                    self.rest = text.split_off(seen + at + 1);
                    return Ok(Some(text));
                }
            }
            seen = text.len();
            if seen >= FRAME {
                let end = memchr::memrchr(b'\n', &text).map_or(seen, |at| at + 1);
                self.rest = text.split_off(end);
                return Ok(Some(text));
            }
            if self.ended {
                return Ok((!text.is_empty()).then_some(text));
            }
            let got = input.by_ref().take(1 << 20).read_to_end(&mut text)?;
            self.ended = got == 0;
        }
    }
}
