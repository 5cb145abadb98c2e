//! Tests the language by example; [laws] and [typed] compare it with a [naive evaluation](twin).

mod binding;
mod laws;
pub(super) mod twin;
mod typed;

use std::collections::BTreeMap;

use arrow_array::{ArrayRef, BinaryArray};
use arrow_schema::{DataType, Field};

use super::*;

type Cell = Option<Vec<u8>>;

/// Cells by column name.
#[derive(Clone, Debug, Default)]
struct Group(BTreeMap<&'static str, Vec<Cell>>);

impl Group {
    /// Returns which rows match a predicate.
    fn matches(&self, predicate: &Predicate, rows: usize) -> Result<Vec<bool>> {
        let bound = predicate.bind(&texts(self.0.keys().copied()))?;
        let found = bound.matches(rows, &mut &*self)?;
        Ok(found.values().iter().collect())
    }
}

/// The columns are texts, in the order of their names.
impl PredicateInput for &Group {
    fn column(&mut self, column: usize) -> Result<ArrayRef> {
        let cells = self.0.values().nth(column);
        let cells = cells.ok_or_else(|| Error::invalid_argument("no such column"))?;
        Ok(Arc::new(cells.iter().map(|cell| cell.as_deref()).collect::<BinaryArray>()))
    }
}

/// Returns the schema of columns of text.
fn texts<'a>(names: impl IntoIterator<Item = &'a str>) -> Schema {
    let fields = names.into_iter().map(|name| Field::new(name, DataType::Utf8, true));
    Schema::new(fields.collect::<Vec<_>>())
}

/// Returns whether a row group of texts may match.
fn may_match(predicate: &Predicate, statistics: &dyn PruningStatistics) -> bool {
    predicate.bind(&texts(predicate.columns())).unwrap().may_match(statistics)
}

/// Statistics by column name; those of other columns are unknown.
#[derive(Clone, Debug, Default)]
struct Stated(BTreeMap<&'static str, Statement>);

#[derive(Clone, Debug, Default)]
struct Statement {
    numbers: NumberBounds,
    texts: Option<(Vec<u8>, Vec<u8>)>,
    /// The texts that a cell may have.
    values: Option<Vec<Vec<u8>>>,
    cells: CellPresence,
}

impl PruningStatistics for Stated {
    fn numbers(&self, column: &str) -> NumberBounds {
        self.0.get(column).map_or(NumberBounds::Unknown, |statistics| statistics.numbers)
    }

    fn texts(&self, column: &str) -> Option<TextBounds<'_>> {
        let (min, max) = self.0.get(column)?.texts.as_ref()?;
        Some(TextBounds { min, max })
    }

    fn may_hold(&self, column: &str, text: &[u8]) -> bool {
        assert!(!text.is_empty(), "callers never pass the empty text");
        let values = self.0.get(column).and_then(|statistics| statistics.values.as_ref());
        values.is_none_or(|values| values.iter().any(|value| value == text))
    }

    fn may_contain(&self, column: &str, bytes: &[u8]) -> bool {
        let values = self.0.get(column).and_then(|statistics| statistics.values.as_ref());
        let contains =
            |value: &[u8]| memchr::memmem::find(&value.to_ascii_lowercase(), bytes).is_some();
        values.is_none_or(|values| values.iter().any(|value| contains(value)))
    }

    fn cells(&self, column: &str) -> CellPresence {
        self.0.get(column).map_or(CellPresence::default(), |statistics| statistics.cells)
    }
}

fn group(column: &'static str, cells: &[Option<&str>]) -> Group {
    let cells = cells.iter().map(|cell| cell.map(|cell| cell.as_bytes().to_vec())).collect();
    Group(BTreeMap::from([(column, cells)]))
}

fn parsed(text: &str) -> Predicate {
    Predicate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the cells of column `a` that match a predicate.
fn matching<'a>(text: &str, cells: &[Option<&'a str>]) -> Vec<Option<&'a str>> {
    let mask = group("a", cells).matches(&parsed(text), cells.len()).unwrap();
    cells.iter().zip(mask).filter(|(_, matches)| *matches).map(|(cell, _)| *cell).collect()
}

