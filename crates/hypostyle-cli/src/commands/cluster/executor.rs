//! `hyp cluster executor`.

use std::path::PathBuf;

use super::{ListenArgs, TlsArgs};
use crate::args::size;
use crate::commands::Status;
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp cluster executor`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Tasks read and write only below what --allow names. Files must have the paths here that they have
where queries are asked; URLs have credentials from this process's environment.

Examples:
  hyp cluster executor --allow /data --allow s3://logs/2024
  hyp cluster executor --scheduler 10.0.0.5:50050 --listen 10.0.0.6 --trust-network --allow s3://logs")]
pub(crate) struct Args {
    /// The scheduler
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:50050")]
    scheduler: String,

    /// A folder, or the URL of a bucket or of a folder in one, below which tasks may read and write;
    /// can be repeated
    #[arg(long, value_name = "PREFIX", required = true)]
    allow: Vec<String>,

    /// The port from which results are fetched
    #[arg(long, value_name = "N", default_value_t = 50051)]
    port: u16,

    /// The port to which the scheduler sends tasks [default: the next one]
    #[arg(long, value_name = "N")]
    task_port: Option<u16>,

    /// The name by which others reach this machine [default: the address to listen on]
    #[arg(long, value_name = "HOST")]
    name: Option<String>,

    /// Tasks that run at the same time [default: one per core]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    tasks: Option<u16>,

    /// Memory for sorting, joining and grouping; what does not fit goes to temporary files
    /// [default: 70 % of that of the machine or container]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,

    /// The folder for temporary files and for results that wait to be fetched
    #[arg(long, value_name = "FOLDER")]
    work_dir: Option<PathBuf>,

    /// Seconds to wait for the scheduler at the start
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    wait: u16,

    /// Print what the server does, and each range that it reads
    #[arg(long, short)]
    verbose: bool,

    #[command(flatten)]
    listen: ListenArgs,

    #[command(flatten)]
    tls: TlsArgs,

    #[cfg(feature = "remote")]
    #[command(flatten)]
    servers: crate::args::ServerArgs,
}

/// Runs tasks until the process is told to end.
#[cfg(feature = "cluster")]
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    use std::sync::Arc;

    use hypostyle_ballista::{AllowedPrefix, Executor};

    use crate::failure::{Failure, InFile};

    super::journal::start(args.verbose);
    let bind = args.listen.address()?;
    let allowed = args.allow.iter().map(|text| {
        let named = |why| Failure::usage(format!("--allow {text}: {why}"));
        text.parse::<AllowedPrefix>().map_err(named)
    });
    let allowed = allowed.collect::<Result<Vec<_>>>()?;
    let temporary = tempfile::Builder::new().prefix("hyp-executor-").tempdir()?;
    let work_dir = match &args.work_dir {
        Some(folder) => {
            std::fs::create_dir_all(folder).in_file(folder.display())?;
            std::fs::canonicalize(folder).in_file(folder.display())?
        }
        None => temporary.path().to_owned(),
    };
    let named = |why| Failure::usage(format!("--scheduler {}: {why}", args.scheduler));
    let mut executor =
        Executor::new(work_dir, allowed).with_scheduler(&args.scheduler).map_err(named)?;
    executor.bind = bind;
    executor.ports = (args.port, args.task_port.unwrap_or(args.port.saturating_add(1)));
    executor.external_host.clone_from(&args.name);
    executor.tasks = args.tasks.map(usize::from);
    executor.memory = args.memory_limit;
    executor.wait = args.wait;
    executor.settings = args.servers.settings();
    executor.tls = args.tls.open()?;
    let traffic = Arc::clone(&executor.traffic);
    let served = super::serve(executor.run());
    writeln!(
        out,
        "{} bytes read in {} requests, {} bytes written",
        traffic.read(),
        traffic.requests(),
        traffic.written()
    )?;
    served.map(|()| Status::Fine)
}

/// Says how to get a build with clusters.
#[cfg(not(feature = "cluster"))]
pub(crate) fn run(args: &Args, _: &mut dyn Out) -> Result<Status> {
    args.listen.address()?;
    Err(super::no_cluster())
}
