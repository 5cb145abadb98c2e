//! The profile of a column: nulls, distinct values and a histogram of its first rows.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, Field};
use hashbrown::HashMap;
use hypostyle::cast::spelled_text;
use hypostyle::{Result, Step, Table};
use serde_json::{Value, json};

use crate::cells::cut;
use crate::job::{Job, LazyScan, Progress};

/// Bars of a histogram.
const BINS: usize = 20;

/// Distinct values that are counted; of a column with more, only that is known.
const MAX_DISTINCT: usize = 10_000;

/// Most frequent values that are listed.
const TOP: usize = 8;

/// Characters of a listed value.
const MAX_CHARS: usize = 60;

/// Reads the first rows of a column.
pub(crate) struct ProfileJob {
    scan: LazyScan,
    field: Field,
    of: u64,
    rows: u64,
    nulls: u64,
    values: Vec<f64>,
    texts: HashMap<String, u64>,
    has_more_texts: bool,
    /// The smallest and the largest value, each with its text.
    min: Option<(f64, String)>,
    max: Option<(f64, String)>,
}

impl ProfileJob {
    pub(crate) fn new(table: &Table, field: &Field, column: usize, rows: u64, of: u64) -> Self {
        let scan = LazyScan::new(table.scan().columns([column]).rows(0..rows.min(of)));
        let (values, texts) = Default::default();
        let (rows, nulls, min, max, has_more_texts) = (0, 0, None, None, false);
        let field = field.clone();
        Self { scan, field, of, rows, nulls, values, texts, has_more_texts, min, max }
    }

    fn add(&mut self, array: &ArrayRef) -> Result<()> {
        self.rows = self.rows.saturating_add(array.len() as u64);
        self.nulls = self.nulls.saturating_add(array.logical_null_count() as u64);
        let numbers = numbers(array)?;
        let texts = spelled_text(array, &self.field)?;
        let texts = texts.as_string::<i32>();
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            if let Some(count) = self.texts.get_mut(text) {
                *count += 1;
            } else if self.texts.len() < MAX_DISTINCT {
                self.texts.insert(text.to_owned(), 1);
            } else {
                self.has_more_texts = true;
            }
            let Some(numbers) = &numbers else { continue };
            let numbers = numbers.as_primitive::<Float64Type>();
            if numbers.is_null(row) || !numbers.value(row).is_finite() {
                continue;
            }
            let value = numbers.value(row);
            self.values.push(value);
            if self.min.as_ref().is_none_or(|(min, _)| value < *min) {
                self.min = Some((value, text.to_owned()));
            }
            if self.max.as_ref().is_none_or(|(max, _)| value > *max) {
                self.max = Some((value, text.to_owned()));
            }
        }
        Ok(())
    }

    fn result(&self) -> Value {
        let mut top: Vec<(&String, u64)> = self.texts.iter().map(|(t, &n)| (t, n)).collect();
        top.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        let top = top.into_iter().take(TOP);
        let top = top.map(|(text, count)| json!({ "value": cut(text, MAX_CHARS), "count": count }));
        json!({
            "rows": self.rows,
            "of": self.of,
            "nulls": self.nulls,
            "distinct": self.texts.len(),
            "has_more": self.has_more_texts,
            "min": self.min.as_ref().map(|(_, text)| text),
            "max": self.max.as_ref().map(|(_, text)| text),
            "bins": self.bins(),
            "top": top.collect::<Vec<_>>(),
        })
    }

    /// Returns the number of values in each of equal parts of their range.
    fn bins(&self) -> Vec<u64> {
        let (Some((min, _)), Some((max, _))) = (&self.min, &self.max) else { return Vec::new() };
        let mut bins = vec![0_u64; BINS];
        let last = BINS.saturating_sub(1);
        for value in &self.values {
            let share = if max > min { (value - min) / (max - min) } else { 0.0 };
            // `share` is between 0 and 1.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let place = (share * BINS as f64) as usize;
            bins.get_mut(place.min(last)).into_iter().for_each(|count| *count += 1);
        }
        bins
    }
}

impl Job for ProfileJob {
    fn step(&mut self) -> Result<Progress> {
        loop {
            match self.scan.step()? {
                Step::Missing(ranges) => return Ok(Progress::Missing(ranges)),
                Step::Batch(batch) => {
                    if let Some(array) = batch.columns().first() {
                        self.add(array)?;
                    }
                }
                Step::Done => return Ok(Progress::Done(self.result())),
            }
        }
    }
}

/// Returns the values as numbers, if they have an order that a histogram can show.
fn numbers(array: &ArrayRef) -> Result<Option<ArrayRef>> {
    let whole = match array.data_type() {
        data_type if data_type.is_numeric() => array.clone(),
        DataType::Date32 => arrow_cast::cast(array, &DataType::Int32)?,
        DataType::Date64 | DataType::Timestamp(..) => arrow_cast::cast(array, &DataType::Int64)?,
        _ => return Ok(None),
    };
    Ok(Some(arrow_cast::cast(&whole, &DataType::Float64)?))
}
