//! Decodes a scan without doing I/O.

use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use bytes::Bytes;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::coalesce_batches::BatchBuffer;
use super::open_table::OpenTable;
use super::plan::{GroupTask, ScanPlan};
use super::stats::{DamagedRowGroup, ScanCounter, ScanStats};
use crate::error::{ErrorKind, Result};
use crate::parallel;
use crate::reader::{RowGroupReader, RowGroupRequest};
use crate::row_selection::RowSelection;
use crate::source::{ByteSource, FetchPlan, MissingRanges, RangeCache};

/// Rows for which a predicate is evaluated at a time, if batches are smaller: formats that
/// search encoded values set up a search for each window.
const FILTER_WINDOW_ROWS: usize = 64 << 10;

/// Row groups that are fetched ahead together, at most.
const MAX_LOOKAHEAD: usize = 1024;

/// More row groups than this are fetched ahead only if they are small.
const MAX_LARGE_LOOKAHEAD: usize = 32;

/// The rows of many small row groups that are fetched ahead together, at most: what is decoded of
/// them for the predicate stays in memory.
const MAX_LOOKAHEAD_ROWS: u64 = 1 << 20;

/// What a [`ScanDecoder`] needs or has.
#[derive(Debug)]
pub enum Step {
    /// The next rows.
    Batch(RecordBatch),
    /// The byte ranges to [supply](ScanDecoder::supply) before the next step.
    Missing(Vec<Range<u64>>),
    /// All rows were returned.
    Done,
}

/// Decodes the batches of a scan, and asks for the byte ranges that it needs.
///
/// A table over a [`RangeCache`] without a source below does no I/O of its own. An async
/// engine fetches the ranges of [`Step::Missing`] in any way and at any time.
pub struct ScanDecoder {
    plan: Arc<ScanPlan>,
    source: Arc<RangeCache>,
    tasks: VecDeque<GroupTask>,
    open: VecDeque<OpenGroup>,
    /// How many open row groups need each range that was fetched for them. Row groups share
    /// dictionaries and blocks.
    users: HashMap<Range<u64>, usize>,
    buffer: BatchBuffer,
    left: u64,
    threads: usize,
    /// Bytes of memory that this decoder should hold at most.
    memory: u64,
    stats: ScanStats,
    counter: ScanCounter,
}

/// A row group that is being read.
struct OpenGroup {
    task: GroupTask,
    reader: Box<dyn RowGroupReader>,
    /// The row before which the reader stands, and the index of the range that it is in.
    row: u64,
    range: usize,
    window: Window,
    /// Whether the projected columns were fetched because rows match.
    is_fetched: bool,
    /// What may be held of the source for this row group.
    ranges: Vec<Range<u64>>,
}

/// The ranges that a row group needs.
#[derive(Debug, Default)]
struct GroupRanges {
    /// Those that the predicate needs, or the projection if there is no predicate.
    first: Vec<Range<u64>>,
    all: Vec<Range<u64>>,
}

/// The rows that a row group reader is at.
enum Window {
    /// Between two windows.
    None,
    /// In a window of so many rows, whose predicate has not been evaluated.
    Unfiltered(usize),
    /// In a window with these matching rows; all rows for `None`.
    Filtered(usize, Option<RowSelection>),
}

impl ScanDecoder {
    pub(super) fn new(table: &OpenTable, plan: &Arc<ScanPlan>) -> Self {
        Self::for_tasks(&table.source, plan, plan.tasks.clone(), plan.threads)
    }

    /// Returns a decoder of some of the row groups of a plan.
    pub(super) fn for_tasks(
        source: &Arc<RangeCache>,
        plan: &Arc<ScanPlan>,
        tasks: Vec<GroupTask>,
        threads: usize,
    ) -> Self {
        Self {
            plan: plan.clone(),
            source: source.clone(),
            tasks: tasks.into(),
            open: VecDeque::new(),
            users: HashMap::new(),
            buffer: BatchBuffer::new(plan.batch_size, plan.memory),
            left: plan.limit.unwrap_or(u64::MAX),
            threads,
            memory: plan.memory,
            stats: ScanStats::default(),
            counter: ScanCounter::start(source, plan.metadata),
        }
    }

    /// Sets the share of the memory of the scan that this decoder may use.
    pub(super) fn with_memory(mut self, memory: u64) -> Self {
        self.memory = memory;
        self.buffer = BatchBuffer::new(self.plan.batch_size, memory);
        self
    }

    /// Sets how many threads decode the columns of a row group at the same time.
    #[must_use]
    pub fn with_threads(mut self, threads: usize) -> Self {
        self.threads = threads.max(1);
        self
    }

