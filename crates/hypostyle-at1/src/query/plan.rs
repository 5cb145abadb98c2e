//! Resolves a query against the tables of an archive, and writes the selected rows.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;

use hashbrown::HashSet;

use super::Query;
use super::frame_tables::FrameTables;
use super::grouped_table::{GroupRows, GroupedTable, RowRequest, put_row};
use super::metadata::ArchiveMetadata;
use super::stats::{Damage, QueryStats};
use super::verbatim_row::VerbatimRow;
use crate::cell_syntax::Syntax;
use crate::codecs::context::DecodeContext;
use crate::fields;
use crate::json_scan::JsonMembers;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;
use hypostyle_core::text::BOM;

/// Bytes of text that are collected before they are written.
const BUFFER_BYTES: usize = 1 << 18;

/// A query whose columns have been found in the tables of an archive.
pub(super) struct QueryPlan<'h, 'a> {
    metadata: &'h ArchiveMetadata<'a>,
    query: &'h Query,
    frames: Vec<FrameTables>,
    header: HeaderLine,
    /// Whether to write the original lines instead of rows for the importer.
    exact: bool,
    /// The number of lines in the frames before the first one here.
    lines_before: u64,
    /// Words that the filter takes for null.
    nulls: &'h [String],
}

/// The header of delimited text.
#[derive(Default)]
struct HeaderLine {
    line: Vec<u8>,
    /// Whether it is the first row of the first table.
    is_row: bool,
    names: Vec<String>,
}

impl<'h, 'a> QueryPlan<'h, 'a> {
    /// Returns a plan for a query; `None` if the tables cannot answer it.
    pub(super) fn new(
        metadata: &'h ArchiveMetadata<'a>,
        query: &'h Query,
        nulls: &'h [String],
    ) -> Result<Option<Self>> {
        let Some(frames) = metadata.frames()? else { return Ok(None) };
        let (header, exact, lines_before) = Default::default();
        let mut plan = Self { metadata, query, frames, header, exact, lines_before, nulls };
        let Some(header) = plan.resolve()? else { return Ok(None) };
        let tables = plan.frames.iter_mut().flat_map(|frame| &mut frame.tables);
        for table in tables.filter(|table| table.names.is_empty()) {
            table.names.clone_from(&header.names);
        }
        plan.header = header;
        Ok(Some(plan))
    }

    /// Returns a plan that writes all original lines; `None` if the tables cannot do that.
    pub(super) fn exact(
        metadata: &'h ArchiveMetadata<'a>,
        query: &'h Query,
        lines_before: u64,
    ) -> Result<Option<Self>> {
        let Some(frames) = metadata.frames()? else { return Ok(None) };
        let (header, exact, nulls) = (HeaderLine::default(), true, &[]);
        Ok(Some(Self { metadata, query, frames, header, exact, lines_before, nulls }))
    }

    /// The number of lines in all frames.
    pub(super) fn lines(&self) -> u64 {
        self.frames.iter().map(|frame| frame.map.len() as u64).sum()
    }

    /// Whether rows are JSON objects; otherwise they are delimited cells.
    pub(super) fn is_json(&self) -> bool {
        !self.metadata.groups.delimited
    }

