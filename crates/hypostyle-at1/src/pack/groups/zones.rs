//! The type of a column of a row group, and the bounds of its numbers (§6.4).

use std::cmp::Ordering;

use crate::statistics::GroupStatistics;

/// What stands where there is no value, in files that have a word for it. None of
/// them reads as a number.
const MISSING: [&[u8]; 11] =
    [b"", b"NA", b"N/A", b"n/a", b"NaN", b"nan", b"null", b"NULL", b"None", b"-", b"\\N"];

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::pack) enum Type {
    /// Nothing seen yet but what is missing.
    Nothing,
    Integer,
    Decimal,
    Text,
}

impl Type {
    /// The number of the type.
    pub(in crate::pack) fn id(self) -> u8 {
        match self {
            Self::Nothing | Self::Text => 0,
            Self::Integer => 1,
            Self::Decimal => 2,
        }
    }

    /// The type of a cell.
    ///
    /// Only plain numbers count as such: a zone must hold everything that a query
    /// might take for a number, and nobody reads these in different encoders.
    pub(in crate::pack) fn of(cell: &[u8]) -> Self {
        if MISSING.contains(&cell) {
            return Self::Nothing;
        }
        let digits = cell.strip_prefix(b"-").unwrap_or(cell);
        let whole = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let is_plain = |digits: &[u8]| digits.iter().all(u8::is_ascii_digit) && !digits.is_empty();
        match digits.get(whole..) {
            Some([]) if whole > 0 && integer(cell).is_some() => Self::Integer,
            Some([b'.', rest @ ..]) if whole > 0 && is_plain(rest) && digits.len() <= 300 => {
                Self::Decimal
            }
            _ => Self::Text,
        }
    }
}

/// A number of 64 bits.
fn integer(cell: &[u8]) -> Option<i64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// Returns the statistics of some cells of a column; text has none.
///
/// If no cell is a number, the bounds are 0: any bounds would do.
pub(in crate::pack) fn statistics<'a>(
    kind: Type,
    cells: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<GroupStatistics> {
    match kind {
        Type::Nothing | Type::Text => None,
        Type::Integer => {
            let bounds = cells.filter_map(integer).fold(None, |bounds, value| match bounds {
                None => Some((value, value)),
                Some((min, max)) => Some((value.min(min), value.max(max))),
            });
            let (min, max) = bounds.unwrap_or((0, 0));
            Some(GroupStatistics::Integers { min: min.into(), max: max.into() })
        }
        Type::Decimal => {
            let (min, max) = (outward(cells.clone(), false), outward(cells, true));
            Some(GroupStatistics::Decimals { min, max })
        }
    }
}

/// The least or the greatest number of some cells as a float that is not inside of it.
fn outward<'a>(cells: impl Iterator<Item = &'a [u8]>, most: bool) -> f64 {
    let mut bound: Option<(f64, &[u8])> = None;
    let mut inside = false;
    for cell in cells {
        if bound.is_some_and(|(_, last)| last == cell) || Type::of(cell) == Type::Nothing {
            continue;
        }
        let Some(value) = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok()) else {
            continue;
        };
        let order: f64 = value;
        let order = bound.map_or(Ordering::Greater, |(bound, _)| match most {
            true => order.total_cmp(&bound),
            false => bound.total_cmp(&order),
        });
        if order == Ordering::Less {
            continue;
        }
        let is_inside = match compare(cell, value) {
            Ordering::Equal => false,
            Ordering::Less => !most,
            Ordering::Greater => most,
        };
        inside = is_inside || (inside && order == Ordering::Equal);
        bound = Some((value, cell));
    }
    match bound {
        None => 0.0,
        Some((value, _)) if !inside => value,
        Some((value, _)) if most => value.next_up(),
        Some((value, _)) => value.next_down(),
    }
}

