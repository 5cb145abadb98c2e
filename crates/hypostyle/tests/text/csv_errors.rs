//! Errors of the CSV importer, and the places that they name.

use std::io::{self, Read};

use hypostyle::spill::SpillBuffer;
use hypostyle::text::ImportOptions;
use hypostyle::text::csv::{self, CsvOptions};
use hypostyle::{Error, ErrorKind};

use crate::support::{EVERYTHING, read};

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

#[test]
fn an_input_that_fails_is_an_error_of_the_input() {
    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    for head in ["", "a,b\n", "a,b\n1,2\n"] {
        let mut input = head.as_bytes().chain(Failing);
        let options = ImportOptions::new(EVERYTHING);
        let spill = SpillBuffer::in_memory();
        let csv = CsvOptions::default();
        let err = csv::import(&mut input, &csv, &options, spill, &mut |_| {}).unwrap_err();
        assert!(matches!(err.kind(), ErrorKind::Io(_)), "{err}");
        assert_eq!(err.to_string(), "the disk is gone");
    }
}

/// A source may return any number of bytes per read.
#[test]
fn an_input_that_trickles_is_read_to_its_end() {
    struct Trickle<'a>(&'a [u8]);
    impl Read for Trickle<'_> {
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
    let options = ImportOptions::new(EVERYTHING);
    let spill = SpillBuffer::in_memory();
    let mut input = Trickle(text.as_bytes());
    let slow = csv::import(&mut input, &CsvOptions::default(), &options, spill, &mut |_| {});
    let quick = read(text).unwrap();
    assert_eq!(slow.unwrap().batch(0).unwrap(), quick.batch(0).unwrap());
}