#[test]
fn values_say_how_cells_are_compared() {
    let cells = [
        "5",
        "5.0",
        " 5 ",
        "+5",
        "50",
        "05",
        "-5",
        "5e0",
        "NA",
        "",
        "nan",
        "inf",
        "True",
        "FALSE",
        "true ",
        "it's",
        "9007199254740992",
        "9007199254740993",
    ];
    let cells: Vec<_> = cells.into_iter().map(Some).chain([None]).collect();
    let check = |text: &str, want: &[&str]| {
        let want: Vec<_> = want.iter().copied().map(Some).collect();
        assert_eq!(matching(text, &cells), want, "{text}");
    };
    let fives = ["5", "5.0", " 5 ", "+5", "05", "5e0"];
    check("a = 5", &fives);
    check("5.00 = a", &fives);
    check("a between 4.9 and 5", &fives);
    check("a in (5, 6)", &fives);
    check("a = '5'", &["5"]);
    check("a <> 5", &["50", "-5", "9007199254740992", "9007199254740993"]);
    check("a not in (5, 50)", &["-5", "9007199254740992", "9007199254740993"]);
    check("5 > a", &["-5"]);
    check("a > 9007199254740992", &["9007199254740993"]);
    check("a <= -5", &["-5"]);
    check("a = true", &["True"]);
    check("a <> TRUE", &["FALSE"]);
    check("a in (true, '', 50)", &["50", "", "True"]);
    check("a = 'it''s'", &["it's"]);
    check("a = ''", &[""]);
    check("a < '+5'", &[" 5 ", ""]);
    check("a between 'i' and 'j'", &["inf", "it's"]);
    check("a not between ' ' and 'm'", &["", "nan", "true "]);
    check("a like '5_%'", &["5.0", "50", "5e0"]);
    check("a ilike 't%'", &["True", "true "]);
    assert_eq!(matching("a is null", &cells), [None]);
    assert_eq!(matching("a is not null and a not like '%5%'", &cells).len(), 8);
}

#[test]
fn unknown_is_neither_true_nor_false() {
    // In `a`, 1 is true, 0 is false and x is unknown; likewise in `B`.
    let values = [Some("1"), Some("0"), Some("x")];
    let rows: Vec<_> = values.iter().flat_map(|a| values.map(|b| (*a, b))).collect();
    let mut both = group("a", &rows.iter().map(|row| row.0).collect::<Vec<_>>());
    both.0.extend(group("B", &rows.iter().map(|row| row.1).collect::<Vec<_>>()).0);
    let count = |text: &str| {
        both.matches(&parsed(text), 9).unwrap().iter().filter(|matches| **matches).count()
    };
    let tables = [("a = 1 and B = 1", 1, 5), ("a = 1 or B = 1", 5, 1), ("not a = 1", 3, 3)];
    for (text, truths, falsities) in tables {
        assert_eq!(count(text), truths, "{text}");
        assert_eq!(count(&format!("not ({text})")), falsities, "{text}");
        assert_eq!(count(&format!("({text}) or not ({text})")), truths + falsities, "{text}");
    }
}

