//! Decodes the rows of a line group.

use std::cell::Cell;
use std::ops::Range;
use std::slice;
use std::sync::Arc;

use arrow_array::{ArrayRef, StructArray, new_empty_array, new_null_array};
use arrow_schema::DataType;
use hashbrown::HashMap;

use super::cell_list::{CellList, CellPlace, CellRuns, WindowRows};
use super::cell_value::CellSyntax;
use super::grouped_archive::GroupedArchive;
use super::json_tree::JsonNode;
use super::json_values;
use super::line_groups::{LineGroup, RowSources, TablePart};
use super::merge::merge;
use super::template::TemplateColumns;
use super::typed_cells::{self, CellError, not_of_type};
use super::verbatim_cells::VerbatimLines;
use crate::row_groups::grouped_table::StoredBlock;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;
use hypostyle_core::reader::{RowGroupReader, WindowCursor};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::source;

/// Decodes the rows of a [`LineGroup`].
pub(super) struct LineGroupReader {
    reader: Arc<GroupedArchive>,
    group: usize,
    /// Where each row comes from; `None` if all rows are those of one table.
    sources: Option<RowSources>,
    cursor: WindowCursor,
    /// The rows of each source before the window.
    before: Vec<usize>,
    /// The columns of which the whole window was decoded.
    decoded: HashMap<usize, ArrayRef>,
    /// The blocks that were read, by the table and the column of the archive.
    blocks: HashMap<(usize, usize), LoadedBlock>,
    threads: usize,
}

/// A decompressed block, and how far it has been read.
struct LoadedBlock {
    cells: Arc<CellList>,
    /// A place at or before the start of the window.
    start: Cell<CellPlace>,
    /// The place after the cells that were read last.
    end: Cell<CellPlace>,
}

/// The selected rows of one source.
struct SourceRows<'r> {
    /// The index of a table plus one, or 0 for verbatim lines.
    source: u8,
    rows: RowsOfSource<'r>,
    /// The first row of the source in the window.
    window_start: usize,
}

/// Rows of a source: cells of a block, or verbatim lines.
enum RowsOfSource<'r> {
    /// Rows of the window, all of this source.
    Window(&'r RowSelection),
    /// Rows counted from the first row of the source.
    Runs(Vec<Range<usize>>),
}

impl SourceRows<'_> {
    /// Returns the rows, and the row of the source that they are counted from.
    fn rows(&self) -> (WindowRows<'_>, usize) {
        match &self.rows {
            RowsOfSource::Window(selection) => (WindowRows::of(selection), self.window_start),
            RowsOfSource::Runs(runs) => (WindowRows::Runs(runs), 0),
        }
    }

    fn len(&self) -> usize {
        self.rows().0.len()
    }

    /// Returns the cells of a block that the rows are.
    fn cells<'c>(&'c self, list: &'c CellList, from: CellPlace) -> CellRuns<'c> {
        let (rows, first) = self.rows();
        CellRuns { list, from, rows, first }
    }
}

/// The selected rows of a window.
struct SelectedRows<'r> {
    sources: Vec<SourceRows<'r>>,
    /// The source of each row, if there are several.
    order: Vec<u8>,
    len: usize,
}

impl LineGroupReader {
    pub(super) fn new(reader: Arc<GroupedArchive>, group: usize, threads: usize) -> Self {
        let lines = reader.groups.get(group);
        let frame = lines.and_then(|lines| reader.frames.get(lines.frame));
        let sources =
            lines.zip(frame).and_then(|(lines, frame)| lines.sources(frame, reader.row_lines));
        let rows = lines.map_or(0, |lines| lines.rows);
        let before = vec![0; frame.map_or(0, |frame| frame.tables.len()) + 1];
        let (cursor, decoded, blocks) = (WindowCursor::new(rows), HashMap::new(), HashMap::new());
        Self { reader, group, sources, cursor, before, decoded, blocks, threads }
    }

    /// Prepares for the window of the cursor, which was at `start` before.
    fn enter_window(&mut self, start: usize) {
        self.decoded.clear();
        let window = self.cursor.window();
        match &self.sources {
            Some(RowSources { sources, .. }) => {
                let passed = sources.get(start..window.start).unwrap_or_default();
                for &source in passed {
                    if let Some(count) = self.before.get_mut(usize::from(source)) {
                        *count += 1;
                    }
                }
            }
            None => self.before.iter_mut().for_each(|count| *count = window.start),
        }
    }

