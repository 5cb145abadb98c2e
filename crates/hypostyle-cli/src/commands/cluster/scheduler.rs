//! `hyp cluster scheduler`.

use super::{ListenArgs, TlsArgs};
use crate::commands::Status;
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp cluster scheduler`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The scheduler keeps its state in memory: queries that run when it ends are lost. It reads no files;
clients plan their queries, and executors read.")]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, value_name = "N", default_value_t = 50050)]
    port: u16,

    /// The name by which executors reach this machine [default: the address to listen on]
    #[arg(long, value_name = "HOST")]
    name: Option<String>,

    /// Seconds without a sign of life after which an executor counts as lost
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(5..))]
    executor_timeout: u64,

    /// Send results through the scheduler, for clients that do not reach the executors
    #[arg(long)]
    proxy_results: bool,

    /// Print what the server does
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    listen: ListenArgs,

    #[command(flatten)]
    tls: TlsArgs,
}

/// Schedules until the process is told to end.
#[cfg(feature = "cluster")]
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    use std::sync::mpsc::channel;

    use hypostyle_ballista::Scheduler;

    use crate::failure::Failure;

    super::journal::start(args.verbose);
    let scheduler = Scheduler {
        bind: args.listen.address()?,
        port: args.port,
        external_host: args.name.clone(),
        tls: args.tls.open()?,
        executor_timeout: args.executor_timeout,
        proxy_results: args.proxy_results,
    };
    let (sender, receiver) = channel();
    let serving = std::thread::spawn(move || {
        super::serve(scheduler.run(move |address| {
            let _ = sender.send(address);
        }))
    });
    // The sender is gone if the scheduler could not start.
    if let Ok(address) = receiver.recv() {
        writeln!(out, "df://{address}")?;
        out.flush()?;
    }
    match serving.join() {
        Ok(served) => served.map(|()| Status::Fine),
        Err(_) => Err(Failure::new(crate::failure::INTERNAL, "the scheduler has crashed")),
    }
}

/// Says how to get a build with clusters.
#[cfg(not(feature = "cluster"))]
pub(crate) fn run(args: &Args, _: &mut dyn Out) -> Result<Status> {
    args.listen.address()?;
    Err(super::no_cluster())
}
