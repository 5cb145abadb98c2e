//! What the cells of a column have in common, and the type that follows from it.

use arrow_schema::DataType;

use crate::types::Capabilities;

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

    /// Returns the state of rows without a value if `gaps`, and of no rows otherwise.
    pub(super) fn none(gaps: bool) -> Self {
        Self { gaps, ..Self::NONE }
    }

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

    /// Returns the state of integers between these bounds.
    pub(super) fn with_ints(range: (i64, i64), gaps: bool) -> Self {
        let max_exact = 1 << 53;
        let liberal_floats = range.0 >= -max_exact && range.1 <= max_exact;
        Self { ints: true, range, liberal_floats, gaps, ..Self::NONE }
    }

    /// Returns the state of floats.
    pub(super) fn with_floats(gaps: bool) -> Self {
        Self { floats: true, liberal_ints: false, gaps, ..Self::NONE }
    }

    /// Returns the state of booleans.
    pub(super) fn with_bools(gaps: bool) -> Self {
        Self { bools: true, liberal_ints: false, liberal_floats: false, gaps, ..Self::NONE }
    }

    /// Returns the state of texts.
    pub(super) fn with_texts(gaps: bool) -> Self {
        Self { texts: true, liberal_ints: false, liberal_floats: false, gaps, ..Self::NONE }
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
