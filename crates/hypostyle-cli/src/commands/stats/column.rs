//! What one column of `hyp stats` shows.

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions};
use hypostyle::cast::{plain_type, spelled_text};
use hypostyle_view::type_name;

use super::sketch::{DistinctValues, Numbers, histogram, quantile};
use crate::failure::Result;

/// Letters of a value that a list of frequent values shows.
const MAX_SHOWN: usize = 24;

/// The values of a column so far.
#[derive(Debug)]
pub(super) struct ColumnValues {
    field: Field,
    values: u64,
    nulls: u64,
    distinct: DistinctValues,
    numbers: Option<Numbers>,
    /// The least and the greatest value, as arrays of one row.
    bounds: Option<(ArrayRef, ArrayRef)>,
    /// Bytes of the longest text.
    longest: Option<usize>,
}

/// What is known of a column.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) type_name: String,
    pub(super) values: u64,
    pub(super) nulls: u64,
    pub(super) distinct: String,
    pub(super) min: Option<String>,
    pub(super) max: Option<String>,
    pub(super) mean: Option<f64>,
    pub(super) deviation: Option<f64>,
    pub(super) quartiles: Option<[String; 3]>,
    pub(super) histogram: Option<String>,
    pub(super) top: Option<String>,
    pub(super) longest: Option<usize>,
}

impl ColumnValues {
    pub(super) fn new(field: &Field) -> Self {
        let data_type = plain_type(field.data_type());
        Self {
            field: field.clone(),
            values: 0,
            nulls: 0,
            distinct: DistinctValues::new(),
            numbers: data_type.is_numeric().then(Numbers::default),
            bounds: None,
            longest: (*data_type == DataType::Utf8).then_some(0),
        }
    }

    /// Adds the values of a batch.
    pub(super) fn add(&mut self, array: &ArrayRef) -> Result<()> {
        let nulls = array.logical_null_count() as u64;
        self.nulls += nulls;
        self.values += (array.len() as u64).saturating_sub(nulls);
        let texts = spelled_text(array, &self.field)?;
        for text in texts.as_string::<i32>().iter().flatten() {
            self.distinct.add(text);
            self.longest = self.longest.map(|longest| longest.max(text.len()));
        }
        if let Some(numbers) = &mut self.numbers {
            let floats = arrow_cast::cast(array, &DataType::Float64)?;
            floats.as_primitive::<Float64Type>().iter().flatten().for_each(|it| numbers.add(it));
        }
        self.add_bounds(array)
    }

    /// Compares the values with the least and the greatest ones so far. Nested values have none.
    fn add_bounds(&mut self, array: &ArrayRef) -> Result<()> {
        let is_ordered = !plain_type(self.field.data_type()).is_nested();
        let mut rows = (0..array.len()).filter(|&row| array.is_valid(row));
        let Some(first) = rows.next().filter(|_| is_ordered) else { return Ok(()) };
        let compare = make_comparator(array, array, SortOptions::default())?;
        let (mut least, mut greatest) = (first, first);
        for row in rows {
            if compare(row, least).is_lt() {
                least = row;
            } else if compare(row, greatest).is_gt() {
                greatest = row;
            }
        }
        let (mut least, mut greatest) = (array.slice(least, 1), array.slice(greatest, 1));
        if let Some((min, max)) = self.bounds.take() {
            if make_comparator(&min, &least, SortOptions::default())?(0, 0).is_lt() {
                least = min;
            }
            if make_comparator(&max, &greatest, SortOptions::default())?(0, 0).is_gt() {
                greatest = max;
            }
        }
        self.bounds = Some((least, greatest));
        Ok(())
    }

    /// Describes the values, and names the `top` most frequent ones.
    pub(super) fn finish(self, top: usize) -> Described {
        let (distinct, is_exact) = self.distinct.distinct();
        let about = if is_exact { "" } else { "~" };
        let spelled = |array: &ArrayRef| {
            let text = spelled_text(array, &self.field).ok()?;
            Some(text.as_string::<i32>().value(0).to_owned())
        };
        let is_unique = distinct == self.values && distinct > 1;
        let frequent = self.distinct.top(if is_unique { 0 } else { top });
        let frequent =
            frequent.iter().map(|(value, count)| format!("{} ({about}{count})", clip(value)));
        let frequent = frequent.collect::<Vec<_>>().join(", ");
        let numbers = self.numbers.filter(|numbers| !numbers.is_empty());
        let (mean, deviation) = match &numbers {
            Some(numbers) => (Some(numbers.mean()), numbers.deviation()),
            None => (None, None),
        };
        let sorted = numbers.map(Numbers::sorted);
        let quartiles = sorted.as_ref().map(|(sorted, is_all)| {
            let about = if *is_all { "" } else { "~" };
            [0.25, 0.5, 0.75].map(|share| format!("{about}{}", quantile(sorted, share)))
        });
        Described {
            name: self.field.name().clone(),
            type_name: type_name(self.field.data_type()),
            values: self.values,
            nulls: self.nulls,
            distinct: format!("{about}{distinct}"),
            min: self.bounds.as_ref().and_then(|(min, _)| spelled(min)),
            max: self.bounds.as_ref().and_then(|(_, max)| spelled(max)),
            mean,
            deviation,
            quartiles,
            histogram: sorted.and_then(|(sorted, _)| histogram(&sorted)),
            top: (!frequent.is_empty()).then_some(frequent),
            longest: self.longest,
        }
    }
}

/// Returns the start of a long value.
fn clip(value: &str) -> String {
    match value.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", value.get(..end).unwrap_or_default()),
        None => value.to_owned(),
    }
}