    /// Finds the selected rows of the window in their sources.
    fn select<'r>(&self, lines: &LineGroup, rows: Option<&'r RowSelection>) -> SelectedRows<'r> {
        let first_cell = |source: u8| {
            let part = lines.parts.iter().find(|part| part.table + 1 == usize::from(source));
            part.map_or(0, |part| part.rows.start)
        };
        let Some(RowSources { sources, .. }) = &self.sources else {
            let Some(part) = lines.parts.first() else {
                return SelectedRows { sources: Vec::new(), order: Vec::new(), len: 0 };
            };
            let window_start = part.rows.start + self.cursor.window().start;
            let source = u8::try_from(part.table + 1).unwrap_or(u8::MAX);
            let all = window_start..window_start + self.cursor.len();
            let rows = match rows {
                Some(rows) => RowsOfSource::Window(rows),
                None => RowsOfSource::Runs(std::iter::once(all).collect()),
            };
            let one = SourceRows { source, rows, window_start };
            let len = one.len();
            return SelectedRows { sources: vec![one], order: Vec::new(), len };
        };
        let all = 0..self.cursor.len();
        let runs = rows.map_or(slice::from_ref(&all), RowSelection::runs);
        let mut next = self.before.clone();
        let mut found: Vec<SourceRows<'r>> = Vec::new();
        let mut slots = [usize::MAX; 256];
        let mut order = Vec::new();
        let (mut at, mut cell) = (self.cursor.window().start, 0);
        let start = at;
        for run in runs {
            let run = run.start + start..run.end + start;
            for &source in sources.get(at..run.start).unwrap_or_default() {
                if let Some(count) = next.get_mut(usize::from(source)) {
                    *count += 1;
                }
            }
            for &source in sources.get(run.clone()).unwrap_or_default() {
                if let Some(count) = next.get_mut(usize::from(source)) {
                    cell = *count;
                    *count += 1;
                }
                let Some(slot) = slots.get_mut(usize::from(source)) else { continue };
                if *slot == usize::MAX {
                    *slot = found.len();
                    let before = self.before.get(usize::from(source)).copied().unwrap_or_default();
                    let window_start = before + first_cell(source);
                    let rows = RowsOfSource::Runs(Vec::new());
                    found.push(SourceRows { source, rows, window_start });
                }
                let Some(rows) = found.get_mut(*slot) else { continue };
                let row = cell + rows.window_start
                    - self.before.get(usize::from(source)).copied().unwrap_or_default();
                let RowsOfSource::Runs(runs) = &mut rows.rows else { continue };
                match runs.last_mut() {
                    Some(last) if last.end == row => last.end += 1,
                    _ => runs.push(row..row + 1),
                }
                order.push(source);
            }
            at = run.end;
        }
        SelectedRows { sources: found, len: order.len(), order }
    }

    /// Reads and decompresses the blocks of some columns, except those that were read before.
    fn load(
        &mut self,
        lines: &LineGroup,
        columns: &[usize],
        rows: &SelectedRows<'_>,
    ) -> Result<()> {
        let reader = &self.reader;
        let is_shared = reader.frames.get(lines.frame).is_some_and(|frame| frame.tables.len() > 1);
        let mut missing: Vec<(&TablePart, usize, StoredBlock)> = Vec::new();
        let mut found: Vec<((usize, usize), Arc<CellList>)> = Vec::new();
        for part in parts_of(lines, rows) {
            let Some(table) = reader.table(lines.frame, part.table) else { continue };
            let mut stored: Vec<usize> = Vec::new();
            for &column in columns {
                stored.extend(reader.stored_columns(lines.frame, part.table, column));
            }
            stored.sort_unstable();
            stored.dedup();
            stored.retain(|&column| !self.blocks.contains_key(&(part.table, column)));
            for column in stored {
                let key = (lines.frame, part.table, part.group, column);
                match is_shared.then(|| reader.shared.get(key)).flatten() {
                    Some(cells) => found.push(((part.table, column), cells)),
                    None => missing.push((part, column, table.block(part.group, column))),
                }
            }
        }
        let read = self.fetch(&missing)?;
        let jobs: Vec<_> = missing.into_iter().zip(read).collect();
        let context = reader.archive.context(&reader.no_streams);
        let decompressed = parallel::map(&jobs, self.threads, |((part, _, block), bytes)| {
            let Some(table) = reader.table(lines.frame, part.table) else {
                return Err(Error::internal("a row group of a table that does not exist"));
            };
            let text = table.decompress(block, bytes, &context)?;
            let rows = table.rows_of(part.group).len();
            let cells = CellList::try_new(text, rows);
            let cells = cells.map_err(|cells| table.too_few_cells(block, cells))?;
            Ok(cells.with_block_bytes(block.len))
        })?;
        for (((part, column, _), _), cells) in jobs.iter().zip(decompressed) {
            let cells = Arc::new(cells);
            if is_shared {
                let key = (lines.frame, part.table, part.group, *column);
                reader.shared.put(key, cells.clone());
            }
            found.push(((part.table, *column), cells));
        }
        let (start, end) = (Cell::default(), Cell::default());
        for (key, cells) in found {
            self.blocks.insert(key, LoadedBlock { cells, start: start.clone(), end: end.clone() });
        }
        let bytes = self.blocks.values().map(|block| block.cells.bytes()).sum();
        self.check_size("size of the blocks", bytes, 0)
    }

    /// Fails if so many bytes exceed the limit of a read.
    fn check_size(&self, what: &'static str, bytes: usize, more: usize) -> Result<()> {
        let (asked, limit) =
            (bytes.saturating_add(more) as u64, self.reader.archive.limits().read_bytes);
        if asked > limit {
            return Err(ErrorKind::LimitExceeded { what, asked, limit }.into());
        }
        Ok(())
    }

    /// Reads the bytes of blocks.
    fn fetch(&self, blocks: &[(&TablePart, usize, StoredBlock)]) -> Result<Vec<bytes::Bytes>> {
        let source = self.reader.archive.source();
        let mut ranges = Vec::with_capacity(blocks.len());
        for (_, _, block) in blocks {
            let len = block.bytes.end.saturating_sub(block.bytes.start);
            source::check(source, block.bytes.start, len, "block")?;
            ranges.push(block.bytes.clone());
        }
        let read = source.read_ranges(&ranges);
        let at = ranges.first().map_or(0, |range| range.start);
        read.map_err(|cause| Error::from(cause).at(at))
    }

    /// Decodes a column of the selected rows.
    fn column(
        &self,
        lines: &LineGroup,
        column: usize,
        rows: &SelectedRows<'_>,
    ) -> Result<ArrayRef> {
        let schema = &self.reader.shape.schema;
        let Some(field) = schema.fields().get(column) else {
            return Err(Error::internal("a column that does not exist"));
        };
        let mut arrays = Vec::with_capacity(rows.sources.len());
        for source in &rows.sources {
            let array = match usize::from(source.source).checked_sub(1) {
                None => self.verbatim_column(lines, column, field.data_type(), source),
                Some(table) => self.table_column(lines, table, column, field.data_type(), source),
            };
            let array = array.map_err(|err| {
                let row = err.row().and_then(|row| usize::try_from(row).ok());
                let err = match row.and_then(|row| self.row_of(source, row, lines)) {
                    Some(row) => err.at_row(lines.first_row.saturating_add(row as u64)),
                    None => err,
                };
                err.in_column(column, field.name())
            });
            arrays.push((source.source, array?));
        }
        merge(&arrays, &rows.order)
    }

    /// Returns the number in the line group of the `nth` selected row of a source.
    fn row_of(&self, source: &SourceRows<'_>, nth: usize, lines: &LineGroup) -> Option<usize> {
        let (rows, first) = source.rows();
        let row = first + rows.nth(nth)?;
        match &self.sources {
            None => Some(row - lines.parts.first()?.rows.start),
            Some(RowSources { sources, .. }) => {
                let part = lines.parts.iter().find(|p| p.table + 1 == usize::from(source.source));
                let nth = row - part.map_or(0, |part| part.rows.start);
                let mut rows = sources.iter().enumerate();
                rows.by_ref()
                    .filter(|(_, of_row)| **of_row == source.source)
                    .nth(nth)
                    .map(|it| it.0)
            }
        }
    }

    fn verbatim_column(
        &self,
        lines: &LineGroup,
        column: usize,
        data_type: &DataType,
        rows: &SourceRows<'_>,
    ) -> Result<ArrayRef> {
        let (Some(frame), Some(sources), RowsOfSource::Runs(runs)) =
            (self.reader.frames.get(lines.frame), &self.sources, &rows.rows)
        else {
            return Err(Error::internal("a verbatim row without a line"));
        };
        let verbatim = VerbatimLines {
            text: &frame.verbatim,
            lines: &sources.verbatim,
            delimiter: self.reader.delimiter(),
            starts_text: lines.frame == 0,
        };
        let name = self.reader.names().nth(column).unwrap_or_default();
        let lists = verbatim.columns(runs, &[column], &[name])?;
        let Some(list) = lists.first() else { return Ok(new_null_array(data_type, 0)) };
        let all = 0..rows.len();
        let runs = slice::from_ref(&all);
        let cells = CellRuns::new(list, runs);
        let array = match verbatim.delimiter {
            None => json_values::array(data_type, &cells, self.reader.shape.null_words(column)),
            Some(_) => {
                let null_words = self.reader.shape.null_words(column);
                let syntax = CellSyntax::Csv { is_last: false, null_words };
                typed_cells::array(data_type, &cells, syntax)
            }
        };
        array.map(|(array, _)| array).map_err(|err| placed(err, &cells, data_type))
    }

    fn table_column(
        &self,
        lines: &LineGroup,
        table: usize,
        column: usize,
        data_type: &DataType,
        rows: &SourceRows<'_>,
    ) -> Result<ArrayRef> {
        if let Some(template) = self.reader.template(lines.frame, table) {
            return match template.column(column) {
                Some(node) => {
                    let null_words = self.reader.shape.null_words(column);
                    let json = JsonColumn { table, template, null_words };
                    self.json_column(&json, node, data_type, rows)
                }
                None => Ok(new_null_array(data_type, rows.len())),
            };
        }
        let is_last = column + 1 == self.reader.shape.schema.fields().len();
        let null_words = self.reader.shape.null_words(column);
        let syntax = CellSyntax::Csv { is_last, null_words };
        self.cells(table, column, rows, data_type, |cells| {
            typed_cells::array(data_type, cells, syntax)
        })
    }

    /// Builds an array from the selected cells of a block.
    fn cells<T>(
        &self,
        table: usize,
        column: usize,
        rows: &SourceRows<'_>,
        data_type: &DataType,
        build: impl FnOnce(&CellRuns<'_>) -> Result<(T, CellPlace), CellError>,
    ) -> Result<T> {
        let Some(block) = self.blocks.get(&(table, column)) else {
            return Err(Error::internal("a block that was not read"));
        };
        if block.end.get().cell <= rows.window_start {
            block.start.set(block.end.get());
        }
        let from = block.start.get();
        let cells = rows.cells(&block.cells, from);
        let (built, end) = build(&cells).map_err(|err| placed(err, &cells, data_type))?;
        if end.cell > block.end.get().cell {
            block.end.set(end);
        }
        Ok(built)
    }

    fn json_column(
        &self,
        column: &JsonColumn<'_>,
        node: &JsonNode,
        data_type: &DataType,
        rows: &SourceRows<'_>,
    ) -> Result<ArrayRef> {
        match (node, data_type) {
            (JsonNode::Scalar { index, .. }, _) => {
                self.cells(column.table, *index, rows, data_type, |cells| {
                    json_values::array(data_type, cells, column.null_words)
                })
            }
            (JsonNode::Object { members, .. }, DataType::Struct(fields)) => {
                let member = |name: &str| members.iter().find(|(key, _)| key == name);
                let arrays = fields.iter().map(|field| match member(field.name()) {
                    Some((_, node)) => {
                        let member = JsonColumn { null_words: &[], ..*column };
                        self.json_column(&member, node, field.data_type(), rows)
                    }
                    None => Ok(new_null_array(field.data_type(), rows.len())),
                });
                let arrays = arrays.collect::<Result<Vec<_>>>()?;
                let array =
                    StructArray::try_new_with_length(fields.clone(), arrays, None, rows.len());
                Ok(Arc::new(array?))
            }
            _ => self.assembled_column(column.table, column.template, node, data_type, rows),
        }
    }

    /// Builds an array from the text of values, which consist of several cells.
    fn assembled_column(
        &self,
        table: usize,
        template: &TemplateColumns,
        node: &JsonNode,
        data_type: &DataType,
        rows: &SourceRows<'_>,
    ) -> Result<ArrayRef> {
        let mut holes = Vec::new();
        node.scalars(&mut holes);
        let mut columns: Vec<Vec<&[u8]>> = Vec::with_capacity(holes.len());
        for &hole in &holes {
            let Some(block) = self.blocks.get(&(table, hole)) else {
                return Err(Error::internal("a block that was not read"));
            };
            let mut cells = Vec::with_capacity(rows.len());
            let runs = rows.cells(&block.cells, block.start.get());
            runs.for_each(|cell| {
                cells.push(cell);
                Ok::<(), Error>(())
            })?;
            columns.push(cells);
        }
        let around = template.text_around(node);
        // The file has the text around cells once, but the values have it once per row.
        let per_row: usize = around.iter().map(|text| text.len()).sum();
        let cells = columns.iter().flatten().map(|cell| cell.len()).sum::<usize>();
        self.check_size("size of the values", per_row.saturating_mul(rows.len()), cells)?;
        let mut text = Vec::new();
        for row in 0..rows.len() {
            if row > 0 {
                text.push(b'\n');
            }
            let mut cells = columns.iter().map(|cells| cells.get(row).copied().unwrap_or_default());
            for before in &around {
                text.extend_from_slice(before);
                text.extend_from_slice(cells.next().unwrap_or_default());
            }
        }
        let list = CellList::try_new(text, rows.len())
            .map_err(|_| Error::internal("fewer values than rows"))?;
        let all = 0..rows.len();
        let runs = slice::from_ref(&all);
        let cells = CellRuns::new(&list, runs);
        let array = json_values::array(data_type, &cells, &[])
            .map_err(|err| placed(err, &cells, data_type));
        Ok(array?.0)
    }
}

