//! Scans: batches of some columns and rows of a table, whatever it is stored in.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use hypostyle::RowSelection;
use hypostyle::formats::Reader;
use hypostyle::predicate::{BatchColumns, Predicate};

use super::TableSource;
use crate::failure::Result;

/// Maximum number of rows in a batch of a file that is decoded whole.
pub(super) const BATCH_ROWS: usize = 64 << 10;

/// The rows that a scan returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowFilter<'a> {
    /// Rows by number: ascending ranges that do not overlap.
    Ranges(&'a [Range<u64>]),
    /// Rows for which the predicate is true.
    Predicate(&'a Predicate),
}

/// All rows.
pub(crate) const ALL_ROWS: RowFilter<'static> = {
    const EVERYTHING: Range<u64> = 0..u64::MAX;
    RowFilter::Ranges(&[EVERYTHING])
};

/// How much of a file a scan read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ScanStats {
    /// Chunks in the file; 0 for a file that is read sequentially.
    pub(crate) chunks: usize,
    /// Chunks that were read.
    pub(crate) chunks_read: usize,
    /// Rows that the scan passed, whether or not it returned them.
    pub(crate) rows: u64,
}

/// A callback that receives batches until it breaks.
type OnBatch<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<ControlFlow<()>>;

impl TableSource {
    /// Calls `each` with batches of the given columns until it breaks.
    pub(crate) fn for_each(
        self,
        columns: &[usize],
        each: impl FnMut(RecordBatch) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        self.scan(columns, ALL_ROWS, each).map(drop)
    }

    /// Calls `each` with batches of the given columns and rows, in order, until it breaks.
    ///
    /// Reads and decodes only what these rows need, as far as the format allows.
    pub(crate) fn scan(
        self,
        columns: &[usize],
        filter: RowFilter<'_>,
        mut each: impl FnMut(RecordBatch) -> Result<ControlFlow<()>>,
    ) -> Result<ScanStats> {
        match self {
            Self::Columns(reader) => scan_chunks(&reader, columns, filter, &mut each),
            Self::Imported(imported) => {
                let batches = (0..imported.batches()).map(|index| Ok(imported.batch(index)?));
                scan_batches(batches, columns, filter, &mut each)
            }
            Self::Batches(batches) => scan_batches(batches.next, columns, filter, &mut each),
        }
    }
}

/// Scans a file that can skip chunks and columns.
fn scan_chunks(
    reader: &Arc<dyn Reader>,
    columns: &[usize],
    filter: RowFilter<'_>,
    each: OnBatch<'_>,
) -> Result<ScanStats> {
    let mut stats = ScanStats { chunks: reader.row_groups(), ..ScanStats::default() };
    for chunk in 0..reader.row_groups() {
        let rows = stats.rows..stats.rows.saturating_add(reader.row_group_rows(chunk));
        stats.rows = rows.end;
        // The predicate, if the reader did not evaluate it.
        let mut remaining = None;
        let decoded = match filter {
            RowFilter::Ranges(ranges) => {
                let selection = select_rows(ranges, &rows);
                // A chunk without rows is read nevertheless: it may be damaged.
                if selection.is_empty() && !rows.is_empty() {
                    continue;
                }
                stats.chunks_read += 1;
                reader.read_rows(chunk, columns, &selection)?
            }
            RowFilter::Predicate(predicate) => {
                if reader
                    .pruning_statistics(chunk)
                    .is_some_and(|statistics| !predicate.may_match(statistics.as_ref()))
                {
                    continue;
                }
                stats.chunks_read += 1;
                remaining = Some(predicate);
                let needed = with_predicate_columns(columns, predicate, &reader.schema());
                reader.read(chunk, &needed)?
            }
        };
        for start in (0..decoded.num_rows()).step_by(BATCH_ROWS) {
            let mut batch = decoded.slice(start, BATCH_ROWS.min(decoded.num_rows() - start));
            if let Some(predicate) = remaining {
                batch = filtered(&batch, predicate, columns.len())?;
            }
            if batch.num_rows() > 0 && each(batch)?.is_break() {
                return Ok(stats);
            }
        }
    }
    Ok(stats)
}

/// Scans batches that arrive in order.
fn scan_batches(
    batches: impl Iterator<Item = Result<RecordBatch>>,
    columns: &[usize],
    filter: RowFilter<'_>,
    each: OnBatch<'_>,
) -> Result<ScanStats> {
    let mut stats = ScanStats::default();
    for batch in batches {
        let batch = batch?;
        let rows = stats.rows..stats.rows.saturating_add(batch.num_rows() as u64);
        stats.rows = rows.end;
        let selected = match filter {
            RowFilter::Ranges(ranges) => select_rows(ranges, &rows).of(&batch.project(columns)?)?,
            RowFilter::Predicate(predicate) => {
                let needed = with_predicate_columns(columns, predicate, batch.schema_ref());
                filtered(&batch.project(&needed)?, predicate, columns.len())?
            }
        };
        let is_last = match filter {
            RowFilter::Ranges(ranges) => ranges.last().is_none_or(|range| range.end <= rows.end),
            RowFilter::Predicate(_) => false,
        };
        if selected.num_rows() > 0 && each(selected)?.is_break() {
            break;
        }
        if is_last {
            break;
        }
    }
    Ok(stats)
}

/// Returns the part of the ranges that lies in `rows`, counted from the first of `rows`.
fn select_rows(ranges: &[Range<u64>], rows: &Range<u64>) -> RowSelection {
    let first = ranges.partition_point(|range| range.end <= rows.start);
    let ranges = ranges.iter().skip(first).take_while(|range| range.start < rows.end);
    let offset = |row: u64| usize::try_from(row.clamp(rows.start, rows.end) - rows.start);
    ranges.filter_map(|range| Some(offset(range.start).ok()?..offset(range.end).ok()?)).collect()
}

/// Appends the columns that only the predicate needs.
fn with_predicate_columns(columns: &[usize], predicate: &Predicate, schema: &Schema) -> Vec<usize> {
    let tested = predicate.columns().into_iter().filter_map(|name| schema.index_of(name).ok());
    let more = tested.filter(|column| !columns.contains(column));
    columns.iter().copied().chain(more).collect()
}

/// Returns the rows that match a predicate, with the first `columns` columns.
fn filtered(batch: &RecordBatch, predicate: &Predicate, columns: usize) -> Result<RecordBatch> {
    let matching = predicate.evaluate(batch.num_rows(), &BatchColumns::new(batch))?;
    let projection: Vec<usize> = (0..columns).collect();
    Ok(RowSelection::from_mask(&matching).of(&batch.project(&projection)?)?)
}
