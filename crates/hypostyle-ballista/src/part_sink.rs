//! Writes each partition of a query as one file.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_datafusion_err, plan_datafusion_err};
use datafusion::datasource::physical_plan::FileSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, Partitioning,
    PlanProperties,
};
use hypostyle_datafusion::HypostyleSink;
use object_store::path::Path;

/// Writes each partition of its input as one file; returns the name of the file, and its rows.
///
/// The name depends on the number of the partition, so a task that is repeated replaces the file
/// that an earlier attempt wrote. A partition without rows has no file.
#[derive(Clone)]
pub(crate) struct PartSinkExec {
    input: Arc<dyn ExecutionPlan>,
    sink: Arc<HypostyleSink>,
    token: String,
    /// The numbers that the partitions of this task have in the whole plan; all of them if empty.
    numbers: Vec<u64>,
    properties: Arc<PlanProperties>,
}

impl PartSinkExec {
    pub(crate) fn new(
        input: Arc<dyn ExecutionPlan>,
        sink: Arc<HypostyleSink>,
        token: String,
    ) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema()),
            Partitioning::UnknownPartitioning(input.output_partitioning().partition_count()),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        Self { input, sink, token, numbers: Vec::new(), properties: Arc::new(properties) }
    }

    /// Sets the numbers that the partitions have in the whole plan.
    pub(crate) fn with_numbers(mut self, numbers: Vec<u64>) -> Self {
        self.numbers = numbers;
        self
    }

    pub(crate) fn sink(&self) -> &HypostyleSink {
        &self.sink
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Returns the location of the file of a partition.
    pub(crate) fn location(&self, number: u64) -> Result<Path> {
        let config = self.sink.config();
        let folder = config.table_paths.first();
        let folder = folder.ok_or_else(|| plan_datafusion_err!("COPY has no target"))?;
        let name = format!("{}-{number:05}.{}", self.token, config.file_extension);
        Ok(folder.prefix().clone().join(name))
    }
}

/// The schema of what the sink returns.
fn schema() -> SchemaRef {
    let field = |name: &str, of| Field::new(name, of, false);
    Arc::new(Schema::new(vec![field("file", DataType::Utf8), field("count", DataType::UInt64)]))
}

impl ExecutionPlan for PartSinkExec {
    fn name(&self) -> &'static str {
        "PartSinkExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = children.into_iter().next();
        let input = input.ok_or_else(|| internal_datafusion_err!("a sink has an input"))?;
        let sink = Self::new(input, self.sink.clone(), self.token.clone());
        Ok(Arc::new(sink.with_numbers(self.numbers.clone())))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let number = match self.numbers.get(partition) {
            Some(&number) => number,
            None if self.numbers.is_empty() => partition as u64,
            None => return Err(internal_datafusion_err!("partition {partition} has no number")),
        };
        let location = self.location(number)?;
        let rows = self.input.execute(partition, context.clone())?;
        let store = context.runtime_env().object_store(&self.sink.config().object_store_url)?;
        let sink = self.sink.clone();
        let written = async move {
            let name = location.to_string();
            let count = sink.write_file(rows, location, store.as_ref()).await?;
            let columns: [ArrayRef; 2] =
                [Arc::new(StringArray::from(vec![name])), Arc::new(UInt64Array::from(vec![count]))];
            Ok(RecordBatch::try_new(schema(), columns.to_vec())?)
        };
        let stream = futures::stream::once(written);
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema(), stream)))
    }
}

impl DisplayAs for PartSinkExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = &self.sink.config().original_url;
        write!(f, "PartSinkExec: one {} file per partition, url={url}", self.sink.kind().name())
    }
}

impl fmt::Debug for PartSinkExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PartSinkExec").field("token", &self.token).finish_non_exhaustive()
    }
}
