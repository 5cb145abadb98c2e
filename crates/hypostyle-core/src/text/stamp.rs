//! Finds time stamps at the start of log lines.
//!
//! Logs write time stamps in many formats. [`find`] returns them in one format with the
//! largest unit first, so that the stamps of a log sort as text in order of time.

use std::ops::Range;

/// The first bytes of a line in which a stamp may start.
const SEARCH_BYTES: usize = 48;

/// The known stamp formats.
///
/// `Y` is a year, `y` its last two digits, `m` a month, `b` the name of a month, `d` a
/// day of two digits, `e` a day of one or two digits, `a` a day of the week, `H`, `M` and
/// `S` hour, minute and second, `f` an optional fraction of a second. All other bytes
/// match themselves. A format precedes those that match a part of it.
const STAMP_FORMATS: [&str; 10] = [
    "Y-m-d H:M:Sf",
    "Y-m-dTH:M:Sf",
    "Y/m/d H:M:Sf",
    "Y-m-d-H.M.Sf",
    "y/m/d H:M:Sf",
    "a b e H:M:Sf Y",
    "e/b/Y:H:M:Sf",
    "b e H:M:Sf",
    "b  e H:M:Sf",
    "ymd HMS",
];

const MONTHS: &str = "janfebmaraprmayjunjulaugsepoctnovdec";
const DAYS: &str = "sunmontuewedthufrisat";

/// A point in time, as precise as the log wrote it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Stamp<'a> {
    year: Option<u32>,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    fraction: &'a [u8],
}

/// Returns the stamp near the start of a line, as `2015-10-18 18:01:47.978`.
///
/// The year is omitted if the line has none.
pub fn find(line: &[u8]) -> Option<String> {
    find_with_place(line).map(|(stamp, _)| stamp)
}

/// Returns the stamp near the start of a line, and the bytes of the line that it is written in.
pub fn find_with_place(line: &[u8]) -> Option<(String, Range<usize>)> {
    let is_word = |at: usize| line.get(at).is_some_and(u8::is_ascii_alphanumeric);
    for at in 0..line.len().min(SEARCH_BYTES) {
        if !is_word(at) || (at > 0 && is_word(at - 1)) {
            continue;
        }
        let rest = line.get(at..)?;
        let found = STAMP_FORMATS.iter().find_map(|format| Stamp::parse(rest, format));
        if let Some((stamp, len)) = found {
            return Some((stamp.print(), at..at + len));
        }
    }
    None
}

impl<'a> Stamp<'a> {
    /// Parses a stamp in one of [`STAMP_FORMATS`] at the start of `text`; also returns its length.
    fn parse(text: &'a [u8], format: &str) -> Option<(Self, usize)> {
        let mut stamp = Self::default();
        let mut rest = text;
        for part in format.bytes() {
            let len = match part {
                b'Y' => 4,
                b'y' | b'm' | b'd' | b'H' | b'M' | b'S' => 2,
                b'e' => rest.iter().take(2).take_while(|byte| byte.is_ascii_digit()).count(),
                b'a' | b'b' => 3,
                b'f' => match rest {
                    [b'.' | b',', digits @ ..] => {
                        1 + digits.iter().take_while(|byte| byte.is_ascii_digit()).count()
                    }
                    _ => 0,
                },
                _ => 1,
            };
            let (token, after) = rest.split_at_checked(len)?;
            match part {
                b'Y' => stamp.year = Some(number(token)?),
                b'y' => stamp.year = Some(2000 + number(token)?),
                b'm' => stamp.month = number(token)?,
                b'b' => stamp.month = position_of_name(token, MONTHS)?,
                b'd' | b'e' => stamp.day = number(token)?,
                b'a' => position_of_name(token, DAYS).map(|_| ())?,
                b'H' => stamp.hour = number(token)?,
                b'M' => stamp.minute = number(token)?,
                b'S' => stamp.second = number(token)?,
                b'f' => stamp.fraction = token.get(1..).unwrap_or_default(),
                _ if token == [part] => {}
                _ => return None,
            }
            rest = after;
        }
        let ends =
            !rest.first().is_some_and(u8::is_ascii_alphanumeric) || rest.first() == Some(&b'Z');
        let is_valid = (1..=12).contains(&stamp.month)
            && (1..=31).contains(&stamp.day)
            && stamp.hour < 24
            && stamp.minute < 60
            && stamp.second <= 60;
        (ends && is_valid).then_some((stamp, text.len() - rest.len()))
    }

