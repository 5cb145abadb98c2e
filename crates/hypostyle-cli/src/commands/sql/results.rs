//! Prints the results of queries.

use std::collections::VecDeque;
use std::io::Write;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, SchemaRef};
use hypostyle::cast::cast;
use hypostyle::{Destination, FormatId, SeekSink, Writer, WriterOptions};

use super::SqlFormat;
use crate::args::ReadArgs;
use crate::failure::{Failure, Result};
use crate::output::{Grid, GridCell, Out, RowPrinter, cells};
use crate::table_args::RowFormat;

/// Rows at each end of a long result that a terminal shows.
const EDGE_ROWS: usize = 20;

/// Prints batches as they arrive.
pub(crate) enum ResultPrinter<'a> {
    /// Statements without a result.
    Nothing,
    /// Plans, as lines.
    Plans(&'a mut dyn Out),
    /// All rows, in a format of other commands.
    Rows(RowPrinter<'a>),
    /// The first and the last rows of a table.
    Edges(Edges<'a>),
    /// A Parquet file, which is printed when it is complete.
    Parquet { out: &'a mut dyn Out, writer: Box<Writer<'static>>, file: std::fs::File },
}

impl<'a> ResultPrinter<'a> {
    pub(crate) fn nothing() -> Self {
        Self::Nothing
    }

    pub(crate) fn plans(out: &'a mut dyn Out) -> Self {
        Self::Plans(out)
    }

    /// Prints in the given format; by default as a table on a terminal and as CSV elsewhere.
    pub(crate) fn open(
        format: Option<SqlFormat>,
        schema: &SchemaRef,
        read: &ReadArgs,
        out: &'a mut dyn Out,
    ) -> Result<Self> {
        let on_terminal = out.terminal_width().is_some();
        let default = if on_terminal { SqlFormat::Table } else { SqlFormat::Csv };
        let as_rows = match format.unwrap_or(default) {
            SqlFormat::Table if on_terminal => return Ok(Self::Edges(Edges::new(schema, out))),
            SqlFormat::Table => RowFormat::Table,
            SqlFormat::Csv => RowFormat::Csv,
            SqlFormat::Tsv => RowFormat::Tsv,
            SqlFormat::Jsonl => RowFormat::Jsonl,
            SqlFormat::Json => RowFormat::Json,
            SqlFormat::Markdown => RowFormat::Markdown,
            SqlFormat::Parquet if on_terminal => {
                let why = "refusing to write binary output to a terminal: redirect it, or use -o";
                return Err(Failure::usage(why));
            }
            SqlFormat::Parquet => {
                let file = tempfile::tempfile()?;
                let sink = SeekSink::try_new(std::io::BufWriter::new(file.try_clone()?))?;
                let to = Destination::Sink(Box::new(sink));
                let options = WriterOptions::default();
                let writer = Writer::create(to, FormatId::Parquet, schema.clone(), &options)?;
                return Ok(Self::Parquet { out, writer: Box::new(writer), file });
            }
        };
        Ok(Self::Rows(RowPrinter::open(Some(as_rows), schema, read, out)?))
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        match self {
            Self::Nothing => {}
            Self::Plans(out) => {
                let Some(plans) = batch.columns().last() else { return Ok(()) };
                let plans = cast(plans, &DataType::Utf8)?;
                for plan in plans.as_string::<i32>().iter().flatten() {
                    writeln!(out, "{}", plan.trim_end())?;
                }
            }
            Self::Rows(printer) => printer.write(batch)?,
            Self::Edges(edges) => edges.write(batch)?,
            Self::Parquet { writer, .. } => writer.write(batch)?,
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<()> {
        match self {
            Self::Nothing | Self::Plans(_) => Ok(()),
            Self::Rows(printer) => printer.finish(),
            Self::Edges(edges) => edges.finish(),
            Self::Parquet { out, writer, mut file } => {
                writer.finish()?;
                std::io::Seek::rewind(&mut file)?;
                std::io::copy(&mut file, out)?;
                Ok(())
            }
        }
    }
}

/// The first and the last rows of a result, for a terminal.
pub(crate) struct Edges<'a> {
    out: &'a mut dyn Out,
    schema: SchemaRef,
    head: Vec<Vec<GridCell>>,
    tail: VecDeque<Vec<GridCell>>,
    rows: u64,
}

impl<'a> Edges<'a> {
    fn new(schema: &SchemaRef, out: &'a mut dyn Out) -> Self {
        let (head, tail) = (Vec::new(), VecDeque::new());
        Self { out, schema: schema.clone(), head, tail, rows: 0 }
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.rows += batch.num_rows() as u64;
        // Rows in the middle are not shown, so they are not formatted.
        let head = EDGE_ROWS.saturating_sub(self.head.len()).min(batch.num_rows());
        self.head.extend(cells(&batch.slice(0, head))?);
        let tail = (batch.num_rows() - head).min(EDGE_ROWS);
        self.tail.extend(cells(&batch.slice(batch.num_rows() - tail, tail))?);
        let beyond = self.tail.len().saturating_sub(EDGE_ROWS);
        self.tail.drain(..beyond);
        Ok(())
    }

    fn finish(self) -> Result<()> {
        let Self { out, schema, head, tail, rows } = self;
        let shown = (head.len() + tail.len()) as u64;
        let mut grid = schema.fields().iter().fold(Grid::default(), |grid, field| {
            grid.column(field.name(), field.data_type().is_numeric())
        });
        head.into_iter().for_each(|row| grid.row(row));
        if shown < rows {
            grid.row(vec![GridCell::Text("·".to_owned()); schema.fields().len()]);
        }
        tail.into_iter().for_each(|row| grid.row(row));
        grid.print(out)?;
        let plural = if rows == 1 { "" } else { "s" };
        let part = if shown < rows { format!(" ({shown} shown)") } else { String::new() };
        let count = out.paint().dim(format!("{rows} row{plural}{part}"));
        writeln!(out, "{count}")?;
        Ok(())
    }
}