#[test]
fn texts_become_one_canonical_text() {
    for (text, want) in [
        ("a=1", "a = 1"),
        ("1.50 < a", "a > 1.5"),
        ("-1e3>=a", "a <= -1000"),
        ("'x' != a", "a <> 'x'"),
        ("A Like 'x%' ESCAPE '!'", "A like 'x%' escape '!'"),
        ("a NOT ILIKE 'it''s'", "a not ilike 'it''s'"),
        ("a is NOT null", "a is not null"),
        ("not a is not null", "a is null"),
        ("not(a in(1,'b',TRUE))", "a not in (1, 'b', true)"),
        ("NOT a=1 AND NOT NOT b<>2", "not a = 1 and b <> 2"),
        (
            "a=1 and (b=2 and (c=3 or (d=4 or e=5)))",
            "a = 1 and b = 2 and (c = 3 or d = 4 or e = 5)",
        ),
        ("a=1 and b=2 or not (c=3 or d=4)", "a = 1 and b = 2 or not (c = 3 or d = 4)"),
        ("(((a between 1 and 2)))and b=1", "a between 1 and 2 and b = 1"),
        ("user.name[0].x$=1", "user.name[0].x$ = 1"),
        (
            "\"a\"=1 and \"and\"=2 and \"b c\"=3 and \"q\"\"\"=4 and \"\"=5",
            "a = 1 and \"and\" = 2 and \"b c\" = 3 and \"q\"\"\" = 4 and \"\" = 5",
        ),
        ("a == null", "a = null"),
        ("- 5 < - a", "-a > -5"),
        ("a - -5 = b-5", "a - -5 = b - 5"),
        ("+a = +5", "a = 5"),
        ("(a+1)*2 % 3 // 4 / 5 - (b - c) > 0", "(a + 1) * 2 % 3 // 4 / 5 - (b - c) > 0"),
        ("a - (b + c) = -(a * b)", "a - (b + c) = -(a * b)"),
        ("-(-a) = 1", "-(-a) = 1"),
        ("a", "a"),
        ("not a and b", "not a and b"),
        ("(a = b) is null", "a = b is null"),
        ("a = (b is null)", "a = (b is null)"),
        ("(not a) is true", "(not a) is true"),
        ("not a is not false", "a is false"),
        ("not a is distinct from b", "a is not distinct from b"),
        ("a is distinct from b + 1", "a is distinct from b + 1"),
        ("a !~ 'x'", "a not regexp 'x'"),
        ("a ~* 'x'", "regexp_matches(a, 'x', 'i')"),
        ("not regexp_full_match(a, 'x')", "not regexp_full_match(a, 'x')"),
        ("Regexp_Matches(a, 'x')", "a regexp 'x'"),
        ("regexp = 1 and date = 2", "regexp = 1 and date = 2"),
        ("a like 'x' = b", "a like 'x' = b"),
        ("date '2024-01-04' <= d", "cast('2024-01-04' as date) <= d"),
        ("t = timestamp with time zone 'x'", "t = cast('x' as timestamptz)"),
        ("a::INT = CAST(b AS double precision)", "cast(a as integer) = cast(b as double)"),
        ("try_cast(a as numeric(5, 2)) > 1", "try_cast(a as decimal(5, 2)) > 1"),
        ("-a::int = 1", "-cast(a as integer) = 1"),
        ("len(a) = 1 and Prefix(a, 'x')", "length(a) = 1 and starts_with(a, 'x')"),
        ("coalesce(a, b, 1) in (b, c + 1)", "coalesce(a, b, 1) in (b, c + 1)"),
        ("(a between b and c) = true", "a between b and c = true"),
        ("\"a b\".c[0].\"d\" = 1", "\"a b.c[0].d\" = 1"),
        ("a = true or a <> FALSE", "a = true or a <> false"),
        ("\n a\t=\u{a0}'ü\n' ", "a = 'ü\n'"),
    ] {
        assert_eq!(parsed(text).to_string(), want, "{text}");
        assert_eq!(parsed(want), parsed(text), "{text}");
    }
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    let operand = "a name, a value, `not` or `(`";
    let more = "an operator, and, or or the end";
    let inner = "an operator, and, or or `)`";
    let one = "one character in single quotes";
    let quoted = "a pattern in single quotes";
    let regexp = "a regular expression";
    for (text, at, expected, found) in [
        ("", 1, operand, "the end"),
        ("  ", 3, operand, "the end"),
        ("in = 1", 1, operand, "`in`; put it in double quotes if it is a name"),
        ("ä = 1", 1, operand, "`ä`; put a name that contains it in double quotes"),
        ("a = 1 and", 10, operand, "the end"),
        ("a = ", 5, operand, "the end"),
        ("a - - - ", 9, operand, "the end"),
        ("a --5 = 1", 3, more, "`--`"),
        ("a. = 1", 2, more, "`.`"),
        ("a[x] = 1", 2, more, "`[`; the index of an element is a number from 0, such as `[0]`"),
        ("a === 1", 5, operand, "`=`"),
        ("a = b = c", 7, "and, or or the end: a comparison has two sides", "`=`"),
        ("a in ()", 7, "a value", "`)`"),
        ("a in (1 2)", 9, "`,` or `)`", "the number 2"),
        ("a in 1", 6, "`(` and a list of values", "the number 1"),
        ("a not = 1", 7, "between, in, like, ilike or regexp", "`=`"),
        ("a not ~ 'x'", 7, "between, in, like, ilike or regexp", "`~`"),
        ("a is 1", 6, "null, true, false, not or distinct from", "the number 1"),
        ("a is not 1", 10, "null, true, false or distinct from", "the number 1"),
        ("a is distinct b", 15, "from", "the name `b`"),
        ("a between 1 or 2", 13, "and, then the other end of `between`", "`or`"),
        ("a like 5", 8, quoted, "the number 5"),
        ("a like \"x\"", 8, quoted, "the name `x`; text goes in single quotes"),
        ("a like 'x' escape 'ab'", 19, one, "the text 'ab'"),
        ("a like 'x' escape ''", 19, one, "the text ''"),
        (
            "a like '!!!' escape '!'",
            8,
            "a character after the last escape",
            "the end of the pattern",
        ),
        ("a ~ 'x('", 5, regexp, "one that is not valid: unclosed group"),
        ("regexp_matches(a, '[')", 19, regexp, "one that is not valid: unclosed character class"),
        ("regexp_matches(a, 'x', 'q')", 24, "the option 'i' or 'c'", "the text 'q'"),
        ("(a = 1", 7, inner, "the end"),
        ("a = 1)", 6, more, "`)`"),
        ("a = 1 ; b", 7, more, "`;`"),
        ("\"ä\" = 'ö' und b = 1", 11, more, "the name `und`"),
        ("a = 'Ada", 5, "' at the end of this text", "the end"),
        ("\"a = 1", 1, "\" at the end of this name", "the end"),
        ("b.\"a = 1", 3, "\" at the end of this name", "the end"),
        ("a = 12abc", 5, "a number", "`12abc`"),
        ("a = 1e9999999999", 5, "a number", "`1e9999999999`"),
        ("a = 1.2.3", 5, "a number", "`1.2.3`"),
        ("foo(a)", 1, "the name of a function", "the name `foo`"),
        ("lower(a, b)", 1, "1 argument of `lower`", "2"),
        ("contains(a)", 1, "2 arguments of `contains`", "1"),
        ("lower(a", 8, "`,` or `)`", "the end"),
        ("cast(a)", 7, "as and a type", "`)`"),
        (
            "a::thing",
            4,
            "a type, such as bigint, double, varchar, date or timestamp",
            "the name `thing`",
        ),
        ("a::decimal(40)", 12, "a number of digits from 1 to 38", "the number 40"),
        ("a::decimal(4, 5)", 15, "a number of digits, at most those before", "the number 5"),
        ("timestamp with a", 16, "time", "the name `a`"),
    ] {
        let error = Predicate::parse(text).expect_err(text);
        let want = format!("at character {at}: expected {expected}, found {found}");
        assert_eq!(error.to_string(), want, "{text}");
        assert!(matches!(error.kind(), crate::error::ErrorKind::InvalidArgument(_)));
    }
}

