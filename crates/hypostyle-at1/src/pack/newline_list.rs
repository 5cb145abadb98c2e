//! Lists of texts with a newline between neighbours, as many streams store them.

/// Texts joined by newlines.
#[derive(Clone, Debug, Default)]
pub(super) struct NewlineList {
    /// The texts and the newlines between them.
    pub(super) bytes: Vec<u8>,
    /// How many texts were pushed. A list of one empty text has no bytes either.
    pub(super) len: usize,
}

impl NewlineList {
    /// Appends a text, which must not contain a newline.
    pub(super) fn push(&mut self, text: &[u8]) {
        if self.len > 0 {
            self.bytes.push(b'\n');
        }
        self.len += 1;
        self.bytes.extend_from_slice(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newlines_separate_texts_even_if_they_are_empty() {
        let mut list = NewlineList::default();
        for text in ["", "a", ""] {
            list.push(text.as_bytes());
        }
        assert_eq!((list.bytes.as_slice(), list.len), (&b"\na\n"[..], 3));
    }
}
