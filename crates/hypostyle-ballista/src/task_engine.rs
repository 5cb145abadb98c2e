//! Prepares the plans of tasks on an executor.

use std::sync::Arc;

use ballista_core::JobId;
use ballista_core::error::Result;
use ballista_executor::execution_engine::{
    DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor,
};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;

use crate::part_sink::PartSinkExec;

/// Tells sinks which partitions of the whole plan a task has, and leaves the rest to Ballista.
///
/// The scheduler cuts a plan down to the partitions of a task and numbers these from 0.
pub(crate) struct TaskEngine {
    pub(crate) ballista: DefaultExecutionEngine,
}

impl ExecutionEngine for TaskEngine {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let numbers: Vec<u64> = partitions.iter().map(|&partition| partition as u64).collect();
        let plan = plan.transform(|node| match node.downcast_ref::<PartSinkExec>() {
            Some(sink) => {
                let sink = sink.clone().with_numbers(numbers.clone());
                Ok(Transformed::yes(Arc::new(sink) as Arc<dyn ExecutionPlan>))
            }
            None => Ok(Transformed::no(node)),
        })?;
        let plan = plan.data;
        self.ballista.create_query_stage_exec(job, stage, task, partitions, plan, work_dir, config)
    }
}
