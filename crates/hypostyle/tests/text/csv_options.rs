//! Variants of the CSV syntax.

use hypostyle::text::{Encoding, Ragged, TextOptions};
use hypostyle::{ColumnSource, formats};

use crate::support::{
    ReadText, column, delimited, read, read_with, reference, shape, some, there_and_back,
};

fn names(imported: &ReadText) -> Vec<String> {
    shape(imported).into_iter().map(|(name, _)| name).collect()
}

fn with(csv: &TextOptions, text: &str) -> ReadText {
    read_with(text, csv).unwrap()
}

#[test]
fn any_line_end_ends_a_row() {
    let want = read("a,b\n1,x\n2,y\n").unwrap();
    for text in [
        "a,b\r\n1,x\r\n2,y\r\n",
        "a,b\r1,x\r2,y\r",
        "a,b\r1,x\n2,y\r\n",
        "a,b\n1,x\n2,y",
        "a,b\r1,x\r2,y",
        "a,b\r\n1,x\r\n2,y\r",
        "\r\n\n\ra,b\n\n1,x\r\r\r\n\n2,y\n\n\n",
        "\u{FEFF}a,b\n1,x\n2,y\n",
        "\"a\",\"b\"\n\"1\",\"x\"\n\"2\",\"y\"",
    ] {
        let imported = read(text).unwrap();
        assert_eq!(shape(&imported), shape(&want), "{text:?}");
        assert_eq!(imported.rows(), 2, "{text:?}");
        for index in 0..2 {
            assert_eq!(column(&imported, index), column(&want, index), "{text:?}");
        }
    }
}

#[test]
fn quotes_protect_and_count_only_at_the_start_of_a_cell() {
    let text = "t,n\n\"a\nb\",1\n\"a\r\nb\",2\n\"x,\"\"y\"\"\",3\nno\"quote,4\n \"a\",5\n\"q\"rest,6\n\"\"\"\",7\n";
    let imported = read(text).unwrap();
    let want = ["a\nb", "a\r\nb", "x,\"y\"", "no\"quote", " \"a\"", "qrest", "\""];
    assert_eq!(column(&imported, 0), some(&want));
    assert_eq!(imported.rows(), 7);
}

#[test]
fn a_blank_line_is_a_cell_only_in_a_table_of_one_column() {
    assert_eq!(read("a,b\n\n1,2\n\n\n3,4\n\n").unwrap().rows(), 2);
    let one = read("a\n\n1\n\n\n2\n").unwrap();
    let want = [None, Some("1"), None, None, Some("2")].map(|cell| cell.map(str::to_owned));
    assert_eq!(column(&one, 0), want);
    // The last line end does not start a row.
    assert_eq!(read("a\n1\n").unwrap().rows(), 1);
    assert_eq!(read("a\n1").unwrap().rows(), 1);
    assert_eq!(read("a\n1\n\n").unwrap().rows(), 2);
    // Blank lines before the header are not rows.
    assert_eq!(read("\n\n\na\n1\n").unwrap().rows(), 1);
    // A line of spaces is a cell.
    assert!(read("a,b\n  \n1,2\n").is_err());
    assert_eq!(column(&read("a\n  \n").unwrap(), 0), some(&["  "]));
}

#[test]
fn without_a_header_columns_have_numbers() {
    let mut csv = TextOptions::default();
    csv.header = Some(false);
    let imported = with(&csv, "1,x\n2,y\n");
    assert_eq!(names(&imported), ["column_1", "column_2"]);
    assert_eq!(column(&imported, 0), some(&["1", "2"]));
    // In a table of one column, blank lines at the start are cells.
    assert_eq!(with(&csv, "\n\n1,2\n").rows(), 1);
    assert_eq!(with(&csv, "\n\n1\n").rows(), 3);
    assert_eq!(with(&csv, "\n\n\n").rows(), 3);
    assert_eq!(column(&with(&csv, "\u{FEFF}1\n"), 0), some(&["1"]));
    assert!(read_with("", &csv).is_err());
}

