//! Tests the importer with small blocks, so that every block boundary occurs.

use std::io::{self, Read};
use std::num::NonZeroUsize;

use proptest::prelude::*;

use super::import::{LineSizes, import_sized};
use crate::error::{Error, ErrorKind, Result};
use crate::spill::{FileScratch, SpillBuffer};
use crate::text::infer::ImportOptions;
use crate::text::tests::{Contents, contents};
use crate::types::Capabilities;

fn sizes(block: usize) -> LineSizes {
    LineSizes { block, ..LineSizes::default() }
}

fn options(threads: usize) -> ImportOptions {
    let threads = NonZeroUsize::new(threads);
    ImportOptions { threads, ..ImportOptions::new(Capabilities::EVERYTHING) }
}

fn read(text: &str, threads: usize, sizes: LineSizes) -> Result<Contents, String> {
    let spill = SpillBuffer::in_memory();
    import_sized(&mut text.as_bytes(), &options(threads), spill, &mut |_| {}, sizes)
        .map(|table| contents(&table))
        .map_err(|err| err.to_string())
}

#[test]
fn every_block_size_gives_the_same_table() {
    for text in [
        "{\"a\":1,\"b\":\"x\"}\n{\"b\":null,\"c\":1.5}\r\n\n{\"a\":3000000000}\n{\"c\":2,\"d\":true}",
        "\u{FEFF}{\"é\":\"日本\"}\n{\"é\":\"\\ud83d\\ude00\"}\n",
        "{}\n{}\n{\"late\":[1, 2]}\n{}\n",
        "{\"a\":1.50}\n{\"a\":-0}\n{\"a\":1E5}\n{\"a\":7}\n{\"a\":\"text\"}\n",
        "{\"a\":1.50}\n{\"a\":-0}\n{\"a\":1E5}\n{\"a\":7}\n",
        "{\"a\":true}\n{\"a\":false}\n{\"b\":0}\n{\"a\":1}\n",
        "{\"a\":99999999999999999999}\n{\"a\":1}\n",
        "{\"a\":9007199254740993}\n{\"a\":0.5}\n",
        "{\"a\":1}\n{\"a\":2,\"a\":3}\n{\"a\":1}\n",
        "{\"a\":1}\n{\"a\":\n2}\n",
        "\n\n[1]\n",
        "{\"a\":1}\n   {\"a\" 2}\n",
        "",
        "\n\n\n",
        "{}\n",
    ] {
        let whole = read(text, 1, LineSizes::default());
        for block in 1..=text.len() + 2 {
            for threads in [1, 3] {
                assert_eq!(read(text, threads, sizes(block)), whole, "blocks of {block}: {text}");
            }
        }
    }
}

#[test]
fn every_block_size_and_a_scratch_give_the_same_table() {
    // Some keys in every row, some in few, some late.
    let mut text = String::new();
    for row in 0..24 {
        text.push_str(&match row % 8 {
            3 => format!("{{\"id\":{row},\"a\":1,\"b\":\"x\"}}\n"),
            5 => format!("{{\"id\":{row},\"c\":{row}.50,\"b\":\"\"}}\n"),
            7 => format!("{{\"id\":{row},\"d\":true,\"a\":{{}}}}\n"),
            _ => format!("{{\"id\":{row}}}\n"),
        });
    }
    let text = text.as_str();
    let want = read(text, 1, LineSizes::default()).unwrap();
    for block in (1..text.len()).step_by(7) {
        let file = FileScratch::try_new(tempfile::tempfile().unwrap()).unwrap();
        let spill = SpillBuffer::with_scratch(0, Box::new(file));
        let mut input = text.as_bytes();
        let table = import_sized(&mut input, &options(2), spill, &mut |_| {}, sizes(block));
        assert_eq!(contents(&table.unwrap()), want, "blocks of {block}");
    }
}

/// The input is infinite: the importer must stop by itself.
#[test]
fn hostile_lines_are_refused_before_they_are_whole() {
    let refuse = |head: &'static str, byte: u8| -> Error {
        let sizes = LineSizes { columns: 3, line: 1000, block: 16 };
        let mut input = head.as_bytes().chain(io::repeat(byte));
        let spill = SpillBuffer::in_memory();
        import_sized(&mut input, &options(1), spill, &mut |_| {}, sizes).unwrap_err()
    };
    for (head, line, at) in [("", 0, 0), ("{\"a\":1}\n\n{\"a\":\"", 2, 9)] {
        let err = refuse(head, b'x');
        assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
        assert_eq!((err.row(), err.offset()), (Some(line), Some(at)), "{err}");
    }
    for head in
        ["{\"a\":1,\"b\":1,\"c\":1,\"d\":1}\n", "{\"a\":1}\n{\"b\":1}\n{\"c\":1}\n{\"d\":1}\n"]
    {
        let err = refuse(head, b'\n');
        assert_eq!(err.to_string(), "number of keys is 4, over the limit of 3");
    }
}

proptest! {
    /// All kinds of values under few keys, cut anywhere, on any number of threads.
    #[test]
    fn blocks_and_threads_change_nothing(
        rows in prop::collection::vec(
            prop::collection::vec(
                (
                    prop::sample::select(vec!["a", "b", "c", "\\u0061"]),
                    prop::sample::select(vec![
                        "null", "1", "-1", "3000000000", "1.5", "1.50", "1e3", "-0", "true",
                        "\"\"", "\"x\"", "[]", "{\"a\": 1}", "99999999999999999999", "1e400",
                    ]),
                ),
                0..3,
            ),
            0..12,
        ),
        block in 1_usize..60,
        threads in 1_usize..4,
    ) {
        let line = |row: &Vec<(&str, &str)>| {
            let members: Vec<_> = row.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
            format!("{{{}}}\n", members.join(","))
        };
        let text: String = rows.iter().map(line).collect();
        prop_assert_eq!(read(&text, threads, sizes(block)), read(&text, 1, LineSizes::default()));
    }
}
