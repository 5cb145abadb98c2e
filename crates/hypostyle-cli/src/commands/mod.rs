//! The commands, one file or folder each: its arguments, then what it does.
//!
//! [`run`] dispatches to them. They read tables through `tables`, print through `output`, and
//! return a [`Status`] or a failure, from which `run` of the crate makes the exit code.

use clap::{Parser, Subcommand};
use hypostyle::projection::Selector;

use crate::args::ColumnArgs;
use crate::failure::{CHECK, INPUT, NOT_FOUND, NOT_SEARCHED, Result};
use crate::output::Out;

mod append;
mod bench;
mod cat;
mod cluster;
mod completions;
mod convert;
mod demo;
mod get;
mod grep;
mod head;
mod inspect;
mod man;
mod pack;
mod schema;
mod serve;
mod sql;
mod templates;
mod unpack;
mod verify;

/// Read, write, check and convert column files, and pack files into archives.
///
/// hyp reads and writes column files (COLM, COLF, CLMN and .onpair), verifies them, shows their
/// layout, and converts them to and from CSV, TSV, JSON Lines, plain lines, Parquet and Arrow.
///
/// It also packs files and folders into AT-1 archives, restores them byte for byte, and queries
/// the tables in archives without unpacking them.
///
/// hyp detects the format of an input from its content.
#[derive(Debug, Parser)]
#[command(name = "hyp", version, propagate_version = true, max_term_width = 100)]
#[command(after_help = "\
Exit codes:
  0  success
  1  the data failed a check
  2  wrong usage
  3  reading or writing failed
  4  the input is corrupt or not supported
  5  internal error: a bug in hyp, no output file was written
Those of `hyp grep` are those of grep: 1 if no line matches, 2 for any error.

Start with `hyp demo`. `hyp help COMMAND` explains a command.")]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Convert a table to another format
    Convert(convert::Args),
    /// Print rows of a table
    Cat(cat::Args),
    /// Print rows of a table by number
    Get(get::Args),
    /// Print the lines of files and archives that match a pattern
    Grep(grep::Args),
    /// List the templates of a log: how many lines, when, and an example
    Templates(templates::Args),
    /// Print the first rows of a table
    Head(head::Args),
    /// Print the names and types of columns
    Schema(schema::Args),
    /// Run SQL queries on files
    Sql(sql::Args),
    /// Run the scheduler or an executor of a cluster
    Cluster(cluster::Args),
    /// Show the layout of a column file or archive
    Inspect(inspect::Args),
    /// Show files in the viewer in the browser
    Serve(serve::Args),
    /// Decode files of any kind completely and list errors and deviations
    Verify(verify::Args),
    /// Pack files and folders into AT-1 archives
    Pack(pack::Args),
    /// Append lines to an AT-1 archive that can be queried
    Append(append::Args),
    /// Restore the files in AT-1 archives, byte for byte
    Unpack(unpack::Args),
    /// Compare the formats of hyp with xz, zstd, gzip and Parquet on a file
    Bench(bench::Args),
    /// Take a guided tour of hyp with a bundled sample
    Demo(demo::Args),
    /// Print shell completions
    Completions(completions::Args),
    /// Print the manual page
    Man(man::Args),
}

/// The result of a command that completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// Success.
    Fine,
    /// The data failed a check.
    Failed,
    /// Nothing was found.
    NotFound,
    /// The input is corrupt.
    Corrupt,
    /// Some of the inputs could not be searched.
    NotSearched,
}

impl From<Status> for u8 {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => 0,
            Status::Failed => CHECK,
            Status::NotFound => NOT_FOUND,
            Status::Corrupt => INPUT,
            Status::NotSearched => NOT_SEARCHED,
        }
    }
}

/// Runs one command.
pub(crate) fn run(cli: &Cli, out: &mut dyn Out) -> Result<Status> {
    match &cli.command {
        Command::Convert(args) => convert::run(args, out),
        Command::Cat(args) => cat::run(args, out),
        Command::Get(args) => get::run(args, out),
        Command::Grep(args) => grep::run(args, out),
        Command::Templates(args) => templates::run(args, out),
        Command::Head(args) => head::run(args, out),
        Command::Schema(args) => schema::run(args, out),
        Command::Sql(args) => sql::run(args, out),
        Command::Cluster(args) => cluster::run(args, out),
        Command::Inspect(args) => inspect::run(args, out),
        Command::Serve(args) => serve::run(args, out),
        Command::Verify(args) => verify::run(args, out),
        Command::Pack(args) => pack::run(args, out),
        Command::Append(args) => append::run(args, out),
        Command::Unpack(args) => unpack::run(args, out),
        Command::Bench(args) => bench::run(args, out),
        Command::Demo(args) => demo::run(args, out),
        Command::Completions(args) => completions::run(args, out),
        Command::Man(args) => man::run(args, out),
    }
}

/// Returns the columns that the user chose; `None` for all columns.
fn chosen(args: &ColumnArgs, schema: &arrow_schema::Schema) -> Option<Vec<Selector>> {
    if args.columns.is_none() && args.column.is_empty() {
        return None;
    }
    let listed = args.columns.iter().flatten().filter(|name| !name.is_empty());
    Some(listed.chain(&args.column).map(|name| selector(name, schema)).collect())
}

/// Parses a column: `#3` is the third one, unless a column has that name.
fn selector(name: &str, schema: &arrow_schema::Schema) -> Selector {
    let position = name.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    match position.and_then(|number| number.checked_sub(1)) {
        Some(index) if schema.fields().iter().all(|field| field.name() != name) => {
            Selector::Position(index)
        }
        _ => Selector::Name(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
