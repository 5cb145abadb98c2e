//! Translated predicates, compared with the filters of the engine on values of every type.

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, RecordBatch,
    StringArray, StringViewArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt32Array, UInt64Array,
};
use datafusion::arrow::datatypes::{Field, Int32Type};
use datafusion::physical_expr::expressions::{
    InListExpr, binary, cast, in_list, is_not_null, is_null, like, lit as literal_expr, not,
};

use super::*;

const OPERATORS: [Operator; 6] =
    [Operator::Eq, Operator::NotEq, Operator::Lt, Operator::LtEq, Operator::Gt, Operator::GtEq];

/// One column of each type, with values at its edges, and null last.
fn columns() -> Vec<ArrayRef> {
    fn with_null<T>(values: impl IntoIterator<Item = T>) -> Vec<Option<T>> {
        values.into_iter().map(Some).chain([None]).collect()
    }
    let floats = [
        0.0,
        -0.0,
        1.5,
        -1.5,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        -f64::NAN,
        5e-324,
    ];
    #[expect(clippy::cast_possible_truncation, reason = "the values saturate")]
    let small = floats.map(|value| value as f32);
    let texts = [
        "", "a", "A", "ab", "b", "ä", "Äx", "a\nb", "a%", "12", "ﬀ", "k", "K", "\u{212a}", "s",
        "S", "\u{17f}", "i", "I", "\u{130}", "\u{131}x", "\\", "a\\", "_", "a\\b", "ß", "ς",
    ];
    let times = [0, 1, -1, 1_700_000_000_123_456, -1_000_000, 951_782_400_000_000];
    let days = [0, 1, -1, 19_000, -719_162, 2_932_896, i32::MAX, i32::MIN];
    vec![
        Arc::new(Int8Array::from(with_null([0, 1, -1, i8::MAX, i8::MIN]))),
        Arc::new(Int32Array::from(with_null([0, 1, -1, i32::MAX, i32::MIN]))),
        Arc::new(Int64Array::from(with_null([0, 1, -1, i64::MAX, i64::MIN, (1 << 53) + 1]))),
        Arc::new(UInt32Array::from(with_null([0, 1, u32::MAX]))),
        Arc::new(UInt64Array::from(with_null([0, 1, u64::MAX, 1 << 63]))),
        Arc::new(Float64Array::from(with_null(floats))),
        Arc::new(Float32Array::from(with_null(small))),
        Arc::new(BooleanArray::from(with_null([true, false]))),
        Arc::new(StringArray::from(with_null(texts))),
        Arc::new(LargeStringArray::from(with_null(texts))),
        Arc::new(StringViewArray::from(with_null(texts))),
        Arc::new(DictionaryArray::<Int32Type>::from_iter(with_null(texts))),
        Arc::new(Date32Array::from(with_null(days))),
        Arc::new(TimestampMicrosecondArray::from(with_null(times))),
        Arc::new(TimestampNanosecondArray::from(with_null(times))),
        Arc::new(TimestampSecondArray::from(with_null([0, 1, -1, 1_700_000_000]))),
        Arc::new(TimestampMicrosecondArray::from(with_null(times)).with_timezone("UTC")),
        Arc::new(TimestampMicrosecondArray::from(with_null(times)).with_timezone("+02:00")),
        Arc::new(
            TimestampMicrosecondArray::from(with_null(times)).with_timezone("America/New_York"),
        ),
        Arc::new(
            Decimal128Array::from(with_null([0, 1, -1, 150, -150, 99_999]))
                .with_precision_and_scale(5, 2)
                .unwrap(),
        ),
    ]
}

struct Case {
    batch: RecordBatch,
    column: Arc<dyn PhysicalExpr>,
    values: Vec<ScalarValue>,
}

