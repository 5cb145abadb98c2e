//! The first line of a text, which an appended text may repeat as its header.

/// The longest first line that is compared; longer lines are never repeated headers.
const MAX_LINE_BYTES: usize = 1 << 20;

/// The first line of a text that arrives in pieces.
#[derive(Debug, Default)]
pub(in crate::pack) struct FirstLine {
    line: Vec<u8>,
    ended: bool,
}

impl FirstLine {
    /// Takes the next piece of the text.
    pub(in crate::pack) fn push(&mut self, text: &[u8]) {
        if self.ended || self.line.len() > MAX_LINE_BYTES {
            return;
        }
        let end = memchr::memchr(b'\n', text);
        self.line.extend_from_slice(text.get(..end.unwrap_or(text.len())).unwrap_or_default());
        self.ended = end.is_some();
    }

    /// Returns the line, if all of it is known.
    pub(in crate::pack) fn line(&self) -> Option<&[u8]> {
        (self.ended && self.line.len() <= MAX_LINE_BYTES).then_some(&self.line)
    }

    /// Returns whether a text starts with the same line.
    pub(in crate::pack) fn starts(&self, text: &[u8]) -> bool {
        let rest = text.strip_prefix(self.line.as_slice()).filter(|_| self.ended);
        rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'\n')))
            && self.line.len() <= MAX_LINE_BYTES
    }
}
