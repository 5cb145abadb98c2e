//! Resolves a request against a table.

use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashSet;

use super::filter::Filter;
use super::open_table::OpenTable;
use super::options::{RequestedRows, ScanOptions};
use super::projected_columns::ProjectedColumns;
use super::stats::ReadCounts;
use crate::error::{Error, Result};
use crate::options::resolve_threads;
use crate::reader::{Dictionaries, Reader};
use crate::source::ByteSource;

/// A scan whose columns and rows have been found in the table.
#[derive(Debug)]
pub(super) struct ScanPlan {
    pub(super) reader: Arc<dyn Reader>,
    pub(super) projection: ProjectedColumns,
    pub(super) filter: Option<Filter>,
    pub(super) tasks: Vec<GroupTask>,
    pub(super) pruned: u64,
    /// What was read to open the table and to plan the scan.
    pub(super) metadata: ReadCounts,
    /// The order and repetition of the rows, if the caller named single rows.
    pub(super) order: Option<Vec<u64>>,
    pub(super) limit: Option<u64>,
    pub(super) batch_size: usize,
    pub(super) threads: usize,
    pub(super) memory: u64,
    pub(super) skip_damaged: bool,
    /// The columns that are returned as dictionaries.
    pub(super) dictionaries: Dictionaries,
}

/// A row group to read.
#[derive(Clone, Debug)]
pub(super) struct GroupTask {
    pub(super) group: usize,
    /// The number of the first row of the row group in the table.
    pub(super) first_row: u64,
    pub(super) rows: u64,
    /// The rows to return, counted from the first row of the row group: ranges that ascend
    /// and do not overlap.
    pub(super) ranges: Vec<Range<u64>>,
}

impl ScanPlan {
    pub(super) fn new(table: &OpenTable, options: &ScanOptions) -> Result<Arc<Self>> {
        let reader = match options.partition {
            Some(_) => table.partition_reader()?,
            None => table.reader()?,
        };
        let full = reader.schema();
        let dictionaries = options.dictionaries;
        let returned = reader.dictionary_schema(dictionaries);
        let projection = ProjectedColumns::find(&returned, options.columns.as_deref())?;
        let filter =
            options.filter.as_ref().map(|filter| Filter::new(filter, &full)).transpose()?;
        let (ranges, order) = row_ranges(options, reader.rows())?;
        let mut tasks = tasks(reader.as_ref(), &ranges);
        let before = tasks.len();
        let (mut metadata, reads_before) = (table.metadata_reads(), ReadCounts::of(&table.source));
        if let Some(filter) = &filter {
            prune(reader.as_ref(), filter, &mut tasks);
            // What the metadata exclude needs no dictionaries, and most formats have none.
            let ranges = reader.statistics_ranges(filter.columns());
            if !tasks.is_empty() && !ranges.is_empty() {
                let known = (reader.as_ref(), filter, tasks.as_slice());
                let ahead = fetch_statistics(table, known, ranges, options.memory)?;
                reader.load_statistics(filter.columns())?;
                prune(reader.as_ref(), filter, &mut tasks);
                release_pruned(table, reader.as_ref(), filter, &tasks, ahead);
            }
        }
        metadata.add_since(reads_before, &table.source);
        let is_ordered = order.is_some();
        let pruned = before.saturating_sub(tasks.len()) as u64;
        Ok(Arc::new(Self {
            projection,
            filter,
            tasks,
            pruned,
            metadata,
            order,
            // The order of single rows has the limit already.
            limit: options.limit.filter(|_| !is_ordered),
            batch_size: options.batch_size,
            threads: resolve_threads(options.threads),
            memory: options.memory,
            skip_damaged: options.skip_damaged,
            dictionaries,
            reader,
        }))
    }

