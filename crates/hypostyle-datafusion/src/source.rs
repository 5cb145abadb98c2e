//! The scan of files as a source of the engine.

use std::fmt;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::execution::cache::cache_manager::FileMetadataCache;
use datafusion::physical_expr::expressions::DynamicFilterTracking;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, conjunction};
use datafusion::physical_plan::filter_pushdown::{FilterPushdownPropagation, PushedDown};
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, apply_expression_roots};
use datafusion_datasource::file_groups::FileGroupPartitioner;
use hypostyle::FileKind;
use object_store::{ObjectMeta, ObjectStore};

use crate::metrics::ScanMetrics;
use crate::open_file::OpenFile;
use crate::opener::Opener;
use crate::options::TableOptions;
use crate::part_scan::PartScan;
use crate::predicate::translate;
use crate::request::{Filters, ScanRequest};
use crate::row_groups::PlannedGroup;
use crate::shared_files::SharedFiles;

/// Rows of a batch, if the engine states no number.
const BATCH_ROWS: usize = 8192;

/// How much smaller files are than the rows in them: a file is worth several partitions when it
/// is so many times smaller than what the engine takes for worth it.
const EXPANSION: usize = 8;

/// Scans files of one kind.
#[derive(Clone)]
pub struct HypostyleSource {
    kind: FileKind,
    options: Arc<TableOptions>,
    table_schema: TableSchema,
    projection: SplitProjection,
    filters: Filters,
    batch_size: usize,
    metrics: ExecutionPlanMetricsSet,
    metadata_cache: Option<Arc<FileMetadataCache>>,
    files: Arc<SharedFiles>,
    memory: Option<u64>,
}

impl HypostyleSource {
    /// Returns a scan of all columns and rows.
    pub fn new(kind: FileKind, options: Arc<TableOptions>, table_schema: TableSchema) -> Self {
        Self {
            kind,
            options,
            projection: SplitProjection::unprojected(&table_schema),
            table_schema,
            filters: Filters::default(),
            batch_size: BATCH_ROWS,
            metrics: ExecutionPlanMetricsSet::new(),
            metadata_cache: None,
            files: Arc::default(),
            memory: None,
        }
    }

    /// Sets the cache in which open files are kept between queries.
    #[must_use]
    pub fn with_metadata_cache(mut self, cache: Arc<FileMetadataCache>) -> Self {
        self.metadata_cache = Some(cache);
        self
    }

    /// Returns the kind of files.
    pub fn kind(&self) -> FileKind {
        self.kind
    }

    /// Returns how files are read.
    pub fn options(&self) -> &Arc<TableOptions> {
        &self.options
    }

    /// Returns the filters that the scan applies to every row, and those by which it skips what it
    /// can.
    pub fn filters(&self) -> (&[Arc<dyn PhysicalExpr>], &[Arc<dyn PhysicalExpr>]) {
        (&self.filters.exact, &self.filters.wider)
    }

    /// Sets the [filters](HypostyleSource::filters), which another scan has returned.
    #[must_use]
    pub fn with_filters(
        mut self,
        exact: Vec<Arc<dyn PhysicalExpr>>,
        wider: Vec<Arc<dyn PhysicalExpr>>,
    ) -> Self {
        self.filters = Filters { exact, wider };
        self
    }

    /// Sets how many bytes the scan of each partition holds at most.
    #[must_use]
    pub fn with_memory(mut self, bytes: Option<u64>) -> Self {
        self.memory = bytes;
        self
    }

    /// Returns how many bytes the scan of each partition holds at most, if that was set.
    pub fn memory(&self) -> Option<u64> {
        self.memory
    }

    /// Returns what the scan of every file is asked for.
    pub(crate) fn request(&self, config: &FileScanConfig) -> ScanRequest {
        ScanRequest {
            kind: self.kind,
            options: self.options.clone(),
            file_schema: self.table_schema.file_schema().clone(),
            columns: self.projection.file_indices.clone(),
            filters: self.filters.clone(),
            limit: config.limit.map(|limit| limit as u64),
            batch_size: config.batch_size.unwrap_or(self.batch_size),
            memory: self.options.memory.or(self.memory),
            partitions: config.file_groups.len(),
        }
    }

