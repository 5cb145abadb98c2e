//! What a scan counts for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{
    Count, ExecutionPlanMetricsSet, MetricBuilder, MetricCategory,
};
use hypostyle::ScanStats;

use crate::fetch::Fetched;

/// The counters of a partition.
#[derive(Clone, Debug)]
pub(crate) struct ScanMetrics {
    /// Bytes of the files that were opened.
    pub(crate) file_bytes: Count,
    /// Bytes that were read from the store, those of metadata included.
    bytes_scanned: Count,
    requests: Count,
    row_groups_pruned: Count,
    row_groups_read: Count,
    /// Rows for which the predicate was evaluated, or that were decoded without one.
    rows_read: Count,
    rows_damaged: Count,
}

impl ScanMetrics {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let counter = |name: &'static str, category| {
            MetricBuilder::new(metrics).with_category(category).counter(name, partition)
        };
        Self {
            file_bytes: counter("file_bytes", MetricCategory::Bytes),
            bytes_scanned: counter("bytes_scanned", MetricCategory::Bytes),
            requests: counter("requests", MetricCategory::Rows),
            row_groups_pruned: counter("row_groups_pruned", MetricCategory::Rows),
            row_groups_read: counter("row_groups_read", MetricCategory::Rows),
            rows_read: counter("rows_read", MetricCategory::Rows),
            rows_damaged: counter("rows_damaged", MetricCategory::Rows),
        }
    }

    pub(crate) fn fetched(&self, fetched: Fetched) {
        self.bytes_scanned.add(fetched.bytes);
        self.requests.add(fetched.requests);
    }

    /// Adds what a finished scan did.
    pub(crate) fn finished(&self, stats: &ScanStats) {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        self.row_groups_pruned.add(count(stats.row_groups_pruned));
        self.row_groups_read.add(count(stats.row_groups_read));
        self.rows_read.add(count(stats.rows_read));
        let damaged = stats.damaged.iter().map(|group| group.rows.end - group.rows.start).sum();
        self.rows_damaged.add(count(damaged));
    }
}
