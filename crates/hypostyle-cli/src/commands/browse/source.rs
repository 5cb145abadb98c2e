//! The table that is browsed, and which of its rows are shown in which order.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, SchemaRef};
use hypostyle::formats::Reader;
use hypostyle::{FileKind, Scan, Table};

use super::ticket::Ticket;
use crate::failure::Result;

/// Rows that are decoded at once to show some of them.
const WINDOW_ROWS: u64 = 8192;

/// The same if the rows are listed, because each may be in another row group.
const LISTED_WINDOW_ROWS: u64 = 128;

/// Listed rows that are read at once by work on all of them.
const TAKEN_ROWS: u64 = 65_536;

/// The table that is browsed.
#[derive(Debug)]
pub(super) struct Source {
    name: String,
    kind: &'static str,
    table: Table,
    reader: Arc<dyn Reader>,
    schema: SchemaRef,
    /// The first row of each row group.
    starts: Vec<u64>,
    threads: Option<NonZeroUsize>,
}

impl Source {
    pub(super) fn new(name: String, table: Table, threads: Option<NonZeroUsize>) -> Result<Self> {
        let reader = table.reader()?;
        let kind = FileKind::of(reader.format())?.name();
        let mut next = 0_u64;
        let starts = (0..reader.row_groups()).map(|group| {
            let start = next;
            next = next.saturating_add(reader.row_group_rows(group));
            start
        });
        let (starts, schema) = (starts.collect(), reader.schema());
        Ok(Self { name, kind, table, reader, schema, starts, threads })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn kind(&self) -> &'static str {
        self.kind
    }

    pub(super) fn reader(&self) -> &Arc<dyn Reader> {
        &self.reader
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(super) fn rows(&self) -> u64 {
        self.reader.rows()
    }

    pub(super) fn columns(&self) -> usize {
        self.schema.fields().len()
    }

    pub(super) fn field(&self, column: usize) -> Option<&Field> {
        self.schema.fields().get(column).map(|field| &**field)
    }

    /// Returns the name of a column.
    pub(super) fn column_name(&self, column: usize) -> &str {
        self.field(column).map_or("", |field| field.name())
    }

    pub(super) fn row_groups(&self) -> usize {
        self.starts.len()
    }

    /// Returns the row group that has a row.
    pub(super) fn group_of(&self, row: u64) -> usize {
        self.starts.partition_point(|&start| start <= row).saturating_sub(1)
    }

    /// Returns the rows of a row group.
    pub(super) fn group_rows(&self, group: usize) -> Range<u64> {
        let start = self.starts.get(group).copied().unwrap_or_else(|| self.rows());
        start..start.saturating_add(self.reader.row_group_rows(group)).min(self.rows())
    }

    /// Returns a scan of all rows.
    pub(super) fn scan(&self) -> Scan {
        self.table.scan().threads_or_all(self.threads)
    }

    /// Returns the positions that are decoded together with one.
    pub(super) fn window(&self, rows: &Rows, position: u64) -> Range<u64> {
        let (bounds, size) = match rows {
            Rows::All(_) => (self.group_rows(self.group_of(position)), WINDOW_ROWS),
            Rows::Listed(_) => (0..rows.len(), LISTED_WINDOW_ROWS),
        };
        let before = position.saturating_sub(bounds.start) / size * size;
        let start = bounds.start.saturating_add(before);
        start..start.saturating_add(size).min(bounds.end)
    }

    /// Reads columns of the rows at some positions, and calls `each` with the position of the
    /// first row of each batch until it returns `false`.
    ///
    /// Returns `false` if the ticket was cancelled.
    ///
    /// # Errors
    ///
    /// Fails as the scan or `each` does.
    pub(super) fn read(
        &self,
        rows: &Rows,
        positions: Range<u64>,
        columns: &[usize],
        ticket: &Ticket,
        mut each: impl FnMut(u64, &RecordBatch) -> Result<bool>,
    ) -> Result<bool> {
        let mut start = positions.start;
        while start < positions.end {
            let scan = self.scan().columns(columns.iter().copied());
            let (scan, end) = match rows {
                Rows::All(_) => (scan.rows(start..positions.end), positions.end),
                Rows::Listed(_) => {
                    let end = start.saturating_add(TAKEN_ROWS).min(positions.end);
                    (scan.take(rows.listed(start..end)), end)
                }
            };
            let mut batches = scan.batches()?;
            let mut at = start;
            while let Some(batch) = batches.next_batch()? {
                if ticket.is_cancelled() {
                    return Ok(false);
                }
                if !each(at, &batch)? {
                    return Ok(true);
                }
                let count = batch.num_rows() as u64;
                at = at.saturating_add(count);
                ticket.advance(count);
            }
            start = end;
        }
        Ok(!ticket.is_cancelled())
    }
}

/// The rows that are shown, by position.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// So many rows, in the order of the file.
    All(u64),
    /// The rows with these numbers.
    Listed(Arc<Vec<u64>>),
}

impl Rows {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::All(count) => *count,
            Self::Listed(rows) => rows.len() as u64,
        }
    }

    /// Returns the number of the row at a position.
    pub(super) fn at(&self, position: u64) -> Option<u64> {
        match self {
            Self::All(count) => (position < *count).then_some(position),
            Self::Listed(rows) => rows.get(usize::try_from(position).ok()?).copied(),
        }
    }

    /// Returns the position of the first row with this number or a higher one, if the rows are
    /// in the order of the file.
    pub(super) fn first_from(&self, row: u64) -> u64 {
        match self {
            Self::All(_) => row,
            Self::Listed(rows) => rows.partition_point(|&listed| listed < row) as u64,
        }
    }

    /// Returns the position of a row, in any order.
    pub(super) fn position_of(&self, row: u64) -> Option<u64> {
        match self {
            Self::All(count) => (row < *count).then_some(row),
            Self::Listed(rows) => rows.iter().position(|&listed| listed == row).map(|at| at as u64),
        }
    }

    /// Returns the listed rows at some positions.
    fn listed(&self, positions: Range<u64>) -> &[u64] {
        let Self::Listed(rows) = self else { return &[] };
        let at = |position| usize::try_from(position).unwrap_or(usize::MAX).min(rows.len());
        rows.get(at(positions.start)..at(positions.end)).unwrap_or_default()
    }
}