/// A column of JSON values in the lines of a template.
#[derive(Clone, Copy)]
struct JsonColumn<'a> {
    table: usize,
    template: &'a TemplateColumns,
    /// The strings that mean null.
    null_words: &'a [Vec<u8>],
}

/// Returns the error for cells that are not an array; its row counts the selected rows.
fn placed(err: CellError, cells: &CellRuns<'_>, data_type: &DataType) -> Error {
    match err {
        CellError::Other(err) => err,
        CellError::Odd(index) => not_of_type(cells.nth(index), data_type).in_row(index as u64),
    }
}

/// Returns the parts of a line group that have selected rows.
fn parts_of<'l>(
    lines: &'l LineGroup,
    rows: &'l SelectedRows<'_>,
) -> impl Iterator<Item = &'l TablePart> {
    let is_selected = |part: &&TablePart| {
        rows.sources.iter().any(|source| usize::from(source.source) == part.table + 1)
    };
    lines.parts.iter().filter(is_selected)
}

impl RowGroupReader for LineGroupReader {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        let start = self.cursor.window().start;
        let skipped = self.cursor.skip(rows);
        self.enter_window(start);
        Ok(skipped)
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        let start = self.cursor.window().start;
        let rows = self.cursor.advance(max_rows);
        self.enter_window(start);
        Ok(rows)
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let reader = self.reader.clone();
        let Some(lines) = reader.groups.get(self.group) else {
            return Err(Error::internal("a row group that does not exist"));
        };
        if let Some(rows) = rows {
            rows.check(self.cursor.len())?;
        }
        let selected = self.select(lines, rows);
        if selected.len == 0 {
            let fields = self.reader.shape.schema.fields();
            let empty = |&column: &usize| Some(new_empty_array(fields.get(column)?.data_type()));
            return Ok(columns.iter().filter_map(empty).collect());
        }
        let new = columns.iter().copied().filter(|column| !self.decoded.contains_key(column));
        let new: Vec<usize> = new.collect();
        self.load(lines, &new, &selected)?;
        let mut arrays = Vec::with_capacity(columns.len());
        for &column in columns {
            arrays.push(match (self.decoded.get(&column), rows) {
                (Some(whole), None) => whole.clone(),
                (Some(whole), Some(rows)) => rows.of_array(whole)?,
                (None, _) => {
                    let array = self.column(lines, column, &selected)?;
                    if rows.is_none() {
                        self.decoded.insert(column, array.clone());
                    }
                    array
                }
            });
        }
        Ok(arrays)
    }
}
