//! Builds arrays from the cells of delimited text.

use std::io::Read;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::DataType;

use super::blocks::{BlockReader, BlockSizes};
use super::split::{CellSpan, RowBlock};
use super::syntax::Syntax;
use crate::error::Result;
use crate::number;
use crate::text::options::TextOptions;
use crate::text::position::RowPosition;
use crate::text::row_blocks::{PickedRows, RowBlocks, TextColumn};
use crate::text::sizes::TextSizes;
use crate::text::typed::array_of_cells;

/// The blocks of a part of a delimited text.
pub(crate) struct CellBlocks<R> {
    blocks: BlockReader<R>,
    rows: RowBlock,
    null_words: Vec<String>,
}

impl<R: Read> CellBlocks<R> {
    /// Returns the rows from a position on, which all have `width` cells.
    pub(crate) fn new(
        input: R,
        syntax: Syntax,
        options: &TextOptions,
        sizes: TextSizes,
        width: usize,
        position: RowPosition,
    ) -> Self {
        let sizes = BlockSizes::new(&options.limits, sizes);
        let mut blocks = BlockReader::resume(input, syntax, sizes, width, position);
        blocks.skip = options.skip;
        Self { blocks, rows: RowBlock::default(), null_words: options.effective_null_words() }
    }

    fn typed<'a>(
        &'a self,
        column: &TextColumn,
        cells: impl ExactSizeIterator<Item = &'a CellSpan> + Clone,
    ) -> Result<ArrayRef> {
        let rows = &self.rows;
        // An empty text becomes null in a numeric column, and a gap empty text if needed.
        if column.gaps_are_empty && column.data_type == DataType::Utf8 {
            return array_of_cells(&column.data_type, cells.map(|cell| Some(cell.bytes(rows))));
        }
        let token = column.null_token.as_deref().map(str::as_bytes);
        if self.null_words.is_empty() {
            if let Some(array) = short_ints(rows, &column.data_type, token, cells.clone()) {
                return Ok(array);
            }
            let cells = cells.map(|cell| {
                let bytes = cell.bytes(rows);
                let is_gap = !cell.quoted() && (bytes.is_empty() || token == Some(bytes));
                (!is_gap).then_some(bytes)
            });
            return array_of_cells(&column.data_type, cells);
        }
        let cells = cells.map(|cell| {
            let bytes = cell.bytes(rows);
            let is_word = || self.null_words.iter().any(|word| word.as_bytes() == bytes);
            let is_gap = !cell.quoted() && (bytes.is_empty() || is_word());
            (!is_gap).then_some(bytes)
        });
        array_of_cells(&column.data_type, cells)
    }
}

/// Returns cells as an array of 32-bit integers, if each is the printed form of one, empty, or
/// the text that means null.
///
/// This does what [`array_of_cells`] does, with short cells loaded at once.
fn short_ints<'a>(
    rows: &RowBlock,
    data_type: &DataType,
    null_token: Option<&[u8]>,
    cells: impl ExactSizeIterator<Item = &'a CellSpan>,
) -> Option<ArrayRef> {
    if data_type != &DataType::Int32 {
        return None;
    }
    let mut values = Vec::with_capacity(cells.len());
    let mut nulls = NullBufferBuilder::new(cells.len());
    for cell in cells {
        match rows.short_int(*cell) {
            Some(value) => {
                values.push(i32::try_from(value).ok()?);
                nulls.append_non_null();
            }
            None if cell.bytes(rows).is_empty()
                || (null_token == Some(cell.bytes(rows)) && !cell.quoted()) =>
            {
                values.push(0);
                nulls.append_null();
            }
            None => match number::exact_int(cell.bytes(rows)).map(i32::try_from) {
                Some(Ok(value)) => {
                    values.push(value);
                    nulls.append_non_null();
                }
                _ => return None,
            },
        }
    }
    Some(Arc::new(Int32Array::new(values.into(), nulls.finish())))
}

impl<R: Read + Send> RowBlocks for CellBlocks<R> {
    fn next_block(&mut self) -> Result<usize> {
        let memory = std::mem::take(&mut self.rows);
        match self.blocks.next(memory)? {
            Some(rows) => {
                self.rows = rows;
                Ok(self.rows.count())
            }
            None => Ok(0),
        }
    }

    fn column(&self, column: &TextColumn, rows: &PickedRows<'_>) -> Result<ArrayRef> {
        let (all, width) = (&self.rows.cells, self.rows.width.max(1));
        let array = match rows {
            PickedRows::Range(range) => {
                let start = range.start.saturating_mul(width).saturating_add(column.index);
                let cells = all.get(start..).unwrap_or_default().iter();
                self.typed(column, cells.step_by(width).take(range.len()))
            }
            PickedRows::Single(rows) => {
                let cell = |row: &usize| {
                    all.get(row.saturating_mul(width).saturating_add(column.index))
                        .unwrap_or(&CellSpan::MISSING)
                };
                self.typed(column, rows.iter().map(cell))
            }
        };
        array.map_err(|err| rows.place(err, self.rows.start.row, column))
    }
}
