//! Scans a part of a file.

use std::ops::Range;
use std::sync::Arc;

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::utils::{collect_columns, reassign_expr_columns};
use datafusion::physical_expr::{PhysicalExpr, conjunction};
use hypostyle::predicate::{Expr, Predicate};
use hypostyle::{MissingRanges, Partition, Scan, ScanDecoder, Step};

use crate::metrics::ScanMetrics;
use crate::open_file::{OpenFile, blocking};
use crate::output_columns::OutputColumns;
use crate::predicate::translate;
use crate::request::{Filters, ScanRequest};
use crate::row_groups::PlannedGroup;
use crate::schema::plain;
use crate::shared_files::{ScannedPart, SharedFile};

/// Row groups that are scanned before filters that change are read again; the number doubles.
const FIRST_RUN: usize = 4;

/// Row groups of text that are scanned without a chance to cancel.
const BLOCKING_RUN: usize = 16;

/// The columns of so many row groups are decoded by as many threads as there are partitions.
const FEW_ROW_GROUPS: usize = 4;

/// The scan of a part of a file.
pub(crate) struct PartScan {
    shared: SharedFile,
    request: Arc<ScanRequest>,
    output: OutputColumns,
    /// The filters that the library applies, and whether they change while the query runs.
    filters: Vec<Arc<dyn PhysicalExpr>>,
    changes: bool,
    /// A filter that is applied to batches because the file has other types than the table.
    residual: Option<Arc<dyn PhysicalExpr>>,
    rows: Range<u64>,
    run_groups: usize,
    left: u64,
    decoder: Option<ScanDecoder>,
    metrics: ScanMetrics,
    _scanned: ScannedPart,
}

impl PartScan {
    pub(crate) fn try_new(
        shared: SharedFile,
        request: Arc<ScanRequest>,
        rows: Range<u64>,
        metrics: ScanMetrics,
        scanned: ScannedPart,
    ) -> Result<Self> {
        let file = &shared.file;
        let is_same = |filter: &Arc<dyn PhysicalExpr>| {
            collect_columns(filter).iter().all(|column| {
                let of_table = request.file_schema.fields().get(column.index());
                let of_file = file.schema.column_with_name(column.name());
                // The library does not know which of several columns of one name is meant.
                let fields = file.reader.schema();
                let namesakes = fields.fields().iter().filter(|it| it.name() == column.name());
                let is_named = namesakes.count() == 1;
                is_named
                    && of_table.map(|field| plain(field.data_type()))
                        == of_file.map(|(_, field)| plain(field.data_type()))
            })
        };
        let Filters { exact, wider } = &request.filters;
        let (mut filters, rest): (Vec<_>, Vec<_>) = exact.iter().cloned().partition(is_same);
        filters.extend(wider.iter().filter(|filter| is_same(filter)).cloned());
        let changes = filters
            .iter()
            .any(|filter| DynamicFilterTracking::classify(filter).contains_dynamic_filter());
        let residual = (!rest.is_empty()).then(|| conjunction(rest));
        let output = OutputColumns::new(file, &request, residual.as_ref())?;
        let residual =
            residual.map(|filter| reassign_expr_columns(filter, &output.schema)).transpose()?;
        let left = request.limit.unwrap_or(u64::MAX);
        let (run_groups, decoder) = (FIRST_RUN, None);
        Ok(Self {
            output,
            filters,
            changes,
            residual,
            rows,
            run_groups,
            left,
            decoder,
            metrics,
            _scanned: scanned,
            shared,
            request,
        })
    }