    /// Finds the header and checks the columns of the query; `None` if the tables cannot
    /// answer it.
    fn resolve(&self) -> Result<Option<HeaderLine>> {
        let frames = &self.frames;
        // A line that continues in the next frame is a row of neither.
        let mut before = frames.iter().take(frames.len().saturating_sub(1));
        if before.any(|frame| frame.open && !frame.map.is_empty()) {
            return Ok(None);
        }
        let first = frames.iter().find(|frame| !frame.map.is_empty());
        let first = first.and_then(|frame| frame.verbatim_lines().next());
        if first.is_some_and(|line| line.starts_with(BOM)) {
            return Ok(None);
        }
        let mut header = HeaderLine::default();
        if !self.is_json() {
            let Some((line, is_row)) = self.first_line()? else { return Ok(None) };
            let Some(dialect) = frames.iter().find_map(|frame| frame.dialect.clone()) else {
                return Ok(None);
            };
            let fields = dialect.fields(&line);
            let name = |field: &&[u8]| {
                if dialect.quotes {
                    fields::name(field)
                } else {
                    String::from_utf8_lossy(field).into_owned()
                }
            };
            let names: Vec<String> = fields.iter().map(name).collect();
            let mut tables = frames.iter().flat_map(|frame| &frame.tables);
            let alike = |table: &GroupedTable| {
                table.meta.columns == names.len() && table.meta.delimiter == dialect.delimiter
            };
            let mut sorted = names.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if !tables.all(alike) || sorted.len() < names.len() {
                return Ok(None);
            }
            header = HeaderLine { line: line.into_owned(), is_row, names };
        }
        let columns = self.query.columns.as_deref().unwrap_or_default();
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(*name)) {
            let why = format!("column `{twice}` is requested twice");
            return Err(Error::invalid_argument(why));
        }
        let projected = columns.iter().map(String::as_str);
        let filtered = self.query.filter.iter().flat_map(|filter| filter.columns());
        for name in projected.chain(filtered) {
            if !self.is_json() {
                if !header.names.iter().any(|known| known == name) {
                    return Err(no_column(name, &header.names));
                }
                continue;
            }
            let mut tables = frames.iter().flat_map(|frame| &frame.tables);
            if tables.clone().any(|table| table.nested.iter().any(|known| known == name)) {
                return Ok(None);
            }
            // Verbatim lines may have members that no table has.
            if !tables.any(|table| table.column(name).is_some()) && !in_some_line(frames, name) {
                return Err(no_column(name, &known_names(frames)));
            }
        }
        Ok(Some(header))
    }

    /// Returns the first line, and whether it is a row of a table.
    fn first_line(&self) -> Result<Option<(Cow<'_, [u8]>, bool)>> {
        let mut frames = self.frames.iter().enumerate();
        let Some((nth, frame)) = frames.find(|(_, frame)| !frame.map.is_empty()) else {
            return Ok(None);
        };
        if frame.map.first() == Some(&0) {
            let line = frame.verbatim_lines().next();
            return Ok(line.map(|line| (Cow::Borrowed(line), false)));
        }
        // An empty frame before this one would shift the row numbers.
        let Some(table) = frame.tables.first().filter(|_| nth == 0) else { return Ok(None) };
        let cells = table.read_row(0, &self.metadata.source, &self.metadata.context(0))?;
        Ok(Some((Cow::Owned(cells.join(&table.meta.delimiter[..])), true)))
    }

    /// Writes the selected rows, in file order.
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<QueryStats> {
        let frames = &self.frames;
        let bytes = self.metadata.source.size();
        let mut stats = QueryStats { bytes, ..Default::default() };
        let mut text = Vec::new();
        if !self.is_json() && !self.exact {
            let named = |name: &String| self.header.names.iter().position(|known| known == name);
            let dialect = frames.iter().find_map(|frame| frame.dialect.clone());
            let fields =
                dialect.map(|dialect| dialect.fields(&self.header.line)).unwrap_or_default();
            let all: Vec<usize> = match &self.query.columns {
                Some(names) => names.iter().filter_map(named).collect(),
                None => (0..fields.len()).collect(),
            };
            let syntax = self.syntax();
            let cell = |at: &usize| (fields.get(*at).copied().unwrap_or_default(), true);
            put_row(all.iter().map(cell), syntax, &mut text);
        }
        let selected = self.select_rows()?;
        let mut lines_before = self.lines_before;
        for (nth, frame) in frames.iter().enumerate() {
            let context = self.metadata.context(nth);
            let selected = selected.as_ref().and_then(|selected| selected.get(nth));
            let first = nth == 0;
            let mut scan = FrameScan { plan: self, frame, context, first, selected, lines_before };
            scan.run(&mut text, &mut stats, out)?;
            lines_before = lines_before.saturating_add(frame.map.len() as u64);
        }
        out.write_all(&text)?;
        stats.bytes_read = self.metadata.source.bytes();
        Ok(stats)
    }

    /// Writes a header with the names of the columns, and no rows.
    pub(super) fn put_names(&self, out: &mut dyn Write) -> Result<()> {
        let names = match &self.query.columns {
            Some(names) => names.clone(),
            None => known_names(&self.frames),
        };
        let mut text = Vec::new();
        put_row(names.iter().map(|name| (name.as_bytes(), false)), Syntax::Plain, &mut text);
        Ok(out.write_all(&text)?)
    }

    fn syntax(&self) -> Syntax {
        let tables = self.frames.iter().flat_map(|frame| &frame.tables);
        tables.map(|table| table.syntax).next().unwrap_or(Syntax::Csv)
    }

    /// Whether a line is the header: the first line, or the same line at the start of an
    /// appended frame.
    fn is_header(&self, line: &[u8], first_line: bool) -> bool {
        !self.is_json() && first_line && line == self.header.line
    }

    /// Finds the rows of the requested numbers in each frame; `None` if all rows are
    /// requested.
    fn select_rows(&self) -> Result<Option<Vec<SelectedRows>>> {
        let Some(numbers) = &self.query.rows else { return Ok(None) };
        let mut numbers = numbers.clone();
        numbers.sort_unstable();
        numbers.dedup();
        let mut numbers = numbers.into_iter().peekable();
        let mut number = 0_u64;
        let mut all = Vec::with_capacity(self.frames.len());
        for (nth, frame) in self.frames.iter().enumerate() {
            let mut selected =
                SelectedRows { tables: vec![Vec::new(); frame.tables.len()], lines: Vec::new() };
            let mut rows = vec![0_usize; frame.tables.len()];
            let mut verbatim = frame.verbatim_lines();
            for (at, &table) in frame.map.iter().enumerate() {
                let row = (table as usize).checked_sub(1).and_then(|table| rows.get_mut(table));
                let (is_row, row) = match row {
                    Some(next) => {
                        *next += 1;
                        (!(self.header.is_row && nth == 0 && at == 0), *next - 1)
                    }
                    None => {
                        let line = verbatim.next().unwrap_or_default();
                        let is_row = !self.is_header(line, at == 0) && self.parses(frame, line);
                        (is_row, 0)
                    }
                };
                if !is_row {
                    continue;
                }
                if numbers.next_if_eq(&number).is_some() {
                    let table = (table as usize).checked_sub(1);
                    match table.and_then(|table| selected.tables.get_mut(table)) {
                        Some(rows) => rows.push(row),
                        None => selected.lines.push(at),
                    }
                }
                number += 1;
            }
            all.push(selected);
        }
        match numbers.next() {
            Some(beyond) => {
                let why = format!("row {beyond} is out of range: the table has {number} rows");
                Err(Error::invalid_argument(why))
            }
            None => Ok(Some(all)),
        }
    }

    /// Whether a verbatim line parses as a row.
    fn parses(&self, frame: &FrameTables, line: &[u8]) -> bool {
        !line.trim_ascii().is_empty()
            && VerbatimRow::new(frame, &self.header.names, self.nulls, line).is_some()
    }
}

