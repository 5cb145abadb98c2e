//! `hyp tail`: prints the last rows of a table.

use std::collections::VecDeque;

use super::Status;
use super::head::SHOWN_ROWS;
use crate::failure::Result;
use crate::output::{Out, RowPrinter};
use crate::table_args::{InputArgs, PrintArgs, RowRange, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Arguments of `hyp tail`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Prints 10 rows unless -n gives another number; with --where, the last ones that match.

Examples:
  hyp tail flights.csv.at1
  hyp tail server.log -n 50 --columns time,line
  hyp tail flights.colf --where \"carrier = 'UA'\"")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints the last rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let mut shape = args.shape.clone();
    let wanted = shape.limit.take().unwrap_or(SHOWN_ROWS);
    if shape.filter.is_none() {
        // The numbers of the rows are known, so the others are not read.
        let rows = shape.rows.unwrap_or(RowRange::ALL).resolve(tables.num_rows()?);
        shape.rows = Some((rows.end.saturating_sub(wanted).max(rows.start)..rows.end).into());
    }
    let mut rows = tables.scan(&shape, DEFAULT_BATCH_ROWS)?;
    let (mut last, mut count) = (VecDeque::new(), 0);
    while let Some(batch) = rows.next_batch()? {
        count += batch.num_rows() as u64;
        last.push_back(batch);
        // Drop the batches before the wanted rows.
        while let Some(first) = last.front()
            && count - first.num_rows() as u64 >= wanted
            && last.len() > 1
        {
            count -= first.num_rows() as u64;
            last.pop_front();
        }
    }
    let mut printer = RowPrinter::open(args.print.format(), &rows.schema(), &args.input.read, out)?;
    for batch in last {
        let skipped = count.saturating_sub(wanted).min(batch.num_rows() as u64);
        count -= skipped;
        let skipped = usize::try_from(skipped).unwrap_or(usize::MAX);
        printer.write(&batch.slice(skipped, batch.num_rows().saturating_sub(skipped)))?;
    }
    printer.finish()?;
    Ok(Status::of_scan(rows.finish()?))
}
