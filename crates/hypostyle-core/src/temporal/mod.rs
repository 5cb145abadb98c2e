//! Dates and timestamps as text.
//!
//! `calendar` counts days. `liberal` reads what people write in predicates; the
//! [spelling](crate::spelling) of a column is stricter, so that its cells can be printed again.

pub(crate) mod calendar;
mod liberal;

use arrow_schema::TimeUnit;

pub(crate) use liberal::{date, time, timestamp};

/// Nanoseconds of a second.
const NANOS: i128 = 1_000_000_000;

/// Reads a date without a time of day; returns its days since the epoch.
pub(crate) fn exact_date(text: &str) -> Option<i32> {
    let (days, rest) = liberal::leading_date(text)?;
    i32::try_from(days).ok().filter(|_| rest.is_empty())
}

/// Reads a timestamp that a unit represents; returns its units since the epoch.
///
/// Unlike [`timestamp`], it drops no digits and no offset: without a time zone of the column,
/// the text must not have one.
pub(crate) fn exact_timestamp(text: &str, unit: TimeUnit, zoned: bool) -> Option<i64> {
    let (days, rest) = liberal::leading_date(text)?;
    let (mut nanos, mut offset) = (0, 0);
    if !rest.is_empty() {
        let (time, rest) = liberal::leading_time(rest.strip_prefix(['T', ' '])?)?;
        if !rest.is_empty() && !zoned {
            return None;
        }
        nanos = time;
        offset = liberal::zone(rest)?;
    }
    let seconds = i128::from(days) * 86_400 - i128::from(offset);
    let nanos = seconds * NANOS + nanos;
    let per_unit = NANOS / i128::from(units_per_second(unit));
    i64::try_from(nanos.div_euclid(per_unit)).ok().filter(|_| nanos.rem_euclid(per_unit) == 0)
}

/// Returns the units of a second.
pub(crate) fn units_per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}

#[cfg(test)]
mod tests {
    use TimeUnit::{Microsecond, Nanosecond, Second};

    use super::*;

    #[test]
    fn exact_reading_loses_nothing() {
        assert_eq!(exact_date("1970-01-02"), Some(1));
        assert_eq!(exact_date("1970-01-02 00:00:00"), None);
        let half = "1970-01-01 00:00:00.5";
        assert_eq!(exact_timestamp(half, Microsecond, false), Some(500_000));
        assert_eq!(exact_timestamp(half, Second, false), None);
        let tiny = "1970-01-01T00:00:00.000000001";
        assert_eq!(exact_timestamp(tiny, Microsecond, false), None);
        assert_eq!(exact_timestamp(tiny, Nanosecond, false), Some(1));
        let zoned = "1970-01-01T00:00:00+01:00";
        assert_eq!(exact_timestamp(zoned, Second, false), None);
        assert_eq!(exact_timestamp(zoned, Second, true), Some(-3600));
    }
}
