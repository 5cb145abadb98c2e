//! `hyp schema`: prints the names and types of columns.

use hypostyle_view::type_name;
use serde_json::json;

use super::Status;
use crate::args::{FileArg, ReadArgs};
use crate::failure::{InFile, Result};
use crate::input::Input;
use crate::output::{Grid, Out};

/// Arguments of `hyp schema`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Print JSON
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the columns of a table.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open_any(&args.file.file, &args.read)?;
    let kind = input.kind(args.read.from)?;
    let name = input.name();
    let table = input.into_table(&args.read, None)?;
    let schema = table.schema().in_file(&name)?;
    if args.json {
        let columns = schema.fields().iter().map(|field| {
            json!({
                "name": field.name(),
                "type": type_name(field.data_type()),
                "nullable": field.is_nullable(),
            })
        });
        let columns: Vec<_> = columns.collect();
        let whole = json!({ "format": kind.name(), "rows": table.num_rows()?, "columns": columns });
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
