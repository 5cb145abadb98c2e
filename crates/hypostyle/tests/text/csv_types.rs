//! The type that is inferred for a text column.

use arrow_schema::DataType::{self, Float64, Int32, Int64, Utf8};
use hypostyle::formats::ColumnType;
use hypostyle::text::Infer;
use hypostyle::text::TextOptions;
use hypostyle::{ColumnSource, ErrorKind, formats};

use crate::support::{
    capabilities, column, for_target, nothing, read, read_with, some, store, types,
};

/// Returns the type of a column of these cells, written one per line.
fn typed(cells: &[&str], options: &TextOptions) -> DataType {
    let text =
        format!("k,v\n{}", cells.iter().map(|cell| format!("0,{cell}\n")).collect::<String>());
    types(&read_with(text, options).unwrap())[1].clone()
}

fn exact(cells: &[&str]) -> DataType {
    typed(cells, &TextOptions::default())
}

fn numeric(cells: &[&str]) -> DataType {
    let mut options = TextOptions::default();
    options.infer = Infer::Numeric;
    typed(cells, &options)
}

#[test]
fn exact_types_only_what_prints_back_the_same() {
    for cell in ["0", "7", "-1", "2147483647", "-2147483648", "\"5\""] {
        assert_eq!(exact(&[cell]), Int32, "{cell}");
    }
    for cell in ["2147483648", "-2147483649", "9223372036854775807", "-9223372036854775808"] {
        assert_eq!(exact(&[cell]), Int64, "{cell}");
    }
    for cell in [
        "0.0",
        "-0.0",
        "1.5",
        "100.0",
        "0.1",
        "1e16",
        "1e-6",
        "0.00001",
        "5e-324",
        "NaN",
        "Infinity",
        "-Infinity",
        "1.7976931348623157e308",
    ] {
        assert_eq!(exact(&[cell]), Float64, "{cell}");
    }
    for cell in [
        "00501",
        "01.50",
        "+5",
        "1e3",
        "-0",
        "1E16",
        "1e+16",
        " 5",
        "5 ",
        "1_000",
        "\"1,000\"",
        "10D",
        "5f",
        "0x1p3",
        "nan",
        "inf",
        "-NaN",
        "infinity",
        "-0.00",
        "123456789012345678901234567890123456789",
        ".5",
        "5.",
        "1e400",
        "1e-400",
        "٣",
        "1.0e16",
        "--1",
        "1.5.2",
    ] {
        assert_eq!(exact(&[cell]), Utf8, "{cell}");
    }
}

fn decimal(precision: u8, scale: i8) -> DataType {
    DataType::Decimal128(precision, scale)
}

/// What no float prints as is a decimal, which keeps all digits.
#[test]
fn numbers_that_no_float_prints_as_are_decimals() {
    for (cell, want) in [
        ("1.50", decimal(18, 2)),
        ("0.000001", decimal(18, 6)),
        ("10000000000000000.0", decimal(18, 1)),
        ("9223372036854775808", decimal(38, 0)),
    ] {
        assert_eq!(exact(&[cell]), want, "{cell}");
        // A format without decimals stores the text.
        assert_eq!(typed(&[cell], &for_target(capabilities("colf"))), Utf8, "{cell}");
    }
}

/// A column with more digits than a float distinguishes is a decimal.
#[test]
fn exact_floats_at_the_edge_of_their_digits() {
    for (cell, want) in [
        ("123456789012.345", Float64),            // 15
        ("1234567890123.456", Float64),           // 16, and the shortest spelling
        ("0.1234567890123456", Float64),          // 16
        ("0.30000000000000004", Float64),         // 17
        ("0.10000000000000001", decimal(18, 17)), // 17, and 0.1 would do
        ("12345678901234.566", Float64),          // 17
        ("12345678901234.567", decimal(18, 3)),   // 17, prints as ...566
        ("1234567890123456.7", decimal(18, 1)),   // 17, prints as ...6.8
        ("1234567890123456.8", Float64),
        ("12345678901234567.8", decimal(18, 1)), // 18
        ("9007199254740993.0", decimal(18, 1)),  // no float has this value
        ("9007199254740992.0", Float64),
        ("999999999999999.9", Float64),
        ("9999999999999999.0", decimal(18, 1)), // is 1e16
        ("2.2250738585072014e-308", Float64),
        ("2.225073858507201e-308", Float64),
        ("4.9e-324", Utf8),
        ("1.797693134862315708e308", Utf8),
    ] {
        assert_eq!(exact(&[cell]), want, "{cell}");
    }
}

