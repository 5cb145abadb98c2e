//! Columns of one type, with and without a word for null, in every way of reading them.

use arrow_array::cast::AsArray;
use arrow_schema::{DataType, TimeUnit};
use proptest::prelude::*;
use proptest::sample::select;

use super::table::many_options;
use super::{CSV, JSON, naive, options, read_in_all_ways, seekable, sizes, whole};
use crate::cast::{cast, spelled_text};
use crate::reader::Reader;
use crate::spelling::{self, NULL_TOKENS};
use crate::text::sizes::TextSizes;
use crate::text::{TextOptions, TextTable};

/// Cells of one type in each row, and some that are nearly of it.
const POOLS: &[&[&str]] = &[
    &["1", "-7", "3000000000", "99999999999999999999", "NaN", "nan"],
    &["1.5", "2.25", "1.50", "-0.75", "NaN", "-0.00", "1e16", "0.000001"],
    &["1.50", "0.25", "-12345678901234567.89", "\"3.00\"", "01.50", "+1.50", "1,5"],
    &["true", "false", "True", "TRUE", "\"true\"", "t"],
    &["2024-01-04", "1999-12-31", "\"2024-02-29\"", "2024-02-30", "2024-1-4"],
    &["2024-01-04T12:00:00Z", "2024-01-04T12:00:01Z", "2024-01-04 12:00:00Z"],
    &["2024-01-04 12:00:00.500", "1969-12-31 23:59:59.999", "2024-01-04 12:00:00.5"],
    &["2024-01-04T12:00:00+02:00", "2024-01-05T00:00:00+02:00", "2024-01-04T12:00:00+01:00"],
    &["2024-01-04 24:00:00", "2024-01-04 12:00", "2024-01-05 13:30", "2024-01-04"],
];

const TOKENS: &[&str] = &["", "\"\"", "NA", "NULL", "\\N", "-", "NaN", "\"NA\"", "x", "0"];

/// Returns cells that mostly have one type.
fn cells() -> impl Strategy<Value = Vec<&'static str>> {
    (select(POOLS), 1..4_usize, select(TOKENS), 0..3_u8).prop_flat_map(
        |(pool, kinds, token, odd)| {
            let mut pool = pool[..kinds.min(pool.len())].to_vec();
            pool.extend((0..odd).map(|_| token));
            prop::collection::vec(select(pool), 1..9)
        },
    )
}

fn text_of(cells: &[&str]) -> String {
    let rows: String = cells.iter().map(|cell| format!("{cell}\t0\n")).collect();
    format!("a\tb\n{rows}")
}

