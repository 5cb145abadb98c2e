//! The request of a scan, and the ways to run it.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use super::batches::Batches;
use super::decoder::ScanDecoder;
use super::open_table::OpenTable;
use super::options::{ColumnRef, RequestedRows, ScanOptions};
use super::partition::Partition;
use super::plan::ScanPlan;
use crate::error::Result;
use crate::predicate::Predicate;
use crate::reader::Dictionaries;

/// A request for some columns and rows of a table.
///
/// Without further calls it returns all columns of all rows, in order.
#[derive(Clone, Debug)]
pub struct Scan {
    table: Arc<OpenTable>,
    options: ScanOptions,
}

impl Scan {
    pub(super) fn new(table: Arc<OpenTable>) -> Self {
        Self { table, options: ScanOptions::default() }
    }

    /// Returns only these columns, in this order.
    ///
    /// A name that no column has is taken for a nested path, such as `a.b[0].c`.
    #[must_use]
    pub fn columns<C: Into<ColumnRef>>(mut self, columns: impl IntoIterator<Item = C>) -> Self {
        self.options.columns = Some(columns.into_iter().map(Into::into).collect());
        self
    }

    /// Returns only rows that match a predicate.
    #[must_use]
    pub fn filter(mut self, predicate: Predicate) -> Self {
        self.options.filter = Some(predicate);
        self
    }

    /// Returns at most so many rows.
    #[must_use]
    pub fn limit(mut self, rows: u64) -> Self {
        self.options.limit = Some(rows);
        self
    }

    /// Returns only rows with these numbers, counted from 0; the end may lie beyond the
    /// last row.
    #[must_use]
    pub fn rows(mut self, rows: Range<u64>) -> Self {
        self.options.rows = Some(RequestedRows::Range(rows));
        self
    }

    /// Returns the rows with these numbers, in this order and as often as they are named.
    ///
    /// The scan reads the table at most once, and holds these rows in memory.
    #[must_use]
    pub fn take(mut self, rows: &[u64]) -> Self {
        self.options.rows = Some(RequestedRows::Numbers(rows.to_vec()));
        self
    }

    /// Returns only the rows of a [partition](super::Table::partitions) of the table.
    #[must_use]
    pub fn partition(mut self, partition: &Partition) -> Self {
        self.options.partition = Some(partition.clone());
        self
    }

    /// Sets the largest number of rows in a batch; 8192 by default.
    #[must_use]
    pub fn batch_size(mut self, rows: usize) -> Self {
        self.options.batch_size = rows.max(1);
        self
    }

    /// Decodes on so many threads; 1 by default.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.threads = Some(NonZeroUsize::new(threads).unwrap_or(NonZeroUsize::MIN));
        self
    }

    /// Decodes on so many threads, or on one per core for `None`.
    #[must_use]
    pub fn threads_or_all(mut self, threads: Option<NonZeroUsize>) -> Self {
        self.options.threads = threads;
        self
    }

    /// Sets how many bytes of memory the scan holds at most, beside the batches that the
    /// caller keeps; 256 MiB by default.
    ///
    /// The scan needs as much as the smallest unit that its format can decode.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.options.memory = bytes;
        self
    }

    /// Leaves out damaged row groups, and lists them in
    /// [`ScanStats::damaged`](super::ScanStats::damaged), instead of failing.
    #[must_use]
    pub fn skip_damaged(mut self, skip: bool) -> Self {
        self.options.skip_damaged = skip;
        self
    }

    /// Returns a column of text as a dictionary if the file stores it with one; the schema of the
    /// batches is that of [`Table::dictionary_schema`](super::Table::dictionary_schema).
    ///
    /// Without this call, all batches have the types of the table.
    #[must_use]
    pub fn dictionaries(self, dictionaries: bool) -> Self {
        self.with_dictionaries(if dictionaries { Dictionaries::Small } else { Dictionaries::None })
    }

    /// Sets which columns of text are returned as dictionaries; the schema of the batches is that
    /// of [`dictionary_schema`](trait@crate::reader::Reader#method.dictionary_schema).
    #[must_use]
    pub fn with_dictionaries(mut self, dictionaries: Dictionaries) -> Self {
        self.options.dictionaries = dictionaries;
        self
    }

    /// Starts the scan.
    ///
    /// # Errors
    ///
    /// Fails if the table cannot be opened, and for a column or row that does not exist.
    pub fn batches(self) -> Result<Batches> {
        let plan = ScanPlan::new(&self.table, &self.options)?;
        Batches::new(self.table, plan)
    }

    /// Starts the scan for a caller that fetches bytes itself.
    ///
    /// # Errors
    ///
    /// As [`Scan::batches`], and with [`MissingRanges`](crate::source::MissingRanges) if the
    /// predicate needs dictionaries to skip row groups: the caller supplies them and tries
    /// again.
    pub fn decoder(self) -> Result<ScanDecoder> {
        let plan = ScanPlan::new(&self.table, &self.options)?;
        Ok(ScanDecoder::new(&self.table, &plan))
    }
}
