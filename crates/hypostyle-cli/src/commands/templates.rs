//! `hyp templates`: what the lines of a log have in common.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use hypostyle::Table;
use hypostyle::cast::cast;

use super::Status;
use crate::args::{FileArg, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::hint;
use crate::input::Input;
use crate::output::{Out, RowPrinter};
use crate::table_args::PrintArgs;

/// Arguments of `hyp templates`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The template of a line is the line with <*> in place of each word that has a digit. hyp lists the
templates of a log by their number of lines, with the times of the earliest and the latest line and
the first line as an example. Times are printed as year, month, day and time; the year is missing
if the log has none. Of an archive, hyp reads only what templates and times depend on.

Examples:
  hyp templates server.log.at1                    what a log consists of
  hyp templates server.log.at1 -n 10 --format jsonl
  hyp templates --from log messages.txt           a log with another extension
  hyp cat server.log.at1 --where \"template = '...'\"  the lines of a template")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Print at most N templates
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,

    /// Print the rarest templates first
    #[arg(long)]
    rare: bool,

    #[command(flatten)]
    print: PrintArgs,

    #[command(flatten)]
    read: ReadArgs,
}

/// The lines of a template.
#[derive(Debug)]
struct Occurrences {
    lines: i64,
    /// The row of the first line.
    row: u64,
    first: Option<String>,
    last: Option<String>,
}

/// Prints the templates.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open_any(&args.file.file, &args.read)?;
    let name = input.name();
    let table = input.into_table(&args.read, None)?;
    print(&table, args, out).in_file(name)?;
    Ok(Status::Fine)
}

fn print(table: &Table, args: &Args, out: &mut dyn Out) -> Result<()> {
    let schema = table.schema()?;
    if ["line", "time", "template"].iter().any(|name| schema.field_with_name(name).is_err()) {
        let why = "is not a log, so it has no templates";
        return Err(Failure::usage(why).with_hint(Some("--from log reads any text as a log")));
    }
    let mut found: Vec<(String, Occurrences)> = count(table, args)?.into_iter().collect();
    // The order must not depend on the table of hashes.
    found.sort_by_key(|(_, of)| of.row);
    if args.rare {
        found.sort_by_key(|(_, of)| of.lines);
    } else {
        found.sort_by_key(|(_, of)| std::cmp::Reverse(of.lines));
    }
    found.truncate(args.limit.unwrap_or(usize::MAX));
    let examples = examples(table, &found, args)?;
    let column = |values: Vec<Option<&str>>| Arc::new(StringArray::from(values)) as ArrayRef;
    let all = || found.iter().map(|(_, of)| of);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("lines", Arc::new(Int64Array::from_iter_values(all().map(|of| of.lines)))),
        ("first", column(all().map(|of| of.first.as_deref()).collect())),
        ("last", column(all().map(|of| of.last.as_deref()).collect())),
        ("template", column(found.iter().map(|(template, _)| Some(&template[..])).collect())),
        ("example", examples),
    ];
    let field =
        |(name, array): &(&str, ArrayRef)| Field::new(*name, array.data_type().clone(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(schema.clone(), arrays)?;
    let mut printer = RowPrinter::open(args.print.format(), &schema, &args.read, out)?;
    printer.write(&batch)?;
    printer.finish()
}

/// Returns the lines of each template.
fn count(table: &Table, args: &Args) -> Result<HashMap<String, Occurrences>> {
    let mut found: HashMap<String, Occurrences> = HashMap::new();
    let scan = table.scan().columns(["template", "time"]).threads_or_all(args.read.threads());
    let (mut batches, mut start) = (scan.batches()?, 0_u64);
    while let Some(batch) = batches.next_batch().map_err(hint::reading)? {
        let texts = [0, 1].map(|at| match batch.columns().get(at) {
            Some(column) => cast(column, &DataType::Utf8),
            None => Err(hypostyle::Error::internal("a column is missing")),
        });
        let [templates, times] = texts;
        let (templates, times) = (templates?, times?);
        let rows = templates.as_string::<i32>().iter().zip(times.as_string::<i32>());
        for (row, (template, time)) in (start..).zip(rows) {
            let template = template.unwrap_or_default();
            let Some(known) = found.get_mut(template) else {
                let time = time.map(str::to_owned);
                let of = Occurrences { lines: 1, row, first: time.clone(), last: time };
                found.insert(template.to_owned(), of);
                continue;
            };
            known.lines += 1;
            if let Some(time) = time {
                if known.first.as_deref().is_none_or(|first| time < first) {
                    known.first = Some(time.to_owned());
                }
                if known.last.as_deref().is_none_or(|last| time > last) {
                    known.last = Some(time.to_owned());
                }
            }
        }
        start += batch.num_rows() as u64;
    }
    Ok(found)
}

/// Returns the first line of each template.
fn examples(table: &Table, found: &[(String, Occurrences)], args: &Args) -> Result<ArrayRef> {
    let rows: Vec<u64> = found.iter().map(|(_, of)| of.row).collect();
    let mut lines: Vec<String> = Vec::with_capacity(rows.len());
    if !rows.is_empty() {
        let scan = table.scan().take(&rows).columns(["line"]).threads_or_all(args.read.threads());
        let mut batches = scan.batches()?;
        while let Some(batch) = batches.next_batch().map_err(hint::reading)? {
            let column = batch.columns().first();
            let bytes = column.map(|column| cast(column, &DataType::Binary)).transpose()?;
            for line in bytes.iter().flat_map(|bytes| bytes.as_binary::<i32>().iter()) {
                lines.push(String::from_utf8_lossy(line.unwrap_or_default()).into_owned());
            }
        }
    }
    Ok(Arc::new(StringArray::from(lines)))
}
