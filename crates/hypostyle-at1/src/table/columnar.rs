//! Archives of codec columnar, whose columns are those of the table.

use std::ops::Range;
use std::slice;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, Int64Array, UInt32Array,
    new_null_array,
};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, SchemaRef};
use arrow_select::take::take;

use super::cell_list::{CellList, CellRuns};
use super::cell_value::CellSyntax;
use super::columnar_frame::{ColumnarFrame, DecompressedValues};
use super::merge::merge;
use super::shape::TableShape;
use super::typed_cells::{self, CellError, not_of_type};
use super::verbatim_cells::{VerbatimLines, split};
use crate::codecs::columnar::column::DecodedColumn;
use crate::codecs::columnar::values::CellNumbers;
use crate::container::Method;
use crate::frames::FrameReader;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, WholeRowGroup,
    row_group_out_of_range,
};
use hypostyle_core::text::TextKind;

/// A dictionary has at most one entry for so many rows; otherwise its entries are copied.
const ROWS_PER_ENTRY: usize = 2;

/// The table of an archive of codec columnar; each frame is a row group.
#[derive(Debug)]
pub(crate) struct ColumnarReader {
    archive: Arc<FrameReader>,
    frames: Vec<FrameRows>,
    shape: TableShape,
    null_words: Vec<Vec<u8>>,
    delimiter: u8,
    /// For each column of the table the column of the archive, and its place in the cells.
    fields: Vec<(usize, usize)>,
}

/// A frame, and which of its lines are rows.
#[derive(Debug)]
struct FrameRows {
    frame: ColumnarFrame,
    rows: usize,
    first_row: u64,
    /// The verbatim lines; all of them are rows.
    verbatim: Vec<Range<usize>>,
}

/// The source of a row that is a verbatim line.
const VERBATIM: u8 = 0;
/// The source of any other row.
const CELL: u8 = 1;

impl ColumnarReader {
    /// Reads everything but `values`.
    ///
    /// Returns `None` if the columns of the archive are not those of the table.
    pub(crate) fn try_new(archive: &Arc<FrameReader>, shape: &TableShape) -> Result<Option<Self>> {
        let TextKind::Delimited { delimiter } = shape.format.kind else { return Ok(None) };
        let mut frames: Vec<FrameRows> = Vec::new();
        let (mut first_row, mut fields) = (0_u64, None);
        for extent in archive.extents()? {
            if extent.method == Method::Raw || frames.last().is_some_and(is_open) {
                return Ok(None);
            }
            let Some(frame) = ColumnarFrame::read(archive, extent)? else { return Ok(None) };
            let layout = &frame.layout;
            // A header of a later frame would be a row.
            let has_header = shape.format.header && frames.is_empty();
            let widths = layout.columns.iter().map(|column| column.width);
            let of_frame: Vec<(usize, usize)> = widths
                .enumerate()
                .flat_map(|(column, width)| (0..width).map(move |nth| (column, nth)))
                .collect();
            let is_alike = fields.get_or_insert_with(|| of_frame.clone()) == &of_frame;
            if layout.delimiter != [delimiter]
                || layout.has_header != has_header
                || !is_alike
                // Cells of such rows have several fields, or the text is no table.
                || layout.is_ragged
                || of_frame.len() != shape.schema.fields().len()
            {
                return Ok(None);
            }
            let Some(verbatim) = verbatim_lines(&frame) else { return Ok(None) };
            let rows = layout.rows;
            frames.push(FrameRows { frame, rows, first_row, verbatim });
            first_row = first_row.saturating_add(rows as u64);
        }
        // The text has rows of several lines, or lines that are not rows.
        let (Some(fields), true) = (fields, first_row == shape.rows) else { return Ok(None) };
        Ok(Some(Self {
            archive: archive.clone(),
            frames,
            null_words: shape.null_words.iter().map(|word| word.clone().into_bytes()).collect(),
            shape: shape.clone(),
            delimiter,
            fields,
        }))
    }