    /// Returns the next rows.
    pub(crate) async fn next(&mut self) -> Result<Option<RecordBatch>> {
        while self.left > 0 {
            let Some(mut decoder) = self.decoder.take() else {
                match self.start_run().await? {
                    Some(decoder) => self.decoder = Some(decoder),
                    None => return Ok(None),
                }
                continue;
            };
            let since = self.shared.file.now();
            let (decoder, step) = blocking(move || {
                let step = decoder.step();
                (decoder, step)
            })
            .await?;
            let file = &self.shared.file;
            self.metrics.fetched(file.take_unreported());
            match step.map_err(|err| file.error(err))? {
                Step::Missing(ranges) => {
                    self.metrics.fetched(file.fetch(&ranges, since).await?);
                    self.decoder = Some(decoder);
                }
                Step::Done => self.metrics.finished(&decoder.stats()),
                Step::Batch(batch) => {
                    self.decoder = Some(decoder);
                    let batch = self.adapt(&batch)?;
                    if batch.num_rows() > 0 {
                        self.left = self.left.saturating_sub(batch.num_rows() as u64);
                        return Ok(Some(batch));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Returns the row groups that the filters do not exclude, and about how many bytes the columns
    /// of each take.
    pub(crate) async fn planned_groups(&self) -> Result<Vec<PlannedGroup>> {
        let decoder = self.decoder_of(self.rows.clone()).await?;
        let (reader, size) = (&self.shared.file.reader, self.shared.file.meta.size);
        let planned = decoder.remaining_row_groups().map(|index| {
            let rows = reader.row_group_rows(index);
            let share = u128::from(size) * u128::from(rows) / u128::from(reader.rows().max(1));
            let bytes = reader.column_bytes(index, &self.output.read);
            let bytes = bytes.or_else(|| share.try_into().ok()).unwrap_or(u64::MAX);
            PlannedGroup { index, rows, bytes }
        });
        Ok(planned.collect())
    }

    /// Starts the scan of the next row groups, with the filters as they are now.
    async fn start_run(&mut self) -> Result<Option<ScanDecoder>> {
        match self.next_run() {
            Some(rows) => self.decoder_of(rows).await.map(Some),
            None => Ok(None),
        }
    }

    async fn decoder_of(&self, rows: Range<u64>) -> Result<ScanDecoder> {
        let schema = &self.request.file_schema;
        let translated = self.filters.iter().filter_map(|filter| translate(filter, schema));
        let filter = translated.map(|found| found.expr).reduce(Expr::and);
        let mut scan = self.shared.table.scan().partition(&Partition::new(rows));
        scan = scan.columns(self.output.read.iter().copied());
        scan = scan.batch_size(self.request.batch_size);
        scan = scan.with_dictionaries(self.request.options.dictionaries());
        scan = scan.skip_damaged(self.request.options.skip_damaged);
        if let Some(filter) = filter {
            scan = scan.filter(Predicate::from(filter));
        }
        if self.residual.is_none() && self.left < u64::MAX {
            scan = scan.limit(self.left);
        }
        if let Some(memory) = self.request.memory {
            scan = scan.memory_limit(memory);
        }
        let decoder = plan(&self.shared.file, scan, &self.metrics).await?;
        // Other partitions have little to do either, if statistics have excluded so much.
        let is_small = decoder.row_groups_left() <= FEW_ROW_GROUPS;
        let threads = if is_small { self.request.partitions } else { 1 };
        Ok(decoder.with_threads(threads))
    }

    /// Returns the rows to scan next.
    ///
    /// All that are left, unless filters change meanwhile, or a thread blocks for the scan and
    /// could not be stopped.
    fn next_run(&mut self) -> Option<Range<u64>> {
        if self.rows.is_empty() {
            return None;
        }
        let is_blocking = self.shared.file.is_blocking();
        let groups = match (self.changes, is_blocking) {
            (false, false) => usize::MAX,
            (false, true) => BLOCKING_RUN,
            (true, _) => {
                let groups = self.run_groups;
                self.run_groups = self.run_groups.saturating_mul(2);
                if is_blocking { groups.min(BLOCKING_RUN) } else { groups }
            }
        };
        let mut end = self.rows.end;
        if groups < usize::MAX {
            let reader = &self.shared.file.reader;
            let (mut first, mut seen) = (0_u64, 0_usize);
            for group in 0..reader.row_groups() {
                let next = first.saturating_add(reader.row_group_rows(group));
                if next > self.rows.start {
                    seen += 1;
                    if seen == groups {
                        end = end.min(next);
                        break;
                    }
                }
                first = next;
            }
        }
        let run = self.rows.start..end;
        self.rows.start = end;
        Some(run)
    }

    /// Casts a batch of the file to the types of the table, and filters it.
    fn adapt(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let file = &self.shared.file;
        let batch = self.output.adapt(batch).map_err(|err| file.error(err))?;
        let Some(residual) = &self.residual else { return Ok(batch) };
        let matches = residual.evaluate(&batch)?.into_array(batch.num_rows())?;
        let matches = matches.as_boolean_opt().ok_or_else(|| file.error("not a condition"))?;
        let mut batch = filter_record_batch(&batch, matches)?;
        let rows = usize::try_from(self.left).unwrap_or(usize::MAX).min(batch.num_rows());
        batch = batch.slice(0, rows);
        let returned: Vec<usize> = (0..self.request.columns.len()).collect();
        Ok(batch.project(&returned)?)
    }
}

impl Drop for PartScan {
    fn drop(&mut self) {
        // A limit stops a scan before its end.
        if let Some(decoder) = &self.decoder {
            self.metrics.finished(&decoder.stats());
        }
    }
}

/// Plans a scan, which may read statistics.
async fn plan(file: &OpenFile, scan: Scan, metrics: &ScanMetrics) -> Result<ScanDecoder> {
    loop {
        let (attempt, since) = (scan.clone(), file.now());
        match blocking(move || attempt.decoder()).await? {
            Ok(decoder) => return Ok(decoder),
            Err(err) => match MissingRanges::of(&err) {
                Some(missing) => {
                    let ranges = missing.0.clone();
                    metrics.fetched(file.fetch(&ranges, since).await?);
                }
                None => return Err(file.error(err)),
            },
        }
    }
}
