//! Tables of every kind, as batches: what every command reads.

use std::io::{self, Write};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use hypostyle::Table;
use hypostyle::formats::at1::TableOptions;
use hypostyle::formats::{Abilities, Reader};
use hypostyle::text::{Imported, Skipped};

use crate::cli::{ColumnArgs, Kind, ReadArgs};
use crate::failure::{Failure, InFile, Result};
use crate::input::{Input, hint, import_options};
use crate::output::scratch;

mod arrow;
mod parquet;

pub(crate) use arrow::ArrowWriter;
pub(crate) use parquet::ParquetWriter;

/// Rows that are handed on at a time from a file that is decoded whole.
const ROWS: usize = 64 << 10;

/// An open table.
pub(crate) enum Source {
    /// A column file: any columns, one at a time or all at once.
    Columns(Box<dyn Reader>),
    /// Text that has been read.
    Imported(Imported),
    /// Batches as they come.
    Batches(Batches),
}

/// Batches of a file that has rows in order.
pub(crate) struct Batches {
    pub(crate) schema: SchemaRef,
    pub(crate) next: Box<dyn Iterator<Item = Result<RecordBatch>>>,
}

impl Source {
    /// Opens an input of any kind; text gets types that `abilities` allow.
    ///
    /// Columns besides those that are `wanted` may be missing, where that saves work.
    pub(crate) fn open(
        input: Input,
        wanted: Option<&ColumnArgs>,
        args: &ReadArgs,
        abilities: Abilities,
        memory: u64,
    ) -> Result<Self> {
        let kind = input.kind(args.from)?;
        let name = input.name();
        Ok(match (kind.format(), kind) {
            (_, Kind::At1) => {
                let archive = input.into_archive(&args.options())?;
                let options = import_options(args, abilities);
                let stage = scratch(memory)?;
                let how = TableOptions {
                    header: !args.csv.no_header,
                    encoding: args.csv.encoding.into(),
                    columns: wanted.and_then(ColumnArgs::names),
                };
                let table = archive.import(&how, &options, stage);
                let table = table.map_err(|err| hint(err.into())).in_file(&name)?;
                warn_of_skipped(&name, table.skipped());
                Self::Imported(table)
            }
            (Some(format), _) => Self::Columns(input.into_reader(format, &args.options())?),
            (None, Kind::Parquet) => {
                Self::Batches(parquet::read(input.into_file()?).in_file(name)?)
            }
            (None, Kind::Arrow) => Self::Batches(arrow::read(input.into_file()?).in_file(name)?),
            _ => Self::Imported(input.import(kind, args, abilities, memory)?),
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        match self {
            Self::Columns(reader) => reader.schema(),
            Self::Imported(imported) => imported.schema(),
            Self::Batches(batches) => batches.schema.clone(),
        }
    }

    /// The number of rows, where it is known beforehand.
    pub(crate) fn rows(&self) -> Option<u64> {
        match self {
            Self::Columns(reader) => Some(reader.rows()),
            Self::Imported(imported) => Some(imported.rows()),
            Self::Batches(_) => None,
        }
    }

    /// Calls `each` with batches of the given columns until it says stop.
    pub(crate) fn for_each(
        self,
        columns: &[usize],
        mut each: impl FnMut(RecordBatch) -> Result<Flow>,
    ) -> Result<()> {
        match self {
            Self::Columns(reader) => {
                for chunk in 0..reader.chunks() {
                    let whole = reader.read(chunk, columns)?;
                    let mut start = 0;
                    while start < whole.num_rows() {
                        let len = ROWS.min(whole.num_rows() - start);
                        if each(whole.slice(start, len))? == Flow::Stop {
                            return Ok(());
                        }
                        start += len;
                    }
                }
            }
            Self::Imported(imported) => {
                for index in 0..imported.batches() {
                    let batch = imported.batch(index)?.project(columns)?;
                    if each(batch)? == Flow::Stop {
                        break;
                    }
                }
            }
            Self::Batches(batches) => {
                for batch in batches.next {
                    if each(batch?.project(columns)?)? == Flow::Stop {
                        break;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether more batches are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    More,
    Stop,
}

/// Says what an archive holds besides rows: nothing is left out in silence.
fn warn_of_skipped(name: &str, skipped: &Skipped) {
    if skipped.count == 0 {
        return;
    }
    let places: Vec<String> = skipped.offsets.iter().map(u64::to_string).collect();
    let more = if skipped.count > places.len() as u64 { ", ..." } else { "" };
    let places = places.join(", ");
    let count = skipped.count;
    let _ = writeln!(
        io::stderr(),
        "warning: `{name}`: {count} lines are no rows of the table and are left out, at byte \
         {places}{more} of the text"
    );
}

fn broken(what: &str, err: &dyn std::fmt::Display) -> Failure {
    Failure::input(format!("{what}: {err}"))
}
