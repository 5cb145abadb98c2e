//! `hyp cluster`: the scheduler and the executors of a cluster.
//!
//! The servers are those of Ballista, behind the feature `cluster`. `connect` has the arguments of
//! clients, and `journal` prints what servers report.

mod connect;
mod executor;
#[cfg(feature = "cluster")]
mod journal;
mod scheduler;

use std::net::IpAddr;

use clap::Subcommand;

pub(crate) use connect::{ClusterArgs, TlsArgs};

use super::Status;
use crate::failure::{Failure, Result};
use crate::output::{Out, warn};

/// Arguments of `hyp cluster`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
A cluster on this machine, with the commands in three terminals:
  hyp cluster scheduler
  hyp cluster executor --allow data
  hyp sql --cluster df://127.0.0.1 \"select count(*) from 'data/*.csv.at1'\"

The servers have neither encryption nor users. docs/cluster.md says how to protect them.")]
pub(crate) struct Args {
    #[command(subcommand)]
    server: Server,
}

#[derive(Debug, Subcommand)]
enum Server {
    /// Divide queries into tasks, and give these to executors
    Scheduler(scheduler::Args),
    /// Run tasks of a scheduler
    Executor(executor::Args),
}

/// Where a server listens.
#[derive(clap::Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Network")]
struct ListenArgs {
    /// The address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    listen: IpAddr,

    /// Allow to listen beyond this machine, in a network whose members may all run queries
    #[arg(long)]
    trust_network: bool,
}

impl ListenArgs {
    /// Returns the address; fails if it is beyond this machine and nobody has allowed that.
    fn address(self) -> Result<IpAddr> {
        let Self { listen, trust_network } = self;
        if listen.is_loopback() {
            return Ok(listen);
        }
        if !trust_network {
            let message = format!("{listen} is beyond this machine, and the server knows no users");
            let hint = "--trust-network allows it; docs/cluster.md says how to protect the server";
            return Err(Failure::usage(message).with_hint(Some(hint)));
        }
        warn(format_args!(
            "listening on {listen} without encryption: whoever reaches the port can run queries"
        ));
        Ok(listen)
    }
}

/// Runs a server until it is told to end.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    match &args.server {
        Server::Scheduler(args) => scheduler::run(args, out),
        Server::Executor(args) => executor::run(args, out),
    }
}

/// Says how to get a build with clusters.
#[cfg(not(feature = "cluster"))]
pub(crate) fn no_cluster() -> Failure {
    Failure::usage(
        "this build of hyp has no clusters; get one that has: \
         cargo install hypostyle-cli --features cluster",
    )
}

/// Runs a server on a runtime of its own.
#[cfg(feature = "cluster")]
fn serve<E: std::fmt::Display>(
    server: impl Future<Output = Result<(), E>> + Send + 'static,
) -> Result<()> {
    /// Plans are trees, which are walked by recursion.
    const STACK_BYTES: usize = 32 << 20;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_stack_size(STACK_BYTES)
        .build()?;
    let served = runtime.block_on(async { runtime.spawn(server).await });
    runtime.shutdown_background();
    match served {
        Ok(Ok(())) => Ok(()),
        Ok(Err(err)) => Err(Failure::new(crate::failure::IO, err.to_string())),
        Err(err) => Err(Failure::new(crate::failure::INTERNAL, err.to_string())),
    }
}
