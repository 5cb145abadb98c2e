//! The profile of a column: nulls, distinct values and a histogram of its cells.

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

/// Bytes of distinct values that are counted.
const MAX_DISTINCT_BYTES: usize = 16 << 20;

/// Values of which a histogram is made.
const MAX_VALUES: usize = 4 << 20;

/// What the cells of a column are like.
#[derive(Clone, Debug)]
pub struct Profile {
    field: Field,
    rows: u64,
    nulls: u64,
    values: Vec<f64>,
    has_more_values: bool,
    sum: f64,
    numbers: u64,
    texts: HashMap<String, u64>,
    text_bytes: usize,
    has_more_texts: bool,
    /// The smallest and the largest value, each with its text.
    min: Option<(f64, String)>,
    max: Option<(f64, String)>,
}

impl Profile {
    /// Returns the profile of no rows of a column.
    pub fn new(field: &Field) -> Self {
        Self {
            field: field.clone(),
            rows: 0,
            nulls: 0,
            values: Vec::new(),
            has_more_values: false,
            sum: 0.0,
            numbers: 0,
            texts: HashMap::new(),
            text_bytes: 0,
            has_more_texts: false,
            min: None,
            max: None,
        }
    }

    /// Adds rows of the column.
    ///
    /// # Errors
    ///
    /// Fails for values that Arrow cannot print.
    pub fn add(&mut self, array: &ArrayRef) -> Result<()> {
        self.rows = self.rows.saturating_add(array.len() as u64);
        self.nulls = self.nulls.saturating_add(array.logical_null_count() as u64);
        let numbers = numbers(array)?;
        let texts = spelled_text(array, &self.field)?;
        let texts = texts.as_string::<i32>();
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            self.count(text);
            let Some(numbers) = &numbers else { continue };
            let numbers = numbers.as_primitive::<Float64Type>();
            if numbers.is_null(row) || !numbers.value(row).is_finite() {
                continue;
            }
            let value = numbers.value(row);
            self.sum += value;
            self.numbers += 1;
            if self.values.len() < MAX_VALUES {
                self.values.push(value);
            } else {
                self.has_more_values = true;
            }
            if self.min.as_ref().is_none_or(|(min, _)| value < *min) {
                self.min = Some((value, text.to_owned()));
            }
            if self.max.as_ref().is_none_or(|(max, _)| value > *max) {
                self.max = Some((value, text.to_owned()));
            }
        }
        Ok(())
    }

    fn count(&mut self, text: &str) {
        if let Some(count) = self.texts.get_mut(text) {
            *count += 1;
            return;
        }
        let bytes = self.text_bytes.saturating_add(text.len());
        if self.texts.len() < MAX_DISTINCT && bytes <= MAX_DISTINCT_BYTES {
            self.text_bytes = bytes;
            self.texts.insert(text.to_owned(), 1);
        } else {
            self.has_more_texts = true;
        }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the number of nulls.
    pub fn nulls(&self) -> u64 {
        self.nulls
    }

    /// Returns the number of distinct values, and whether there are more that were not counted.
    pub fn distinct(&self) -> (usize, bool) {
        (self.texts.len(), self.has_more_texts)
    }

    /// Returns the texts of the smallest and of the largest value of a column of numbers or times.
    pub fn bounds(&self) -> Option<(&str, &str)> {
        Some((&self.min.as_ref()?.1, &self.max.as_ref()?.1))
    }

    /// Returns the mean of the values of a column of numbers.
    pub fn mean(&self) -> Option<f64> {
        let is_number = self.field.data_type().is_numeric();
        (is_number && self.numbers > 0).then(|| self.sum / self.numbers as f64)
    }

    /// Returns the most frequent of the values that were counted, cut where they are long.
    pub fn top(&self) -> Vec<(String, u64)> {
        let mut top: Vec<(&String, u64)> = self.texts.iter().map(|(t, &n)| (t, n)).collect();
        top.sort_unstable_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
        top.into_iter().take(TOP).map(|(text, count)| (cut(text, MAX_CHARS), count)).collect()
    }

    /// Returns the number of values in each of equal parts of their range; nothing for columns of
    /// texts.
    ///
    /// Of a column with more than 4,194,304 values, these are the first ones.
    pub fn bins(&self) -> Vec<u64> {
        let (Some((min, _)), Some((max, _))) = (&self.min, &self.max) else { return Vec::new() };
        let mut bins = vec![0_u64; BINS];
        let last = BINS.saturating_sub(1);
        for value in &self.values {
            // Halves, because the difference of finite numbers may not be finite.
            let share =
                if max > min { (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0) } else { 0.0 };
            // `share` is between 0 and 1.
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            let place = (share * BINS as f64) as usize;
            bins.get_mut(place.min(last)).into_iter().for_each(|count| *count += 1);
        }
        bins
    }

    /// Returns whether the histogram leaves out values.
    pub fn has_more_values(&self) -> bool {
        self.has_more_values
    }
}

/// Reads the first rows of a column.
pub(crate) struct ProfileJob {
    scan: LazyScan,
    of: u64,
    profile: Profile,
}

impl ProfileJob {
    pub(crate) fn new(table: &Table, field: &Field, column: usize, rows: u64, of: u64) -> Self {
        let scan = LazyScan::new(table.scan().columns([column]).rows(0..rows.min(of)));
        Self { scan, of, profile: Profile::new(field) }
    }

    fn result(&self) -> Value {
        let Self { of, profile, .. } = self;
        let top = profile.top().into_iter();
        let top = top.map(|(value, count)| json!({ "value": value, "count": count }));
        let (distinct, has_more) = profile.distinct();
        let bounds = profile.bounds();
        json!({
            "rows": profile.rows(),
            "of": of,
            "nulls": profile.nulls(),
            "distinct": distinct,
            "has_more": has_more,
            "min": bounds.map(|(min, _)| min),
            "max": bounds.map(|(_, max)| max),
            "bins": profile.bins(),
            "top": top.collect::<Vec<_>>(),
        })
    }
}

impl Job for ProfileJob {
    fn step(&mut self) -> Result<Progress> {
        loop {
            match self.scan.step()? {
                Step::Missing(ranges) => return Ok(Progress::Missing(ranges)),
                Step::Batch(batch) => {
                    if let Some(array) = batch.columns().first() {
                        self.profile.add(array)?;
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
