//! A query from its question to rows of text.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::Write;

use hashbrown::HashSet;

use super::frame_tables::FrameTables;
use super::grouped_table::{GroupRows, GroupedTable, RowRequest, put_row};
use super::metadata::ArchiveMetadata;
use super::verbatim_row::VerbatimRow;
use super::{Damage, Query, QueryStats};
use crate::cell_syntax::Syntax;
use crate::codecs::{Codec, DecodeContext};
use crate::fields;
use crate::json_scan::Members;
use hypostyle_core::error::{Error, ErrorKind, Result};
use hypostyle_core::parallel;
use hypostyle_core::text::BOM;

/// Bytes of rows that are collected before they are handed on.
const PAGE: usize = 1 << 18;

/// A query that the archive can answer by itself.
pub(super) struct QueryPlan<'h, 'a> {
    metadata: &'h ArchiveMetadata<'a>,
    query: &'h Query,
    frames: Vec<FrameTables<'h>>,
    head: HeaderLine,
    /// Whether lines are wanted as they were.
    exact: bool,
    /// Lines that come before those of the first frame here.
    lines_before: u64,
    /// Cells that mean null to the filter.
    nulls: &'h [String],
}

/// The line of names, for delimited text.
#[derive(Default)]
struct HeaderLine {
    line: Vec<u8>,
    /// Whether it is the first row of the first table.
    is_row: bool,
    names: Vec<String>,
}

impl<'h, 'a> QueryPlan<'h, 'a> {
    /// A plan for an archive; `None` if it cannot be asked that.
    pub(super) fn new(
        metadata: &'h ArchiveMetadata<'a>,
        query: &'h Query,
        nulls: &'h [String],
    ) -> Result<Option<Self>> {
        let Some(frames) = metadata.frames()? else { return Ok(None) };
        let (head, exact, lines_before) = Default::default();
        let mut plan = Self { metadata, query, frames, head, exact, lines_before, nulls };
        let Some(head) = plan.resolve()? else { return Ok(None) };
        let sets = plan.frames.iter_mut().flat_map(|frame| &mut frame.sets);
        for set in sets.filter(|set| set.names.is_empty()) {
            set.names.clone_from(&head.names);
        }
        plan.head = head;
        Ok(Some(plan))
    }

    /// A plan for all lines as they were; `None` if that is not possible.
    pub(super) fn exact(
        metadata: &'h ArchiveMetadata<'a>,
        query: &'h Query,
        lines_before: u64,
    ) -> Result<Option<Self>> {
        let Some(frames) = metadata.frames()? else { return Ok(None) };
        let (head, exact, nulls) = (HeaderLine::default(), true, &[]);
        Ok(Some(Self { metadata, query, frames, head, exact, lines_before, nulls }))
    }

    /// Lines of all frames.
    pub(super) fn lines(&self) -> u64 {
        self.frames.iter().map(|frame| frame.map.len() as u64).sum()
    }

    pub(super) fn is_json(&self) -> bool {
        self.metadata.archive.codec() != Codec::QColumnar
    }

