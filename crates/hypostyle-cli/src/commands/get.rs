//! `hyp get`: rows of a table by number.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::Range;

use arrow_array::RecordBatch;

use super::{Status, cat, chosen};
use crate::cli::{ColumnArgs, FileArg, ReadArgs, RowFormat};
use crate::commands::convert::MEMORY;
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::tables::{ALL, Asked, Effort, Flow, Pick, Question, Source};

/// Arguments of `hyp get`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Rows are numbered from 0, as --rows of cat counts them, and printed in the order given. From an
archive that was packed with --query only the row groups that hold them are read.

Example:
  hyp get flights.csv.at1 0 200000 --columns carrier,flight")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Numbers of rows, counted from 0
    #[arg(required = true, value_name = "ROW")]
    rows: Vec<u64>,

    #[command(flatten)]
    columns: ColumnArgs,

    /// How to print [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<RowFormat>,

    /// Say how much of the file was read
    #[arg(long)]
    stats: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open(&args.file.file)?;
    let name = input.name();
    let question =
        Question { columns: Some(&args.columns), rows: Some(&args.rows), ..Question::default() };
    let Asked { source, stats } = Source::ask(input, &question, &args.read, MEMORY)?;
    let effort =
        print(source, stats.is_some(), args, out).map_err(|failure| failure.in_file(name))?;
    if args.stats {
        io::stderr().write_all(cat::described(stats.as_ref(), effort).as_bytes())?;
    }
    Ok(Status::Fine)
}

fn print(source: Source, answered: bool, args: &Args, out: &mut dyn Out) -> Result<Effort> {
    let mut wanted = args.rows.clone();
    wanted.sort_unstable();
    wanted.dedup();
    let schema = source.schema();
    let columns = chosen(&args.columns, &schema)?;
    let printed = schema.project(&columns)?;
    let mut printer = RowPrinter::open(args.format, &printed, &args.read, out)?;
    let runs: Vec<Range<u64>> = wanted.iter().map(|&row| row..row.saturating_add(1)).collect();
    // A file that was asked for them has these rows and no others.
    let pick = if answered { ALL } else { Pick::Rows(&runs) };
    let mut found: BTreeMap<u64, RecordBatch> = BTreeMap::new();
    let mut left = wanted.iter();
    let all = source.rows();
    let effort = source.for_each_picked(&columns, pick, |batch| {
        let rows = left.by_ref().take(batch.num_rows()).enumerate();
        found.extend(rows.map(|(at, &row)| (row, batch.slice(at, 1))));
        Ok(if left.len() > 0 { Flow::More } else { Flow::Stop })
    })?;
    if let Some(row) = left.next() {
        let rows = all.filter(|_| !answered).unwrap_or(effort.rows);
        return Err(Failure::usage(format!("there is no row {row}: there are {rows} rows")));
    }
    for row in &args.rows {
        if let Some(batch) = found.get(row) {
            printer.write(batch)?;
        }
    }
    printer.finish()?;
    Ok(effort)
}