#[test]
fn the_whole_column_decides_and_not_its_first_row() {
    assert_eq!(exact(&["1", "2.5"]), Utf8, "1 would come back as 1.0");
    assert_eq!(exact(&["1.5", "2"]), Utf8);
    assert_eq!(exact(&["1", "two"]), Utf8);
    assert_eq!(exact(&["one", "2"]), Utf8);
    assert_eq!(exact(&["1", "007"]), Utf8);
    assert_eq!(exact(&["1", "3000000000"]), Int64);
    assert_eq!(exact(&["", "1"]), Int32);
    assert_eq!(exact(&["1", ""]), Int32);
    assert_eq!(exact(&["1", "\"\""]), Int32);
    assert_eq!(exact(&["", ""]), Utf8);
    assert_eq!(exact(&["\"\"", "\"\""]), Utf8);
    assert_eq!(exact(&[]), Utf8);
    assert_eq!(exact(&["1.5", "NaN", "Infinity"]), Float64);
}

#[test]
fn the_target_decides_about_gaps_and_long_integers() {
    let text = "gap,long,float\n1,3000000000,0.5\n,1,1.5\n";
    for (format, want) in [
        ("colm", [Utf8, Utf8, Float64]),
        ("colf", [Int32, Utf8, Float64]),
        ("clmn", [Utf8, Int64, Float64]),
    ] {
        let options = for_target(capabilities(format));
        let imported = read_with(text, &options).unwrap();
        assert_eq!(types(&imported), want, "{format}");
        let gap = column(&imported, 0);
        let null = if format == "colf" { None } else { Some(String::new()) };
        assert_eq!(gap, [Some("1".to_owned()), null], "{format}");
    }
}

#[test]
fn a_gap_is_null_and_a_quoted_empty_cell_is_text() {
    let imported = read("t,n\n,1\n\"\",2\nx,\"\"\n").unwrap();
    assert_eq!(column(&imported, 0), [None, Some(String::new()), Some("x".to_owned())]);
    assert_eq!(types(&imported), [Utf8, Int32]);
    // In a numeric column, an empty text is null.
    assert_eq!(column(&imported, 1), [Some("1".to_owned()), Some("2".to_owned()), None]);
    // For a target without nulls, both are empty texts.
    let options = for_target(nothing());
    let imported = read_with("t,u\n,1\n\"\",2\nx,3\n", &options).unwrap();
    assert_eq!(column(&imported, 0), some(&["", "", "x"]));
}

#[test]
fn numeric_takes_what_people_call_numbers() {
    for cells in [&["00501", "+5"][..], &[" 7 ", "-0"], &["1", "2", "", "007"]] {
        assert_eq!(numeric(cells), Int32, "{cells:?}");
    }
    assert_eq!(numeric(&["+3000000000"]), Int64);
    for cells in [&["1", "2.5"][..], &["1.50"], &["1e3"], &["nan", "-inf"], &[".5", "5."]] {
        assert_eq!(numeric(cells), Float64, "{cells:?}");
    }
    for cells in [
        &["1", "two"][..],
        &["9007199254740993", "0.5"], // no float equals the first
        &["1e400"],                   // only infinity as a float
        &["10D"],
        &["0x10"],
        &[""],
        &["1,5"].map(|_| "\"1,5\""),
    ] {
        assert_eq!(numeric(cells), Utf8, "{cells:?}");
    }
    let mut options = TextOptions::default();
    options.infer = Infer::Numeric;
    let text = "a,b,c\n00501,1,x\n+5,2.50,\n-0,,y\n";
    let imported = read_with(text, &options).unwrap();
    assert_eq!(column(&imported, 0), some(&["501", "5", "0"]));
    let floats = [Some("1.0".to_owned()), Some("2.5".to_owned()), None];
    assert_eq!(column(&imported, 1), floats);
    // Cells of a text column stay unchanged.
    assert_eq!(column(&imported, 2), [Some("x".to_owned()), None, Some("y".to_owned())]);
}

#[test]
fn numeric_without_long_integers_turns_to_floats_that_hold_them() {
    let mut options = for_target(nothing());
    options.infer = Infer::Numeric;
    assert_eq!(typed(&["3000000000", "1"], &options), Float64);
    assert_eq!(typed(&["9007199254740993"], &options), Utf8);
    assert_eq!(typed(&["1", ""], &options), Utf8);
}

#[test]
fn text_inference_types_nothing() {
    let mut options = TextOptions::default();
    options.infer = Infer::Text;
    assert_eq!(typed(&["1", "2"], &options), Utf8);
    // A requested type takes precedence.
    options.types = vec![("v".to_owned(), ColumnType::Int64.into())];
    assert_eq!(typed(&["1", "2"], &options), Int64);
}

fn requested(name: &str, cell_type: ColumnType) -> TextOptions {
    let mut options = TextOptions::default();
    options.types = vec![(name.to_owned(), cell_type.into())];
    options
}

