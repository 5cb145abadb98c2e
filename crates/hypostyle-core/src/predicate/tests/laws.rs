//! Properties that hold for every predicate and every row group.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::twin::naive;
use super::{Cell, Group, Stated, Statement, may_match, parsed};
use crate::predicate::expr::{ColumnTest, CompareOp, Literal, Node};
use crate::predicate::like::Pattern;
use crate::predicate::{
    CellPresence, ColumnFilter, Decimal, FilterSearch, NumberBounds, Predicate, SearchForm,
};

const NAMES: [&str; 4] = ["a", "B", "c d", "x.y[0]"];

const NUMBERS: [&str; 9] = [
    "5.0",
    " 5",
    "0.1",
    "1e-1",
    "-0",
    "2.50",
    "9007199254740993",
    "9007199254740992",
    "99999999999999999999",
];

const WORDS: [&str; 16] = [
    "", "NA", "nan", "inf", "1e", "-", "true", "TRUE", "false", "False", "é", "aÉ", "it's", "\"",
    "a%", "a_b",
];

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => (-3_i64..12).prop_map(|n| n.to_string()),
        1 => any::<i64>().prop_map(|n| n.to_string()),
        1 => select(NUMBERS.to_vec()).prop_map(str::to_owned),
        2 => "[abAB]{1,3}",
        1 => select(WORDS.to_vec()).prop_map(str::to_owned),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    prop_oneof![
        1 => Just(None),
        8 => word().prop_map(|word| Some(word.into_bytes())),
        1 => vec(select(b"ab\xC3\xA9\xFF".to_vec()), 0..4).prop_map(Some),
    ]
}

fn groups() -> impl Strategy<Value = Group> {
    (0_usize..6).prop_flat_map(|rows| {
        vec(vec(cell(), rows), NAMES.len())
            .prop_map(|cells| Group(NAMES.into_iter().zip(cells).collect()))
    })
}

fn number() -> impl Strategy<Value = Literal> {
    word().prop_map(|word| {
        Literal::Number(Decimal::parse(word.as_bytes()).unwrap_or(Decimal::from(5)))
    })
}

fn text() -> impl Strategy<Value = Literal> {
    word().prop_map(Literal::Text)
}

fn literal() -> impl Strategy<Value = Literal> {
    prop_oneof![3 => number(), 3 => text(), 1 => any::<bool>().prop_map(Literal::Bool)]
}

fn op() -> impl Strategy<Value = CompareOp> {
    use CompareOp::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

fn like() -> impl Strategy<Value = ColumnTest> {
    let parts = ("[abAéÉkK%_'!]{0,4}", any::<bool>(), any::<bool>());
    parts.prop_map(|(pattern, escape, any_case)| {
        let pattern = if escape { pattern.trim_end_matches('!').to_owned() } else { pattern };
        ColumnTest::Like(Pattern::new(pattern, escape.then_some('!'), any_case).unwrap())
    })
}

fn test() -> impl Strategy<Value = ColumnTest> {
    prop_oneof![
        4 => (op(), literal()).prop_map(|(op, value)| ColumnTest::Compare(op, value)),
        1 => (number(), number()).prop_map(|(low, high)| ColumnTest::Between(low, high)),
        1 => (text(), text()).prop_map(|(low, high)| ColumnTest::Between(low, high)),
        2 => vec(literal(), 1..4).prop_map(ColumnTest::In),
        2 => like(),
        1 => Just(ColumnTest::IsNull),
    ]
}

/// Returns a test of a column as a node.
fn leaf(column: &str, test: ColumnTest) -> Node {
    let column = Box::new(Node::Column(column.to_owned()));
    let literal = |literal| Box::new(Node::Literal(literal));
    match test {
        ColumnTest::Compare(op, value) => Node::Compare(op, column, literal(value)),
        ColumnTest::Between(low, high) => Node::Between(column, literal(low), literal(high)),
        ColumnTest::In(values) => Node::In(column, values.into_iter().map(Node::Literal).collect()),
        ColumnTest::Like(pattern) => Node::Like(column, Box::new(pattern)),
        ColumnTest::Regex(pattern) => Node::Regex(column, Box::new(pattern)),
        ColumnTest::IsNull => Node::IsNull(column),
    }
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let leaf = (select(NAMES.to_vec()), test()).prop_map(|(column, test)| leaf(column, test));
    let tree = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Node::all),
            vec(inner.clone(), 2..4).prop_map(Node::any),
            inner.prop_map(Node::negate),
        ]
    });
    tree.prop_map(|root| Predicate { root })
}

