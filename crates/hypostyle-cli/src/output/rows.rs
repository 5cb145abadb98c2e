//! Prints rows as CSV, TSV, JSON, JSON Lines, Markdown, a table, or a block of lines each.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;
use hypostyle::cast::spelled_text;
use hypostyle::text::{csv, jsonl};

use unicode_width::UnicodeWidthStr;

use super::Out;
use super::grid::{Grid, GridCell, GridLayout};
use crate::args::ReadArgs;
use crate::failure::Result;
use crate::plain::plain;
use crate::table_args::RowFormat;

/// Rows that determine the column widths of a table.
const WIDTH_SAMPLE_ROWS: usize = 1000;

/// Prints batches as they arrive.
pub(crate) enum RowPrinter<'a> {
    Text(csv::Writer<&'a mut dyn Out>),
    Jsonl(jsonl::Writer<&'a mut dyn Out>),
    /// An array of objects.
    Json {
        out: &'a mut dyn Out,
        is_first: bool,
    },
    Markdown(&'a mut dyn Out),
    Records {
        out: &'a mut dyn Out,
        names: Vec<String>,
        rows: u64,
    },
    Table {
        out: &'a mut dyn Out,
        grid: Grid,
        waiting: usize,
        layout: Option<GridLayout>,
    },
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
            RowFormat::Jsonl => Self::Jsonl(jsonl::Writer::new(out)),
            RowFormat::Json => Self::Json { out, is_first: true },
            RowFormat::Markdown => {
                markdown_head(schema, out)?;
                Self::Markdown(out)
            }
            RowFormat::Record => {
                let names = schema.fields().iter().map(|field| plain(field.name()).into_owned());
                Self::Records { out, names: names.collect(), rows: 0 }
            }
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
            Self::Jsonl(writer) => writer.write(batch)?,
            Self::Json { out, is_first } => {
                let mut writer = jsonl::Writer::new(Vec::new());
                writer.write(batch)?;
                let text = writer.finish()?;
                for line in text.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                    out.write_all(if *is_first { b"[\n  " } else { b",\n  " })?;
                    out.write_all(line)?;
                    *is_first = false;
                }
            }
            Self::Markdown(out) => {
                for row in cells(batch)? {
                    let shown: Vec<String> = row.into_iter().map(markdown_cell).collect();
                    writeln!(out, "| {} |", shown.join(" | "))?;
                }
            }
            Self::Records { out, names, rows } => {
                for row in cells(batch)? {
                    *rows += 1;
                    record(*rows, names, &row, *out)?;
                }
            }
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
            Self::Jsonl(writer) => {
                writer.finish()?;
            }
            Self::Json { out, is_first } => {
                out.write_all(if is_first { b"[]\n" } else { b"\n]\n" })?;
            }
            Self::Markdown(_) | Self::Records { .. } => {}
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

/// Prints the cells of one row, each on a line with its name.
fn record(number: u64, names: &[String], row: &[GridCell], out: &mut dyn Out) -> Result<()> {
    let paint = out.paint();
    let width = names.iter().map(|name| name.width()).max().unwrap_or_default();
    let head = paint.dim(format!("─[ {number} ]{}", "─".repeat(width.saturating_sub(1).max(8))));
    writeln!(out, "{head}")?;
    for (name, cell) in names.iter().zip(row) {
        let gap = " ".repeat(width.saturating_sub(name.width()));
        let shown = match cell {
            GridCell::Text(text) => plain(text).into_owned(),
            GridCell::Null => paint.dim("NULL"),
        };
        writeln!(out, "{}{gap} │ {shown}", paint.bold(name))?;
    }
    Ok(())
}

fn markdown_head(schema: &Schema, out: &mut dyn Out) -> Result<()> {
    let names = schema.fields().iter().map(|field| markdown_text(field.name()));
    writeln!(out, "| {} |", names.collect::<Vec<_>>().join(" | "))?;
    let rules = schema.fields().iter().map(|field| match field.data_type().is_numeric() {
        true => "---:",
        false => "---",
    });
    writeln!(out, "| {} |", rules.collect::<Vec<_>>().join(" | "))?;
    Ok(())
}

fn markdown_cell(cell: GridCell) -> String {
    match cell {
        GridCell::Text(text) => markdown_text(&text),
        GridCell::Null => String::new(),
    }
}

fn markdown_text(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace(['\n', '\r'], " ")
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
