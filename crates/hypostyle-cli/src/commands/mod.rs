//! A file for each verb: what was typed, then what it does.

use std::process::ExitCode;

use hypostyle::projection::{Selector, select};

use crate::cli::{Cli, ColumnArgs, Command};
use crate::failure::{CHECK, INPUT, Result};
use crate::output::Out;

pub(crate) mod append;
pub(crate) mod bench;
pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod demo;
pub(crate) mod get;
pub(crate) mod head;
pub(crate) mod inspect;
pub(crate) mod man;
pub(crate) mod pack;
pub(crate) mod schema;
pub(crate) mod unpack;
pub(crate) mod verify;

/// How a command ended that did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is well.
    Fine,
    /// The data failed a check.
    Failed,
    /// The input is corrupt.
    Corrupt,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Fine => Self::SUCCESS,
            Status::Failed => CHECK.into(),
            Status::Corrupt => INPUT.into(),
        }
    }
}

/// Runs one command.
pub(crate) fn run(cli: &Cli, out: &mut dyn Out) -> Result<Status> {
    match &cli.command {
        Command::Convert(args) => convert::run(args, out),
        Command::Cat(args) => cat::run(args, out),
        Command::Get(args) => get::run(args, out),
        Command::Head(args) => head::run(args, out),
        Command::Schema(args) => schema::run(args, out),
        Command::Inspect(args) => inspect::run(args, out),
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

/// The positions of the columns that were asked for; all of them if none were.
fn chosen(args: &ColumnArgs, schema: &arrow_schema::Schema) -> Result<Vec<usize>> {
    if args.columns.is_none() && args.column.is_empty() {
        return Ok((0..schema.fields().len()).collect());
    }
    let listed = args.columns.iter().flatten().filter(|name| !name.is_empty());
    let selectors: Vec<Selector> =
        listed.chain(&args.column).map(|name| selector(name, schema)).collect();
    Ok(select(schema, &selectors)?)
}

/// `#3` is the third column, unless one has that very name.
fn selector(name: &str, schema: &arrow_schema::Schema) -> Selector {
    let position = name.strip_prefix('#').and_then(|number| number.parse::<usize>().ok());
    match position.and_then(|number| number.checked_sub(1)) {
        Some(index) if schema.fields().iter().all(|field| field.name() != name) => {
            Selector::Position(index)
        }
        _ => Selector::Name(name.to_owned()),
    }
}