#[test]
fn a_requested_type_is_used() {
    let text = "id,zip,x\n1,00501,1\n2,,2.5\n";
    for (cell_type, data_type, cells) in [
        (ColumnType::Int32, Int32, [Some("501"), None]),
        (ColumnType::Int64, Int64, [Some("501"), None]),
        (ColumnType::Float64, Float64, [Some("501.0"), None]),
        (ColumnType::Text, Utf8, [Some("00501"), None]),
    ] {
        let imported = read_with(text, &requested("zip", cell_type)).unwrap();
        assert_eq!(types(&imported), [Int32, data_type, Utf8]);
        assert_eq!(column(&imported, 1), cells.map(|cell| cell.map(str::to_owned)));
    }
    // This also works for a column that would be numeric, and in a table without rows.
    let imported = read_with(text, &requested("id", ColumnType::Text)).unwrap();
    assert_eq!(column(&imported, 0), some(&["1", "2"]));
    let imported = read_with("zip\n", &requested("zip", ColumnType::Float64)).unwrap();
    assert_eq!(types(&imported), [Float64]);
    assert_eq!((imported.rows(), imported.batches[0].num_rows()), (0, 0));
}

#[test]
fn a_cell_that_is_not_of_the_requested_type_is_named() {
    let text = "a,b\n1,5\n\n2,x y\n3,3000000000\n";
    for (cell_type, want) in [
        (ColumnType::Int32, "column 2 `b`: row 2: `x y` is not an integer"),
        (ColumnType::Float64, "column 2 `b`: row 2: `x y` is not a number"),
    ] {
        let err = read_with(text, &requested("b", cell_type)).unwrap_err();
        assert!(err.to_string().starts_with(want), "{err}");
        assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(1), Some(1)));
    }
    let err = read_with("b\n1\n3000000000\n", &requested("b", ColumnType::Int32)).unwrap_err();
    assert!(err.to_string().contains("row 2: 3000000000 does not fit int32"), "{err}");
    let err = read_with("b\n1\n2.5\n", &requested("b", ColumnType::Int64)).unwrap_err();
    assert!(err.to_string().contains("`2.5`"), "{err}");
    let err = read_with("b\n9007199254740993\n", &requested("b", ColumnType::Float64)).unwrap_err();
    assert_eq!(err.row(), Some(0), "{err}");
    let err = read_with("b\n1e400\n", &requested("b", ColumnType::Float64)).unwrap_err();
    assert_eq!(err.row(), Some(0), "{err}");
}

#[test]
fn a_type_for_an_unknown_column_is_an_error() {
    let err = read_with("a,b\n1,2\n", &requested("c", ColumnType::Text));
    let err = err.unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{err}");
    assert_eq!(err.to_string(), "no column named `c`; the columns are `a`, `b`");
    let mut options = requested("column_2", ColumnType::Text);
    options.header = Some(false);
    let imported = read_with("1,2\n", &options).unwrap();
    assert_eq!(types(&imported), [Int32, Utf8]);
}

/// The writer of a format without nulls refuses null and names its column and row.
#[test]
fn a_gap_in_a_requested_type_is_refused_by_formats_without_nulls() {
    for format in formats::tables() {
        let mut options = requested("b", ColumnType::Int32);
        options.capabilities = format.capabilities();
        let text = "a,b\nx,1\ny,\n";
        let imported = read_with(text, &options).unwrap();
        assert_eq!(imported.batches[0].column(1).null_count(), 1);
        match store(format, &imported) {
            Ok(reader) => assert!(format.capabilities().nulls && reader.rows() == 2),
            Err(err) => {
                assert!(!format.capabilities().nulls);
                assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(1), Some(1)), "{err}");
            }
        }
    }
}

#[test]
fn null_words_apply_if_the_target_has_nulls_and_the_cell_is_not_quoted() {
    let mut options = TextOptions::default();
    options.null_words = vec!["NA".to_owned(), "-".to_owned(), "null".to_owned()];
    let text = "i,f,t\n1,0.5,NA\nNA,-,\"NA\"\n-,null,na\n,,NA \n";
    let imported = read_with(text, &options).unwrap();
    assert_eq!(types(&imported), [Int32, Float64, Utf8]);
    assert_eq!(column(&imported, 0), [Some("1".to_owned()), None, None, None]);
    assert_eq!(column(&imported, 1), [Some("0.5".to_owned()), None, None, None]);
    let want = [None, Some("NA"), Some("na"), Some("NA ")].map(|cell| cell.map(str::to_owned));
    assert_eq!(column(&imported, 2), want);
    // A quoted null word is text, and makes the column text.
    options.null_words = vec!["NA".to_owned()];
    assert_eq!(typed(&["1", "NA"], &options), Int32);
    assert_eq!(typed(&["1", "\"NA\""], &options), Utf8);
    // For a target without nulls, it is always text.
    options.capabilities = nothing();
    assert_eq!(typed(&["1", "NA"], &options), Utf8);
}
