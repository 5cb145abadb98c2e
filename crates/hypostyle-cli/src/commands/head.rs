//! `hyp head`: the first rows of a table.

use super::{Status, cat};
use crate::cli::{ColumnArgs, FileArg, ReadArgs, RowFormat};
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp head`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// How many rows
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: u64,

    #[command(flatten)]
    columns: ColumnArgs,

    /// How to print [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<RowFormat>,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the first rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let args = cat::Args {
        file: args.file.clone(),
        columns: args.columns.clone(),
        rows: None,
        filter: None,
        stats: false,
        skip_damaged: false,
        limit: Some(args.limit),
        format: args.format,
        read: args.read.clone(),
    };
    cat::run(&args, out)
}
