//! What holds for every predicate and every group of rows.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::twin::naive;
use super::{Cell, Group, Stated, Statement, parsed};
use crate::predicate::expr::{Expr, Leaf, Literal, Op, Test};
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
    "", "NA", "nan", "inf", "1e", "-", "true", "TRUE", "false", "False", "é", "aé", "it's", "\"",
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
    prop_oneof![3 => number(), 3 => text(), 1 => any::<bool>().prop_map(Literal::Truth)]
}

fn op() -> impl Strategy<Value = Op> {
    use Op::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    select(vec![Equal, NotEqual, Less, LessOrEqual, Greater, GreaterOrEqual])
}

fn like() -> impl Strategy<Value = Test> {
    let parts = ("[abAé%_'!]{0,4}", any::<bool>(), any::<bool>());
    parts.prop_map(|(pattern, escape, any_case)| {
        let pattern = if escape { pattern.trim_end_matches('!').to_owned() } else { pattern };
        Test::Like(Pattern::new(pattern, escape.then_some('!'), any_case).unwrap())
    })
}

fn test() -> impl Strategy<Value = Test> {
    prop_oneof![
        4 => (op(), literal()).prop_map(|(op, value)| match value {
            Literal::Truth(_) if op == Op::Equal => Test::Compare(op, value),
            Literal::Truth(_) => Test::Compare(Op::NotEqual, value),
            value => Test::Compare(op, value),
        }),
        1 => (number(), number()).prop_map(|(low, high)| Test::Between(low, high)),
        1 => (text(), text()).prop_map(|(low, high)| Test::Between(low, high)),
        2 => vec(literal(), 1..4).prop_map(Test::In),
        2 => like(),
        1 => Just(Test::IsNull),
    ]
}

fn predicate() -> impl Strategy<Value = Predicate> {
    let leaf = (select(NAMES.to_vec()), test())
        .prop_map(|(column, test)| Expr::Leaf(Leaf { column: column.to_owned(), test }));
    let tree = leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 2..4).prop_map(Expr::all),
            vec(inner.clone(), 2..4).prop_map(Expr::any),
            inner.prop_map(Expr::negate),
        ]
    });
    tree.prop_map(|expr| Predicate { expr })
}

/// How much of the truth the statistics of a column tell.
#[derive(Clone, Copy, Debug)]
struct Candour {
    numbers: bool,
    widened: i64,
    texts: bool,
    cut: (usize, usize),
    held: bool,
    cells: bool,
}

const EXACT: Candour =
    Candour { numbers: true, widened: 0, texts: true, cut: (9, 9), held: true, cells: true };

fn candour() -> impl Strategy<Value = Candour> {
    let partial = (any::<[bool; 4]>(), 0_i64..3, (0_usize..4, 0_usize..4)).prop_map(
        |(told, widened, cut)| {
            let [numbers, texts, held, cells] = told;
            Candour { numbers, widened, texts, cut, held, cells }
        },
    );
    prop_oneof![Just(EXACT), partial]
}

fn state(cells: &[Cell], candour: Candour) -> Statement {
    let filled: Vec<&Vec<u8>> = cells.iter().flatten().filter(|cell| !cell.is_empty()).collect();
    let mut statistics = Statement::default();
    if candour.numbers {
        let numbers = || filled.iter().filter_map(|cell| Decimal::parse(cell));
        statistics.numbers = match (numbers().min(), numbers().max()) {
            (Some(least), Some(most)) if candour.widened == 0 => NumberBounds::Between(least, most),
            (Some(least), Some(most)) => NumberBounds::Between(
                least.min(Decimal::from(-candour.widened)),
                most.max(Decimal::from(candour.widened)),
            ),
            _ => NumberBounds::NoneAtAll,
        };
    }
    if let (true, Some(least), Some(most)) =
        (candour.texts, filled.iter().min(), filled.iter().max())
    {
        let cut = |text: &[u8], len: usize| text[..len.min(text.len())].to_vec();
        statistics.texts = Some((cut(least, candour.cut.0), cut(most, candour.cut.1)));
    }
    if candour.held {
        statistics.held = Some(filled.iter().map(|cell| cell.to_vec()).collect());
    }
    if candour.cells {
        statistics.cells =
            CellPresence { blank: filled.len() < cells.len(), filled: !filled.is_empty() };
    }
    statistics
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    (0..=text.len()).any(|start| text[start..].starts_with(part))
}

