//! `hyp get`: prints rows of a table by number.

use super::{Status, cat};
use crate::args::{FileArg, ReadArgs};
use crate::failure::Result;
use crate::output::Out;
use crate::table_args::{ColumnArgs, InputArgs, PrintArgs, ShapeArgs};
use crate::tables::Tables;

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
    columns: ColumnArgs,

    /// Print how much of the file was read, on standard error
    #[arg(long = "stats")]
    print_stats: bool,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the rows.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = InputArgs { files: vec![args.file.file.clone()], read: args.read.clone() };
    let columns = args.columns.clone();
    let shape = ShapeArgs { columns, print_stats: args.print_stats, ..ShapeArgs::default() };
    let tables = Tables::open(&input)?;
    cat::print(tables.get(&shape, &args.rows)?, args.print, &input, out)
}