    /// Returns the columns of the archive that columns of the table are in.
    fn stored_columns(&self, columns: &[usize]) -> Vec<usize> {
        let stored = columns.iter().filter_map(|&column| self.fields.get(column));
        let mut stored: Vec<usize> = stored.map(|&(column, _)| column).collect();
        stored.sort_unstable();
        stored.dedup();
        stored
    }

    /// Decodes columns of all rows of a frame.
    fn decode(
        &self,
        group: usize,
        columns: &[usize],
        decompressed: &mut DecompressedValues,
    ) -> Result<Vec<ArrayRef>> {
        let Some(rows) = self.frames.get(group) else {
            return Err(row_group_out_of_range(group, self.frames.len()));
        };
        let stored = self.stored_columns(columns);
        let decoded = rows.frame.decode(&stored, &self.archive, decompressed)?;
        let array = |&column: &usize| {
            let field = self.shape.schema.fields().get(column);
            let place = self.fields.get(column);
            let (Some(field), Some(&(stored, nth))) = (field, place) else {
                return Err(column_out_of_range(column, self.fields.len()));
            };
            let Some(cells) = decoded.get(&stored) else {
                return Err(Error::internal("a column that was not decoded"));
            };
            let field_of = FieldCells { reader: self, rows, cells, stored, nth, column };
            field_of.array(field.data_type()).map_err(|err| {
                let err = match err.row() {
                    Some(row) => err.at_row(row.saturating_add(rows.first_row)),
                    None => err,
                };
                err.in_column(column, field.name())
            })
        };
        columns.iter().map(array).collect()
    }
}

/// Returns whether the last line of a frame continues in the next frame.
fn is_open(rows: &FrameRows) -> bool {
    !rows.frame.layout.trailing
}

/// Returns the verbatim lines of a frame; `None` if some are missing.
fn verbatim_lines(frame: &ColumnarFrame) -> Option<Vec<Range<usize>>> {
    let count = frame.layout.modes.iter().filter(|&&mode| mode == 0).count();
    let mut lines = Vec::with_capacity(count);
    let mut start = 0;
    for _ in 0..count {
        let rest = frame.verbatim.get(start..)?;
        let end = start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        lines.push(start..end);
        start = end + 1;
    }
    Some(lines)
}

/// One field of the cells of a column.
struct FieldCells<'a> {
    reader: &'a ColumnarReader,
    rows: &'a FrameRows,
    cells: &'a DecodedColumn,
    /// The column of the archive.
    stored: usize,
    /// The place of the field in the cells of the column.
    nth: usize,
    /// The column of the table.
    column: usize,
}

