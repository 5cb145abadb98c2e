//! Collects the values of a key and builds an array from them.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, NullArray, RunArray,
};

use super::object::JsonText;
use crate::error::Result;
use crate::number::{self, Liberal};
use crate::text::infer::{self, TypedChunk};
use crate::text::state::InferredState;

/// A chunk with fewer than one value in this many rows is run-end encoded, so that memory
/// grows with the text, not with rows times keys.
const SPARSE_ROWS_PER_VALUE: usize = 4;

/// The values of one key, and the rows that have them.
#[derive(Debug, Default)]
pub(super) struct KeyValues<'a> {
    rows: Vec<u32>,
    values: Vec<JsonCell<'a>>,
    /// The row after the last row that has the key, be it null.
    seen: u32,
}

/// A JSON value other than null, as the column types distinguish them.
#[derive(Clone, Debug)]
pub(super) enum JsonCell<'a> {
    Bool(bool),
    /// A 64-bit integer, and its spelling.
    Int(i64, &'a str),
    /// Any other number that a float represents, and its spelling.
    Float(f64, &'a str),
    /// A string, or the spelling of any other value.
    Text(Cow<'a, str>),
}

impl<'a> JsonCell<'a> {
    /// Parses a value; returns `None` for null.
    pub(super) fn new(raw: &'a str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Some(match raw.as_bytes().first() {
            Some(b'n') => return Ok(None),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                let JsonText(text) = serde_json::from_str(raw)?;
                Self::Text(text)
            }
            // A float distinguishes -0 from 0, and an integer does not.
            Some(b'-') if raw == "-0" => Self::Float(-0.0, "-0.0"),
            Some(b'-' | b'0'..=b'9') => match number::exact_int(raw.as_bytes()) {
                Some(int) => Self::Int(int, raw),
                _ if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
                    match raw.parse::<f64>() {
                        Ok(float) if float.is_finite() => Self::Float(float, raw),
                        _ => Self::Text(Cow::Borrowed(raw)),
                    }
                }
                // An integer beyond 64 bits stays text, with all of its digits.
                _ => Self::Text(Cow::Borrowed(raw)),
            },
            _ => Self::Text(Cow::Borrowed(raw)),
        }))
    }

    fn spelled(&self) -> &str {
        match self {
            Self::Bool(true) => "true",
            Self::Bool(false) => "false",
            Self::Int(_, raw) | Self::Float(_, raw) => raw,
            Self::Text(text) => text,
        }
    }

    fn to_float(&self) -> Option<f64> {
        match self {
            Self::Float(float, _) => Some(*float),
            Self::Int(int, _) => Liberal::Int(*int).to_float(),
            _ => None,
        }
    }
}

/// An optional value for each of some rows.
trait Slots<'a: 'b, 'b>: ExactSizeIterator<Item = Option<&'b JsonCell<'a>>> + Clone {}

impl<'a: 'b, 'b, I> Slots<'a, 'b> for I where
    I: ExactSizeIterator<Item = Option<&'b JsonCell<'a>>> + Clone
{
}

impl<'a> KeyValues<'a> {
    /// Records that a row has the key; returns `false` if it was recorded before.
    pub(super) fn mark(&mut self, row: u32) -> bool {
        let first = self.seen <= row;
        self.seen = row.saturating_add(1);
        first
    }

    /// Adds the value of a row, which must be after all rows with values.
    pub(super) fn push(&mut self, row: u32, value: JsonCell<'a>) {
        self.rows.push(row);
        self.values.push(value);
    }

