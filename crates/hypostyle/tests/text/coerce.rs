//! Coerces tables of any types to the types that a format stores.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float32Array, Int8Array, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt32Array, UInt64Array,
};
use arrow_schema::DataType::{Float64, Int32, Int64, LargeUtf8, Utf8};
use hypostyle::coerce::{CoerceOptions, CoercedTable};
use hypostyle::formats::ColumnType;
use hypostyle::{ColumnSource, ErrorKind, Result, WriteOptions, formats};

use crate::support::{EVERYTHING, capabilities, column, nothing, read, some, store, types};

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

#[test]
fn types_that_a_target_lacks_become_types_that_represent_them() {
    let table = batch(vec![
        ("small", Arc::new(Int8Array::from(vec![-1, 1]))),
        ("fits", Arc::new(Int64Array::from(vec![-1, 1]))),
        ("u32", Arc::new(UInt32Array::from(vec![u32::MAX, 1]))),
        ("u64", Arc::new(UInt64Array::from(vec![u64::MAX, 1]))),
        ("f32", Arc::new(Float32Array::from(vec![0.5, f32::INFINITY]))),
        ("bool", Arc::new(BooleanArray::from(vec![true, false]))),
        ("date", Arc::new(Date32Array::from(vec![0, 19_782]))),
        ("large", Arc::new(LargeStringArray::from(vec!["a", ""]))),
        ("view", Arc::new(StringViewArray::from(vec!["a", ""]))),
    ]);
    let coerced = |target| {
        let coerced = CoercedTable::try_new(&table, target, &CoerceOptions::default()).unwrap();
        (types(&coerced), (0..9).map(|index| column(&coerced, index)).collect::<Vec<_>>())
    };
    let (narrow, cells) = coerced(nothing());
    assert_eq!(narrow, [Int32, Int32, Utf8, Utf8, Float64, Utf8, Utf8, LargeUtf8, Utf8]);
    let want = [
        ["-1", "1"],
        ["-1", "1"],
        ["4294967295", "1"],
        ["18446744073709551615", "1"],
        ["0.5", "Infinity"],
        ["true", "false"],
        ["1970-01-01", "2024-02-29"],
        ["a", ""],
        ["a", ""],
    ];
    for (cells, want) in cells.iter().zip(&want) {
        assert_eq!(*cells, some(want));
    }
    let (wide, cells) = coerced(EVERYTHING);
    assert_eq!(wide, [Int32, Int64, Int64, Utf8, Float64, Utf8, Utf8, LargeUtf8, Utf8]);
    for (cells, want) in cells.iter().zip(&want) {
        assert_eq!(*cells, some(want));
    }
    // Every format can then store the table.
    for format in formats::tables() {
        let reader = store(format, &table).unwrap();
        assert_eq!(reader.rows(), 2, "{}", format.id());
    }
}

#[test]
fn an_integer_that_does_not_fit_is_refused_or_becomes_text_on_request() {
    let table = batch(vec![("n", Arc::new(Int64Array::from(vec![1, 1 << 40])))]);
    let colm = formats::by_name("colm").unwrap();
    let err = store(colm, &table).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::Refused { .. }), "{err}");
    assert_eq!(err.column().map(|c| c.index), Some(0), "{err}");
    let types = vec![("n".to_owned(), ColumnType::Text.into())];
    let options = CoerceOptions { types, ..CoerceOptions::default() };
    let coerced = CoercedTable::try_new(&table, colm.capabilities(), &options).unwrap();
    assert_eq!(column(&coerced, 0), some(&["1", "1099511627776"]));
    colm.encode(&coerced, &mut Vec::new(), &WriteOptions::default()).unwrap();
}

#[test]
fn null_becomes_a_word_for_a_target_without_nulls() {
    let table = batch(vec![
        ("n", Arc::new(Int32Array::from(vec![Some(1), None]))),
        ("t", Arc::new(StringArray::from(vec![None, Some("x")]))),
        ("full", Arc::new(Int32Array::from(vec![1, 2]))),
    ]);
    let options = CoerceOptions { null_word: Some("NA".to_owned()), ..CoerceOptions::default() };
    let coerced = CoercedTable::try_new(&table, nothing(), &options).unwrap();
    assert_eq!(types(&coerced), [Utf8, Utf8, Int32]);
    assert_eq!(column(&coerced, 0), some(&["1", "NA"]));
    assert_eq!(column(&coerced, 1), some(&["NA", "x"]));
    assert_eq!(coerced.stats(0).unwrap().nulls, 0);
    // A target with nulls does not need the word.
    let coerced = CoercedTable::try_new(&table, capabilities("colf"), &options).unwrap();
    assert_eq!(types(&coerced), [Int32, Utf8, Int32]);
    assert_eq!(column(&coerced, 0), [Some("1".to_owned()), None]);
}

fn requested(table: &dyn ColumnSource, name: &str, cell_type: ColumnType) -> Result<Vec<ArrayRef>> {
    let types = vec![(name.to_owned(), cell_type.into())];
    let options = CoerceOptions { types, ..CoerceOptions::default() };
    CoercedTable::try_new(table, EVERYTHING, &options)?.column(0)
}

#[test]
fn a_requested_type_is_used_or_refused_by_row() {
    // With two blocks, rows must still count from the start of the table.
    let long = "x".repeat(60_000);
    let rows: String = (0..150).map(|row| format!("{row},{long}\n")).collect();
    let table = read(format!("n,t\n{rows}word,\n")).unwrap();
    assert!(table.batches.len() > 1);
    let err = requested(&table, "n", ColumnType::Int32).unwrap_err();
    assert_eq!(err.row(), Some(150), "{err}");
    assert_eq!(requested(&table, "n", ColumnType::Text).unwrap().len(), table.batches.len());
    let err = requested(&table, "other", ColumnType::Text).unwrap_err();
    assert!(matches!(err.kind(), ErrorKind::InvalidArgument(_)), "{err}");
}
