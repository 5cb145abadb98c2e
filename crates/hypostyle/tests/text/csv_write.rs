//! The CSV writer.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray,
    NullArray, RecordBatch, StringArray, StringViewArray, UInt64Array,
};
use hypostyle::text::Infer;
use hypostyle::text::TextOptions;
use hypostyle::text::csv::Writer;

use crate::support::{column, delimited, read, read_with, to_csv};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let fields = columns
        .iter()
        .map(|(name, array)| arrow_schema::Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>()));
    RecordBatch::try_new(schema, columns.into_iter().map(|(_, array)| array).collect()).unwrap()
}

fn texts(cells: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

fn written(columns: Vec<(&str, ArrayRef)>) -> String {
    String::from_utf8(to_csv(&[batch(columns)], b',')).unwrap()
}

#[test]
fn null_is_nothing_and_an_empty_text_is_quoted() {
    let cells = texts(&[None, Some(""), Some(" "), Some("x")]);
    let one = Arc::new(Int32Array::from(vec![Some(1), None, Some(3), Some(4)]));
    assert_eq!(written(vec![("t", cells.clone()), ("n", one)]), "t,n\n,1\n\"\",\n ,3\nx,4\n");
    // In a table of one column, null is a blank line.
    let alone = written(vec![("t", cells)]);
    assert_eq!(alone, "t\n\n\"\"\n \nx\n");
    let back = read(alone).unwrap();
    let want = [None, Some(""), Some(" "), Some("x")].map(|cell| cell.map(str::to_owned));
    assert_eq!(column(&back, 0), want);
}

#[test]
fn a_lone_empty_name_is_quoted_and_comes_back() {
    let text = written(vec![("", texts(&[Some("x")]))]);
    assert_eq!(text, "\"\"\nx\n");
    assert_eq!(read(text).unwrap().batches[0].schema().field(0).name(), "");
    assert_eq!(written(vec![("", texts(&[None])), ("", texts(&[None]))]), ",\n,\n");
}

#[test]
fn only_cells_that_need_quotes_are_quoted() {
    let cells = ["a,b", "a;b", "say \"hi\"", "\"", "a\nb", "a\rb", " a ", "'", "é\0", "#", "-"];
    let cells: Vec<Option<&str>> = cells.into_iter().map(Some).collect();
    assert_eq!(
        written(vec![("a,b", texts(&cells))]),
        "\"a,b\"\n\"a,b\"\na;b\n\"say \"\"hi\"\"\"\n\"\"\"\"\n\"a\nb\"\n\"a\rb\"\n a \n'\né\0\n#\n-\n"
    );
}

#[test]
fn numbers_have_one_printed_form() {
    let floats = [1.0, -0.0, 0.1, 1e15, 1e16, 1e-5, 1e-6, 5e-324, f64::NAN, -f64::NAN];
    let floats: Vec<f64> = floats.into_iter().chain([f64::INFINITY, f64::NEG_INFINITY]).collect();
    assert_eq!(
        written(vec![("f", Arc::new(Float64Array::from(floats)))]),
        "f\n1.0\n-0.0\n0.1\n1000000000000000.0\n1e16\n0.00001\n1e-6\n5e-324\nNaN\nNaN\nInfinity\n-Infinity\n"
    );
    let ints = vec![i64::MIN, -1, 0, i64::MAX];
    assert_eq!(
        written(vec![("i", Arc::new(Int64Array::from(ints)))]),
        "i\n-9223372036854775808\n-1\n0\n9223372036854775807\n"
    );
}

#[test]
fn other_types_are_printed_too() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("large", Arc::new(LargeStringArray::from(vec![Some("a,b"), None]))),
        ("view", Arc::new(StringViewArray::from(vec![Some(""), None]))),
        ("u64", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("null", Arc::new(NullArray::new(2))),
        ("f32", Arc::new(Float32Array::from(vec![0.1, f32::INFINITY]))),
    ];
    assert_eq!(
        written(columns),
        "bool,large,view,u64,null,f32\ntrue,\"a,b\",\"\",18446744073709551615,,0.1\n,,,,,Infinity\n"
    );
}

/// Numbers that contain the delimiter are quoted.
#[test]
fn a_delimiter_that_occurs_in_numbers_splits_no_number() {
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("i", Arc::new(Int32Array::from(vec![-10, 5]))),
            ("f", Arc::new(Float64Array::from(vec![1.5, f64::NAN]))),
        ]
    };
    for (delimiter, want) in [
        (b'.', "i.f\n-10.\"1.5\"\n5.NaN\n"),
        (b'-', "i-f\n\"-10\"-1.5\n5-NaN\n"),
        (b'a', "iaf\n-10a1.5\n5a\"NaN\"\n"),
        (b'5', "i5f\n-105\"1.5\"\n\"5\"5NaN\n"),
        (b'\t', "i\tf\n-10\t1.5\n5\tNaN\n"),
    ] {
        let text = to_csv(&[batch(columns())], delimiter);
        assert_eq!(String::from_utf8(text.clone()).unwrap(), want);
        let csv = delimited(delimiter);
        let back = read_with(text, &csv).unwrap();
        assert_eq!(to_csv(&[back.batches[0].clone()], b','), to_csv(&[batch(columns())], b','));
    }
}

