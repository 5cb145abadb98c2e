//! `hyp get`: prints rows of a table by number.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

use arrow_array::RecordBatch;

use super::{Status, cat, chosen};
use crate::args::{FileArg, PrintArgs, ReadArgs};
use crate::commands::convert::DEFAULT_MEMORY_BYTES;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::tables::{ALL_ROWS, QueriedTable, RowFilter, ScanStats, TableQuery, TableSource};

/// Arguments of `hyp get`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Rows are numbered from 0, as in `hyp cat --rows`, and printed in the given order. From an archive
that was packed with --query, hyp reads only the row groups that contain them.

Example:
  hyp get flights.csv.at1 0 200000 --columns carrier,flight")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Row numbers, counted from 0
    #[arg(required = true, value_name = "ROW")]
    rows: Vec<u64>,

    #[command(flatten)]
    print: PrintArgs,

    /// Print how much of the file was read, on standard error
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open(&args.file.file)?;
    let name = input.name();
    let query = TableQuery {
        columns: Some(&args.print.columns),
        rows: Some(&args.rows),
        ..TableQuery::default()
    };
    let QueriedTable { source, stats } =
        TableSource::query(input, &query, &args.read, DEFAULT_MEMORY_BYTES)?;
    let scanned =
        print(source, stats.is_some(), args, out).map_err(|failure| failure.in_file(name))?;
    if args.stats {
        io::stderr().write_all(cat::described(stats.as_ref(), scanned).as_bytes())?;
    }
    Ok(Status::Fine)
}

fn print(
    source: TableSource,
    evaluated: bool,
    args: &Args,
    out: &mut dyn Out,
) -> Result<ScanStats> {
    let mut wanted = args.rows.clone();
    wanted.sort_unstable();
    wanted.dedup();
    let schema = source.schema();
    let columns = chosen(&args.print.columns, &schema)?;
    let printed = schema.project(&columns)?;
    let mut printer = RowPrinter::open(args.print.format, &printed, &args.read, out)?;
    let ranges: Vec<Range<u64>> = wanted.iter().map(|&row| row..row.saturating_add(1)).collect();
    // A file that evaluated the query returned these rows and no others.
    let filter = if evaluated { ALL_ROWS } else { RowFilter::Ranges(&ranges) };
    let mut found: BTreeMap<u64, RecordBatch> = BTreeMap::new();
    let mut left = wanted.iter();
    let all = source.rows();
    let scanned = source.scan(&columns, filter, |batch| {
        let rows = left.by_ref().take(batch.num_rows()).enumerate();
        found.extend(rows.map(|(at, &row)| (row, batch.slice(at, 1))));
        Ok(if left.len() > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
    })?;
    if let Some(row) = left.next() {
        let rows = all.filter(|_| !evaluated).unwrap_or(scanned.rows);
        return Err(Failure::usage(format!(
            "row {row} is out of range: the table has {rows} rows"
        )));
    }
    for row in &args.rows {
        if let Some(batch) = found.get(row) {
            printer.write(batch)?;
        }
    }
    printer.finish()?;
    Ok(scanned)
}
