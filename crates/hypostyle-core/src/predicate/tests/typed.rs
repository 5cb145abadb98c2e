//! Compares predicates on typed columns with a naive evaluation, row by row.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Decimal128Type, Float64Type, Int8Type, Int64Type, UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int8Array,
    Int64Array, RecordBatch, StringArray, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::twin::{all_of, any_of, naive_like};
use crate::predicate::expr::{ArithmeticOp, CompareOp, Literal, Node};
use crate::predicate::{
    CellPresence, Decimal, NumberBounds, Predicate, PruningStatistics, TextBounds,
};

/// The columns: two of integers, one unsigned, then floats, decimals, texts, truths and dates.
const NAMES: [&str; 8] = ["a", "b", "u", "f", "x", "t", "p", "d"];

/// Dates as literals, and their days since the epoch.
const DATES: [(&str, i32); 4] =
    [("1970-01-01", 0), ("1969-12-31", -1), ("2024-01-04", 19_726), ("2000-02-29", 11_016)];

/// A value of the naive evaluation.
#[derive(Clone, Debug, PartialEq)]
enum Naive {
    Null,
    /// A number in millionths.
    Exact(i128),
    Float(f64),
    Bool(bool),
    Text(String),
    Date(i32),
}

const MILLION: i128 = 1_000_000;

fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3_i64..8,
        1 => select(vec![i64::MIN, i64::MAX, 9_007_199_254_740_992, 9_007_199_254_740_993, -128]),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => (-6_i32..12).prop_map(|n| f64::from(n) / 2.0),
        2 => select(vec![f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.1, 1e300]),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let words = ["", "a", "A", "ab", "é", "É", "true", "FALSE", "5", " 5", "2.50", "NA", "-1", "x"];
    select(words.to_vec()).prop_map(str::to_owned)
}

prop_compose! {
    fn row()(
        a in option::of(-4_i8..8),
        b in option::of(int()),
        u in option::of(prop_oneof![0_u64..8, Just(u64::MAX), Just(1 << 63)]),
        f in option::of(float()),
        x in option::of(-300_i128..800),
        t in option::of(text()),
        p in option::of(any::<bool>()),
        d in option::of(select(DATES.to_vec()).prop_map(|(_, days)| days)),
    ) -> (Option<i8>, Option<i64>, Option<u64>, Option<f64>, Option<i128>, Option<String>,
          Option<bool>, Option<i32>) {
        (a, b, u, f, x, t, p, d)
    }
}

/// Returns tables with columns that are plain or dictionaries.
fn batch() -> impl Strategy<Value = RecordBatch> {
    (vec(row(), 0..12), vec(any::<bool>(), NAMES.len())).prop_map(|(rows, encoded)| {
        let x: Decimal128Array = rows.iter().map(|row| row.4).collect();
        let columns: [ArrayRef; 8] = [
            Arc::new(rows.iter().map(|row| row.0).collect::<Int8Array>()),
            Arc::new(rows.iter().map(|row| row.1).collect::<Int64Array>()),
            Arc::new(rows.iter().map(|row| row.2).collect::<UInt64Array>()),
            Arc::new(rows.iter().map(|row| row.3).collect::<Float64Array>()),
            Arc::new(x.with_precision_and_scale(9, 2).unwrap()),
            Arc::new(rows.iter().map(|row| row.5.clone()).collect::<StringArray>()),
            Arc::new(rows.iter().map(|row| row.6).collect::<BooleanArray>()),
            Arc::new(rows.iter().map(|row| row.7).collect::<Date32Array>()),
        ];
        let columns = columns.into_iter().zip(encoded).map(|(column, encoded)| {
            let values = Box::new(column.data_type().clone());
            let dictionary = DataType::Dictionary(Box::new(DataType::Int16), values);
            match arrow_cast::cast(&column, &dictionary) {
                Ok(dictionary) if encoded => dictionary,
                _ => column,
            }
        });
        let columns: Vec<ArrayRef> = columns.collect();
        let fields = NAMES.iter().zip(&columns);
        let fields =
            fields.map(|(name, column)| Field::new(*name, column.data_type().clone(), true));
        let schema = Schema::new(fields.collect::<Vec<_>>());
        RecordBatch::try_new(Arc::new(schema), columns).unwrap()
    })
}

