//! `hyp stats`: describes the values of each column.

mod column;
mod sketch;

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};

use self::column::{ColumnValues, Described};
use super::Status;
use crate::failure::Result;
use crate::output::{Out, Progress, RowPrinter};
use crate::table_args::{InputArgs, PrintArgs, RowFormat, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Tables};

/// Arguments of `hyp stats`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
One row for each column: its type, the numbers of values, nulls and distinct values, the least and the
greatest value, mean, standard deviation, quartiles, the distribution as a histogram between the least
and the greatest value, and the most frequent values with their counts. On a terminal, a table shows
what fits, and -x shows everything.

A number after ~ is an estimate: distinct values and frequent values of columns with more than 20,000
distinct ones (distinct: 1 % off), and quartiles of more than 65,536 values (from a random sample).

Examples:
  hyp stats flights.csv.at1
  hyp stats flights.parquet --columns dep_delay,carrier -x
  hyp stats 'logs/*.jsonl' --where \"status >= 500\" --json")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    shape: ShapeArgs,

    /// Most frequent values to list
    #[arg(long, value_name = "N", default_value_t = 3)]
    top: usize,

    #[command(flatten)]
    print: PrintArgs,
}

/// Prints what is known of each column.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let mut rows = tables.scan(&args.shape, DEFAULT_BATCH_ROWS)?;
    let schema = rows.schema();
    let mut columns: Vec<ColumnValues> =
        schema.fields().iter().map(|field| ColumnValues::new(field)).collect();
    let progress = Progress::steps("reading rows", tables.num_rows()?);
    let mut done = 0;
    while let Some(batch) = rows.next_batch()? {
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.add(array)?;
        }
        done += batch.num_rows() as u64;
        progress.set(done);
    }
    drop(progress);
    let described = columns.into_iter().map(|column| column.finish(args.top));
    let report = report(&described.collect::<Vec<_>>())?;
    let on_terminal = out.terminal_width().is_some();
    let default = if on_terminal { RowFormat::Table } else { RowFormat::Csv };
    let format = args.print.format().unwrap_or(default);
    let mut printer = RowPrinter::open(Some(format), &report.schema(), &args.input.read, out)?;
    printer.write(&report)?;
    printer.finish()?;
    Ok(Status::of_scan(rows.finish()?))
}

/// Makes a table of the columns.
fn report(columns: &[Described]) -> Result<RecordBatch> {
    let texts = |get: &dyn Fn(&Described) -> Option<String>| -> ArrayRef {
        Arc::new(columns.iter().map(get).collect::<StringArray>())
    };
    let counts = |get: &dyn Fn(&Described) -> u64| -> ArrayRef {
        Arc::new(UInt64Array::from_iter_values(columns.iter().map(get)))
    };
    let floats = |get: &dyn Fn(&Described) -> Option<f64>| -> ArrayRef {
        Arc::new(columns.iter().map(get).collect::<Float64Array>())
    };
    let arrays: [(&str, ArrayRef); 15] = [
        ("column", texts(&|it| Some(it.name.clone()))),
        ("type", texts(&|it| Some(it.type_name.clone()))),
        ("count", counts(&|it| it.values)),
        ("nulls", counts(&|it| it.nulls)),
        ("distinct", texts(&|it| Some(it.distinct.clone()))),
        ("min", texts(&|it| it.min.clone())),
        ("max", texts(&|it| it.max.clone())),
        ("mean", floats(&|it| it.mean)),
        ("distribution", texts(&|it| it.histogram.clone())),
        ("top", texts(&|it| it.top.clone())),
        ("sd", floats(&|it| it.deviation)),
        ("q1", texts(&|it| it.quartiles.as_ref().map(|of| of[0].clone()))),
        ("median", texts(&|it| it.quartiles.as_ref().map(|of| of[1].clone()))),
        ("q3", texts(&|it| it.quartiles.as_ref().map(|of| of[2].clone()))),
        ("longest", texts(&|it| it.longest.map(|bytes| bytes.to_string()))),
    ];
    let field = |(name, array): &(&str, ArrayRef)| {
        let is_nullable = !matches!(array.data_type(), DataType::UInt64);
        Field::new(*name, array.data_type().clone(), is_nullable)
    };
    let schema = Schema::new(arrays.iter().map(field).collect::<Vec<_>>());
    Ok(RecordBatch::try_new(
        Arc::new(schema),
        arrays.into_iter().map(|(_, array)| array).collect(),
    )?)
}
