//! Submits a plan to a scheduler, and fetches its result.

use std::sync::Arc;
use std::time::Duration;

use ballista_core::client::BallistaClient;
use ballista_core::serde::protobuf::get_job_status_result::FlightProxy;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::protobuf::{
    CancelJobParams, ExecuteQueryParams, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, KeyValuePair, PartitionLocation, RemoveSessionParams,
    execute_query_params::Query, execute_query_result, job_status,
};
use ballista_core::utils::{GrpcClientConfig, create_grpc_client_endpoint};
use ballista_core::version;
use datafusion::common::{DataFusionError, Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use datafusion_proto::physical_plan::AsExecutionPlan;
use datafusion_proto::protobuf::PhysicalPlanNode;
use tokio::runtime::Handle;
use tonic::transport::Channel;
use uuid::Uuid;

use crate::physical_codec::PhysicalCodec;
use crate::tls::Tls;

/// The longest message of a scheduler or an executor. A plan names each file that it reads.
pub(crate) const MAX_MESSAGE_BYTES: u32 = 256 << 20;

/// The time between two questions whether a job has ended: at first, and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LAST_PAUSE: Duration = Duration::from_millis(100);

/// The longest time that a client waits until its job is cancelled.
const CANCEL_TIME: Duration = Duration::from_secs(2);

/// How often the client tries to fetch a part of the result, and how long it waits between.
const FETCH_RETRIES: u8 = 3;
const FETCH_PAUSE_MILLIS: u64 = 500;

/// The way to a scheduler.
#[derive(Clone, Debug)]
pub(crate) struct Connection {
    host: String,
    port: u16,
    tls: Option<Tls>,
}

type SchedulerClient = SchedulerGrpcClient<Channel>;

impl Connection {
    pub(crate) fn new(host: String, port: u16, tls: Option<Tls>) -> Self {
        Self { host, port, tls }
    }

    /// Returns the address of the scheduler.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    async fn client(&self) -> Result<SchedulerClient> {
        let unreachable = |err: Box<dyn std::error::Error + Send + Sync>| {
            exec_datafusion_err!("no scheduler at df://{}: {}", self.address(), causes(&*err))
        };
        let config = GrpcClientConfig::default();
        let endpoint =
            create_grpc_client_endpoint(format!("http://{}", self.address()), Some(&config));
        let mut endpoint = endpoint.map_err(|err| unreachable(err.into()))?;
        if let Some(tls) = &self.tls {
            let customize = tls.endpoint_override();
            endpoint = customize(endpoint).map_err(unreachable)?;
        }
        let channel = endpoint.connect().await.map_err(|err| unreachable(err.into()))?;
        let most = MAX_MESSAGE_BYTES as usize;
        Ok(SchedulerClient::new(channel)
            .max_encoding_message_size(most)
            .max_decoding_message_size(most))
    }

    /// Runs a plan; returns when all of its tasks have ended.
    pub(crate) async fn run(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &SessionConfig,
    ) -> Result<FinishedJob> {
        let message = PhysicalPlanNode::try_from_physical_plan(plan, &PhysicalCodec::default());
        let message = message.map_err(|err| cannot_be_sent(&err))?;
        let mut plan = Vec::new();
        message.try_encode(&mut plan)?;
        let settings = config.options().entries().into_iter();
        let settings = settings.map(|entry| KeyValuePair { key: entry.key, value: entry.value });
        // Executors keep stores, and what they know of files, as long as a session.
        let session_id = Uuid::new_v4().to_string();
        let query = ExecuteQueryParams {
            session_id: session_id.clone(),
            settings: settings.collect(),
            operation_id: Uuid::new_v4().to_string(),
            query: Some(Query::PhysicalPlan(plan)),
        };
        let mut client = self.client().await?;
        let mut request = tonic::Request::new(query);
        version::insert_version_header(request.metadata_mut());
        let response = client.execute_query(request).await.map_err(|err| status(&err))?;
        let scheduler = version::version_from_metadata(response.metadata());
        version::check_compatibility(Some(ballista_core::BALLISTA_VERSION), scheduler)
            .map_err(DataFusionError::Execution)?;
        let job_id = match response.into_inner().result {
            Some(execute_query_result::Result::Success(started)) => started.job_id,
            Some(execute_query_result::Result::Failure(failure)) => {
                return Err(exec_datafusion_err!("the scheduler refused the plan: {failure:?}"));
            }
            None => return Err(internal_datafusion_err!("the scheduler gave no answer")),
        };
        let running = RunningJob {
            connection: self.clone(),
            client,
            job_id,
            session_id,
            runtime: Handle::current(),
            is_over: false,
        };
        running.wait().await
    }
}

/// A job that is cancelled when it is dropped before it has ended.
struct RunningJob {
    connection: Connection,
    client: SchedulerClient,
    job_id: String,
    session_id: String,
    runtime: Handle,
    is_over: bool,
}

