//! What the cells of a column have in common, and the type that follows from it.

use arrow_schema::{DataType, Field};

use crate::number::Liberal;
#[cfg(feature = "csv")]
use crate::number::{self, Fraction};
use crate::spelling::Spelling;
use crate::types::Capabilities;

/// Integers up to this size are exact in a float.
const MAX_EXACT_INT: u64 = 1 << 53;

/// The digits of decimals that 64 bits hold, and of those that 128 bits do.
const DECIMAL_DIGITS: [u8; 2] = [18, 38];

/// When a text column gets a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Infer {
    /// If every cell is printed as it was.
    #[default]
    Exact,
    /// Also if every cell can be read as a number, and some of them are no integers, so that `00501`
    /// stays text.
    Values,
    /// Also if every cell can be read as a number.
    Numeric,
    /// Never.
    Text,
}

/// What the cells of a chunk, or of a column, have in common.
///
/// States are merged in any order, and resolve to a type for any target.
#[derive(Clone, Debug, PartialEq)]
pub struct InferredState {
    /// Some cell is the printed form of an integer.
    pub ints: bool,
    /// Some cell is the printed form of a float.
    pub floats: bool,
    /// Some cell that is not empty is neither.
    pub texts: bool,
    /// Some value is a boolean; only JSON has them.
    pub bools: bool,
    /// Every cell reads liberally as an integer.
    pub liberal_ints: bool,
    /// The minimum and maximum of the cells that read liberally as integers.
    pub range: (i64, i64),
    /// Every cell reads liberally as a number that a float represents.
    pub liberal_floats: bool,
    /// The minimum and maximum of the cells that read liberally as other numbers.
    pub float_range: (f64, f64),
    /// Some cell reads as a number that is not a number, so that the bounds lack it.
    pub nans: bool,
    /// Some row has no value.
    pub gaps: bool,
    /// The bounds of the decimals, if all numbers are decimals with as many digits after the
    /// point, `NaN` and integers of 64 bits not included.
    ///
    /// Objects have a state for each key, and few of them have decimals.
    pub decimals: Option<Box<DecimalRange>>,
    /// Some number is not such a decimal, or some cell is a quoted `NaN`.
    pub has_other_numbers: bool,
    /// The spelling of all texts, if they have the same one.
    pub spelled: Option<SpelledRange>,
}

/// Decimals with as many digits after the point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecimalRange {
    /// The number of digits after the point.
    pub scale: u8,
    /// The digits of the least decimal as one number.
    pub min: i128,
    /// The digits of the greatest decimal as one number.
    pub max: i128,
}

/// Values that are spelled alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpelledRange {
    /// How they are spelled.
    pub spelling: Spelling,
    /// The least value, as [`Spelling::read`] returns it.
    pub min: i64,
    /// The greatest value.
    pub max: i64,
}

impl SpelledRange {
    /// Returns the range of a cell that has a spelling.
    pub(super) fn of(cell: &[u8]) -> Option<Self> {
        let spelling = Spelling::of(cell)?;
        let value = spelling.read(cell)?;
        Some(Self { spelling, min: value, max: value })
    }

    /// Adds a cell; returns whether it is spelled alike.
    #[inline]
    pub(super) fn add(&mut self, cell: &[u8]) -> bool {
        let Some(value) = self.spelling.read(cell) else { return false };
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
        true
    }

    /// Returns the range of both; `None` if they are not spelled alike.
    pub(super) fn merged(mut self, other: &Self) -> Option<Self> {
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
        (self.spelling == other.spelling).then_some(self)
    }
}

/// The type that follows from a state.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Resolved {
    pub(super) data_type: DataType,
    /// How its values are spelled, if they are booleans, dates or timestamps.
    pub(super) spelling: Option<Spelling>,
    /// Whether `NaN` means null.
    pub(super) nan_is_null: bool,
}

impl Resolved {
    pub(super) fn new(data_type: DataType) -> Self {
        Self { data_type, spelling: None, nan_is_null: false }
    }

