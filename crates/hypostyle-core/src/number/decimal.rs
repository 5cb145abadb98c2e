//! Decimals that predicates compare exactly.
//!
//! Nothing here uses floats: as floats, two ids of 17 digits could be equal, and 0.1
//! could differ from the 0.10 of a decimal column.

use std::cmp::Ordering;
use std::fmt;

use super::exact::exact_int;

/// The significant digits of a [`Decimal`].
const DIGITS: u32 = 38;

/// The maximum distance of the point from the first digit; beyond it, parsing fails.
const MAX_POINT: i64 = 1_000_000_000;

/// Printing uses an exponent if the point is farther than this from the first digit.
const MAX_PLAIN_POINT: usize = 40;

/// A decimal number of up to 38 significant digits, compared exactly.
///
/// Digits beyond the 38th are dropped. This never reverses the order of two numbers, it
/// only makes some equal, so bounds of numbers stay valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    /// Zero, or exactly 38 digits with the sign: the value is `0.digits × 10^point`.
    ///
    /// INVARIANT: each value has one representation, so equal numbers have equal fields.
    digits: i128,
    /// Zero if the number is zero.
    point: i32,
}

impl Decimal {
    /// The number zero.
    pub const ZERO: Self = Self { digits: 0, point: 0 };

    /// Parses a number; sign, point, exponent and outer spaces are optional.
    ///
    /// Returns `None` for anything else: empty text, `NA`, `nan`, infinities, digit groups,
    /// hexadecimal, and exponents beyond 10^9.
    ///
    /// ```
    /// use hypostyle_core::predicate::Decimal;
    ///
    /// assert_eq!(Decimal::parse(b"0.10"), Decimal::parse(b" 1e-1"));
    /// assert!(Decimal::parse(b"9007199254740993") > Decimal::parse(b"9007199254740992"));
    /// assert_eq!(Decimal::parse(b"NA"), None);
    /// ```
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = text.trim_ascii();
        let (negative, body) = match text.split_first()? {
            (b'-', body) => (true, body),
            (b'+', body) => (false, body),
            _ => (false, text),
        };
        if let Some((value, exponent)) = short(body) {
            return Self::new(negative, u128::from(value), exponent);
        }
        let (mut value, mut significant) = (0_u128, 0);
        let (mut exponent, mut some, mut pointed) = (0_i64, false, false);
        let mut bytes = body.iter();
        while let Some(&byte) = bytes.next() {
            match byte {
                b'0'..=b'9' => {
                    some = true;
                    if significant < DIGITS {
                        value = value * 10 + u128::from(byte - b'0');
                        significant += u32::from(value != 0);
                        exponent -= i64::from(pointed);
                    } else {
                        exponent += i64::from(!pointed);
                    }
                }
                b'.' if !pointed => pointed = true,
                b'e' | b'E' if some => {
                    exponent = exponent.saturating_add(power(bytes.as_slice())?);
                    break;
                }
                _ => return None,
            }
        }
        if some { Self::new(negative, value, exponent) } else { None }
    }

    /// Converts an integer; the last of 39 digits is dropped.
    pub fn from_i128(value: i128) -> Self {
        Self::scaled(value, 0)
    }

    /// Returns an integer divided by `10^scale`; the last of 39 digits is dropped.
    ///
    /// ```
    /// use hypostyle_core::predicate::Decimal;
    ///
    /// assert_eq!(Some(Decimal::scaled(-1250, 3)), Decimal::parse(b"-1.25"));
    /// ```
    pub fn scaled(value: i128, scale: u8) -> Self {
        // OK because `new` fails only for large exponents.
        Self::new(value < 0, value.unsigned_abs(), -i64::from(scale)).unwrap_or(Self::ZERO)
    }

    /// Returns the shortest decimal that reads back as this float, as a cell shows it.
    ///
    /// Returns `None` for NaN and the infinities. A 32-bit float prints with fewer digits
    /// than the same value in 64 bits: parse its text instead.
    pub fn from_f64(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        Self::parse(ryu::Buffer::new().format_finite(value).as_bytes())
    }

    /// Returns whether the number is less than zero.
    pub fn is_negative(self) -> bool {
        self.digits < 0
    }

    /// Returns the number as a 64-bit integer, if it is one.
    pub fn to_i64(self) -> Option<i64> {
        let (floor, whole) = self.floor();
        i64::try_from(floor).ok().filter(|_| whole)
    }

    /// Returns the largest integer that is not above this number times `10^scale`, and whether
    /// they are equal.
    ///
    /// Beyond 38 digits, the integer is `i128::MIN` or `i128::MAX`, and not equal.
    pub fn scaled_floor(self, scale: i32) -> (i128, bool) {
        if self.digits == 0 {
            return (0, true);
        }
        Self { digits: self.digits, point: self.point.saturating_add(scale) }.floor()
    }

    /// Returns the fewest digits after the point that represent the number.
    pub fn scale(self) -> i32 {
        let mut digits = self.digits;
        let mut scale = 38 - self.point; // OK because a point is at most 10^9
        while digits != 0 && digits % 10 == 0 {
            digits /= 10;
            scale -= 1;
        }
        if digits == 0 { 0 } else { scale.max(0) }
    }

    /// Returns the float that is nearest to the number.
    pub fn to_f64(self) -> f64 {
        // OK because every printed number is the text of a float; large ones are infinite.
        self.to_string().parse().unwrap_or(f64::NAN)
    }

    /// Returns the number `value × 10^exponent`, or `None` if the point is out of range.
    fn new(negative: bool, value: u128, exponent: i64) -> Option<Self> {
        let Some(log) = value.checked_ilog10() else { return Some(Self::ZERO) };
        let len = log + 1;
        let point = exponent.saturating_add(i64::from(len));
        if !(-MAX_POINT..=MAX_POINT).contains(&point) {
            return None;
        }
        let digits = match DIGITS.checked_sub(len) {
            Some(missing) => value * ten_to(missing),
            None => value / ten_to(len - DIGITS),
        };
        let digits = digits.cast_signed(); // 38 digits are below 2^127
        let point = i32::try_from(point).ok()?;
        Some(Self { digits: if negative { -digits } else { digits }, point })
    }

    /// Returns the largest integer that is not above this number, and whether they are
    /// equal.
    ///
    /// Beyond 38 digits, the integer is `i128::MIN` or `i128::MAX`.
    fn floor(self) -> (i128, bool) {
        match u32::try_from(self.point).ok().map(|point| DIGITS.checked_sub(point)) {
            Some(Some(fraction_digits)) => {
                let unit = ten_to(fraction_digits).cast_signed();
                (self.digits.div_euclid(unit), self.digits.rem_euclid(unit) == 0)
            }
            Some(None) => (if self.digits < 0 { i128::MIN } else { i128::MAX }, false),
            None => (if self.digits < 0 { -1 } else { 0 }, false),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = self.digits.signum();
        sign.cmp(&other.digits.signum()).then_with(|| {
            let magnitude = self.point.cmp(&other.point);
            let order = if sign < 0 { magnitude.reverse() } else { magnitude };
            order.then(self.digits.cmp(&other.digits))
        })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl std::ops::Neg for Decimal {
    type Output = Self;

    fn neg(self) -> Self {
        Self { digits: -self.digits, point: self.point }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self::from_i128(i128::from(value))
    }
}

/// Prints the number without needless digits; the text parses back to the same number.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits == 0 {
            return f.write_str("0");
        }
        if self.digits < 0 {
            f.write_str("-")?;
        }
        let all = self.digits.unsigned_abs().to_string();
        let digits = all.trim_end_matches('0');
        let point = i64::from(self.point);
        let before = usize::try_from(point).unwrap_or(0);
        let zeros = usize::try_from(-point).unwrap_or(0);
        if before > MAX_PLAIN_POINT || zeros > MAX_PLAIN_POINT {
            let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
            let dot = if rest.is_empty() { "" } else { "." };
            write!(f, "{first}{dot}{rest}e{}", point - 1)
        } else if before == 0 {
            write!(f, "0.{:0<zeros$}{digits}", "")
        } else {
            match digits.split_at_checked(before) {
                Some((whole, "")) => f.write_str(whole),
                Some((whole, fraction)) => write!(f, "{whole}.{fraction}"),
                None => write!(f, "{digits:0<before$}"),
            }
        }
    }
}

