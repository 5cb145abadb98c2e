//! The batches of a scan, on one thread or several.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};

use super::decoder::{ScanDecoder, Step};
use super::deliveries::Deliveries;
use super::open_table::OpenTable;
use super::plan::ScanPlan;
use super::stats::{ScanCounter, ScanStats};
use super::take_rows;
use crate::error::{Error, ErrorKind, Result};
use crate::source::{ByteSource, RangeCache};

/// The batches of a scan, in order.
///
/// An iterator of `Result<RecordBatch>` with the errors of this library, see
/// [`Batches::next_batch`], and a [`RecordBatchReader`] with those of Arrow. After an error
/// it returns nothing more.
#[derive(Debug)]
pub struct Batches {
    plan: Arc<ScanPlan>,
    source: Source,
    /// Rows that were put in order, for a scan of single rows.
    ordered: Option<VecDeque<RecordBatch>>,
    is_done: bool,
}

#[derive(Debug)]
enum Source {
    /// This thread decodes.
    Here(Box<ScanDecoder>),
    /// Threads decode a row group each.
    Threads(Workers),
}

impl Batches {
    pub(super) fn new(table: Arc<OpenTable>, plan: Arc<ScanPlan>) -> Result<Self> {
        let threads = plan.threads.min(plan.tasks.len());
        // One decoder fetches the ranges of many row groups together, which matters more than
        // threads if every read waits for a distant server.
        let is_remote = table.source.concurrent_reads() > 1;
        // Threads would decode row groups that a limit makes unnecessary.
        let is_whole = plan.limit.is_none() && plan.order.is_none();
        let source = if threads > 1 && !cfg!(target_family = "wasm") && is_whole && !is_remote {
            Source::Threads(Workers::start(&table.source, &plan, threads)?)
        } else {
            Source::Here(Box::new(ScanDecoder::new(&table, &plan)))
        };
        Ok(Self { plan, source, ordered: None, is_done: false })
    }

    /// Returns the next batch; `None` after the last one.
    ///
    /// # Errors
    ///
    /// Fails for damage, limits and a failing source; the error names the column and the
    /// byte offset where they are known.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        if self.is_done {
            return Ok(None);
        }
        let next = if self.plan.order.is_some() { self.next_ordered() } else { self.source.next() };
        self.is_done = !matches!(next, Ok(Some(_)));
        next
    }

    fn next_ordered(&mut self) -> Result<Option<RecordBatch>> {
        if let Some(ordered) = &mut self.ordered {
            return Ok(ordered.pop_front());
        }
        let mut rows = Vec::new();
        while let Some(batch) = self.source.next()? {
            rows.push(batch);
        }
        let order = self.plan.order.as_deref().unwrap_or_default();
        let all = if self.plan.filter.is_some() || self.plan.limit.is_some() {
            return Err(Error::invalid_argument(
                "single rows cannot be combined with a predicate or a limit",
            ));
        } else {
            take_rows::in_order(&self.plan.projection.schema, &rows, order)?
        };
        let size = self.plan.batch_size;
        let starts = (0..all.num_rows()).step_by(size);
        let mut ordered: VecDeque<RecordBatch> =
            starts.map(|start| all.slice(start, size.min(all.num_rows() - start))).collect();
        let first = ordered.pop_front();
        self.ordered = Some(ordered);
        Ok(first)
    }

    /// Returns the schema of the batches.
    pub fn schema(&self) -> SchemaRef {
        self.plan.projection.schema.clone()
    }

    /// Returns what was read and skipped so far.
    pub fn stats(&self) -> ScanStats {
        match &self.source {
            Source::Here(decoder) => decoder.stats(),
            Source::Threads(workers) => workers.stats(&self.plan),
        }
    }
}

impl Source {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        match self {
            Self::Here(decoder) => next_of(decoder),
            Self::Threads(workers) => workers.next(),
        }
    }
}

fn next_of(decoder: &mut ScanDecoder) -> Result<Option<RecordBatch>> {
    match decoder.step()? {
        Step::Batch(batch) => Ok(Some(batch)),
        Step::Done => Ok(None),
        Step::Missing(ranges) => {
            let why = format!("{} byte ranges were not supplied", ranges.len());
            Err(Error::invalid_argument(why))
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().map_err(into_arrow).transpose()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        self.plan.projection.schema.clone()
    }
}

fn into_arrow(err: Error) -> ArrowError {
    match err.kind() {
        ErrorKind::Io(_) => ArrowError::IoError(err.to_string(), std::io::Error::other(err)),
        _ => ArrowError::ExternalError(Box::new(err)),
    }
}

/// Memory of a scan for each thread beyond those that were asked for.
const WAITING_THREAD_BYTES: u64 = 16 << 20;

/// Threads that decode row groups, each one at a time.
#[derive(Debug)]
struct Workers {
    shared: Arc<Shared>,
    counter: ScanCounter,
}

#[derive(Debug)]
struct Shared {
    deliveries: Deliveries,
    stats: Mutex<ScanStats>,
}

impl Workers {
    fn start(source: &Arc<RangeCache>, plan: &Arc<ScanPlan>, threads: usize) -> Result<Self> {
        // A thread that waits for a part that another decodes leaves its core to a third one, if
        // the memory has room for the row group of the third.
        let room = usize::try_from(plan.memory / WAITING_THREAD_BYTES).unwrap_or(usize::MAX);
        let waiting = if plan.reader.shares_parts() { threads.min(room) } else { 0 };
        let threads = threads.saturating_add(waiting).min(plan.tasks.len());
        let counter = ScanCounter::start(source, plan.metadata);
        let deliveries = Deliveries::new(plan.tasks.len(), plan.memory / 4);
        let shared = Arc::new(Shared { deliveries, stats: Mutex::default() });
        let workers = Self { shared: shared.clone(), counter };
        // A quarter of the memory is for batches that wait, the rest for the threads.
        let memory = plan.memory / 4 * 3 / threads as u64;
        for _ in 0..threads {
            let (shared, plan, source) = (shared.clone(), plan.clone(), source.clone());
            let work = move || shared.work(&plan, &source, memory);
            thread::Builder::new().name("hypostyle-scan".into()).spawn(work)?;
        }
        Ok(workers)
    }

    fn next(&mut self) -> Result<Option<RecordBatch>> {
        self.shared.deliveries.take()
    }

    fn stats(&self, plan: &ScanPlan) -> ScanStats {
        let mut stats = self.shared.stats.lock().unwrap_or_else(PoisonError::into_inner).clone();
        stats.row_groups = plan.reader.row_groups() as u64;
        stats.row_groups_pruned = plan.pruned;
        self.counter.count(&mut stats);
        stats
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.deliveries.close();
    }
}

impl Shared {
    fn work(&self, plan: &Arc<ScanPlan>, source: &Arc<RangeCache>, memory: u64) {
        let _guard = self.deliveries.guard();
        while let Some(index) = self.deliveries.claim() {
            let Some(task) = plan.tasks.get(index) else { return };
            let mut decoder =
                ScanDecoder::for_tasks(source, plan, vec![task.clone()], 1).with_memory(memory);
            loop {
                let next = next_of(&mut decoder);
                let is_last = !matches!(next, Ok(Some(_)));
                if is_last {
                    let mut stats = self.stats.lock().unwrap_or_else(PoisonError::into_inner);
                    stats.add(&decoder.stats());
                }
                if !self.deliveries.put(index, next) {
                    return;
                }
                if is_last {
                    break;
                }
            }
        }
    }
}
