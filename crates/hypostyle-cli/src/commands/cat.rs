//! `hyp cat`: prints rows of a table.

use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

use hypostyle::formats::at1::QueryStats;
use hypostyle::predicate::Predicate;

use super::{Status, chosen};
use crate::args::{FileArg, PrintArgs, ReadArgs, row_range};
use crate::commands::convert::DEFAULT_MEMORY_BYTES;
use crate::failure::Result;
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::tables::{QueriedTable, RowFilter, ScanStats, TableQuery, TableSource};

/// Arguments of `hyp cat`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Predicates: --where compares a column with a value by =, <>, <, <=, >, >=, between A and B,
in (A, B), like 'A%', ilike and is null. Combine comparisons with and, or, not and parentheses. Put
text in single quotes and unusual column names in double quotes; a.b[0].c names a nested member. A
number literal compares as a number and a text literal as text, whatever the type of the column; a
cell that is not a number compares to a number like null.

hyp queries archives that were packed with --query without unpacking them: it skips row groups that
cannot match and columns that are not needed. It searches strings in .onpair files in their encoded
form. It reads all other files completely.

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
    #[arg(long, value_name = "A..B", value_parser = row_range, conflicts_with = "filter")]
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
    let input = Input::open(&args.file.file)?;
    let name = input.name();
    let query = TableQuery {
        columns: Some(&args.print.columns),
        filter: args.filter.as_ref(),
        rows: None,
        skip_damaged: args.skip_damaged,
    };
    let QueriedTable { source, stats } =
        TableSource::query(input, &query, &args.read, DEFAULT_MEMORY_BYTES)?;
    // The file evaluated the predicate if it returned statistics.
    let filter = args.filter.as_ref().filter(|_| stats.is_none());
    let scanned = print(source, filter, args, out).map_err(|failure| failure.in_file(name))?;
    if args.stats {
        io::stderr().write_all(described(stats.as_ref(), scanned).as_bytes())?;
    }
    let is_damaged = stats.is_some_and(|stats| !stats.damaged.is_empty());
    Ok(if is_damaged { Status::Corrupt } else { Status::Fine })
}

/// Describes how much of the file a query read.
pub(super) fn described(stats: Option<&QueryStats>, scanned: ScanStats) -> String {
    let Some(stats) = stats else {
        let ScanStats { chunks, chunks_read, .. } = scanned;
        return match chunks {
            0 | 1 => "the whole file was read\n".to_owned(),
            _ => {
                format!("{chunks_read} of {chunks} chunks read, {} skipped\n", chunks - chunks_read)
            }
        };
    };
    let skipped = stats.groups.saturating_sub(stats.groups_read);
    let share = 100.0 * stats.bytes_read as f64 / (stats.bytes.max(1)) as f64;
    format!(
        "{} rows; {} of {} row groups read, {skipped} skipped; {} of {} bytes read, {share:.2} %\n",
        stats.rows, stats.groups_read, stats.groups, stats.bytes_read, stats.bytes
    )
}

fn print(
    source: TableSource,
    filter: Option<&Predicate>,
    args: &Args,
    out: &mut dyn Out,
) -> Result<ScanStats> {
    let schema = source.schema();
    let columns = chosen(&args.print.columns, &schema)?;
    let rows = args.rows.clone().unwrap_or(0..u64::MAX);
    let end = args.limit.map_or(rows.end, |limit| rows.end.min(rows.start.saturating_add(limit)));
    let shown = schema.project(&columns)?;
    let mut printer = RowPrinter::open(args.print.format, &shown, &args.read, out)?;
    let run = rows.start..end;
    let filter = filter.map_or(RowFilter::Ranges(std::slice::from_ref(&run)), RowFilter::Predicate);
    let mut left = end.saturating_sub(rows.start);
    let mut scanned = ScanStats::default();
    if left > 0 {
        scanned = source.scan(&columns, filter, |batch| {
            let count = batch.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX));
            printer.write(&batch.slice(0, count))?;
            left -= count as u64;
            Ok(if left > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        })?;
    }
    printer.finish()?;
    Ok(scanned)
}