#[test]
fn nesting_is_limited_and_chains_are_not() {
    let nested = |n: usize, open: &str, close: &str| {
        Predicate::parse(&format!("{}a = 1{}", open.repeat(n), close.repeat(n)))
    };
    assert_eq!(nested(199, "(", ")").unwrap(), parsed("a = 1"));
    assert_eq!(nested(199, "not ", "").unwrap(), parsed("not a = 1"));
    assert!(nested(190, "- ", "").is_ok());
    for (open, close) in [
        ("(", ")"),
        ("not ", ""),
        ("not(", ")"),
        ("(b = 1 or (b = 2 and ", "))"),
        ("- ", ""),
        ("lower(", ")"),
        ("1 + ", ""),
        ("2 * (1 + ", ")"),
        ("", " is null"),
        ("", "::int"),
    ] {
        let error = nested(100_000, open, close).unwrap_err().to_string();
        assert!(error.contains("nested more than 200 deep"), "{error}");
    }
    let deep = nested(99, "(b = 1 or (b = 2 and ", "))").unwrap();
    assert_eq!(parsed(&deep.to_string()), deep);

    let cells = [Some("0"), Some("4999"), Some("5000"), None];
    let chain = |join: &str, test: &str| {
        let terms: Vec<_> = (0..5000).map(|n| format!("a {test} {n}")).collect();
        terms.join(join)
    };
    assert_eq!(matching(&chain(" or ", "="), &cells), cells[..2]);
    assert_eq!(matching(&chain(" and ", "<>"), &cells), cells[2..3]);
    let long = parsed(&chain(" or ", "="));
    assert_eq!(parsed(&long.to_string()), long);
}

