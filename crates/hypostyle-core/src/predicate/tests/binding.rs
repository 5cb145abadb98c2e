//! Binding: names, paths, types and errors; and which columns an evaluation asks for.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array,
    ListArray, RecordBatch, StringArray, StructArray,
};
use arrow_schema::{DataType, Field, Schema, TimeUnit};

use super::parsed;
use crate::error::Result;
use crate::predicate::{
    BoundPredicate, CellPresence, ColumnFilter, PredicateInput, PruningStatistics, SearchForm,
};

fn schema() -> Schema {
    let inner = Field::new("c", DataType::Int64, true);
    let items = DataType::new_list(DataType::Struct(vec![inner].into()), true);
    let members = vec![
        Field::new("b", items, true),
        Field::new("d.e", DataType::Utf8, true),
        Field::new("d", DataType::Int32, true),
    ];
    Schema::new(vec![
        Field::new("n", DataType::Int32, true),
        Field::new("t", DataType::Utf8, true),
        Field::new("a", DataType::Struct(members.into()), true),
        Field::new("a.d", DataType::Boolean, true),
        Field::new("day", DataType::Date32, true),
        Field::new("at", DataType::Timestamp(TimeUnit::Second, Some("Europe/Berlin".into())), true),
        Field::new("bytes", DataType::Binary, true),
        Field::new("list", DataType::new_list(DataType::Utf8, true), true),
        Field::new("first-name", DataType::Utf8, true),
        Field::new("twice", DataType::Utf8, true),
        Field::new("twice", DataType::Utf8, true),
        Field::new("p", DataType::Boolean, true),
    ])
}

fn bind(text: &str) -> Result<BoundPredicate> {
    parsed(text).bind(&schema())
}

#[test]
fn names_and_paths_are_found() {
    for (text, columns) in [
        ("n = 1 and t = 'x' and n > 0", &[0, 1][..]),
        ("a.b[0].c = 1", &[2]),
        ("a.b is null and a is null", &[2]),
        // A column of that name wins over the path, and the longest member over others.
        ("a.d", &[3]),
        ("a.d.e like 'x'", &[2]),
        ("\"a\".\"d.e\" = 'x'", &[2]),
        ("list[3] = 'x' or list is null", &[7]),
        ("\"first-name\" = 'x'", &[8]),
        ("1 = 1", &[]),
    ] {
        let bound = bind(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(bound.columns(), columns, "{text}");
    }
}

#[test]
fn errors_name_what_is_wrong() {
    for (text, want) in [
        ("N = 1", "no column named `N`; did you mean `n`?"),
        (
            "first-name = 'x'",
            "no column named `first`; did you mean \"first-name\", in double quotes?",
        ),
        ("twice = 'x'", "several columns are named `twice`"),
        ("n.x = 1", "no column named `n.x`: `n` has the type Int32, which has no parts"),
        ("a.x = 1", "no column named `a.x`: `a` is a struct with the members `b`, `d.e`, `d`"),
        (
            "a.b.c = 1",
            "no column named `a.b.c`: `a.b` is a list: its elements are `[0]`, `[1]` and so on",
        ),
        ("a.b[0][1] = 1", "no column named `a.b[0][1]`: `a.b[0]` is a struct with the members `c`"),
        ("n = 'x'", "'x' is no number, but it is compared with the column `n` of type Int32"),
        ("n in (1, 'x')", "'x' is no number, but it is compared with the column `n` of type Int32"),
        ("n = 'nan'", "'nan' is no number, but it is compared with the column `n` of type Int32"),
        ("day = 'x'", "'x' is no date, but it is compared with the column `day` of type Date32"),
        ("day > 5", "the column `day` of type Date32 cannot be compared with 5"),
        ("p = 'x'", "'x' is no boolean, but it is compared with the column `p` of type Boolean"),
        ("bytes = 5", "the column `bytes` of type Binary cannot be compared with 5"),
        (
            "bytes = '\\x1'",
            "'\\x1' is no bytes, but it is compared with the column `bytes` of type Binary",
        ),
        ("list = 'x'", "the column `list` of type List(Utf8) cannot be compared with 'x'"),
        (
            "n like '1%'",
            "`like` needs text, found the column `n` of type Int32; write `cast(n as varchar)`",
        ),
        (
            "lower(n) = 'x'",
            "`lower` needs text, found the column `n` of type Int32; write `cast(n as varchar)`",
        ),
        ("p + 1 = 2", "`+` needs a number, found the column `p` of type Boolean"),
        ("'x' + 1 = 2", "`+` needs a number, found 'x'"),
        ("day * 2 = 2", "`*` cannot be computed for the column `day` of type Date32 and 2"),
        ("day", "expected a condition, found the column `day` of type Date32"),
        (
            "n = day",
            "the column `n` of type Int32 cannot be compared with the column `day` of type Date32",
        ),
        ("cast('x' as integer) = n", "row 1: 'x' cannot be cast to Int32"),
        ("date '2024-13-01' = day", "row 1: '2024-13-01' cannot be cast to Date32"),
        (
            "cast(list as varchar) = 'x'",
            "the column `list` of type List(Utf8) cannot be cast to Utf8",
        ),
    ] {
        let error = bind(text).map(|_| ()).expect_err(text).to_string();
        assert_eq!(error, want, "{text}");
    }
}

/// Columns that count how often they are asked for, and know the answer to some tests.
struct Asked {
    batch: RecordBatch,
    columns: Vec<usize>,
    tests: Vec<String>,
    knows: bool,
}

impl Asked {
    fn new(knows: bool) -> Self {
        let words: DictionaryArray<Int32Type> =
            [Some("x"), None, Some("y"), Some("x")].into_iter().collect();
        let columns: [(&str, ArrayRef); 4] = [
            ("n", Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]))),
            ("t", Arc::new(StringArray::from(vec![Some("a"), Some("b"), Some(""), None]))),
            ("word", Arc::new(words)),
            ("f", Arc::new(Float64Array::from(vec![0.5, -0.0, f64::NAN, f64::INFINITY]))),
        ];
        let columns = columns.map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
        Self { batch, columns: vec![], tests: vec![], knows }
    }

    fn evaluate(&mut self, text: &str) -> Vec<Option<bool>> {
        let bound = parsed(text).bind(self.batch.schema_ref()).unwrap();
        bound.evaluate(4, self).unwrap().iter().collect()
    }

    fn matches(&mut self, text: &str) -> Vec<bool> {
        let bound = parsed(text).bind(self.batch.schema_ref()).unwrap();
        bound.matches(4, self).unwrap().values().iter().collect()
    }
}

