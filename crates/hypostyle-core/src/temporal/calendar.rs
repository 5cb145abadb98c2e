//! The proleptic Gregorian calendar.

/// Days from 0000-03-01, on which the count of a year starts here, to the epoch.
const EPOCH: i64 = 719_468;

/// Days of 400 years.
const ERA_DAYS: i64 = 146_097;

/// Returns the days since the epoch of a date; `None` if there is no such day.
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 => 28 + i64::from(leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=last).contains(&day) {
        return None;
    }
    // Count from 1 March, so that the leap day is the last day of a year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * ERA_DAYS + day_of_era - EPOCH)
}

/// Returns the year, the month and the day of a number of days since the epoch, which must be
/// within some million years.
pub(crate) fn date(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH;
    let (era, day_of_era) = (days.div_euclid(ERA_DAYS), days.rem_euclid(ERA_DAYS));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_comes_back() {
        let (first, last) = (days(1, 1, 1).unwrap(), days(9999, 12, 31).unwrap());
        assert_eq!((first, last), (-719_162, 2_932_896));
        for day in (first..=last).step_by(7).chain([first, -1, 0, 1, last]) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), Some(day));
        }
        assert_eq!(date(0), (1970, 1, 1));
        assert_eq!(days(2023, 2, 29), None);
        assert_eq!(days(2024, 2, 30), None);
        assert_eq!(days(2024, 13, 1), None);
        assert_eq!(days(2024, 0, 1), None);
    }
}
