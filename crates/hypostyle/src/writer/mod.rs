//! Writes batches as a file of any kind.
//!
//! `plan` casts the columns of each batch to types that the file can store. Column files and
//! OnPair need whole columns, so their rows wait in a [`SpillBuffer`]; `text_rows`, Parquet and
//! Arrow write rows as they come. `destination` gives a file its name when it is complete.

mod destination;
mod options;
mod plan;
mod text_rows;

use std::fmt;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use self::destination::Output;
use self::plan::ColumnPlan;
use self::text_rows::TextRows;
use crate::file_kind::FileKind;
use crate::formats::Format;
use hypostyle_core::coerce::{CoerceOptions, CoercedTable};
use hypostyle_core::error::{Error, Refusal, Result};
use hypostyle_core::format_id::FormatId;
use hypostyle_core::spill::{SpillBuffer, SpilledTable};

pub use destination::Destination;
pub use options::WriterOptions;

/// Writes batches as one file.
///
/// It takes any batch that the file can store without loss, and casts its columns by the rules
/// of [`coerce`](crate::coerce). What would lose is refused, with the column, the row and a way
/// out. Types are refused by [`Writer::create`], and values of column files before a byte is
/// written. Text, Parquet and Arrow are written as rows come; a path gets them at the end only.
pub struct Writer<'a> {
    kind: FileKind,
    options: WriterOptions,
    plan: ColumnPlan,
    body: Body<'a>,
}

enum Body<'a> {
    /// Rows that wait until all of them are known.
    Columns {
        format: &'static dyn Format,
        buffer: SpillBuffer,
        output: Output<'a>,
    },
    Text(TextRows<'a>),
    #[cfg(feature = "parquet")]
    Parquet(Box<crate::parquet_file::ParquetWriter<Output<'a>>>),
    #[cfg(feature = "arrow")]
    Arrow(Box<crate::arrow_file::ArrowWriter<Output<'a>>>),
}

impl fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schema = &self.plan.stored;
        f.debug_struct("Writer").field("kind", &self.kind).field("schema", schema).finish()
    }
}

impl<'a> Writer<'a> {
    /// Starts a file: at a path, or in a [`Sink`](crate::Sink).
    ///
    /// # Errors
    ///
    /// Fails for a schema that such a file cannot store, with the column, and if the path
    /// cannot be written.
    pub fn create(
        to: impl Into<Destination<'a>>,
        format: impl Into<FormatId>,
        schema: SchemaRef,
        options: &WriterOptions,
    ) -> Result<Self> {
        let format = format.into();
        Self::start(to.into(), format, schema, options).map_err(|err| err.in_format(format))
    }

