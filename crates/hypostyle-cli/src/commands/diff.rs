//! `hyp diff`: compares two tables.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{Schema, SchemaRef};
use hypostyle::cast::spelled_text;
use hypostyle_view::type_name;
use serde_json::{Value, json};

use super::Status;
use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::output::{Grid, Out, Progress, counted, plain};
use crate::path_arg::is_dash;
use crate::table_args::{ColumnArgs, InputArgs, ShapeArgs};
use crate::tables::{DEFAULT_BATCH_ROWS, Rows, Tables};

/// Arguments of `hyp diff`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
The files may have different formats. Columns are matched by name and rows by number; cells are equal
if they are printed alike. The exit code is 0 if the tables are equal, and 1 if they differ.

Examples:
  hyp diff flights.csv flights.colf
  hyp diff old.parquet new.parquet --columns id,price --limit 100
  hyp diff a.csv b.csv --json")]
pub(crate) struct Args {
    /// The first table, or its URL; - reads standard input
    a: PathBuf,

    /// The second table
    b: PathBuf,

    #[command(flatten)]
    columns: ColumnArgs,

    /// Differing cells to list
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    limit: usize,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Print nothing; only the exit code tells
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// How two tables differ.
#[derive(Debug, Default)]
struct Differences {
    /// Columns that only the first table has.
    only_a: Vec<String>,
    only_b: Vec<String>,
    /// Columns with another type.
    types: Vec<(String, String, String)>,
    is_reordered: bool,
    rows: (u64, u64),
    /// Cells that differ, and how many of them are listed.
    cells: u64,
    listed: Vec<DifferentCell>,
    /// Rows in which some cell differs.
    different_rows: u64,
}

#[derive(Debug)]
struct DifferentCell {
    row: u64,
    column: String,
    a: Option<String>,
    b: Option<String>,
}

/// Compares the tables.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    if is_dash(&args.a) && is_dash(&args.b) {
        return Err(Failure::usage("standard input can be only one of the tables"));
    }
    let open = |path: &PathBuf| {
        let files = vec![path.clone()];
        Tables::open(&InputArgs { files, read: args.read.clone() })
    };
    let (a, b) = (open(&args.a)?, open(&args.b)?);
    let shape = ShapeArgs { columns: args.columns.clone(), ..ShapeArgs::default() };
    let mut found = of_schemas(a.schema(&shape)?.as_ref(), b.schema(&shape)?.as_ref());
    found.rows = (a.num_rows()?, b.num_rows()?);
    compare(&a, &b, &shape, args.limit, &mut found)?;
    if args.json {
        writeln!(out, "{:#}", found.json())?;
    } else if !args.quiet {
        found.print(args, out)?;
    }
    Ok(if found.is_none() { Status::Fine } else { Status::Failed })
}

/// Compares columns by name.
fn of_schemas(a: &Schema, b: &Schema) -> Differences {
    let lacking = |of: &Schema, other: &Schema| -> Vec<String> {
        let names = of.fields().iter().map(|field| field.name());
        names.filter(|name| other.field_with_name(name).is_err()).cloned().collect()
    };
    let mut found =
        Differences { only_a: lacking(a, b), only_b: lacking(b, a), ..Differences::default() };
    let mut common_a = Vec::new();
    for field in a.fields() {
        let Ok(other) = b.field_with_name(field.name()) else { continue };
        common_a.push(field.name());
        if field.data_type() != other.data_type() {
            let (one, two) = (type_name(field.data_type()), type_name(other.data_type()));
            found.types.push((field.name().clone(), one, two));
        }
    }
    let common_b = b.fields().iter().map(|field| field.name());
    let common_b: Vec<_> = common_b.filter(|name| a.field_with_name(name).is_ok()).collect();
    found.is_reordered = common_a != common_b;
    found
}

/// Compares the cells of the columns that both tables have.
fn compare(
    a: &Tables,
    b: &Tables,
    shape: &ShapeArgs,
    limit: usize,
    found: &mut Differences,
) -> Result<()> {
    let schema = a.schema(shape)?;
    let common = schema.fields().iter().map(|field| field.name().clone());
    let common: Vec<String> = common.filter(|name| !found.only_a.contains(name)).collect();
    let columns = ColumnArgs { columns: Some(Vec::new()), column: common.clone() };
    let shape = ShapeArgs { columns, ..shape.clone() };
    let mut one = Windows::new(a.scan(&shape, DEFAULT_BATCH_ROWS)?);
    let mut other = Windows::new(b.scan(&shape, DEFAULT_BATCH_ROWS)?);
    let progress = Progress::steps("comparing rows", found.rows.0.min(found.rows.1));
    let mut before = 0;
    while let (left @ 1.., right @ 1..) = (one.ready()?, other.ready()?) {
        let rows = left.min(right);
        let (left, right) = (one.take(rows), other.take(rows));
        let mut differs = vec![false; rows];
        for (index, name) in common.iter().enumerate() {
            let text = |batch: &RecordBatch, schema: &Schema| {
                spelled_text(batch.column(index), schema.field(index))
            };
            let one = text(&left, &one.rows.schema())?;
            let other = text(&right, &other.rows.schema())?;
            let (one, other) = (one.as_string::<i32>(), other.as_string::<i32>());
            if one == other {
                continue;
            }
            for (row, (a, b)) in one.iter().zip(other).enumerate().filter(|(_, (a, b))| a != b) {
                differs.iter_mut().skip(row).take(1).for_each(|differs| *differs = true);
                found.cells += 1;
                if found.listed.len() < limit {
                    let (a, b) = (a.map(str::to_owned), b.map(str::to_owned));
                    let row = before + row as u64;
                    found.listed.push(DifferentCell { row, column: name.clone(), a, b });
                }
            }
        }
        found.different_rows += differs.iter().filter(|&&differs| differs).count() as u64;
        before += rows as u64;
        progress.set(before);
    }
    Ok(())
}