/// The rows of a frame that a query requests by number.
struct SelectedRows {
    /// The rows of each table.
    tables: Vec<Vec<usize>>,
    /// The verbatim lines.
    lines: Vec<usize>,
}

/// A pass over the lines of a frame.
struct FrameScan<'w> {
    plan: &'w QueryPlan<'w, 'w>,
    frame: &'w FrameTables,
    context: DecodeContext<'w>,
    /// Whether this is the first frame.
    first: bool,
    selected: Option<&'w SelectedRows>,
    /// The number of lines in the frames before this one.
    lines_before: u64,
}

/// How far the rows of a table have been written.
#[derive(Default)]
struct TableProgress {
    /// The next row of the table.
    row: usize,
    /// The next group to read.
    group: usize,
    ready: VecDeque<GroupRows>,
    current: GroupRows,
    /// The selected rows of the current group that have been written.
    taken: usize,
}

impl TableProgress {
    /// Returns how many of the next rows are in the current group and certainly not selected.
    fn unselected_rows(&self, table: &GroupedTable) -> usize {
        let within = self.row % table.meta.group_rows;
        let is_done = self.taken >= self.current.rows.len() && self.current.damage.is_none();
        if within == 0 || !is_done {
            return 0;
        }
        (table.meta.group_rows - within).min(table.rows.saturating_sub(self.row))
    }
}