    fn start(
        to: Destination<'a>,
        format: FormatId,
        schema: SchemaRef,
        options: &WriterOptions,
    ) -> Result<Self> {
        let kind = FileKind::of(format)?;
        if !kind.holds_tables() {
            let (why, way_out) = match format {
                FormatId::At1 => (
                    "AT-1 stores a file byte for byte, and a table is not a file",
                    "write it as CSV or JSON Lines, and pack that",
                ),
                _ => ("tables cannot be written in this format", "write CSV or JSON Lines"),
            };
            return Err(Error::refused(Refusal::TablesNotSupported, why, way_out));
        }
        // Column files are written with C libraries and a temporary file.
        if cfg!(target_family = "wasm") && kind.format().is_some() {
            return Err(Error::unsupported("writing on WebAssembly"));
        }
        let plan = ColumnPlan::new(kind, schema, options)?;
        let options = options.clone();
        let body = match (format, kind.format()) {
            (_, Some(format)) => {
                // An empty table shows whether the format accepts the schema.
                let empty = RecordBatch::new_empty(plan.stored.clone());
                let empty = CoercedTable::try_new(
                    &empty,
                    format.capabilities(),
                    &CoerceOptions::default(),
                )?;
                format.encode(&empty, &mut Vec::new(), &options.encode)?;
                let buffer = spill_buffer(options.memory)?;
                Body::Columns { format, buffer, output: Output::open(to, options.replace)? }
            }
            #[cfg(feature = "csv")]
            (FormatId::Csv | FormatId::Tsv, _) => {
                let delimiter = if format == FormatId::Tsv { b'\t' } else { b',' };
                let output = Output::open(to, options.replace)?;
                Body::Text(TextRows::delimited(output, delimiter, &plan.stored, &options)?)
            }
            #[cfg(feature = "json")]
            (FormatId::Jsonl, _) => Body::Text(TextRows::json(Output::open(to, options.replace)?)),
            #[cfg(feature = "parquet")]
            (FormatId::Parquet, _) => {
                crate::parquet_file::check_schema(&plan.stored)?;
                let output = Output::open(to, options.replace)?;
                let writer = crate::parquet_file::ParquetWriter::try_new(output, &plan.stored)?;
                Body::Parquet(Box::new(writer))
            }
            #[cfg(feature = "arrow")]
            (FormatId::Arrow, _) => {
                let output = Output::open(to, options.replace)?;
                let writer = crate::arrow_file::ArrowWriter::try_new(output, &plan.stored)?;
                Body::Arrow(Box::new(writer))
            }
            _ => Body::Text(TextRows::lines(Output::open(to, options.replace)?, &plan.stored)?),
        };
        Ok(Self { kind, options, plan, body })
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// Fails if the batch has other types than the file, for a value that the file cannot
    /// store, and if writing fails. The writer must then be dropped.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.push(batch).map_err(|err| err.in_format(self.kind.id()))
    }

    fn push(&mut self, batch: &RecordBatch) -> Result<()> {
        let batch = self.plan.cast(batch)?;
        match &mut self.body {
            Body::Columns { buffer, .. } => buffer.push(batch.num_rows(), batch.columns().to_vec()),
            Body::Text(rows) => rows.write(&batch),
            #[cfg(feature = "parquet")]
            Body::Parquet(writer) => writer.write(&batch),
            #[cfg(feature = "arrow")]
            Body::Arrow(writer) => writer.write(&batch),
        }
    }

    /// Writes what is left, and returns the number of rows of the file.
    ///
    /// # Errors
    ///
    /// Fails for values that the file cannot store, before a byte of a column file is written,
    /// and if writing fails. A path is then as it was before.
    pub fn finish(self) -> Result<u64> {
        let id = self.kind.id();
        self.end().map_err(|err| err.in_format(id))
    }

    fn end(self) -> Result<u64> {
        let Self { options, plan, body, .. } = self;
        let rows = plan.rows();
        let output = match body {
            Body::Columns { format, mut buffer, mut output } => {
                if buffer.chunks() == 0 {
                    let empty = RecordBatch::new_empty(plan.stored.clone());
                    buffer.push(0, empty.columns().to_vec())?;
                }
                let table = SpilledTable::new(plan.stored, buffer);
                let coerce = CoerceOptions { types: options.types, null_word: options.null_word };
                let table = CoercedTable::try_new(&table, format.capabilities(), &coerce)?;
                format.encode(&table, &mut output, &options.encode)?;
                output
            }
            Body::Text(rows) => rows.finish()?,
            #[cfg(feature = "parquet")]
            Body::Parquet(writer) => writer.finish()?,
            #[cfg(feature = "arrow")]
            Body::Arrow(writer) => writer.finish()?,
        };
        output.complete()?;
        Ok(rows)
    }
}

/// Returns a buffer that moves rows to a temporary file beyond `memory` bytes.
#[cfg(not(target_family = "wasm"))]
fn spill_buffer(memory: u64) -> Result<SpillBuffer> {
    let scratch = hypostyle_core::spill::FileScratch::try_new(tempfile::tempfile()?)?;
    Ok(SpillBuffer::with_scratch(memory, Box::new(scratch)))
}

/// There are no files on WebAssembly.
#[cfg(target_family = "wasm")]
fn spill_buffer(_: u64) -> Result<SpillBuffer> {
    Err(std::io::Error::from(std::io::ErrorKind::Unsupported).into())
}
