//! Files that span several blocks.
//!
//! The unit tests of the reader try every block size; these tests use the real sizes.

use std::fmt::Write as _;

use arrow_schema::DataType::{Float64, Int32, Int64, Utf8};
use hypostyle::formats::ColumnType;
use hypostyle::formats::{self, Format};
use hypostyle::text::Infer;
use hypostyle::text::TextOptions;
use hypostyle::{ColumnSource, Error, WriteOptions};

use crate::support::{
    ReadText, column, for_target, read, read_with, reference, there_and_back, threads, types, whole,
};

/// The size to which the reader doubles a block for one long row.
const BLOCK: usize = 4 << 20;

/// Returns nine megabytes in few rows; the last rows change the type of every column.
fn surprising() -> String {
    let long = "x".repeat(20_000);
    let mut text = "int,float,gap,quoted,wide,text\n".to_owned();
    for row in 0..500 {
        writeln!(text, "{row},{row}.5,{row},{row},{row},{long}").unwrap();
    }
    text.push_str("007,1.50,,\"\",3000000000,\n");
    text.push_str("8,1e3,5,word,1,\"\"\n");
    assert!(text.len() > 2 * BLOCK + (1 << 20));
    text
}

fn on(count: usize, text: &str, options: &TextOptions) -> ReadText {
    let mut options = options.clone();
    options.threads = threads(count);
    read_with(text, &options).unwrap()
}

#[test]
fn the_last_row_decides_and_earlier_blocks_lose_nothing() {
    let text = surprising();
    let cells = reference(text.as_bytes(), b',');
    let table = on(2, &text, &TextOptions::default());
    assert!(table.batches.len() > 1);
    assert_eq!(types(&table), [Utf8, Utf8, Int32, Utf8, Int64, Utf8]);
    for index in 0..6 {
        let want = cells[1..].iter().map(|row| row[index].clone());
        let have = column(&table, index).into_iter().map(Option::unwrap_or_default);
        assert!(have.eq(want), "column {index}");
    }
    let quoted = column(&table, 3);
    assert_eq!(quoted[500..], [Some(String::new()), Some("word".to_owned())]);
    assert_eq!(column(&table, 5)[500..], [None, Some(String::new())]);
    for format in formats::tables() {
        let back = there_and_back(format, text.as_bytes(), &TextOptions::default()).unwrap();
        assert!(reference(&back, b',') == cells, "{}", format.id());
    }
    let mut options = TextOptions::default();
    options.infer = Infer::Numeric;
    let table = on(2, &text, &options);
    assert_eq!(types(&table), [Int32, Float64, Int32, Utf8, Int64, Utf8]);
    assert_eq!(column(&table, 0)[499..], ["499", "7", "8"].map(|cell| Some(cell.to_owned())));
    assert_eq!(column(&table, 1)[500..], ["1.5", "1000.0"].map(|cell| Some(cell.to_owned())));
}

fn encoded(format: &dyn Format, table: &dyn ColumnSource) -> Vec<u8> {
    let mut file = Vec::new();
    format.encode(table, &mut file, &WriteOptions::default().with_level(1)).unwrap();
    file
}

#[test]
fn threads_change_nothing() {
    let text = surprising();
    for infer in [Infer::Exact, Infer::Numeric] {
        let colf = formats::by_name("colf").unwrap();
        let mut options = for_target(colf.capabilities());
        options.infer = infer;
        let one = on(1, &text, &options);
        let (want, file) = (whole(&one), encoded(colf, &one));
        for count in [2, 5] {
            let table = on(count, &text, &options);
            assert!(whole(&table) == want, "{count} threads");
            assert!(encoded(colf, &table) == file, "{count} threads");
        }
    }
}