    fn print(&self) -> String {
        let Self { year, month, day, hour, minute, second, fraction } = self;
        let mut out = String::with_capacity(32);
        if let Some(year) = year {
            put_two_digits(year / 100, &mut out);
            put_two_digits(year % 100, &mut out);
            out.push('-');
        }
        let parts = [(month, '-'), (day, ' '), (hour, ':'), (minute, ':')];
        for (number, after) in parts {
            put_two_digits(*number, &mut out);
            out.push(after);
        }
        put_two_digits(*second, &mut out);
        if !fraction.is_empty() {
            out.push('.');
            out += &String::from_utf8_lossy(fraction);
        }
        out
    }
}

/// Appends a number below 100.
fn put_two_digits(number: u32, out: &mut String) {
    let digit = |number: u32| char::from_digit(number % 10, 10).unwrap_or('0');
    out.push(digit(number / 10));
    out.push(digit(number));
}

/// Parses a number of one to four digits.
fn number(token: &[u8]) -> Option<u32> {
    let is_digits = !token.is_empty() && token.iter().all(u8::is_ascii_digit);
    is_digits.then(|| token.iter().fold(0, |sum, &digit| sum * 10 + u32::from(digit - b'0')))
}

/// Returns the position, from 1, of a name among names of three letters.
fn position_of_name(token: &[u8], names: &str) -> Option<u32> {
    let names = names.as_bytes().chunks(3);
    (1..)
        .zip(names)
        .find(|(_, name)| name.eq_ignore_ascii_case(token))
        .map(|(position, _)| position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_in_every_known_format() {
        for (line, want) in [
            ("2015-10-18 18:01:47,978 INFO x", Some("2015-10-18 18:01:47.978")),
            ("[2016-12-20 00:04:03,231] TRACE", Some("2016-12-20 00:04:03.231")),
            ("ts=2024-02-03T04:05:06.789Z level=info", Some("2024-02-03 04:05:06.789")),
            ("17/06/09 20:10:40 INFO", Some("2017-06-09 20:10:40")),
            ("081109 203615 148 INFO", Some("2008-11-09 20:36:15")),
            ("Dec 10 06:55:46 LabSZ sshd[24200]:", Some("12-10 06:55:46")),
            ("Dec  9 06:55:46 LabSZ", Some("12-09 06:55:46")),
            ("[Sun Dec 04 04:47:44 2005] [notice]", Some("2005-12-04 04:47:44")),
            ("1.2.3.4 - - [10/Oct/2000:13:55:36 -0700] \"GET", Some("2000-10-10 13:55:36")),
            (
                "- 1117838570 2005.06.03 R02 2005-06-03-15.42.50.675872",
                Some("2005-06-03 15:42:50.675872"),
            ),
            ("2015-13-18 18:01:47", None),
            ("2015-10-18 25:01:47", None),
            ("no stamp here 12:30", None),
            ("123456 789012", None),
            ("", None),
        ] {
            assert_eq!(find(line.as_bytes()).as_deref(), want, "{line}");
        }
    }

    #[test]
    fn a_stamp_is_where_it_is_written() {
        for (line, want) in [
            ("[2016-12-20 00:04:03,231] TRACE", "2016-12-20 00:04:03,231"),
            ("081109 203615 148 INFO", "081109 203615"),
            ("[Sun Dec 04 04:47:44 2005] [notice]", "Sun Dec 04 04:47:44 2005"),
            ("Dec  9 06:55:46 LabSZ", "Dec  9 06:55:46"),
        ] {
            let (_, place) = find_with_place(line.as_bytes()).unwrap();
            assert_eq!(&line[place], want);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic() {
        for byte in 0..=255_u8 {
            for len in 0..60 {
                let mut line = b"Dec 10 06:55:46, 2015-10-18 18:01:47,978".to_vec();
                line.truncate(len);
                line.push(byte);
                find(&line);
            }
        }
    }
}