    /// Returns all columns that the scan reads, each once.
    pub(super) fn all_columns(&self) -> Vec<usize> {
        let mut all = self.projection.columns.clone();
        all.extend(self.filter.iter().flat_map(|filter| filter.columns()));
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Leaves out the row groups that known statistics exclude.
fn prune(reader: &dyn Reader, filter: &Filter, tasks: &mut Vec<GroupTask>) {
    let pruner = filter.pruner();
    tasks.retain(|task| {
        let statistics = reader.pruning_statistics(task.group);
        statistics.is_none_or(|statistics| pruner.may_match(statistics.as_ref()))
    });
}

/// Fetches what a predicate needs beside the metadata to skip row groups, which is `ranges`.
///
/// From a remote source it also fetches the tested columns of all row groups, if that costs
/// less than another round trip, and returns their ranges.
fn fetch_statistics(
    table: &OpenTable,
    (reader, filter, tasks): (&dyn Reader, &Filter, &[GroupTask]),
    mut ranges: Vec<Range<u64>>,
    memory: u64,
) -> Result<Vec<Range<u64>>> {
    let source = &table.source;
    let alone = source.plan(&ranges);
    if source.is_resident() || alone.reads().is_empty() {
        return Ok(Vec::new());
    }
    let mut ahead = Vec::new();
    if source.is_remote() {
        let tested = tasks.iter().flat_map(|task| reader.ranges(task.group, filter.columns()));
        let known: HashSet<&Range<u64>> = ranges.iter().collect();
        ahead = tested.filter(|range| !known.contains(range)).collect();
        let both = source.plan(&[ranges.as_slice(), &ahead].concat());
        let most = alone.cost().saturating_add(source.read_cost());
        if both.cost() > most || both.bytes() > memory / 4 {
            ahead.clear();
        }
    }
    ranges.extend_from_slice(&ahead);
    source.prefetch(&ranges)?;
    Ok(ahead)
}

/// Drops what was fetched ahead of row groups that the statistics exclude.
fn release_pruned(
    table: &OpenTable,
    reader: &dyn Reader,
    filter: &Filter,
    tasks: &[GroupTask],
    mut ahead: Vec<Range<u64>>,
) {
    if ahead.is_empty() {
        return;
    }
    let wanted = tasks.iter().flat_map(|task| reader.ranges(task.group, filter.columns()));
    let wanted: HashSet<Range<u64>> = wanted.collect();
    ahead.retain(|range| !wanted.contains(range));
    table.source.release(&ahead);
}

/// Rows to read as ascending ranges, and the order in which to return single rows.
type OrderedRows = (Vec<Range<u64>>, Option<Vec<u64>>);

/// Finds the rows of a table with `rows` rows that a scan asks for.
fn row_ranges(options: &ScanOptions, rows: u64) -> Result<OrderedRows> {
    let part = options.partition.as_ref().map_or(0..rows, |part| part.rows.clone());
    let clip = |range: &Range<u64>| {
        let start = range.start.max(part.start).min(rows);
        start..range.end.min(part.end).min(rows).max(start)
    };
    match &options.rows {
        None => Ok((vec![clip(&part)], None)),
        Some(RequestedRows::Range(range)) => Ok((vec![clip(range)], None)),
        Some(RequestedRows::Numbers(_)) if options.filter.is_some() || options.skip_damaged => {
            let why = "single rows cannot be combined with a predicate or with skipping damage";
            Err(Error::invalid_argument(why))
        }
        Some(RequestedRows::Numbers(numbers)) => {
            let limit = options.limit.and_then(|limit| usize::try_from(limit).ok());
            let numbers = numbers.get(..limit.unwrap_or(usize::MAX).min(numbers.len()));
            let numbers = numbers.unwrap_or_default();
            if let Some(&beyond) = numbers.iter().find(|&&row| row >= rows) {
                let plural = if rows == 1 { "" } else { "s" };
                let why = format!("row {beyond} is out of range: the table has {rows} row{plural}");
                return Err(Error::invalid_argument(why));
            }
            let mut sorted = numbers.to_vec();
            sorted.sort_unstable();
            sorted.dedup();
            let runs = sorted.chunk_by(|one, next| one.checked_add(1) == Some(*next));
            let ranges = runs.filter_map(|run| Some(*run.first()?..run.last()?.saturating_add(1)));
            Ok((ranges.map(|range| clip(&range)).collect(), Some(numbers.to_vec())))
        }
    }
}

/// Returns the row groups that have some of these rows.
fn tasks(reader: &dyn Reader, ranges: &[Range<u64>]) -> Vec<GroupTask> {
    let mut tasks = Vec::new();
    let mut first_row = 0_u64;
    let mut ranges = ranges.iter().filter(|range| !range.is_empty()).peekable();
    for group in 0..reader.row_groups() {
        let rows = reader.row_group_rows(group);
        let end = first_row.saturating_add(rows);
        let mut inside = Vec::new();
        while let Some(range) = ranges.peek() {
            if range.start >= end {
                break;
            }
            let start = range.start.max(first_row);
            let stop = range.end.min(end);
            if start < stop {
                inside.push(start - first_row..stop - first_row);
            }
            if range.end > end {
                break;
            }
            ranges.next();
        }
        if !inside.is_empty() {
            tasks.push(GroupTask { group, first_row, rows, ranges: inside });
        }
        first_row = end;
    }
    tasks
}