    /// Finds the names of columns; `None` if what is asked for is not to be had from
    /// the tables as they are.
    fn resolve(&self) -> Result<Option<HeaderLine>> {
        let frames = &self.frames;
        // A line that goes on in the next frame is in neither.
        let mut before = frames.iter().take(frames.len().saturating_sub(1));
        if before.any(|frame| frame.open && !frame.map.is_empty()) {
            return Ok(None);
        }
        let first = frames.iter().find(|frame| !frame.map.is_empty());
        let first = first.and_then(|frame| frame.verbatim.clone().next());
        if first.is_some_and(|line| line.starts_with(BOM)) {
            return Ok(None);
        }
        let mut head = HeaderLine::default();
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
            let mut sets = frames.iter().flat_map(|frame| &frame.sets);
            let alike = |set: &GroupedTable<'_>| {
                set.meta.columns == names.len() && set.meta.delimiter == dialect.delimiter
            };
            let mut sorted = names.clone();
            sorted.sort_unstable();
            sorted.dedup();
            if !sets.all(alike) || sorted.len() < names.len() {
                return Ok(None);
            }
            head = HeaderLine { line: line.into_owned(), is_row, names };
        }
        let columns = self.query.columns.as_deref().unwrap_or_default();
        let mut seen = HashSet::new();
        if let Some(twice) = columns.iter().find(|name| !seen.insert(*name)) {
            let why = format!("column `{twice}` is asked for twice");
            return Err(Error::invalid_argument(why));
        }
        let asked = columns.iter().map(String::as_str);
        let filtered = self.query.filter.iter().flat_map(|filter| filter.columns());
        for name in asked.chain(filtered) {
            if !self.is_json() {
                if !head.names.iter().any(|known| known == name) {
                    return Err(no_column(name, &head.names));
                }
                continue;
            }
            let mut sets = frames.iter().flat_map(|frame| &frame.sets);
            if sets.clone().any(|set| set.nested.iter().any(|known| known == name)) {
                return Ok(None);
            }
            // Lines that are in no table may have members of their own.
            if !sets.any(|set| set.column(name).is_some()) && !in_some_line(frames, name) {
                return Err(no_column(name, &known_names(frames)));
            }
        }
        Ok(Some(head))
    }

    /// The first line, and whether it is a row of a table.
    fn first_line(&self) -> Result<Option<(Cow<'_, [u8]>, bool)>> {
        let mut frames = self.frames.iter().enumerate();
        let Some((nth, frame)) = frames.find(|(_, frame)| !frame.map.is_empty()) else {
            return Ok(None);
        };
        if frame.map.first() == Some(&0) {
            let line = frame.verbatim.clone().next();
            return Ok(line.map(|line| (Cow::Borrowed(line), false)));
        }
        // A frame without lines in front of it would mix up the numbers of rows.
        let Some(set) = frame.sets.first().filter(|_| nth == 0) else { return Ok(None) };
        let cells = set.row(0, &self.metadata.source, &self.metadata.context(0))?;
        Ok(Some((Cow::Owned(cells.join(set.meta.delimiter)), true)))
    }

    /// Writes the rows that are kept.
    pub(super) fn run(&self, out: &mut dyn Write) -> Result<QueryStats> {
        let frames = &self.frames;
        let bytes = self.metadata.archive.source().size();
        let mut stats = QueryStats { bytes, ..Default::default() };
        let mut text = Vec::new();
        if !self.is_json() && !self.exact {
            let named = |name: &String| self.head.names.iter().position(|known| known == name);
            let dialect = frames.iter().find_map(|frame| frame.dialect.clone());
            let fields = dialect.map(|dialect| dialect.fields(&self.head.line)).unwrap_or_default();
            let all: Vec<usize> = match &self.query.columns {
                Some(names) => names.iter().filter_map(named).collect(),
                None => (0..fields.len()).collect(),
            };
            let syntax = self.syntax();
            let cell = |at: &usize| (fields.get(*at).copied().unwrap_or_default(), true);
            put_row(all.iter().map(cell), syntax, &mut text);
        }
        let chosen = self.choose()?;
        let mut lines_before = self.lines_before;
        for (nth, frame) in frames.iter().enumerate() {
            let context = self.metadata.context(nth);
            let chosen = chosen.as_ref().and_then(|chosen| chosen.get(nth));
            let first = nth == 0;
            let mut walk = FrameScan { plan: self, frame, context, first, chosen, lines_before };
            walk.run(&mut text, &mut stats, out)?;
            lines_before = lines_before.saturating_add(frame.map.len() as u64);
        }
        out.write_all(&text)?;
        stats.bytes_read = self.metadata.source.bytes();
        Ok(stats)
    }

    /// Writes the names of the columns alone.
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
        let sets = self.frames.iter().flat_map(|frame| &frame.sets);
        sets.map(|set| set.syntax).next().unwrap_or(Syntax::Csv)
    }

    /// Whether a line of a frame is the line of names: the first of all, or the
    /// same at the start of what was appended.
    fn is_header(&self, line: &[u8], first_line: bool) -> bool {
        !self.is_json() && first_line && line == self.head.line
    }

    /// For each frame and table the rows of the numbers that were asked for, and
    /// for each frame the lines that are in no table.
    fn choose(&self) -> Result<Option<Vec<SelectedRows>>> {
        let Some(asked) = &self.query.rows else { return Ok(None) };
        let mut asked = asked.clone();
        asked.sort_unstable();
        asked.dedup();
        let mut asked = asked.into_iter().peekable();
        let mut number = 0_u64;
        let mut all = Vec::with_capacity(self.frames.len());
        for (nth, frame) in self.frames.iter().enumerate() {
            let mut chosen =
                SelectedRows { sets: vec![Vec::new(); frame.sets.len()], lines: Vec::new() };
            let mut rows = vec![0_usize; frame.sets.len()];
            let mut verbatim = frame.verbatim.clone();
            for (at, &table) in frame.map.iter().enumerate() {
                let row = (table as usize).checked_sub(1).and_then(|table| rows.get_mut(table));
                let (is_row, row) = match row {
                    Some(next) => {
                        *next += 1;
                        (!(self.head.is_row && nth == 0 && at == 0), *next - 1)
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
                if asked.next_if_eq(&number).is_some() {
                    let set = (table as usize).checked_sub(1);
                    match set.and_then(|set| chosen.sets.get_mut(set)) {
                        Some(rows) => rows.push(row),
                        None => chosen.lines.push(at),
                    }
                }
                number += 1;
            }
            all.push(chosen);
        }
        match asked.next() {
            Some(beyond) => {
                let why = match number.checked_sub(1) {
                    Some(last) => format!("there is no row {beyond}: rows are 0 to {last}"),
                    None => format!("there is no row {beyond}, nor any other"),
                };
                Err(Error::invalid_argument(why))
            }
            None => Ok(Some(all)),
        }
    }

    /// Whether a line that is in no table is a row all the same.
    fn parses(&self, frame: &FrameTables<'_>, line: &[u8]) -> bool {
        !line.trim_ascii().is_empty()
            && VerbatimRow::new(frame, &self.head.names, self.nulls, line).is_some()
    }
}

/// Rows by number.
struct SelectedRows {
    /// For each table.
    sets: Vec<Vec<usize>>,
    /// Lines that are in none.
    lines: Vec<usize>,
}

/// A way through the lines of a frame.
struct FrameScan<'w> {
    plan: &'w QueryPlan<'w, 'w>,
    frame: &'w FrameTables<'w>,
    context: DecodeContext<'w>,
    first: bool,
    chosen: Option<&'w SelectedRows>,
    /// Lines of the frames before this one.
    lines_before: u64,
}