impl FrameScan<'_> {
    fn run(
        &mut self,
        text: &mut Vec<u8>,
        stats: &mut QueryStats,
        out: &mut dyn Write,
    ) -> Result<()> {
        let frame = self.frame;
        stats.groups += frame.tables.iter().map(|table| table.groups as u64).sum::<u64>();
        let mut tables: Vec<TableProgress> =
            frame.tables.iter().map(|_| TableProgress::default()).collect();
        let mut verbatim = frame.verbatim_lines();
        let mut at = 0;
        while let Some(&number) = frame.map.get(at) {
            if number == 0 {
                let line = verbatim.line("verbatim line")?;
                self.line(line, at, text, stats)?;
            } else {
                let index = number as usize - 1;
                let (Some(table), Some(progress)) =
                    (frame.tables.get(index), tables.get_mut(index))
                else {
                    return Err(no_table(index));
                };
                self.row(table, index, progress, text, stats)?;
                let damage = progress.current.damage.and_then(|index| stats.damaged.get_mut(index));
                if let Some(damage) = damage {
                    damage.add(self.lines_before.saturating_add(at as u64).saturating_add(1));
                }
                // Most groups of a selective query have no selected row: skip their lines at once.
                let rest = frame.map.get(at + 1..).unwrap_or_default().iter();
                let skippable = rest.take(progress.unselected_rows(table));
                let skipped = skippable.take_while(|&&next| next == number).count();
                progress.row += skipped;
                at += skipped;
            }
            if text.len() >= BUFFER_BYTES {
                out.write_all(text)?;
                text.clear();
            }
            at += 1;
        }
        Ok(())
    }

    /// Writes the next row of a table, if it is selected.
    fn row(
        &self,
        table: &GroupedTable,
        index: usize,
        progress: &mut TableProgress,
        text: &mut Vec<u8>,
        stats: &mut QueryStats,
    ) -> Result<()> {
        if progress.row >= table.rows {
            return Err(too_many_rows(index, table.rows));
        }
        let within = progress.row % table.meta.group_rows;
        if within == 0 {
            if progress.ready.is_empty() {
                self.read_groups(table, index, progress, stats)?;
            }
            progress.current = progress.ready.pop_front().unwrap_or_default();
            progress.taken = 0;
        }
        progress.row += 1;
        let current = &progress.current;
        if current.rows.get(progress.taken) == Some(&within) {
            let start = progress.taken.checked_sub(1).and_then(|before| current.ends.get(before));
            let end = current.ends.get(progress.taken).copied().unwrap_or_default();
            text.extend_from_slice(
                current.text.get(start.copied().unwrap_or_default()..end).unwrap_or_default(),
            );
            progress.taken += 1;
            stats.rows += 1;
        }
        Ok(())
    }

    /// Reads the next groups of a table: twice as many as there are threads or concurrent
    /// reads.
    fn read_groups(
        &self,
        table: &GroupedTable,
        index: usize,
        progress: &mut TableProgress,
        stats: &mut QueryStats,
    ) -> Result<()> {
        let query = self.plan.query;
        let request = RowRequest {
            filter: query.filter.as_ref(),
            columns: query.columns.as_deref(),
            exact: self.plan.exact,
            nulls: self.plan.nulls,
        };
        let threads = self.context.threads.max(self.plan.metadata.source.concurrent_reads());
        let count = (threads * 2).min(table.groups.saturating_sub(progress.group));
        let groups: Vec<usize> = (progress.group..progress.group + count).collect();
        let work = |&group: &usize| {
            let range = table.rows_of(group);
            let selected =
                self.selected.and_then(|selected| selected.tables.get(index)).map(|rows| {
                    let start = rows.partition_point(|&row| row < range.start);
                    let end = rows.partition_point(|&row| row < range.end);
                    rows.get(start..end).unwrap_or_default().to_vec()
                });
            // The first row of the archive may be the header.
            let selected = match selected {
                None if self.first && self.plan.header.is_row && group == 0 => {
                    Some((1..range.end).collect())
                }
                selected => selected,
            };
            let source = &self.plan.metadata.source;
            Ok(table.select(group, selected.as_deref(), request, source, &self.context))
        };
        parallel::for_each(&groups, threads, work, |group, rows| {
            let rows = match rows {
                Ok(rows) => rows,
                Err(err) if query.skip_damaged && !matches!(err.kind(), ErrorKind::Io(_)) => {
                    stats.damaged.push(Damage::new(format!("group {group}: {err}")));
                    let damage = stats.damaged.len().checked_sub(1);
                    GroupRows { read: true, damage, ..GroupRows::default() }
                }
                Err(err) => return Err(err),
            };
            stats.groups_read += u64::from(rows.read);
            progress.ready.push_back(rows);
            Ok(())
        })?;
        progress.group += count;
        Ok(())
    }

    /// Writes a verbatim line, if it is a row and selected.
    fn line(
        &self,
        line: &[u8],
        at: usize,
        text: &mut Vec<u8>,
        stats: &mut QueryStats,
    ) -> Result<()> {
        let plan = self.plan;
        if plan.exact {
            text.extend_from_slice(line);
            text.push(b'\n');
            return Ok(());
        }
        let left_out =
            self.selected.is_some_and(|selected| selected.lines.binary_search(&at).is_err());
        if plan.is_header(line, at == 0) || line.trim_ascii().is_empty() || left_out {
            return Ok(());
        }
        let Some(row) = VerbatimRow::new(self.frame, &plan.header.names, plan.nulls, line) else {
            stats.odd_lines += 1;
            return Ok(());
        };
        if let Some(filter) = &plan.query.filter
            && filter.evaluate(1, &row)? != [true]
        {
            return Ok(());
        }
        row.put(plan.query.columns.as_deref(), text);
        stats.rows += 1;
        Ok(())
    }
}

