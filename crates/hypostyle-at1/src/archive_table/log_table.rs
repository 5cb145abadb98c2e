//! The table of a log whose templates, times and variables are read without its lines.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_schema::SchemaRef;

use crate::line_groups::LineGroups;
use crate::log_columns::{LogColumn, LogColumns, LogGroup};
use hypostyle_core::concat::concat;
use hypostyle_core::error::{Error, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::predicate::ColumnFilter;
use hypostyle_core::projection::column_out_of_range;
use hypostyle_core::reader::{
    ColumnStatistics, Reader, RowGroupReader, RowGroupRequest, WindowCursor, row_group_out_of_range,
};
use hypostyle_core::row_selection::RowSelection;
use hypostyle_core::text::{TextTable, log};

/// The table of a log: some columns are computed from lists, the others from lines.
#[derive(Debug)]
pub(super) struct LogTable {
    text: Arc<TextTable>,
    log: Arc<LogColumns>,
    groups: Option<Arc<LineGroups>>,
    /// The columns of the table that are computed from lists.
    columns: Vec<Option<LogColumn>>,
}

impl LogTable {
    pub(super) fn new(
        text: TextTable,
        log: Arc<LogColumns>,
        groups: Option<Arc<LineGroups>>,
    ) -> Self {
        let [_, time, template, variables] = log::COLUMNS;
        let column = |name: &str| {
            let column = match name {
                _ if name == time => LogColumn::Time,
                _ if name == template => LogColumn::Template,
                _ if name == variables => LogColumn::Variables,
                _ => return None,
            };
            log.serves(column).then_some(column)
        };
        let columns = text.schema().fields().iter().map(|field| column(field.name())).collect();
        Self { text: Arc::new(text), log, groups, columns }
    }

    fn column(&self, column: usize) -> Option<LogColumn> {
        self.columns.get(column).copied().flatten()
    }

    /// Returns columns that are all computed from lists; `None` if some are not.
    fn all_computed(&self, columns: &[usize]) -> Option<Vec<LogColumn>> {
        columns.iter().map(|&column| self.column(column)).collect()
    }
}

impl Reader for LogTable {
    fn format(&self) -> FormatId {
        self.text.format()
    }

    fn schema(&self) -> SchemaRef {
        self.text.schema()
    }

    fn rows(&self) -> u64 {
        self.text.rows()
    }

    fn row_groups(&self) -> usize {
        self.text.row_groups()
    }

    fn row_group_rows(&self, group: usize) -> u64 {
        self.text.row_group_rows(group)
    }

    fn column_statistics(&self, column: usize) -> ColumnStatistics {
        self.text.column_statistics(column)
    }

    fn ranges(&self, group: usize, columns: &[usize]) -> Vec<Range<u64>> {
        match (self.all_computed(columns), &self.groups) {
            (Some(computed), _) => self.log.ranges(group, &computed),
            (None, Some(groups)) => groups.ranges(group, true),
            (None, None) => Vec::new(),
        }
    }

    fn open_row_group(
        self: Arc<Self>,
        group: usize,
        request: &RowGroupRequest<'_>,
    ) -> Result<Box<dyn RowGroupReader>> {
        // If lines are read anyway, all columns follow from them.
        let first = request.filter_columns.unwrap_or(request.columns);
        if first.is_empty() || self.all_computed(first).is_none() {
            return self.text.clone().open_row_group(group, request);
        }
        // A row group of the text starts to decode lines as soon as it is opened.
        if group >= self.row_groups() {
            return Err(row_group_out_of_range(group, self.row_groups()));
        }
        if let Some(&column) = request.columns.iter().find(|&&it| it >= self.columns.len()) {
            return Err(column_out_of_range(column, self.columns.len()));
        }
        let rows = usize::try_from(self.text.row_group_rows(group)).unwrap_or(usize::MAX);
        Ok(Box::new(LogRowGroup {
            computed: LogGroup::new(&self.log, group),
            table: self,
            group,
            columns: request.columns.to_vec(),
            text: None,
            cursor: WindowCursor::new(rows),
        }))
    }

    fn notes(&self) -> Vec<String> {
        self.text.notes()
    }
}

/// Reads a group of a log.
struct LogRowGroup {
    table: Arc<LogTable>,
    group: usize,
    computed: LogGroup,
    /// All columns that may be read.
    columns: Vec<usize>,
    /// A reader of the lines, and the row that it stands before.
    text: Option<(Box<dyn RowGroupReader>, usize)>,
    cursor: WindowCursor,
}

impl LogRowGroup {
    /// Reads columns of the window from the lines.
    fn read_lines(
        &mut self,
        columns: &[usize],
        rows: Option<&RowSelection>,
    ) -> Result<Vec<ArrayRef>> {
        let window = self.cursor.window();
        // After a call that failed, and for a second read of a window, the lines are read again.
        let kept = self.text.take().filter(|&(_, at)| at <= window.start);
        let (mut text, at) = match kept {
            Some(kept) => kept,
            None => {
                let request = RowGroupRequest::new(&self.columns);
                (self.table.text.clone().open_row_group(self.group, &request)?, 0)
            }
        };
        let before = (window.start - at) as u64;
        if text.skip(before)? != before {
            return Err(too_few());
        }
        let mut pieces: Vec<Vec<ArrayRef>> = columns.iter().map(|_| Vec::new()).collect();
        let mut at = window.start;
        while at < window.end || pieces.first().is_some_and(Vec::is_empty) {
            let count = text.next_window(window.end - at)?;
            if count == 0 && at < window.end {
                return Err(too_few());
            }
            let from = at - window.start;
            let inside = rows.map(|rows| rows.slice(from..from + count));
            at += count;
            let is_needed = inside.as_ref().is_none_or(|inside| !inside.is_empty());
            if is_needed || at >= window.end && pieces.first().is_some_and(Vec::is_empty) {
                let arrays = text.read(columns, inside.as_ref())?;
                pieces.iter_mut().zip(arrays).for_each(|(pieces, array)| pieces.push(array));
            }
        }
        self.text = Some((text, window.end));
        let join = |pieces: Vec<ArrayRef>| match <[ArrayRef; 1]>::try_from(pieces) {
            Ok([only]) => Ok(only),
            Err(pieces) => {
                let pieces: Vec<&dyn Array> = pieces.iter().map(AsRef::as_ref).collect();
                concat(&pieces)
            }
        };
        pieces.into_iter().map(join).collect()
    }
}

fn too_few() -> Error {
    Error::malformed("text", "has fewer rows than its summary says")
}

impl RowGroupReader for LogRowGroup {
    fn skip(&mut self, rows: u64) -> Result<u64> {
        Ok(self.cursor.skip(rows))
    }

    fn next_window(&mut self, max_rows: usize) -> Result<usize> {
        Ok(self.cursor.advance(max_rows))
    }

    fn read(&mut self, columns: &[usize], rows: Option<&RowSelection>) -> Result<Vec<ArrayRef>> {
        let table = self.table.clone();
        // If lines are read anyway, they also have the columns that were not computed yet.
        let needs_lines = columns.iter().any(|&column| table.column(column).is_none());
        let from_lists: Vec<Option<LogColumn>> = columns
            .iter()
            .map(|&column| table.column(column))
            .map(|column| column.filter(|&it| !needs_lines || self.computed.has(it)))
            .collect();
        let computed: Vec<LogColumn> = from_lists.iter().copied().flatten().collect();
        self.computed.load(&computed)?;
        let of_lines = columns.iter().zip(&from_lists).filter(|(_, list)| list.is_none());
        let of_lines: Vec<usize> = of_lines.map(|(&column, _)| column).collect();
        let mut lines = match of_lines.is_empty() {
            true => Vec::new(),
            false => self.read_lines(&of_lines, rows)?,
        }
        .into_iter();
        let window = self.cursor.window();
        let mut arrays = Vec::with_capacity(columns.len());
        for column in from_lists {
            let array = match column {
                Some(LogColumn::Variables) => self.computed.variables(&window, rows)?,
                Some(column) => {
                    let array = self.computed.column(column)?.slice(window.start, window.len());
                    match rows {
                        Some(rows) => rows.of_array(&array)?,
                        None => array,
                    }
                }
                None => lines.next().ok_or_else(|| Error::internal("a column was not read"))?,
            };
            arrays.push(array);
        }
        Ok(arrays)
    }

    fn evaluate_encoded(
        &mut self,
        column: usize,
        filter: &mut ColumnFilter<'_>,
    ) -> Result<Option<BooleanArray>> {
        if self.table.column(column) != Some(LogColumn::Template) {
            return Ok(None);
        }
        let templates = self.computed.column(LogColumn::Template)?;
        let Some(templates) = templates.as_dictionary_opt::<Int32Type>() else { return Ok(None) };
        let entries = templates.values().as_string::<i32>();
        let truths: Vec<Option<bool>> =
            entries.iter().map(|entry| filter.test(entry.map(str::as_bytes))).collect();
        let window = self.cursor.window();
        let keys = templates.keys().slice(window.start, window.len());
        let truth = |&key: &i32| {
            usize::try_from(key).ok().and_then(|key| truths.get(key).copied()).flatten()
        };
        Ok(Some(keys.values().iter().map(truth).collect()))
    }
}
