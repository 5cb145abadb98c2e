//! Columns to be written, wherever they are kept.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use crate::error::{Error, Result};

/// A whole table that gives its columns one at a time.
///
/// Column files are written a column at a time, so this, not the batch, is what
/// an encoder asks of its input. A reader is one, and so is whatever was staged.
pub trait Table: Sync {
    /// The names and types.
    fn schema(&self) -> SchemaRef;

    /// The number of rows, the same for every column.
    fn rows(&self) -> u64;

    /// The values of one column in row order, in as many pieces as is handy.
    ///
    /// Every piece has the type that [`Table::schema`] gives.
    fn column(&self, index: usize) -> Result<Vec<ArrayRef>>;

    /// What an encoder must know of a column before it writes a byte.
    fn stats(&self, index: usize) -> Result<ColumnStats> {
        Ok(ColumnStats::of(&self.column(index)?))
    }
}

impl Table for RecordBatch {
    fn schema(&self) -> SchemaRef {
        RecordBatch::schema(self)
    }

    fn rows(&self) -> u64 {
        self.num_rows() as u64
    }

    fn column(&self, index: usize) -> Result<Vec<ArrayRef>> {
        let no_such = || Error::invalid_argument(format!("there is no column {index}"));
        Ok(vec![self.columns().get(index).ok_or_else(no_such)?.clone()])
    }
}

/// What a column holds, as far as it decides whether a format can hold it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnStats {
    /// Rows in all.
    pub rows: u64,
    /// Rows that are null.
    pub nulls: u64,
    /// The first null row.
    pub first_null: Option<u64>,
    /// The first row with an integer outside 32 bits, and the integer.
    pub first_beyond_i32: Option<(u64, i64)>,
    /// Bytes of text in rows that are not null.
    pub text_bytes: u64,
    /// The longest text in bytes, and the first row that has it.
    pub longest: Option<(u64, u64)>,
    /// Rows with an empty text that is not null.
    pub empty_texts: u64,
    /// Whether the last row is an empty text.
    pub ends_empty: bool,
}

impl ColumnStats {
    /// The stats of a column given in pieces.
    pub fn of(pieces: &[ArrayRef]) -> Self {
        let mut stats = Self::default();
        pieces.iter().for_each(|piece| stats.add(piece));
        stats
    }

    /// Takes the next piece into account.
    pub fn add(&mut self, piece: &ArrayRef) {
        let before = self.rows;
        self.rows += piece.len() as u64;
        if let Some(nulls) = piece.logical_nulls().filter(|nulls| nulls.null_count() > 0) {
            self.nulls += nulls.null_count() as u64;
            if self.first_null.is_none() {
                let row = nulls.iter().position(|valid| !valid);
                self.first_null = row.map(|row| before + row as u64);
            }
        }
        match piece.data_type() {
            DataType::Int64 => self.add_integers(piece, before),
            DataType::Utf8 => self.add_texts::<i32>(piece, before),
            DataType::LargeUtf8 => self.add_texts::<i64>(piece, before),
            _ => {}
        }
    }

    fn add_integers(&mut self, piece: &ArrayRef, before: u64) {
        if self.first_beyond_i32.is_some() {
            return;
        }
        let array = piece.as_primitive::<Int64Type>();
        let beyond = |&value: &i64| i32::try_from(value).is_err();
        // Null slots may hold anything, so a hit there is looked at again.
        if array.values().iter().any(beyond) {
            self.first_beyond_i32 = array
                .iter()
                .enumerate()
                .find_map(|(row, value)| Some((before + row as u64, value.filter(beyond)?)));
        }
    }

    fn add_texts<O: OffsetSizeTrait>(&mut self, piece: &ArrayRef, before: u64) {
        let array = piece.as_string::<O>();
        for (row, pair) in array.value_offsets().windows(2).enumerate() {
            let &[start, end] = pair else { continue };
            if array.is_null(row) {
                continue;
            }
            let len = (end - start).as_usize() as u64;
            self.text_bytes += len;
            self.empty_texts += u64::from(len == 0);
            if self.longest.is_none_or(|(_, most)| len > most) {
                self.longest = Some((before + row as u64, len));
            }
        }
        if let Some(last) = array.len().checked_sub(1) {
            self.ends_empty = array.is_valid(last) && array.value_length(last).as_usize() == 0;
        }
    }

    /// Merges the stats of the rows that follow.
    pub fn extend(&mut self, next: &Self) {
        let before = self.rows;
        self.rows += next.rows;
        self.nulls += next.nulls;
        self.first_null = self.first_null.or(next.first_null.map(|row| before + row));
        self.first_beyond_i32 = self
            .first_beyond_i32
            .or(next.first_beyond_i32.map(|(row, value)| (before + row, value)));
        self.text_bytes += next.text_bytes;
        if let Some((row, len)) = next.longest
            && self.longest.is_none_or(|(_, most)| len > most)
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
    fn facts_count_across_pieces_and_skip_what_hides_behind_nulls() {
        let huge = i64::from(i32::MAX) + 1;
        let hidden = Int64Array::new(vec![1, huge].into(), Some(vec![true, false].into()));
        let pieces: [ArrayRef; 2] =
            [Arc::new(hidden), Arc::new(Int64Array::from(vec![5, -huge - 1]))];
        let stats = ColumnStats::of(&pieces);
        assert_eq!((stats.rows, stats.nulls, stats.first_null), (4, 1, Some(1)));
        assert_eq!(stats.first_beyond_i32, Some((3, -huge - 1)));
    }

    #[test]
    fn facts_of_parts_add_up_to_the_facts_of_the_whole() {
        let a: ArrayRef = Arc::new(StringArray::from(vec![Some("ab"), None, Some("")]));
        let b: ArrayRef = Arc::new(StringArray::from(vec![Some("abcd"), Some("")]));
        let whole = ColumnStats::of(&[a.clone(), b.clone()]);
        let mut sum = ColumnStats::of(&[a]);
        sum.extend(&ColumnStats::of(&[b]));
        assert_eq!(sum, whole);
        assert_eq!((whole.longest, whole.empty_texts, whole.ends_empty), (Some((3, 4)), 2, true));
    }
}