/// Returns the error for a line map that names a table which does not exist.
#[cold]
fn no_table(index: usize) -> Error {
    Error::malformed("line map", format!("table {index} is out of range"))
}

/// Returns the error for a line map with more lines of a table than the table has rows.
#[cold]
fn too_many_rows(index: usize, rows: usize) -> Error {
    Error::malformed("line map", format!("names more rows of table {index} than its {rows}"))
}

/// Returns whether a verbatim line has a member of this name.
fn in_some_line(frames: &[FrameTables], name: &str) -> bool {
    let lines = frames.iter().flat_map(|frame| {
        let verbatim = frame.map.iter().filter(|&&table| table == 0).count();
        frame.verbatim_lines().take(verbatim)
    });
    let mut members = lines.filter_map(JsonMembers::of);
    members.any(|members| members.get(name).is_some())
}

/// Returns the names of all columns, without repetitions.
fn known_names(frames: &[FrameTables]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in frames.iter().flat_map(|frame| &frame.tables).flat_map(|table| &table.names) {
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
    known
}

fn no_column(name: &str, known: &[String]) -> Error {
    const MAX_SHOWN: usize = 12;
    let shown: Vec<String> = known.iter().take(MAX_SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > MAX_SHOWN { ", ..." } else { "" };
    let why = format!("column `{name}` does not exist; the columns are {}{more}", shown.join(", "));
    Error::invalid_argument(why)
}