impl PredicateInput for Asked {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        self.columns.push(column);
        Ok(self.batch.column(column).clone())
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        test: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        self.tests.push(format!("{column} {:?}", test.search().map(|search| search.form)));
        if !self.knows || column != 1 {
            return Ok(None);
        }
        let texts = self.batch.column(1).as_string::<i32>().iter();
        Ok(Some(texts.map(|cell| test.test(cell.map(str::as_bytes))).collect()))
    }
}

#[test]
fn columns_that_cannot_matter_are_not_asked_for() {
    // No row has a number above 9, so the texts do not matter; row 2 is unknown.
    let mut asked = Asked::new(false);
    assert_eq!(asked.matches("t like '%a%' and n > 9"), [false; 4]);
    assert_eq!((asked.columns.as_slice(), asked.tests.len()), (&[0][..], 0));
    // The exact truth of row 2 depends on the text.
    let mut asked = Asked::new(false);
    let exact = asked.evaluate("t like '%a%' and n > 9");
    assert_eq!(exact, [Some(false); 4]);
    assert_eq!(asked.columns, [0, 1]);
    // Every row has a number or none.
    let mut asked = Asked::new(false);
    assert_eq!(asked.matches("t = 'a' or n is null or n is not null"), [true; 4]);
    assert_eq!(asked.columns, [0]);
    // A column is asked for once.
    let mut asked = Asked::new(false);
    asked.evaluate("n > 1 or n < 0 or n + 1 = 2 or t = 'a' or t = 'b'");
    assert_eq!(asked.columns, [0, 1]);
}

#[test]
fn tests_of_text_are_offered_to_the_column() {
    let mut asked = Asked::new(true);
    let known = asked.evaluate("t <> 'a'");
    assert_eq!(known, [Some(false), Some(true), Some(true), None]);
    assert!(asked.columns.is_empty());
    assert_eq!(asked.tests, [format!("1 {:?}", Some(SearchForm::Is(b"a")))]);
    assert_eq!(asked.evaluate("t is null"), [Some(false), Some(false), Some(false), Some(true)]);
    assert_eq!(asked.evaluate("starts_with(t, 'b')"), [Some(false), Some(true), Some(false), None]);
    assert!(asked.columns.is_empty());
    // Expressions of the column are not.
    asked.evaluate("lower(t) = 'a'");
    assert_eq!((asked.columns.as_slice(), asked.tests.len()), (&[1][..], 3));
}

#[test]
fn entries_of_dictionaries_and_nulls_are_tested() {
    let mut asked = Asked::new(false);
    assert_eq!(asked.evaluate("word = 'x'"), [Some(true), None, Some(false), Some(true)]);
    let is_null = [Some(false), Some(true), Some(false), Some(false)];
    assert_eq!(asked.evaluate("word is null"), is_null);
    assert_eq!(asked.evaluate("coalesce(word, 'none') = 'none'"), is_null);
    assert_eq!(asked.evaluate("word = 'x' is null"), is_null);
}

#[test]
fn arrays_must_fit_the_window() {
    let bound = parsed("n = 1").bind(&schema()).unwrap();
    let batch =
        RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)]);
    let batch = batch.unwrap();
    let error = bound.evaluate(3, &mut &batch).unwrap_err().to_string();
    assert_eq!(error, "column 1 has 2 cells for 3 rows");
    let bound = parsed("day is null").bind(&schema()).unwrap();
    let error = bound.evaluate(2, &mut &batch).unwrap_err().to_string();
    assert_eq!(error, "the batch has 1 columns, not column 4");
}