/// A number that is prepared for comparison with many cells.
#[derive(Clone, Copy, Debug)]
pub struct DecimalLiteral {
    number: Decimal,
    floor: i128,
    whole: bool,
}

impl DecimalLiteral {
    /// Prepares a number for comparison with many cells.
    pub fn new(number: Decimal) -> Self {
        let (floor, whole) = number.floor();
        Self { number, floor, whole }
    }

    /// Compares a cell with this number; returns `None` if the cell is not a number.
    #[inline]
    pub fn order(&self, cell: &[u8]) -> Option<Ordering> {
        // Fast path: most numbers are plain integers.
        let Some(int) = exact_int(cell) else {
            return Decimal::parse(cell).map(|number| number.cmp(&self.number));
        };
        let order = i128::from(int).cmp(&self.floor);
        Some(if order.is_eq() && !self.whole { Ordering::Less } else { order })
    }
}

/// Parses a number of at most 19 digits without an exponent, and returns its digits as an
/// integer and the power of ten to multiply it with.
///
/// This fast path handles nearly all decimals with 64-bit arithmetic.
#[inline]
fn short(body: &[u8]) -> Option<(u64, i64)> {
    if body.len() > 20 {
        return None;
    }
    let (mut value, mut point) = (0_u64, None);
    // `left` counts the bytes after this one.
    for (left, byte) in body.iter().rev().enumerate().rev() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
        } else if *byte == b'.' && point.is_none() && body.len() > 1 {
            point = Some(left);
        } else {
            return None;
        }
    }
    let fraction_digits = i64::try_from(point.unwrap_or(0)).ok()?;
    if body.is_empty() { None } else { Some((value, -fraction_digits)) }
}