fn with_word(word: &str, columns: Vec<(&str, ArrayRef)>) -> hypostyle::Result<String> {
    let batch = batch(columns);
    let mut writer = Writer::new(Vec::new(), b',').with_null_word(word);
    writer.header(&batch.schema())?;
    writer.write(&batch)?;
    Ok(String::from_utf8(writer.finish()?).unwrap())
}

#[test]
fn cells_that_equal_the_null_word_are_quoted() {
    let columns = || -> Vec<(&str, ArrayRef)> {
        vec![
            ("NA", texts(&[Some("NA"), None, Some("")])),
            ("i", Arc::new(Int32Array::from(vec![Some(-1), None, Some(7)]))),
            ("f", Arc::new(Float64Array::from(vec![Some(f64::NAN), None, Some(0.5)]))),
        ]
    };
    let na = with_word("NA", columns()).unwrap();
    assert_eq!(na, "NA,i,f\n\"NA\",-1,NaN\nNA,NA,NA\n,7,0.5\n");
    let nan = with_word("NaN", columns()).unwrap();
    assert_eq!(nan, "NA,i,f\nNA,-1,\"NaN\"\nNaN,NaN,NaN\n,7,0.5\n");
    let minus = with_word("-1", columns()).unwrap();
    assert_eq!(minus, "NA,i,f\nNA,\"-1\",NaN\n-1,-1,-1\n,7,0.5\n");
    // Reading with the same null word restores the nulls.
    let mut options = TextOptions::default();
    for (word, text) in [("NA", na), ("NaN", nan), ("-1", minus)] {
        options.null_words = vec![word.to_owned()];
        let back = read_with(text, &options).unwrap().batches.remove(0);
        for index in 0..3 {
            assert!(back.column(index).is_null(1), "{word} {index}");
            assert!(back.column(index).is_valid(0), "{word} {index}");
        }
    }
}

#[test]
fn a_null_word_or_delimiter_that_conflicts_with_the_syntax_is_refused() {
    for word in [",", "a,b", "\"", "\n", "\r"] {
        let err = with_word(word, vec![("a", texts(&[None]))]).unwrap_err();
        assert!(err.to_string().contains("null word"), "{err}");
    }
    for delimiter in [b'"', b'\n', b'\r', 0x80, 0xFF] {
        let batch = batch(vec![("a", texts(&[None]))]);
        let mut writer = Writer::new(Vec::new(), delimiter);
        assert!(writer.header(&batch.schema()).is_err());
        assert!(writer.write(&batch).is_err());
        let csv = delimited(delimiter);
        let err = read_with("a\n", &csv).unwrap_err();
        assert!(err.to_string().contains("delimiter"), "{err}");
    }
}

/// Without a header, the file starts with the first cell of the first row.
#[test]
fn a_first_cell_like_a_byte_order_mark_is_quoted_and_no_other() {
    let batch = batch(vec![("n", texts(&[Some("\u{FEFF}a"), Some("\u{FEFF}b")]))]);
    let mut writer = Writer::new(Vec::new(), b',');
    writer.write(&batch).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    assert_eq!(text, "\"\u{FEFF}a\"\n\u{FEFF}b\n");
    let mut options = TextOptions::default();
    options.header = Some(false);
    options.infer = Infer::Text;
    let back = read_with(text, &options).unwrap();
    assert_eq!(
        to_csv(&[back.batches[0].clone()], b','),
        "column_1\n\u{FEFF}a\n\u{FEFF}b\n".as_bytes()
    );
}

/// The output exceeds one buffer, in batches of several sizes.
#[test]
fn batches_of_any_size_give_the_same_text() {
    let long = "x".repeat(100_000);
    let cells: Vec<Option<&str>> =
        (0..9).map(|i| [Some(long.as_str()), None, Some("")][i % 3]).collect();
    let whole = batch(vec![("a", texts(&cells)), ("b", texts(&cells))]);
    let want = to_csv(std::slice::from_ref(&whole), b',');
    for step in [1, 2, 4, 9] {
        let parts: Vec<RecordBatch> =
            (0..9).step_by(step).map(|at| whole.slice(at, step.min(9 - at))).collect();
        assert!(to_csv(&parts, b',') == want, "{step}");
    }
}
