//! `hyp head`: prints the first rows of a table.

use super::{Status, cat};
use crate::failure::Result;
use crate::output::Out;
use crate::table_args::{InputArgs, PrintArgs, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Rows that `head` and `tail` print by default.
pub(super) const SHOWN_ROWS: u64 = 10;

/// Arguments of `hyp head`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Prints 10 rows unless -n gives another number; with --where, the first ones that match.

Examples:
  hyp head flights.csv
  hyp head flights.parquet -n 3 --columns carrier,dest -x
  hyp head 'logs/*.jsonl.gz' --filename --where \"status >= 500\"")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints the first rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let mut shape = args.shape.clone();
    shape.limit.get_or_insert(SHOWN_ROWS);
    cat::print(tables.scan(&shape, DEFAULT_BATCH_ROWS)?, args.print, &args.input, out)
}