    /// Returns the row groups of a file that the filters of the scan do not exclude.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened.
    pub async fn row_groups(
        &self,
        store: &Arc<dyn ObjectStore>,
        meta: &ObjectMeta,
        config: &FileScanConfig,
    ) -> Result<Vec<PlannedGroup>> {
        let request = Arc::new(self.request(config));
        let open = OpenFile::open_cached(
            store,
            meta,
            request.kind,
            &request.options,
            self.metadata_cache.as_ref(),
        );
        let files = Arc::new(SharedFiles::default());
        let scanned = files.part(&meta.location, meta.size);
        let shared = files.get(&meta.location, meta.size, open).await?;
        // What planning reads is no part of what the scan counts.
        let metrics = ScanMetrics::new(&ExecutionPlanMetricsSet::new(), 0);
        let rows = 0..shared.file.reader.rows();
        PartScan::try_new(shared, request, rows, metrics, scanned)?.planned_groups().await
    }
}

impl FileSource for HypostyleSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let file_schema = self.table_schema.file_schema();
        let opener = Opener {
            store,
            request: Arc::new(self.request(config)),
            metadata_cache: self.metadata_cache.clone(),
            files: self.files.clone(),
            metrics: ScanMetrics::new(&self.metrics, partition),
        };
        ProjectionOpener::try_new(self.projection.clone(), Arc::new(opener), file_schema)
    }

    fn table_schema(&self) -> &TableSchema {
        &self.table_schema
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Arc::new(Self { batch_size, ..self.clone() })
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        let exact = &self.filters.exact;
        (!exact.is_empty()).then(|| conjunction(exact.iter().cloned()))
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.kind.name()
    }

    fn fmt_extra(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Filters { exact, wider } = &self.filters;
        for (label, filters) in [("predicate", exact), ("pruning", wider)] {
            if !filters.is_empty() {
                write!(f, ", {label}={}", conjunction(filters.iter().cloned()))?;
            }
        }
        Ok(())
    }

    /// Cuts files into ranges of bytes, which the opener maps to ranges of rows.
    fn repartitioned(
        &self,
        target_partitions: usize,
        min_size: usize,
        output_ordering: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        let min_size = if self.kind.is_text() { min_size } else { min_size / EXPANSION };
        let groups = FileGroupPartitioner::new()
            .with_target_partitions(target_partitions)
            .with_repartition_file_min_size(min_size)
            .with_preserve_order_within_groups(output_ordering.is_some())
            .repartition_file_groups(&config.file_groups);
        Ok(groups.map(|file_groups| {
            let mut config = config.clone();
            config.file_groups = file_groups;
            config
        }))
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        if filters.is_empty() {
            return Ok(FilterPushdownPropagation::with_parent_pushdown_result(Vec::new()));
        }
        let mut source = self.clone();
        let answer = |filter: Arc<dyn PhysicalExpr>| {
            let changes = DynamicFilterTracking::classify(&filter).contains_dynamic_filter();
            match translate(&filter, self.table_schema.file_schema()) {
                Some(found) if found.is_exact && !changes => {
                    source.filters.exact.push(filter);
                    PushedDown::Yes
                }
                Some(_) => {
                    source.filters.wider.push(filter);
                    PushedDown::No
                }
                // A filter that changes may become one that can be translated.
                None if changes => {
                    source.filters.wider.push(filter);
                    PushedDown::No
                }
                None => PushedDown::No,
            }
        };
        let answers = filters.into_iter().map(answer).collect();
        Ok(FilterPushdownPropagation::with_parent_pushdown_result(answers)
            .with_updated_node(Arc::new(source)))
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        let projection = SplitProjection::new(self.table_schema.file_schema(), &merged);
        Ok(Some(Arc::new(Self { projection, ..self.clone() })))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        let filters = self.filters.exact.iter().chain(&self.filters.wider);
        let projected = self.projection.source.iter().map(|projected| &projected.expr);
        apply_expression_roots(filters.chain(projected), f)
    }
}

impl fmt::Debug for HypostyleSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = self.table_schema.file_schema();
        f.debug_struct("HypostyleSource")
            .field("kind", &self.kind)
            .field("schema", schema)
            .finish_non_exhaustive()
    }
}