/// A cast that fails is an error; `try_cast` gives null. An operation that overflows is an error.
#[test]
fn failures_of_rows_are_errors() {
    let mut asked = Asked::new(false);
    assert_eq!(asked.evaluate("try_cast(t as integer) is null"), [Some(true); 4]);
    for (text, want) in [
        ("cast(t as integer) = 1", "row 1: 'a' cannot be cast to Int32"),
        ("n + 9223372036854775807 > 0", "Arithmetic overflow"),
    ] {
        let bound = parsed(text).bind(asked.batch.schema_ref()).unwrap();
        let error = bound.evaluate(4, &mut asked).unwrap_err().to_string();
        assert!(error.contains(want), "{text}: {error}");
    }
}

#[test]
fn paths_lead_through_structs_and_lists() {
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3), Some(4)]));
    let field = Arc::new(Field::new("c", DataType::Int64, true));
    let items = StructArray::new(
        vec![field].into(),
        vec![numbers],
        Some(vec![true, true, true, false].into()),
    );
    let item = Arc::new(Field::new("item", items.data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([2, 0, 1, 1]);
    let valid = Some(vec![true, true, true, true].into());
    let lists = ListArray::new(item, offsets, Arc::new(items), valid);
    let b = Arc::new(Field::new("b", lists.data_type().clone(), true));
    let valid = Some(vec![true, true, false, true].into());
    let a = StructArray::new(vec![b].into(), vec![Arc::new(lists)], valid);
    let batch =
        RecordBatch::try_from_iter_with_nullable([("a", Arc::new(a) as ArrayRef, true)]).unwrap();
    for (text, want) in [
        ("a.b[0].c = 1", [Some(true), None, None, None]),
        ("a.b[0].c is null", [Some(false), Some(true), Some(true), Some(true)]),
        ("a.b[1].c is null", [Some(true); 4]),
        ("a.b[0] is null", [Some(false), Some(true), Some(true), Some(true)]),
        ("length(a.b) = 0", [Some(false), Some(true), None, Some(false)]),
        ("a is null", [Some(false), Some(false), Some(true), Some(false)]),
    ] {
        let bound = parsed(text).bind(batch.schema_ref()).unwrap();
        let found = bound.evaluate(4, &mut &batch).unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), want, "{text}");
    }
}

#[test]
fn a_list_of_a_million_values_is_a_set() {
    let numbers: Vec<String> = (0..1_000_000).map(|n| (n * 2).to_string()).collect();
    let numbers = format!("n in ({})", numbers.join(", "));
    let words: Vec<String> = (0..100_000).map(|n| format!("'w{}'", n * 2)).collect();
    let words = format!("t in ({})", words.join(", "));
    let rows = 20_000;
    let batch = RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from_iter_values(0..rows)) as ArrayRef),
        (
            "t",
            Arc::new(StringArray::from_iter_values((0..rows).map(|n| format!("w{n}")))) as ArrayRef,
        ),
    ]);
    let batch = batch.unwrap();
    for text in [numbers, words] {
        let bound = parsed(&text).bind(batch.schema_ref()).unwrap();
        let found = bound.matches(batch.num_rows(), &mut &batch).unwrap();
        assert_eq!(found.true_count(), batch.num_rows() / 2);
    }
}

/// Statistics that know values, nulls and nothing else.
struct Values(ArrayRef, CellPresence);

impl PruningStatistics for Values {
    fn values(&self, _: &str) -> Option<[ArrayRef; 2]> {
        Some([self.0.slice(0, 1), self.0.slice(1, 1)])
    }

    fn cells(&self, _: &str) -> CellPresence {
        self.1
    }
}

#[test]
fn bounds_of_any_type_skip_groups() {
    let full = CellPresence { blank: false, filled: true };
    let none = CellPresence { blank: true, filled: false };
    let days: ArrayRef = Arc::new(arrow_array::Date32Array::from(vec![19_726, 19_730]));
    let days = Values(days, full);
    for (text, want) in [
        ("day >= '2024-01-04'", true),
        ("day > '2024-01-08'", false),
        ("day < '2024-01-04'", false),
        ("day = '2024-01-06'", true),
        ("not day >= '2024-01-04'", false),
        ("day between '2025-01-01' and '2026-01-01'", false),
        ("day is null", false),
        ("day is not null", true),
        ("day + 1 > '2025-01-01'", true),
    ] {
        assert_eq!(bind(text).unwrap().may_match(&days), want, "{text}");
    }
    let ints = Values(Arc::new(Int32Array::from(vec![3, 7])), full);
    for (text, want) in [("n > 7", false), ("n > 6.5", true), ("n = 3", true), ("n < 3", false)] {
        assert_eq!(bind(text).unwrap().may_match(&ints), want, "{text}");
    }
    let nulls = Values(Arc::new(Int32Array::from(vec![None, None])), none);
    for (text, want) in [("n = 1", false), ("not n = 1", false), ("n is null", true)] {
        assert_eq!(bind(text).unwrap().may_match(&nulls), want, "{text}");
    }
}
