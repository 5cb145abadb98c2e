//! Archives of codec columnar, whose columns are those of the table.
//!
//! 1. `frame` finds the streams, the row groups and the xz blocks of a frame; `group_lines`
//!    divides its lines.
//! 2. `group_cells` decodes the columns of a row group; `piece_cache` keeps what the next row
//!    groups need too.
//! 3. `field_cells` turns the cells of a column into arrays of its fields; `typed_entries` keeps
//!    the arrays of dictionaries. `object_columns` finds the columns of JSON Lines in cells, and
//!    `group_columns` puts the rows of a row group together, and `group_reader` asks it for those
//!    of a window.
//! 4. `pruning` is what is known of the cells of a row group.
//! 5. `check` and `cell_check` compare what a frame states about its row groups with its
//!    columns; `salvage` prints the lines of those that are not damaged.

mod cell_check;
mod check;
mod claims;
mod field_cells;
mod frame;
mod group_cells;
mod group_columns;
mod group_lines;
mod group_reader;
mod object_columns;
mod piece_cache;
mod pruning;
mod salvage;
#[cfg(test)]
mod tests;
mod typed_entries;

pub(crate) use check::check_groups;
pub(crate) use salvage::salvage_frame;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::ArrayRef;
use arrow_schema::{DataType, Field, SchemaRef};
use hashbrown::HashMap;

use field_cells::{Encoding, FieldCells};
use frame::ColumnarFrame;
use group_cells::{DecodedGroup, GroupCells, GroupDecoder, SharedPieces};
use group_columns::GroupColumns;
use group_lines::GroupLines;
use group_reader::{GroupOptions, GroupReader, WantedRows};
use object_columns::{FieldPlace, ObjectColumns, TableColumn};
use pruning::{ColumnarPruning, table_bounds};
use typed_entries::TypedEntries;

use super::field_values::CellFields;
use super::shape::TableShape;
use crate::codecs::columnar::group_directory::GROUPS;
use crate::codecs::columnar::sections::unfit;
use crate::container::Method;
use crate::frame_checksums::ArchiveChecksums;
use crate::frames::FrameReader;
use hypostyle_core::deviation::Deviation;
use hypostyle_core::error::{ErrorKind, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::predicate::{NumberBounds, PruningStatistics};
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, TextForm, WholeRowGroup,
    row_group_out_of_range,
};
use hypostyle_core::text::TextKind;

/// The table of an archive of codec columnar.
#[derive(Debug)]
pub(crate) struct ColumnarReader {
    archive: Arc<FrameReader>,
    frames: Vec<TableFrame>,
    groups: Vec<TableGroup>,
    shape: TableShape,
    /// The bounds of each column in the whole table.
    table_bounds: Vec<NumberBounds>,
    /// The first column of each name, for the statistics of many row groups.
    columns_by_name: HashMap<String, usize>,
    /// The byte between cells; `None` for JSON Lines.
    delimiter: Option<u8>,
    shared: SharedPieces,
    typed_entries: TypedEntries,
    /// The distinct values of the columns that predicates test, by frame and column of the
    /// table.
    tested_values: Mutex<HashMap<(usize, usize), ArrayRef>>,
}

/// A frame of the table.
#[derive(Debug)]
struct TableFrame {
    frame: ColumnarFrame,
    /// Where each column of the table is.
    columns: Vec<TableColumn>,
    /// For JSON Lines the number of each value by its name.
    value_numbers: HashMap<String, usize>,
}

/// A row group of the table.
#[derive(Debug)]
struct TableGroup {
    frame: usize,
    /// The number of the row group in the frame.
    group: usize,
    first_row: u64,
    lines: GroupLines,
}