    /// Adds the spelling to the metadata of a field.
    pub(super) fn in_field(&self, field: Field) -> Field {
        match self.spelling {
            Some(spelling) => spelling.in_field(field),
            None => field,
        }
    }

    fn with_nan(mut self, nan_is_null: bool) -> Self {
        self.nan_is_null = nan_is_null;
        self
    }
}

impl InferredState {
    /// The state of no cells.
    pub const NONE: Self = Self {
        ints: false,
        floats: false,
        texts: false,
        bools: false,
        liberal_ints: true,
        range: (i64::MAX, i64::MIN),
        liberal_floats: true,
        float_range: (f64::INFINITY, f64::NEG_INFINITY),
        nans: false,
        gaps: false,
        decimals: None,
        has_other_numbers: false,
        spelled: None,
    };

    /// Adds what other cells of the column have in common.
    pub fn merge(&mut self, other: &Self) {
        self.spelled = match (self.texts, other.texts) {
            (true, true) => {
                self.spelled.zip(other.spelled.as_ref()).and_then(|(one, other)| one.merged(other))
            }
            (false, true) => other.spelled,
            (_, false) => self.spelled,
        };
        self.has_other_numbers |= other.has_other_numbers;
        match (&mut self.decimals, &other.decimals) {
            (Some(one), Some(other)) => {
                self.has_other_numbers |= one.scale != other.scale;
                (one.min, one.max) = (one.min.min(other.min), one.max.max(other.max));
            }
            (one @ None, other) => one.clone_from(other),
            (Some(_), None) => {}
        }
        self.normalise_decimals();
        self.ints |= other.ints;
        self.floats |= other.floats;
        self.texts |= other.texts;
        self.bools |= other.bools;
        self.liberal_ints &= other.liberal_ints;
        self.range = (self.range.0.min(other.range.0), self.range.1.max(other.range.1));
        self.liberal_floats &= other.liberal_floats;
        let (min, max) = other.float_range;
        self.float_range = (self.float_range.0.min(min), self.float_range.1.max(max));
        self.nans |= other.nans;
        self.gaps |= other.gaps;
    }

    /// Adds an integer.
    #[inline]
    pub(super) fn add_int(&mut self, value: i64) {
        self.ints = true;
        self.add_integer(value);
    }

    /// Adds an integer that may have any spelling.
    #[inline]
    fn add_integer(&mut self, value: i64) {
        self.range = (self.range.0.min(value), self.range.1.max(value));
        self.liberal_floats &= value.unsigned_abs() <= MAX_EXACT_INT;
    }

    /// Adds a float.
    #[inline]
    pub(super) fn add_float(&mut self, value: f64) {
        self.floats = true;
        self.add_number(value);
    }

    /// Adds a number, other than an integer, that may have any spelling.
    #[inline]
    fn add_number(&mut self, value: f64) {
        self.liberal_ints = false;
        self.float_range = (self.float_range.0.min(value), self.float_range.1.max(value));
        self.nans |= value.is_nan();
    }

    /// Adds a text that is not a number.
    #[inline]
    pub(super) fn add_text(&mut self) {
        (self.texts, self.liberal_ints, self.liberal_floats) = (true, false, false);
        (self.spelled, self.decimals) = (None, None);
    }

    /// Adds a text that may be a date or a timestamp.
    #[cfg(feature = "json")]
    #[inline]
    pub(super) fn add_string(&mut self, text: &[u8]) {
        let spelled = match (self.texts, &mut self.spelled) {
            (true, None) => None,
            (_, Some(range)) => range.add(text).then_some(*range),
            (false, None) => SpelledRange::of(text).filter(|it| it.spelling.is_temporal()),
        };
        self.add_text();
        self.spelled = spelled;
    }

    /// Returns the state of texts that are spelled alike, and of these numbers.
    pub(super) fn with_spelled(mut self, spelled: SpelledRange) -> Self {
        self.add_text();
        self.spelled = Some(spelled);
        self
    }

