//! A source of the engine whose errors name the file.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileOpener, FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_expr::{
    EquivalenceProperties, LexOrdering, PhysicalExpr, PhysicalSortExpr,
};
use datafusion::physical_plan::filter_pushdown::FilterPushdownPropagation;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{DisplayFormatType, SortOrderPushdownResult};
use datafusion_datasource::morsel::{Morsel, MorselPlan, MorselPlanner, Morselizer};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::ObjectStore;
use object_store::path::Path;

use crate::file_error::FileError;

/// A source of the engine.
pub(crate) struct EngineSource(Arc<dyn FileSource>);

impl EngineSource {
    pub(crate) fn new(source: Arc<dyn FileSource>) -> Self {
        Self(source)
    }

    fn shared(source: Arc<dyn FileSource>) -> Arc<dyn FileSource> {
        Arc::new(Self(source))
    }
}

impl FileSource for EngineSource {
    fn create_file_opener(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        self.0.create_file_opener(store, config, partition)
    }

    fn create_morselizer(
        &self,
        store: Arc<dyn ObjectStore>,
        config: &FileScanConfig,
        partition: usize,
    ) -> Result<Box<dyn Morselizer>> {
        Ok(Box::new(NamedFiles(self.0.create_morselizer(store, config, partition)?)))
    }

    fn table_schema(&self) -> &TableSchema {
        self.0.table_schema()
    }

    fn with_batch_size(&self, batch_size: usize) -> Arc<dyn FileSource> {
        Self::shared(self.0.with_batch_size(batch_size))
    }

    fn filter(&self) -> Option<Arc<dyn PhysicalExpr>> {
        self.0.filter()
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        self.0.projection()
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        self.0.metrics()
    }

    fn file_type(&self) -> &str {
        self.0.file_type()
    }

    fn fmt_extra(&self, of: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt_extra(of, f)
    }

    fn supports_repartitioning(&self) -> bool {
        self.0.supports_repartitioning()
    }

    fn repartitioned(
        &self,
        target_partitions: usize,
        min_size: usize,
        order: Option<LexOrdering>,
        config: &FileScanConfig,
    ) -> Result<Option<FileScanConfig>> {
        self.0.repartitioned(target_partitions, min_size, order, config)
    }

    fn try_pushdown_filters(
        &self,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        options: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn FileSource>>> {
        let mut found = self.0.try_pushdown_filters(filters, options)?;
        found.updated_node = found.updated_node.map(Self::shared);
        Ok(found)
    }

    fn try_pushdown_sort(
        &self,
        order: &[PhysicalSortExpr],
        properties: &EquivalenceProperties,
    ) -> Result<SortOrderPushdownResult<Arc<dyn FileSource>>> {
        use SortOrderPushdownResult as Found;
        Ok(match self.0.try_pushdown_sort(order, properties)? {
            Found::Exact { inner } => Found::Exact { inner: Self::shared(inner) },
            Found::Inexact { inner } => Found::Inexact { inner: Self::shared(inner) },
            Found::Unsupported => Found::Unsupported,
        })
    }

    fn reorder_files(&self, files: Vec<PartitionedFile>) -> Vec<PartitionedFile> {
        self.0.reorder_files(files)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        Ok(self.0.try_pushdown_projection(projection)?.map(Self::shared))
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        self.0.apply_expressions(f)
    }
}

/// Plans the scans of files; errors name them.
#[derive(Debug)]
struct NamedFiles(Box<dyn Morselizer>);

impl Morselizer for NamedFiles {
    fn plan_file(&self, file: PartitionedFile) -> Result<Box<dyn MorselPlanner>> {
        let location = file.object_meta.location.clone();
        let inner = self.0.plan_file(file).map_err(|err| named(err, &location))?;
        Ok(Box::new(NamedPlanner { inner, location }))
    }
}

/// Plans the scan of one file.
#[derive(Debug)]
struct NamedPlanner {
    inner: Box<dyn MorselPlanner>,
    location: Path,
}

impl NamedPlanner {
    fn boxed(inner: Box<dyn MorselPlanner>, location: &Path) -> Box<dyn MorselPlanner> {
        Box::new(Self { inner, location: location.clone() })
    }
}

impl MorselPlanner for NamedPlanner {
    fn plan(self: Box<Self>) -> Result<Option<MorselPlan>> {
        let Self { inner, location } = *self;
        let Some(mut found) = inner.plan().map_err(|err| named(err, &location))? else {
            return Ok(None);
        };
        let morsels = found.take_morsels().into_iter().map(|inner| {
            let location = location.clone();
            Box::new(NamedMorsel { inner, location }) as Box<dyn Morsel>
        });
        let planners = found.take_ready_planners().into_iter();
        let planners = planners.map(|inner| NamedPlanner::boxed(inner, &location));
        let plan = MorselPlan::new().with_morsels(morsels.collect());
        let mut plan = plan.with_planners(planners.collect());
        if let Some(pending) = found.take_pending_planner() {
            plan.set_pending_planner(async move {
                let inner = pending.into_future().await.map_err(|err| named(err, &location))?;
                Ok(NamedPlanner::boxed(inner, &location))
            });
        }
        Ok(Some(plan))
    }
}

/// A part of a file that is scanned.
#[derive(Debug)]
struct NamedMorsel {
    inner: Box<dyn Morsel>,
    location: Path,
}

impl Morsel for NamedMorsel {
    fn into_stream(self: Box<Self>) -> BoxStream<'static, Result<RecordBatch>> {
        let Self { inner, location } = *self;
        inner.into_stream().map_err(move |err| named(err, &location)).boxed()
    }
}

/// Adds the name of a file to an error, unless it is about memory.
fn named(err: DataFusionError, location: &Path) -> DataFusionError {
    match err.find_root() {
        DataFusionError::ResourcesExhausted(_) => err,
        _ => FileError::new(location, err).into(),
    }
}
