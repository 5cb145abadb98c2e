//! Errors of delimited text, and the places that they name.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;

use hypostyle::text::{TextKind, TextOptions, TextSource};
use hypostyle::{Error, ErrorKind, Result};

use crate::support::{ReadText, read};

fn refused(text: impl AsRef<[u8]>) -> Error {
    read(text).unwrap_err()
}

#[test]
fn a_ragged_row_is_named_by_row_and_byte() {
    for (text, row, at, why) in [
        ("a,b\n1,2\n3\n", 1, 8, "row 2: byte 8: row: has 1 cells where the first row has 2"),
        ("a,b\n1,2,3\n", 0, 4, "row 1: byte 4: row: has 3 cells where the first row has 2"),
        ("a,b\r\n\r\n1,2\r\n\"x\ny\"\r\n", 1, 12, "row 2: byte 12: "),
        ("\u{FEFF}a,b\n1\n", 0, 7, "row 1: byte 7: "),
        ("a\n1\n2,3\n", 1, 4, "row 2: byte 4: "),
        ("a,b\n\"\"\n", 0, 4, "has 1 cells"),
    ] {
        let err = refused(text);
        assert_eq!((err.row(), err.offset()), (Some(row), Some(at)), "{err}");
        assert!(err.to_string().contains(why), "{err}");
        assert!(matches!(err.kind(), ErrorKind::RaggedRow { .. }), "{err}");
    }
}

#[test]
fn text_that_is_not_utf8_is_named_by_byte() {
    for (text, at) in [
        (&b"a,b\n1,\xE9\n"[..], 6),
        (b"\xFFa\n", 0),
        (b"\xFF\xFEa\0,\0b\0", 0), // UTF-16
        (b"\xEF\xBB\xBFa\n\x80\n", 5),
        (b"a\n1\n\xF0\x9F\x98", 4), // truncated at the end
        (b"a\n\xC0\xAF\n", 2),
        (b"a\n\xED\xA0\x80\n", 2),
    ] {
        let err = refused(text);
        assert_eq!(err.offset(), Some(at), "{err}");
        assert!(matches!(err.kind(), ErrorKind::NotUtf8), "{err}");
    }
}

#[test]
fn an_open_quote_is_named_where_it_opens() {
    for (text, row, at) in [
        ("a,b\n1,\"x\n2,y\n", Some(0), 6),
        ("a,b\n1,2\n\"\"\"\n", Some(1), 8),
        ("a,b\n1,2\n\"", Some(1), 8),
        ("a,\"b\n1,2\n", None, 2),
        ("\"", None, 0),
        ("\"\"\"", None, 0),
        ("\n\n\"x", None, 2),
    ] {
        let err = refused(text);
        assert_eq!((err.row(), err.offset()), (row, Some(at)), "{text:?}: {err}");
        assert!(err.to_string().contains("quoted cell: is never closed"), "{err}");
    }
}

#[test]
fn an_empty_file_has_no_table() {
    for text in ["", "\n", "\r\n\r\n", "\u{FEFF}", "\u{FEFF}\n"] {
        assert_eq!(refused(text).to_string(), "table: is empty: it has no header");
    }
    assert!(read("\"\"").is_ok(), "a column without a name");
}

/// A text whose reader is made anew for each pass.
struct Made<F>(F);

impl<F> fmt::Debug for Made<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Made")
    }
}

impl<R: Read + Send + 'static, F: Fn(u64) -> R + Send + Sync> TextSource for Made<F> {
    fn open(&self, offset: u64) -> Result<Box<dyn Read + Send>> {
        Ok(Box::new((self.0)(offset)))
    }

    fn is_seekable(&self) -> bool {
        false
    }

    fn size(&self) -> Option<u64> {
        None
    }
}

fn made<R: Read + Send + 'static>(
    open: impl Fn(u64) -> R + Send + Sync + 'static,
) -> Result<ReadText> {
    let kind = TextKind::Delimited { delimiter: b',' };
    ReadText::of(Arc::new(Made(open)), kind, &TextOptions::default())
}

#[test]
fn an_input_that_fails_is_an_error_of_the_input() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    for head in ["", "a,b\n", "a,b\n1,2\n"] {
        let err = made(move |_| head.as_bytes().chain(Failing)).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::Io(_)), "{err}");
        assert_eq!(err.to_string(), "the disk is gone");
    }
}

/// A source may return any number of bytes per read.
#[test]
fn an_input_that_trickles_is_read_to_its_end() {
    struct Trickle(&'static [u8]);
    impl Read for Trickle {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            match buf.first_mut() {
                Some(slot) if !self.0.is_empty() => {
                    *slot = self.0[0];
                    self.0 = &self.0[1..];
                    Ok(1)
                }
                _ => Ok(0),
            }
        }
    }
    let text = "a,b\n1,\"é\"\"\"\r\n2,y\n";
    let open = |offset| Trickle(&text.as_bytes()[usize::try_from(offset).unwrap()..]);
    assert_eq!(made(open).unwrap().batches, read(text).unwrap().batches);
}
