//! Lines in a range of time.

use crate::error::{Error, Result};
use crate::text::stamp;

/// Bytes of `2015-`, which stamps without a year do not have.
const YEAR_BYTES: usize = "2015-".len();

/// Bytes of `2015-10-18`.
const DATE_BYTES: usize = "2015-10-18".len();

/// The times between two bounds, both included.
///
/// Times are compared as the lines write them, without their time zones. A bound is as precise as
/// it is written: until `2015-10-18` includes that day. A stamp without a year is compared with
/// the rest of the bounds; if these are of two years, it may be of either.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeRange {
    since: Option<String>,
    until: Option<String>,
}

impl TimeRange {
    /// Parses bounds: any stamp that lines have, or the start of one from `2015-10-18` on.
    ///
    /// # Errors
    ///
    /// Fails for a bound that is not a time.
    pub fn new(since: Option<&str>, until: Option<&str>) -> Result<Self> {
        let parse = |bound: Option<&str>| bound.map(bound_of).transpose();
        Ok(Self { since: parse(since)?, until: parse(until)? })
    }

    /// Returns whether there are no bounds.
    pub fn is_all(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }

    /// Returns whether the time of a line is in the range; a line without one is not.
    pub fn contains_line(&self, line: &[u8]) -> bool {
        self.is_all() || time_of(line).is_some_and(|time| self.contains(&time))
    }

    /// Returns whether some time between two bounds may be in the range, as statistics state
    /// them: no time is less than `min`, and each is at most `max` or starts with it.
    pub fn may_overlap(&self, min: &[u8], max: &[u8]) -> bool {
        // Months come before all of these years, so no stamp in between lacks its year.
        let has_years = min.get(4) == Some(&b'-') && min >= b"13".as_slice();
        let is_after = |since: &str| since.as_bytes() > max && !since.as_bytes().starts_with(max);
        let is_before = |until: &str| min > until.as_bytes() && !min.starts_with(until.as_bytes());
        !(has_years
            && (self.since.as_deref().is_some_and(is_after)
                || self.until.as_deref().is_some_and(is_before)))
    }

    /// Returns whether a time is in the range.
    pub fn contains(&self, time: &str) -> bool {
        let (since, until) = (self.since.as_deref(), self.until.as_deref());
        let has_year = time.as_bytes().get(4) == Some(&b'-');
        if has_year {
            return since.is_none_or(|since| time >= since)
                && until.is_none_or(|until| is_until(time, until));
        }
        let rest = |bound: &'_ str| bound.get(YEAR_BYTES..).unwrap_or_default().to_owned();
        let year = |bound: &str| bound.get(..YEAR_BYTES).unwrap_or_default().to_owned();
        match (since, until) {
            (Some(since), Some(until)) if year(since) != year(until) => {
                time >= rest(since).as_str() || is_until(time, &rest(until))
            }
            _ => {
                since.is_none_or(|since| time >= rest(since).as_str())
                    && until.is_none_or(|until| is_until(time, &rest(until)))
            }
        }
    }
}

/// Returns whether a time is before a bound, or starts with it.
fn is_until(time: &str, until: &str) -> bool {
    time <= until || time.starts_with(until)
}

/// Returns the time of a line: of an object, that of the first member that is one.
fn time_of(line: &[u8]) -> Option<String> {
    if line.trim_ascii_start().first() != Some(&b'{') {
        return stamp::find(line);
    }
    // A value of a member follows `":"`, with or without a space.
    let mut rest = line;
    while let Some(at) = memchr::memchr(b':', rest) {
        let (before, after) = rest.split_at_checked(at)?;
        rest = after.get(1..)?;
        if before.last() == Some(&b'"')
            && let [b'"', value @ ..] = rest.trim_ascii_start()
            && value.first().is_some_and(u8::is_ascii_digit)
            && let Some((time, place)) = stamp::find_with_place(value)
            && place.start == 0
        {
            return Some(time);
        }
    }
    None
}

/// Returns a bound as stamps are printed.
fn bound_of(text: &str) -> Result<String> {
    if let Some((found, place)) = stamp::find_with_place(text.as_bytes())
        && place.start == 0
        && found.as_bytes().get(4) == Some(&b'-')
    {
        return Ok(found);
    }
    // A date, or a date with an hour, or with a minute.
    let full = match text.len() {
        DATE_BYTES => format!("{text} 00:00:00"),
        13 => format!("{text}:00:00"),
        16 => format!("{text}:00"),
        _ => String::new(),
    };
    match stamp::find_with_place(full.as_bytes()) {
        Some((found, place)) if place.start == 0 && found.len() == "2015-10-18 18:01:47".len() => {
            Ok(found.get(..text.len()).unwrap_or_default().to_owned())
        }
        _ => {
            let why = format!("`{text}` as a time; write it as 2015-10-18 or 2015-10-18 18:01:47");
            Err(Error::invalid_argument(why))
        }
    }
}
