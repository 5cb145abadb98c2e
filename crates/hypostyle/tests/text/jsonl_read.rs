//! Imports JSON Lines.

use std::fmt::Write as _;

use arrow_schema::DataType::{self, Boolean, Float64, Int32, Int64, Utf8};
use hypostyle::formats::ColumnType;
use hypostyle::text::TextOptions;
use hypostyle::{ColumnSource, ErrorKind, formats};

use crate::support::{
    batches, capabilities, column, for_target, read_json, read_json_with, shape, some, store,
    threads, to_json, types, whole,
};

/// Returns the type and the cells of a key with these values.
fn key(values: &[&str]) -> (DataType, Vec<Option<String>>) {
    let text: String = values.iter().map(|value| format!("{{\"k\":{value}}}\n")).collect();
    let table = read_json(text).unwrap();
    (types(&table)[0].clone(), column(&table, 0))
}

#[test]
fn values_keep_their_types() {
    assert_eq!(key(&["1", "-2"]), (Int32, some(&["1", "-2"])));
    assert_eq!(key(&["1", "3000000000"]), (Int64, some(&["1", "3000000000"])));
    let widest = ["9223372036854775807", "-9223372036854775808"];
    assert_eq!(key(&widest), (Int64, some(&widest)));
    assert_eq!(key(&["1.50", "1E3", "0.1"]), (Float64, some(&["1.5", "1000.0", "0.1"])));
    assert_eq!(key(&["1", "0.5"]), (Float64, some(&["1.0", "0.5"])));
    assert_eq!(key(&["-0", "0"]), (Float64, some(&["-0.0", "0.0"])));
    assert_eq!(key(&["true", "false"]), (Boolean, some(&["true", "false"])));
    assert_eq!(key(&["\"1\"", "\"2\""]), (Utf8, some(&["1", "2"])));
    assert_eq!(key(&["null", "null"]), (Utf8, vec![None, None]));
    let gap = [Some("1".to_owned()), None].to_vec();
    assert_eq!(key(&["1", "null"]), (Int32, gap));
    let empty = [Some(String::new()), None].to_vec();
    assert_eq!(key(&["\"\"", "null"]), (Utf8, empty));
}

#[test]
fn values_that_no_type_stores_keep_their_spelling() {
    let huge = ["99999999999999999999", "-9223372036854775809"];
    assert_eq!(key(&huge), (Utf8, some(&huge)));
    assert_eq!(key(&["1e400", "1"]), (Utf8, some(&["1e400", "1"])));
    assert_eq!(key(&["9007199254740993", "0.5"]), (Utf8, some(&["9007199254740993", "0.5"])));
    let nested = ["[1, 2,\t{\"a\": null}]", "{\"b\" : [ ]}", "{}", "[]"];
    assert_eq!(key(&nested), (Utf8, some(&nested)));
    let mixed = ["1", "1.50", "true", "\"x\"", "[1]"];
    assert_eq!(key(&mixed), (Utf8, some(&["1", "1.50", "true", "x", "[1]"])));
    assert_eq!(key(&["true", "1"]), (Utf8, some(&["true", "1"])));
}

#[test]
fn keys_make_columns_in_the_order_of_their_first_appearance() {
    let text = "{\"b\":1,\"a\":2}\n{\"c\":3,\"a\":4}\n{}\n{\"a\":5,\"b\":6,\"\":7}\n";
    let table = read_json(text).unwrap();
    let names: Vec<String> = shape(&table).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "a", "c", ""]);
    let cells = |cells: [Option<&str>; 4]| cells.map(|cell| cell.map(str::to_owned)).to_vec();
    assert_eq!(column(&table, 0), cells([Some("1"), None, None, Some("6")]));
    assert_eq!(column(&table, 1), cells([Some("2"), Some("4"), None, Some("5")]));
    assert_eq!(column(&table, 2), cells([None, Some("3"), None, None]));
    assert_eq!(types(&table), [const { Int32 }; 4]);
}

