//! Builds arrays from the values of JSON Lines.

use std::collections::HashMap;
use std::io::Read;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, Int32Array, RunArray};

use super::array::array_of_values;
use super::lines::for_each_object;
use super::summary::BLOCK_BYTES;
use crate::error::{Error, Result, clipped};
use crate::text::line_blocks::{LineBlock, LineBlocks};
use crate::text::options::TextOptions;
use crate::text::position::RowPosition;
use crate::text::row_blocks::{PickedRows, RowBlocks, TextColumn};
use crate::text::sizes::TextSizes;
use crate::text::skipped::Skipped;

/// A column with fewer than one value in this many rows is run-end encoded, so that memory
/// grows with the text, not with rows times keys.
const SPARSE_ROWS_PER_VALUE: usize = 4;

/// Tables with fewer columns than this are not run-end encoded: it would not pay.
const MIN_SPARSE_COLUMNS: usize = 64;

/// The names of the columns, and which of them are read.
#[derive(Debug)]
pub(crate) struct KeyColumns {
    names: Vec<String>,
    positions: HashMap<String, usize>,
}

impl KeyColumns {
    /// Returns the columns with these names.
    pub(crate) fn new(names: Vec<String>) -> Self {
        let positions = names.iter().cloned().zip(0..).collect();
        Self { names, positions }
    }

    fn position(&self, key: &str, guess: usize) -> Option<usize> {
        if self.names.get(guess).is_some_and(|name| name == key) {
            return Some(guess);
        }
        self.positions.get(key).copied()
    }
}

/// The blocks of a part of JSON Lines.
pub(crate) struct ValueBlocks<R> {
    lines: LineBlocks<R>,
    skip: bool,
    keys: Arc<KeyColumns>,
    /// For each column, its position among the columns that are read.
    slots: Vec<Option<usize>>,
    block: LineBlock,
    first_row: u64,
    rows: usize,
    /// The values of each column that is read.
    values: Vec<Vec<ValueSpan>>,
}

/// The place of a value in a block.
#[derive(Clone, Copy, Debug)]
struct ValueSpan {
    row: u32,
    start: u32,
    len: u32,
}

/// Returns the string that means null in a column, with its quotes.
fn null_string(column: &TextColumn) -> Option<String> {
    column.null_token.as_ref().map(|token| format!("\"{token}\""))
}

impl<R: Read> ValueBlocks<R> {
    /// Returns the rows from a position on; only the given columns can be read.
    pub(crate) fn new(
        input: R,
        options: &TextOptions,
        sizes: TextSizes,
        keys: &Arc<KeyColumns>,
        columns: &[usize],
        position: RowPosition,
    ) -> Self {
        let max_line = usize::try_from(options.limits.row_bytes).unwrap_or(usize::MAX);
        let block = sizes.block.unwrap_or(BLOCK_BYTES);
        let mut slots = vec![None; keys.names.len()];
        let mut count = 0;
        for &column in columns {
            if let Some(slot @ None) = slots.get_mut(column) {
                *slot = Some(count);
                count += 1;
            }
        }
        Self {
            lines: LineBlocks::resume(input, block, max_line, position),
            skip: options.skip,
            keys: keys.clone(),
            slots,
            block: LineBlock::default(),
            first_row: position.row,
            rows: 0,
            values: vec![Vec::new(); count],
        }
    }

    fn parse(&mut self) -> Result<usize> {
        let Self { keys, slots, block, values, skip, .. } = self;
        values.iter_mut().for_each(Vec::clear);
        let base = block.text.as_ptr().addr();
        let mut row = 0_u32;
        for_each_object(block, *skip, &mut Skipped::default(), |_, members| {
            let mut guess = 0;
            for (key, raw) in members {
                let Some(at) = keys.position(key, guess) else {
                    let why = format!("has the unknown key `{}`", clipped(key));
                    return Err(Error::malformed("object", why));
                };
                guess = at + 1;
                let slot = slots.get(at).copied().flatten();
                let Some(values) = slot.and_then(|slot| values.get_mut(slot)) else { continue };
                let start = raw.get().as_ptr().addr().saturating_sub(base);
                let too_long = |_| Error::malformed("line", "is longer than 4 GiB");
                values.push(ValueSpan {
                    row,
                    start: u32::try_from(start).map_err(too_long)?,
                    len: u32::try_from(raw.get().len()).map_err(too_long)?,
                });
            }
            row = row.saturating_add(1);
            Ok(())
        })
    }

