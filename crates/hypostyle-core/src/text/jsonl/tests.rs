//! Tests the reader with small blocks, so that every block boundary occurs.

use std::io::{self, Read};

use proptest::prelude::*;

use crate::error::{Error, ErrorKind, Result};
use crate::limits::Limits;
use crate::text::TextOptions;
use crate::text::sizes::TextSizes;
use crate::text::summarise::summarise;
use crate::text::table::TextTable;
use crate::text::tests::{Contents, JSON, options, seekable, sizes, whole};

fn read(text: &str, threads: usize, sizes: TextSizes) -> Result<Contents, String> {
    TextTable::open_sized(seekable(text.as_bytes()), JSON, &options(threads), None, sizes)
        .and_then(whole)
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
        let whole = read(text, 1, TextSizes::default());
        for block in 1..=text.len() + 2 {
            for threads in [1, 3] {
                assert_eq!(
                    read(text, threads, sizes(block, 9)),
                    whole,
                    "blocks of {block}: {text}"
                );
            }
        }
    }
}

/// Some keys are in every row, some in few, some late.
#[test]
fn every_block_size_gives_the_same_sparse_columns() {
    let mut text = String::new();
    for row in 0..24 {
        text.push_str(&match row % 8 {
            3 => format!("{{\"id\":{row},\"a\":1,\"b\":\"x\"}}\n"),
            5 => format!("{{\"id\":{row},\"c\":{row}.50,\"b\":\"\"}}\n"),
            7 => format!("{{\"id\":{row},\"d\":true,\"a\":{{}}}}\n"),
            _ => format!("{{\"id\":{row}}}\n"),
        });
    }
    let want = read(&text, 1, TextSizes::default()).unwrap();
    for block in (1..text.len()).step_by(7) {
        assert_eq!(read(&text, 2, sizes(block, 50)).unwrap(), want, "blocks of {block}");
    }
}

/// The input is infinite: the reader must stop by itself.
#[test]
fn hostile_lines_are_refused_before_they_are_whole() {
    let refuse = |head: &'static str, byte: u8| -> Error {
        let limits = Limits::default().with_columns(3).with_row_bytes(1000);
        let options = TextOptions { limits, ..options(1) };
        let mut input = head.as_bytes().chain(io::repeat(byte));
        summarise(&mut input, JSON, &options, sizes(16, 64)).unwrap_err()
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
        prop_assert_eq!(read(&text, threads, sizes(block, 9)), read(&text, 1, TextSizes::default()));
    }
}