    /// Returns whether no number but `NaN` has been added.
    pub(super) fn has_no_numbers(&self) -> bool {
        let has_range =
            self.range != Self::NONE.range || self.float_range != Self::NONE.float_range;
        !(self.ints || has_range || self.has_other_numbers || self.decimals.is_some())
    }

    /// Adds a decimal.
    #[cfg(feature = "csv")]
    #[inline]
    fn add_decimal(&mut self, value: i128, scale: u8) {
        match &mut self.decimals {
            None => self.decimals = Some(Box::new(DecimalRange { scale, min: value, max: value })),
            Some(all) => {
                (all.min, all.max) = (all.min.min(value), all.max.max(value));
                self.has_other_numbers |= all.scale != scale;
            }
        }
    }

    #[cfg(feature = "csv")]
    #[inline]
    fn add_fraction(&mut self, fraction: &Fraction) {
        self.add_decimal(fraction.mantissa, fraction.scale);
        if fraction.is_exact_float {
            self.add_float(fraction.value);
        } else {
            self.add_number(fraction.value);
            self.texts = true;
        }
    }

    /// Forgets decimals that are not those of a column: which of them were first depends on the
    /// blocks.
    pub(super) fn normalise_decimals(&mut self) {
        if self.has_other_numbers {
            self.decimals = None;
        }
    }

    /// Adds a boolean.
    #[inline]
    pub(super) fn add_bool(&mut self) {
        (self.bools, self.liberal_ints, self.liberal_floats) = (true, false, false);
    }

