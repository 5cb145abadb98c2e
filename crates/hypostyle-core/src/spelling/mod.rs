//! How the values of a column are spelled in the text that they come from.
//!
//! A column of a text gets a type only if all of its cells can be printed again as they were.
//! Where the type alone does not say how, the spelling does: `TRUE` or `true`, a `T` or a space
//! between date and time, the digits of the fraction, the offset, and the word for null.
//!
//! The spelling travels with the column, in the metadata of its [`Field`], through any scan and
//! any file that keeps such metadata. Writers of text use it.

#[cfg(test)]
mod tests;

use arrow_schema::{DataType, Field, TimeUnit};

use crate::temporal::{calendar, units_per_second};

/// The key of a field under which a value is kept that is spelled like those of the column.
const EXAMPLE: &str = "hypostyle.spelled_like";

/// The key of a field under which the word for null is kept.
const NULL: &str = "hypostyle.null";

/// The key of a field that is set if null was a string, as in JSON, which has a null of its own.
const NULL_STRING: &str = "hypostyle.null_string";

/// Words that mean null in a column whose other cells are of one type.
pub const NULL_TOKENS: [&str; 13] =
    ["NA", "N/A", "n/a", "#N/A", "<NA>", "NULL", "null", "None", "\\N", "NaN", "-", ".", "?"];

/// How values are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spelling {
    /// `true` and `false`.
    Boolean(BooleanCase),
    /// Dates such as `2024-01-04`, of the years 1 to 9999.
    Date,
    /// Timestamps such as `2024-01-04T12:00:00Z`, of the years 1 to 9999.
    Timestamp(TimestampSpelling),
}

/// How booleans are spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BooleanCase {
    /// `true`
    Lower,
    /// `True`
    Title,
    /// `TRUE`
    Upper,
}

/// How timestamps are spelled.
///
/// INVARIANT: an offset is below 24 hours, and of whole hours if its minutes are not spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampSpelling {
    has_space: bool,
    precision: Precision,
    zone: ZoneSpelling,
}

/// The last part of the time of day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Precision {
    /// `12:00`
    Minutes,
    /// `12:00:00`, with so many digits after a point, at most nine.
    Seconds(u8),
}

/// How the time zone is spelled, with the offset in minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneSpelling {
    /// There is none.
    None,
    /// `Z`
    Utc,
    /// `+02`
    Hours(i16),
    /// `+0200`
    Digits(i16),
    /// `+02:00`
    Colon(i16),
}

/// The first byte after the date and the time up to its minutes.
const AFTER_MINUTES: usize = 16;

impl Spelling {
    /// Returns the spelling of a cell; `None` if it is not a boolean, a date or a timestamp that
    /// would be printed as it is.
    pub fn of(cell: &[u8]) -> Option<Self> {
        match cell.first()? {
            b'0'..=b'9' => {}
            b't' | b'f' | b'T' | b'F' => {
                let cases = [BooleanCase::Lower, BooleanCase::Title, BooleanCase::Upper];
                let case = cases.into_iter().find(|case| case.words().contains(&cell));
                return case.map(Self::Boolean);
            }
            _ => return None,
        }
        let spelling = match cell.get(10) {
            None => Self::Date,
            Some(_) => Self::Timestamp(TimestampSpelling::of(cell)?),
        };
        spelling.read(cell).map(|_| spelling)
    }

    /// Returns whether values are dates or timestamps.
    pub fn is_temporal(self) -> bool {
        !matches!(self, Self::Boolean(_))
    }

    /// Returns the type of the values.
    pub fn data_type(self) -> DataType {
        match self {
            Self::Boolean(_) => DataType::Boolean,
            Self::Date => DataType::Date32,
            Self::Timestamp(spelling) => {
                let zone = spelling.zone.name();
                DataType::Timestamp(spelling.unit(), zone.map(Into::into))
            }
        }
    }

