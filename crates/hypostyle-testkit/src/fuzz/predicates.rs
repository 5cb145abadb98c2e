//! Predicates of any text, evaluated on all rows at once and row by row.

use std::sync::{Arc, OnceLock};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringArray,
};
use hypostyle::predicate::Predicate;

/// Parses any text as a predicate. What is printed is parsed as the same predicate, and evaluating
/// it on many rows gives what evaluating it row by row gives.
pub fn any_predicate(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(predicate) = Predicate::parse(text) else { return };
    let printed = predicate.to_string();
    let again = Predicate::parse(&printed)
        .unwrap_or_else(|err| unreachable!("`{text}` is printed as `{printed}`: {err}"));
    assert_eq!(again.to_string(), printed, "`{text}` is printed in two ways");
    let table = table();
    let (Ok(bound), Ok(rebound)) =
        (predicate.bind(table.schema_ref()), again.bind(table.schema_ref()))
    else {
        assert!(predicate.bind(table.schema_ref()).is_err(), "`{printed}` cannot be bound");
        assert!(again.bind(table.schema_ref()).is_err(), "`{text}` cannot be bound");
        return;
    };
    let whole = bound.evaluate(table.num_rows(), &mut &*table);
    let Ok(whole) = whole else { return };
    let printed_whole = rebound.evaluate(table.num_rows(), &mut &*table);
    assert_eq!(printed_whole.ok().as_ref(), Some(&whole), "`{text}` is not `{printed}`");
    for row in 0..table.num_rows() {
        let one = table.slice(row, 1);
        let alone = bound.evaluate(1, &mut &one).unwrap_or_else(|err| {
            unreachable!("`{text}` succeeds on all rows, and fails on row {row}: {err}")
        });
        assert_eq!(alone, whole.slice(row, 1), "`{text}` on row {row}");
    }
    let matching = bound.matches(table.num_rows(), &mut &*table).unwrap();
    for row in 0..table.num_rows() {
        let is_true = !arrow_array::Array::is_null(&whole, row) && whole.value(row);
        assert_eq!(matching.value(row), is_true, "`{text}` matches row {row}");
    }
}

fn table() -> &'static RecordBatch {
    static TABLE: OnceLock<RecordBatch> = OnceLock::new();
    TABLE.get_or_init(|| {
        let columns: [(&str, ArrayRef); 6] = [
            (
                "i",
                Arc::new(Int32Array::from(vec![Some(0), Some(-5), None, Some(i32::MAX), Some(7)])),
            ),
            (
                "l",
                Arc::new(Int64Array::from(vec![
                    None,
                    Some(i64::MIN),
                    Some(1),
                    Some(i64::MAX),
                    Some(7),
                ])),
            ),
            (
                "f",
                Arc::new(Float64Array::from(vec![
                    Some(0.5),
                    Some(f64::NAN),
                    Some(-0.0),
                    None,
                    Some(f64::INFINITY),
                ])),
            ),
            (
                "s",
                Arc::new(StringArray::from(vec![
                    Some("a"),
                    Some(""),
                    None,
                    Some("5"),
                    Some("Äb%_"),
                ])),
            ),
            (
                "b",
                Arc::new(BooleanArray::from(vec![Some(true), None, Some(false), Some(true), None])),
            ),
            (
                "d",
                Arc::new(Date32Array::from(vec![
                    Some(0),
                    Some(19_000),
                    None,
                    Some(-1),
                    Some(20_000),
                ])),
            ),
        ];
        RecordBatch::try_from_iter_with_nullable(
            columns.into_iter().map(|(name, array)| (name, array, true)),
        )
        .unwrap()
    })
}
