//! `hyp cat`: rows of a table.

use std::ops::Range;

use hypostyle::formats::Abilities;

use super::{Status, chosen};
use crate::cli::{ColumnArgs, FileArg, ReadArgs, RowFormat, row_range};
use crate::commands::convert::MEMORY;
use crate::failure::Result;
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::tables::{Flow, Source};

/// Arguments of `hyp cat`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) file: FileArg,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,

    /// Rows A to B, counted from 0, without B; either end may be left out
    #[arg(long, value_name = "A..B", value_parser = row_range)]
    pub(crate) rows: Option<Range<u64>>,

    /// Print at most N rows
    #[arg(long, short = 'n', value_name = "N")]
    pub(crate) limit: Option<u64>,

    /// How to print [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<RowFormat>,

    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

/// Prints the rows that were asked for.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open(&args.file.file)?;
    let name = input.name();
    let source =
        Source::open(input, Some(&args.columns), &args.read, Abilities::EVERYTHING, MEMORY)?;
    print(source, args, out).map_err(|failure| failure.in_file(name))?;
    Ok(Status::Fine)
}

fn print(source: Source, args: &Args, out: &mut dyn Out) -> Result<()> {
    let columns = chosen(&args.columns, &source.schema())?;
    let rows = args.rows.clone().unwrap_or(0..u64::MAX);
    let end = args.limit.map_or(rows.end, |limit| rows.end.min(rows.start.saturating_add(limit)));
    let on_terminal = out.terminal_width().is_some();
    let format = args.format.unwrap_or(if on_terminal { RowFormat::Table } else { RowFormat::Csv });
    let schema = source.schema().project(&columns)?;
    let null_word = args.read.csv.null.first().map(String::as_str);
    let mut printer = RowPrinter::new(format, &schema, null_word, out)?;
    let mut at = 0_u64;
    if rows.start < end {
        source.for_each(&columns, |batch| {
            let len = batch.num_rows() as u64;
            let from = rows.start.saturating_sub(at).min(len);
            let to = end.saturating_sub(at).min(len);
            at += len;
            if let (Ok(from), Ok(count)) =
                (usize::try_from(from), usize::try_from(to - from.min(to)))
                && count > 0
            {
                printer.write(&batch.slice(from, count))?;
            }
            Ok(if at < end { Flow::More } else { Flow::Stop })
        })?;
    }
    printer.finish()
}
