//! Reads the rows of one row group in windows.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;

use super::ColumnarReader;
use super::group_cells::DecodedGroup;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::reader::{Dictionaries, RowGroupReader, WindowCursor};
use hypostyle_core::row_selection::RowSelection;

/// A selection of fewer than one row in so many is read run by run; otherwise the window becomes
/// arrays, of which the selected rows are kept.
const ROWS_PER_SELECTED: usize = 8;

/// The rows of a row group that become arrays.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedRows<'a> {
    /// Where the rows start and end in the row group.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The rows among these, counted from the first; all for `None`.
    pub(super) selection: Option<&'a RowSelection>,
}

impl WantedRows<'_> {
    /// Returns the range of the rows, within that of all rows.
    pub(super) fn within(&self, all: &Range<usize>) -> Range<usize> {
        let at = |row: usize| all.start.saturating_add(row).min(all.end);
        at(self.start)..at(self.end)
    }

    /// Returns the wanted rows of an array of all rows between the first and the last.
    pub(super) fn of_array(&self, array: ArrayRef) -> Result<ArrayRef> {
        match self.selection {
            Some(selection) => selection.of_array(&array),
            None => Ok(array),
        }
    }
}

/// How a row group is decoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupOptions {
    pub(super) group: usize,
    pub(super) threads: usize,
    pub(super) dictionaries: Dictionaries,
}

/// Decodes the cells of a column once, and makes arrays of the rows that are asked for. The row
/// group has no verbatim lines.
pub(super) struct GroupReader {
    reader: Arc<ColumnarReader>,
    options: GroupOptions,
    cursor: WindowCursor,
    decoded: DecodedGroup,
}

impl GroupReader {
    pub(super) fn new(reader: Arc<ColumnarReader>, options: GroupOptions, rows: usize) -> Self {
        let cursor = WindowCursor::new(rows);
        Self { reader, options, cursor, decoded: DecodedGroup::default() }
    }

    fn arrays(&mut self, columns: &[usize], rows: WantedRows<'_>) -> Result<Vec<ArrayRef>> {
        self.reader.decode(self.options, columns, rows, &mut self.decoded)
    }
}

impl RowGroupReader for GroupReader {
    fn read_tested(&mut self, column: usize) -> Result<ArrayRef> {
        let wanted = self.options.dictionaries;
        // With views, each row would be tested.
        if let Dictionaries::UpTo(_) = wanted {
            self.options.dictionaries = Dictionaries::None;
        }
        let arrays = self.read(&[column], None);
        self.options.dictionaries = wanted;
        arrays?.pop().ok_or_else(|| Error::internal("a row group without the column asked for"))
    }

    fn skip(&mut self, rows: u64) -> Result<u64> {
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let Range { start, end } = self.cursor.window();
        match rows {
            Some(rows) if rows.len() < (end - start) / ROWS_PER_SELECTED => {
                rows.check(end - start)?;
                let first = rows.runs().first().map_or(0, |run| run.start);
                let selection = rows.slice(first..rows.end());
                let (start, end) = (start + first, start + rows.end().max(first));
                self.arrays(columns, WantedRows { start, end, selection: Some(&selection) })
            }
            selection => self.arrays(columns, WantedRows { start, end, selection }),
        }
    }
}
