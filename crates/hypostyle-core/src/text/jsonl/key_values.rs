//! The values of a key, and the column that they make.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, NullArray, RunArray,
};

use super::object::Text;
use crate::error::Result;
use crate::number::{self, Liberal};
use crate::text::infer::{self, InferredState, TypedChunk};

/// A column with fewer values than one in so many rows is kept as runs, so that
/// memory grows with the text, not with rows times keys.
const SPARSE: usize = 4;

/// The values of one key, and the rows that have one.
#[derive(Debug, Default)]
pub(super) struct Cells<'a> {
    rows: Vec<u32>,
    values: Vec<Value<'a>>,
    /// The row after the last that has the key, with or without a value.
    seen: u32,
}

/// A value of an object other than null, as far as columns tell them apart.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Bool(bool),
    /// An integer of 64 bits, and its spelling.
    Int(i64, &'a str),
    /// Any other number that a float holds, and its spelling.
    Float(f64, &'a str),
    /// Text, or anything else as its own spelling.
    Text(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// The value that is spelled like this; `None` for null.
    pub(super) fn new(raw: &'a str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Some(match raw.as_bytes().first() {
            Some(b'n') => return Ok(None),
            Some(b't') => Self::Bool(true),
            Some(b'f') => Self::Bool(false),
            Some(b'"') => {
                let Text(text) = serde_json::from_str(raw)?;
                Self::Text(text)
            }
            // A float tells -0 from 0, and an integer does not.
            Some(b'-') if raw == "-0" => Self::Float(-0.0, "-0.0"),
            Some(b'-' | b'0'..=b'9') => match raw.parse() {
                Ok(int) => Self::Int(int, raw),
                _ if raw.bytes().any(|byte| matches!(byte, b'.' | b'e' | b'E')) => {
                    match raw.parse::<f64>() {
                        Ok(float) if float.is_finite() => Self::Float(float, raw),
                        _ => Self::Text(Cow::Borrowed(raw)),
                    }
                }
                // An integer beyond 64 bits keeps its digits.
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

/// A value or none, for each of some rows.
trait Slots<'a: 'b, 'b>: ExactSizeIterator<Item = Option<&'b Value<'a>>> + Clone {}

impl<'a: 'b, 'b, I> Slots<'a, 'b> for I where
    I: ExactSizeIterator<Item = Option<&'b Value<'a>>> + Clone
{
}

impl<'a> Cells<'a> {
    /// Notes that a row has the key; `false` if that was known.
    pub(super) fn see(&mut self, row: u32) -> bool {
        let first = self.seen <= row;
        self.seen = row.saturating_add(1);
        first
    }

    /// Adds the value of a row, which comes after all others.
    pub(super) fn push(&mut self, row: u32, value: Value<'a>) {
        self.rows.push(row);
        self.values.push(value);
    }

    /// Keeps the values of `total` rows in the narrowest type that holds them all.
    pub(super) fn keep(&self, total: usize) -> Result<TypedChunk> {
        let count = self.values.len();
        if count == total {
            return keep(self.values.iter().map(Some), false);
        }
        if count == 0 {
            let array = Arc::new(NullArray::new(total));
            return Ok(TypedChunk { array, state: InferredState::none(true) });
        }
        if count >= total / SPARSE || i32::try_from(total).is_err() {
            return keep(self.spread(total).into_iter(), true);
        }
        let (slots, ends) = self.runs(total);
        let TypedChunk { array, state } = keep(slots.into_iter(), true)?;
        let array = Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &array)?);
        Ok(TypedChunk { array, state })
    }

    /// A slot for every row.
    fn spread(&self, total: usize) -> Vec<Option<&Value<'a>>> {
        let mut slots = vec![None; total];
        for (&row, value) in self.rows.iter().zip(&self.values) {
            if let Some(slot) = slots.get_mut(row as usize) {
                *slot = Some(value);
            }
        }
        slots
    }

    /// A slot for every row with a value and for every gap, and the rows at which
    /// they end.
    fn runs(&self, total: usize) -> (Vec<Option<&Value<'a>>>, Vec<i32>) {
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

/// Keeps the slots in the narrowest type that holds them all; not all are empty.
fn keep<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> Result<TypedChunk> {
    let all = |is: fn(&Value<'_>) -> bool| slots.clone().flatten().all(is);
    if all(|value| matches!(value, Value::Int(..))) {
        return Ok(keep_ints(slots, gaps));
    }
    if all(|value| matches!(value, Value::Bool(_))) {
        let bools = slots.map(|slot| slot.map(|value| matches!(value, Value::Bool(true))));
        let array = Arc::new(bools.collect::<BooleanArray>());
        return Ok(TypedChunk { array, state: InferredState::with_bools(gaps) });
    }
    // Should the column turn out to be text, every number keeps its spelling: it
    // is kept as a float only if the float prints like that.
    if all(|value| matches!(value, Value::Float(float, raw) if number::prints_as(*float, raw))) {
        let floats = slots.map(|slot| slot.and_then(Value::to_float));
        let array = Arc::new(floats.collect::<Float64Array>());
        return Ok(TypedChunk { array, state: InferredState::with_floats(gaps) });
    }
    let is_float = all(|value| value.to_float().is_some());
    let texts = slots.map(|slot| slot.map(|value| value.spelled().as_bytes()));
    let TypedChunk { array, .. } = infer::texts(texts)?;
    // Unlike in CSV, an empty text is a text.
    let state =
        if is_float { InferredState::with_floats(gaps) } else { InferredState::with_texts(gaps) };
    Ok(TypedChunk { array, state })
}

fn keep_ints<'a: 'b, 'b>(slots: impl Slots<'a, 'b>, gaps: bool) -> TypedChunk {
    let ints = slots.map(|slot| match slot {
        Some(Value::Int(int, _)) => Some(*int),
        _ => None,
    });
    let (least, most) = ints
        .clone()
        .flatten()
        .fold((i64::MAX, i64::MIN), |(least, most), int| (least.min(int), most.max(int)));
    let narrow = |int: i64| i32::try_from(int).ok();
    let array: ArrayRef = match (narrow(least), narrow(most)) {
        (Some(_), Some(_)) => {
            Arc::new(ints.map(|int| int.and_then(narrow)).collect::<Int32Array>())
        }
        _ => Arc::new(ints.collect::<Int64Array>()),
    };
    TypedChunk { array, state: InferredState::with_ints((least, most), gaps) }
}
