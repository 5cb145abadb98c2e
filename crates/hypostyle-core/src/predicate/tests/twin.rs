//! The meaning of the language once more, slow and plain.

use std::cmp::Ordering;

use super::Cell;
use crate::number::decimal::tests::naive_order;
use crate::predicate::expr::{Expr, Leaf, Literal, Op, Test};
use crate::predicate::like::Pattern;

/// `like` by its definition: each wildcard tries everything.
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
    // Letters are not used as escapes in these tests, so folding leaves them alone.
    let pattern = String::from_utf8(fold(pattern.as_bytes().to_vec())).unwrap();
    go(&pattern.chars().collect::<Vec<_>>(), escape, &units)
}

/// Whether a row is kept: `None` is unknown.
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
            if *test == Test::IsNull {
                return Some(cell.is_none_or(|cell| cell.is_empty()));
            }
            let cell = cell?;
            let compare = |op, value: &Literal| naive_compare(&cell, op, value);
            match test {
                Test::Compare(op, value) => compare(*op, value),
                // The ends are of one sort, so either both comparisons are known or neither.
                Test::Between(low, high) => {
                    Some(compare(Op::GreaterOrEqual, low)? && compare(Op::LessOrEqual, high)?)
                }
                Test::In(values) => {
                    let all: Vec<_> =
                        values.iter().map(|value| compare(Op::Equal, value)).collect();
                    if all.contains(&Some(true)) {
                        Some(true)
                    } else if all.contains(&None) {
                        None
                    } else {
                        Some(false)
                    }
                }
                Test::Like(Pattern { text, escape, any_case, .. }) => {
                    Some(naive_like(text, *escape, *any_case, &cell))
                }
                Test::IsNull => unreachable!(),
            }
        }
    }
}

fn naive_compare(cell: &[u8], op: Op, value: &Literal) -> Option<bool> {
    let order = match value {
        Literal::Text(text) => cell.cmp(text.as_bytes()),
        Literal::Truth(truth) => {
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
        Op::Equal => order == Ordering::Equal,
        Op::NotEqual => order != Ordering::Equal,
        Op::Less => order == Ordering::Less,
        Op::LessOrEqual => order != Ordering::Greater,
        Op::Greater => order == Ordering::Greater,
        Op::GreaterOrEqual => order != Ordering::Less,
    })
}