/// How far the rows of a table have come.
#[derive(Default)]
struct TableProgress {
    row: usize,
    group: usize,
    ready: VecDeque<GroupRows>,
    now: GroupRows,
    /// Rows of the group at hand that have been put out.
    taken: usize,
}

impl FrameScan<'_> {
    fn run(
        &mut self,
        text: &mut Vec<u8>,
        stats: &mut QueryStats,
        out: &mut dyn Write,
    ) -> Result<()> {
        let frame = self.frame;
        stats.groups += frame.sets.iter().map(|set| set.groups as u64).sum::<u64>();
        let mut tables: Vec<TableProgress> =
            frame.sets.iter().map(|_| TableProgress::default()).collect();
        let mut verbatim = frame.verbatim.clone();
        for (at, &table) in frame.map.iter().enumerate() {
            if table == 0 {
                let line = verbatim.line("verbatim line")?;
                self.line(line, at, text, stats)?;
            } else {
                let index = table as usize - 1;
                let (Some(set), Some(progress)) = (frame.sets.get(index), tables.get_mut(index))
                else {
                    return Err(Error::malformed("line map", format!("there is no table {index}")));
                };
                self.row(set, index, progress, text, stats)?;
                let damage = progress.now.damage.and_then(|index| stats.damaged.get_mut(index));
                if let Some(damage) = damage {
                    damage.add(self.lines_before.saturating_add(at as u64).saturating_add(1));
                }
            }
            if text.len() >= PAGE {
                out.write_all(text)?;
                text.clear();
            }
        }
        Ok(())
    }

    /// The next row of a table.
    fn row(
        &self,
        set: &GroupedTable<'_>,
        index: usize,
        progress: &mut TableProgress,
        text: &mut Vec<u8>,
        stats: &mut QueryStats,
    ) -> Result<()> {
        if progress.row >= set.rows {
            let why = format!("table {index} has {} rows, and more are wanted", set.rows);
            return Err(Error::malformed("line map", why));
        }
        let within = progress.row % set.meta.group_rows;
        if within == 0 {
            if progress.ready.is_empty() {
                self.read_on(set, index, progress, stats)?;
            }
            progress.now = progress.ready.pop_front().unwrap_or_default();
            progress.taken = 0;
        }
        progress.row += 1;
        let now = &progress.now;
        if now.rows.get(progress.taken) == Some(&within) {
            let start = progress.taken.checked_sub(1).and_then(|before| now.ends.get(before));
            let end = now.ends.get(progress.taken).copied().unwrap_or_default();
            text.extend_from_slice(
                now.text.get(start.copied().unwrap_or_default()..end).unwrap_or_default(),
            );
            progress.taken += 1;
            stats.rows += 1;
        }
        Ok(())
    }

    /// Reads the next groups of a table, as many as there are threads for, or as the source
    /// gives at the same time.
    fn read_on(
        &self,
        set: &GroupedTable<'_>,
        index: usize,
        progress: &mut TableProgress,
        stats: &mut QueryStats,
    ) -> Result<()> {
        let query = self.plan.query;
        let wanted = RowRequest {
            filter: query.filter.as_ref(),
            columns: query.columns.as_deref(),
            exact: self.plan.exact,
            nulls: self.plan.nulls,
        };
        let threads = self.context.threads.max(self.plan.metadata.source.at_once());
        let count = (threads * 2).min(set.groups.saturating_sub(progress.group));
        let groups: Vec<usize> = (progress.group..progress.group + count).collect();
        let work = |&group: &usize| {
            let range = set.rows_of(group);
            let chosen = self.chosen.and_then(|chosen| chosen.sets.get(index)).map(|rows| {
                let start = rows.partition_point(|&row| row < range.start);
                let end = rows.partition_point(|&row| row < range.end);
                rows.get(start..end).unwrap_or_default().to_vec()
            });
            // The first row of all may be the line of names.
            let chosen = match chosen {
                None if self.first && self.plan.head.is_row && group == 0 => {
                    Some((1..range.end).collect())
                }
                chosen => chosen,
            };
            Ok(set.keep(
                group,
                chosen.as_deref(),
                wanted,
                &self.plan.metadata.source,
                &self.context,
            ))
        };
        parallel::for_each(&groups, threads, work, |group, kept| {
            let kept = match kept {
                Ok(kept) => kept,
                Err(err) if query.skip_damaged && !matches!(err.kind(), ErrorKind::Io(_)) => {
                    stats.damaged.push(Damage::new(format!("group {group}: {err}")));
                    let damage = stats.damaged.len().checked_sub(1);
                    GroupRows { read: true, damage, ..GroupRows::default() }
                }
                Err(err) => return Err(err),
            };
            stats.groups_read += u64::from(kept.read);
            progress.ready.push_back(kept);
            Ok(())
        })?;
        progress.group += count;
        Ok(())
    }

    /// A line that is in no table.
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
        let left_out = self.chosen.is_some_and(|chosen| chosen.lines.binary_search(&at).is_err());
        if plan.is_header(line, at == 0) || line.trim_ascii().is_empty() || left_out {
            return Ok(());
        }
        let Some(row) = VerbatimRow::new(self.frame, &plan.head.names, plan.nulls, line) else {
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

/// Whether a line that is in no table has a member of this name.
fn in_some_line(frames: &[FrameTables<'_>], name: &str) -> bool {
    let lines = frames.iter().flat_map(|frame| {
        let verbatim = frame.map.iter().filter(|&&table| table == 0).count();
        frame.verbatim.clone().take(verbatim)
    });
    let mut members = lines.filter_map(Members::of);
    members.any(|members| members.get(name).is_some())
}

/// The names of all columns, each once.
fn known_names(frames: &[FrameTables<'_>]) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in frames.iter().flat_map(|frame| &frame.sets).flat_map(|set| &set.names) {
        if !known.contains(name) {
            known.push(name.clone());
        }
    }
    known
}

fn no_column(name: &str, known: &[String]) -> Error {
    const SHOWN: usize = 12;
    let shown: Vec<String> = known.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    let more = if known.len() > SHOWN { ", ..." } else { "" };
    let why = format!("there is no column `{name}`; there are {}{more}", shown.join(", "));
    Error::invalid_argument(why)
}