impl RunningJob {
    async fn wait(mut self) -> Result<FinishedJob> {
        let mut pause = FIRST_PAUSE;
        loop {
            let asked = GetJobStatusParams { job_id: self.job_id.clone() };
            let answer = self.client.get_job_status(asked).await.map_err(|err| status(&err))?;
            let answer = answer.into_inner();
            match answer.status.and_then(|status| status.status) {
                Some(job_status::Status::Failed(failed)) => {
                    self.is_over = true;
                    return Err(failure(&failed.error));
                }
                Some(job_status::Status::Successful(job)) => {
                    self.is_over = true;
                    let mut parts = job.partition_location;
                    let number = |part: &PartitionLocation| {
                        part.partition_id.as_ref().map(|id| id.partition_id)
                    };
                    // In the order of the plan, whatever the order in which tasks have ended.
                    parts.sort_by_key(|part| (number(part), part.map_partition_id));
                    return Ok(FinishedJob {
                        connection: self.connection.clone(),
                        client: self.client.clone(),
                        job_id: self.job_id.clone(),
                        session_id: self.session_id.clone(),
                        parts,
                        proxy: answer.flight_proxy,
                    });
                }
                Some(job_status::Status::Queued(_) | job_status::Status::Running(_)) | None => {
                    tokio::time::sleep(pause).await;
                    pause = LAST_PAUSE.min(pause.saturating_mul(2));
                }
            }
        }
    }
}

impl Drop for RunningJob {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (mut client, job_id) = (self.client.clone(), self.job_id.clone());
        let cancel = async move {
            let asked = client.cancel_job(CancelJobParams { job_id });
            // Without an answer, executors finish what they are doing.
            let _ = tokio::time::timeout(CANCEL_TIME, asked).await;
        };
        // The process may be about to end, so this waits; on another thread, since this one may
        // belong to the runtime.
        let runtime = self.runtime.clone();
        let cancelling = std::thread::Builder::new().spawn(move || runtime.block_on(cancel));
        if let Ok(cancelling) = cancelling {
            let _ = cancelling.join();
        }
    }
}

/// A job that has ended well.
pub(crate) struct FinishedJob {
    connection: Connection,
    client: SchedulerClient,
    job_id: String,
    session_id: String,
    parts: Vec<PartitionLocation>,
    proxy: Option<FlightProxy>,
}

impl FinishedJob {
    /// Returns what the tasks of the job have counted.
    pub(crate) async fn metrics(&mut self) -> Result<GetJobMetricsResult> {
        let asked = GetJobMetricsParams { job_id: self.job_id.clone() };
        let answer = self.client.get_job_metrics(asked).await.map_err(|err| status(&err))?;
        Ok(answer.into_inner())
    }

    /// Returns the number of parts of the result.
    pub(crate) fn parts(&self) -> usize {
        self.parts.len()
    }

    /// Returns a part of the result.
    pub(crate) async fn fetch(&self, part: usize) -> Result<SendableRecordBatchStream> {
        let part = self.parts.get(part).ok_or_else(|| internal_datafusion_err!("no such part"))?;
        let incomplete = || internal_datafusion_err!("the scheduler sent no place of a result");
        let executor = part.executor_meta.as_ref().ok_or_else(incomplete)?;
        let id = part.partition_id.clone().ok_or_else(incomplete)?;
        let port = |port: u32| u16::try_from(port).map_err(|_| incomplete());
        let executor_port = port(executor.port)?;
        let (host, port) = match &self.proxy {
            Some(FlightProxy::External(address)) => {
                let (host, port) = address.rsplit_once(':').ok_or_else(incomplete)?;
                (host.to_owned(), port.parse().map_err(|_| incomplete())?)
            }
            Some(FlightProxy::Local(true)) => (self.connection.host.clone(), self.connection.port),
            Some(FlightProxy::Local(false)) | None => (executor.host.clone(), executor_port),
        };
        let tls = self.connection.tls.as_ref();
        let lost = |err: ballista_core::error::BallistaError| {
            exec_datafusion_err!("cannot fetch the result from {host}:{port}: {err}")
        };
        let mut client = BallistaClient::try_new(
            &host,
            port,
            MAX_MESSAGE_BYTES as usize,
            tls.is_some(),
            tls.map(Tls::endpoint_config),
            FETCH_RETRIES,
            FETCH_PAUSE_MILLIS,
            0,
            0,
        )
        .await
        .map_err(lost)?;
        let fetched = client.fetch_partition_proxied(
            &executor.id,
            &id.into(),
            part.file_id,
            part.layout(),
            &executor.host,
            executor_port,
            true,
        );
        fetched.await.map_err(lost)
    }

    /// Lets the scheduler forget the session of the job.
    pub(crate) async fn end(mut self) {
        let session_id = std::mem::take(&mut self.session_id);
        // The scheduler forgets it after some time anyway.
        let _ = self.client.remove_session(RemoveSessionParams { session_id }).await;
    }
}

fn status(status: &tonic::Status) -> DataFusionError {
    exec_datafusion_err!("the scheduler answered: {}", status.message())
}

/// Returns an error and what caused it, each once.
fn causes(err: &dyn std::error::Error) -> String {
    let mut text = err.to_string();
    let mut cause = err.source();
    while let Some(err) = cause {
        let more = err.to_string();
        if !text.contains(&more) {
            text += ": ";
            text += &more;
        }
        cause = err.source();
    }
    text
}

fn cannot_be_sent(err: &DataFusionError) -> DataFusionError {
    let text = err.strip_backtrace();
    // What follows is the plan in a form for developers.
    let text = text.split(". Plan: ").next().unwrap_or(&text);
    exec_datafusion_err!("this query cannot be sent to a cluster: {text}")
}

/// Returns the error of a job: the innermost message, without the layers of the servers.
fn failure(text: &str) -> DataFusionError {
    exec_datafusion_err!("the cluster could not run the query: {}", text.trim())
}