#[test]
fn escapes_are_characters() {
    let text = r#"{"\u006b\n":"\u00e9\ud83d\ude00\"\\\/\b\f\n\r\t\u0000"}"#;
    let table = read_json(text).unwrap();
    assert_eq!(shape(&table)[0].0, "k\n");
    assert_eq!(column(&table, 0), some(&["é😀\"\\/\u{8}\u{c}\n\r\t\0"]));
    // Escapes do not make keys different.
    let err = read_json(r#"{"a":1,"\u0061":2}"#).unwrap_err();
    assert!(err.to_string().contains("has the key `a` twice"), "{err}");
}

#[test]
fn any_line_end_is_accepted_and_blank_lines_are_skipped() {
    for text in [
        "{\"a\":1}\n{\"a\":2}\n",
        "{\"a\":1}\r\n{\"a\":2}",
        "\u{FEFF}{\"a\":1}\n\n \t\n  {\"a\":2}  \n\n",
        "\n{ \"a\" : 1 }\n{\t\"a\":2}\n",
    ] {
        let table = read_json(text).unwrap();
        assert_eq!(column(&table, 0), some(&["1", "2"]), "{text:?}");
    }
}

#[test]
fn a_line_that_is_not_an_object_is_named_by_line_and_byte() {
    for (text, line, at, why) in [
        ("{\"a\":1}\n[1]\n", 1, 8, "invalid type: sequence, expected a JSON object"),
        ("{\"a\":1}\n\n5\n", 2, 9, "expected a JSON object"),
        ("{\"a\":1}\n  {\"a\" 1}\n", 1, 15, "expected `:`"),
        ("{\"a\":1,}\n", 0, 7, "trailing comma"),
        ("{\"a\":1} x\n", 0, 8, "trailing characters"),
        ("{\"a\":1}{\"a\":2}\n", 0, 7, "trailing characters"),
        ("{\"a\":01}\n", 0, 6, "invalid number"),
        ("{\"a\":nul}\n", 0, 8, "expected ident"),
        ("{'a':1}\n", 0, 1, "key must be a string"),
        ("{\"a\":\n1}\n", 0, 4, "EOF while parsing"),
        ("{\"a\":NaN}\n", 0, 5, "expected value"),
        ("\u{FEFF}{\"a\":1}\nx\n", 1, 11, "expected value"),
        ("{\"a\":1,\"b\":\"\\ud800\"}\n", 0, 18, "unexpected end of hex escape"),
    ] {
        let err = read_json(text).unwrap_err();
        assert_eq!((err.row(), err.offset()), (Some(line), Some(at)), "{text:?}: {err}");
        assert!(err.to_string().contains("line: is not a JSON object: "), "{err}");
        assert!(err.to_string().contains(why), "{err}");
        assert!(!err.to_string().contains(" at line "), "{err}");
    }
    for text in [&b"{\"a\":\"\xFF\"}\n"[..], b"{\"\xC3\":1}\n"] {
        let err = read_json(text).unwrap_err();
        assert_eq!(err.row(), Some(0), "{err}");
        assert!(matches!(err.offset(), Some(1..10)), "{err}");
    }
}

#[test]
fn a_key_that_comes_twice_is_an_error() {
    let err = read_json("{\"a\":1}\n\n{\"b\":1,\"a\":null,\"a\":2}\n").unwrap_err();
    assert_eq!((err.row(), err.offset()), (Some(2), Some(9)), "{err}");
    assert!(err.to_string().contains("object: has the key `a` twice"), "{err}");
    assert!(read_json("{\"a\":null,\"a\":null}").is_err());
}

#[test]
fn without_a_key_there_is_no_table() {
    for text in ["", "\n\n", "{}\n{}\n", "\u{FEFF}"] {
        let err = read_json(text).unwrap_err();
        assert_eq!(err.to_string(), "table: is empty: it has no object with a key");
    }
}

#[test]
fn types_can_be_requested() {
    let mut options = TextOptions::default();
    options.types = vec![
        ("zip".to_owned(), ColumnType::Text.into()),
        ("n".to_owned(), ColumnType::Float64.into()),
    ];
    let text = "{\"zip\":501,\"n\":1}\n{\"zip\":\"00501\",\"n\":\"2.5\"}\n{\"n\":null}\n";
    let table = read_json_with(text, &options).unwrap();
    assert_eq!(types(&table), [Utf8, Float64]);
    assert_eq!(column(&table, 0), [Some("501".to_owned()), Some("00501".to_owned()), None]);
    assert_eq!(column(&table, 1), [Some("1.0".to_owned()), Some("2.5".to_owned()), None]);
    options.types = vec![("other".to_owned(), ColumnType::Text.into())];
    let err = read_json_with(text, &options).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{err}");
}

/// Returns more than nine megabytes whose last block has new keys and types.
fn surprising() -> String {
    let long = "x".repeat(20_000);
    let mut text = String::new();
    for row in 0..480 {
        writeln!(text, "{{\"n\":{row},\"f\":{row}.50,\"s\":\"{long}\",\"z\":{row}}}").unwrap();
    }
    writeln!(text, "{{\"n\":\"word\",\"f\":7,\"late\":true,\"z\":3000000000}}").unwrap();
    writeln!(text, "{{\"later\":[1],\"n\":1}}").unwrap();
    text
}

#[test]
fn a_key_of_the_last_block_is_a_column_of_the_whole_table() {
    let table = read_json(surprising()).unwrap();
    assert!(table.batches.len() > 1);
    let want = [
        ("n", Utf8),
        ("f", Float64),
        ("s", Utf8),
        ("z", Int64),
        ("late", Boolean),
        ("later", DataType::new_list(Int32, true)),
    ];
    assert_eq!(shape(&table), want.map(|(name, data_type)| (name.to_owned(), data_type)));
    let late = column(&table, 4);
    assert!(late[..480].iter().all(Option::is_none));
    assert_eq!(late[480..], [Some("true".to_owned()), None]);
    assert_eq!(column(&table, 5)[480..], [None, Some("[1]".to_owned())]);
    assert_eq!(column(&table, 0)[479..481], some(&["479", "word"]));
    assert_eq!(column(&table, 1)[479..], [Some("479.5".to_owned()), Some("7.0".to_owned()), None]);
}

#[test]
fn threads_change_nothing() {
    let text = surprising();
    let with = |count| {
        let mut options = for_target(capabilities("colf"));
        options.threads = threads(count);
        read_json_with(&text, &options).unwrap()
    };
    let one = whole(&with(1));
    for count in [2, 5] {
        assert!(whole(&with(count)) == one, "{count} threads");
    }
}

/// A cast that fails in a later chunk names the row of the table, and the column.
#[test]
fn a_failed_cast_is_named_by_row_and_column() {
    let mut options = TextOptions::default();
    options.types = vec![("n".to_owned(), ColumnType::Int32.into())];
    let err = read_json_with(surprising(), &options).unwrap_err();
    assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(480), Some(0)), "{err}");
    assert!(err.to_string().contains("`word` is not an integer"), "{err}");
}