impl FieldCells<'_> {
    /// Returns the field of all rows of the frame.
    fn array(&self, data_type: &DataType) -> Result<ArrayRef> {
        let layout = &self.rows.frame.layout;
        let count = self.cell_count();
        if self.cells.cells() < count {
            let why = format!("has {} cells for {count} rows", self.cells.cells());
            return Err(Error::malformed("column", why).in_stream("values"));
        }
        if self.rows.verbatim.is_empty() {
            return self.cells_array(data_type, count, true);
        }
        let source = |&mode: &u8| if mode == 0 { VERBATIM } else { CELL };
        let order: Vec<u8> = layout.modes.iter().map(source).collect();
        let cells = self.cells_array(data_type, count, false)?;
        merge(&[(CELL, cells), (VERBATIM, self.verbatim_array(data_type)?)], &order)
    }

    /// Returns the number of cells of each column.
    fn cell_count(&self) -> usize {
        self.rows.rows - self.rows.verbatim.len()
    }

    fn verbatim_array(&self, data_type: &DataType) -> Result<ArrayRef> {
        let lines = VerbatimLines {
            text: &self.rows.frame.verbatim,
            lines: &self.rows.verbatim,
            delimiter: Some(self.reader.delimiter),
            starts_text: false,
        };
        let all = 0..self.rows.verbatim.len();
        let lists = lines.columns(slice::from_ref(&all), &[self.column], &[])?;
        let null_words = &self.reader.null_words;
        let syntax = CellSyntax::Csv { is_last: false, null_words };
        match lists.first() {
            Some(list) => typed(data_type, list, all.len(), syntax),
            None => Ok(new_null_array(data_type, 0)),
        }
    }

    /// Returns the field of the first `count` cells.
    fn cells_array(
        &self,
        data_type: &DataType,
        count: usize,
        may_encode: bool,
    ) -> Result<ArrayRef> {
        let stored = self.rows.frame.layout.columns.get(self.stored);
        let (width, quotes) = stored.map_or((1, 0), |stored| (stored.width, stored.quotes));
        let is_last = self.column + 1 == self.reader.fields.len();
        let null_words = &self.reader.null_words;
        let mut syntax = CellSyntax::Csv { is_last, null_words };
        if quotes == 1 {
            syntax = CellSyntax::Quoted;
        }
        if width == 1
            && let Some(array) = self.numbers(data_type, count, syntax)
        {
            return Ok(array);
        }
        if quotes <= 1
            && let Some((ids, entries)) = self.cells.dictionary()
        {
            let entries = self.part_of_each(entries.iter().map(Vec::as_slice), width)?;
            let len = entries.len();
            let entries = typed(data_type, &list_of(entries)?, len, syntax)?;
            let limit = self.reader.archive.limits().read_bytes;
            return taken(ids.get(..count).unwrap_or_default(), &entries, may_encode, limit);
        }
        let text = self.cells.text();
        let cells = text.split(|&byte| byte == b'\n').take(count);
        if quotes > 1 {
            let bits = self.rows.frame.quote_bits(self.stored, self.cell_count());
            let bits = bits.ok_or_else(|| Error::malformed("quote bits", "are too few"))?;
            let quoted = cells.enumerate().map(|(at, cell)| {
                let is_quoted = bits.get(at / 8).is_some_and(|byte| byte >> (at % 8) & 1 == 1);
                let mut out = Vec::new();
                if is_quoted {
                    hypostyle_core::text::csv::quote_into(cell, &mut out);
                } else {
                    out.extend_from_slice(cell);
                }
                out
            });
            let quoted: Vec<Vec<u8>> = quoted.collect();
            let parts = self.part_of_each(quoted.iter().map(Vec::as_slice), width)?;
            return typed(data_type, &list_of(parts)?, count, syntax);
        }
        if width > 1 {
            let parts = self.part_of_each(cells, width)?;
            return typed(data_type, &list_of(parts)?, count, syntax);
        }
        let list = CellList::try_new(text, count);
        let list = list.map_err(|_| Error::malformed("column", "has too few cells"))?;
        typed(data_type, &list, count, syntax)
    }

    /// Returns this field of each cell.
    fn part_of_each<'c>(
        &self,
        cells: impl Iterator<Item = &'c [u8]>,
        width: usize,
    ) -> Result<Vec<&'c [u8]>> {
        let part = |cell: &'c [u8]| {
            if width == 1 {
                return Ok(cell);
            }
            let parts = split(cell, self.reader.delimiter)
                .ok_or_else(|| Error::malformed("cell", "has a quote that is never closed"))?;
            Ok(parts.get(self.nth).copied().unwrap_or_default())
        };
        cells.map(part).collect()
    }

    /// Returns the cells as numbers, if they are stored as numbers of the type.
    fn numbers(
        &self,
        data_type: &DataType,
        count: usize,
        syntax: CellSyntax<'_>,
    ) -> Option<ArrayRef> {
        Some(match data_type {
            DataType::Int32 => {
                let numbers = self.cells.integers::<i32>()?;
                let (values, nulls) = without_others(numbers, count, syntax)?;
                Arc::new(Int32Array::new(values.into(), nulls))
            }
            DataType::Int64 => {
                let numbers = self.cells.integers::<i64>()?;
                let (values, nulls) = without_others(numbers, count, syntax)?;
                Arc::new(Int64Array::new(values.into(), nulls))
            }
            DataType::Float64 => {
                let (values, nulls) = without_others(self.cells.floats()?, count, syntax)?;
                Arc::new(Float64Array::new(values.into(), nulls))
            }
            _ => return None,
        })
    }
}