impl ColumnarReader {
    /// Reads everything but `values`.
    ///
    /// Returns `None` if the columns of the archive are not those of the table.
    pub(crate) fn try_new(
        archive: &Arc<FrameReader>,
        shape: &TableShape,
        checksums: Option<&ArchiveChecksums>,
    ) -> Result<Option<Self>> {
        let delimiter = match shape.format.kind {
            TextKind::Delimited { delimiter } => Some(delimiter),
            TextKind::JsonLines => None,
            _ => return Ok(None),
        };
        let (mut frames, mut groups): (Vec<TableFrame>, Vec<TableGroup>) = Default::default();
        let mut first_row = 0_u64;
        for extent in archive.extents()? {
            if extent.method == Method::Raw || frames.last().is_some_and(TableFrame::is_open) {
                return Ok(None);
            }
            let checks = checksums.map(|all| all.frame(frames.len(), extent)).transpose()?;
            let Some(frame) = ColumnarFrame::read(archive, extent, checks)? else {
                return Ok(None);
            };
            // A header of a later frame would be a row.
            let has_header = shape.format.header && frames.is_empty();
            let layout = &frame.layout;
            // Cells of ragged rows have several fields, or the text is not a table.
            if layout.is_ragged || layout.has_header != (has_header && delimiter.is_some()) {
                return Ok(None);
            }
            let found = match delimiter {
                Some(delimiter) => TableFrame::of_cells(frame, delimiter, shape),
                None => TableFrame::of_objects(frame, shape),
            };
            let Some(frame) = found else { return Ok(None) };
            let Some(lines) = frame.frame.group_lines()? else { return Ok(None) };
            for (group, lines) in lines.into_iter().enumerate() {
                let rows = lines.lines.len() as u64;
                groups.push(TableGroup { frame: frames.len(), group, first_row, lines });
                first_row = first_row.saturating_add(rows);
            }
            frames.push(frame);
        }
        if let Some(checksums) = checksums {
            checksums.expect_frames(frames.len())?;
        }
        // The text has rows of several lines, or lines that are not rows.
        if first_row != shape.rows || frames.is_empty() {
            return Ok(None);
        }
        check_absent(&frames, shape)?;
        let bounds = shape.schema.fields().iter().zip(&shape.statistics);
        let mut columns_by_name = HashMap::new();
        for (column, field) in shape.schema.fields().iter().enumerate() {
            columns_by_name.entry(field.name().clone()).or_insert(column);
        }
        Ok(Some(Self {
            columns_by_name,
            table_bounds: bounds.map(|(field, known)| table_bounds(field, known)).collect(),
            archive: archive.clone(),
            frames,
            groups,
            shape: shape.clone(),
            delimiter,
            shared: SharedPieces::new(),
            typed_entries: TypedEntries::new(),
            tested_values: Mutex::default(),
        }))
    }

    fn group(&self, group: usize) -> Result<(&TableGroup, &TableFrame)> {
        let found = self.groups.get(group);
        let found = found.and_then(|group| Some((group, self.frames.get(group.frame)?)));
        found.ok_or_else(|| row_group_out_of_range(group, self.groups.len()))
    }

    fn decoder<'r>(
        &'r self,
        group: &'r TableGroup,
        frame: &'r TableFrame,
        threads: usize,
    ) -> GroupDecoder<'r> {
        let place = (group.frame, group.group);
        let (archive, shared) = (self.archive.as_ref(), &self.shared);
        GroupDecoder { archive, shared, frame: &frame.frame, place, threads }
    }

    /// Returns the cells of a field.
    fn field_cells<'r>(
        &'r self,
        frame: &'r TableFrame,
        column: usize,
        place: FieldPlace,
        cells: &'r GroupCells,
    ) -> FieldCells<'r> {
        FieldCells {
            frame: &frame.frame,
            cells,
            stored: place.stored,
            fields: frame.fields(place.stored),
            nth: place.nth,
            column,
            is_last: column + 1 == frame.columns.len(),
            null_words: self.shape.null_words(column),
            max_bytes: self.archive.limits().read_bytes,
            typed_entries: &self.typed_entries,
        }
    }

    /// Decodes columns of some rows of a row group.
    fn decode(
        &self,
        options: GroupOptions,
        columns: &[usize],
        rows: WantedRows<'_>,
        decoded: &mut DecodedGroup,
    ) -> Result<Vec<ArrayRef>> {
        let (group, frame) = self.group(options.group)?;
        let stored = frame.stored_columns(columns);
        let cells = self.decoder(group, frame, options.threads).decode(&stored, decoded)?;
        let columns_of_group = GroupColumns { reader: self, frame, group, cells, rows };
        let array = |&column: &usize| {
            let Some(field) = self.shape.schema.fields().get(column) else {
                return Err(column_out_of_range(column, frame.columns.len()));
            };
            let values = self.dictionary_values(column);
            let encoding = match options.dictionaries.form(values, self.shape.rows) {
                TextForm::Views => Encoding::Views,
                TextForm::Dictionary => Encoding::Dictionary,
                TextForm::Plain => Encoding::Smaller,
            };
            columns_of_group.array(column, field, encoding).map_err(|err| {
                let first = group.first_row.saturating_add(rows.start as u64);
                let err = match err.row() {
                    Some(row) => err.at_row(row.saturating_add(first)),
                    None => err,
                };
                err.in_column(column, field.name())
            })
        };
        columns.iter().map(array).collect()
    }

    /// Returns whether the distinct values of a column of the table are known.
    fn has_values(&self, frame: usize, column: usize) -> bool {
        let known = self.tested_values.lock().unwrap_or_else(PoisonError::into_inner);
        known.contains_key(&(frame, column))
    }

    /// Reads the distinct values of a column of the table, if a dictionary has them.
    fn load_values(&self, frame: usize, column: usize) -> Result<()> {
        let Some(table_frame) = self.frames.get(frame) else { return Ok(()) };
        let field = self.shape.schema.fields().get(column);
        let (Some(field), false) = (field, self.has_values(frame, column)) else { return Ok(()) };
        let place = table_frame.field(column).filter(|_| table_frame.has_dictionary(column));
        let Some(place) = place else { return Ok(()) };
        let group = TableGroup { frame, group: 0, first_row: 0, lines: GroupLines::default() };
        let decoder = self.decoder(&group, table_frame, 1);
        let Some(dictionary) = decoder.dictionary(place.stored)? else { return Ok(()) };
        let cells = GroupCells::of_entries(&dictionary.entries);
        let cells = self.field_cells(table_frame, column, place, &cells);
        let typed = cells.typed_dictionary(field.data_type(), &dictionary.entries);
        let values = typed.map_err(|err| err.in_column(column, field.name()))?.values;
        let mut known = self.tested_values.lock().unwrap_or_else(PoisonError::into_inner);
        known.insert((frame, column), values);
        Ok(())
    }
}

