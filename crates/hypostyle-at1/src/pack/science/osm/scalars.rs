//! Parses timestamps and coordinates that print as the same text again.

use crate::pack::tables::decimal::{canonical, padded};

/// Returns the number of 10^-7 degrees that prints as this text.
pub(super) fn coordinate(text: &[u8]) -> Option<i64> {
    const ONE_DEGREE: i64 = 10_000_000;
    let (digits, is_negative) = match text.strip_prefix(b"-") {
        Some(digits) => (digits, true),
        None => (text, false),
    };
    let (whole, fraction) = match memchr::memchr(b'.', digits) {
        Some(point) => (digits.get(..point)?, digits.get(point + 1..)?),
        None => (digits, &b""[..]),
    };
    let is_shortest = match fraction.last() {
        Some(last) => *last != b'0',
        None => whole.len() == digits.len(),
    };
    if !is_shortest || fraction.len() > 7 || whole.len() > 9 || whole.starts_with(b"-") {
        return None;
    }
    let places = u32::try_from(7 - fraction.len()).ok()?;
    let fraction = padded(fraction, fraction.len())? * 10_i64.pow(places);
    let value = canonical(whole)? * ONE_DEGREE + fraction;
    if is_negative { (value > 0).then_some(-value) } else { Some(value) }
}

/// Returns the seconds since 1970 that every decoder prints as this text.
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| {
        let width = range.len();
        text.get(range).and_then(|digits| padded(digits, width))
    };
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
    if text.len() != 20 || separators.iter().any(|&(at, byte)| text.get(at) != Some(&byte)) {
        return None;
    }
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days_of_month = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    // Not every decoder prints earlier years with four digits.
    let is_date = year >= 1000 && (1..=days_of_month).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    Some(days_since_1970(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Returns the days from the start of 1970 to a date in the years 1000 to 9999.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    // Years that start in March have their leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year
        - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_timestamps_that_print_the_same_are_parsed() {
        for (text, seconds) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59Z", -1),
            ("2000-02-29T23:59:59Z", 951_868_799),
            ("2100-03-01T00:00:00Z", 4_107_542_400),
            ("2024-01-02T03:04:06Z", 1_704_164_646),
            ("1000-01-01T00:00:00Z", -30_610_224_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] {
            assert_eq!(timestamp(text.as_bytes()), Some(seconds), "{text}");
        }
        for text in [
            "",
            "0999-12-31T23:59:59Z",
            "2023-02-29T00:00:00Z",
            "2024-13-01T00:00:00Z",
            "2024-00-01T00:00:00Z",
            "2024-01-00T00:00:00Z",
            "2024-01-32T00:00:00Z",
            "2024-01-01T24:00:00Z",
            "2016-12-31T23:59:60Z",
            "2024-01-01 00:00:00Z",
            "2024-01-01T00:00:00+",
            "2024-01-01T00:00:0xZ",
            "2024-01-01T00:00:00.0Z",
            "-024-01-01T00:00:00Z",
        ] {
            assert_eq!(timestamp(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn only_coordinates_that_print_the_same_are_parsed() {
        for (text, value) in [
            ("0", 0),
            ("52.5", 525_000_000),
            ("13.4050001", 134_050_001),
            ("-0.0000001", -1),
            ("-180", -1_800_000_000),
            ("0.000001", 10),
            ("999999999.9999999", 9_999_999_999_999_999),
        ] {
            assert_eq!(coordinate(text.as_bytes()), Some(value), "{text}");
        }
        for text in [
            "",
            "-",
            "-0",
            "-0.0",
            "1.",
            ".5",
            "1.0",
            "1.50",
            "01.5",
            "+1",
            "--1",
            "1.00000001",
            "1e1",
            "1.-5",
            "-.5",
            "1.5.5",
            "9999999999",
        ] {
            assert_eq!(coordinate(text.as_bytes()), None, "{text}");
        }
    }
}
