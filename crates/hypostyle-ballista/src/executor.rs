//! The executors of a cluster.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::Arc;

use ballista_core::error::{BallistaError, Result};
use ballista_core::extension::SessionConfigExt;
use ballista_core::{ConfigProducer, RuntimeProducer};
use ballista_executor::execution_engine::DefaultExecutionEngine;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use hypostyle_remote::Settings;

use crate::allowed_stores::{AllowedPrefix, AllowedStores};
use crate::cluster::{DEFAULT_PORT, host_and_port};
use crate::job::MAX_MESSAGE_BYTES;
use crate::physical_codec::PhysicalCodec;
use crate::task_engine::TaskEngine;
use crate::tls::Tls;
use crate::traffic::Traffic;

/// The time between two signs of life.
const HEARTBEAT_SECONDS: u64 = 5;

/// Results that nobody has fetched are removed after so many seconds.
const RESULT_TTL_SECONDS: u64 = 24 * 3600;
const CLEAN_UP_SECONDS: u64 = 600;

/// An executor of a cluster: Ballista's, with our codecs, and with object stores that are limited to
/// allowed prefixes.
#[derive(Clone, Debug)]
pub struct Executor {
    /// The address to listen on; this machine only by default.
    pub bind: IpAddr,
    /// The ports to listen on, for results and for tasks.
    pub ports: (u16, u16),
    /// The name by which the scheduler, other executors and clients reach this one.
    pub external_host: Option<String>,
    /// The scheduler.
    pub scheduler: (String, u16),
    /// How long to wait for the scheduler at the start, in seconds.
    pub wait: u16,
    /// Tasks that run at the same time; `None` means one per core.
    pub tasks: Option<usize>,
    /// The folder for results and temporary files.
    pub work_dir: PathBuf,
    /// Memory for sorting, joining and grouping; `None` means 70 % of that of the machine.
    pub memory: Option<u64>,
    /// What tasks may read and write.
    pub allowed: Vec<AllowedPrefix>,
    /// How long servers of object stores are waited for.
    pub settings: Settings,
    /// How connections to the scheduler and to other executors are encrypted.
    pub tls: Option<Tls>,
    /// Counts what is read and written.
    pub traffic: Arc<Traffic>,
}

impl Executor {
    /// Returns an executor of a scheduler on this machine.
    pub fn new(work_dir: PathBuf, allowed: Vec<AllowedPrefix>) -> Self {
        Self {
            bind: Ipv4Addr::LOCALHOST.into(),
            ports: (DEFAULT_PORT.saturating_add(1), DEFAULT_PORT.saturating_add(2)),
            external_host: None,
            scheduler: (Ipv4Addr::LOCALHOST.to_string(), DEFAULT_PORT),
            wait: 0,
            tasks: None,
            work_dir,
            memory: None,
            allowed,
            settings: Settings::default(),
            tls: None,
            traffic: Arc::default(),
        }
    }

    /// Sets the address of the scheduler: `host:port`, also with `df://` before it.
    ///
    /// # Errors
    ///
    /// Fails if it is none.
    pub fn with_scheduler(mut self, address: &str) -> std::result::Result<Self, String> {
        self.scheduler = host_and_port(address.strip_prefix("df://").unwrap_or(address))?;
        Ok(self)
    }

    /// Runs tasks until the process is told to end.
    ///
    /// # Errors
    ///
    /// Fails if the scheduler is not there, and if it cannot listen.
    pub async fn run(self) -> Result<()> {
        let work_dir = self.work_dir.to_str().map(str::to_owned);
        let work_dir = work_dir.ok_or_else(|| {
            BallistaError::Configuration("the path of the folder is not UTF-8".to_owned())
        })?;
        let tls = self.tls.as_ref().map(Tls::endpoint_override);
        let of_config = tls.clone();
        let produce_config: ConfigProducer = Arc::new(move || {
            let config = SessionConfig::new_with_ballista()
                .with_ballista_grpc_client_max_message_size(MAX_MESSAGE_BYTES as usize)
                .with_ballista_use_tls(of_config.is_some());
            match &of_config {
                Some(tls) => config.with_ballista_override_create_grpc_client_endpoint(tls.clone()),
                None => config,
            }
        });
        let (allowed, settings, traffic) = (self.allowed, self.settings, self.traffic);
        let temporary = work_dir.clone();
        // Called for each session: what it knows of files ends with it.
        let produce_runtime: RuntimeProducer = Arc::new(move |_| {
            let stores = AllowedStores::new(allowed.clone(), settings, traffic.clone());
            RuntimeEnvBuilder::new()
                .with_object_store_registry(Arc::new(stores))
                .with_object_list_cache_limit(0)
                .with_temp_file_path(&temporary)
                .build_arc()
        });
        let ballista = DefaultExecutionEngine::new();
        let config = ExecutorProcessConfig {
            bind_host: self.bind.to_string(),
            external_host: self.external_host.or_else(|| Some(self.bind.to_string())),
            port: self.ports.0,
            grpc_port: self.ports.1,
            scheduler_host: self.scheduler.0,
            scheduler_port: self.scheduler.1,
            scheduler_connect_timeout_seconds: self.wait,
            vcores: self.tasks.unwrap_or(0),
            work_dir: Some(work_dir),
            job_data_ttl_seconds: RESULT_TTL_SECONDS,
            job_data_clean_up_interval_seconds: CLEAN_UP_SECONDS,
            grpc_max_decoding_message_size: MAX_MESSAGE_BYTES,
            grpc_max_encoding_message_size: MAX_MESSAGE_BYTES,
            executor_heartbeat_interval_seconds: HEARTBEAT_SECONDS,
            memory_pool_size: self.memory,
            override_execution_engine: Some(Arc::new(TaskEngine { ballista })),
            override_runtime_producer: Some(produce_runtime),
            override_config_producer: Some(produce_config),
            override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
            override_create_grpc_client_endpoint: tls,
            ..ExecutorProcessConfig::default()
        };
        start_executor_process(Arc::new(config)).await
    }
}
