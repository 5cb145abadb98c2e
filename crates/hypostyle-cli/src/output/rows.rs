//! Rows of a table in the form that was asked for.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Schema};
use hypostyle::cast::cast;
use hypostyle::text::{csv, jsonl};

use super::Out;
use super::grid::{Cell, Grid, Layout};
use crate::cli::{ReadArgs, RowFormat};
use crate::failure::Result;

/// Rows that decide the widths of a table.
const LOOK: usize = 1000;

/// Prints batches as they come.
pub(crate) enum RowPrinter<'a> {
    Text(csv::Writer<&'a mut dyn Out>),
    Json(jsonl::Writer<&'a mut dyn Out>),
    Table { out: &'a mut dyn Out, grid: Grid, waiting: usize, layout: Option<Layout> },
}

impl<'a> RowPrinter<'a> {
    /// Prints as the user asked, else as suits what it is printed on.
    pub(crate) fn open(
        format: Option<RowFormat>,
        schema: &Schema,
        read: &ReadArgs,
        out: &'a mut dyn Out,
    ) -> Result<Self> {
        let on_terminal = out.terminal_width().is_some();
        let fitting = if on_terminal { RowFormat::Table } else { RowFormat::Csv };
        let null_word = read.csv.null.first().map(String::as_str);
        Self::new(format.unwrap_or(fitting), schema, null_word, out)
    }

    /// Starts with the names.
    fn new(
        format: RowFormat,
        schema: &Schema,
        null_word: Option<&str>,
        out: &'a mut dyn Out,
    ) -> Result<Self> {
        Ok(match format {
            RowFormat::Csv | RowFormat::Tsv => {
                let delimiter = if format == RowFormat::Csv { b',' } else { b'\t' };
                let mut writer = csv::Writer::new(out, delimiter);
                if let Some(word) = null_word {
                    writer = writer.with_null_word(word);
                }
                writer.header(schema)?;
                Self::Text(writer)
            }
            RowFormat::Jsonl => Self::Json(jsonl::Writer::new(out)),
            RowFormat::Table => {
                let grid = schema.fields().iter().fold(Grid::default(), |grid, field| {
                    grid.column(field.name(), field.data_type().is_numeric())
                });
                Self::Table { out, grid, waiting: 0, layout: None }
            }
        })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Text(writer) => writer.write(batch)?,
            Self::Json(writer) => writer.write(batch)?,
            Self::Table { out, grid, waiting, layout } => {
                let columns = batch.columns().iter().map(texts).collect::<Result<Vec<_>>>()?;
                for row in 0..batch.num_rows() {
                    grid.row(columns.iter().map(|column| cell(column, row)).collect());
                    *waiting += 1;
                    if *waiting == LOOK {
                        *waiting = 0;
                        match layout {
                            Some(layout) => grid.more(layout, *out)?,
                            None => *layout = Some(grid.start(*out)?),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Text(writer) => {
                writer.finish()?;
            }
            Self::Json(writer) => {
                writer.finish()?;
            }
            Self::Table { out, mut grid, layout, .. } => {
                let layout = match layout {
                    Some(layout) => {
                        grid.more(&layout, out)?;
                        layout
                    }
                    None => grid.start(out)?,
                };
                layout.foot(&grid, out)?;
            }
        }
        Ok(())
    }
}

fn texts(array: &ArrayRef) -> Result<ArrayRef> {
    Ok(cast(array, &DataType::Utf8)?)
}

fn cell(column: &ArrayRef, row: usize) -> Cell {
    if column.is_null(row) {
        return Cell::Null;
    }
    Cell::Text(column.as_string::<i32>().value(row).to_owned())
}
