//! A JSON array of objects, read as JSON Lines.
//!
//! The text changes byte by byte and keeps its length: the brackets of the array become spaces, the
//! commas between its elements ends of lines, and ends of lines within an element spaces. So each
//! element is a line, and every offset is one of the file.

use std::io::{self, Read};
use std::sync::Arc;

use crate::error::{Error, Result};
use crate::text::source::TextSource;

/// Bytes between places whose state is known, from which the text can be read.
const MARK_BYTES: u64 = 1 << 20;

/// Bytes that the first pass reads at once.
const PIECE_BYTES: usize = 64 << 10;

/// An array as a text of lines.
#[derive(Debug)]
pub(crate) struct ArrayText {
    array: Arc<dyn TextSource>,
    /// The state at each multiple of [`MARK_BYTES`].
    marks: Vec<State>,
}

impl ArrayText {
    /// Reads an array once, to find where its elements end.
    ///
    /// # Errors
    ///
    /// Fails if the text is not one array, and if it cannot be read.
    pub(crate) fn open(array: Arc<dyn TextSource>) -> Result<Self> {
        let mut text = array.open(0)?;
        let (mut state, mut marks) = (State::default(), vec![State::default()]);
        let mut piece = vec![0; PIECE_BYTES];
        let mut offset = 0_u64;
        loop {
            let read = match text.read(&mut piece) {
                Ok(read) => read,
                Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
                Err(err) => return Err(err.into()),
            };
            if read == 0 {
                break;
            }
            for &byte in piece.iter().take(read) {
                state.step(byte);
                if let Some(what) = state.wrong {
                    return Err(Error::malformed("the JSON array", what).at(offset));
                }
                offset += 1;
                if offset.is_multiple_of(MARK_BYTES) {
                    marks.push(state);
                }
            }
        }
        if state.place != Place::After {
            return Err(Error::malformed("the JSON array", "has no end").at(offset));
        }
        Ok(Self { array, marks })
    }
}

impl TextSource for ArrayText {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        let mark = usize::try_from(offset / MARK_BYTES).unwrap_or(usize::MAX);
        let mark = mark.min(self.marks.len().saturating_sub(1));
        let state = self.marks.get(mark).copied().unwrap_or_default();
        let start = mark as u64 * MARK_BYTES;
        let mut reader = ArrayReader { array: self.array.open(start)?, state };
        io::copy(&mut reader.by_ref().take(offset.saturating_sub(start)), &mut io::sink())?;
        Ok(Box::new(reader))
    }

    fn is_seekable(&self) -> bool {
        self.array.is_seekable()
    }

    fn size(&self) -> Option<u64> {
        self.array.size()
    }
}

struct ArrayReader {
    array: Box<dyn Read + Send>,
    state: State,
}

impl Read for ArrayReader {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.array.read(buf)?;
        for byte in buf.iter_mut().take(read) {
            *byte = self.state.step(*byte);
        }
        Ok(read)
    }
}

/// What precedes a byte of an array.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    place: Place,
    /// Objects and arrays that are open inside of the outer array.
    depth: u32,
    /// Whether the element has begun.
    begun: bool,
    wrong: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    /// Between the strings of an element, or between elements.
    Inside,
    String,
    /// After a backslash in a string.
    Escape,
    After,
}

impl State {
    /// Moves behind a byte, and returns what it becomes.
    #[inline]
    fn step(&mut self, byte: u8) -> u8 {
        match self.place {
            Place::String => {
                match byte {
                    b'"' => self.place = Place::Inside,
                    b'\\' => self.place = Place::Escape,
                    _ => {}
                }
                byte
            }
            Place::Escape => {
                self.place = Place::String;
                byte
            }
            Place::Inside => self.step_inside(byte),
            Place::Before => {
                match byte {
                    b'[' => self.place = Place::Inside,
                    // White space, and the byte order mark.
                    b' ' | b'\t' | b'\r' | b'\n' | 0xEF | 0xBB | 0xBF => return byte,
                    _ => self.wrong = Some("does not start with `[`"),
                }
                b' '
            }
            Place::After => {
                if !byte.is_ascii_whitespace() {
                    self.wrong = Some("is followed by something else");
                }
                b' '
            }
        }
    }

    fn step_inside(&mut self, byte: u8) -> u8 {
        match byte {
            b'\n' | b'\r' => return b' ',
            b' ' | b'\t' => return byte,
            b',' if self.depth == 0 => {
                if !self.begun {
                    self.wrong = Some("has a comma without an element before it");
                }
                self.begun = false;
                return b'\n';
            }
            b']' if self.depth == 0 => {
                self.place = Place::After;
                return b' ';
            }
            b'"' => self.place = Place::String,
            b'{' | b'[' => self.depth = self.depth.saturating_add(1),
            // A bracket too many ends the array, and what follows is wrong.
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        self.begun = true;
        byte
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::text::source::SourceText;

    fn opened(text: &str) -> Result<ArrayText> {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        ArrayText::open(Arc::new(SourceText(Arc::new(bytes))))
    }

    fn lines(text: &str, offset: u64) -> String {
        let mut out = String::new();
        opened(text).unwrap().open(offset).unwrap().read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn elements_become_lines_and_offsets_stay() {
        let text = "[{\"a\": [1,\n2], \"b\":\"],\\\"[\"},\r\n {\"a\":3}\n]\n";
        let want = " {\"a\": [1, 2], \"b\":\"],\\\"[\"}\n   {\"a\":3}   ";
        assert_eq!(lines(text, 0), want);
        for offset in 0..text.len() {
            assert_eq!(lines(text, offset as u64), want[offset..]);
        }
        assert_eq!(lines("\u{FEFF}\n[]", 0), "\u{FEFF}\n  ");
    }

    #[test]
    fn a_long_array_is_read_from_the_middle() {
        let text = format!("[{}{{\"a\":0}}]", "{\"a\":1},\n".repeat(300_000));
        let want = lines(&text, 0);
        for offset in [1 << 20, (1 << 20) + 5, (2 << 20) - 1, text.len()] {
            assert_eq!(lines(&text, offset as u64), want[offset..]);
        }
    }

    #[test]
    fn what_is_no_array_of_elements_is_an_error() {
        for (text, why) in [
            ("", "has no end"),
            ("[{}", "has no end"),
            ("[\"]", "has no end"),
            ("{}", "does not start"),
            ("[{}] x", "followed"),
            ("[{},,{}]", "without an element"),
            ("[,{}]", "without an element"),
        ] {
            let err = opened(text).unwrap_err().to_string();
            assert!(err.contains(why), "{text}: {err}");
        }
    }
}
