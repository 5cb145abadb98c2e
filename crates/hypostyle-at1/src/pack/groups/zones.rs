//! The types of columns in row groups, and the bounds of the numbers of each chunk (§6.4).

use std::cmp::Ordering;

use crate::statistics::GroupStatistics;

/// Cells that mean a missing value. None of them parses as a number.
const MISSING_VALUES: [&[u8]; 11] =
    [b"", b"NA", b"N/A", b"n/a", b"NaN", b"nan", b"null", b"NULL", b"None", b"-", b"\\N"];

/// The type of a column, as far as zones need it; the type of several cells is the maximum
/// of their types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::pack) enum ZoneType {
    /// All cells so far are missing values.
    Unknown,
    Integer,
    Decimal,
    Text,
}

impl ZoneType {
    /// Returns the number of the type in the format.
    pub(in crate::pack) fn id(self) -> u8 {
        match self {
            Self::Unknown | Self::Text => 0,
            Self::Integer => 1,
            Self::Decimal => 2,
        }
    }

    /// Returns whether the column is stored as text, without zones.
    pub(in crate::pack) fn is_text(self) -> bool {
        matches!(self, Self::Unknown | Self::Text)
    }

    /// Returns the type of a cell.
    ///
    /// Only plain decimal numbers count as numbers. The bounds of a zone must include every
    /// cell that a query parses as a number, and all readers agree on plain numbers.
    pub(in crate::pack) fn of(cell: &[u8]) -> Self {
        if MISSING_VALUES.contains(&cell) {
            return Self::Unknown;
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

/// Parses an integer of 64 bits.
fn integer(cell: &[u8]) -> Option<i64> {
    std::str::from_utf8(cell).ok()?.parse().ok()
}

/// Returns the statistics of some cells of a column: 0 and 0 if none is a number, and none for
/// text.
pub(in crate::pack) fn statistics<'a>(
    zone_type: ZoneType,
    cells: impl Iterator<Item = &'a [u8]> + Clone,
) -> Option<GroupStatistics> {
    match zone_type {
        ZoneType::Unknown | ZoneType::Text => None,
        ZoneType::Integer => {
            let bounds = cells.filter_map(integer).fold(None, |bounds, value| match bounds {
                None => Some((value, value)),
                Some((min, max)) => Some((value.min(min), value.max(max))),
            });
            let (min, max) = bounds.unwrap_or((0, 0));
            Some(GroupStatistics::Integers { min: min.into(), max: max.into() })
        }
        ZoneType::Decimal => {
            let min = float_bound(cells.clone(), Side::Min);
            Some(GroupStatistics::Decimals { min, max: float_bound(cells, Side::Max) })
        }
    }
}

/// Which of two bounds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Min,
    Max,
}

/// Returns the nearest float that bounds the numbers of some cells on one side, or 0 if
/// there is none.
fn float_bound<'a>(cells: impl Iterator<Item = &'a [u8]>, side: Side) -> f64 {
    let mut bound: Option<(f64, &[u8])> = None;
    // Whether a cell lies beyond the float that it was rounded to.
    let mut is_beyond = false;
    for cell in cells {
        let is_repeated = bound.is_some_and(|(_, last)| last == cell);
        if is_repeated || ZoneType::of(cell) == ZoneType::Unknown {
            continue;
        }
        let Some(value) = std::str::from_utf8(cell).ok().and_then(|text| text.parse().ok()) else {
            continue;
        };
        let float: f64 = value;
        let order = bound.map_or(Ordering::Greater, |(bound, _)| match side {
            Side::Max => float.total_cmp(&bound),
            Side::Min => bound.total_cmp(&float),
        });
        if order == Ordering::Less {
            continue;
        }
        let cell_is_beyond = match compare_exactly(cell, value) {
            Ordering::Equal => false,
            Ordering::Less => side == Side::Min,
            Ordering::Greater => side == Side::Max,
        };
        is_beyond = cell_is_beyond || (is_beyond && order == Ordering::Equal);
        bound = Some((value, cell));
    }
    match bound {
        None => 0.0,
        Some((value, _)) if !is_beyond => value,
        Some((value, _)) if side == Side::Max => value.next_up(),
        Some((value, _)) => value.next_down(),
    }
}