#[test]
fn any_ascii_delimiter_is_accepted() {
    for delimiter in [b'\t', b';', b'|', b' ', b':', b'\0', b'x', b'1', 0x1F, 0x7F] {
        let csv = delimited(delimiter);
        let d = char::from(delimiter);
        let imported = with(&csv, &format!("a{d}b\n5{d}\"7{d}\"\n{d}\n"));
        assert_eq!(names(&imported), ["a", "b"], "{delimiter}");
        let want = [Some(format!("7{d}")), None];
        if d != '1' {
            assert_eq!(column(&imported, 1), want, "{delimiter}");
        }
        assert_eq!(imported.rows(), 2);
    }
    // The comma is then an ordinary character.
    assert_eq!(names(&with(&delimited(b';'), "a,b;c\n")), ["a,b", "c"]);
}

#[test]
fn short_rows_are_padded_on_request() {
    let mut csv = TextOptions::default();
    csv.ragged = Ragged::Pad;
    let imported = with(&csv, "a,b,c\n1,2,3\n4\n\n5,6\n\"\"\n");
    assert_eq!(imported.rows(), 4);
    let b = [Some("2"), None, Some("6"), None].map(|cell| cell.map(str::to_owned));
    assert_eq!(column(&imported, 1), b);
    assert_eq!(column(&imported, 2), [Some("3".to_owned()), None, None, None]);
    let err = read_with("a,b\n1,2\n1,2,3\n", &csv).unwrap_err();
    assert_eq!(err.row(), Some(1));
    assert!(err.to_string().contains("only short rows can be padded"), "{err}");
}

#[test]
fn latin1_is_read_on_request() {
    let text = b"na\xEFve,\xFF\n\xE9t\xE9,\x80\n1,2\n";
    let mut csv = TextOptions::default();
    csv.encoding = Encoding::Latin1;
    let imported = read_with(text, &csv).unwrap();
    assert_eq!(names(&imported), ["naïve", "ÿ"]);
    assert_eq!(column(&imported, 0), some(&["été", "1"]));
    assert_eq!(column(&imported, 1), some(&["\u{80}", "2"]));
    assert!(read(text).is_err());
}

#[test]
fn a_header_alone_makes_a_table_without_rows() {
    for text in ["a,b", "a,b\n", "a,b\r\n\r\n", "\n\na,b\n\n\n"] {
        let imported = read(text).unwrap();
        assert_eq!((names(&imported), imported.rows()), (vec!["a".to_owned(), "b".to_owned()], 0));
        assert_eq!(imported.batches[0].num_rows(), 0);
        for format in formats::tables() {
            let back = there_and_back(format, text.as_bytes(), &TextOptions::default()).unwrap();
            assert_eq!(reference(&back, b','), [["a", "b"]], "{}", format.id());
        }
    }
}

#[test]
fn names_may_be_anything() {
    let text = "\"new\nline\",\"\",,a,a,\"q\"\"\",\" \",1,\u{FEFF}\n1,2,3,4,5,6,7,8,9\n";
    let imported = read(text).unwrap();
    assert_eq!(names(&imported), ["new\nline", "", "", "a", "a", "q\"", " ", "1", "\u{FEFF}"]);
}

#[test]
fn zero_bytes_are_characters() {
    let imported = read("a\0,b\n\0,\0\0\n1\0,\"\0\"\n").unwrap();
    assert_eq!(names(&imported), ["a\0", "b"]);
    assert_eq!(column(&imported, 0), some(&["\0", "1\0"]));
    assert_eq!(column(&imported, 1), some(&["\0\0", "\0"]));
}

#[test]
fn ten_thousand_columns_are_read() {
    let row = |cell: &dyn Fn(usize) -> String| (0..10_000).map(cell).collect::<Vec<_>>().join(",");
    let mut text = row(&|i| format!("c{i}"));
    for r in 0..3 {
        text.push('\n');
        text.push_str(&row(&|i| match i % 4 {
            0 => format!("{}", i * r),
            1 => format!("{i}.5"),
            2 => String::new(),
            _ => format!("t{r}"),
        }));
    }
    let want = reference(text.as_bytes(), b',');
    for format in formats::tables() {
        let back = there_and_back(format, text.as_bytes(), &TextOptions::default()).unwrap();
        assert!(reference(&back, b',') == want, "{}", format.id());
    }
}