    /// Returns the number of row groups that have not been opened.
    pub fn row_groups_left(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the numbers of these row groups: those that statistics do not exclude.
    pub fn remaining_row_groups(&self) -> impl Iterator<Item = usize> + '_ {
        self.tasks.iter().map(|task| task.group)
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.plan.projection.schema.clone()
    }

    /// Returns what was read and skipped so far.
    pub fn stats(&self) -> ScanStats {
        let mut stats = self.stats.clone();
        stats.row_groups = self.plan.reader.row_groups() as u64;
        stats.row_groups_pruned = self.plan.pruned;
        self.counter.count(&mut stats);
        stats
    }

    /// Adds bytes that [`Step::Missing`] asked for.
    pub fn supply(&mut self, pieces: impl IntoIterator<Item = (Range<u64>, Bytes)>) {
        self.source.supply(pieces);
    }

    /// Decodes until a batch is ready or bytes are missing.
    ///
    /// # Errors
    ///
    /// Fails for damage and limits, and if the source below the table fails.
    pub fn step(&mut self) -> Result<Step> {
        loop {
            if let Some(batch) = self.buffer.pop() {
                return Ok(Step::Batch(batch));
            }
            if self.left == 0 || (self.open.is_empty() && self.tasks.is_empty()) {
                self.buffer.flush()?;
                return Ok(self.buffer.pop().map_or(Step::Done, Step::Batch));
            }
            match self.advance() {
                Ok(()) => {}
                Err(err) => {
                    if let Some(MissingRanges(ranges)) = MissingRanges::of(&err) {
                        return Ok(Step::Missing(ranges.clone()));
                    }
                    let can_skip = self.plan.skip_damaged
                        && !matches!(err.kind(), ErrorKind::Io(_) | ErrorKind::InvalidArgument(_));
                    let damaged = self.open.pop_front().filter(|_| can_skip);
                    let Some(damaged) = damaged else { return Err(err) };
                    self.stats.damaged.push(DamagedRowGroup {
                        group: damaged.task.group,
                        rows: damaged.rows_left(),
                        error: err.to_string(),
                    });
                    self.close(&damaged);
                }
            }
        }
    }

