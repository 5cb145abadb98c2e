//! The stages of a plan, as text.

use std::sync::Arc;

use ballista_core::JobId;
use ballista_core::serde::protobuf::{GetJobMetricsResult, OperatorMetricsSet};
use ballista_scheduler::planner::{DefaultDistributedPlanner, DistributedPlanner};
use datafusion::arrow::array::{ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, displayable};

/// Returns the stages into which a scheduler divides a plan.
pub(crate) fn planned_stages(plan: Arc<dyn ExecutionPlan>, state: &dyn Session) -> Result<String> {
    let job = JobId::from("explain");
    let mut planner = DefaultDistributedPlanner::new();
    let stages = planner.plan_query_stages(&job, plan, state.config_options());
    let stages = stages.map_err(|err| exec_datafusion_err!("{err}"))?;
    let described = stages.iter().map(|stage| {
        let tasks = stage
            .children()
            .first()
            .map_or(1, |input| input.output_partitioning().partition_count());
        let plan = displayable(stage.as_ref() as &dyn ExecutionPlan).indent(false).to_string();
        format!("stage {}, {tasks} partitions\n{plan}", stage.stage_id())
    });
    Ok(described.collect::<Vec<_>>().join("\n"))
}

/// Returns rows with kinds of plans, and their texts.
pub(crate) fn plan_rows(rows: &[(&str, String)], schema: &SchemaRef) -> Result<RecordBatch> {
    let kinds = rows.iter().map(|(kind, _)| Some(*kind));
    let texts = rows.iter().map(|(_, text)| Some(text.as_str()));
    let columns: [ArrayRef; 2] =
        [Arc::new(StringArray::from_iter(kinds)), Arc::new(StringArray::from_iter(texts))];
    Ok(RecordBatch::try_new(schema.clone(), columns.to_vec())?)
}

/// Returns the stages of a job that has ended, with what each operator has counted.
pub(crate) fn executed_stages(
    counted: &GetJobMetricsResult,
    schema: &SchemaRef,
) -> Result<RecordBatch> {
    let mut text = String::new();
    for stage in &counted.stages {
        text += &format!("stage {}, {} partitions\n", stage.stage_id, stage.partitions);
        for operator in &stage.operators {
            let set = OperatorMetricsSet { metrics: operator.metrics.clone() };
            let set: MetricsSet =
                set.try_into().map_err(|err| internal_datafusion_err!("metrics: {err}"))?;
            let set = set.aggregate_by_name().sorted_for_display().timestamps_removed();
            let indent = "  ".repeat(operator.depth as usize);
            text += &format!("{indent}{}, metrics=[{set}]\n", operator.operator_desc);
        }
        text.push('\n');
    }
    plan_rows(&[("Plan with Metrics", text.trim_end().to_owned())], schema)
}
