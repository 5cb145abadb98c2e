//! Tests the importer with small blocks, so that every block boundary occurs.

use std::io::{self, Read};
use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::blocks::BlockSizes;
use super::import::import_sized;
use super::{CsvOptions, Encoding, Ragged};
use crate::column_source::ColumnSource;
use crate::error::{ErrorKind, Result};
use crate::spill::{FileScratch, SpillBuffer};
use crate::text::infer::ImportOptions;
use crate::text::state::Infer;
use crate::text::tests::{Contents, contents};
use crate::types::Capabilities;

fn sizes(block: usize) -> BlockSizes {
    BlockSizes { first: block, block, column: 0, ..BlockSizes::default() }
}

fn options(threads: usize) -> ImportOptions {
    let threads = NonZeroUsize::new(threads);
    ImportOptions { threads, ..ImportOptions::new(Capabilities::EVERYTHING) }
}

/// Returns the table, or the row and byte offset of the error.
fn read(
    text: &[u8],
    csv: &CsvOptions,
    options: &ImportOptions,
    sizes: BlockSizes,
) -> Result<Contents, (Option<u64>, Option<u64>)> {
    let spill = SpillBuffer::in_memory();
    import_sized(&mut &*text, csv, options, spill, &mut |_| {}, sizes)
        .map(|table| contents(&table))
        .map_err(|err| (err.row(), err.offset()))
}

fn same_at_every_size(text: &[u8], csv: &CsvOptions, options: &ImportOptions) {
    let whole = read(text, csv, options, BlockSizes::default());
    for block in 1..=text.len() + 2 {
        let parts = read(text, csv, options, sizes(block));
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
                let csv = CsvOptions { header, ragged, ..CsvOptions::default() };
                same_at_every_size(text.as_bytes(), &csv, &options(1));
                same_at_every_size(text.as_bytes(), &csv, &options(3));
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
            let err = read(bad, &CsvOptions::default(), &options(1), sizes(block)).unwrap_err();
            assert_eq!(err.1, Some(at), "blocks of {block}: {bad:?}");
        }
    }
}

/// Offsets count bytes of the input, although its text is longer in UTF-8.
#[test]
fn every_block_size_counts_bytes_of_the_input() {
    let csv = CsvOptions { encoding: Encoding::Latin1, ..CsvOptions::default() };
    let text = b"\xE4,\xF6\n\xE9\xE9\xE9,1\n\xFF,2,3\n";
    same_at_every_size(text, &csv, &options(1));
    let err = read(text, &csv, &options(1), BlockSizes::default()).unwrap_err();
    assert_eq!(err, (Some(1), Some(10)));
    let err = read(b"\xE9,\"\xE9", &csv, &options(1), BlockSizes::default()).unwrap_err();
    assert_eq!(err, (None, Some(2)));
    let err = read(b"\xE9,b\n\xE9,\"\xE9", &csv, &options(1), sizes(3)).unwrap_err();
    assert_eq!(err, (Some(0), Some(6)));
}

#[test]
fn every_block_size_and_a_scratch_give_the_same_table() {
    let text = "i,f,t,g\n1,0.5,x,\n-2,1.5,\"\",7\n3,,é,\"\"\n,2.5,,x\n";
    let csv = CsvOptions::default();
    let want = read(text.as_bytes(), &csv, &options(1), BlockSizes::default()).unwrap();
    for block in 1..text.len() {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let spill = SpillBuffer::with_scratch(0, Box::new(file));
        let mut input = text.as_bytes();
        let sizes = sizes(block);
        let table = import_sized(&mut input, &csv, &options(2), spill, &mut |_| {}, sizes);
        assert_eq!(contents(&table.unwrap()), want, "blocks of {block}");
    }
}

/// The input is infinite: the importer must stop by itself.
#[test]
fn hostile_rows_are_refused_before_they_are_whole() {
    let sizes = BlockSizes { columns: 10, row: 1000, ..sizes(16) };
    let refuse = |head: &'static str, byte: u8, ragged| {
        let csv = CsvOptions { ragged, ..CsvOptions::default() };
        let mut input = head.as_bytes().chain(io::repeat(byte));
        let spill = SpillBuffer::in_memory();
        import_sized(&mut input, &csv, &options(1), spill, &mut |_| {}, sizes).unwrap_err()
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
    let sizes = BlockSizes { row: 1000, ..sizes(16) };
    for head in ["", "a,b\n", "a,b\n1,2\n"] {
        let blanks = io::repeat(b'\n').take(100_000);
        let mut input = head.as_bytes().chain(blanks).chain(&b"x,y\n"[..]);
        let csv = CsvOptions::default();
        let spill = SpillBuffer::in_memory();
        let table = import_sized(&mut input, &csv, &options(1), spill, &mut |_| {}, sizes);
        assert_eq!(table.unwrap().schema().fields().len(), 2);
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
        let csv = CsvOptions { header, ragged, ..CsvOptions::default() };
        let whole = ImportOptions { infer, ..options(1) };
        let parts = ImportOptions { infer, ..options(threads) };
        prop_assert_eq!(
            read(text.as_bytes(), &csv, &parts, sizes(block)),
            read(text.as_bytes(), &csv, &whole, BlockSizes::default())
        );
    }

    /// Columns of numbers, gaps and some words, cut anywhere.
    #[test]
    fn types_do_not_depend_on_blocks(
        cells in prop::collection::vec(
            prop::sample::select(vec!["1", "2", "", "\"\"", "1.5", "x", "+5", "3000000000", "NA"]),
            1..12,
        ),
        block in 1_usize..30,
        threads in 1_usize..4,
        infer in prop::sample::select(vec![Infer::Exact, Infer::Numeric]),
        nulls: bool,
        int64: bool,
    ) {
        let rows: String = cells.iter().map(|cell| format!("{cell},0\n")).collect();
        let text = format!("a,b\n{rows}");
        let capabilities = Capabilities { nulls, int64, ..Capabilities::EVERYTHING };
        let null_words = vec!["NA".to_owned()];
        let with = |threads| ImportOptions {
            infer, capabilities, null_words: null_words.clone(), ..options(threads)
        };
        prop_assert_eq!(
            read(text.as_bytes(), &CsvOptions::default(), &with(threads), sizes(block)),
            read(text.as_bytes(), &CsvOptions::default(), &with(1), BlockSizes::default())
        );
    }
}