proptest! {
    #[test]
    fn a_typed_column_is_what_its_cells_say(cells in cells(), pick in 0..24_usize) {
        let mut with = many_options().swap_remove(pick);
        with.delimiter = Some(b'\t');
        let text = text_of(&cells);
        let want = naive::csv(text.as_bytes(), &with);
        prop_assert_eq!(read_in_all_ways(text.as_bytes(), CSV, &with), want);
    }

    /// The summary depends on the cells alone, so that archives can be checked.
    #[test]
    fn blocks_of_any_size_have_the_same_summary(cells in cells(), more in cells(), block in 1_usize..80) {
        let all: Vec<&str> = cells.into_iter().chain(more).collect();
        let text = text_of(&all);
        let summary = |sizes: TextSizes| {
            let options = TextOptions { delimiter: Some(b'\t'), ..options(2) };
            let source = seekable(text.as_bytes());
            let table = TextTable::open_sized(source, CSV, &options, None, sizes).unwrap();
            let mut columns = table.summary().columns.clone();
            // Bounds of texts are not looked for in blocks of values.
            columns.iter_mut().for_each(|column| column.texts = None);
            columns
        };
        prop_assert_eq!(summary(sizes(block, 16)), summary(TextSizes::default()));
    }

    /// With options that come after the summary.
    #[test]
    fn a_summary_serves_other_options(cells in cells(), pick in 0..24_usize) {
        let mut with = many_options().swap_remove(pick);
        let plain = TextOptions { delimiter: Some(b'\t'), ..options(1) };
        with.delimiter = Some(b'\t');
        let text = text_of(&cells);
        let source = seekable(text.as_bytes());
        let table = TextTable::open(source.clone(), CSV, &plain, None).unwrap();
        let summary = Some(table.summary().clone());
        let found = TextTable::open(source, CSV, &with, summary).and_then(whole).unwrap();
        prop_assert_eq!(found, naive::csv(text.as_bytes(), &with).unwrap());
    }

    #[test]
    fn json_strings_are_dates_and_timestamps(
        pool in select(&POOLS[3..]),
        kinds in 1..4_usize,
        rare in select(vec!["null", "\"NA\"", "\"-\"", "\"x\"", "7", "true", "\"NULL\""]),
        common in select(vec!["", "1", "-2.5", "false"]),
        picks in prop::collection::vec((0..4_usize, 0..6_u8), 1..9),
    ) {
        let value = |&(pick, kind): &(usize, u8)| match kind {
            0 => rare.to_owned(),
            _ if !common.is_empty() => common.to_owned(),
            _ => format!("\"{}\"", pool[pick % kinds.min(pool.len())].trim_matches('"')),
        };
        let values: Vec<String> = picks.iter().map(value).collect();
        let rows: Vec<Vec<(&str, &str)>> =
            values.iter().map(|value| vec![("a", value.as_str())]).collect();
        let text: String = values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect();
        let found = read_in_all_ways(text.as_bytes(), JSON, &options(1));
        prop_assert_eq!(found.ok(), naive::json(&rows));
    }
}

/// Returns the type of a column of these cells, and its cells as text.
fn column(cells: &[&str], with: &TextOptions) -> (DataType, Vec<Option<String>>) {
    let text = text_of(cells);
    let found = read_in_all_ways(
        text.as_bytes(),
        CSV,
        &TextOptions { delimiter: Some(b'\t'), ..with.clone() },
    );
    let (_, data_type, cells) = found.unwrap().swap_remove(0);
    (data_type, cells)
}

#[test]
fn columns_have_the_types_that_people_expect() {
    let micros =
        |zone: Option<&str>| DataType::Timestamp(TimeUnit::Microsecond, zone.map(Into::into));
    for (cells, want) in [
        (&["true", "false"][..], DataType::Boolean),
        (&["TRUE", "TRUE"], DataType::Boolean),
        (&["2024-01-04", "2024-02-29"], DataType::Date32),
        (&["2024-01-04", ""], DataType::Date32),
        (&["2024-01-04 12:00:00", "2024-01-05 00:00:00"], micros(None)),
        (&["2024-01-04T12:00:00.500Z"], micros(Some("UTC"))),
        (&["2024-01-04 12:00:00.5+02:00"], micros(Some("+02:00"))),
        (&["2024-01-04 12:00:00.5-0330"], micros(Some("-03:30"))),
        (&["2024-01-04 12:00:00.1234567"], DataType::Timestamp(TimeUnit::Nanosecond, None)),
        (&["1.50", "2.25"], DataType::Decimal128(18, 2)),
        (&["1.5", "2.5"], DataType::Float64),
        (&["1.50", "12345678901234567.25"], DataType::Decimal128(38, 2)),
        (&["1", "18446744073709551615"], DataType::Decimal128(38, 0)),
        (&["5", "NA", "7"], DataType::Int32),
        (&["5", "NaN", "7"], DataType::Int32),
        (&["0.5", "NaN"], DataType::Float64),
        (&["0.50", "NaN"], DataType::Decimal128(18, 2)),
        (&["2024-01-04", "\\N", "2024-01-05"], DataType::Date32),
        (&["true", "-"], DataType::Boolean),
        // Two spellings, or two words for null.
        (&["true", "TRUE"], DataType::Utf8),
        (&["1.5", "1.50"], DataType::Utf8),
        (&["2024-01-04", "2024-01-04 12:00:00"], DataType::Utf8),
        (&["2024-01-04 12:00:00", "2024-01-04T12:00:00"], DataType::Utf8),
        (&["2024-01-04T12:00:00Z", "2024-01-04T12:00:00+00:00"], DataType::Utf8),
        (&["2024-01-04T12:00:00+01:00", "2024-01-04T12:00:00+02:00"], DataType::Utf8),
        (&["2024-01-04 12:00:00.5", "2024-01-04 12:00:00.50"], DataType::Utf8),
        (&["5", "NA", ""], DataType::Utf8),
        (&["5", "NA", "NULL"], DataType::Utf8),
        (&["5", "NaN", "NA"], DataType::Utf8),
        (&["5", "\"NA\""], DataType::Utf8),
        (&["5", "\"NaN\""], DataType::Utf8),
        // No values of these types, and no words for null.
        (&["2024-02-30"], DataType::Utf8),
        (&["2024-01-04 24:00:00"], DataType::Utf8),
        (&["1,5"], DataType::Utf8),
        (&["01.50"], DataType::Utf8),
        (&["+1.50"], DataType::Utf8),
        (&["-0"], DataType::Utf8),
        (&["-0.00", "1.00"], DataType::Utf8),
        (&["5", "missing"], DataType::Utf8),
        (&["NA", "NA"], DataType::Utf8),
    ] {
        assert_eq!(column(cells, &options(1)).0, want, "{cells:?}");
    }
}

