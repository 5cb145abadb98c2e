//! The rows of a table that are wanted, whatever it is stored in.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use hypostyle::RowSelection;
use hypostyle::formats::Reader;
use hypostyle::predicate::{BatchColumns, Predicate};

use super::Source;
use crate::failure::Result;

/// RowSelection that are handed on at a time from a file that is decoded whole.
pub(super) const ROWS: usize = 64 << 10;

/// Which rows are wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pick<'a> {
    /// Those with these numbers: runs in ascending order that do not overlap.
    Rows(&'a [Range<u64>]),
    /// Those for which this is true.
    Where(&'a Predicate),
}

/// All rows.
pub(crate) const ALL: Pick<'static> = {
    const EVERYTHING: Range<u64> = 0..u64::MAX;
    Pick::Rows(&[EVERYTHING])
};

/// How much of a file was read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Effort {
    /// Chunks in the file, if it has such.
    pub(crate) chunks: usize,
    /// Those that were read.
    pub(crate) read: usize,
    /// RowSelection that went by, whether or not they were wanted.
    pub(crate) rows: u64,
}

/// Whether more batches are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Stop,
}

impl Source {
    /// Calls `each` with batches of the given columns until it says stop.
    pub(crate) fn for_each(
        self,
        columns: &[usize],
        each: impl FnMut(RecordBatch) -> Result<Flow>,
    ) -> Result<()> {
        self.for_each_picked(columns, ALL, each).map(drop)
    }

    /// The same with no rows but those that are wanted, in their order. What need not be
    /// read or decoded for them is not.
    pub(crate) fn for_each_picked(
        self,
        columns: &[usize],
        pick: Pick<'_>,
        mut each: impl FnMut(RecordBatch) -> Result<Flow>,
    ) -> Result<Effort> {
        match self {
            Self::Columns(reader) => chunks(reader.as_ref(), columns, pick, &mut each),
            Self::Imported(imported) => {
                let batches = (0..imported.batches()).map(|index| Ok(imported.batch(index)?));
                in_order(batches, columns, pick, &mut each)
            }
            Self::Batches(batches) => in_order(batches.next, columns, pick, &mut each),
        }
    }
}

type Each<'a> = &'a mut dyn FnMut(RecordBatch) -> Result<Flow>;

/// A file in which chunks and columns can be left alone.
fn chunks(
    reader: &dyn Reader,
    columns: &[usize],
    pick: Pick<'_>,
    each: Each<'_>,
) -> Result<Effort> {
    let mut effort = Effort { chunks: reader.chunks(), ..Effort::default() };
    for chunk in 0..reader.chunks() {
        let rows = effort.rows..effort.rows.saturating_add(reader.chunk_rows(chunk));
        effort.rows = rows.end;
        // Whether rows have still to be tested.
        let mut filter = None;
        let whole = match pick {
            Pick::Rows(runs) => {
                let some = rows_in(runs, &rows);
                // A chunk of no rows is read all the same: it may be damaged.
                if some.is_empty() && !rows.is_empty() {
                    continue;
                }
                effort.read += 1;
                reader.read_rows(chunk, columns, &some)?
            }
            Pick::Where(test) => {
                if reader
                    .pruning_statistics(chunk)
                    .is_some_and(|facts| !test.may_match(facts.as_ref()))
                {
                    continue;
                }
                effort.read += 1;
                match reader.read_where(chunk, columns, test)? {
                    Some(kept) => kept,
                    None => {
                        filter = Some(test);
                        reader.read(chunk, &with_tested(columns, test, &reader.schema()))?
                    }
                }
            }
        };
        for start in (0..whole.num_rows()).step_by(ROWS) {
            let mut some = whole.slice(start, ROWS.min(whole.num_rows() - start));
            if let Some(filter) = filter {
                some = kept(&some, filter, columns.len())?;
            }
            if some.num_rows() > 0 && each(some)? == Flow::Stop {
                return Ok(effort);
            }
        }
    }
    Ok(effort)
}

/// A file that is read from its start on.
fn in_order(
    batches: impl Iterator<Item = Result<RecordBatch>>,
    columns: &[usize],
    pick: Pick<'_>,
    each: Each<'_>,
) -> Result<Effort> {
    let mut effort = Effort::default();
    for batch in batches {
        let batch = batch?;
        let rows = effort.rows..effort.rows.saturating_add(batch.num_rows() as u64);
        effort.rows = rows.end;
        let some = match pick {
            Pick::Rows(runs) => rows_in(runs, &rows).of(&batch.project(columns)?)?,
            Pick::Where(filter) => {
                let read = with_tested(columns, filter, batch.schema_ref());
                kept(&batch.project(&read)?, filter, columns.len())?
            }
        };
        let is_last = match pick {
            Pick::Rows(runs) => runs.last().is_none_or(|run| run.end <= rows.end),
            Pick::Where(_) => false,
        };
        let flow = if some.num_rows() > 0 { each(some)? } else { Flow::More };
        if flow == Flow::Stop || is_last {
            break;
        }
    }
    Ok(effort)
}

/// Those of the runs that are among `rows`, counted from the first of these.
fn rows_in(runs: &[Range<u64>], rows: &Range<u64>) -> RowSelection {
    let first = runs.partition_point(|run| run.end <= rows.start);
    let runs = runs.iter().skip(first).take_while(|run| run.start < rows.end);
    let place = |row: u64| usize::try_from(row.clamp(rows.start, rows.end) - rows.start);
    runs.filter_map(|run| Some(place(run.start).ok()?..place(run.end).ok()?)).collect()
}

/// Columns, and behind them those that are tested and not wanted.
fn with_tested(columns: &[usize], filter: &Predicate, schema: &Schema) -> Vec<usize> {
    let tested = filter.columns().into_iter().filter_map(|name| schema.index_of(name).ok());
    let more = tested.filter(|column| !columns.contains(column));
    columns.iter().copied().chain(more).collect()
}

/// The rows that a filter keeps, with the first columns only.
fn kept(batch: &RecordBatch, filter: &Predicate, columns: usize) -> Result<RecordBatch> {
    let keep = filter.evaluate(batch.num_rows(), &BatchColumns::new(batch))?;
    let printed: Vec<usize> = (0..columns).collect();
    Ok(RowSelection::from_mask(&keep).of(&batch.project(&printed)?)?)
}