/// What texts are made of, whether or not they make sense.
const PIECES: [&str; 24] = [
    "a", "and", "or", "not", "(", ")", "=", "<>", "between", "in", "like", "is", "null", "escape",
    "'x'", "5", ",", "true", "-", "'", "\"", "é", ".", "[0]",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_print_parses_back(predicate in predicate()) {
        let text = predicate.to_string();
        prop_assert_eq!(&Predicate::parse(&text).unwrap(), &predicate, "{}", text);
        prop_assert_eq!(Predicate::parse(&text.to_uppercase()).is_ok(), true);
    }

    #[test]
    fn any_text_is_read_or_refused(
        words in vec(
            prop_oneof![
                5 => select(PIECES.to_vec()).prop_map(str::to_owned),
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
    fn rows_are_kept_as_one_by_one(predicate in predicate(), group in groups()) {
        let rows = group.0["a"].len();
        let want: Vec<bool> = (0..rows)
            .map(|row| naive(&predicate.expr, &|column| group.0[column][row].clone()) == Some(true))
            .collect();
        prop_assert_eq!(predicate.evaluate(rows, &group).unwrap(), want);
    }

    /// What a test is said to be found by is had by all cells that pass it, and if that is
    /// all there is to it, by no others; and then no text is unknown.
    #[test]
    fn cells_that_pass_have_what_is_sought(test in test(), cells in vec(cell(), 1..8)) {
        for text in cells.into_iter().flatten() {
            let mut ask = ColumnFilter::new(&test);
            let passes = ask.test(Some(&text));
            let Some(FilterSearch { sought, exact }) = ask.search() else { continue };
            let lower = |text: &[u8]| text.to_ascii_lowercase();
            let has = match sought {
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
            prop_assert!(has || passes == Some(false), "{:?} {:?} {:?}", test, sought, text);
            prop_assert!(!exact || passes == Some(has), "{:?} {:?} {:?}", test, sought, text);
        }
    }

    #[test]
    fn no_group_with_a_row_to_keep_is_skipped(
        predicate in predicate(),
        group in groups(),
        candour in vec(candour(), NAMES.len()),
    ) {
        let each = group.0.iter().zip(candour);
        let each = each.map(|((name, cells), candour)| (*name, state(cells, candour)));
        let statistics = Stated(each.collect());
        let rows = group.0["a"].len();
        if predicate.evaluate(rows, &group).unwrap().contains(&true) {
            prop_assert!(predicate.may_match(&statistics), "{} {:?}", predicate, statistics);
        }
    }

    /// The same for one test of cells that are much like its values: more often true.
    #[test]
    fn no_test_skips_a_row_that_passes_it(
        cells in vec(prop_oneof![Just(None), "[abAB]{0,3}".prop_map(Some)], 1..4),
        op in op(),
        texts in vec("[abAB]{0,3}", 2),
        pattern in "[abAB]{0,2}[%_]{0,2}[ab]{0,1}",
        any_case: bool,
        not: bool,
        candour in candour(),
    ) {
        let cells: Vec<Cell> = cells.into_iter().map(|cell| cell.map(String::into_bytes)).collect();
        let statistics = Stated(BTreeMap::from([("a", state(&cells, candour))]));
        let group = Group(BTreeMap::from([("a", cells)]));
        let [low, high] = [0, 1].map(|at: usize| Literal::Text(texts[at].clone()));
        for test in [
            Test::Compare(op, low.clone()),
            Test::In(vec![low.clone(), high.clone()]),
            Test::Between(low, high),
            Test::Like(Pattern::new(pattern, None, any_case).unwrap()),
            Test::IsNull,
        ] {
            let leaf = Expr::Leaf(Leaf { column: "a".to_owned(), test });
            let predicate = Predicate { expr: if not { Expr::negate(leaf) } else { leaf } };
            if predicate.evaluate(group.0["a"].len(), &group).unwrap().contains(&true) {
                prop_assert!(predicate.may_match(&statistics), "{} {:?}", predicate, statistics);
            }
        }
    }

    /// With all that can be known of a single cell, nothing is read in vain.
    #[test]
    fn exact_facts_of_one_cell_decide(
        text in "[0-9]|-[1-9]|[0-9]\\.5|[ab]{1,2}",
        op in op(),
        number in number(),
        other in text(),
        not: bool,
    ) {
        let group = Group(BTreeMap::from([("a", vec![Some(text.into_bytes())])]));
        let statistics = Stated(BTreeMap::from([("a", state(&group.0["a"], EXACT))]));
        for (test, not) in [
            (Test::Compare(op, number.clone()), not),
            (Test::In(vec![number]), not),
            (Test::IsNull, not),
            // Bounds of texts leave room for longer ones, so that nothing is known to be equal.
            (Test::Compare(Op::Equal, other.clone()), false),
            (Test::In(vec![other]), false),
        ] {
            let leaf = Expr::Leaf(Leaf { column: "a".to_owned(), test });
            let predicate = Predicate { expr: if not { Expr::negate(leaf) } else { leaf } };
            let kept = predicate.evaluate(1, &group).unwrap() == [true];
            prop_assert_eq!(predicate.may_match(&statistics), kept, "{} {:?}", predicate, statistics);
        }
    }
}