/// Rows of a table in windows of any size.
struct Windows<'a> {
    rows: Rows<'a>,
    batch: Option<RecordBatch>,
}

impl<'a> Windows<'a> {
    fn new(rows: Rows<'a>) -> Self {
        Self { rows, batch: None }
    }

    /// Returns how many rows are ready; 0 at the end.
    fn ready(&mut self) -> Result<usize> {
        while self.batch.as_ref().is_none_or(|batch| batch.num_rows() == 0) {
            self.batch = self.rows.next_batch()?;
            if self.batch.is_none() {
                return Ok(0);
            }
        }
        Ok(self.batch.as_ref().map_or(0, RecordBatch::num_rows))
    }

    /// Takes so many of the rows that are ready.
    fn take(&mut self, rows: usize) -> RecordBatch {
        let schema: SchemaRef = self.rows.schema();
        let batch = self.batch.take().unwrap_or_else(|| RecordBatch::new_empty(schema));
        let rows = rows.min(batch.num_rows());
        self.batch = Some(batch.slice(rows, batch.num_rows() - rows));
        batch.slice(0, rows)
    }
}

impl Differences {
    fn is_none(&self) -> bool {
        let schemas = self.only_a.is_empty() && self.only_b.is_empty() && self.types.is_empty();
        schemas && !self.is_reordered && self.rows.0 == self.rows.1 && self.cells == 0
    }

    fn json(&self) -> Value {
        let types = self.types.iter().map(|(name, a, b)| json!({ "column": name, "a": a, "b": b }));
        let cells = self.listed.iter().map(
            |cell| json!({ "row": cell.row, "column": cell.column, "a": cell.a, "b": cell.b }),
        );
        json!({
            "equal": self.is_none(),
            "only_a": self.only_a,
            "only_b": self.only_b,
            "types": types.collect::<Vec<_>>(),
            "reordered": self.is_reordered,
            "rows": { "a": self.rows.0, "b": self.rows.1 },
            "different_rows": self.different_rows,
            "different_cells": self.cells,
            "cells": cells.collect::<Vec<_>>(),
        })
    }

    fn print(&self, args: &Args, out: &mut dyn Out) -> Result<()> {
        let (a, b) = (args.a.display().to_string(), args.b.display().to_string());
        let (a, b) = (plain(&a), plain(&b));
        if self.is_none() {
            writeln!(out, "the tables are equal: {}", counted(self.rows.0, "row"))?;
            return Ok(());
        }
        for (file, names) in [(&a, &self.only_a), (&b, &self.only_b)] {
            for name in names {
                writeln!(out, "only in {file}: column `{}`", plain(name))?;
            }
        }
        for (name, one, other) in &self.types {
            writeln!(out, "column `{}`: {one} in {a}, {other} in {b}", plain(name))?;
        }
        if self.is_reordered {
            writeln!(out, "the columns are in another order")?;
        }
        if self.rows.0 != self.rows.1 {
            let (one, other) = (counted(self.rows.0, "row"), counted(self.rows.1, "row"));
            writeln!(out, "{one} in {a}, {other} in {b}")?;
        }
        if self.cells > 0 {
            let cells = counted(self.cells, "cell");
            let verb = if self.cells == 1 { "differs" } else { "differ" };
            let rows = counted(self.different_rows, "row");
            writeln!(out, "{cells} in {rows} {verb}")?;
        }
        if self.listed.is_empty() {
            return Ok(());
        }
        let mut grid = Grid::default()
            .column("row", true)
            .column("column", false)
            .column(a.into_owned(), false)
            .column(b.into_owned(), false);
        for DifferentCell { row, column, a, b } in &self.listed {
            let shown = |cell: &Option<String>| cell.clone().unwrap_or_else(|| "NULL".to_owned());
            grid.texts([row.to_string(), column.clone(), shown(a), shown(b)]);
        }
        grid.print(out)?;
        let more = self.cells.saturating_sub(self.listed.len() as u64);
        if more > 0 {
            writeln!(out, "and {more} more; --limit lists more of them")?;
        }
        Ok(())
    }
}