#[test]
fn json_to_any_format_and_back_where_it_has_nulls() {
    let text = "{\"i\":1,\"f\":0.5,\"t\":\"x\"}\n{\"i\":-2,\"f\":1.0,\"t\":\"\"}\n";
    for format in formats::tables() {
        let table = read_json_with(text, &for_target(format.capabilities())).unwrap();
        let reader = store(format, &table).unwrap();
        let as_text =
            "{\"i\":\"1\",\"f\":\"0.5\",\"t\":\"x\"}\n{\"i\":\"-2\",\"f\":\"1.0\",\"t\":\"\"}\n";
        let want = if format.capabilities().numbers { text } else { as_text };
        assert_eq!(to_json(&batches(&reader).unwrap()), want, "{}", format.id());
        // Null stays null, or is refused with its column and row.
        let gap = "{\"i\":1,\"t\":\"x\"}\n{\"t\":null}\n";
        let table = read_json_with(gap, &for_target(format.capabilities())).unwrap();
        match store(format, &table) {
            Ok(reader) => {
                let back = to_json(&batches(&reader).unwrap()).replace("\"1\"", "1");
                assert_eq!(back, "{\"i\":1,\"t\":\"x\"}\n{\"i\":null,\"t\":null}\n");
            }
            Err(err) => {
                assert!(!format.capabilities().nulls);
                assert_eq!((err.row(), err.column().map(|c| c.index)), (Some(1), Some(0)), "{err}");
            }
        }
    }
}

