//! The session of the engine.

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

#[cfg(not(feature = "remote"))]
use datafusion::common::DataFusionError;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use hypostyle_datafusion::{FileTables, TableOptions};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;

use super::Args;
use super::problem;
#[cfg(feature = "remote")]
use super::urls::UrlStores;
use crate::commands::Status;
use crate::failure::{Failure, INTERRUPTED, Result};
use crate::output::warn;
#[cfg(not(feature = "remote"))]
use crate::path_arg::{is_url_text, no_urls};

/// An engine, and the runtime that it runs on.
pub(crate) struct Session {
    pub(crate) ctx: SessionContext,
    /// Taken when the session ends.
    runtime: Option<Runtime>,
    handle: Handle,
    interrupts: Arc<Interrupts>,
    has_damage: Arc<AtomicBool>,
    #[cfg(feature = "remote")]
    pub(crate) urls: Arc<UrlStores>,
}

/// Whether the user has pressed Ctrl-C.
#[derive(Default)]
struct Interrupts {
    is_pressed: AtomicBool,
    pressed: Notify,
}

impl Session {
    pub(crate) fn open(args: &Args) -> Result<Self> {
        let threads = args.read.threads().or_else(|| std::thread::available_parallelism().ok());
        let threads = threads.map_or(1, NonZeroUsize::get);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(threads)
            .enable_all()
            .build()?;
        let mut config =
            SessionConfig::new().with_target_partitions(threads).with_information_schema(true);
        config.options_mut().sql_parser.collect_spans = true;
        // Files that another process or COPY adds are seen by the next query.
        let mut environment = RuntimeEnvBuilder::new().with_object_list_cache_limit(0);
        if let Some(bytes) = args.memory_limit {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            environment = environment.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
        }
        #[cfg(feature = "remote")]
        let urls = Arc::new(UrlStores::new(args.read.servers.settings()));
        #[cfg(feature = "remote")]
        let environment = environment.with_object_store_registry(urls.clone());
        let environment = environment.build().map_err(|err| problem::failure(&err, ""))?;
        let ctx = SessionContext::new_with_config_rt(config, Arc::new(environment));
        let mut options = TableOptions::default()
            .with_open(args.read.open_options(None))
            .with_skip_damaged(args.skip_damaged);
        #[cfg(feature = "cluster")]
        let ctx = match args.cluster.open()? {
            Some(cluster) => {
                // Columns with dictionaries grow when they are sent between executors.
                options = options.with_dictionaries(false);
                let cluster = cluster.with_partitions(args.partitions.into());
                cluster.enable(&ctx).map_err(|err| problem::failure(&err, ""))?
            }
            None => ctx,
        };
        #[cfg(not(feature = "cluster"))]
        args.cluster.open()?;
        let has_damage = Arc::new(AtomicBool::new(false));
        let mut tables = FileTables::default().with_options(options).with_kind(args.read.from);
        if args.skip_damaged {
            let has_damage = has_damage.clone();
            tables = tables.skip_damaged(move |why| {
                has_damage.store(true, Ordering::Relaxed);
                warn(why);
            });
        }
        #[cfg(feature = "remote")]
        let tables = {
            let urls = urls.clone();
            tables.on_url(move |url| urls.prepare(url))
        };
        #[cfg(not(feature = "remote"))]
        let tables = tables.on_url(|url| match is_url_text(url) {
            true => Err(DataFusionError::Plan(no_urls().message().to_owned())),
            false => Ok(()),
        });
        let ctx = tables.enable(ctx).map_err(|err| problem::failure(&err, ""))?;
        let interrupts = Arc::new(Interrupts::default());
        let handle = runtime.handle().clone();
        let heard = interrupts.clone();
        let (listens, listening) = std::sync::mpsc::channel();
        let listen = async move {
            loop {
                let mut pressed = pin!(tokio::signal::ctrl_c());
                // The first poll tells the system that this process handles the signal.
                let first = futures::poll!(&mut pressed);
                let _ = listens.send(());
                let pressed = match first {
                    Poll::Ready(pressed) => pressed,
                    Poll::Pending => pressed.await,
                };
                if pressed.is_err() {
                    break;
                }
                heard.is_pressed.store(true, Ordering::SeqCst);
                heard.pressed.notify_waiters();
            }
        };
        // A thread of its own hears the signal even if queries keep all threads of the engine.
        let listener = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new()
            .name("hyp-interrupts".into())
            .spawn(move || listener.block_on(listen))?;
        // Until then, Ctrl-C would end the process.
        let _ = listening.recv();
        Ok(Self {
            ctx,
            runtime: Some(runtime),
            handle,
            interrupts,
            has_damage,
            #[cfg(feature = "remote")]
            urls,
        })
    }

    /// Returns a handle of the runtime.
    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Forgets which files servers had, so that a statement sees those of now.
    #[cfg(feature = "remote")]
    pub(crate) fn forget_files(&self) {
        self.urls.remote.forget();
    }

    /// Forgets that the user pressed Ctrl-C before.
    pub(crate) fn start_statement(&self) {
        self.interrupts.is_pressed.store(false, Ordering::SeqCst);
    }

    /// Waits for a future, or until the user presses Ctrl-C.
    pub(crate) fn run<T>(&self, future: impl Future<Output = T>) -> Result<T> {
        let interrupts = &self.interrupts;
        self.handle.block_on(async {
            let pressed = interrupts.pressed.notified();
            if interrupts.is_pressed.load(Ordering::SeqCst) {
                return Err(interrupted());
            }
            tokio::select! {
                done = future => Ok(done),
                () = pressed => Err(interrupted()),
            }
        })
    }

    /// Notes that rows were left out.
    pub(crate) fn note_damage(&self) {
        self.has_damage.store(true, Ordering::Relaxed);
    }

    pub(crate) fn status(&self) -> Status {
        if self.has_damage.load(Ordering::Relaxed) { Status::Corrupt } else { Status::Fine }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Work that was given up ends with the process.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn interrupted() -> Failure {
    Failure::new(INTERRUPTED, "interrupted")
}