    /// Returns the values of `total` rows in the narrowest type that stores them all.
    pub(super) fn to_chunk(&self, total: usize) -> Result<TypedChunk> {
        let count = self.values.len();
        if count == total {
            return typed_chunk(self.values.iter().map(Some), false);
        }
        if count == 0 {
            let array = Arc::new(NullArray::new(total));
            return Ok(TypedChunk { array, state: InferredState::none(true) });
        }
        if count >= total / SPARSE_ROWS_PER_VALUE || i32::try_from(total).is_err() {
            return typed_chunk(self.dense(total).into_iter(), true);
        }
        let (slots, ends) = self.runs(total);
        let TypedChunk { array, state } = typed_chunk(slots.into_iter(), true)?;
        let array = Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &array)?);
        Ok(TypedChunk { array, state })
    }

    /// Returns a slot for every row.
    fn dense(&self, total: usize) -> Vec<Option<&JsonCell<'a>>> {
        let mut slots = vec![None; total];
        for (&row, value) in self.rows.iter().zip(&self.values) {
            if let Some(slot) = slots.get_mut(row as usize) {
                *slot = Some(value);
            }
        }
        slots
    }

    /// Returns a slot for every row with a value and for every gap, and the rows at which
    /// these runs end.
    fn runs(&self, total: usize) -> (Vec<Option<&JsonCell<'a>>>, Vec<i32>) {
        let (mut slots, mut ends) = (Vec::new(), Vec::new());
        let mut done = 0;
        for (&row, value) in self.rows.iter().zip(&self.values) {
            let row = i32::try_from(row).unwrap_or(i32::MAX);
            if row > done {
                slots.push(None);
                ends.push(row);
            }
            done = row.saturating_add(1);
            slots.push(Some(value));
            ends.push(done);
        }
        let total = i32::try_from(total).unwrap_or(i32::MAX);
        if total > done {
            slots.push(None);
            ends.push(total);
        }
        (slots, ends)
    }
}

/// Returns the slots in the narrowest type that stores them all; one must have a value.
fn typed_chunk<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> Result<TypedChunk> {
    let all = |is: fn(&JsonCell<'_>) -> bool| slots.clone().flatten().all(is);
    if all(|value| matches!(value, JsonCell::Int(..))) {
        return Ok(int_chunk(slots, gaps));
    }
    if all(|value| matches!(value, JsonCell::Bool(_))) {
        let bools = slots.map(|slot| slot.map(|value| matches!(value, JsonCell::Bool(true))));
        let array = Arc::new(bools.collect::<BooleanArray>());
        return Ok(TypedChunk { array, state: InferredState::with_bools(gaps) });
    }
    // The column may turn out to be text, and then every number must keep its spelling. So
    // a number is stored as a float only if the float prints as it is spelled.
    if all(|value| matches!(value, JsonCell::Float(float, raw) if number::prints_as(*float, raw))) {
        let floats = slots.map(|slot| slot.and_then(JsonCell::to_float));
        let array = Arc::new(floats.collect::<Float64Array>());
        return Ok(TypedChunk { array, state: InferredState::with_floats(gaps) });
    }
    let is_float = all(|value| value.to_float().is_some());
    let texts = slots.map(|slot| slot.map(|value| value.spelled().as_bytes()));
    let TypedChunk { array, .. } = infer::texts(texts)?;
    // Unlike in CSV, an empty string is text and not a gap.
    let state =
        if is_float { InferredState::with_floats(gaps) } else { InferredState::with_texts(gaps) };
    Ok(TypedChunk { array, state })
}

fn int_chunk<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> TypedChunk {
    let ints = slots.map(|slot| match slot {
        Some(JsonCell::Int(int, _)) => Some(*int),
        _ => None,
    });
    let (min, max) = ints
        .clone()
        .flatten()
        .fold((i64::MAX, i64::MIN), |(min, max), int| (min.min(int), max.max(int)));
    let narrow = |int: i64| i32::try_from(int).ok();
    let array: ArrayRef = match (narrow(min), narrow(max)) {
        (Some(_), Some(_)) => {
            Arc::new(ints.map(|int| int.and_then(narrow)).collect::<Int32Array>())
        }
        _ => Arc::new(ints.collect::<Int64Array>()),
    };
    TypedChunk { array, state: InferredState::with_ints((min, max), gaps) }
}