/// Parses an exponent; values beyond `i64` saturate.
fn power(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    if digits.is_empty() {
        return None;
    }
    let mut sum = 0_i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        sum = sum.saturating_mul(10).saturating_add(i64::from(digit));
    }
    Some(if negative { -sum } else { sum })
}

/// Powers of ten that fit in 64 bits.
const TENS: [u64; 20] = [
    1,
    10,
    100,
    1_000,
    10_000,
    100_000,
    1_000_000,
    10_000_000,
    100_000_000,
    1_000_000_000,
    10_000_000_000,
    100_000_000_000,
    1_000_000_000_000,
    10_000_000_000_000,
    100_000_000_000_000,
    1_000_000_000_000_000,
    10_000_000_000_000_000,
    100_000_000_000_000_000,
    1_000_000_000_000_000_000,
    10_000_000_000_000_000_000,
];

/// Returns ten to a power of at most 38.
#[inline]
fn ten_to(power: u32) -> u128 {
    let low = power.min(19);
    let tens = |power: u32| TENS.get(power as usize).map_or(0, |&tens| u128::from(tens));
    tens(low) * tens(power - low)
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Compares two numbers by aligning their digits.
    pub(crate) fn naive_order(a: &str, b: &str) -> Ordering {
        fn parts(text: &str) -> (bool, String, String) {
            let text = text.trim();
            let negative = text.starts_with('-');
            let (digits, power) = match text.trim_start_matches(['+', '-']).split_once(['e', 'E']) {
                Some((digits, power)) => (digits, power.parse().unwrap()),
                None => (text.trim_start_matches(['+', '-']), 0_i32),
            };
            let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
            let (mut whole, mut fraction) = (whole.to_owned(), fraction.to_owned());
            for _ in 0..power {
                whole.push(if fraction.is_empty() { '0' } else { fraction.remove(0) });
            }
            for _ in power..0 {
                fraction.insert(0, whole.pop().unwrap_or('0'));
            }
            (negative, whole, fraction)
        }
        let ((a_below, a_whole, a_fraction), (b_below, b_whole, b_fraction)) = (parts(a), parts(b));
        let (before, behind) =
            (a_whole.len().max(b_whole.len()), a_fraction.len().max(b_fraction.len()));
        let a = format!("{a_whole:0>before$}{a_fraction:0<behind$}");
        let b = format!("{b_whole:0>before$}{b_fraction:0<behind$}");
        match (a_below, b_below) {
            _ if (a.clone() + &b).bytes().all(|b| b == b'0') => Ordering::Equal,
            (false, false) => a.cmp(&b),
            (true, true) => b.cmp(&a),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }

    fn number(text: &str) -> Decimal {
        Decimal::parse(text.as_bytes()).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn equal_values_have_one_representation() {
        for same in [
            &["0", "-0", "+0.000", "0e99", ".0", "0.", "-0e999999999999999999999"][..],
            &["0.1", "0.10", "1e-1", " .1 ", "+00.1", "10E-2", "0.01e+1"],
            &["-1200", "-1.2e3", "-12e2", "-1200.", "-0001200.000"],
            &[
                "12345678901234567890123456789012345678",
                "1.2345678901234567890123456789012345678e37",
            ],
        ] {
            for text in same {
                assert_eq!(number(text), number(same[0]), "{text}");
            }
        }
    }

    #[test]
    fn text_that_is_not_a_number_is_none() {
        for text in [
            "",
            " ",
            "NA",
            "nan",
            "NaN",
            "inf",
            "-Infinity",
            ".",
            "-",
            "+",
            "e5",
            "1e",
            "1e+",
            "--1",
            "1.2.3",
            "1 2",
            "1,000",
            "0x10",
            "1_0",
            "5f",
            "1e5.0",
            "٣",
            "1e1000000001",
            "1e-2000000000",
            "1e99999999999999999999999",
        ] {
            assert_eq!(Decimal::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Decimal::from_f64(f64::NAN), None);
        assert_eq!(Decimal::from_f64(f64::NEG_INFINITY), None);
    }

    #[test]
    fn the_order_is_exact_as_far_as_38_digits_go() {
        let rising = [
            "-1e400",
            "-1e39",
            "-170141183460469231731687303715884105728",
            "-9007199254740993",
            "-9007199254740992",
            "-2",
            "-1.5",
            "-1",
            "-0.1",
            "-1e-400",
            "0",
            "1e-999999999",
            "1e-400",
            "0.1",
            "0.10000000000000000000000000000000000001",
            "0.11",
            "1",
            "1.5",
            "2",
            "10",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.5",
            "12345678901234567890123456789012345677",
            "12345678901234567890123456789012345678",
            "1e38",
            "1e400",
            "1e999999999",
        ];
        for (at, a) in rising.iter().enumerate() {
            for (bt, b) in rising.iter().enumerate() {
                assert_eq!(number(a).cmp(&number(b)), at.cmp(&bt), "{a} {b}");
                assert_eq!(
                    DecimalLiteral::new(number(b)).order(a.as_bytes()),
                    Some(at.cmp(&bt)),
                    "{a} {b}"
                );
            }
        }
        // The 39th digit is dropped.
        assert_eq!(number(&"1".repeat(39)), number(&format!("{}9", "1".repeat(38))));
    }

    #[test]
    fn integers_and_floats_become_what_their_text_says() {
        for value in [0, 1, -1, i128::from(i64::MIN), i128::from(u64::MAX), i128::MAX, i128::MIN] {
            assert_eq!(Decimal::from_i128(value), number(&value.to_string()));
        }
        assert_eq!(Decimal::from_f64(0.1), Some(number("0.1")));
        assert_eq!(Decimal::from_f64(-1e300), Some(number("-1e300")));
        assert_eq!(Decimal::from_f64(f64::MIN_POSITIVE), Some(number("2.2250738585072014e-308")));
    }

    #[test]
    fn printing_is_plain_where_it_is_short() {
        for (text, want) in [
            ("007", "7"),
            ("-1.50", "-1.5"),
            ("1e3", "1000"),
            ("1e-3", "0.001"),
            ("-0", "0"),
            ("1e40", "1e40"),
            ("1e39", "1000000000000000000000000000000000000000"),
            ("-12.5e99", "-1.25e100"),
            ("5e-100", "5e-100"),
            ("123.456", "123.456"),
        ] {
            assert_eq!(number(text).to_string(), want);
        }
    }

    fn numeric() -> impl Strategy<Value = String> {
        prop_oneof![
            "[-+]?[0-9]{1,3}",
            "[-+]?[0-9]{1,38}",
            "[-+]?[0-9]{1,19}\\.[0-9]{0,19}",
            "[-+]?0{0,30}[0-9]?\\.[05]{1,6}(e[-+]?[0-9]{1,2})?",
            "-?(922337203685477580[5-9]|9{36}[0-9]{2})",
            any::<i64>().prop_map(|value| value.to_string()),
        ]
    }

    proptest! {
        #[test]
        fn order_is_that_of_aligned_digits(a in numeric(), b in numeric()) {
            let want = naive_order(&a, &b);
            prop_assert_eq!(number(&a).cmp(&number(&b)), want);
            prop_assert_eq!(number(&a) == number(&b), want.is_eq());
            prop_assert_eq!(DecimalLiteral::new(number(&b)).order(a.as_bytes()), Some(want));
        }

        #[test]
        fn a_print_parses_back(text in "[-+]?[0-9]{1,45}\\.?[0-9]{0,45}(e-?[0-9]{1,9})?") {
            if let Some(number) = Decimal::parse(text.as_bytes()) {
                prop_assert_eq!(Decimal::parse(number.to_string().as_bytes()), Some(number));
            }
        }

        /// Dropped digits never reverse an order.
        #[test]
        fn long_numbers_keep_their_order(a in "-?[0-9]{36,42}", b in "-?[0-9]{36,42}") {
            let exact = naive_order(&a, &b);
            let order = number(&a).cmp(&number(&b));
            prop_assert!(order == exact || order.is_eq(), "{:?}", order);
        }

        #[test]
        fn floats_are_ordered_as_floats(a: f64, b: f64) {
            if let (Some(x), Some(y)) = (Decimal::from_f64(a), Decimal::from_f64(b)) {
                prop_assert_eq!(Some(x.cmp(&y)), a.partial_cmp(&b));
            }
        }
    }
}
