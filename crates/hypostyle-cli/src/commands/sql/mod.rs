//! `hyp sql`: runs queries on files.
//!
//! The engine is DataFusion, behind the feature `sql`. `session` sets it up, `statements` runs
//! what `names` has prepared, `results` prints, `problem` words errors, and `prompt` is the
//! interactive prompt, with `completion`. `urls` finds object stores.

#[cfg(feature = "sql")]
mod completion;
#[cfg(feature = "sql")]
mod names;
#[cfg(feature = "sql")]
mod problem;
#[cfg(feature = "sql")]
mod prompt;
#[cfg(feature = "sql")]
mod results;
#[cfg(feature = "sql")]
mod session;
#[cfg(feature = "sql")]
mod statements;
#[cfg(all(feature = "sql", feature = "remote"))]
mod urls;

use std::path::PathBuf;

use clap::ValueEnum;

use super::Status;
use super::cluster::ClusterArgs;
use crate::args::{ReadArgs, size};
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp sql`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Files: a name in single quotes is a table: a file, a folder or a glob of files of one kind, or a URL
of such in s3://, gs:// or az://, or of a file in http:// (in builds with the feature `remote`). hyp reads
COLM, COLF, CLMN, AT-1, .onpair, CSV, TSV, JSON Lines, logs, Parquet and Arrow, also with .gz and .zst.
Folders such as year=2024 become columns. COPY (...) TO 'file' and -o write files of these formats.

Examples:
  hyp sql \"select carrier, avg(dep_delay) from 'flights.csv.at1' where month = 7 group by 1 order by 2\"
  hyp sql \"select count(*) from 'logs/*.jsonl.at1' where status >= 500\" --stats
  hyp sql \"select * from 'a.parquet' join 'b.csv' using (id)\" -o joined.colf
  hyp sql -f report.sql --format markdown
  hyp sql --cluster df://host:50050 \"select count(*) from 's3://logs/*.jsonl.at1'\"")]
pub(crate) struct Args {
    /// The query, or several statements separated by semicolons; without it, hyp prompts for them
    query: Option<String>,

    /// Run the statements in a file
    #[arg(long, short = 'f', value_name = "SCRIPT", conflicts_with = "query")]
    file: Option<PathBuf>,

    /// Output format [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT", conflicts_with = "output")]
    format: Option<SqlFormat>,

    /// Write the result of the last query to a file or URL, in the format of its extension
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the output file if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// Print how much of the files was read, on standard error
    #[arg(long)]
    stats: bool,

    /// Memory for sorting, joining and grouping; what does not fit goes to temporary files
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory_limit: Option<u64>,

    /// Leave out files and row groups that are damaged, and warn of each file
    #[arg(long)]
    skip_damaged: bool,

    #[command(flatten)]
    read: ReadArgs,

    #[command(flatten)]
    cluster: ClusterArgs,

    /// Tasks into which a cluster divides a stage: two or three times its cores
    #[arg(long, value_name = "N", default_value_t = 16, requires = "cluster")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..), help_heading = "Cluster")]
    partitions: u16,
}

/// The format in which results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SqlFormat {
    Table,
    Csv,
    Tsv,
    Json,
    Jsonl,
    Markdown,
    Parquet,
}

/// Runs the statements, or the prompt.
#[cfg(feature = "sql")]
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    use crate::failure::InFile;

    let session = session::Session::open(args)?;
    let text = match (&args.query, &args.file) {
        (Some(query), _) => query.clone(),
        (None, Some(path)) => std::fs::read_to_string(path).in_file(path.display())?,
        (None, None) => return prompt::run(&session, args, out),
    };
    let ran = statements::run(&session, &text, args, args.stats, out);
    ran.map_err(|failure| match &args.file {
        Some(path) => failure.in_file(path.display()),
        None => failure,
    })?;
    Ok(session.status())
}

/// Says how to get a build with the engine.
#[cfg(not(feature = "sql"))]
pub(crate) fn run(_: &Args, _: &mut dyn Out) -> Result<Status> {
    Err(crate::failure::Failure::usage(
        "this build of hyp has no SQL engine; get one that has: \
         cargo install hypostyle-cli --features sql",
    ))
}
