//! Reads dates, times and timestamps liberally, as literals and casts in predicates do.

use arrow_schema::TimeUnit;

use super::calendar;

const NANOS_PER_SECOND: i128 = 1_000_000_000;
const SECONDS_PER_DAY: i128 = 86_400;

/// Reads a date such as `2024-01-04`, and returns its days since the epoch.
///
/// A time of day after the date is ignored, as in `DuckDB`.
pub(crate) fn date(text: &str) -> Option<i32> {
    let (days, rest) = leading_date(text.trim())?;
    if !rest.is_empty() {
        let (_, rest) = leading_time(rest.strip_prefix(['T', ' '])?.trim_start())?;
        zone(rest)?;
    }
    i32::try_from(days).ok()
}

/// Reads a time of day such as `12:30` or `12:30:05.25`, and returns its units since midnight.
pub(crate) fn time(text: &str, unit: TimeUnit) -> Option<i64> {
    let (nanos, rest) = leading_time(text.trim())?;
    if rest.is_empty() { in_unit(nanos, unit) } else { None }
}

/// Reads a timestamp such as `2024-01-04 12:00:00.5+02`, and returns its units since the epoch.
///
/// Without a time of day, it is midnight. An offset counts only if the column has a time zone;
/// without an offset, the time is in UTC.
pub(crate) fn timestamp(text: &str, unit: TimeUnit, zoned: bool) -> Option<i64> {
    let (days, rest) = leading_date(text.trim())?;
    let (mut nanos, mut offset) = (0, 0);
    if !rest.is_empty() {
        let (time, rest) = leading_time(rest.strip_prefix(['T', ' '])?.trim_start())?;
        nanos = time;
        offset = zone(rest)?;
    }
    if !zoned {
        offset = 0;
    }
    let seconds = i128::from(days) * SECONDS_PER_DAY - i128::from(offset);
    in_unit(seconds * NANOS_PER_SECOND + nanos, unit)
}

/// Converts nanoseconds: digits beyond microseconds are dropped, others are rounded.
fn in_unit(nanos: i128, unit: TimeUnit) -> Option<i64> {
    let micros = nanos.div_euclid(1000);
    let value = match unit {
        TimeUnit::Nanosecond => nanos,
        TimeUnit::Microsecond => micros,
        TimeUnit::Millisecond => (micros + 500).div_euclid(1000),
        TimeUnit::Second => (micros + 500_000).div_euclid(1_000_000),
    };
    i64::try_from(value).ok()
}

/// Reads `year-month-day` or `year/month/day`; returns the days since the epoch and the rest.
pub(super) fn leading_date(text: &str) -> Option<(i64, &str)> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text),
    };
    let (year, rest) = digits(unsigned, 1, 6)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/'))?;
    let (month, rest) = digits(rest.strip_prefix(separator)?, 1, 2)?;
    let (day, rest) = digits(rest.strip_prefix(separator)?, 1, 2)?;
    let year = if negative { -year } else { year };
    Some((calendar::days(year, month, day)?, rest))
}

/// Reads `hour:minute[:second[.fraction]]`; returns the nanoseconds and the rest.
pub(super) fn leading_time(text: &str) -> Option<(i128, &str)> {
    let (hour, rest) = digits(text, 1, 2)?;
    let (minute, mut rest) = digits(rest.strip_prefix(':')?, 1, 2)?;
    let (mut second, mut nanos) = (0, 0);
    if let Some(after) = rest.strip_prefix(':') {
        (second, rest) = digits(after, 1, 2)?;
        if let Some(after) = rest.strip_prefix('.') {
            let len = after.bytes().take_while(u8::is_ascii_digit).count();
            let fraction = after.get(..len.min(9))?;
            if !fraction.is_empty() {
                nanos = format!("{fraction:0<9}").parse().ok()?;
            }
            rest = after.get(len..)?;
        }
    }
    let seconds = i128::from(hour * 3600 + minute * 60 + second);
    let whole_day = seconds == SECONDS_PER_DAY && nanos == 0;
    if minute > 59 || second > 59 || (hour > 23 && !whole_day) {
        return None;
    }
    Some((seconds * NANOS_PER_SECOND + nanos, rest))
}

/// Reads nothing, `Z`, `UTC`, or an offset such as `+02`, `-03:30`; returns the seconds.
pub(super) fn zone(text: &str) -> Option<i64> {
    let text = text.trim();
    if text.is_empty() || text.eq_ignore_ascii_case("z") || text.eq_ignore_ascii_case("utc") {
        return Some(0);
    }
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, mut rest) = digits(rest, 1, 2)?;
    let mut minutes = 0;
    if !rest.is_empty() {
        (minutes, rest) = digits(rest.strip_prefix(':').unwrap_or(rest), 2, 2)?;
    }
    if rest.is_empty() && minutes < 60 { Some(sign * (hours * 3600 + minutes * 60)) } else { None }
}

/// Reads between `min` and `max` digits.
fn digits(text: &str, min: usize, max: usize) -> Option<(i64, &str)> {
    let len = text.bytes().take(max).take_while(u8::is_ascii_digit).count();
    if len < min {
        return None;
    }
    let (digits, rest) = text.split_at_checked(len)?;
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};

    use super::*;

    #[test]
    fn dates_are_days_since_the_epoch() {
        for (text, days) in [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            (" 2024-1-4 ", 19_726),
            ("2024/01/04", 19_726),
            ("2024-01-04 23:59:59", 19_726),
            ("2024-01-04T12:00:00Z", 19_726),
            ("2000-02-29", 11_016),
            ("0001-01-01", -719_162),
            ("9999-12-31", 2_932_896),
        ] {
            assert_eq!(date(text), Some(days), "{text}");
        }
        for text in ["", "2024", "2024-13-01", "2023-02-29", "04.01.2024", "2024-01/04", "x"] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_units_since_midnight() {
        assert_eq!(time("12:30", Second), Some(45_000));
        assert_eq!(time("00:00:01.5", Millisecond), Some(1500));
        assert_eq!(time("00:00:00.000000001", Nanosecond), Some(1));
        assert_eq!(time("24:00:00", Second), Some(86_400));
        for text in ["12", "25:00", "24:00:01", "12:60", "12:00:60", "12:00x"] {
            assert_eq!(time(text, Second), None, "{text}");
        }
    }

    #[test]
    fn timestamps_are_units_since_the_epoch() {
        let noon = 19_726 * 86_400 + 43_200;
        for (text, naive, zoned) in [
            ("2024-01-04 12:00:00", noon, noon),
            ("2024-01-04T12:00", noon, noon),
            ("2024-01-04 12:00:00+02", noon, noon - 7200),
            ("2024-01-04 12:00:00-03:30", noon, noon + 12_600),
            ("2024-01-04 12:00:00.000 UTC", noon, noon),
            ("2024-01-04", noon - 43_200, noon - 43_200),
        ] {
            assert_eq!(timestamp(text, Second, false), Some(naive), "{text}");
            assert_eq!(timestamp(text, Second, true), Some(zoned), "{text}");
        }
        let fraction = "1970-01-01 00:00:00.0005009";
        assert_eq!(timestamp(fraction, Nanosecond, false), Some(500_900));
        assert_eq!(timestamp(fraction, Microsecond, false), Some(500));
        assert_eq!(timestamp(fraction, Millisecond, false), Some(1));
        assert_eq!(timestamp("9999-01-01", Nanosecond, false), None);
        for text in ["2024-01-04 25:00", "2024-01-04 12:00 Mars", "2024-01-04x"] {
            assert_eq!(timestamp(text, Second, true), None, "{text}");
        }
    }
}