fn column(name: &str) -> Node {
    Node::Column(name.to_owned())
}

fn number_literal() -> impl Strategy<Value = Node> {
    let texts = [
        "0",
        "5",
        "-1",
        "2.5",
        "0.1",
        "1e300",
        "127",
        "128",
        "-129",
        "9007199254740993",
        "9223372036854775808",
        "18446744073709551615",
        "7.001",
        "-2.995",
    ];
    prop_oneof![
        2 => (-3_i64..8).prop_map(|n| Node::number(Decimal::from(n))),
        1 => select(texts.to_vec()).prop_map(|text| Node::number(Decimal::parse(text.as_bytes()).unwrap())),
    ]
}

fn text_literal() -> impl Strategy<Value = Node> {
    text().prop_map(|text| Node::Literal(Literal::Text(text)))
}

/// Returns a value and literals that it can be compared with.
fn pair() -> BoxedStrategy<(Node, Node)> {
    let numeric = || select(vec!["a", "b", "u", "f", "x"]).prop_map(column);
    // Small numbers only, so that nothing overflows.
    let small = || {
        prop_oneof![
            3 => select(vec!["a", "x"]).prop_map(column),
            1 => (-3_i64..4).prop_map(|n| Node::number(Decimal::from(n))),
        ]
    };
    let op = select(vec![ArithmeticOp::Add, ArithmeticOp::Subtract, ArithmeticOp::Multiply]);
    let sum = (op, small(), small())
        .prop_map(|(op, left, right)| Node::Arithmetic(op, Box::new(left), Box::new(right)));
    prop_oneof![
        4 => (numeric(), number_literal()),
        2 => (sum, number_literal()),
        1 => (small().prop_map(Node::minus), number_literal()),
        // Both exact, or both floats: others are compared as floats.
        2 => (select(vec!["a", "b", "u", "x"]), select(vec!["a", "b", "u", "x"]))
            .prop_map(|(left, right)| (column(left), column(right))),
        2 => (Just(column("t")), text_literal()),
        2 => (Just(column("t")), number_literal()),
        1 => (Just(column("t")), any::<bool>().prop_map(|b| Node::Literal(Literal::Bool(b)))),
        1 => (Just(column("t")), select(vec!["a", "x"]).prop_map(column)),
        1 => (Just(column("p")), any::<bool>().prop_map(|b| Node::Literal(Literal::Bool(b)))),
        1 => (Just(column("p")), number_literal()),
        2 => (Just(column("d")), select(DATES.to_vec())
            .prop_map(|(text, _)| Node::Literal(Literal::Text(text.to_owned())))),
        1 => (numeric(), Just(Node::Literal(Literal::Null))),
    ]
    .boxed()
}

