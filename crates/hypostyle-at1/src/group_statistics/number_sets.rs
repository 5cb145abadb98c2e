//! Which of the few distinct integers of a column occur in each row group.

#![deny(clippy::arithmetic_side_effects)]

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use arrow_array::{Array, ArrayRef, Int64Array};
use arrow_buffer::BooleanBuffer;
use arrow_schema::DataType;

use super::put_bitmap;
use crate::statistics::put_sv;
use crate::streams::StreamCursor;
use hypostyle_core::cast::cast;
use hypostyle_core::error::Result;
use hypostyle_core::predicate::{Decimal, OccurringEntries};
use hypostyle_core::wire::put;

/// The most distinct integers that sets are written of.
const MAX_VALUES: usize = 64;

/// Sets are left out if they have more than this share of the integers between the bounds of their
/// row groups, or of all integers without bounds: they would skip little more.
const MAX_SHARE_OF_BOUNDS: f64 = 0.9;

/// The integers of a row group.
#[derive(Clone, Debug, Default)]
pub(super) struct DistinctIntegers {
    values: BTreeSet<i64>,
    /// Whether there are too many, or other numbers.
    is_incomplete: bool,
}

impl DistinctIntegers {
    pub(super) fn push(&mut self, number: Decimal) {
        if self.is_incomplete {
            return;
        }
        match number.to_i64() {
            Some(value) => {
                self.values.insert(value);
                self.is_incomplete = self.values.len() > MAX_VALUES;
            }
            None => self.is_incomplete = true,
        }
        if self.is_incomplete {
            self.values = BTreeSet::new();
        }
    }
}

/// Returns the sets of row groups, which may have bounds too, as they are stored; `None` if they
/// would skip few row groups, or if the bitmaps take more than `max_bytes`.
pub(super) fn stored<'a>(
    groups: impl Iterator<Item = &'a DistinctIntegers> + Clone,
    has_bounds: bool,
    max_bytes: usize,
) -> Option<Vec<u8>> {
    let mut all: BTreeSet<i64> = BTreeSet::new();
    for group in groups.clone() {
        all.extend(&group.values);
        if group.is_incomplete || all.len() > MAX_VALUES {
            return None;
        }
    }
    let within_bounds = |group: &DistinctIntegers| match (group.values.first(), group.values.last())
    {
        _ if !has_bounds => all.len(),
        (Some(&first), Some(&last)) => all.range(first..=last).count(),
        _ => 0,
    };
    let (mut occurring, mut possible) = (0_usize, 0_usize);
    for group in groups.clone() {
        occurring = occurring.saturating_add(group.values.len());
        possible = possible.saturating_add(within_bounds(group));
    }
    let bytes = all.len().div_ceil(8).saturating_mul(groups.clone().count());
    let share = occurring as f64 / possible.max(1) as f64;
    if share > MAX_SHARE_OF_BOUNDS || bytes > max_bytes || all.is_empty() {
        return None;
    }
    let mut out = Vec::new();
    put::uv(&mut out, all.len() as u64);
    let mut before = 0_i64;
    for &value in &all {
        put_sv(i128::from(value).wrapping_sub(i128::from(before)), &mut out);
        before = value;
    }
    for group in groups {
        put_bitmap(all.iter().map(|value| group.values.contains(value)), &mut out);
    }
    Some(out)
}

/// The sets of integers of a column.
#[derive(Debug)]
pub(super) struct NumberSets {
    values: Vec<i64>,
    /// The place of the bitmaps of all row groups.
    bitmaps: Range<usize>,
    /// The values and a null, in the type of the column.
    entries: OnceLock<ArrayRef>,
}

impl NumberSets {
    pub(super) fn read(stream: &mut StreamCursor<'_>, groups: usize) -> Result<Self> {
        let at = stream.offset();
        let count = stream.count(1, "integers of a column")?;
        let (mut values, mut before) = (Vec::with_capacity(count), None);
        for _ in 0..count {
            let value = i128::from(before.unwrap_or(0_i64)).checked_add(stream.sv("integer")?);
            let value = value.and_then(|value| i64::try_from(value).ok());
            let Some(value) = value.filter(|&value| before.is_none_or(|before| before < value))
            else {
                return Err(stream.malformed_at(at, "integers of a column", "are not in order"));
            };
            values.push(value);
            before = Some(value);
        }
        let len = count.div_ceil(8).checked_mul(groups);
        let len = len.ok_or_else(|| stream.malformed("integers of a column", "are too many"))?;
        stream.take(len, "integers of row groups")?;
        let end = usize::try_from(stream.offset()).unwrap_or(usize::MAX);
        Ok(Self { values, bitmaps: end.saturating_sub(len)..end, entries: OnceLock::new() })
    }

    /// Returns whether a value is in the set of a row group.
    fn has(&self, bytes: &[u8], group: usize, value: usize) -> bool {
        let len = self.values.len().div_ceil(8);
        let bitmaps = bytes.get(self.bitmaps.clone()).unwrap_or_default();
        let byte = group.saturating_mul(len).saturating_add(value / 8);
        bitmaps.get(byte).is_none_or(|byte| byte >> (value % 8) & 1 != 0)
    }

    /// Returns whether a row group may have a number.
    pub(super) fn may_hold(&self, bytes: &[u8], group: usize, number: Decimal) -> bool {
        let value = number.to_i64().and_then(|value| self.values.binary_search(&value).ok());
        value.is_some_and(|value| self.has(bytes, group, value))
    }

    /// Returns the integers that a row group may have.
    pub(super) fn of_group(&self, bytes: &[u8], group: usize) -> BTreeSet<i64> {
        let values = self.values.iter().enumerate();
        values.filter(|&(at, _)| self.has(bytes, group, at)).map(|(_, &value)| value).collect()
    }

    /// Returns the values of a row group of a column of integers. A null may always occur, because
    /// words that mean null are not known here.
    pub(super) fn occurring(
        &self,
        bytes: &[u8],
        group: usize,
        data_type: &DataType,
    ) -> Option<OccurringEntries> {
        if !data_type.is_integer() {
            return None;
        }
        let values = match self.entries.get() {
            Some(values) => values,
            None => {
                let values = self.values.iter().copied().map(Some).chain([None]);
                let values: ArrayRef = Arc::new(values.collect::<Int64Array>());
                let typed = cast(&values, data_type).ok()?;
                self.entries.get_or_init(|| typed)
            }
        };
        let count = self.values.len();
        let is_typed = values.data_type() == data_type && values.null_count() == 1;
        let occurring = BooleanBuffer::collect_bool(values.len(), |value| {
            value == count || self.has(bytes, group, value)
        });
        is_typed.then(|| OccurringEntries { values: values.clone(), occurring })
    }
}