#[test]
fn every_token_is_null_beside_values_of_a_type() {
    for token in NULL_TOKENS {
        for value in ["7", "2024-01-04", "2024-01-04T12:00:00Z", "1.50", "True"] {
            let (data_type, cells) = column(&[value, token, value], &options(1));
            assert_ne!(data_type, DataType::Utf8, "{value} {token}");
            assert_eq!(cells[1], None, "{value} {token}");
            assert_eq!(cells[0].as_deref(), Some(value), "{token}");
        }
        let (data_type, cells) = column(&["x", token, "y"], &options(1));
        assert_eq!((data_type, cells[1].as_deref()), (DataType::Utf8, Some(token)));
    }
}

#[test]
fn options_decide_what_is_null() {
    let with = |words: &[&str]| TextOptions {
        null_words: words.iter().map(|&word| word.to_owned()).collect(),
        ..options(1)
    };
    let cells = ["7", "NA", "8"];
    assert_eq!(column(&cells, &with(&["NA"])).0, DataType::Int32);
    // Only the words of the caller, if there are some.
    assert_eq!(column(&cells, &with(&["NULL"])).0, DataType::Utf8);
    assert_eq!(column(&cells, &with(&[""])).0, DataType::Utf8);
    assert_eq!(column(&["7", "NA", "-"], &with(&["NA", "-"])).0, DataType::Int32);
    assert_eq!(column(&["2024-01-04", "x", ""], &with(&["x"])).0, DataType::Date32);
    assert_eq!(column(&["7", "NaN"], &with(&[""])).0, DataType::Utf8);
    assert_eq!(column(&["7", "NaN"], &with(&["NaN"])).0, DataType::Int32);
}

#[test]
fn the_spelling_travels_with_the_column() {
    let cells = ["2024-01-04 12:00:00.500+02:00", "NA", "2024-01-04 13:00:00.000+02:00"];
    let text = text_of(&cells);
    let with = TextOptions { delimiter: Some(b'\t'), ..options(1) };
    let table = TextTable::open(seekable(text.as_bytes()), CSV, &with, None).unwrap();
    let schema = table.schema();
    assert_eq!(spelling::null_token(schema.field(0)), Some("NA"));
    let found = table.column_statistics(0);
    assert_eq!((found.null_count, found.is_exact), (Some(1), true));
    let text = |array: arrow_array::ArrayRef| {
        let text = spelled_text(&array, schema.field(0)).unwrap();
        text.as_string::<i32>().value(0).to_owned()
    };
    assert_eq!(text(found.min.unwrap()), cells[0]);
    let max = found.max.unwrap();
    let plain = cast(&max, &DataType::Utf8).unwrap();
    assert_eq!(plain.as_string::<i32>().value(0), "2024-01-04T13:00:00+02:00");
    assert_eq!(text(max), cells[2]);
}
