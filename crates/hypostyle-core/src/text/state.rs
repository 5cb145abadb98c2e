//! What the cells of a column have in common, and the type that follows from it.

use arrow_schema::DataType;

use crate::number::{self, Liberal};
use crate::types::Capabilities;

/// Integers up to this size are exact in a float.
const MAX_EXACT_INT: u64 = 1 << 53;

/// When a text column becomes numeric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Infer {
    /// If every cell is the printed form of its number.
    #[default]
    Exact,
    /// If every cell can be read as a number.
    Numeric,
    /// Never.
    Text,
}

/// What the cells of a chunk, or of a column, have in common.
///
/// States are merged in any order, and resolve to a type for any target.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    };

    /// Adds what other cells of the column have in common.
    pub fn merge(&mut self, other: &Self) {
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
    }

    /// Adds a boolean.
    #[inline]
    pub(super) fn add_bool(&mut self) {
        (self.bools, self.liberal_ints, self.liberal_floats) = (true, false, false);
    }

    /// Adds a cell that is not empty, if it reads as a number; returns whether it does.
    #[inline]
    pub(super) fn add_number_cell(&mut self, cell: &[u8]) -> bool {
        // A column of floats rarely has integers.
        if self.floats
            && let Some(value) = number::exact_float(cell)
        {
            self.add_float(value);
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
        if let Some(value) = number::exact_float(cell) {
            self.add_float(value);
            return true;
        }
        match number::liberal(cell) {
            Some(Liberal::Int(value)) => self.add_integer(value),
            Some(Liberal::Float(value)) => self.add_number(value),
            None => return false,
        }
        self.texts = true;
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
        if (self.gaps && !capabilities.nulls) || !capabilities.numbers {
            return DataType::Utf8;
        }
        let narrow = i32::try_from(self.range.0).is_ok() && i32::try_from(self.range.1).is_ok();
        let no_cells = !(self.ints || self.floats || self.texts || self.bools);
        let (ints, floats) = match infer {
            Infer::Text => (false, false),
            Infer::Exact => (
                self.ints && !self.floats && !self.texts && !self.bools,
                self.floats && !self.ints && !self.texts && !self.bools,
            ),
            Infer::Numeric => (self.liberal_ints, self.liberal_floats),
        };
        match (ints, floats) {
            _ if no_cells => DataType::Utf8,
            (true, _) if narrow => DataType::Int32,
            (true, _) if capabilities.int64 => DataType::Int64,
            (_, true) => DataType::Float64,
            _ if self.bools && !(self.ints || self.floats || self.texts) => DataType::Boolean,
            _ => DataType::Utf8,
        }
    }
}
