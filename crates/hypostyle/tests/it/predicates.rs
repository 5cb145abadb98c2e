//! Predicates match the rows that they match in `DuckDB`, whatever the encoding of a column.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, RunArray};
use arrow_schema::{DataType, Field, Schema};
use hypostyle::predicate::Predicate;
use hypostyle_testkit::predicates::{cases, table};

/// Returns the rows that match, or what is wrong with the predicate.
fn matching(batch: &RecordBatch, text: &str) -> Result<Vec<usize>, String> {
    let bound = Predicate::parse(text).and_then(|predicate| predicate.bind(batch.schema_ref()));
    let bound = bound.map_err(|error| error.to_string())?;
    let (rows, mut input) = (batch.num_rows(), batch);
    let truths = bound.evaluate(rows, &mut input).map_err(|error| error.to_string())?;
    let matches = bound.matches(rows, &mut input).map_err(|error| error.to_string())?;
    let is_true = |row: &usize| truths.is_valid(*row) && truths.value(*row);
    let found: Vec<usize> = (0..rows).filter(is_true).collect();
    let selected: Vec<usize> = (0..rows).filter(|row| matches.value(*row)).collect();
    assert_eq!(found, selected, "{text}: `evaluate` and `matches` differ");
    assert_eq!(matches.null_count(), 0, "{text}");
    Ok(found)
}

/// Compares all cases with the rows that a batch gives.
fn check(batch: &RecordBatch) {
    let mut wrong = String::new();
    for case in cases() {
        let found = matching(batch, &case.predicate);
        if found.as_ref() != Ok(&case.rows) {
            wrong += &format!(
                "\n{}\n    expected {:?}\n    found    {found:?}",
                case.predicate, case.rows
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the batch with each column replaced.
fn map_columns(batch: &RecordBatch, map: impl Fn(&ArrayRef) -> ArrayRef) -> RecordBatch {
    let columns: Vec<ArrayRef> = batch.columns().iter().map(map).collect();
    let fields = batch
        .schema_ref()
        .fields()
        .iter()
        .zip(&columns)
        .map(|(field, column)| Field::new(field.name(), column.data_type().clone(), true));
    let schema = Schema::new(fields.collect::<Vec<_>>());
    RecordBatch::try_new(Arc::new(schema), columns).unwrap()
}

#[test]
fn there_are_many_cases_of_every_type() {
    let cases = cases();
    assert!(cases.len() > 350, "{}", cases.len());
    for field in table().schema().fields() {
        let named = |text: &str| {
            let predicate = Predicate::parse(text).unwrap();
            predicate
                .columns()
                .iter()
                .any(|column| column.split(['.', '[']).next() == Some(field.name()))
        };
        assert!(field.name() == "id" || cases.iter().any(|case| named(&case.predicate)), "{field}");
    }
}

#[test]
fn predicates_mean_what_they_mean_in_duckdb() {
    check(&table());
}

#[test]
fn printed_predicates_mean_the_same() {
    let batch = table();
    for case in cases() {
        let printed = Predicate::parse(&case.predicate).unwrap().to_string();
        assert_eq!(matching(&batch, &printed).as_ref(), Ok(&case.rows), "{printed}");
    }
}

#[test]
fn dictionaries_are_tested_by_their_entries() {
    check(&map_columns(&table(), |column| {
        let to =
            DataType::Dictionary(Box::new(DataType::Int16), Box::new(column.data_type().clone()));
        arrow_cast::cast(column, &to).unwrap_or_else(|_| column.clone())
    }));
}

#[test]
fn runs_are_tested_once() {
    check(&map_columns(&table(), |column| {
        let ends: Vec<i32> = (1..).take(column.len()).collect();
        let ends = arrow_array::PrimitiveArray::<Int32Type>::from(ends);
        Arc::new(RunArray::try_new(&ends, column).unwrap())
    }));
}

#[test]
fn string_views_and_large_strings_are_strings() {
    for (text, binary) in
        [(DataType::Utf8View, DataType::BinaryView), (DataType::LargeUtf8, DataType::LargeBinary)]
    {
        check(&map_columns(&table(), |column| match column.data_type() {
            DataType::Utf8 => arrow_cast::cast(column, &text).unwrap(),
            DataType::Binary => arrow_cast::cast(column, &binary).unwrap(),
            _ => column.clone(),
        }));
    }
}

/// Rows of a slice have an offset in their buffers.
#[test]
fn slices_give_their_rows() {
    let batch = table();
    for (start, len) in [(0, 0), (3, 9), (15, 1)] {
        let slice = batch.slice(start, len);
        for case in cases() {
            let want: Vec<usize> = case
                .rows
                .iter()
                .filter(|row| (start..start + len).contains(row))
                .map(|row| row - start)
                .collect();
            assert_eq!(matching(&slice, &case.predicate), Ok(want), "{}", case.predicate);
        }
    }
}
