//! Prints rows as CSV, TSV, JSON Lines or a table.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;
use hypostyle::cast::spelled_text;
use hypostyle::text::{csv, jsonl};

use super::Out;
use super::grid::{Grid, GridCell, GridLayout};
use crate::args::{ReadArgs, RowFormat};
use crate::failure::Result;

/// Rows that determine the column widths of a table.
const WIDTH_SAMPLE_ROWS: usize = 1000;

/// Prints batches as they arrive.
pub(crate) enum RowPrinter<'a> {
    Text(csv::Writer<&'a mut dyn Out>),
    Json(jsonl::Writer<&'a mut dyn Out>),
    Table { out: &'a mut dyn Out, grid: Grid, waiting: usize, layout: Option<GridLayout> },
}

impl<'a> RowPrinter<'a> {
    /// Prints in the given format; by default as a table on a terminal and as CSV elsewhere.
    pub(crate) fn open(
        format: Option<RowFormat>,
        schema: &Schema,
        read: &ReadArgs,
        out: &'a mut dyn Out,
    ) -> Result<Self> {
        let on_terminal = out.terminal_width().is_some();
        let default = if on_terminal { RowFormat::Table } else { RowFormat::Csv };
        let null_word = read.csv.null.first().map(String::as_str);
        Self::new(format.unwrap_or(default), schema, null_word, out)
    }

    /// Prints the header, if the format has one.
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
                for row in cells(batch)? {
                    grid.row(row);
                    *waiting += 1;
                    if *waiting == WIDTH_SAMPLE_ROWS {
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

/// Returns the cells of a batch, row by row.
pub(crate) fn cells(batch: &RecordBatch) -> Result<Vec<Vec<GridCell>>> {
    let schema = batch.schema();
    let columns = batch.columns().iter().zip(schema.fields());
    let columns = columns
        .map(|(array, field)| Ok(spelled_text(array, field)?))
        .collect::<Result<Vec<_>>>()?;
    let row = |row| columns.iter().map(|column| cell(column, row)).collect();
    Ok((0..batch.num_rows()).map(row).collect())
}

fn cell(column: &ArrayRef, row: usize) -> GridCell {
    if column.is_null(row) {
        return GridCell::Null;
    }
    GridCell::Text(column.as_string::<i32>().value(row).to_owned())
}
