//! `hyp get`: prints rows of a table by number.

use std::io::{self, Write};

use hypostyle::{ScanStats, Table};

use super::{Status, cat, chosen};
use crate::args::{FileArg, PrintArgs, ReadArgs};
use crate::failure::Result;
use crate::input::Input;
use crate::output::Out;

/// Arguments of `hyp get`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Rows are numbered from 0, as in `hyp cat --rows`, and printed in the given order. From the archive
of a table, hyp reads only the row groups that contain them.

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
    let input = Input::open_any(&args.file.file, &args.read)?;
    let name = input.name();
    let table = input.into_table(&args.read, None)?;
    let stats = print(&table, args, out).map_err(|failure| failure.in_file(name))?;
    if args.stats {
        io::stderr().write_all(cat::described(&stats).as_bytes())?;
    }
    Ok(Status::Fine)
}

fn print(table: &Table, args: &Args, out: &mut dyn Out) -> Result<ScanStats> {
    let mut scan = table.scan().take(&args.rows).threads_or_all(args.read.threads());
    let schema = table.schema()?;
    if let Some(columns) = chosen(&args.print.columns, &schema) {
        scan = scan.columns(columns);
    }
    cat::print_scan(scan, args.print.format, &args.read, out)
}