#[test]
fn columns_are_named_once_and_must_be_as_long_as_the_table() {
    let predicate = parsed("B = 1 and (\"c d\" = 2 or 5 > B) and not a.b is null");
    assert_eq!(predicate.columns(), ["B", "c d", "a.b"]);
    let short = group("a", &[Some("1"), None]);
    for rows in [0, 1, 3] {
        let error = short.matches(&parsed("a = 1"), rows).unwrap_err().to_string();
        assert_eq!(error, format!("column 1 has 2 cells for {rows} rows"));
    }
    assert_eq!(short.matches(&parsed("a = 1"), 2).unwrap(), [true, false]);
    let error = short.matches(&parsed("a = 1 or b = 1"), 2).unwrap_err().to_string();
    assert_eq!(error, "no column named `b`; the only column is `a`");
}

#[test]
fn groups_are_skipped_by_their_statistics() {
    let number = |value: i64| Decimal::from(value);
    let numbers =
        Statement { numbers: NumberBounds::Between(number(10), number(20)), ..Default::default() };
    let texts = |min: &str, max: &str| Statement {
        texts: Some((min.into(), max.into())),
        ..Default::default()
    };
    let full = CellPresence { blank: false, filled: true };
    let values =
        Statement { values: Some(vec![b"x".to_vec(), b"y".to_vec()]), ..Default::default() };
    let words = Statement { numbers: NumberBounds::NoNumbers, ..Default::default() };
    let blank =
        Statement { cells: CellPresence { blank: true, filled: false }, ..Default::default() };
    let check = |statistics: &Statement, yes: &[&str], no: &[&str]| {
        let statistics = Stated(BTreeMap::from([("a", statistics.clone())]));
        for (texts, want) in [(yes, true), (no, false)] {
            for text in texts {
                assert_eq!(may_match(&parsed(text), &statistics), want, "{text} {statistics:?}");
            }
        }
    };
    check(
        &numbers,
        &[
            "a = 10",
            "a > 19.9",
            "a < 10.1",
            "a <> 15",
            "not a = 10",
            "a between 20 and 30",
            "a in (1, 15)",
            "a = 'x'",
            "a not in (10, 20)",
            "a is null",
            "b = 5",
            "not (a > 20 or a < 11)",
        ],
        &[
            "a = 9",
            "a > 20",
            "a >= 20.01",
            "a < 10",
            "not a <= 20",
            "a between 21 and 30",
            "a in (1, 25)",
            "a not between 10 and 20",
            "a = 10 and a > 20",
            "not (a >= 10 or b = 1)",
            "a = 5 or a = 25",
        ],
    );
    check(
        &texts("bar", "fo"),
        &[
            "a = 'bar'",
            "a = 'foz'",
            "a = ''",
            "a < 'bas'",
            "a > 'fooo'",
            "a <> 'c'",
            "a like 'f%'",
            "a like 'ba_'",
            "a ilike 'FO%'",
            "a not like 'z%'",
            "a between 'foo' and 'z'",
            "a = true or a = 5",
        ],
        &[
            "a = 'ba'",
            "a = 'fp'",
            "a > 'fp'",
            "a in ('a', 'z')",
            "a like 'fp%'",
            "a like 'baq_'",
            "a like 'z'",
            "a ilike 'G%'",
            "a between 'g' and 'z'",
            "a = true",
            "not a <= 'g'",
        ],
    );
    check(
        &Statement { cells: full, ..texts("bar", "fo") },
        &["a is not null", "a >= ''"],
        &["a < 'bar'", "a <= ''", "a is null", "a = ''", "a like ''"],
    );
    check(
        &values,
        &["a = 'x'", "a in ('z', 'y')", "a <> 'z'", "a like 'x%'", "a = ''", "a ilike 'Y'"],
        &[
            "a = 'z'",
            "a in ('z', 'w')",
            "a like 'z'",
            "a like '%z%'",
            "a ilike '_Z'",
            "not a <> 'z'",
        ],
    );
    check(
        &words,
        &["a = '5'", "a is null"],
        &["a = 5", "a <> 5", "not a in (5)", "a between 1 and 2"],
    );
    check(
        &blank,
        &["a is null", "a is not null", "a = ''", "a like '%'", "a < 'x'", "a <> 'x'"],
        &["a = 'x'", "a = 5", "a <> 5", "a = true", "a like '_%'", "a > ''"],
    );
    // Contradictory bounds are ignored.
    let reversed =
        Statement { numbers: NumberBounds::Between(number(2), number(1)), ..texts("b", "a") };
    check(&reversed, &["a = 5", "a = 'x'", "a < 0", "a > 'x'"], &[]);
}