    /// Reads a cell that is spelled so: 0 or 1, days, or units since the epoch.
    ///
    /// The value is printed as the same bytes.
    #[inline]
    pub fn read(self, cell: &[u8]) -> Option<i64> {
        match self {
            Self::Boolean(case) => {
                let position = case.words().iter().position(|word| *word == cell)?;
                i64::try_from(position).ok()
            }
            Self::Date => date(cell.try_into().ok()?),
            Self::Timestamp(spelling) => spelling.read(cell),
        }
    }

    /// Returns a bound of the dates or timestamps that start with a text: the least of them, or
    /// the greatest.
    ///
    /// Statistics keep the start of a text only. `None` if the text does not have a year.
    pub fn bound(self, start: &[u8], is_upper: bool) -> Option<i64> {
        if let Some(value) = self.read(start) {
            return Some(value);
        }
        let mut text = Vec::new();
        if !self.is_temporal() || !self.put(0, &mut text) || start.get(4) != Some(&b'-') {
            return None;
        }
        let (year, of_date) = (start.get(..4)?, start.get(..start.len().min(10))?);
        let is_day = |day: &Vec<u8>| {
            let whole = <&[u8; 10]>::try_from(day.as_slice());
            day.starts_with(of_date) && whole.is_ok_and(|day| date(day).is_some())
        };
        let days = (1..=12).flat_map(|month| (1..=31).map(move |day| (month, day)));
        let mut days = days.map(|(month, day)| {
            let mut text = year.to_vec();
            for number in [month, day] {
                text.push(b'-');
                put_two(number, &mut text);
            }
            text
        });
        let day = if is_upper { days.rfind(is_day) } else { days.find(is_day) }?;
        text.get_mut(..10)?.copy_from_slice(&day);
        let time_end = match self {
            Self::Timestamp(TimestampSpelling { precision: Precision::Minutes, .. }) => 16,
            Self::Timestamp(TimestampSpelling { precision: Precision::Seconds(0), .. }) => 19,
            Self::Timestamp(TimestampSpelling {
                precision: Precision::Seconds(digits), ..
            }) => 20 + usize::from(digits),
            _ => 10,
        };
        for at in 10..text.len() {
            let hour_tens = text.get(11).copied();
            let byte = text.get_mut(at)?;
            *byte = match (start.get(at), at) {
                (Some(&known), _) => known,
                (None, _) if at >= time_end || !byte.is_ascii_digit() => *byte,
                (None, _) if !is_upper => b'0',
                (None, 11) => b'2',
                (None, 12) if hour_tens == Some(b'2') => b'3',
                (None, 14 | 17) => b'5',
                (None, _) => b'9',
            };
        }
        self.read(&text)
    }