/// How much the statistics of a column reveal.
#[derive(Clone, Copy, Debug)]
struct Precision {
    numbers: bool,
    widened: i64,
    texts: bool,
    cut: (usize, usize),
    values: bool,
    cells: bool,
}

const EXACT: Precision =
    Precision { numbers: true, widened: 0, texts: true, cut: (9, 9), values: true, cells: true };

fn precision() -> impl Strategy<Value = Precision> {
    let partial = (any::<[bool; 4]>(), 0_i64..3, (0_usize..4, 0_usize..4)).prop_map(
        |(known, widened, cut)| {
            let [numbers, texts, values, cells] = known;
            Precision { numbers, widened, texts, cut, values, cells }
        },
    );
    prop_oneof![Just(EXACT), partial]
}

fn state(cells: &[Cell], precision: Precision) -> Statement {
    let filled: Vec<&Vec<u8>> = cells.iter().flatten().filter(|cell| !cell.is_empty()).collect();
    let mut statistics = Statement::default();
    if precision.numbers {
        let numbers = || filled.iter().filter_map(|cell| Decimal::parse(cell));
        statistics.numbers = match (numbers().min(), numbers().max()) {
            (Some(min), Some(max)) if precision.widened == 0 => NumberBounds::Between(min, max),
            (Some(min), Some(max)) => NumberBounds::Between(
                min.min(Decimal::from(-precision.widened)),
                max.max(Decimal::from(precision.widened)),
            ),
            _ => NumberBounds::NoNumbers,
        };
    }
    if let (true, Some(min), Some(max)) =
        (precision.texts, filled.iter().min(), filled.iter().max())
    {
        let cut = |text: &[u8], len: usize| text[..len.min(text.len())].to_vec();
        statistics.texts = Some((cut(min, precision.cut.0), cut(max, precision.cut.1)));
    }
    if precision.values {
        statistics.values = Some(filled.iter().map(|cell| cell.to_vec()).collect());
    }
    if precision.cells {
        statistics.cells =
            CellPresence { blank: filled.len() < cells.len(), filled: !filled.is_empty() };
    }
    statistics
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    (0..=text.len()).any(|start| text[start..].starts_with(part))
}