/// Fails if frames lack a key in more rows than the column has nulls.
///
/// No cell is read for a key that is not there, so nothing else would contradict a template
/// without it.
fn check_absent(frames: &[TableFrame], shape: &TableShape) -> Result<()> {
    for (column, statistics) in shape.statistics.iter().enumerate() {
        let is_absent =
            |frame: &&TableFrame| frame.columns.get(column) == Some(&TableColumn::Absent);
        let lacking = frames.iter().filter(is_absent);
        let rows: u64 = lacking.map(|frame| frame.frame.layout.structured as u64).sum();
        if statistics.null_count.is_some_and(|nulls| rows > nulls) {
            let name = shape.schema.fields().get(column).map_or("", |field| field.name());
            let err = unfit("templates lack a key that rows have").in_stream(GROUPS);
            return Err(err.in_column(column, name));
        }
    }
    Ok(())
}

impl TableFrame {
    /// Returns a frame of delimited text; `None` if its fields are not the columns of the table.
    fn of_cells(mut frame: ColumnarFrame, delimiter: u8, shape: &TableShape) -> Option<Self> {
        frame.name_columns(shape.schema.fields().iter().map(|field| field.name().as_str()));
        let has_templates = frame.directory.as_ref().is_some_and(|it| it.templates.is_some());
        let widths = frame.layout.columns.iter().map(|column| column.width);
        let columns: Vec<TableColumn> = widths
            .enumerate()
            .flat_map(|(stored, width)| (0..width).map(move |nth| (stored, nth)))
            .enumerate()
            .map(|(number, (stored, nth))| TableColumn::Field(FieldPlace { stored, nth, number }))
            .collect();
        let is_table = frame.layout.delimiter == [delimiter]
            && columns.len() == shape.schema.fields().len()
            && !has_templates;
        is_table.then(|| Self { frame, columns, value_numbers: HashMap::new() })
    }

    /// Returns a frame of JSON Lines; `None` if it does not say where the values are (§5.7.1).
    fn of_objects(mut frame: ColumnarFrame, shape: &TableShape) -> Option<Self> {
        let templates = frame.directory.as_ref()?.templates.as_ref()?;
        let is_quoted = frame.layout.columns.iter().any(|column| column.quotes != 0);
        let names: Vec<&str> =
            shape.schema.fields().iter().map(|field| field.name().as_str()).collect();
        let found = ObjectColumns::of(templates, &frame.layout.delimiter, &names)?;
        let ObjectColumns { columns, numbers } = found;
        let mut by_number: Vec<(usize, &str)> =
            numbers.iter().map(|(name, &number)| (number, name.as_str())).collect();
        by_number.sort_unstable();
        frame.name_columns(by_number.into_iter().map(|(_, name)| name));
        (!is_quoted).then_some(Self { frame, columns, value_numbers: numbers })
    }

    /// Returns where a column of the table is, if it is a field of a column of the archive.
    fn field(&self, column: usize) -> Option<FieldPlace> {
        self.columns.get(column)?.field()
    }

