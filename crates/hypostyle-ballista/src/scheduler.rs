//! The scheduler of a cluster.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use ballista_core::error::Result;
use ballista_core::utils::default_session_builder;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::{create_scheduler, start_grpc_service_with_listener};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use hypostyle_remote::Settings;
use tokio::net::TcpListener;

use crate::allowed_stores::AllowedStores;
use crate::cluster::DEFAULT_PORT;
use crate::job::MAX_MESSAGE_BYTES;
use crate::physical_codec::PhysicalCodec;
use crate::tls::Tls;

/// The time without a sign of life after which an executor counts as lost, in seconds, and the
/// time between two looks.
const EXECUTOR_TIMEOUT: u64 = 30;
const EXECUTOR_CHECK: u64 = 5;

/// The scheduler of a cluster: Ballista's, with our codecs.
#[derive(Clone, Debug)]
pub struct Scheduler {
    /// The address to listen on; this machine only by default.
    pub bind: IpAddr,
    /// The port to listen on; 0 means any free one.
    pub port: u16,
    /// The name by which executors reach the scheduler.
    pub external_host: Option<String>,
    /// How connections to executors are encrypted.
    pub tls: Option<Tls>,
    /// The time without a sign of life after which an executor counts as lost, in seconds.
    pub executor_timeout: u64,
    /// Whether clients fetch results through the scheduler, and not from executors.
    pub proxy_results: bool,
}

impl Default for Scheduler {
    fn default() -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            port: DEFAULT_PORT,
            external_host: None,
            tls: None,
            executor_timeout: EXECUTOR_TIMEOUT,
            proxy_results: false,
        }
    }
}

impl Scheduler {
    /// Listens until the process ends. Calls `ready` with the address when it does.
    ///
    /// # Errors
    ///
    /// Fails if it cannot listen.
    pub async fn run(self, ready: impl FnOnce(SocketAddr)) -> Result<()> {
        let listener = TcpListener::bind((self.bind, self.port)).await?;
        let address = listener.local_addr()?;
        let host = self.external_host.unwrap_or_else(|| self.bind.to_string());
        let config = SchedulerConfig {
            bind_host: self.bind.to_string(),
            bind_port: address.port(),
            external_host: host,
            task_distribution: TaskDistributionPolicy::RoundRobin,
            grpc_server_max_decoding_message_size: MAX_MESSAGE_BYTES,
            grpc_server_max_encoding_message_size: MAX_MESSAGE_BYTES,
            grpc_client_max_message_size: MAX_MESSAGE_BYTES,
            executor_timeout_seconds: self.executor_timeout,
            no_executors_grace_period_seconds: self.executor_timeout.saturating_mul(2),
            expire_dead_executor_interval_seconds: EXECUTOR_CHECK.min(self.executor_timeout.max(1)),
            enable_embedded_flight_proxy: self.proxy_results,
            override_session_builder: Some(Arc::new(session)),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_create_grpc_client_endpoint: self.tls.as_ref().map(Tls::endpoint_override),
            use_tls: self.tls.is_some(),
            ..SchedulerConfig::default()
        };
        config.validate()?;
        let cluster = BallistaCluster::new_from_config(&config).await?;
        let scheduler =
            create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
        let scheduler = scheduler.await?;
        ready(address);
        start_grpc_service_with_listener(listener, scheduler).await
    }
}

/// Returns the session of a job, which has no stores: clients have planned what is read.
fn session(config: SessionConfig) -> datafusion::common::Result<SessionState> {
    let stores = AllowedStores::new(Vec::new(), Settings::default(), Arc::default());
    let runtime =
        RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(stores)).build_arc()?;
    let state = default_session_builder(config)?;
    Ok(SessionStateBuilder::new_from_existing(state).with_runtime_env(runtime).build())
}
