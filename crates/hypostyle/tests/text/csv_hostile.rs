//! Hostile CSV files.
//!
//! Inputs are large enough that a quadratic algorithm would time out, and small enough
//! for a build without optimisation.

use hypostyle::text::Infer;
use hypostyle::text::{Ragged, TextOptions};
use hypostyle::{ColumnSource, ErrorKind};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{column, delimited, read, read_with, types};

#[test]
fn only_commas() {
    let row = ",".repeat(10_000_000); // refused long before its end
    let err = read(&row).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::LimitExceeded { .. }), "{err}");
    // After the first row, such a row has too many cells.
    let err = read(format!("a,b\n1,2\n{row}")).unwrap_err();
    assert_eq!((err.row(), err.offset()), (Some(1), Some(8)), "{err}");
    let mut csv = TextOptions::default();
    csv.ragged = Ragged::Pad;
    let err = read_with(format!("a,b\n{row}"), &csv);
    assert_eq!(err.unwrap_err().row(), Some(0));
}

#[test]
fn only_quotes() {
    // An even number of quotes closes the cell; each pair inside is one quote.
    let even = read("\"".repeat(500_000)).unwrap();
    assert_eq!(even.schema().field(0).name().len(), 249_999);
    let err = read("\"".repeat(500_001)).unwrap_err();
    assert_eq!(err.offset(), Some(0), "{err}");
    let one = read(format!("a\n{}\n", "\"".repeat(5_000_000))).unwrap();
    assert_eq!(column(&one, 0)[0].as_ref().unwrap().len(), 2_499_999);
    let err = read(format!("a\nx\n{}", "\"".repeat(500_001))).unwrap_err();
    assert_eq!((err.row(), err.offset()), (Some(1), Some(4)), "{err}");
}

#[test]
fn only_line_ends() {
    for end in ["\n", "\r", "\r\n"] {
        let blank = end.repeat(200_000);
        assert!(read(&blank).is_err());
        assert_eq!(read(format!("{blank}a,b{blank}1,2{blank}")).unwrap().rows(), 1);
    }
    let one = read(format!("a{}", "\n".repeat(1_000_000))).unwrap();
    assert_eq!(one.rows(), 999_999);
}

#[test]
fn only_empty_quoted_cells() {
    let table = read(format!("a,b\n{}", "\"\",\"\"\n".repeat(300_000))).unwrap();
    assert_eq!(table.rows(), 300_000);
    assert_eq!(column(&table, 1)[299_999], Some(String::new()));
}

/// Several rows, each slightly longer than a block.
#[test]
fn rows_longer_than_blocks() {
    let row = format!("1,\"{}\"\n", "x".repeat((4 << 20) + 17));
    let table = read(format!("a,b\n{}", row.repeat(6))).unwrap();
    assert_eq!(table.rows(), 6);
}

/// Numbers that are expensive to parse.
#[test]
fn numbers_of_a_million_digits() {
    let digits = "9".repeat(1_000_000);
    let text = format!("a,b,c\n{digits},0.{digits},{digits}e{digits}\n1,0.5,1e5\n");
    for infer in [Infer::Exact, Infer::Numeric] {
        let mut options = TextOptions::default();
        options.infer = infer;
        let table = read_with(&text, &options).unwrap();
        assert_eq!(table.rows(), 2);
        assert_eq!(types(&table)[0], arrow_schema::DataType::Utf8);
        assert_eq!(types(&table)[2], arrow_schema::DataType::Utf8);
    }
}

proptest! {
    /// Any bytes give a table or an error, and no panic.
    #[test]
    fn any_bytes_at_all(
        text in vec(select(b"\",\n\r\n,\"a1.\xC3\xA9\xFF\0-\xEF\xBB\xBF".to_vec()), 0..40),
        header: bool,
        delimiter: u8,
    ) {
        let mut csv = delimited(delimiter);
        csv.header = Some(header);
        csv.ragged = Ragged::Pad;
        if let Ok(table) = read_with(&text, &csv) {
            prop_assert!(table.batches.iter().all(|batch| batch.num_columns() > 0));
        }
    }
}
