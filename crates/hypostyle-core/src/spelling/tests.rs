//! Every cell that has a spelling prints back.

use proptest::prelude::*;

use super::*;

fn is_spelled(cell: &str) -> bool {
    Spelling::of(cell.as_bytes()).is_some()
}

#[test]
fn cells_that_print_back_have_a_spelling() {
    for cell in [
        "true",
        "FALSE",
        "True",
        "0001-01-01",
        "9999-12-31",
        "2024-02-29",
        "2024-01-04T12:00",
        "2024-01-04 12:00:00",
        "2024-01-04T12:00:00.5",
        "2024-01-04 23:59:59.123456789",
        "2024-01-04T12:00:00Z",
        "2024-01-04T12:00:00.000Z",
        "2024-01-04T12:00:00+02:00",
        "2024-01-04T12:00:00-0330",
        "2024-01-04T12:00:00+00",
        "2024-01-04 12:00+05:45",
        "0001-01-01T00:00:00+14:00",
    ] {
        let spelling = Spelling::of(cell.as_bytes()).unwrap();
        let value = spelling.read(cell.as_bytes()).unwrap();
        let mut printed = Vec::new();
        assert!(spelling.put(value, &mut printed), "{cell}");
        assert_eq!(String::from_utf8(printed).unwrap(), cell);
        assert_eq!(Spelling::from_code(spelling.code()), Some(spelling), "{cell}");
        let field = Field::new("t", spelling.data_type(), true);
        let kept = Spelling::of_field(&spelling.in_field(field));
        let is_default = matches!(cell, "true") || cell.len() == 10;
        assert_eq!(kept, Some(spelling).filter(|_| !is_default), "{cell}");
    }
    assert_eq!(
        Spelling::of(b"1970-01-02T00:00:00+01:00").unwrap().data_type().to_string(),
        "Timestamp(µs, \"+01:00\")"
    );
}

#[test]
fn cells_that_would_print_otherwise_have_none() {
    for cell in [
        "",
        "tRUE",
        "t",
        "yes",
        "1",
        "2024-02-30",
        "2023-02-29",
        "2024-13-01",
        "2024-1-4",
        "0000-01-01",
        "2024/01/04",
        "20240104",
        "-2024-01-04",
        "12024-01-04",
        "04.01.2024",
        "2024-01-04 24:00:00",
        "2024-01-04 12:60:00",
        "2024-01-04 12:00:60",
        "2024-01-04t12:00",
        "2024-01-04  12:00:00",
        "2024-01-04 12",
        "2024-01-04 12:00:00.",
        "2024-01-04 1:00:00",
        "2024-01-04 12:00:00,5",
        "2024-01-04 12:00:00.1234567890",
        "2024-01-04 12:00:00 Z",
        "2024-01-04 12:00:00z",
        "2024-01-04 12:00:00-00:00",
        "2024-01-04 12:00:00+24:00",
        "2024-01-04 12:00:00+2",
        "2024-01-04 12:00:00+02:0",
        "2024-01-04 12:00:00 UTC",
        "2024-01-04_12:00:00",
        "2024-01-04 12:00:00.5.5",
        " 2024-01-04",
        "2024-01-04 ",
        // Nanoseconds of 64 bits end in 2262.
        "2300-01-01 00:00:00.000000000",
        "1600-01-01 00:00:00.0000000",
    ] {
        assert!(!is_spelled(cell), "{cell}");
    }
}

#[test]
fn values_that_cannot_be_spelled_so_are_not_printed() {
    let spelling = |cell: &str| Spelling::of(cell.as_bytes()).unwrap();
    let mut out = b"x".to_vec();
    assert!(!spelling("2024-01-04 12:00").put(1_000_000, &mut out));
    assert!(!spelling("2024-01-04 12:00:00.0").put(10_000, &mut out));
    assert!(!spelling("2024-01-04 12:00:00").put(i64::MAX, &mut out));
    assert!(!spelling("2024-01-04").put(2_932_897, &mut out));
    assert_eq!(out, b"x");
}

#[test]
fn metadata_that_do_not_fit_are_ignored() {
    let field = Field::new("a", DataType::Date32, true);
    let wrong = spelled_like(field.clone(), "2024-01-04T12:00:00Z");
    assert_eq!(Spelling::of_field(&wrong), None);
    assert_eq!(Spelling::of_field(&spelled_like(field.clone(), "x")), None);
    assert_eq!(null_token(&with_null_token(field.clone(), "NA")), Some("NA"));
    assert_eq!(null_token(&with_null_token(field, "5")), None);
    let key = Box::new(DataType::Int32);
    let dictionary = DataType::Dictionary(key, Box::new(DataType::Date32));
    let dictionary = Field::new("a", dictionary, true);
    assert_eq!(null_token(&with_null_token(dictionary, "NA")), Some("NA"));
    let text = Field::new("a", DataType::Utf8, true);
    assert_eq!(null_token(&with_null_token(text, "NA")), None);
}

fn spelled_like(mut field: Field, example: &str) -> Field {
    field.metadata_mut().insert(EXAMPLE.to_owned(), example.to_owned());
    field
}

proptest! {
    /// Whatever has a spelling is printed as it was.
    #[test]
    fn what_is_read_is_printed_as_it_was(
        cell in "[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\\.[0-9]{1,10})?)?(Z|[+-][0-2][0-9](:?[0-6][0-9])?)?)?",
    ) {
        if let Some(spelling) = Spelling::of(cell.as_bytes()) {
            let mut printed = Vec::new();
            prop_assert!(spelling.put(spelling.read(cell.as_bytes()).unwrap(), &mut printed));
            prop_assert_eq!(printed, cell.as_bytes());
            prop_assert_eq!(Spelling::from_code(spelling.code()), Some(spelling));
        }
    }

    #[test]
    fn every_code_is_that_of_its_spelling(code in 0_u64..1 << 24) {
        if let Some(spelling) = Spelling::from_code(code) {
            prop_assert_eq!(spelling.code(), code);
        }
    }
}

/// The start of a text bounds all values that start so.
#[test]
fn starts_of_texts_are_bounds() {
    for cell in [
        "2024-02-29",
        "2023-11-30T19:07:05.25Z",
        "1999-12-31 23:59:59.999+02:00",
        "2024-10-04T12:00-0330",
    ] {
        let spelling = Spelling::of(cell.as_bytes()).unwrap();
        let value = spelling.read(cell.as_bytes()).unwrap();
        for len in 5..=cell.len() {
            let start = &cell.as_bytes()[..len];
            let (low, high) = (spelling.bound(start, false), spelling.bound(start, true));
            assert!(low.unwrap() <= value && value <= high.unwrap(), "{cell} {len}");
            for bound in [low, high] {
                let mut text = Vec::new();
                assert!(spelling.put(bound.unwrap(), &mut text));
                assert!(text.starts_with(start), "{cell} {len}");
            }
        }
        assert_eq!(spelling.bound(b"NA", true), None);
        assert_eq!(spelling.bound(b"2024-1x", true), None);
    }
    let bound = |start: &str, is_upper| {
        let mut text = Vec::new();
        Spelling::Date.put(Spelling::Date.bound(start.as_bytes(), is_upper).unwrap(), &mut text);
        String::from_utf8(text).unwrap()
    };
    assert_eq!(
        (bound("2024-1", false), bound("2024-1", true)),
        ("2024-10-01".into(), "2024-12-31".into())
    );
    assert_eq!(
        (bound("2023-02-", false), bound("2023-02-", true)),
        ("2023-02-01".into(), "2023-02-28".into())
    );
}