/// Compares a plain decimal with a float exactly.
///
/// `hypostyle_core`'s `Decimal` keeps 38 digits, which are too few: the exact value of a
/// float may have many more.
fn compare_exactly(cell: &[u8], value: f64) -> Ordering {
    // No float has more digits than this after the point.
    let printed = format!("{value:.1074}");
    let (one, other) = (PlainDecimal::parse(cell), PlainDecimal::parse(printed.as_bytes()));
    match (one.is_negative(), other.is_negative()) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (negative, _) => {
            let order = one.whole.len().cmp(&other.whole.len());
            let order = order.then_with(|| one.whole.cmp(other.whole));
            // Without trailing zeros, the longer of two fractions with a common prefix is
            // larger.
            let order = order.then_with(|| one.fraction.cmp(other.fraction));
            if negative { order.reverse() } else { order }
        }
    }
}

/// The parts of a plain decimal.
struct PlainDecimal<'a> {
    minus: bool,
    /// The digits before the point, without leading zeros.
    whole: &'a [u8],
    /// The digits after the point, without trailing zeros.
    fraction: &'a [u8],
}

impl<'a> PlainDecimal<'a> {
    fn parse(text: &'a [u8]) -> Self {
        let (minus, text) = match text.strip_prefix(b"-") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let point = text.iter().position(|&byte| byte == b'.').unwrap_or(text.len());
        let (whole, fraction) = text.split_at_checked(point).unwrap_or((text, &[]));
        let fraction = fraction.strip_prefix(b".").unwrap_or(fraction);
        let start = whole.iter().position(|&byte| byte != b'0').unwrap_or(whole.len());
        let end = fraction.iter().rposition(|&byte| byte != b'0').map_or(0, |at| at + 1);
        let whole = whole.get(start..).unwrap_or_default();
        Self { minus, whole, fraction: fraction.get(..end).unwrap_or_default() }
    }

    /// Returns whether the number is below zero; `-0.0` is not.
    fn is_negative(&self) -> bool {
        self.minus && !(self.whole.is_empty() && self.fraction.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_numbers_have_a_number_type() {
        for (cell, want) in [
            ("", ZoneType::Unknown),
            ("NA", ZoneType::Unknown),
            ("0", ZoneType::Integer),
            ("-12", ZoneType::Integer),
            ("007", ZoneType::Integer),
            ("9223372036854775807", ZoneType::Integer),
            ("9223372036854775808", ZoneType::Text),
            ("1.50", ZoneType::Decimal),
            ("-0.0", ZoneType::Decimal),
            ("1.", ZoneType::Text),
            (".5", ZoneType::Text),
            ("+5", ZoneType::Text),
            ("1e5", ZoneType::Text),
            ("1 ", ZoneType::Text),
            ("--1", ZoneType::Text),
            ("-.5", ZoneType::Text),
            ("12:30", ZoneType::Text),
        ] {
            assert_eq!(ZoneType::of(cell.as_bytes()), want, "{cell}");
        }
    }

    #[test]
    fn decimals_compare_with_floats_exactly() {
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
            assert_eq!(compare_exactly(cell.as_bytes(), value), want, "{cell}");
        }
    }

    #[test]
    fn bounds_are_exact_or_rounded_outward() {
        let zone = |zone_type, cells: &[&str]| {
            statistics(zone_type, cells.iter().map(|cell| cell.as_bytes()))
        };
        let integers = |min, max| Some(GroupStatistics::Integers { min, max });
        assert_eq!(zone(ZoneType::Integer, &["3", "NA", "-7", ""]), integers(-7, 3));
        assert_eq!(zone(ZoneType::Integer, &["NA"]), integers(0, 0));
        let decimals = |min, max| Some(GroupStatistics::Decimals { min, max });
        assert_eq!(zone(ZoneType::Decimal, &["0.5", "NA", "2"]), decimals(0.5, 2.0));
        assert_eq!(zone(ZoneType::Text, &["3"]), None);
        // 0.1 is a little less than its float, 9.10 a little more.
        let bounds = decimals(0.1_f64.next_down(), 9.1_f64.next_up());
        assert_eq!(zone(ZoneType::Decimal, &["9.10", "0.1"]), bounds);
        // Two decimals with the same float, one on each side of it.
        let near = ["0.1", "0.1000000000000000055511151231257827021181583404541015625"];
        assert_eq!(zone(ZoneType::Decimal, &near), decimals(0.1_f64.next_down(), 0.1));
    }
}
