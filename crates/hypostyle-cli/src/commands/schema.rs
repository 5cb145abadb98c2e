//! `hyp schema`: prints the names and types of columns.

use std::collections::BTreeSet;

use hypostyle_view::type_name;
use serde_json::json;

use super::Status;
use crate::failure::Result;
use crate::output::{Grid, Out};
use crate::table_args::{ColumnArgs, InputArgs, ShapeArgs};
use crate::tables::Tables;

/// Arguments of `hyp schema`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp schema flights.csv
  hyp schema flights.csv.at1 --json
  hyp schema 'logs/*.jsonl'               the columns of all files as one table")]
pub(crate) struct Args {
    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    columns: ColumnArgs,

    /// Add a column `filename` with the name of the file that each row comes from
    #[arg(long)]
    filename: bool,

    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Prints the columns of a table.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let tables = Tables::open(&args.input)?;
    let (columns, filename) = (args.columns.clone(), args.filename);
    let schema = tables.schema(&ShapeArgs { columns, filename, ..ShapeArgs::default() })?;
    if args.json {
        let columns = schema.fields().iter().map(|field| {
            json!({
                "name": field.name(),
                "type": type_name(field.data_type()),
                "nullable": field.is_nullable(),
            })
        });
        let columns: Vec<_> = columns.collect();
        let kinds: BTreeSet<&str> = tables.parts().iter().map(|part| part.kind.name()).collect();
        let kinds = kinds.into_iter().collect::<Vec<_>>().join(", ");
        let whole = json!({ "format": kinds, "rows": tables.num_rows()?, "columns": columns });
        writeln!(out, "{whole:#}")?;
        return Ok(Status::Fine);
    }
    let mut grid = Grid::default()
        .column("#", true)
        .column("name", false)
        .column("type", false)
        .column("", false);
    for (index, field) in schema.fields().iter().enumerate() {
        let nullable = if field.is_nullable() { "nullable" } else { "" };
        grid.texts([
            (index + 1).to_string(),
            field.name().clone(),
            type_name(field.data_type()),
            nullable.to_owned(),
        ]);
    }
    grid.print(out)?;
    Ok(Status::Fine)
}
