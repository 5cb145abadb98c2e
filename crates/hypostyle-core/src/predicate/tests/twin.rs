//! A slow, simple implementation of the language, to compare with.

use std::cmp::Ordering;

use super::Cell;
use crate::number::decimal::tests::naive_order;
use crate::predicate::expr::{CompareOp, Literal, Node};
use crate::predicate::like::lower_char;

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
    let fold = |c: char| if any_case { lower_char(c) } else { c };
    let units: Vec<Vec<u8>> = cell
        .utf8_chunks()
        .flat_map(|chunk| {
            let chars = chunk.valid().chars().map(|c| fold(c).to_string().into_bytes());
            chars.chain(chunk.invalid().iter().map(|&byte| vec![byte])).collect::<Vec<_>>()
        })
        .collect();
    // No test uses a letter as the escape, so lower-casing does not change it.
    go(&pattern.chars().map(fold).collect::<Vec<_>>(), escape, &units)
}

/// Returns whether a row of text cells matches; `None` is unknown.
///
/// It knows tests of columns against literals only.
pub(super) fn naive(node: &Node, row: &dyn Fn(&str) -> Cell) -> Option<bool> {
    let cell = |node: &Node| match node {
        Node::Column(name) => row(name),
        other => panic!("{other} is no column"),
    };
    let literal = |node: &Node| match node {
        Node::Literal(literal) => literal.clone(),
        other => panic!("{other} is no literal"),
    };
    match node {
        Node::And(parts) => all_of(parts.iter().map(|part| naive(part, row))),
        Node::Or(parts) => any_of(parts.iter().map(|part| naive(part, row))),
        Node::Not(part) => naive(part, row).map(|truth| !truth),
        Node::IsNull(column) => Some(cell(column).is_none()),
        Node::Compare(op, column, value) => naive_compare(&cell(column)?, *op, &literal(value)),
        Node::Between(column, low, high) => {
            let cell = cell(column)?;
            all_of([
                naive_compare(&cell, CompareOp::GreaterOrEqual, &literal(low)),
                naive_compare(&cell, CompareOp::LessOrEqual, &literal(high)),
            ])
        }
        Node::In(column, values) => {
            let cell = cell(column)?;
            any_of(
                values.iter().map(|value| naive_compare(&cell, CompareOp::Equal, &literal(value))),
            )
        }
        Node::Like(column, pattern) => {
            let cell = cell(column)?;
            Some(naive_like(&pattern.text, pattern.escape, pattern.any_case, &cell))
        }
        other => panic!("{other} is no test of a column"),
    }
}

pub(super) fn all_of(truths: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    any_of(truths.into_iter().map(|truth| truth.map(|truth| !truth))).map(|truth| !truth)
}

pub(super) fn any_of(truths: impl IntoIterator<Item = Option<bool>>) -> Option<bool> {
    let all: Vec<_> = truths.into_iter().collect();
    if all.contains(&Some(true)) {
        Some(true)
    } else if all.contains(&None) {
        None
    } else {
        Some(false)
    }
}

fn naive_compare(cell: &[u8], op: CompareOp, value: &Literal) -> Option<bool> {
    let order = match value {
        Literal::Null | Literal::Bytes(_) => return None,
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