    /// Takes one step: opens row groups, filters a window, or decodes it.
    fn advance(&mut self) -> Result<()> {
        if self.open.is_empty() {
            self.open_groups()?;
        }
        self.filter_groups()?;
        let plan = self.plan.clone();
        if plan.filter.is_some() {
            self.prefetch_matches()?;
        }
        let Some(group) = self.open.front_mut() else { return Ok(()) };
        match group.decode(&plan)? {
            None => {
                if let Some(done) = self.open.pop_front() {
                    self.close(&done);
                }
            }
            Some(batch) => {
                let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.num_rows());
                self.left = self.left.saturating_sub(rows as u64);
                self.stats.rows_returned = self.stats.rows_returned.saturating_add(rows as u64);
                self.buffer.push(batch.slice(0, rows))?;
            }
        }
        Ok(())
    }

    /// Filters the first windows of all open row groups, so that the projected columns of those
    /// that match can be fetched together.
    fn filter_groups(&mut self) -> Result<()> {
        let (plan, left) = (&self.plan, self.left);
        let mut groups: Vec<(usize, &mut OpenGroup)> = self.open.iter_mut().enumerate().collect();
        groups.retain(|(_, group)| !matches!(group.window, Window::Filtered(..)));
        let threads = self.threads.min(groups.len());
        let mut groups = groups.into_iter();
        let filter = |(index, group): (usize, &mut OpenGroup)| {
            let mut stats = ScanStats::default();
            Ok((index, group.filter(plan, left, &mut stats), stats))
        };
        let mut missing = Vec::new();
        let all = &mut self.stats;
        parallel::stream(
            threads,
            || Ok(groups.next()),
            filter,
            |(index, filtered, stats)| {
                all.add(&stats);
                match filtered {
                    Ok(()) => Ok(()),
                    Err(err) => match MissingRanges::of(&err) {
                        Some(MissingRanges(ranges)) => {
                            missing.extend_from_slice(ranges);
                            Ok(())
                        }
                        None if index == 0 => Err(err),
                        // The error is reported when the scan reaches the row group.
                        None => Ok(()),
                    },
                }
            },
        )?;
        if missing.is_empty() {
            Ok(())
        } else {
            Err(io::Error::from(MissingRanges(missing)).into())
        }
    }

    /// Drops the bytes that were fetched for a row group and that no other open row group needs.
    fn close(&mut self, done: &OpenGroup) {
        if self.source.is_resident() {
            return;
        }
        let mut ranges = self.plan.reader.ranges(done.task.group, &self.plan.all_columns());
        // Other partitions may need what this one asked for and did not decode.
        if !self.plan.reader.shares_chunks() {
            ranges.extend_from_slice(&done.ranges);
        }
        for range in &done.ranges {
            if let Entry::Occupied(mut users) = self.users.entry(range.clone()) {
                *users.get_mut() = users.get().saturating_sub(1);
                if *users.get() == 0 {
                    users.remove();
                }
            }
        }
        ranges.retain(|range| !self.users.contains_key(range));
        self.source.release(&ranges);
    }

    /// Fetches what the next row groups need first, and opens them.
    fn open_groups(&mut self) -> Result<()> {
        let plan = self.plan.clone();
        let columns = plan.all_columns();
        let next = if self.source.is_resident() {
            vec![GroupRanges::default()]
        } else {
            let next = self.next_groups(&columns);
            self.prefetch_first(&next)?;
            next
        };
        let tasks: Vec<GroupTask> = self.tasks.drain(..next.len().min(self.tasks.len())).collect();
        for (task, GroupRanges { all: ranges, .. }) in tasks.into_iter().zip(next) {
            let request = self.request(&task, &columns);
            let reader = plan.reader.clone().open_row_group(task.group, &request)?;
            self.stats.row_groups_read += 1;
            for range in &ranges {
                *self.users.entry(range.clone()).or_default() += 1;
            }
            let (row, range, window, is_fetched) = (0, 0, Window::None, false);
            self.open.push_back(OpenGroup { task, reader, row, range, window, is_fetched, ranges });
        }
        Ok(())
    }

    /// Returns the ranges of the row groups that are fetched together next.
    fn next_groups(&self, columns: &[usize]) -> Vec<GroupRanges> {
        let plan = &self.plan;
        let first = plan.filter.as_ref().map(|filter| filter.columns());
        let (mut fetch, mut rows) = (FetchPlan::new(self.source.read_cost()), 0_u64);
        let mut next = Vec::new();
        for (index, task) in self.tasks.iter().take(MAX_LOOKAHEAD).enumerate() {
            let request = self.request(task, columns);
            let all = plan.reader.first_ranges(task.group, columns, &request);
            let mut first = match first {
                Some(first) => plan.reader.first_ranges(task.group, first, &request),
                None => all.clone(),
            };
            fetch.add(&first);
            // A scan that stops early needs no row group beyond its limit.
            let is_beyond = plan.filter.is_none() && rows >= self.left;
            let is_far = index >= MAX_LARGE_LOOKAHEAD && rows >= MAX_LOOKAHEAD_ROWS;
            if index > 0 && (is_beyond || is_far || fetch.bytes() > self.memory / 4) {
                break;
            }
            // A row group larger than the memory fetches its own ranges as it goes.
            if total(&first) > self.memory / 2 {
                first.clear();
            }
            let of_task = task.ranges.iter().map(|range| range.end.saturating_sub(range.start));
            rows = of_task.fold(rows, u64::saturating_add);
            next.push(GroupRanges { first, all });
        }
        next
    }

    /// Fetches the ranges that row groups need first, and all that they need if that costs
    /// less than another round trip.
    fn prefetch_first(&self, groups: &[GroupRanges]) -> Result<()> {
        let first = distinct(groups.iter().map(|group| &group.first));
        if self.plan.filter.is_none() {
            return Ok(self.source.prefetch(&first)?);
        }
        let all = distinct(groups.iter().map(|group| &group.all));
        let (now, later) = (self.source.plan(&all), self.source.plan(&first));
        let round_trip = self.source.read_cost();
        let is_cheaper = self.source.is_remote()
            && now.bytes() <= self.memory / 4
            && now.cost() <= later.cost().saturating_add(round_trip);
        Ok(self.source.prefetch_with(if is_cheaper { &all } else { &first }, &all)?)
    }

    /// Returns how a row group will be read.
    fn request<'c>(&'c self, task: &GroupTask, columns: &'c [usize]) -> RowGroupRequest<'c> {
        let stop = task.ranges.last().map(|range| range.end);
        let first = task.ranges.first().map_or(0, |range| range.start);
        let end = match (stop, self.plan.filter.is_none()) {
            (Some(stop), true) => Some(stop.min(first.saturating_add(self.left))),
            (stop, _) => stop,
        };
        RowGroupRequest::new(columns)
            .with_filter_columns(self.plan.filter.as_ref().map(|filter| filter.columns()))
            .with_threads(self.threads)
            .with_dictionaries(self.plan.dictionaries)
            .with_end(end.filter(|&end| end < task.rows))
            .with_memory(self.memory)
    }

    /// Fetches the projected columns of the open row groups that have matching rows.
    fn prefetch_matches(&mut self) -> Result<()> {
        if self.source.is_resident() || self.open.front().is_none_or(|group| group.is_fetched) {
            return Ok(());
        }
        let needs_fetch = |group: &OpenGroup| match &group.window {
            _ if group.is_fetched => false,
            Window::Filtered(_, Some(rows)) => !rows.is_empty(),
            Window::Filtered(_, None) => true,
            _ => false,
        };
        let all_columns = self.plan.all_columns();
        let (mut ranges, mut bytes, mut fetched) = (Vec::new(), 0_u64, Vec::new());
        for (index, group) in self.open.iter().enumerate().filter(|(_, it)| needs_fetch(it)) {
            let request = self.request(&group.task, &all_columns);
            let (reader, columns) = (&self.plan.reader, &self.plan.projection.columns);
            let wanted = reader.first_ranges(group.task.group, columns, &request);
            bytes = bytes.saturating_add(total(&wanted));
            if bytes > self.memory / 2 {
                break;
            }
            ranges.extend(wanted);
            fetched.push(index);
        }
        self.source.prefetch(&ranges)?;
        for index in fetched {
            if let Some(group) = self.open.get_mut(index) {
                group.is_fetched = true;
            }
        }
        Ok(())
    }
}