/// Fragments of predicate texts, for random texts.
const FRAGMENTS: [&str; 41] = [
    "+",
    "*",
    "/",
    "//",
    "%",
    "~",
    "::",
    "==",
    "int",
    "date",
    "cast(",
    "lower(",
    "coalesce(",
    "as",
    "regexp",
    "distinct",
    "from",
    "a",
    "and",
    "or",
    "not",
    "(",
    ")",
    "=",
    "<>",
    "between",
    "in",
    "like",
    "is",
    "null",
    "escape",
    "'x'",
    "5",
    ",",
    "true",
    "-",
    "'",
    "\"",
    "é",
    ".",
    "[0]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_print_parses_back(predicate in predicate()) {
        let text = predicate.to_string();
        prop_assert_eq!(&Predicate::parse(&text).unwrap(), &predicate, "{}", text);
        prop_assert!(Predicate::parse(&text.to_ascii_uppercase()).is_ok());
    }

    #[test]
    fn any_text_is_read_or_refused(
        words in vec(
            prop_oneof![
                5 => select(FRAGMENTS.to_vec()).prop_map(str::to_owned),
                1 => any::<char>().prop_map(String::from),
            ],
            0..12,
        ),
        space in select(vec!["", " "]),
    ) {
        let text = words.join(space);
        match Predicate::parse(&text) {
            Ok(predicate) => prop_assert_eq!(parsed(&predicate.to_string()), predicate),
            Err(error) => {
                let error = error.to_string();
                let place = error.strip_prefix("at character ").unwrap().split_once(':').unwrap();
                let place: usize = place.0.parse().unwrap();
                prop_assert!((1..=text.chars().count() + 1).contains(&place), "{}", error);
                prop_assert!(error.contains("expected "), "{}", error);
            }
        }
    }

    #[test]
    fn evaluation_agrees_with_the_naive_one(predicate in predicate(), group in groups()) {
        let rows = group.0["a"].len();
        let want: Vec<bool> = (0..rows)
            .map(|row| naive(&predicate.root, &|column| group.0[column][row].clone()) == Some(true))
            .collect();
        prop_assert_eq!(group.matches(&predicate, rows).unwrap(), want);
    }

    /// All cells that pass a test have its search form. If the form is exact, no other cells
    /// have it, and the test of a text is never unknown.
    #[test]
    fn passing_cells_have_the_search_form(test in test(), cells in vec(cell(), 1..8)) {
        for text in cells.into_iter().flatten() {
            let mut filter = ColumnFilter::new(&test);
            let passes = filter.test(Some(&text));
            let Some(FilterSearch { form, exact, also }) = filter.search() else { continue };
            let lower = |text: &[u8]| text.to_ascii_lowercase();
            let has = match form {
                SearchForm::Is(one) => text == one,
                SearchForm::AnyOf(all) => all.contains(&&text[..]),
                SearchForm::Within(low, high) => {
                    let bounds: (Bound<&[u8]>, Bound<&[u8]>) = (low, high);
                    RangeBounds::<&[u8]>::contains(&bounds, &&text[..])
                }
                SearchForm::StartsWith(start) => text.starts_with(start),
                SearchForm::EndsWith(end) => text.ends_with(end),
                SearchForm::Contains(part) => contains(&text, part),
                SearchForm::ContainsIgnoringCase(part) => contains(&lower(&text), &lower(part)),
            };
            prop_assert!(passes.is_some(), "{:?} {:?}", test, text);
            if also.iter().any(|also| contains(&text, also)) {
                continue;
            }
            prop_assert!(has || passes == Some(false), "{:?} {:?} {:?}", test, form, text);
            prop_assert!(!exact || passes == Some(has), "{:?} {:?} {:?}", test, form, text);
        }
    }

    #[test]
    fn no_group_with_a_matching_row_is_skipped(
        predicate in predicate(),
        group in groups(),
        precision in vec(precision(), NAMES.len()),
    ) {
        let each = group.0.iter().zip(precision);
        let each = each.map(|((name, cells), precision)| (*name, state(cells, precision)));
        let statistics = Stated(each.collect());
        let rows = group.0["a"].len();
        if group.matches(&predicate, rows).unwrap().contains(&true) {
            prop_assert!(may_match(&predicate, &statistics), "{} {:?}", predicate, statistics);
        }
    }

    /// The same for a single test of cells that resemble its values, so that it is true
    /// more often.
    #[test]
    fn no_test_skips_a_row_that_passes_it(
        cells in vec(prop_oneof![Just(None), "[abAB]{0,3}".prop_map(Some)], 1..4),
        op in op(),
        texts in vec("[abAB]{0,3}", 2),
        pattern in "[abAB]{0,2}[%_]{0,2}[ab]{0,1}",
        any_case: bool,
        not: bool,
        precision in precision(),
    ) {
        let cells: Vec<Cell> = cells.into_iter().map(|cell| cell.map(String::into_bytes)).collect();
        let statistics = Stated(BTreeMap::from([("a", state(&cells, precision))]));
        let group = Group(BTreeMap::from([("a", cells)]));
        let [low, high] = [0, 1].map(|at: usize| Literal::Text(texts[at].clone()));
        for test in [
            ColumnTest::Compare(op, low.clone()),
            ColumnTest::In(vec![low.clone(), high.clone()]),
            ColumnTest::Between(low, high),
            ColumnTest::Like(Pattern::new(pattern, None, any_case).unwrap()),
            ColumnTest::IsNull,
        ] {
            let leaf = leaf("a", test);
            let predicate = Predicate { root: if not { Node::negate(leaf) } else { leaf } };
            if group.matches(&predicate, group.0["a"].len()).unwrap().contains(&true) {
                prop_assert!(may_match(&predicate, &statistics), "{} {:?}", predicate, statistics);
            }
        }
    }

    /// With exact statistics of a single cell, pruning decides exactly.
    #[test]
    fn exact_statistics_of_one_cell_decide(
        text in "[0-9]|-[1-9]|[0-9]\\.5|[ab]{1,2}",
        op in op(),
        number in number(),
        other in text(),
        not: bool,
    ) {
        let group = Group(BTreeMap::from([("a", vec![Some(text.into_bytes())])]));
        let statistics = Stated(BTreeMap::from([("a", state(&group.0["a"], EXACT))]));
        for (test, not) in [
            (ColumnTest::Compare(op, number.clone()), not),
            (ColumnTest::In(vec![number]), not),
            (ColumnTest::IsNull, not),
            // Text bounds allow longer texts, so equality is never certain.
            (ColumnTest::Compare(CompareOp::Equal, other.clone()), false),
            (ColumnTest::In(vec![other]), false),
        ] {
            let leaf = leaf("a", test);
            let predicate = Predicate { root: if not { Node::negate(leaf) } else { leaf } };
            let matches = group.matches(&predicate, 1).unwrap() == [true];
            prop_assert_eq!(may_match(&predicate, &statistics), matches, "{} {:?}", predicate, statistics);
        }
    }
}