/// The first error in the file is reported, on any number of threads.
#[test]
fn errors_are_the_same_on_any_number_of_threads() {
    let long = "x".repeat(20_000);
    let row = |n: usize| format!("{n},{long}\n");
    let rows = |from: usize, to: usize| (from..to).map(row).collect::<String>();
    let (a, b) = (rows(0, 250), rows(250, 480));
    let bad_cell = format!("word,{long}\n");
    let mut options = TextOptions::default();
    options.types = vec![("n".to_owned(), ColumnType::Int32.into())];
    let mut refused = |text: &[u8]| -> Error {
        let mut refused_on = |count| {
            options.threads = threads(count);
            read_with(text, &options).unwrap_err()
        };
        let first = refused_on(1);
        for count in [2, 5] {
            assert_eq!(refused_on(count).to_string(), first.to_string(), "{count} threads");
        }
        first
    };
    // A bad cell in the first block. Bytes that are not UTF-8 in the third are found
    // before, because the text is read once before its cells get types.
    let mut text = format!("n,t\n{bad_cell}{a}{b}").into_bytes();
    assert_eq!(refused(&text).row(), Some(0));
    let at = text.len() as u64 + 2;
    text.extend_from_slice(b"1,\xFF\n");
    assert_eq!(refused(&text).offset(), Some(at));
    // A bad cell in the third block.
    let text = format!("n,t\n{a}{b}{bad_cell}{}", row(1));
    let err = refused(text.as_bytes());
    assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(480), Some(0)), "{err}");
    // A ragged row in the third block.
    let head = format!("n,t\n{a}{b}");
    let err = refused(format!("{head}1\n{a}").as_bytes());
    assert_eq!((err.row(), err.offset()), (Some(480), Some(head.len() as u64)), "{err}");
    // An open quote in the third block.
    let err = refused(format!("{head}1,\"{a}").as_bytes());
    assert_eq!((err.row(), err.offset()), (Some(480), Some(head.len() as u64 + 2)), "{err}");
}

/// Every syntax element that can cross a block boundary, at every offset.
#[test]
fn nothing_is_lost_at_the_edge_of_a_block() {
    let header = "a,b\n";
    for edge in [
        "\r\n7,x\r\n",
        "\r7,x\r",
        "\n\n\n7,x\n",
        ",\"\"\n\"\",7\n",
        "\n\"\"\"\",\"a\"\"\"\n",
        "\n\"q\",\"r\"\n",
        "\n日,😀\n",
        "\n\"l\nm\",\"\r\n\"\r\n",
    ] {
        for shift in 0..edge.len() {
            // One long cell, so that the block ends `shift` bytes into the edge.
            let second = if edge.starts_with(',') { "" } else { "y," };
            let fill = "x".repeat(BLOCK - shift - second.len());
            let with = |fill: &str| format!("{header}{second}{fill}{edge}1,2\n");
            let text = with(&fill);
            let want = reference(with("x").as_bytes(), b',');
            let mut options = TextOptions::default();
            options.threads = threads(1);
            let table = read_with(&text, &options).unwrap();
            for index in 0..2 {
                let want = want[1..].iter().map(|row| row[index].as_str());
                let have = column(&table, index);
                let have = have.iter().map(|cell| cell.as_deref().unwrap_or_default());
                let have = have.map(|cell| if cell == fill { "x" } else { cell });
                assert!(have.eq(want), "{edge:?} {shift}");
            }
        }
    }
}

/// A cell that is longer than a block, quoted and not.
#[test]
fn a_cell_of_nine_megabytes_is_read() {
    let long = "0123456789".repeat(950_000);
    let with_quotes = "ab\"cd\n,".repeat(1_400_000);
    let text =
        format!("k,{long}\n1,{long}\n2,\"{}\"\n3,\"{long}\"\n", with_quotes.replace('"', "\"\""));
    let imported = read(&text).unwrap();
    assert_eq!(imported.schema().field(1).name().len(), long.len());
    let cells = column(&imported, 1);
    let want = [&long, &with_quotes, &long];
    assert!(cells.iter().zip(want).all(|(cell, want)| cell.as_ref() == Some(want)));
    // CLMN refuses the cell and names the column and row of the longest text.
    let clmn = formats::by_name("clmn").unwrap();
    let short = text.replacen(&long, "v", 1);
    let err = there_and_back(clmn, short.as_bytes(), &TextOptions::default()).unwrap_err();
    assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(1), Some(1)), "{err}");
}