/// How a plain decimal compares with a float, exactly.
fn compare(cell: &[u8], value: f64) -> Ordering {
    // No float has more digits behind the point than these.
    let printed = format!("{value:.1074}");
    let (one, other) = (parts(cell), parts(printed.as_bytes()));
    let size = |(_, whole, digits): (bool, &'_ [u8], &'_ [u8])| {
        [whole, digits].concat().iter().any(|&byte| byte != b'0')
    };
    let negative = |it: (bool, &'_ [u8], &'_ [u8])| it.0 && size(it);
    match (negative(one), negative(other)) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (sign, _) => {
            let order = (one.1.len().cmp(&other.1.len())).then_with(|| one.1.cmp(other.1));
            // What is longer has trailing zeros at most, or is larger.
            let order = order.then_with(|| one.2.cmp(other.2));
            if sign { order.reverse() } else { order }
        }
    }
}

/// The sign of a plain decimal, its digits before the point without zeros at the
/// start, and those behind it without zeros at the end.
fn parts(text: &[u8]) -> (bool, &[u8], &[u8]) {
    let (negative, text) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
    let (whole, digits) = text.split_at_checked(point).unwrap_or((text, &[]));
    let digits = digits.strip_prefix(b".").unwrap_or(digits);
    let start = whole.iter().position(|&byte| byte != b'0').unwrap_or(whole.len());
    let end = digits.iter().rposition(|&byte| byte != b'0').map_or(0, |at| at + 1);
    (negative, whole.get(start..).unwrap_or_default(), digits.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_plain_numbers() {
        for (cell, want) in [
            ("", Type::Nothing),
            ("NA", Type::Nothing),
            ("0", Type::Integer),
            ("-12", Type::Integer),
            ("007", Type::Integer),
            ("9223372036854775807", Type::Integer),
            ("9223372036854775808", Type::Text),
            ("1.50", Type::Decimal),
            ("-0.0", Type::Decimal),
            ("1.", Type::Text),
            (".5", Type::Text),
            ("+5", Type::Text),
            ("1e5", Type::Text),
            ("1 ", Type::Text),
            ("--1", Type::Text),
            ("-.5", Type::Text),
            ("12:30", Type::Text),
        ] {
            assert_eq!(Type::of(cell.as_bytes()), want, "{cell}");
        }
    }

    #[test]
    fn floats_compare_with_decimals_exactly() {
        for (cell, value, want) in [
            ("0.5", 0.5, Ordering::Equal),
            ("0.1", 0.1, Ordering::Less),
            ("0.3", 0.3, Ordering::Greater),
            ("-0.1", -0.1, Ordering::Greater),
            ("9.10", 9.1, Ordering::Greater),
            ("-0.0", 0.0, Ordering::Equal),
            ("0.0", -0.0, Ordering::Equal),
            ("10.0", 9.5, Ordering::Greater),
            ("0010.250", 10.25, Ordering::Equal),
            ("-3.5", 2.0, Ordering::Less),
            ("12345678901234567890.5", 12_345_678_901_234_567_168.0, Ordering::Greater),
        ] {
            assert_eq!(compare(cell.as_bytes(), value), want, "{cell}");
        }
    }

    #[test]
    fn zones_are_exact_where_they_can_be_and_wider_where_not() {
        let zone =
            |kind, cells: &[&str]| statistics(kind, cells.iter().map(|cell| cell.as_bytes()));
        let integers = |min, max| Some(GroupStatistics::Integers { min, max });
        assert_eq!(zone(Type::Integer, &["3", "NA", "-7", ""]), integers(-7, 3));
        assert_eq!(zone(Type::Integer, &["NA"]), integers(0, 0));
        let bounds = Some(GroupStatistics::Decimals { min: 0.5, max: 2.0 });
        assert_eq!(zone(Type::Decimal, &["0.5", "NA", "2"]), bounds);
        assert_eq!(zone(Type::Text, &["3"]), None);
        // 0.1 is a little less than its float, 9.10 a little more.
        let bounds =
            Some(GroupStatistics::Decimals { min: 0.1_f64.next_down(), max: 9.1_f64.next_up() });
        assert_eq!(zone(Type::Decimal, &["9.10", "0.1"]), bounds);
        // Two decimals with the same float, one on each side of it.
        let near = ["0.1", "0.1000000000000000055511151231257827021181583404541015625"];
        let bounds = Some(GroupStatistics::Decimals { min: 0.1_f64.next_down(), max: 0.1 });
        assert_eq!(zone(Type::Decimal, &near), bounds);
    }
}
