//! Tables that writers read column by column.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch, UInt64Array};
use arrow_schema::{DataType, SchemaRef};

use crate::error::Result;
use crate::projection::column_out_of_range;

/// A whole table that returns its columns one at a time.
///
/// Column files are written a column at a time, so encoders take a table rather than
/// batches. Open files and spilled rows implement it.
pub trait ColumnSource: Sync {
    /// Returns the names and types of the columns.
    fn schema(&self) -> SchemaRef;

    /// Returns the number of rows, which all columns share.
    fn rows(&self) -> u64;

    /// Returns the values of one column in row order, in any number of chunks.
    ///
    /// Every chunk has the type that [`ColumnSource::schema`] gives.
    fn column(&self, index: usize) -> Result<Vec<ArrayRef>>;

    /// Returns what an encoder must know about a column before it writes a byte.
    fn stats(&self, index: usize) -> Result<ColumnStats> {
        Ok(ColumnStats::of(&self.column(index)?))
    }
}

impl ColumnSource for RecordBatch {
    fn schema(&self) -> SchemaRef {
        RecordBatch::schema(self)
    }

    fn rows(&self) -> u64 {
        self.num_rows() as u64
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let missing = || column_out_of_range(index, self.num_columns());
        Ok(vec![self.columns().get(index).ok_or_else(missing)?.clone()])
    }
}

/// Statistics of a column that decide whether a format can store it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnStats {
    /// The number of rows.
    pub rows: u64,
    /// The number of null rows.
    pub nulls: u64,
    /// The first null row.
    pub first_null: Option<u64>,
    /// The first row with an integer outside the range of `i32`, and the integer; those
    /// beyond the range of `i64` count as its maximum.
    pub first_beyond_i32: Option<(u64, i64)>,
    /// The first row with an unsigned integer beyond the range of `i64`.
    pub first_beyond_i64: Option<u64>,
    /// The bytes of text in rows that are not null.
    pub text_bytes: u64,
    /// The first row with the longest text, and the length of that text in bytes.
    pub longest: Option<(u64, u64)>,
    /// The number of rows with an empty text; null does not count.
    pub empty_texts: u64,
    /// Whether the last row has an empty text.
    pub ends_empty: bool,
}

impl ColumnStats {
    /// Computes the statistics of a column that is given in chunks.
    pub fn of(chunks: &[ArrayRef]) -> Self {
        let mut stats = Self::default();
        chunks.iter().for_each(|chunk| stats.add(chunk));
        stats
    }

    /// Adds the next chunk of the column.
    pub fn add(&mut self, chunk: &ArrayRef) {
        let before = self.rows;
        self.rows += chunk.len() as u64;
        if let Some(nulls) = chunk.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            self.nulls += nulls.null_count() as u64;
            if self.first_null.is_none() {
                let row = nulls.iter().position(|valid| !valid);
                self.first_null = row.map(|row| before + row as u64);
            }
        }
        match chunk.data_type() {
            DataType::Int64 => self.add_integers(chunk, before),
            DataType::UInt32 => {
                let wide = chunk.as_primitive::<UInt32Type>().unary::<_, UInt64Type>(u64::from);
                self.add_unsigned(&wide, before);
            }
            DataType::UInt64 => self.add_unsigned(chunk.as_primitive(), before),
            DataType::Utf8 => self.add_texts::<i32>(chunk, before),
            DataType::LargeUtf8 => self.add_texts::<i64>(chunk, before),
            _ => {}
        }
    }

    fn add_integers(&mut self, chunk: &ArrayRef, before: u64) {
        if self.first_beyond_i32.is_some() {
            return;
        }
        let array = chunk.as_primitive::<Int64Type>();
        let beyond = |&value: &i64| i32::try_from(value).is_err();
        // Null slots may hold any value, so a hit is searched for again among valid rows.
        if array.values().iter().any(beyond) {
            self.first_beyond_i32 = array
                .iter()
                .enumerate()
                .find_map(|(row, value)| Some((before + row as u64, value.filter(beyond)?)));
        }
    }

    fn add_unsigned(&mut self, array: &UInt64Array, before: u64) {
        let first_beyond = |limit: u64| {
            let found =
                array.iter().enumerate().find(|(_, value)| value.is_some_and(|v| v > limit));
            found.map(|(row, value)| (before + row as u64, value.unwrap_or(limit)))
        };
        if self.first_beyond_i32.is_none() {
            let found = first_beyond(i32::MAX.unsigned_abs().into());
            let clamped = |value| i64::try_from(value).unwrap_or(i64::MAX);
            self.first_beyond_i32 = found.map(|(row, value)| (row, clamped(value)));
        }
        if self.first_beyond_i64.is_none() {
            self.first_beyond_i64 = first_beyond(i64::MAX.unsigned_abs()).map(|(row, _)| row);
        }
    }

    fn add_texts<O: OffsetSizeTrait>(&mut self, chunk: &ArrayRef, before: u64) {
        let array = chunk.as_string::<O>();
        for (row, pair) in array.value_offsets().windows(2).enumerate() {
            let &[start, end] = pair else { continue };
            if array.is_null(row) {
                continue;
            }
            let len = (end - start).as_usize() as u64;
            self.text_bytes += len;
            self.empty_texts += u64::from(len == 0);
            if self.longest.is_none_or(|(_, longest)| len > longest) {
                self.longest = Some((before + row as u64, len));
            }
        }
        if let Some(last) = array.len().checked_sub(1) {
            self.ends_empty = array.is_valid(last) && array.value_length(last).as_usize() == 0;
        }
    }

    /// Adds the statistics of the rows that follow.
    pub fn extend(&mut self, next: &Self) {
        let before = self.rows;
        self.rows += next.rows;
        self.nulls += next.nulls;
        self.first_null = self.first_null.or(next.first_null.map(|row| before + row));
        self.first_beyond_i32 = self
            .first_beyond_i32
            .or(next.first_beyond_i32.map(|(row, value)| (before + row, value)));
        self.first_beyond_i64 =
            self.first_beyond_i64.or(next.first_beyond_i64.map(|row| before + row));
        self.text_bytes += next.text_bytes;
        if let Some((row, len)) = next.longest
            && self.longest.is_none_or(|(_, longest)| len > longest)
        {
            self.longest = Some((before + row, len));
        }
        self.empty_texts += next.empty_texts;
        if next.rows > 0 {
            self.ends_empty = next.ends_empty;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Int64Array, StringArray};

    use super::*;

    #[test]
    fn stats_count_across_chunks_and_ignore_values_of_null_slots() {
        let huge = i64::from(i32::MAX) + 1;
        let hidden = Int64Array::new(vec![1, huge].into(), Some(vec![true, false].into()));
        let chunks: [ArrayRef; 2] =
            [Arc::new(hidden), Arc::new(Int64Array::from(vec![5, -huge - 1]))];
        let stats = ColumnStats::of(&chunks);
        assert_eq!((stats.rows, stats.nulls, stats.first_null), (4, 1, Some(1)));
        assert_eq!(stats.first_beyond_i32, Some((3, -huge - 1)));
    }

    #[test]
    fn stats_of_parts_add_up_to_the_stats_of_the_whole() {
        let a: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), None, Some("")]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![Some("abcd"), Some("")]));
        let whole = ColumnStats::of(&[a.clone(), b.clone()]);
        let mut sum = ColumnStats::of(&[a]);
        sum.extend(&ColumnStats::of(&[b]));
        assert_eq!(sum, whole);
        assert_eq!((whole.longest, whole.empty_texts, whole.ends_empty), (Some((3, 4)), 2, true));
    }
}