    /// Appends a value; returns false, and appends nothing, if it cannot be spelled so.
    pub fn put(self, value: i64, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Boolean(case) => {
                let [no, yes] = case.words();
                out.extend_from_slice(if value == 0 { no } else { yes });
                true
            }
            Self::Date => put_date(value, out),
            Self::Timestamp(spelling) => spelling.put(value, out),
        }
    }

    /// Returns a number for the spelling, which [`Spelling::from_code`] reads.
    pub fn code(self) -> u64 {
        match self {
            Self::Boolean(BooleanCase::Lower) => 0,
            Self::Boolean(BooleanCase::Title) => 1,
            Self::Boolean(BooleanCase::Upper) => 2,
            Self::Date => 3,
            Self::Timestamp(TimestampSpelling { has_space, precision, zone }) => {
                let precision = match precision {
                    Precision::Seconds(digits) => u64::from(digits),
                    Precision::Minutes => MINUTES,
                };
                let (style, offset) = match zone {
                    ZoneSpelling::None => (0, 0),
                    ZoneSpelling::Utc => (1, 0),
                    ZoneSpelling::Hours(offset) => (2, offset),
                    ZoneSpelling::Digits(offset) => (3, offset),
                    ZoneSpelling::Colon(offset) => (4, offset),
                };
                let offset = u64::from(offset.unsigned_abs()) << 1 | u64::from(offset < 0);
                4 | u64::from(has_space) << 3 | precision << 4 | style << 8 | offset << 11
            }
        }
    }

    /// Returns the spelling with a number; `None` if there is none.
    pub fn from_code(code: u64) -> Option<Self> {
        Some(match code {
            0 => Self::Boolean(BooleanCase::Lower),
            1 => Self::Boolean(BooleanCase::Title),
            2 => Self::Boolean(BooleanCase::Upper),
            3 => Self::Date,
            _ if code & 7 == 4 => {
                let precision = match code >> 4 & 15 {
                    MINUTES => Precision::Minutes,
                    digits => Precision::Seconds(u8::try_from(digits).ok().filter(|&it| it < 10)?),
                };
                let offset = i16::try_from(code >> 12).ok().filter(|&it| it < 24 * 60)?;
                let offset = if code >> 11 & 1 == 0 { offset } else { -offset };
                let zone = match code >> 8 & 7 {
                    0 => ZoneSpelling::None,
                    1 => ZoneSpelling::Utc,
                    2 => ZoneSpelling::Hours(offset),
                    3 => ZoneSpelling::Digits(offset),
                    4 => ZoneSpelling::Colon(offset),
                    _ => return None,
                };
                let has_space = code >> 3 & 1 != 0;
                let found = Self::Timestamp(TimestampSpelling { has_space, precision, zone });
                // Each spelling has one number.
                let is_whole = !matches!(zone, ZoneSpelling::Hours(offset) if offset % 60 != 0);
                return Some(found).filter(|found| is_whole && found.code() == code);
            }
            _ => return None,
        })
    }

    /// Returns the spelling that the metadata of a field state; `None` for the one that its type
    /// has anyway, and if the metadata do not fit the type.
    pub fn of_field(field: &Field) -> Option<Self> {
        let spelling = Self::of(field.metadata().get(EXAMPLE)?.as_bytes())?;
        Some(spelling).filter(|spelling| spelling.data_type() == *value_type(field))
    }

    /// Adds the spelling to the metadata of a field, unless its type says as much.
    #[must_use]
    pub fn in_field(self, mut field: Field) -> Field {
        if !matches!(self, Self::Boolean(BooleanCase::Lower) | Self::Date) {
            let mut example = Vec::new();
            self.put(1, &mut example);
            // One microsecond after the epoch has more digits than some spellings.
            if example.is_empty() {
                self.put(0, &mut example);
            }
            let example = String::from_utf8_lossy(&example).into_owned();
            field.metadata_mut().insert(EXAMPLE.to_owned(), example);
        }
        field
    }
}

/// The code of a time of day without seconds.
const MINUTES: u64 = 10;

/// Returns the word for null that the metadata of a field state.
///
/// No value of the column is printed as that word.
pub fn null_token(field: &Field) -> Option<&str> {
    use DataType as T;
    let token = field.metadata().get(NULL)?;
    let is_typed = match value_type(field) {
        T::Boolean | T::Date32 | T::Timestamp(..) | T::Decimal128(..) => true,
        // A float may be NaN itself.
        T::Float64 => !token.eq_ignore_ascii_case("nan"),
        other => other.is_integer(),
    };
    NULL_TOKENS.into_iter().find(|known| is_typed && known == token)
}

/// Returns the type of the values, of which there may be a dictionary.
fn value_type(field: &Field) -> &DataType {
    match field.data_type() {
        DataType::Dictionary(_, values) => values,
        DataType::RunEndEncoded(_, values) => values.data_type(),
        other => other,
    }
}

/// Adds the word for null to the metadata of a field.
#[must_use]
pub fn with_null_token(mut field: Field, token: &str) -> Field {
    field.metadata_mut().insert(NULL.to_owned(), token.to_owned());
    field
}

/// Returns the string that was null, if the metadata of a field state that null was a string.
pub fn null_string(field: &Field) -> Option<&str> {
    let token = null_token(field)?;
    Some(token).filter(|&token| field.metadata().get(NULL_STRING).is_some_and(|it| it == token))
}

/// Adds the string that was null to the metadata of a field.
#[must_use]
pub fn with_null_string(field: Field, token: &str) -> Field {
    let mut field = with_null_token(field, token);
    field.metadata_mut().insert(NULL_STRING.to_owned(), token.to_owned());
    field
}

