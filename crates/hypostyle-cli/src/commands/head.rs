//! `hyp head`: prints the first rows of a table.

use super::{Status, cat};
use crate::args::{FileArg, PrintArgs, ReadArgs};
use crate::failure::Result;
use crate::output::Out;

/// Arguments of `hyp head`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Number of rows
    #[arg(long, short = 'n', value_name = "N", default_value_t = 10)]
    limit: u64,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the first rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let args = cat::Args {
        file: args.file.clone(),
        print: args.print.clone(),
        rows: None,
        filter: None,
        stats: false,
        skip_damaged: false,
        limit: Some(args.limit),
        read: args.read.clone(),
    };
    cat::run(&args, out)
}