impl OpenGroup {
    /// Returns the rows of the table that have not been returned.
    fn rows_left(&self) -> Range<u64> {
        let window = match &self.window {
            Window::None => 0,
            Window::Unfiltered(rows) | Window::Filtered(rows, _) => *rows as u64,
        };
        let first = self.task.first_row.saturating_add(self.row.saturating_sub(window));
        first..self.task.first_row.saturating_add(self.task.rows)
    }

    /// Moves to the next window, unless there is one, and evaluates the predicate.
    fn filter(&mut self, plan: &ScanPlan, left: u64, stats: &mut ScanStats) -> Result<()> {
        if let Window::None = self.window {
            let Some(range) = self.task.ranges.get(self.range) else { return Ok(()) };
            if self.row < range.start {
                let skipped = self.reader.skip(range.start - self.row)?;
                self.row = self.row.saturating_add(skipped);
            }
            let mut max_rows = if plan.filter.is_some() {
                plan.batch_size.max(FILTER_WINDOW_ROWS) as u64
            } else {
                (plan.batch_size as u64).min(left)
            };
            max_rows = max_rows.min(range.end.saturating_sub(self.row));
            let rows = self.reader.next_window(usize::try_from(max_rows).unwrap_or(usize::MAX))?;
            self.row = self.row.saturating_add(rows as u64);
            if rows == 0 || self.row >= range.end {
                self.range += 1;
            }
            if rows == 0 {
                return Ok(());
            }
            stats.rows_read = stats.rows_read.saturating_add(rows as u64);
            self.window = Window::Unfiltered(rows);
        }
        if let Window::Unfiltered(rows) = self.window {
            let matches = match &plan.filter {
                None => None,
                Some(filter) => {
                    let matches = filter.matches(rows, self.reader.as_mut())?;
                    Some(RowSelection::from_truths(&matches)).filter(|found| found.len() < rows)
                }
            };
            self.window = Window::Filtered(rows, matches);
        }
        Ok(())
    }

    /// Decodes the projected columns of the window; `None` at the end of the row group.
    fn decode(&mut self, plan: &ScanPlan) -> Result<Option<RecordBatch>> {
        let (rows, selection) = match &self.window {
            Window::Filtered(rows, selection) => (*rows, selection.as_ref()),
            _ if self.range >= self.task.ranges.len() => return Ok(None),
            _ => return Ok(Some(RecordBatch::new_empty(plan.projection.schema.clone()))),
        };
        let batch = match selection {
            Some(selection) if selection.is_empty() => {
                RecordBatch::new_empty(plan.projection.schema.clone())
            }
            selection => {
                let arrays = self.reader.read(&plan.projection.columns, selection)?;
                plan.projection.batch(arrays, selection.map_or(rows, RowSelection::len))?
            }
        };
        self.window = Window::None;
        Ok(Some(batch))
    }
}

/// Returns how many bytes ranges have.
fn total(ranges: &[Range<u64>]) -> u64 {
    let lengths = ranges.iter().map(|range| range.end.saturating_sub(range.start));
    lengths.fold(0, u64::saturating_add)
}

/// Returns the ranges of several row groups, those that they share once.
fn distinct<'r>(ranges: impl Iterator<Item = &'r Vec<Range<u64>>>) -> Vec<Range<u64>> {
    let mut ranges: Vec<Range<u64>> = ranges.flatten().cloned().collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    ranges.dedup();
    ranges
}

impl std::fmt::Debug for ScanDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScanDecoder").field("plan", &self.plan).finish_non_exhaustive()
    }
}