impl BooleanCase {
    fn words(self) -> [&'static [u8]; 2] {
        match self {
            Self::Lower => [b"false", b"true"],
            Self::Title => [b"False", b"True"],
            Self::Upper => [b"FALSE", b"TRUE"],
        }
    }
}

impl TimestampSpelling {
    /// Returns the spelling of a cell, of which only a part is checked.
    fn of(cell: &[u8]) -> Option<Self> {
        let has_space = match cell.get(10)? {
            b'T' => false,
            b' ' => true,
            _ => return None,
        };
        let mut rest = cell.get(AFTER_MINUTES..)?;
        let mut precision = Precision::Minutes;
        if rest.first() == Some(&b':') {
            rest = rest.get(3..)?;
            let mut digits = 0;
            if let Some(fraction) = rest.strip_prefix(b".") {
                let count = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
                digits = u8::try_from(count).ok().filter(|count| (1..=9).contains(count))?;
                rest = fraction.get(count..)?;
            }
            precision = Precision::Seconds(digits);
        }
        Some(Self { has_space, precision, zone: ZoneSpelling::of(rest)? })
    }

    fn unit(self) -> TimeUnit {
        match self.precision {
            Precision::Seconds(7..) => TimeUnit::Nanosecond,
            // Nearly every system has microseconds, whatever the digits are.
            _ => TimeUnit::Microsecond,
        }
    }

    #[inline]
    fn read(self, cell: &[u8]) -> Option<i64> {
        let (day, rest) = cell.split_first_chunk::<10>()?;
        let (time, rest) = rest.split_first_chunk::<6>()?;
        let &[separator, h1, h2, colon, m1, m2] = time;
        let is_separated = separator == if self.has_space { b' ' } else { b'T' };
        if !is_separated || colon != b':' {
            return None;
        }
        let (hour, minute) = (two(h1, h2)?, two(m1, m2)?);
        let (mut second, mut units, mut rest) = (0, 0, rest);
        let per_second = units_per_second(self.unit());
        if let Precision::Seconds(digits) = self.precision {
            let (&[colon, s1, s2], after) = rest.split_first_chunk::<3>()?;
            if colon != b':' {
                return None;
            }
            (second, rest) = (two(s1, s2)?, after);
            if digits > 0 {
                let after = rest.strip_prefix(b".")?;
                let (fraction, after) = after.split_at_checked(usize::from(digits))?;
                let mut unit = per_second;
                for &byte in fraction {
                    unit /= 10;
                    units += unit * digit(byte)?;
                }
                rest = after;
            }
        }
        if hour > 23 || minute > 59 || second > 59 || !self.zone.is(rest) {
            return None;
        }
        let offset = self.zone.offset().unwrap_or(0);
        let seconds = date(day)? * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
        seconds.checked_mul(per_second)?.checked_add(units)
    }

    fn put(self, value: i64, out: &mut Vec<u8>) -> bool {
        let per_second = units_per_second(self.unit());
        let local = value.div_euclid(per_second) + self.zone.offset().unwrap_or(0) * 60;
        let (day, of_day) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let units = value.rem_euclid(per_second);
        // What one unit of the last digit is, in units of the column.
        let step = match self.precision {
            Precision::Minutes => per_second,
            Precision::Seconds(digits) => per_second / 10_i64.pow(u32::from(digits)),
        };
        let is_minute = self.precision != Precision::Minutes || of_day % 60 == 0;
        let start = out.len();
        if units % step != 0 || !is_minute || !put_date(day, out) {
            out.truncate(start);
            return false;
        }
        out.push(if self.has_space { b' ' } else { b'T' });
        put_two(of_day / 3600, out);
        out.push(b':');
        put_two(of_day / 60 % 60, out);
        if let Precision::Seconds(digits) = self.precision {
            out.push(b':');
            put_two(of_day % 60, out);
            if digits > 0 {
                out.push(b'.');
                let mut unit = per_second;
                for _ in 0..digits {
                    unit /= 10;
                    put_digit(units / unit % 10, out);
                }
            }
        }
        self.zone.put(out);
        true
    }
}