/// Returns the first numbers, with nulls for the other cells; `None` if one of these is not
/// null.
fn without_others<T>(
    numbers: CellNumbers<T>,
    count: usize,
    syntax: CellSyntax<'_>,
) -> Option<(Vec<T>, Option<NullBuffer>)> {
    let CellNumbers { mut values, others } = numbers;
    values.truncate(count);
    if others.is_empty() {
        return Some((values, None));
    }
    let mut valid = vec![true; count];
    for (cell, text) in others {
        if let Some(valid) = valid.get_mut(cell) {
            if !matches!(syntax.token(&text), Ok(None)) {
                return None;
            }
            *valid = false;
        }
    }
    Some((values, Some(NullBuffer::from(valid)).filter(|nulls| nulls.null_count() > 0)))
}

/// Returns the entries that indexes name, as a dictionary if that is smaller.
fn taken(ids: &[u32], entries: &ArrayRef, may_encode: bool, limit: u64) -> Result<ArrayRef> {
    let is_text = *entries.data_type() == DataType::Utf8;
    if may_encode && is_text && entries.len().saturating_mul(ROWS_PER_ENTRY) <= ids.len() {
        // A null is a null index: not every kernel looks for nulls among the entries.
        let key = |&id: &u32| {
            let is_null = entries.is_null((id as usize).min(entries.len().saturating_sub(1)));
            i32::try_from(id).ok().filter(|_| !is_null)
        };
        let keys: Int32Array = ids.iter().map(key).collect();
        return Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys, entries.clone())?));
    }
    if let Some(texts) = entries.as_string_opt::<i32>() {
        // A few bytes of the file name a long entry again.
        let len = |&id: &u32| {
            let ends = texts.offsets().get(id as usize..).and_then(|ends| ends.first_chunk::<2>());
            ends.map_or(0, |[start, end]| u64::from(end.abs_diff(*start)))
        };
        let (what, asked) = ("size of the texts", ids.iter().map(len).sum::<u64>());
        let limit = limit.min(i32::MAX as u64);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
    }
    Ok(take(entries, &UInt32Array::from(ids.to_vec()), None)?)
}

/// Returns cells as a list; fails for a cell with a newline, which no line has.
fn list_of(cells: Vec<&[u8]>) -> Result<CellList> {
    let count = cells.len();
    if cells.iter().any(|cell| memchr::memchr(b'\n', cell).is_some()) {
        return Err(Error::malformed("cell", "has a newline").in_stream("values"));
    }
    let list = CellList::try_new(cells.join(&b'\n'), count.min(1));
    list.map_err(|_| Error::malformed("column", "has too few cells"))
}

fn typed(
    data_type: &DataType,
    list: &CellList,
    count: usize,
    syntax: CellSyntax<'_>,
) -> Result<ArrayRef> {
    let all = 0..count;
    let runs = slice::from_ref(&all);
    let cells = CellRuns::new(list, runs);
    match typed_cells::array(data_type, &cells, syntax) {
        Ok((array, _)) => Ok(array),
        Err(CellError::Other(err)) => Err(err),
        Err(CellError::Odd(index)) => {
            Err(not_of_type(cells.nth(index), data_type).in_row(index as u64))
        }
    }
}

impl Reader for ColumnarReader {
    fn format(&self) -> FormatId {
        FormatId::At1
    }

    fn schema(&self) -> SchemaRef {
        self.shape.schema.clone()
    }

    fn rows(&self) -> u64 {
        self.shape.rows
    }

    fn row_groups(&self) -> usize {
        self.frames.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.frames.get(group).map_or(0, |frame| frame.rows as u64)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.shape.statistics.get(column).cloned().unwrap_or_default()
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let Some(rows) = self.frames.get(group) else { return Vec::new() };
        rows.frame.ranges(&self.stored_columns(columns))
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let Some(rows) = self.frames.get(group).map(|frame| frame.rows) else {
            return Err(row_group_out_of_range(group, self.frames.len()));
        };
        let known = self.fields.len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(column_out_of_range(column, known));
        }
        let mut decompressed = DecompressedValues::new();
        let decode = move |columns: &[usize]| self.decode(group, columns, &mut decompressed);
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.archive.deviations().list()
    }
}