fn cases() -> impl Iterator<Item = Case> {
    columns().into_iter().map(|array| {
        let field = Field::new("c", array.data_type().clone(), true);
        let values = (0..array.len()).map(|row| ScalarValue::try_from_array(&array, row).unwrap());
        let values = values.collect();
        let batch = RecordBatch::try_new(Arc::new(Schema::new(vec![field])), vec![array]).unwrap();
        Case { batch, column: Arc::new(Column::new("c", 0)), values }
    })
}

/// Compares a filter with its translation; returns the translation.
fn check(filter: &Arc<dyn PhysicalExpr>, batch: &RecordBatch) -> Option<Translation> {
    let schema = batch.schema();
    let found = translate(filter, &schema)?;
    let rows = batch.num_rows();
    let expected = filter.evaluate(batch).unwrap().into_array(rows).unwrap();
    let expected = expected.as_boolean();
    let predicate = hypostyle::predicate::Predicate::from(found.expr.clone());
    let bound = predicate.bind(&schema).unwrap_or_else(|err| panic!("{filter}: {err}"));
    let matches = bound.matches(rows, &mut &*batch).unwrap();
    for row in 0..rows {
        let is_true = expected.is_valid(row) && expected.value(row);
        if found.is_exact {
            let value = batch.column(0).slice(row, 1);
            assert_eq!(
                matches.value(row),
                is_true,
                "{filter} as {predicate}: row {row}, {value:?}"
            );
        } else {
            assert!(matches.value(row) || !is_true, "{filter} as {predicate}: row {row} is lost");
        }
    }
    Some(found)
}

#[test]
fn comparisons_mean_what_they_mean_in_the_engine() {
    for Case { batch, column, values } in cases() {
        let schema = batch.schema();
        let of = schema.field(0).data_type();
        let (mut translated, mut exact) = (0, 0);
        for op in OPERATORS {
            for value in &values {
                let value = literal_expr(value.clone());
                for (left, right) in [(&column, &value), (&value, &column)] {
                    let filter = binary(left.clone(), op, right.clone(), &schema).unwrap();
                    let found = check(&filter, &batch);
                    translated += usize::from(found.is_some());
                    exact += usize::from(found.is_some_and(|found| found.is_exact));
                    // Nothing under a negation may be wider.
                    check(&not(filter.clone()).unwrap(), &batch);
                    let pair = binary(filter.clone(), Operator::Or, filter, &schema).unwrap();
                    check(&not(pair).unwrap(), &batch);
                }
            }
        }
        assert!(translated > 0, "{of}");
        assert_eq!(exact > 0, !is_float(of), "{of}");
    }
}

#[test]
fn lists_and_nulls_mean_what_they_mean_in_the_engine() {
    for Case { batch, column, values } in cases() {
        let schema = batch.schema();
        for filter in [is_null(column.clone()), is_not_null(column.clone())] {
            assert!(check(&filter.unwrap(), &batch).is_some_and(|found| found.is_exact));
        }
        for length in 1..=values.len() {
            for is_negated in [false, true] {
                let list: Vec<_> = values.iter().take(length).cloned().map(literal_expr).collect();
                let filter = in_list(column.clone(), list, &is_negated, &schema).unwrap();
                assert!(filter.is::<InListExpr>());
                let found = check(&filter, &batch);
                // Some dates have years that are not written with four digits.
                match schema.field(0).data_type() {
                    DataType::Date32 => {}
                    of => assert_eq!(found.is_some(), !is_float(of), "{filter}"),
                }
                check(&not(filter).unwrap(), &batch);
            }
        }
    }
}

