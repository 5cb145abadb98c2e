//! `hyp cat`: rows of a table.

use std::io::{self, Write};
use std::ops::Range;

use hypostyle::formats::at1::QueryStats;
use hypostyle::predicate::Predicate;

use super::{Status, chosen};
use crate::cli::{ColumnArgs, FileArg, ReadArgs, RowFormat, row_range};
use crate::commands::convert::MEMORY;
use crate::failure::Result;
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::tables::{Asked, Effort, Flow, Pick, Question, Source};

/// Arguments of `hyp cat`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Tests of --where compare a column with a value: =, <>, <, <=, >, >=, between A and B, in (A, B),
like 'A%', ilike, is null; joined by and, or, not and parentheses. Texts are in single quotes, odd
names in double quotes, members of members are a.b[0].c. A number is compared as a number and a text
as a text, whatever the column; a cell that is no number is like null to a number.

Archives that were packed with --query are asked without being unpacked: row groups that cannot hold
such a row are not read, nor are columns that nobody asks for. Strings in .onpair files are searched
as they are stored. Everything else is read as a whole.

Examples:
  hyp cat flights.csv.at1 --columns carrier,dep_delay --where \"month = 7 and dep_delay > 120\"
  hyp cat log.jsonl.at1 --where \"request.path like '/api/%' and status >= 500\" --stats
  hyp cat table.colfile --where '\"first name\" is not null' --format jsonl")]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) file: FileArg,

    #[command(flatten)]
    pub(crate) columns: ColumnArgs,

    /// Rows A to B, counted from 0, without B; either end may be left out
    #[arg(long, value_name = "A..B", value_parser = row_range, conflicts_with = "filter")]
    pub(crate) rows: Option<Range<u64>>,

    /// Rows for which this is true, as in \"price > 10 and name like 'A%'\"
    #[arg(long = "where", value_name = "TEST")]
    pub(crate) filter: Option<Predicate>,

    /// Say how much of the file was read
    #[arg(long)]
    pub(crate) stats: bool,

    /// Leave out row groups that are damaged, and say which
    #[arg(long)]
    pub(crate) skip_damaged: bool,

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
    let question = Question {
        columns: Some(&args.columns),
        filter: args.filter.as_ref(),
        rows: None,
        skip_damaged: args.skip_damaged,
    };
    let Asked { source, stats } = Source::ask(input, &question, &args.read, MEMORY)?;
    // What the file has seen to need not be seen to again.
    let filter = args.filter.as_ref().filter(|_| stats.is_none());
    let effort = print(source, filter, args, out).map_err(|failure| failure.in_file(name))?;
    if args.stats {
        io::stderr().write_all(described(stats.as_ref(), effort).as_bytes())?;
    }
    match stats.is_some_and(|stats| !stats.damaged.is_empty()) {
        true => Ok(Status::Corrupt),
        false => Ok(Status::Fine),
    }
}

/// What a query took, for people.
pub(super) fn described(stats: Option<&QueryStats>, effort: Effort) -> String {
    let Some(stats) = stats else {
        let Effort { chunks, read, .. } = effort;
        return match chunks {
            0 | 1 => "the whole file was read\n".to_owned(),
            _ => format!("{read} of {chunks} chunks read, {} skipped\n", chunks - read),
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
    source: Source,
    filter: Option<&Predicate>,
    args: &Args,
    out: &mut dyn Out,
) -> Result<Effort> {
    let schema = source.schema();
    let columns = chosen(&args.columns, &schema)?;
    let rows = args.rows.clone().unwrap_or(0..u64::MAX);
    let end = args.limit.map_or(rows.end, |limit| rows.end.min(rows.start.saturating_add(limit)));
    let shown = schema.project(&columns)?;
    let mut printer = RowPrinter::open(args.format, &shown, &args.read, out)?;
    let run = rows.start..end;
    let pick = filter.map_or(Pick::Rows(std::slice::from_ref(&run)), Pick::Where);
    let mut left = end.saturating_sub(rows.start);
    let mut effort = Effort::default();
    if left > 0 {
        effort = source.for_each_picked(&columns, pick, |batch| {
            let count = batch.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX));
            printer.write(&batch.slice(0, count))?;
            left -= count as u64;
            Ok(if left > 0 { Flow::More } else { Flow::Stop })
        })?;
    }
    printer.finish()?;
    Ok(effort)
}