    /// Returns a value; `None` for the string that means null.
    fn text(&self, span: &ValueSpan, null_string: Option<&str>) -> Option<&str> {
        let (start, len) = (span.start as usize, span.len as usize);
        let bytes = self.block.text.get(start..start.checked_add(len)?)?;
        std::str::from_utf8(bytes).ok().filter(|text| Some(*text) != null_string)
    }

    /// Returns the values of the picked rows, each with its position among them.
    fn picked(&self, values: &[ValueSpan], rows: &PickedRows<'_>) -> Vec<(usize, ValueSpan)> {
        match rows {
            PickedRows::Range(range) => {
                let from = values.partition_point(|value| (value.row as usize) < range.start);
                let inside = values.get(from..).unwrap_or_default().iter();
                let inside = inside.take_while(|value| (value.row as usize) < range.end);
                inside.map(|value| (value.row as usize - range.start, *value)).collect()
            }
            PickedRows::Single(rows) => {
                let mut values = values.iter().peekable();
                let mut found = Vec::new();
                for (position, &row) in rows.iter().enumerate() {
                    while values.next_if(|value| (value.row as usize) < row).is_some() {}
                    if let Some(value) = values.next_if(|value| value.row as usize == row) {
                        found.push((position, *value));
                    }
                }
                found
            }
        }
    }
}

impl<R: Read + Send> RowBlocks for ValueBlocks<R> {
    fn next_block(&mut self) -> Result<usize> {
        loop {
            let memory = std::mem::take(&mut self.block);
            self.first_row = self.first_row.saturating_add(self.rows as u64);
            self.rows = 0;
            match self.lines.next(memory)? {
                None => return Ok(0),
                Some(block) => self.block = block,
            }
            self.rows = self.parse()?;
            if self.rows > 0 {
                return Ok(self.rows);
            }
        }
    }

    fn column(&self, column: &TextColumn, rows: &PickedRows<'_>) -> Result<ArrayRef> {
        let slot = self.slots.get(column.index).copied().flatten();
        let Some(values) = slot.and_then(|slot| self.values.get(slot)) else {
            return Err(Error::invalid_argument("the column was not asked for"));
        };
        let token = null_string(column);
        let found = self.picked(values, rows);
        let count = rows.len();
        let is_sparse = self.keys.names.len() >= MIN_SPARSE_COLUMNS
            && found.len() < count / SPARSE_ROWS_PER_VALUE
            && i32::try_from(count).is_ok();
        let array = if is_sparse {
            self.runs(column, &found, count)
        } else {
            let mut slots = vec![None; count];
            for (position, value) in &found {
                if let Some(slot) = slots.get_mut(*position) {
                    *slot = self.text(value, token.as_deref());
                }
            }
            array_of_values(&column.data_type, slots.into_iter())
        };
        array.map_err(|err| rows.place(err, self.first_row, column))
    }
}

impl<R: Read> ValueBlocks<R> {
    /// Returns a run for every row with a value and for every gap.
    fn runs(
        &self,
        column: &TextColumn,
        found: &[(usize, ValueSpan)],
        count: usize,
    ) -> Result<ArrayRef> {
        let token = null_string(column);
        let (mut slots, mut ends, mut places) = (Vec::new(), Vec::new(), Vec::new());
        let mut done = 0;
        for (position, value) in found {
            if *position > done {
                slots.push(None);
                ends.push(*position);
                places.push(done);
            }
            done = position + 1;
            slots.push(self.text(value, token.as_deref()));
            ends.push(done);
            places.push(*position);
        }
        if count > done {
            slots.push(None);
            ends.push(count);
            places.push(done);
        }
        let values = array_of_values(&column.data_type, slots.into_iter());
        let values = values.map_err(|err| {
            match err.row().and_then(|at| places.get(usize::try_from(at).ok()?)) {
                Some(&position) => err.at_row(position as u64),
                None => err,
            }
        })?;
        let ends = ends.into_iter().map(|end| i32::try_from(end).unwrap_or(i32::MAX));
        Ok(Arc::new(RunArray::<Int32Type>::try_new(&ends.collect::<Int32Array>(), &values)?))
    }
}
