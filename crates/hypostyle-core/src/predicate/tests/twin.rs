//! A slow, simple implementation of the language, to compare with.

use std::cmp::Ordering;

use super::Cell;
use crate::number::decimal::tests::naive_order;
use crate::predicate::expr::{ColumnTest, CompareOp, Expr, Leaf, Literal};
use crate::predicate::like::Pattern;

/// Matches `like` by its definition: each wildcard tries every length.
pub(in crate::predicate) fn naive_like(
    pattern: &str,
    escape: Option<char>,
    any_case: bool,
    cell: &[u8],
) -> bool {
    fn go(pattern: &[char], escape: Option<char>, cell: &[Vec<u8>]) -> bool {
        match pattern {
            [] => cell.is_empty(),
            [e, c, rest @ ..] if Some(*e) == escape => {
                cell.first().is_some_and(|unit| *unit == c.to_string().into_bytes())
                    && go(rest, escape, &cell[1..])
            }
            ['%', rest @ ..] => (0..=cell.len()).any(|taken| go(rest, escape, &cell[taken..])),
            ['_', rest @ ..] => !cell.is_empty() && go(rest, escape, &cell[1..]),
            [c, rest @ ..] => {
                cell.first().is_some_and(|unit| *unit == c.to_string().into_bytes())
                    && go(rest, escape, &cell[1..])
            }
        }
    }
    let fold = |text: Vec<u8>| if any_case { text.to_ascii_lowercase() } else { text };
    let cell = fold(cell.to_vec());
    let units: Vec<Vec<u8>> = cell
        .utf8_chunks()
        .flat_map(|chunk| {
            let chars = chunk.valid().chars().map(|c| c.to_string().into_bytes());
            chars.chain(chunk.invalid().iter().map(|&byte| vec![byte])).collect::<Vec<_>>()
        })
        .collect();
    // No test uses a letter as the escape, so lower-casing does not change it.
    let pattern = String::from_utf8(fold(pattern.as_bytes().to_vec())).unwrap();
    go(&pattern.chars().collect::<Vec<_>>(), escape, &units)
}

/// Returns whether a row matches; `None` is unknown.
pub(super) fn naive(expr: &Expr, row: &dyn Fn(&str) -> Cell) -> Option<bool> {
    match expr {
        Expr::And(parts) => {
            let all: Vec<_> = parts.iter().map(|part| naive(part, row)).collect();
            if all.contains(&Some(false)) {
                Some(false)
            } else if all.contains(&None) {
                None
            } else {
                Some(true)
            }
        }
        Expr::Or(parts) => {
            let all: Vec<_> = parts.iter().map(|part| naive(part, row)).collect();
            if all.contains(&Some(true)) {
                Some(true)
            } else if all.contains(&None) {
                None
            } else {
                Some(false)
            }
        }
        Expr::Not(part) => naive(part, row).map(|truth| !truth),
        Expr::Leaf(Leaf { column, test }) => {
            let cell = row(column);
            if *test == ColumnTest::IsNull {
                return Some(cell.is_none_or(|cell| cell.is_empty()));
            }
            let cell = cell?;
            let compare = |op, value: &Literal| naive_compare(&cell, op, value);
            match test {
                ColumnTest::Compare(op, value) => compare(*op, value),
                // Both ends have the same type, so both comparisons are known or neither is.
                ColumnTest::Between(low, high) => Some(
                    compare(CompareOp::GreaterOrEqual, low)?
                        && compare(CompareOp::LessOrEqual, high)?,
                ),
                ColumnTest::In(values) => {
                    let all: Vec<_> =
                        values.iter().map(|value| compare(CompareOp::Equal, value)).collect();
                    if all.contains(&Some(true)) {
                        Some(true)
                    } else if all.contains(&None) {
                        None
                    } else {
                        Some(false)
                    }
                }
                ColumnTest::Like(Pattern { text, escape, any_case, .. }) => {
                    Some(naive_like(text, *escape, *any_case, &cell))
                }
                ColumnTest::IsNull => unreachable!(),
            }
        }
    }
}

fn naive_compare(cell: &[u8], op: CompareOp, value: &Literal) -> Option<bool> {
    let order = match value {
        Literal::Text(text) => cell.cmp(text.as_bytes()),
        Literal::Bool(truth) => {
            let cell = std::str::from_utf8(cell).ok()?.to_lowercase().parse::<bool>().ok()?;
            cell.cmp(truth)
        }
        Literal::Number(number) => {
            let cell = std::str::from_utf8(cell).ok()?.trim();
            let spelled = cell.contains(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c));
            if spelled || cell.parse::<f64>().is_err() {
                return None;
            }
            naive_order(cell, &number.to_string())
        }
    };
    Some(match op {
        CompareOp::Equal => order == Ordering::Equal,
        CompareOp::NotEqual => order != Ordering::Equal,
        CompareOp::Less => order == Ordering::Less,
        CompareOp::LessOrEqual => order != Ordering::Greater,
        CompareOp::Greater => order == Ordering::Greater,
        CompareOp::GreaterOrEqual => order != Ordering::Less,
    })
}