    /// Returns the fields of a column of the archive.
    fn fields(&self, stored: usize) -> CellFields<'_> {
        let delimiter = self.frame.layout.delimiter.first().copied().unwrap_or_default();
        let width = self.frame.layout.columns.get(stored).map_or(1, |stored| stored.width);
        CellFields::of(self.frame.directory.as_ref(), stored, delimiter, width)
    }

    /// Returns whether the last line of the frame continues in the next frame.
    fn is_open(&self) -> bool {
        !self.frame.layout.trailing
    }

    /// Returns the columns of the archive that columns of the table are in.
    fn stored_columns(&self, columns: &[usize]) -> Vec<usize> {
        let columns = columns.iter().filter_map(|&column| self.columns.get(column));
        let mut stored: Vec<usize> = columns.flat_map(TableColumn::stored).collect();
        stored.sort_unstable();
        stored.dedup();
        stored
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
        self.groups.len()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.groups.get(group).map_or(0, |group| group.lines.lines.len() as u64)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.shape.statistics.get(column).cloned().unwrap_or_default()
    }

    fn shares_parts(&self) -> bool {
        self.frames.iter().any(|frame| frame.frame.directory.is_some())
    }

    fn dictionary_values(&self, column: usize) -> Option<u64> {
        let is_text = |field: &Arc<Field>| *field.data_type() == DataType::Utf8;
        self.shape.schema.fields().get(column).filter(|field| is_text(field))?;
        let values = |frame: &TableFrame| frame.distinct_values(column);
        self.frames.iter().map(values).try_fold(0, |most, values| Some(values?.max(most)))
    }

    fn statistics_ranges(&self, columns: &[usize]) -> Vec<Range<u64>> {
        let mut ranges = Vec::new();
        for (place, frame) in self.frames.iter().enumerate() {
            let is_unknown = |&column: &usize| !self.has_values(place, column);
            let with_dictionary = |&column: &usize| frame.has_dictionary(column);
            let unknown = columns.iter().copied().filter(is_unknown).filter(with_dictionary);
            let blocks = frame.stored_columns(&unknown.collect::<Vec<_>>()).into_iter();
            let blocks = blocks.flat_map(|stored| frame.frame.dictionary_blocks(stored));
            ranges.extend(blocks.map(|block| frame.frame.range(block)));
        }
        ranges
    }

    fn load_statistics(&self, columns: &[usize]) -> Result<()> {
        for frame in 0..self.frames.len() {
            for &column in columns {
                match self.load_values(frame, column) {
                    // The row groups say what is damaged, as far as they need it.
                    Err(err) if !matches!(err.kind(), ErrorKind::Io(_)) => {}
                    loaded => loaded?,
                }
            }
        }
        Ok(())
    }

    fn pruning_statistics(&self, group: usize) -> Option<Box<dyn PruningStatistics + '_>> {
        let (group, frame) = self.group(group).ok()?;
        // A group with lines of any content is read.
        let is_pruned = frame.frame.directory.is_some() && group.lines.verbatim.is_empty();
        is_pruned.then(|| Box::new(ColumnarPruning::new(self, group, frame)) as _)
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        let Ok((group, frame)) = self.group(group) else { return Vec::new() };
        let decoder = self.decoder(group, frame, 1);
        let stored = frame.stored_columns(columns);
        let mut blocks: Vec<usize> = stored.iter().flat_map(|&it| decoder.blocks(it)).collect();
        blocks.sort_unstable();
        blocks.dedup();
        blocks.into_iter().map(|block| frame.frame.range(block)).collect()
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        let known = self.shape.schema.fields().len();
        if let Some(&column) = request.columns.iter().find(|&&column| column >= known) {
            return Err(column_out_of_range(column, known));
        }
        let RowGroupRequest { threads, dictionaries, .. } = *request;
        let options = GroupOptions { group, threads, dictionaries };
        let GroupLines { lines, verbatim } = &self.group(group)?.0.lines;
        let rows = lines.len();
        if verbatim.is_empty() {
            return Ok(Box::new(GroupReader::new(self, options, rows)));
        }
        // Verbatim lines are parsed together, once for all windows.
        let all = WantedRows { start: 0, end: rows, selection: None };
        let mut decoded = DecodedGroup::default();
        let decode = move |columns: &[usize]| self.decode(options, columns, all, &mut decoded);
        Ok(Box::new(WholeRowGroup::new(rows, decode)))
    }

    fn deviations(&self) -> Vec<Deviation> {
        self.archive.deviations().list()
    }
}