fn op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let numeric = || select(vec!["a", "b", "u", "f", "x"]).prop_map(|name| Box::new(column(name)));
    let null = || Just(Node::Literal(Literal::Null));
    let numbers = || vec(prop_oneof![6 => number_literal(), 1 => null()], 1..5);
    let leaf = prop_oneof![
        6 => (op(), pair()).prop_map(|(op, (left, right))| Node::compare(op, left, right)),
        1 => pair().prop_map(|(left, right)| Node::Same(Box::new(left), Box::new(right))),
        2 => (numeric(), numbers()).prop_map(|(value, list)| Node::In(value, list)),
        1 => vec(text_literal(), 1..4).prop_map(|list| Node::In(Box::new(column("t")), list)),
        2 => (numeric(), number_literal(), number_literal())
            .prop_map(|(value, low, high)| Node::Between(value, Box::new(low), Box::new(high))),
        1 => select(NAMES.to_vec()).prop_map(|name| Node::IsNull(Box::new(column(name)))),
        1 => select(vec!["p", "a", "t"]).prop_map(column),
        1 => ("[aAéÉ%_]{0,3}", any::<bool>()).prop_map(|(text, any_case)| {
            let pattern = crate::predicate::like::Pattern::new(text, None, any_case).unwrap();
            Node::Like(Box::new(column("t")), Box::new(pattern))
        }),
    ];
    let tree = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            2 => vec(inner.clone(), 2..4).prop_map(Node::all),
            2 => vec(inner.clone(), 2..4).prop_map(Node::any),
            2 => inner.clone().prop_map(Node::negate),
            1 => (inner.clone(), any::<bool>())
                .prop_map(|(part, truth)| Node::IsBool(Box::new(part), truth)),
            1 => inner.prop_map(|part| Node::IsNull(Box::new(part))),
        ]
    });
    tree.prop_map(|root| Predicate { root })
}

/// Returns the value of a row.
fn cell(batch: &RecordBatch, name: &str, row: usize) -> Naive {
    let column = batch.column_by_name(name).unwrap();
    let column = match column.data_type() {
        DataType::Dictionary(_, values) => arrow_cast::cast(column, values).unwrap(),
        _ => column.clone(),
    };
    if column.is_null(row) {
        return Naive::Null;
    }
    match name {
        "a" => Naive::Exact(i128::from(column.as_primitive::<Int8Type>().value(row)) * MILLION),
        "b" => Naive::Exact(i128::from(column.as_primitive::<Int64Type>().value(row)) * MILLION),
        "u" => Naive::Exact(i128::from(column.as_primitive::<UInt64Type>().value(row)) * MILLION),
        "f" => Naive::Float(column.as_primitive::<Float64Type>().value(row)),
        "x" => Naive::Exact(column.as_primitive::<Decimal128Type>().value(row) * (MILLION / 100)),
        "t" => Naive::Text(column.as_string::<i32>().value(row).to_owned()),
        "p" => Naive::Bool(column.as_boolean().value(row)),
        _ => Naive::Date(column.as_primitive::<Date32Type>().value(row)),
    }
}

fn value(node: &Node, batch: &RecordBatch, row: usize) -> Naive {
    match node {
        Node::Column(name) => cell(batch, name, row),
        Node::Literal(Literal::Null) => Naive::Null,
        Node::Literal(Literal::Bool(truth)) => Naive::Bool(*truth),
        Node::Literal(Literal::Text(text)) => Naive::Text(text.clone()),
        Node::Literal(Literal::Number(number)) => exact(&number.to_string()),
        Node::Minus(value) => match self::value(value, batch, row) {
            Naive::Exact(number) => Naive::Exact(-number),
            other => other,
        },
        Node::Arithmetic(op, left, right) => {
            match (value(left, batch, row), value(right, batch, row)) {
                (Naive::Exact(left), Naive::Exact(right)) => Naive::Exact(match op {
                    ArithmeticOp::Add => left + right,
                    ArithmeticOp::Subtract => left - right,
                    _ => left * right / MILLION,
                }),
                _ => Naive::Null,
            }
        }
        condition => naive(condition, batch, row).map_or(Naive::Null, Naive::Bool),
    }
}

/// Reads a number in millionths; numbers beyond all columns become very large.
fn exact(text: &str) -> Naive {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{whole}{fraction:0<6}");
    Naive::Exact(digits.parse().unwrap_or(i128::MAX))
}

