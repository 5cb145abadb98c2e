//! Tests the reader with small blocks, so that every block boundary occurs.

use std::io::{self, Read};

use proptest::prelude::*;

use super::{Encoding, Ragged};
use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::text::sizes::TextSizes;
use crate::text::state::Infer;
use crate::text::summarise::summarise;
use crate::text::table::TextTable;
use crate::text::tests::{CSV, Contents, options, seekable, sizes, whole};
use crate::text::{TextOptions, TextSummary};
use crate::types::Capabilities;

/// Returns the table, or the row and byte offset of the error.
fn read(
    text: &[u8],
    options: &TextOptions,
    sizes: TextSizes,
) -> Result<Contents, (Option<u64>, Option<u64>)> {
    TextTable::open_sized(seekable(text), CSV, options, None, sizes)
        .and_then(whole)
        .map_err(|err| (err.row(), err.offset()))
}

/// Reads an input, which may be infinite, in blocks of 16 bytes.
fn summary(input: &mut dyn Read, options: &TextOptions) -> Result<TextSummary, Error> {
    summarise(input, CSV.with_options(options), options, sizes(16, 64))
}

fn same_at_every_size(text: &[u8], options: &TextOptions) {
    let whole = read(text, options, TextSizes::default());
    for block in 1..=text.len() + 2 {
        let parts = read(text, options, sizes(block, 9));
        assert_eq!(parts, whole, "blocks of {block}: {:?}", String::from_utf8_lossy(text));
    }
}

#[test]
fn every_block_size_gives_the_same_table() {
    for text in [
        "a,b\r\n1,\"x\"\"y\"\r\n2,\"\"\r\n\r\n3,\"l\r\nm\"\r\n",
        "a,b\r1,2\r\r3,4\r",
        "\u{FEFF}ä,\"ö\u{FEFF}\"\n日本,😀\n,\n\n\"\",\"é\"é\n",
        "n\n\n1\n\n\"\"\n2",
        "n\n1\n\"\"\n\ntext\n",
        "n\n1.5\n2.5\n3\n",
        "\n\n\r\n\"\"\n\n",
        "a,b\n\n\n\n\n\n\n\n\n\n\n\n1,2\n\n\n\n\n\n\n",
        "a,b\n1,2\n3\n",
        "a,b\n1,2\n3,4,5\n",
        "a,b\n1,2\n3,\"4\n",
        "\"a,b\n1,2\n",
        "a\n",
        "a",
        "\n\n",
        "",
        "\u{FEFF}",
    ] {
        for header in [true, false] {
            for ragged in [Ragged::Refuse, Ragged::Pad] {
                for threads in [1, 3] {
                    let header = Some(header);
                    let options = TextOptions { header, ragged, ..options(threads) };
                    same_at_every_size(text.as_bytes(), &options);
                }
            }
        }
    }
}

#[test]
fn every_block_size_finds_bytes_that_are_not_utf8() {
    for (bad, at) in [
        (&b"a,b\n1,\xFF\n"[..], 6),
        (b"a,b\n1,2\n3,\xC3", 10),
        (b"a,b\n1,2\n3,\xE6\x97\n", 10),
        (b"a\xC0\x80,b\n", 1),
        (b"\xEF\xBB\xBFa\n\xED\xA0\x80\n", 5),
        (b"a\n\xF4\x90\x80\x80\n", 2),
    ] {
        for block in 1..=bad.len() {
            let err = read(bad, &options(1), sizes(block, 9)).unwrap_err();
            assert_eq!(err.1, Some(at), "blocks of {block}: {bad:?}");
        }
    }
}

/// Offsets count bytes of the input, although its text is longer in UTF-8.
#[test]
fn every_block_size_counts_bytes_of_the_input() {
    let options = TextOptions { encoding: Encoding::Latin1, ..options(1) };
    let text = b"\xE4,\xF6\n\xE9\xE9\xE9,1\n\xFF,2,3\n";
    same_at_every_size(text, &options);
    let err = read(text, &options, TextSizes::default()).unwrap_err();
    assert_eq!(err, (Some(1), Some(10)));
    let err = read(b"\xE9,\"\xE9", &options, TextSizes::default()).unwrap_err();
    assert_eq!(err, (None, Some(2)));
    let err = read(b"\xE9,b\n\xE9,\"\xE9", &options, sizes(3, 9)).unwrap_err();
    assert_eq!(err, (Some(0), Some(6)));
}

