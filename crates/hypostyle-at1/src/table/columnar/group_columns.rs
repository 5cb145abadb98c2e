//! The columns of the table in one row group.

use std::collections::BTreeMap;
use std::ops::Range;
use std::slice;

use arrow_array::{ArrayRef, new_null_array};
use arrow_schema::{DataType, Field};

use super::field_cells::{Encoding, typed, typed_json, unfit_cell};
use super::group_cells::GroupCells;
use super::group_lines::GroupLines;
use super::group_reader::WantedRows;
use super::object_columns::{FieldPlace, TableColumn};
use super::{ColumnarReader, TableFrame, TableGroup};
use crate::table::cell_list::CellList;
use crate::table::cell_value::CellSyntax;
use crate::table::merge::merge;
use crate::table::verbatim_cells::VerbatimLines;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::projection::column_out_of_range;

/// The source of a row that is a verbatim line.
const VERBATIM: u8 = 0;
/// The source of any other row.
const CELL: u8 = 1;

/// The decoded columns of a row group.
pub(super) struct GroupColumns<'r> {
    pub(super) reader: &'r ColumnarReader,
    pub(super) frame: &'r TableFrame,
    pub(super) group: &'r TableGroup,
    /// The columns of the archive that were decoded.
    pub(super) cells: BTreeMap<usize, GroupCells>,
    /// The rows that are wanted; all if the row group has verbatim lines.
    pub(super) rows: WantedRows<'r>,
}

impl GroupColumns<'_> {
    /// Returns a column of the table, in the wanted rows.
    pub(super) fn array(
        &self,
        column: usize,
        field: &Field,
        encoding: Encoding,
    ) -> Result<ArrayRef> {
        let data_type = field.data_type();
        let lines = &self.group.lines;
        if lines.verbatim.is_empty() {
            return self.structured(column, data_type, encoding);
        }
        let modes = self.frame.frame.layout.modes.get(lines.lines.clone()).unwrap_or_default();
        let source = |&mode: &u8| if mode == 0 { VERBATIM } else { CELL };
        let order: Vec<u8> = modes.iter().map(source).collect();
        let cells = self.structured(column, data_type, Encoding::Plain)?;
        let verbatim = self.verbatim(column, field)?;
        merge(&[(CELL, cells), (VERBATIM, verbatim)], &order)
    }

    /// Returns a column in the structured lines.
    fn structured(
        &self,
        column: usize,
        data_type: &DataType,
        encoding: Encoding,
    ) -> Result<ArrayRef> {
        match self.frame.columns.get(column) {
            Some(TableColumn::Field(place)) => {
                let cells = self.cells_of(place.stored)?;
                let cells = self.reader.field_cells(self.frame, column, *place, &cells);
                cells.array(data_type, encoding, &self.rows)
            }
            Some(TableColumn::Nested { around, fields, stored }) => {
                let list = self.nested(around, fields, stored.clone())?;
                self.rows.of_array(typed_json(data_type, &list, self.rows(), &[])?)
            }
            Some(TableColumn::Absent) => self.rows.of_array(new_null_array(data_type, self.rows())),
            None => Err(column_out_of_range(column, self.frame.columns.len())),
        }
    }

    /// Returns the number of structured lines from the first to the last wanted one.
    fn rows(&self) -> usize {
        let GroupLines { lines, verbatim } = &self.group.lines;
        self.rows.within(&(0..lines.len().saturating_sub(verbatim.len()))).len()
    }

    /// Returns the cells of a column from the first to the last wanted row.
    fn cells_of(&self, stored: usize) -> Result<GroupCells> {
        let Some(GroupCells { column, cells }) = self.cells.get(&stored) else {
            return Err(Error::internal("a column that was not decoded"));
        };
        Ok(GroupCells { column: column.clone(), cells: self.rows.within(cells) })
    }

    /// Returns objects or arrays, put together from their values.
    fn nested(
        &self,
        around: &[Vec<u8>],
        fields: &[FieldPlace],
        stored: Range<usize>,
    ) -> Result<CellList> {
        let rows = self.rows();
        let mut columns: Vec<(usize, Vec<u8>)> = Vec::new();
        for stored in stored {
            let GroupCells { column, cells } = self.cells_of(stored)?;
            if column.cells() < cells.end {
                let why = format!("has {} cells for {} rows", column.cells(), cells.end);
                return Err(Error::malformed("column", why).in_stream("values"));
            }
            columns.push((stored, column.text(cells.clone())));
        }
        let mut values: Vec<Vec<&[u8]>> = vec![Vec::with_capacity(rows); fields.len()];
        for (stored, text) in &columns {
            // The fields are in the order of the columns.
            let first = fields.partition_point(|field| field.stored < *stored);
            let end = fields.partition_point(|field| field.stored <= *stored);
            let here = fields.get(first..end).unwrap_or_default();
            let parts_of = self.frame.fields(*stored);
            for cell in text.split(|&byte| byte == b'\n').take(rows) {
                let parts = parts_of.parts(cell).ok_or_else(|| unfit_cell(parts_of, cell))?;
                for (field, values) in here.iter().zip(values.iter_mut().skip(first)) {
                    values.push(parts.get(field.nth).copied().unwrap_or_default());
                }
            }
        }
        // The file has the text around values once, but a row has it each time.
        let per_row: usize = around.iter().map(Vec::len).sum::<usize>().saturating_add(1);
        let cells = values.iter().flatten().map(|value| value.len()).sum::<usize>();
        let asked = per_row.saturating_mul(rows).saturating_add(cells) as u64;
        let (what, limit) = ("size of the values", self.reader.archive.limits().read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        let mut text = Vec::new();
        for row in 0..rows {
            if row > 0 {
                text.push(b'\n');
            }
            let mut values = values.iter().map(|values| values.get(row).copied());
            for before in around {
                text.extend_from_slice(before);
                text.extend_from_slice(values.next().flatten().unwrap_or_default());
            }
        }
        let list = CellList::try_new(text, rows);
        list.map_err(|_| Error::malformed("column", "has too few cells"))
    }

    /// Returns a column in the verbatim lines.
    fn verbatim(&self, column: usize, field: &Field) -> Result<ArrayRef> {
        let layout = &self.frame.frame.layout;
        let lines = VerbatimLines {
            text: &self.frame.frame.verbatim,
            lines: &self.group.lines.verbatim,
            delimiter: self.reader.delimiter,
            starts_text: self.group.frame == 0
                && !layout.has_header
                && layout.modes.first() == Some(&0),
        };
        let all = 0..lines.lines.len();
        let lists = lines.columns(slice::from_ref(&all), &[column], &[field.name()])?;
        let Some(list) = lists.first() else { return Ok(new_null_array(field.data_type(), 0)) };
        let null_words = self.reader.shape.null_words(column);
        match self.reader.delimiter {
            Some(_) => {
                let syntax = CellSyntax::Csv { is_last: false, null_words };
                typed(field.data_type(), list, all.len(), syntax)
            }
            None => typed_json(field.data_type(), list, all.len(), null_words),
        }
    }
}
