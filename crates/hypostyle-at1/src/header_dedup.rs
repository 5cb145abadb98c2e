//! The header line of a table, which may be repeated where text was appended.

use std::io::{self, Write};

/// The longest first line that is compared; longer lines are never repeated headers.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The first line of a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct FirstLine {
    line: Vec<u8>,
    ended: bool,
}

impl FirstLine {
    /// Takes the next piece of the text.
    pub(super) fn push(&mut self, text: &[u8]) {
        if self.ended || self.line.len() > MAX_LINE_BYTES {
            return;
        }
        let end = memchr::memchr(b'\n', text);
        self.line.extend_from_slice(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        self.ended = end.is_some();
    }

    /// Returns whether a text starts with the same line.
    pub(super) fn starts(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.line.as_slice()).filter(|_| self.ended);
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'\n')))
            && self.line.len() <= MAX_LINE_BYTES
    }
}

/// Passes text on, without header lines that are repeated at the start of a frame.
pub(super) struct HeaderDedup<'a> {
    out: &'a mut dyn Write,
    header: FirstLine,
    /// Whether the text so far ends in the middle of a line.
    open: bool,
    /// Bytes of a repeated header that are still to be dropped.
    skip: usize,
}

impl<'a> HeaderDedup<'a> {
    /// Takes the first line that is written as the header.
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, header: FirstLine::default(), open: false, skip: 0 }
    }

    /// Prepares for the text of the next frame.
    ///
    /// `lines` are its verbatim lines if its first line is one of them, else empty.
    pub(super) fn start_frame(&mut self, lines: &[u8]) {
        let repeated = !self.open && !lines.is_empty() && self.header.starts(lines);
        self.skip = if repeated { self.header.line.len() + 1 } else { 0 };
    }
}

impl Write for HeaderDedup<'_> {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.header.push(text);
        if let Some(last) = text.last() {
            self.open = *last != b'\n';
        }
        let skipped = self.skip.min(text.len());
        self.skip -= skipped;
        self.out.write_all(text.get(skipped..).unwrap_or_default())?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
