//! `hyp count`: prints the number of rows of a table.

use serde_json::json;

use super::Status;
use crate::failure::Result;
use crate::output::Out;
use crate::table_args::{ColumnArgs, InputArgs, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Arguments of `hyp count`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Without --where, the number of rows of most formats is in their metadata. With it, hyp reads only
the columns of the predicate, and skips row groups that cannot match.

Examples:
  hyp count flights.csv.at1
  hyp count 'logs/*.jsonl' --where \"status >= 500\"
  hyp count a.parquet b.csv --json")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the number of rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let (count, is_complete) = count(&tables, &args.shape)?;
    if args.json {
        writeln!(out, "{}", json!({ "rows": count }))?;
    } else {
        writeln!(out, "{count}")?;
    }
    Ok(Status::of_scan(is_complete))
}

/// Counts the rows of a request, and returns whether all of them could be read.
pub(super) fn count(tables: &Tables, shape: &ShapeArgs) -> Result<(u64, bool)> {
    if shape.is_whole() {
        return Ok((tables.num_rows()?, true));
    }
    // Counting needs no columns but those of the predicate.
    let shape = ShapeArgs {
        columns: ColumnArgs { columns: Some(Vec::new()), column: Vec::new() },
        filename: false,
        ..shape.clone()
    };
    let mut rows = tables.scan(&shape, DEFAULT_BATCH_ROWS)?;
    let mut count = 0;
    while let Some(batch) = rows.next_batch()? {
        count += batch.num_rows() as u64;
    }
    Ok((count, rows.finish()?))
}
