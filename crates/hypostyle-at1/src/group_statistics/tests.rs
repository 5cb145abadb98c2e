//! Statistics keep every value, skip groups where they can, and survive any bytes.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_schema::DataType;
use bytes::Bytes;

use super::{StatisticsKind, TableStatistics, TableStatisticsBuilder};
use crate::streams::StreamCursor;
use hypostyle_core::error::Result;
use hypostyle_core::predicate::{CellPresence, Decimal, NumberBounds, PruningStatistics};

type Cell<'a> = Option<&'a str>;

/// Writes the statistics of one column with these cells in each group.
fn written(kind: StatisticsKind, groups: &[Vec<Cell<'_>>], max_bytes: usize) -> Vec<u8> {
    let mut builder = TableStatisticsBuilder::new(groups.len(), [kind]);
    for (group, cells) in groups.iter().enumerate() {
        cells.iter().for_each(|cell| builder.push(group, 0, cell.map(str::as_bytes)));
    }
    let mut out = Vec::new();
    builder.put(&[Some(max_bytes)], &mut out);
    out
}

fn read(bytes: &[u8], groups: usize, columns: usize) -> Result<TableStatistics> {
    let bytes = Bytes::copy_from_slice(bytes);
    let mut stream = StreamCursor::new("hyp.groups", &bytes);
    let table = TableStatistics::read(&mut stream, &bytes, groups, columns)?;
    assert!(stream.is_empty());
    Ok(table)
}

fn index(name: &str) -> Option<usize> {
    (name == "c").then_some(0)
}

fn table(kind: StatisticsKind, groups: &[Vec<Cell<'_>>]) -> TableStatistics {
    let bytes = written(kind, groups, 1 << 20);
    let table = read(&bytes, groups.len(), 1).unwrap();
    for (group, cells) in groups.iter().enumerate() {
        check(&table.group(group, index), cells);
    }
    table
}

#[test]
fn few_integers_have_sets() {
    let months = |group: usize| [[1, 10], [10, 11], [12, 2], [3, 4]][group % 4];
    let cell = |row: usize| match row % 9 {
        5 => "NA".to_owned(),
        _ => months(row / 100)[row % 2].to_string(),
    };
    let mut texts = Vec::new();
    let cells = groups(&mut texts, 800, 100, cell);
    let table = table(StatisticsKind::Numbers, &cells);
    for data_type in [DataType::Int32, DataType::Float64] {
        let found = table.integers(2, 0, &data_type);
        assert_eq!(found.is_some(), data_type.is_integer());
        let Some(found) = found else { continue };
        let values = found.values.as_primitive::<Int32Type>();
        let occurring: Vec<_> =
            (0..values.len()).filter(|&value| found.occurring.value(value)).collect();
        let occurring: Vec<_> =
            occurring.into_iter().map(|at| values.is_valid(at).then(|| values.value(at))).collect();
        assert_eq!(occurring, [Some(2), Some(12), None]);
    }
    // All row groups use the same array, so that a condition is evaluated once.
    let values = |group| table.integers(group, 0, &DataType::Int32).unwrap().values;
    assert!(std::sync::Arc::ptr_eq(&values(0), &values(5)));
    assert!(!table.may_hold_cell(2, 0, Some(b"11")) && table.may_hold_cell(2, 0, Some(b"12")));
    // In order each row group has all integers between its bounds.
    for step in [1, 7] {
        let cells = groups(&mut texts, 800, 100, |row| (row / 50 * step % 16).to_string());
        let table = self::table(StatisticsKind::Numbers, &cells);
        assert_eq!(table.integers(0, 0, &DataType::Int32).is_some(), step > 1);
    }
    let cells = groups(&mut texts, 800, 100, |row| (row * 7919 % 97).to_string());
    let many = self::table(StatisticsKind::Numbers, &cells);
    assert!(many.integers(0, 0, &DataType::Int32).is_none());
    let cells = groups(&mut texts, 800, 100, |row| (row / 50 * 7 % 16).to_string() + ".5");
    let decimals = self::table(StatisticsKind::Numbers, &cells);
    assert!(decimals.integers(0, 0, &DataType::Int32).is_none());
}

/// Checks that the statistics of a group hold for every cell.
fn check(group: &dyn PruningStatistics, cells: &[Cell<'_>]) {
    for cell in cells {
        let present = group.cells("c");
        match cell.map(str::as_bytes) {
            None => assert!(present.blank),
            Some(b"") => assert!(present.blank && group.may_be_empty("c")),
            Some(text) => {
                assert!(present.filled && group.may_hold("c", text));
                assert!(group.texts("c").is_none_or(|bounds| bounds.may_hold(text)), "{cell:?}");
                match (Decimal::parse(text), group.numbers("c")) {
                    (None, _) => assert!(group.may_be_special_float("c")),
                    (_, NumberBounds::Unknown) => {}
                    (Some(number), NumberBounds::Between(min, max)) => {
                        assert!(min <= number && number <= max, "{cell:?}");
                    }
                    (Some(_), NumberBounds::NoNumbers) => panic!("{cell:?} is a number"),
                }
            }
        }
    }
}

/// Returns groups of so many cells, in which row `r` of all rows has the text `cell(r)`.
fn groups<'a>(
    texts: &'a mut Vec<String>,
    rows: usize,
    per_group: usize,
    cell: impl Fn(usize) -> String,
) -> Vec<Vec<Cell<'a>>> {
    *texts = (0..rows).map(cell).collect();
    texts
        .chunks(per_group)
        .map(|cells| cells.iter().map(|text| Some(text.as_str())).collect())
        .collect()
}

fn bounds(table: &TableStatistics, group: usize) -> Option<(String, String)> {
    match table.group(group, index).numbers("c") {
        NumberBounds::Between(min, max) => Some((min.to_string(), max.to_string())),
        _ => None,
    }
}

#[test]
fn numbers_in_order_have_exact_bounds() {
    let mut texts = Vec::new();
    let numbers = groups(&mut texts, 100, 10, |row| (row * 7).to_string());
    let table = table(StatisticsKind::Numbers, &numbers);
    assert_eq!(bounds(&table, 0), Some(("0".into(), "63".into())));
    assert_eq!(bounds(&table, 9), Some(("630".into(), "693".into())));
    assert!(!table.group(3, index).may_be_special_float("c"));
    let present = CellPresence { blank: false, filled: true };
    assert_eq!(table.group(3, index).cells("c"), present);
    // The statistics of a column that is not known say nothing.
    assert_eq!(table.group(3, index).numbers("other"), NumberBounds::Unknown);
    assert_eq!(table.group(3, index).cells("other"), CellPresence::default());
}

#[test]
fn decimals_are_rounded_outward() {
    let mut texts = Vec::new();
    let numbers = groups(&mut texts, 64, 8, |row| format!("{row}.{:019}1", row * 31));
    let table = table(StatisticsKind::Numbers, &numbers);
    let (min, max) = bounds(&table, 1).unwrap();
    let parse = |text: &str| Decimal::parse(text.as_bytes()).unwrap();
    assert!(parse(&min) <= parse(numbers[1][0].unwrap()) && parse(&min) > parse("7.9"));
    assert!(parse(&max) >= parse(numbers[1][7].unwrap()) && parse(&max) < parse("16"));
    // Numbers that are too far apart for 18 digits after the point.
    let wide = [vec![Some("1e-17"), Some("2")], vec![Some("1e25"), Some("3e25")]];
    let table = self::table(StatisticsKind::Numbers, &wide);
    assert_eq!(bounds(&table, 0), Some(("0".into(), "2".into())));
    let huge = [vec![Some("1")], vec![Some("1e300")]];
    assert_eq!(bounds(&self::table(StatisticsKind::Numbers, &huge), 0), None);
}

#[test]
fn bounds_that_skip_nothing_are_left_out() {
    let mut texts = Vec::new();
    let numbers = groups(&mut texts, 1000, 10, |row| (row * 7919 % 997).to_string());
    assert_eq!(written(StatisticsKind::Numbers, &numbers, 100).len(), 2);
    // They still tell where the largest numbers are, so that they stay next to a large column.
    let bytes = written(StatisticsKind::Numbers, &numbers, 1 << 20);
    assert!((200..500).contains(&bytes.len()), "{}", bytes.len());
    let words = groups(&mut texts, 1000, 100, |row| format!("word {}", row * 7919 % 11));
    assert_eq!(written(StatisticsKind::Texts, &words, 1 << 20).len(), 2);
}

#[test]
fn texts_have_bounds_after_their_common_prefix() {
    let mut texts = Vec::new();
    let times = groups(&mut texts, 600, 60, |row| {
        format!("2015-10-18 {:02}:{:02}:00.000", 10 + row / 60, row % 60)
    });
    let table = table(StatisticsKind::Texts, &times);
    let in_group = |text: &str| -> Vec<usize> {
        let may = |&group: &usize| {
            let group = table.group(group, index);
            group.texts("c").is_some_and(|texts| texts.may_hold(text.as_bytes()))
        };
        (0..10).filter(may).collect()
    };
    assert_eq!(in_group("2015-10-18 13:30:00.000"), [3]);
    assert_eq!(in_group("2015-10-18 19:59:00.000"), [9]);
    assert!(in_group("2016-10-18 19:59:00.000").is_empty());
    assert_eq!(table.group(0, index).numbers("c"), NumberBounds::NoNumbers);
}

#[test]
fn filters_skip_groups_and_keep_to_their_size() {
    let mut texts = Vec::new();
    let words = groups(&mut texts, 4000, 400, |row| format!("user {}", row * 7919 % 3989));
    let table = table(StatisticsKind::Texts, &words);
    let hits = |text: &str| {
        (0..10).filter(|&group| table.group(group, index).may_hold("c", text.as_bytes())).count()
    };
    assert!(hits("user 17") <= 3 && hits("nobody") <= 2);
    assert!(written(StatisticsKind::Texts, &words, 100).len() < 100);
    assert!(written(StatisticsKind::Texts, &words, 1 << 20).len() > 4000);
}

#[test]
fn blank_cells_and_odd_ones_are_known_by_group() {
    let cells = [
        vec![Some("1"), None],
        vec![None, None],
        vec![Some("2"), Some("NaN")],
        vec![Some("3"), Some("")],
    ];
    let table = table(StatisticsKind::Numbers, &cells);
    let group = |group| {
        let group = table.group(group, index);
        let CellPresence { blank, filled } = group.cells("c");
        [blank, filled, group.may_be_empty("c"), group.may_be_special_float("c")]
    };
    assert_eq!(group(0), [true, true, false, false]);
    assert_eq!(group(1), [true, false, false, false]);
    assert_eq!(group(2), [false, true, false, true]);
    assert_eq!(group(3), [true, true, true, false]);
    assert_eq!(table.group(1, index).numbers("c"), NumberBounds::NoNumbers);
    let nothing = self::table(StatisticsKind::Nothing, &cells);
    assert_eq!(nothing.group(1, index).cells("c"), CellPresence::default());
}

#[test]
fn texts_that_are_numbers_are_not_skipped() {
    let cells = [vec![Some("12"), Some("x")], vec![Some("y")], vec![Some("z")]];
    let table = table(StatisticsKind::Texts, &cells);
    assert_eq!(table.group(0, index).numbers("c"), NumberBounds::Unknown);
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut texts = Vec::new();
    let cells = groups(&mut texts, 500, 50, |row| format!("{}.5", row * 3));
    let mut all = written(StatisticsKind::Numbers, &cells, 0);
    let cells = groups(&mut texts, 500, 50, |row| format!("key {row:05}"));
    all.extend(written(StatisticsKind::Texts, &cells, 1 << 20));
    let cells = groups(&mut texts, 500, 50, |row| (row / 25 * 7 % 20).to_string());
    all.extend(written(StatisticsKind::Numbers, &cells, 1 << 20));
    let intact = read(&all, 10, 3).unwrap();
    assert!(intact.integers(7, 2, &DataType::Int32).is_some());
    let mut refused = 0;
    for at in 0..all.len() {
        for bit in 0..8 {
            let mut bytes = all.clone();
            bytes[at] ^= 1 << bit;
            let bytes = Bytes::from(bytes);
            let mut stream = StreamCursor::new("hyp.groups", &bytes);
            match TableStatistics::read(&mut stream, &bytes, 10, 3) {
                Err(_) => refused += 1,
                Ok(table) => {
                    let group = table.group(7, index);
                    let _ = (group.numbers("c"), group.texts("c"), group.may_hold("c", b"x"));
                    let _ = table.integers(7, 2, &DataType::Int32);
                }
            }
        }
        assert!(
            TableStatistics::read(
                &mut StreamCursor::new("hyp.groups", &all[..at]),
                &Bytes::copy_from_slice(&all[..at]),
                10,
                3
            )
            .is_err()
        );
    }
    assert!(refused > 20);
}
