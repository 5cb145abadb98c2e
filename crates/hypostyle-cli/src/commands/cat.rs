//! `hyp cat`: prints rows of a table.

use super::Status;
use crate::failure::Result;
use crate::output::{Out, RowPrinter};
use crate::table_args::{InputArgs, PrintArgs, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Rows, Tables};

/// Arguments of `hyp cat`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp cat flights.csv.at1 --columns carrier,dep_delay --where \"month = 7 and dep_delay > 120\"
  hyp cat log.jsonl.at1 --where \"request.path like '/api/%' and status >= 500\" --stats
  hyp cat table.colfile --where '\"first name\" is not null' --format jsonl
  hyp cat 2024-*.csv.gz --filename --rows -20..
  hyp cat people.parquet -n 1 -x

hyp queries archives of tables without unpacking them: it skips row groups that cannot match and
columns that are not needed. It searches strings in .onpair files in their encoded form.")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    print(tables.scan(&args.shape, DEFAULT_BATCH_ROWS)?, args.print, &args.input, out)
}

/// Prints rows until they end.
pub(super) fn print(
    mut rows: Rows<'_>,
    print: PrintArgs,
    input: &InputArgs,
    out: &mut dyn Out,
) -> Result<Status> {
    let mut printer = RowPrinter::open(print.format(), &rows.schema(), &input.read, out)?;
    while let Some(batch) = rows.next_batch()? {
        printer.write(&batch)?;
    }
    printer.finish()?;
    Ok(Status::of_scan(rows.finish()?))
}