fn order(left: &Naive, right: &Naive) -> Option<Ordering> {
    use Naive::{Bool, Date, Exact, Float, Null, Text};
    let rank = |value: f64| (value.is_nan(), if value.is_nan() { 0.0 } else { value });
    let float = |number: &i128| match *number {
        i128::MAX => 1e300,
        number => {
            let (whole, fraction) = (number / MILLION, (number % MILLION).abs());
            let sign = if number < 0 && whole == 0 { "-" } else { "" };
            format!("{sign}{whole}.{fraction:06}").parse().unwrap()
        }
    };
    let number = |text: &str| -> Option<Naive> {
        let text = text.trim();
        let spelled = text.contains(|c: char| !c.is_ascii_digit() && !"-.".contains(c));
        (!spelled && text.parse::<f64>().is_ok()).then(|| exact(text))
    };
    match (left, right) {
        (Null, _) | (_, Null) => None,
        (Exact(left), Exact(right)) => Some(left.cmp(right)),
        (Float(left), Float(right)) => rank(*left).partial_cmp(&rank(*right)),
        (Float(left), Exact(right)) => rank(*left).partial_cmp(&rank(float(right))),
        (Exact(_), Float(_)) => order(right, left).map(Ordering::reverse),
        (Text(left), Text(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (Text(text), Exact(_)) => order(&number(text)?, right),
        (Text(text), Bool(truth)) => {
            text.to_lowercase().parse::<bool>().ok().map(|it| it.cmp(truth))
        }
        (Bool(left), Bool(right)) => Some(left.cmp(right)),
        (Date(left), Date(right)) => Some(left.cmp(right)),
        (Bool(truth), Exact(_)) => order(&Exact(i128::from(*truth) * MILLION), right),
        (Date(days), Text(text)) => {
            let (_, other) = DATES.iter().find(|(known, _)| known == text).unwrap();
            Some(days.cmp(other))
        }
        (left, right) => order(right, left).map(Ordering::reverse),
    }
}

/// Evaluates a condition for one row; `None` is unknown.
fn naive(node: &Node, batch: &RecordBatch, row: usize) -> Option<bool> {
    let value = |node: &Node| self::value(node, batch, row);
    let compare = |op: CompareOp, left: &Node, right: &Node| {
        order(&value(left), &value(right)).map(|order| op.accepts(order))
    };
    match node {
        Node::And(parts) => all_of(parts.iter().map(|part| naive(part, batch, row))),
        Node::Or(parts) => any_of(parts.iter().map(|part| naive(part, batch, row))),
        Node::Not(part) => naive(part, batch, row).map(|truth| !truth),
        Node::Compare(op, left, right) => compare(*op, left, right),
        Node::Same(left, right) => match (value(left), value(right)) {
            (Naive::Null, other) | (other, Naive::Null) => Some(other == Naive::Null),
            (left, right) => Some(order(&left, &right) == Some(Ordering::Equal)),
        },
        Node::IsNull(part) => Some(value(part) == Naive::Null),
        Node::IsBool(part, truth) => Some(naive(part, batch, row) == Some(*truth)),
        Node::Between(tested, low, high) => all_of([
            compare(CompareOp::GreaterOrEqual, tested, low),
            compare(CompareOp::LessOrEqual, tested, high),
        ]),
        Node::In(tested, list) => {
            any_of(list.iter().map(|element| compare(CompareOp::Equal, tested, element)))
        }
        Node::Like(tested, pattern) => match value(tested) {
            Naive::Text(text) => {
                Some(naive_like(&pattern.text, None, pattern.any_case, text.as_bytes()))
            }
            _ => None,
        },
        other => match value(other) {
            Naive::Bool(truth) => Some(truth),
            Naive::Exact(number) => Some(number != 0),
            Naive::Text(text) => text.to_lowercase().parse().ok(),
            _ => None,
        },
    }
}

/// The exact statistics of a batch.
struct Exact<'a> {
    batch: &'a RecordBatch,
    texts: Vec<String>,
    /// Whether to tell bounds as arrays, or as numbers.
    typed: bool,
}

impl<'a> Exact<'a> {
    fn new(batch: &'a RecordBatch, typed: bool) -> Self {
        let texts = (0..batch.num_rows()).filter_map(|row| match cell(batch, "t", row) {
            Naive::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        });
        let mut texts: Vec<String> = texts.collect();
        texts.sort();
        Self { batch, texts, typed }
    }

    fn cells_of(&self, column: &str) -> Vec<Naive> {
        (0..self.batch.num_rows()).map(|row| cell(self.batch, column, row)).collect()
    }
}

impl PruningStatistics for Exact<'_> {
    fn numbers(&self, column: &str) -> NumberBounds {
        if self.typed {
            return NumberBounds::Unknown;
        }
        let text = |cell: Naive| match cell {
            Naive::Exact(number) => Some(format!("{number}e-6")),
            Naive::Float(value) => Some(value.to_string()),
            Naive::Text(text) => Some(text),
            _ => None,
        };
        let texts = self.cells_of(column).into_iter().filter_map(text);
        let numbers: Vec<Decimal> =
            texts.filter_map(|text| Decimal::parse(text.as_bytes())).collect();
        match (numbers.iter().min(), numbers.iter().max()) {
            (Some(min), Some(max)) => NumberBounds::Between(*min, *max),
            _ => NumberBounds::NoNumbers,
        }
    }

    fn values(&self, column: &str) -> Option<[ArrayRef; 2]> {
        if !self.typed || column == "t" {
            return None;
        }
        let cells = self.cells_of(column);
        let mut rows: Vec<usize> =
            (0..cells.len()).filter(|&row| cells[row] != Naive::Null).collect();
        rows.sort_by(|&left, &right| order(&cells[left], &cells[right]).unwrap());
        let array = self.batch.column_by_name(column).unwrap();
        Some([array.slice(*rows.first()?, 1), array.slice(*rows.last()?, 1)])
    }

    fn may_be_special_float(&self, column: &str) -> bool {
        let special = |cell: &Naive| matches!(cell, Naive::Float(value) if !value.is_finite());
        self.cells_of(column).iter().any(special)
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let (min, max) = (self.texts.first()?, self.texts.last()?);
        (column == "t").then_some(TextBounds { min: min.as_bytes(), max: max.as_bytes() })
    }

    fn may_be_empty(&self, column: &str) -> bool {
        self.cells_of(column).contains(&Naive::Text(String::new()))
    }

    fn cells(&self, column: &str) -> CellPresence {
        let cells = self.cells_of(column);
        let blank = |cell: &Naive| *cell == Naive::Null || *cell == Naive::Text(String::new());
        CellPresence {
            blank: cells.iter().any(blank),
            filled: cells.iter().any(|cell| !blank(cell)),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn typed_evaluation_agrees_with_the_naive_one(predicate in predicate(), batch in batch()) {
        let bound = predicate.bind(batch.schema_ref()).unwrap();
        let rows = batch.num_rows();
        let want: Vec<Option<bool>> =
            (0..rows).map(|row| naive(&predicate.root, &batch, row)).collect();
        let found = bound.evaluate(rows, &mut &batch).unwrap();
        prop_assert_eq!(found.iter().collect::<Vec<_>>(), want.clone(), "{} {:?}", predicate, batch);
        let matches = bound.matches(rows, &mut &batch).unwrap();
        prop_assert_eq!(matches.null_count(), 0);
        let want = want.into_iter().map(|truth| Some(truth == Some(true)));
        prop_assert_eq!(matches.iter().collect::<Vec<_>>(), want.collect::<Vec<_>>());
    }

    #[test]
    fn a_print_of_typed_predicates_parses_back(predicate in predicate()) {
        let text = predicate.to_string();
        prop_assert_eq!(Predicate::parse(&text).unwrap(), predicate, "{}", text);
    }

    #[test]
    fn no_typed_group_with_a_matching_row_is_skipped(
        predicate in predicate(),
        batch in batch(),
        typed: bool,
    ) {
        let bound = predicate.bind(batch.schema_ref()).unwrap();
        let found = bound.matches(batch.num_rows(), &mut &batch).unwrap();
        if found.true_count() > 0 {
            prop_assert!(bound.may_match(&Exact::new(&batch, typed)), "{} {:?}", predicate, batch);
        }
    }
}