/// With as many keys as rows, memory grows with the text, not with their product.
#[test]
fn a_new_key_on_every_line_is_only_as_large_as_the_text() {
    let mut text = String::new();
    for row in 0..30_000 {
        writeln!(text, "{{\"k{row}\":{row}}}").unwrap();
    }
    let table = read_json(text).unwrap();
    assert_eq!(table.schema().fields().len(), 30_000);
    let cells = column(&table, 12_345);
    assert_eq!(cells.iter().flatten().collect::<Vec<_>>(), ["12345"]);
    assert_eq!(cells[12_345].as_deref(), Some("12345"));
    assert_eq!(types(&table)[29_999], Int32);
}

#[test]
fn sparse_keys_of_every_type_come_back() {
    let mut text = String::new();
    for row in 0..100 {
        match row {
            7 => writeln!(
                text,
                "{{\"id\":{row},\"i\":5,\"f\":1.50,\"t\":\"x\",\"b\":true,\"g\":1.5}}"
            ),
            50 => {
                writeln!(text, "{{\"id\":{row},\"i\":6,\"f\":2,\"t\":\"\",\"b\":false,\"g\":null}}")
            }
            _ => writeln!(text, "{{\"id\":{row}}}"),
        }
        .unwrap();
    }
    let table = read_json(&text).unwrap();
    assert_eq!(types(&table), [Int32, Int32, Float64, Utf8, Boolean, Float64]);
    for (index, seven, fifty) in [
        (1, "5", Some("6")),
        (2, "1.5", Some("2.0")),
        (3, "x", Some("")),
        (4, "true", Some("false")),
        (5, "1.5", None),
    ] {
        let cells = column(&table, index);
        assert_eq!((cells[7].as_deref(), cells[50].as_deref()), (Some(seven), fifty));
        let count = cells.iter().flatten().count();
        assert_eq!((cells.len(), count), (100, 1 + usize::from(fifty.is_some())));
    }
    let colf = formats::by_name("colf").unwrap();
    let reader = store(colf, &table).unwrap();
    assert_eq!(reader.rows(), 100);
}

/// Below 64 levels, nested values are text, and the parser skips them without recursion.
#[test]
fn deep_nesting_is_only_text() {
    let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let (data_type, cells) = key(&[&deep]);
    let mut levels = 0;
    let mut inner = &data_type;
    while let DataType::List(field) = inner {
        (levels, inner) = (levels + 1, field.data_type());
    }
    assert_eq!((levels, inner), (64, &Utf8));
    // The innermost list holds the text of the rest.
    let text = cells[0].as_deref().unwrap();
    assert_eq!((text.len(), text.matches('"').count()), (deep.len() + 2, 2));
    assert_eq!(text.find('"'), Some(64));
    assert!(read_json(format!("{{\"a\":{}", "[".repeat(1_000_000))).is_err());
    assert!(read_json("{\"a\":".repeat(1_000_000)).is_err());
}

#[test]
fn a_line_of_nine_megabytes_is_a_line() {
    let long = "é\\n".repeat(2_500_000);
    let table = read_json(format!("{{\"a\":\"{long}\"}}\n{{\"a\":\"x\"}}\n")).unwrap();
    let cells = column(&table, 0);
    assert_eq!((cells.len(), cells[0].as_ref().unwrap().len()), (2, 7_500_000));
}