    /// Adds a cell that is not empty, if it reads as a number; returns whether it does.
    #[cfg(feature = "csv")]
    #[inline]
    pub(super) fn add_number_cell(&mut self, cell: &[u8]) -> bool {
        // A column of numbers with a point rarely has integers.
        if self.decimals.is_some()
            && let Some(fraction) = number::fraction(cell)
        {
            self.add_fraction(&fraction);
            return true;
        }
        if let Some(value) = number::exact_int(cell) {
            self.add_int(value);
            return true;
        }
        // No number starts with any other byte.
        let may_start = |byte: &u8| {
            matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'i' | b'I' | b'n' | b'N')
                || byte.is_ascii_whitespace()
        };
        if !cell.first().is_some_and(may_start) {
            return false;
        }
        if let Some(fraction) = number::fraction(cell) {
            self.add_fraction(&fraction);
            return true;
        }
        if let Some(value) = number::exact_float(cell) {
            self.add_float(value);
            self.has_other_numbers |= !value.is_nan();
            return true;
        }
        // An integer beyond 64 bits, which a float would change.
        if let Some((value, scale)) = number::exact_decimal(cell) {
            self.add_decimal(value, scale);
            (self.texts, self.liberal_ints, self.liberal_floats) = (true, false, false);
            return true;
        }
        match number::liberal(cell) {
            Some(Liberal::Int(value)) => self.add_integer(value),
            Some(Liberal::Float(value)) => self.add_number(value),
            None => return false,
        }
        (self.texts, self.has_other_numbers) = (true, true);
        true
    }

    /// Returns the bounds of all numbers as floats; `None` without numbers.
    pub(super) fn number_range(&self) -> Option<(f64, f64)> {
        let (mut min, mut max) = self.float_range;
        if self.range.0 <= self.range.1 {
            min = min.min(Liberal::Int(self.range.0).to_float()?);
            max = max.max(Liberal::Int(self.range.1).to_float()?);
        }
        (min <= max).then_some((min, max))
    }

    /// Returns the type of a column with this state.
    pub fn resolve(&self, infer: Infer, capabilities: Capabilities) -> DataType {
        self.resolve_spelled(infer, capabilities).data_type
    }

    /// Returns the type of a column with this state, and how its values are spelled.
    pub(super) fn resolve_spelled(&self, infer: Infer, capabilities: Capabilities) -> Resolved {
        if infer == Infer::Values {
            let exact = self.resolve_spelled(Infer::Exact, capabilities);
            let is_measure = self.liberal_floats && !self.liberal_ints && capabilities.numbers;
            return match exact.data_type {
                DataType::Utf8 if is_measure => self.resolve_spelled(Infer::Numeric, capabilities),
                _ => exact,
            };
        }
        if (self.gaps && !capabilities.nulls) || !capabilities.numbers {
            return Resolved::new(DataType::Utf8);
        }
        let narrow = i32::try_from(self.range.0).is_ok() && i32::try_from(self.range.1).is_ok();
        let no_cells = !(self.ints || self.floats || self.texts || self.bools);
        // `NaN` means null beside integers, decimals and values that are no numbers.
        let nan_is_null =
            capabilities.arrow_types && self.nans && !self.gaps && !self.has_other_numbers;
        let only_nans = nan_is_null && self.float_range == Self::NONE.float_range;
        let (ints, floats) = match infer {
            Infer::Text => (false, false),
            Infer::Exact | Infer::Values => (
                self.ints && (!self.floats || only_nans) && !self.texts && !self.bools,
                self.floats && !self.ints && !self.texts && !self.bools,
            ),
            Infer::Numeric => (self.liberal_ints, self.liberal_floats),
        };
        match (ints, floats) {
            _ if no_cells => Resolved::new(DataType::Utf8),
            (true, _) if narrow => Resolved::new(DataType::Int32).with_nan(self.floats),
            (true, _) if capabilities.int64 => Resolved::new(DataType::Int64).with_nan(self.floats),
            (_, true) => Resolved::new(DataType::Float64),
            _ if self.bools && !(self.ints || self.floats || self.texts) => {
                Resolved::new(DataType::Boolean)
            }
            _ if infer == Infer::Text || !capabilities.arrow_types || self.bools => {
                Resolved::new(DataType::Utf8)
            }
            _ => self.resolve_texts(nan_is_null),
        }
    }

    /// Returns the type of a column whose cells are neither integers nor floats.
    fn resolve_texts(&self, nan_is_null: bool) -> Resolved {
        // What is `NaN` must be printed as it was.
        let has_nans = self.nans;
        if has_nans && !nan_is_null {
            return Resolved::new(DataType::Utf8);
        }
        if let Some(spelled) = self.spelled.filter(|_| self.has_no_numbers()) {
            let spelling = Some(spelled.spelling);
            let data_type = spelled.spelling.data_type();
            return Resolved { data_type, spelling, nan_is_null: has_nans };
        }
        match self.decimal_range().and_then(|range| range.data_type()) {
            Some(data_type) if self.spelled.is_none() => {
                Resolved::new(data_type).with_nan(has_nans)
            }
            _ => Resolved::new(DataType::Utf8),
        }
    }

    /// Returns the bounds of all numbers, if they are decimals with as many digits after the
    /// point.
    pub(super) fn decimal_range(&self) -> Option<DecimalRange> {
        let mut range = **self.decimals.as_ref().filter(|_| !self.has_other_numbers)?;
        if self.ints {
            let (min, max) = (i128::from(self.range.0), i128::from(self.range.1));
            (range.min, range.max) = (range.min.min(min), range.max.max(max));
        }
        Some(range).filter(|range| range.scale == 0 || !self.ints)
    }
}

impl DecimalRange {
    /// Returns the type that holds the decimals.
    pub(super) fn data_type(&self) -> Option<DataType> {
        let digits = |value: i128| value.unsigned_abs().checked_ilog10().map_or(1, |it| it + 1);
        let digits = u8::try_from(digits(self.min).max(digits(self.max))).ok()?.max(self.scale);
        let precision = DECIMAL_DIGITS.into_iter().find(|&precision| digits <= precision)?;
        Some(DataType::Decimal128(precision, i8::try_from(self.scale).ok()?))
    }
}
