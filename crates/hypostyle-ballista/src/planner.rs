//! Plans queries of a session for a cluster.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::physical_plan::{FileScanConfig, FileSink};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::{Explain, LogicalPlan};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use datafusion_datasource::file_sink_config::FileOutputMode;
use hypostyle_datafusion::HypostyleSink;
use uuid::Uuid;

use crate::cluster_exec::{ClusterExec, Output};
use crate::explain::{plan_rows, planned_stages};
use crate::job::Connection;
use crate::part_sink::PartSinkExec;
use crate::physical_codec::scan_of;
use crate::row_groups::assign;

/// Plans queries that read files for a cluster, and others for this process.
#[derive(Debug)]
pub(crate) struct ClusterPlanner {
    pub(crate) connection: Connection,
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        state: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        match plan {
            LogicalPlan::Explain(explain) => self.explain(explain, state).await,
            LogicalPlan::Analyze(analyze) => {
                let inner = planner.create_physical_plan(&analyze.input, state).await?;
                if !reads_files(&inner) {
                    return planner.create_physical_plan(plan, state).await;
                }
                let inner = self.distributed(inner, state).await?.plan;
                let schema = Arc::clone(analyze.schema.inner());
                Ok(self.run(inner, Output::Analysis, schema))
            }
            _ => {
                let local = planner.create_physical_plan(plan, state).await?;
                if !reads_files(&local) {
                    return Ok(local);
                }
                if let Some(rows) = rows_of_client_sink(&local) {
                    let schema = rows.schema();
                    let Distributed { plan, output } = self.distributed(rows, state).await?;
                    return local.with_new_children(vec![self.run(plan, output, schema)]);
                }
                let schema = local.schema();
                let Distributed { plan, output } = self.distributed(local, state).await?;
                Ok(self.run(plan, output, schema))
            }
        }
    }
}

/// A plan for a cluster.
struct Distributed {
    plan: Arc<dyn ExecutionPlan>,
    output: Output,
}

impl ClusterPlanner {
    fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        output: Output,
        schema: datafusion::arrow::datatypes::SchemaRef,
    ) -> Arc<dyn ExecutionPlan> {
        Arc::new(ClusterExec::new(self.connection.clone(), plan, output, schema))
    }

    /// Turns a plan of one process into one for a cluster.
    async fn distributed(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        state: &dyn Session,
    ) -> Result<Distributed> {
        let partitions = state.config_options().execution.target_partitions;
        let folder_sink = folder_sink(&plan);
        // Of rows that go through one by one, every task can have some. One process would have
        // gained nothing.
        let at_least = goes_row_by_row(&plan).then_some(partitions);
        let plan = assign(plan, state, at_least).await?;
        let Some(sink) = folder_sink else {
            return Ok(Distributed { plan, output: Output::Rows });
        };
        let input = rows_of_sink(&plan);
        let input = input.ok_or_else(|| internal_datafusion_err!("a sink has an input"))?;
        let token = Uuid::new_v4().simple().to_string();
        let token = token.get(..16).unwrap_or(&token).to_owned();
        let plan = Arc::new(PartSinkExec::new(input, sink, token));
        Ok(Distributed { plan, output: Output::Counts })
    }

    /// Returns the plans of a query, and the stages that a scheduler makes of it.
    async fn explain(
        &self,
        explain: &Explain,
        state: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let planner = DefaultPhysicalPlanner::default();
        let local = planner.create_physical_plan(&explain.plan, state).await?;
        if !reads_files(&local) {
            let plan = LogicalPlan::Explain(explain.clone());
            return planner.create_physical_plan(&plan, state).await;
        }
        let local = rows_of_client_sink(&local).unwrap_or(local);
        let Distributed { plan, .. } = self.distributed(local, state).await?;
        let logical = explain.plan.display_indent().to_string();
        let physical = displayable(plan.as_ref()).indent(explain.verbose).to_string();
        let stages = planned_stages(plan, state)?;
        let rows =
            [("logical_plan", logical), ("physical_plan", physical), ("distributed_plan", stages)];
        let schema = Arc::clone(explain.schema.inner());
        let batch = plan_rows(&rows, &schema)?;
        Ok(MemorySourceConfig::try_new_exec(&[vec![batch]], schema, None)?)
    }
}

/// Returns whether a plan reads files.
fn reads_files(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let reads = |node: &Arc<dyn ExecutionPlan>| {
        let exec = node.downcast_ref::<DataSourceExec>();
        Ok(exec.is_some_and(|exec| exec.data_source().is::<FileScanConfig>()))
    };
    plan.exists(reads).unwrap_or(true)
}

/// Returns the plan of the rows that a sink writes, whatever their partitions.
fn rows_of_sink(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let children = plan.children();
    let [input] = children.as_slice() else { return None };
    let only = input.children();
    match only.as_slice() {
        [rows] if input.is::<CoalescePartitionsExec>() && input.fetch().is_none() => {
            Some(Arc::clone(rows))
        }
        _ => Some(Arc::clone(input)),
    }
}

/// Returns the plan of the rows that this process writes: of one file, which needs one writer, or of
/// folders such as `year=2024`.
fn rows_of_client_sink(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let is_ours = plan.is::<DataSinkExec>() && folder_sink(plan).is_none();
    is_ours.then(|| rows_of_sink(plan)).flatten()
}

/// Returns the sink of a plan that writes a folder of our files.
fn folder_sink(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<HypostyleSink>> {
    let exec = plan.downcast_ref::<DataSinkExec>()?;
    let sink = exec.sink().downcast_ref::<HypostyleSink>()?;
    let config = sink.config();
    let url = config.table_paths.first()?;
    let is_folder = match config.file_output_mode {
        FileOutputMode::SingleFile => false,
        FileOutputMode::Directory => true,
        FileOutputMode::Automatic => url.is_collection() || url.file_extension().is_none(),
    };
    if !is_folder || !config.table_partition_cols.is_empty() || exec.sort_order().is_some() {
        return None;
    }
    Some(Arc::new(HypostyleSink::new(sink.kind(), sink.options().clone(), config.clone())))
}

/// Returns whether a plan only filters and computes rows, one by one and all of them.
fn goes_row_by_row(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some((config, _)) = scan_of(plan.as_ref()) {
        return config.limit.is_none();
    }
    let is_simple = plan.is::<DataSinkExec>()
        || plan.is::<CoalescePartitionsExec>()
        || plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>();
    match plan.children().as_slice() {
        [only] => is_simple && plan.fetch().is_none() && goes_row_by_row(only),
        _ => false,
    }
}
