//! `hyp inspect`: shows the layout of a column file or an archive.

use std::io::{self, Write as _};
use std::path::PathBuf;

use hypostyle::NewFile;
use hypostyle::formats::{FormatId, Reader};
use hypostyle_view::type_name;
use serde_json::json;

use super::Status;
use crate::args::{FileArg, ReadArgs};
use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::output::{BAR_CELLS, Grid, Out, bar, counted, plain};

mod archive;
mod html;

/// Arguments of `hyp inspect`.
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  hyp inspect flights.colf
  hyp inspect flights.csv.at1 --json
  hyp inspect flights.colf --html -o flights.html")]
pub(crate) struct Args {
    #[command(flatten)]
    file: FileArg,

    /// Print JSON
    #[arg(long)]
    json: bool,

    /// Make a page for browsers: byte map, columns with statistics, deviations; one file that needs
    /// no network
    #[arg(long, conflicts_with = "json")]
    html: bool,

    /// Where the page is written
    #[arg(long, short, value_name = "PAGE", requires = "html")]
    output: Option<PathBuf>,

    /// Replace the page if it exists
    #[arg(long, short, requires = "html")]
    force: bool,

    #[command(flatten)]
    read: ReadArgs,
}

/// Prints the layout, without decoding columns.
pub(crate) fn run(args: &Args, out: &mut dyn Out) -> Result<Status> {
    let input = Input::open_any(&args.file.file, &args.read)?;
    if args.html {
        return write_page(args, input, out);
    }
    let kind = input.kind(args.read.from)?;
    if kind.id() == FormatId::At1 {
        let name = input.name();
        let is_remote = input.is_remote();
        let archive = input.into_archive(&args.read.options())?;
        archive::inspect(&archive, is_remote, args.json, out)
            .map_err(|failure| failure.in_file(name))?;
        return Ok(Status::Fine);
    }
    let Some(format) = kind.format() else {
        let why = format!("is {}: hyp can inspect only column files and archives", kind.name());
        return Err(Failure::usage(why).in_file(input.name()));
    };
    let reader = input.into_reader(format, &args.read.options())?;
    if args.json {
        as_json(reader.as_ref(), out)?;
    } else {
        as_map(reader.as_ref(), out)?;
    }
    Ok(Status::Fine)
}

/// Writes the page about a file of any kind, to standard output unless a path is given.
fn write_page(args: &Args, input: Input, out: &mut dyn Out) -> Result<Status> {
    let (name, file_name) = (input.name(), input.file_name().unwrap_or("file").to_owned());
    let source = input.into_source()?;
    let page = html::page(&file_name, source.as_ref()).map_err(|failure| failure.in_file(&name))?;
    match &args.output {
        None => out.write_all(page.as_bytes())?,
        Some(path) => {
            let in_page =
                |cause: io::Error| Failure::io("cannot write", &cause).in_file(path.display());
            let file = NewFile::create(path, args.force).map_err(in_page)?;
            file.file().write_all(page.as_bytes()).map_err(in_page)?;
            file.complete().map_err(in_page)?;
        }
    }
    Ok(Status::Fine)
}

fn as_json(reader: &dyn Reader, out: &mut dyn Out) -> Result<()> {
    let schema = reader.schema();
    let sections = reader.sections().into_iter().map(|section| {
        let column = section.column.and_then(|index| schema.fields().get(index));
        json!({
            "what": section.what,
            "column": section.column,
            "name": column.map(|field| field.name()),
            "type": column.map(|field| type_name(field.data_type())),
            "offset": section.offset,
            "stored": section.stored,
            "raw": section.raw,
        })
    });
    let deviations = reader.deviations();
    let deviations = deviations
        .iter()
        .map(|d| json!({ "code": d.code, "offset": d.offset, "message": d.message }));
    let whole = json!({
        "format": reader.format().name(),
        "rows": reader.rows(),
        "columns": schema.fields().len(),
        "sections": sections.collect::<Vec<_>>(),
        "notes": reader.notes(),
        "deviations": deviations.collect::<Vec<_>>(),
    });
    writeln!(out, "{whole:#}")?;
    Ok(())
}

fn as_map(reader: &dyn Reader, out: &mut dyn Out) -> Result<()> {
    let schema = reader.schema();
    let sections = reader.sections();
    let stored: u64 = sections.iter().map(|section| section.stored).sum();
    let raw: u64 = sections.iter().map(|section| section.raw.unwrap_or(section.stored)).sum();
    let name = reader.format().name().to_uppercase();
    writeln!(
        out,
        "{name}, {}, {}, {} stored, {} decompressed ({})",
        counted(reader.rows(), "row"),
        counted(schema.fields().len() as u64, "column"),
        counted(stored, "byte"),
        raw,
        ratio(stored, raw),
    )?;
    writeln!(out)?;
    let mut grid = Grid::default()
        .column("offset", true)
        .column("section", false)
        .column("type", false)
        .column("stored", true)
        .column("raw", true)
        .column("ratio", true)
        .column("share of the file", false);
    for section in &sections {
        let field = section.column.and_then(|index| schema.fields().get(index));
        let what = match field {
            Some(field) => format!("{} `{}`", section.what, field.name()),
            None => section.what.to_owned(),
        };
        grid.texts([
            section.offset.to_string(),
            what,
            field.map(|field| type_name(field.data_type())).unwrap_or_default(),
            section.stored.to_string(),
            section.raw.map(|raw| raw.to_string()).unwrap_or_default(),
            section.raw.map(|raw| ratio(section.stored, raw)).unwrap_or_default(),
            bar(section.stored, stored, BAR_CELLS),
        ]);
    }
    grid.print(out)?;
    let (notes, deviations) = (reader.notes(), reader.deviations());
    if !notes.is_empty() {
        writeln!(out)?;
    }
    notes.iter().try_for_each(|note| writeln!(out, "{}", plain(note)))?;
    if !deviations.is_empty() {
        writeln!(out)?;
    }
    for deviation in deviations {
        let line = out.paint().warn(format!("deviation {}", plain(&deviation.to_string())));
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Returns the stored size as a percentage of the decompressed size.
pub(super) fn ratio(stored: u64, raw: u64) -> String {
    match stored.saturating_mul(1000).checked_div(raw) {
        Some(thousandths) => format!("{}.{}%", thousandths / 10, thousandths % 10),
        None => String::new(),
    }
}
