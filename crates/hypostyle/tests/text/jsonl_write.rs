//! The JSON Lines writer.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int32Array,
    Int64Array, LargeStringArray, NullArray, RecordBatch, RunArray, StringArray, UInt64Array,
};
use arrow_schema::{Field, Schema};

use crate::support::{column, read_json, to_json, types};

fn written(columns: Vec<(&str, ArrayRef)>) -> String {
    let fields =
        columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true));
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let columns = columns.into_iter().map(|(_, array)| array).collect();
    to_json(&[RecordBatch::try_new(schema, columns).unwrap()])
}

#[test]
fn numbers_are_numbers_and_null_is_null() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![Some(-5), None]))),
        ("l", Arc::new(Int64Array::from(vec![i64::MIN, i64::MAX]))),
        ("f", Arc::new(Float64Array::from(vec![Some(2.0), None]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("t", Arc::new(StringArray::from(vec![Some(""), None]))),
    ];
    assert_eq!(
        written(columns),
        "{\"i\":-5,\"l\":-9223372036854775808,\"f\":2.0,\"b\":true,\"t\":\"\"}\n\
         {\"i\":null,\"l\":9223372036854775807,\"f\":null,\"b\":null,\"t\":null}\n"
    );
}

#[test]
fn floats_that_json_lacks_are_strings() {
    let floats = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300, 5e-324];
    assert_eq!(
        written(vec![("f", Arc::new(Float64Array::from(floats)))]),
        "{\"f\":\"NaN\"}\n{\"f\":\"Infinity\"}\n{\"f\":\"-Infinity\"}\n{\"f\":-0.0}\n{\"f\":1e300}\n{\"f\":5e-324}\n"
    );
    let floats = vec![f32::NAN, f32::NEG_INFINITY, 0.1];
    assert_eq!(
        written(vec![("f", Arc::new(Float32Array::from(floats)))]),
        "{\"f\":\"NaN\"}\n{\"f\":\"-Infinity\"}\n{\"f\":0.1}\n"
    );
}

#[test]
fn encoded_arrays_are_written_as_their_values() {
    let texts: DictionaryArray<Int8Type> = [Some("a"), None].into_iter().collect();
    let ints = Int32Array::from(vec![Some(7), None]);
    let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 2]), &ints).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("u", Arc::new(UInt64Array::from(vec![Some(u64::MAX), None]))),
        ("s", Arc::new(Int8Array::from(vec![Some(-1), None]))),
        ("large", Arc::new(LargeStringArray::from(vec![Some("x"), None]))),
        ("dictionary", Arc::new(texts)),
        ("runs", Arc::new(runs)),
        ("nothing", Arc::new(NullArray::new(2))),
    ];
    assert_eq!(
        written(columns),
        "{\"u\":18446744073709551615,\"s\":-1,\"large\":\"x\",\"dictionary\":\"a\",\"runs\":7,\"nothing\":null}\n\
         {\"u\":null,\"s\":null,\"large\":null,\"dictionary\":null,\"runs\":null,\"nothing\":null}\n"
    );
}

#[test]
fn text_and_names_are_escaped_and_come_back() {
    let nasty = "\"\\/\u{8}\u{c}\n\r\t\0\u{1f}\u{7f}\u{2028}é😀\u{FEFF}";
    let text = written(vec![(nasty, Arc::new(StringArray::from(vec![nasty])))]);
    assert_eq!(text.lines().count(), 1);
    let table = read_json(&text).unwrap();
    assert_eq!(column(&table, 0), [Some(nasty.to_owned())]);
    assert_eq!(table.batches[0].schema().field(0).name(), nasty);
}

#[test]
fn what_is_written_is_read_back_with_its_types() {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int32Array::from(vec![Some(-5), None]))),
        ("l", Arc::new(Int64Array::from(vec![1 << 40, 0]))),
        ("f", Arc::new(Float64Array::from(vec![Some(2.0), Some(-0.0)]))),
        ("b", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("t", Arc::new(StringArray::from(vec![Some(""), None]))),
    ];
    let want: Vec<_> = columns.iter().map(|(_, array)| array.data_type().clone()).collect();
    let text = written(columns);
    let table = read_json(&text).unwrap();
    assert_eq!(types(&table), want);
    assert_eq!(to_json(&table.batches), text);
}
