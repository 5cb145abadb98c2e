//! Runs a plan on a cluster, as a node of a local plan.

use std::fmt;
use std::sync::Arc;

use ballista_core::serde::protobuf::{GetJobMetricsResult, OperatorMetricsSet};
use datafusion::arrow::array::{AsArray, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{SchemaRef, UInt64Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{
    ExecutionPlanMetricsSet, MetricBuilder, MetricValue, MetricsSet,
};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, displayable,
};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectStore, ObjectStoreExt};

use crate::explain::executed_stages;
use crate::job::{Connection, FinishedJob};
use crate::part_sink::PartSinkExec;

/// What becomes of the result of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// The rows are returned.
    Rows,
    /// The rows are counts, which are added up.
    Counts,
    /// The rows are dropped; the stages are returned with what they have counted.
    Analysis,
}

/// Runs a plan on a cluster.
pub(crate) struct ClusterExec {
    connection: Connection,
    plan: Arc<dyn ExecutionPlan>,
    output: Output,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ClusterExec {
    pub(crate) fn new(
        connection: Connection,
        plan: Arc<dyn ExecutionPlan>,
        output: Output,
        schema: SchemaRef,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        Self { connection, plan, output, schema, properties: Arc::new(properties), metrics }
    }
}

impl ExecutionPlan for ClusterExec {
    fn name(&self) -> &'static str {
        "ClusterExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    /// Returns nothing: the plan that the cluster runs is not run here.
    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let run = Run {
            connection: self.connection.clone(),
            plan: self.plan.clone(),
            output: self.output,
            schema: self.schema.clone(),
            metrics: self.metrics.clone(),
            context,
        };
        let stream = futures::stream::once(run.start()).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream)))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

impl DisplayAs for ClusterExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "ClusterExec: scheduler=df://{}", self.connection.address())?;
        write!(f, "{}", displayable(self.plan.as_ref()).indent(false))
    }
}

impl fmt::Debug for ClusterExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterExec").field("output", &self.output).finish_non_exhaustive()
    }
}

/// A plan that is run.
struct Run {
    connection: Connection,
    plan: Arc<dyn ExecutionPlan>,
    output: Output,
    schema: SchemaRef,
    metrics: ExecutionPlanMetricsSet,
    context: Arc<TaskContext>,
}

pub(crate) type Batches = BoxStream<'static, Result<RecordBatch>>;

impl Run {
    async fn start(self) -> Result<Batches> {
        let config = self.context.session_config();
        let mut job = match self.connection.run(self.plan.clone(), config).await {
            Ok(job) => job,
            Err(err) => {
                self.remove_files().await;
                return Err(err);
            }
        };
        let counted = job.metrics().await?;
        count(&counted, &self.metrics)?;
        match self.output {
            Output::Rows => Ok(rows(job)),
            Output::Counts => {
                let mut total = 0_u64;
                let mut batches = rows(job);
                while let Some(batch) = batches.try_next().await? {
                    let counts = batch.column_by_name("count");
                    let counts = counts.and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
                    let counts =
                        counts.ok_or_else(|| internal_datafusion_err!("a sink has no counts"))?;
                    total = counts.values().iter().fold(total, |sum, n| sum.saturating_add(*n));
                }
                let counts = Arc::new(UInt64Array::from(vec![total]));
                let batch = RecordBatch::try_new(self.schema, vec![counts])?;
                Ok(futures::stream::once(async { Ok(batch) }).boxed())
            }
            Output::Analysis => {
                let batch = executed_stages(&counted, &self.schema)?;
                job.end().await;
                Ok(futures::stream::once(async { Ok(batch) }).boxed())
            }
        }
    }

    /// Removes the files that tasks of a failed job have written.
    async fn remove_files(&self) {
        let Some(sink) = self.plan.downcast_ref::<PartSinkExec>() else { return };
        let url = &datafusion::datasource::physical_plan::FileSink::config(sink.sink());
        let runtime = self.context.runtime_env();
        let Ok(store) = runtime.object_store(&url.object_store_url) else { return };
        let partitions = sink.properties().partitioning.partition_count();
        for number in 0..partitions {
            if let Ok(location) = sink.location(number as u64) {
                remove(store.as_ref(), &location).await;
            }
        }
    }
}

async fn remove(store: &dyn ObjectStore, location: &object_store::path::Path) {
    // Most of the files do not exist, and the first error says what went wrong.
    let _ = store.delete(location).await;
}

/// Returns the rows of all parts of the result, in order.
pub(crate) fn rows(job: FinishedJob) -> Batches {
    struct Parts {
        job: FinishedJob,
        next: usize,
        open: Option<SendableRecordBatchStream>,
    }
    let parts = Parts { job, next: 0, open: None };
    let batches = futures::stream::try_unfold(Some(parts), |parts| async move {
        let Some(mut parts) = parts else { return Ok(None) };
        loop {
            if let Some(open) = &mut parts.open
                && let Some(batch) = open.try_next().await?
            {
                return Ok::<_, DataFusionError>(Some((batch, Some(parts))));
            }
            if parts.next >= parts.job.parts() {
                parts.job.end().await;
                return Ok(None);
            }
            parts.open = Some(parts.job.fetch(parts.next).await?);
            parts.next = parts.next.saturating_add(1);
        }
    });
    batches.boxed()
}

/// Adds what the scans of the job have counted to our own metrics.
fn count(counted: &GetJobMetricsResult, metrics: &ExecutionPlanMetricsSet) -> Result<()> {
    for operator in counted.stages.iter().flat_map(|stage| &stage.operators) {
        let set = OperatorMetricsSet { metrics: operator.metrics.clone() };
        let set: MetricsSet =
            set.try_into().map_err(|err| internal_datafusion_err!("metrics: {err}"))?;
        for metric in set.iter() {
            if let MetricValue::Count { name, count } = metric.value() {
                let own = MetricBuilder::new(metrics).global_counter(name.clone());
                own.add(count.value());
            }
        }
    }
    Ok(())
}