impl ZoneSpelling {
    fn of(text: &[u8]) -> Option<Self> {
        let offset = |digits: [u8; 4]| {
            let [h1, h2, m1, m2] = digits;
            let (hours, minutes) = (two(h1, h2)?, two(m1, m2)?);
            let offset = i16::try_from(hours * 60 + minutes).ok()?;
            let is_negative = text.first() == Some(&b'-');
            let is_one = hours < 24 && minutes < 60 && !(is_negative && offset == 0);
            is_one.then_some(if is_negative { -offset } else { offset })
        };
        match *text {
            [] => Some(Self::None),
            [b'Z'] => Some(Self::Utc),
            [b'+' | b'-', h1, h2] => offset([h1, h2, b'0', b'0']).map(Self::Hours),
            [b'+' | b'-', h1, h2, m1, m2] => offset([h1, h2, m1, m2]).map(Self::Digits),
            [b'+' | b'-', h1, h2, b':', m1, m2] => offset([h1, h2, m1, m2]).map(Self::Colon),
            _ => None,
        }
    }

    /// Returns whether a text is this zone.
    #[inline]
    fn is(self, text: &[u8]) -> bool {
        match self {
            Self::None => text.is_empty(),
            Self::Utc => text == b"Z",
            _ => Self::of(text) == Some(self),
        }
    }

    /// Returns the offset in minutes.
    fn offset(self) -> Option<i64> {
        match self {
            Self::None => None,
            Self::Utc => Some(0),
            Self::Hours(offset) | Self::Digits(offset) | Self::Colon(offset) => Some(offset.into()),
        }
    }

    /// Returns the zone as Arrow names it.
    fn name(self) -> Option<String> {
        let mut name = Vec::new();
        match self {
            Self::Utc => return Some("UTC".to_owned()),
            _ => Self::Colon(i16::try_from(self.offset()?).ok()?).put(&mut name),
        }
        String::from_utf8(name).ok()
    }

    fn put(self, out: &mut Vec<u8>) {
        let Some(offset) = self.offset() else { return };
        if self == Self::Utc {
            out.push(b'Z');
            return;
        }
        out.push(if offset < 0 { b'-' } else { b'+' });
        put_two(offset.abs() / 60, out);
        match self {
            Self::Hours(_) => return,
            Self::Colon(_) => out.push(b':'),
            _ => {}
        }
        put_two(offset.abs() % 60, out);
    }
}

/// Reads a date of the years 1 to 9999.
#[inline]
fn date(cell: &[u8; 10]) -> Option<i64> {
    let &[y1, y2, y3, y4, first, m1, m2, second, d1, d2] = cell;
    let year = two(y1, y2)? * 100 + two(y3, y4)?;
    if first != b'-' || second != b'-' || year == 0 {
        return None;
    }
    calendar::days(year, two(m1, m2)?, two(d1, d2)?)
}

#[inline]
fn digit(byte: u8) -> Option<i64> {
    let digit = byte.wrapping_sub(b'0');
    (digit < 10).then_some(i64::from(digit))
}

#[inline]
fn two(tens: u8, ones: u8) -> Option<i64> {
    Some(digit(tens)? * 10 + digit(ones)?)
}

fn put_date(days: i64, out: &mut Vec<u8>) -> bool {
    // The days of the years 1 to 9999.
    if !(-719_162..=2_932_896).contains(&days) {
        return false;
    }
    let (year, month, day) = calendar::date(days);
    put_two(year / 100, out);
    put_two(year % 100, out);
    out.push(b'-');
    put_two(month, out);
    out.push(b'-');
    put_two(day, out);
    true
}

fn put_two(number: i64, out: &mut Vec<u8>) {
    put_digit(number / 10, out);
    put_digit(number % 10, out);
}

fn put_digit(digit: i64, out: &mut Vec<u8>) {
    out.push(b'0' + u8::try_from(digit).unwrap_or_default());
}
