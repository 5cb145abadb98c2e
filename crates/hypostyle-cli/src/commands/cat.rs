//! `hyp cat`: prints rows of a table.

use std::io::{self, Write};
use std::ops::Range;

use hypostyle::predicate::Predicate;
use hypostyle::{DamagedRowGroup, Scan, ScanStats, Table};

use super::{Status, chosen};
use crate::args::{FileArg, PrintArgs, ReadArgs, RowFormat, row_range};
use crate::failure::Result;
use crate::hint;
use crate::input::Input;
use crate::output::{Out, RowPrinter, warn};

/// Arguments of `hyp cat`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Predicates: --where compares a column with a value by =, <>, <, <=, >, >=, between A and B,
in (A, B), like 'A%', ilike and is null. Combine comparisons with and, or, not and parentheses. Put
text in single quotes and unusual column names in double quotes; a.b[0].c names a nested member. A
number literal compares as a number and a text literal as text, whatever the type of the column; a
cell that is not a number compares to a number like null.

hyp queries archives of tables without unpacking them: it skips row groups that cannot match and
columns that are not needed. It searches strings in .onpair files in their encoded form.

Examples:
  hyp cat flights.csv.at1 --columns carrier,dep_delay --where \"month = 7 and dep_delay > 120\"
  hyp cat log.jsonl.at1 --where \"request.path like '/api/%' and status >= 500\" --stats
  hyp cat table.colfile --where '\"first name\" is not null' --format jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) file: FileArg,

    #[command(flatten)]
    pub(crate) print: PrintArgs,

    /// Print rows A to B, counted from 0 and without B; either end can be omitted
    #[arg(long, value_name = "A..B", value_parser = row_range)]
    pub(crate) rows: Option<Range<u64>>,

    /// Print rows that match a predicate, such as \"price > 10 and name like 'A%'\"
    #[arg(long = "where", value_name = "PREDICATE")]
    pub(crate) filter: Option<Predicate>,

    /// Print how much of the file was read, on standard error
    #[arg(long)]
    pub(crate) stats: bool,

    /// Skip damaged row groups, and warn of each
    #[arg(long)]
    pub(crate) skip_damaged: bool,

    /// Print at most N rows
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<u64>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open_any(&args.file.file, &args.read)?;
    let name = input.name();
    let table = input.into_table(&args.read, None)?;
    let stats = print(&table, args, out).map_err(|failure| failure.in_file(&name))?;
    if args.stats {
        io::stderr().write_all(described(&stats).as_bytes())?;
    }
    for damage in &stats.damaged {
        let DamagedRowGroup { rows, error, .. } = damage;
        let count = rows.end.saturating_sub(rows.start);
        let last = rows.end.saturating_sub(1);
        let lost = format!("{count} rows are left out, {} to {last}", rows.start);
        warn(format_args!("`{name}`: {lost}: {error}"));
    }
    Ok(if stats.damaged.is_empty() { Status::Fine } else { Status::Corrupt })
}

/// Describes how much of the file a scan read.
pub(super) fn described(stats: &ScanStats) -> String {
    let ScanStats { row_groups, row_groups_read, bytes, bytes_read, .. } = stats;
    let skipped = row_groups.saturating_sub(*row_groups_read);
    let share = 100.0 * *bytes_read as f64 / (*bytes).max(1) as f64;
    format!(
        "{} rows; {row_groups_read} of {row_groups} row groups read, {skipped} skipped; \
         {bytes_read} of {bytes} bytes read, {share:.2} %\n",
        stats.rows_returned
    )
}

fn print(table: &Table, args: &Args, out: &mut dyn Out) -> Result<ScanStats> {
    let mut scan = table.scan().threads_or_all(args.read.threads()).skip_damaged(args.skip_damaged);
    let schema = table.schema()?;
    if let Some(columns) = chosen(&args.print.columns, &schema) {
        scan = scan.columns(columns);
    }
    if let Some(filter) = &args.filter {
        scan = scan.filter(filter.clone());
    }
    if let Some(rows) = &args.rows {
        scan = scan.rows(rows.clone());
    }
    if let Some(limit) = args.limit {
        scan = scan.limit(limit);
    }
    print_scan(scan, args.print.format, &args.read, out)
}

/// Prints the batches of a scan.
pub(super) fn print_scan(
    scan: Scan,
    format: Option<RowFormat>,
    read: &ReadArgs,
    out: &mut dyn Out,
) -> Result<ScanStats> {
    let mut batches = scan.batches()?;
    let mut printer = RowPrinter::open(format, &batches.schema(), read, out)?;
    while let Some(batch) = batches.next_batch().map_err(hint::reading)? {
        printer.write(&batch)?;
    }
    printer.finish()?;
    Ok(batches.stats())
}