#[test]
fn patterns_mean_what_they_mean_in_the_engine() {
    let patterns = [
        "", "%", "a", "a%", "%b", "%a%", "_", "__", "a_b", "%\\%", "a\\%", "ä", "_%_", "\\",
        "\\\\", "a\\", "\\a%", "\\_", "K", "%s%", "I%", "\\s", "Ä_", "a\\\\%",
    ];
    for Case { batch, column, .. } in cases() {
        let schema = batch.schema();
        let of = schema.field(0).data_type();
        if !matches!(of, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
            continue;
        }
        for pattern in patterns {
            let text = ScalarValue::Utf8(Some(pattern.to_owned())).cast_to(of).unwrap();
            let has_cases = |c: char| !c.is_ascii() || "si".contains(c.to_ascii_lowercase());
            for (is_negated, any_case) in
                [(false, false), (true, false), (false, true), (true, true)]
            {
                let pattern_expr = literal_expr(text.clone());
                let filter =
                    like(is_negated, any_case, column.clone(), pattern_expr, &schema).unwrap();
                let found = check(&filter, &batch);
                let is_exact = !any_case || !pattern.contains(has_cases);
                let expected = (is_exact || !is_negated).then_some(is_exact);
                assert_eq!(found.map(|found| found.is_exact), expected, "{filter}");
                check(&not(filter).unwrap(), &batch);
            }
        }
    }
}

#[test]
fn sums_with_constants_say_where_the_column_lies() {
    for Case { batch, column, values } in cases() {
        let schema = batch.schema();
        let of = schema.field(0).data_type().clone();
        if !of.is_integer() {
            continue;
        }
        let constants = values.iter().filter(|value| !value.is_null());
        let small = ScalarValue::Int64(Some(3)).cast_to(&of).unwrap();
        let constants: Vec<&ScalarValue> = constants.chain([&small]).collect();
        for (op, constant) in [Operator::Plus, Operator::Minus]
            .into_iter()
            .flat_map(|op| constants.iter().map(move |constant| (op, *constant)))
        {
            let constant = literal_expr(constant.clone());
            for (left, right) in [(&column, &constant), (&constant, &column)] {
                let sum = binary(left.clone(), op, right.clone(), &schema).unwrap();
                for (compare, value) in OPERATORS
                    .into_iter()
                    .flat_map(|op| constants.iter().map(move |value| (op, *value)))
                {
                    let value = literal_expr(value.clone());
                    let filter = binary(sum.clone(), compare, value, &schema).unwrap();
                    assert!(check(&filter, &batch).is_some(), "{filter}");
                    check(&not(filter).unwrap(), &batch);
                }
            }
        }
        // The engine computes sums of small columns in 64 bits, where none wraps around.
        if of == DataType::Int32 {
            let wide = cast(column.clone(), &schema, DataType::Int64).unwrap();
            let sum = binary(wide, Operator::Plus, literal_expr(1_i64), &schema).unwrap();
            let filter = binary(sum, Operator::Gt, literal_expr(0_i64), &schema).unwrap();
            assert!(check(&filter, &batch).is_some_and(|found| found.is_exact), "{filter}");
        }
    }
}

#[test]
fn casts_that_keep_values_are_looked_through() {
    let array: ArrayRef = Arc::new(Int32Array::from(vec![Some(1), Some(-3), Some(i32::MAX), None]));
    let batch = RecordBatch::try_from_iter([("c", array)]).unwrap();
    let schema = batch.schema();
    let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new("c", 0));
    for op in OPERATORS {
        for value in [0.5, 1.0, -3.0, 2_147_483_647.0, 1e300, f64::NAN, f64::INFINITY, -0.0] {
            let wide = cast(column.clone(), &schema, DataType::Float64).unwrap();
            let filter = binary(wide, op, literal_expr(value), &schema).unwrap();
            let found = check(&filter, &batch);
            assert_eq!(found.is_some(), value.is_finite(), "{filter}");
        }
        for value in [1_i64, i64::MAX, -3] {
            let wide = cast(column.clone(), &schema, DataType::Int64).unwrap();
            let filter = binary(wide, op, literal_expr(value), &schema).unwrap();
            assert!(check(&filter, &batch).is_some_and(|found| found.is_exact), "{filter}");
        }
    }
    let narrow = cast(column, &schema, DataType::Int8).unwrap();
    let filter = binary(narrow, Operator::Eq, literal_expr(1_i8), &schema).unwrap();
    assert!(translate(&filter, &schema).is_none());
}