/// The input is infinite: the reader must stop by itself.
#[test]
fn hostile_rows_are_refused_before_they_are_whole() {
    let limits = Limits::default().with_columns(10).with_row_bytes(1000);
    let refuse = |head: &'static str, byte: u8, ragged| {
        let options = TextOptions { ragged, limits: limits.clone(), ..options(1) };
        summary(&mut head.as_bytes().chain(io::repeat(byte)), &options).unwrap_err()
    };
    let is_limit = |kind: &ErrorKind| matches!(kind, ErrorKind::LimitExceeded { .. });
    for head in ["", "\n\n", "\u{FEFF}a"] {
        assert!(is_limit(refuse(head, b',', Ragged::Refuse).kind()), "{head:?}");
    }
    for (head, row, at) in [("a,b\n", 0, 4), ("a,b\n1,2\n\n3,4\n", 2, 13)] {
        for ragged in [Ragged::Refuse, Ragged::Pad] {
            let err = refuse(head, b',', ragged);
            assert_eq!((err.row(), err.offset()), (Some(row), Some(at)), "{err}");
            assert!(err.to_string().contains("more than 2 cells"), "{err}");
        }
        for byte in [b'x', b'"'] {
            let err = refuse(head, byte, Ragged::Refuse);
            assert_eq!((err.row(), err.offset()), (Some(row), Some(at)), "{err}");
            assert!(is_limit(err.kind()), "{err}");
        }
    }
    let err = refuse("\"", b'x', Ragged::Refuse);
    assert!(is_limit(err.kind()) && err.offset() == Some(0), "{err}");
    let err = refuse("a,b,c,d,e,f,g,h,i,j,k\n", b'x', Ragged::Refuse);
    assert_eq!(err.to_string(), "number of columns is 11, over the limit of 10");
}

/// Blank lines do not count towards the row limit.
#[test]
fn blank_lines_do_not_pile_up() {
    let options = TextOptions { limits: Limits::default().with_row_bytes(1000), ..options(1) };
    for head in ["", "a,b\n", "a,b\n1,2\n"] {
        let blanks = io::repeat(b'\n').take(100_000);
        let mut input = head.as_bytes().chain(blanks).chain(&b"x,y\n"[..]);
        assert_eq!(summary(&mut input, &options).unwrap().columns.len(), 2);
    }
}

proptest! {
    /// Any text gives the same table or error, on any number of threads.
    #[test]
    fn blocks_and_threads_change_nothing(
        text in "[ab1\u{e9}\u{FEFF}.,,\"\"\n\n\r]{0,40}",
        block in 1_usize..30,
        threads in 1_usize..4,
        infer in prop::sample::select(vec![Infer::Exact, Infer::Numeric, Infer::Text]),
        header: bool,
        pad: bool,
    ) {
        let ragged = if pad { Ragged::Pad } else { Ragged::Refuse };
        let with = |threads| TextOptions { header: Some(header), ragged, infer, ..options(threads) };
        prop_assert_eq!(
            read(text.as_bytes(), &with(threads), sizes(block, 9)),
            read(text.as_bytes(), &with(1), TextSizes::default())
        );
    }

    /// Columns of numbers, gaps and some words, cut anywhere.
    #[test]
    fn types_do_not_depend_on_blocks(
        cells in prop::collection::vec(
            prop::sample::select(vec![
                "1", "2", "", "\"\"", "1.5", "x", "+5", "3000000000", "NA", "1.50", "NaN",
                "2024-01-04", "2024-01-05", "true", "99999999999999999999",
            ]),
            1..8,
        ),
        has_word: bool,
        block in 1_usize..30,
        threads in 1_usize..4,
        infer in prop::sample::select(vec![Infer::Exact, Infer::Numeric]),
        nulls: bool,
        int64: bool,
    ) {
        let rows: String = cells.iter().map(|cell| format!("{cell},0\n")).collect();
        let text = format!("a,b\n{rows}");
        let capabilities = Capabilities { nulls, int64, ..Capabilities::EVERYTHING };
        let null_words = if has_word { vec!["NA".to_owned()] } else { Vec::new() };
        let with = |threads| TextOptions {
            infer, capabilities, null_words: null_words.clone(), ..options(threads)
        };
        prop_assert_eq!(
            read(text.as_bytes(), &with(threads), sizes(block, 9)),
            read(text.as_bytes(), &with(1), TextSizes::default())
        );
    }
}
