//! Batches in, a file out: the push side of [`Format::encode`].

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::Format;
use crate::error::{Error, Result};
use crate::options::WriteOptions;
use crate::sink::Sink;
use crate::stage::{Stage, StagedTable};

/// Collects batches and writes them as one file.
///
/// Column files hold a column in one piece, so the file takes shape only in
/// [`Writer::finish`]; until then the rows wait in a [`Stage`], which can move
/// them out of memory.
#[derive(Debug)]
pub struct Writer {
    format: &'static dyn Format,
    schema: SchemaRef,
    stage: Stage,
    options: WriteOptions,
}

impl Writer {
    /// Starts a file with this schema, keeping rows in memory until the end.
    ///
    /// # Errors
    ///
    /// A schema that the format cannot hold, by column.
    pub fn create(
        format: &'static dyn Format,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        Self::create_staged(format, schema, options, Stage::in_memory())
    }

    /// Starts a file with this schema, keeping rows in `stage` until the end.
    pub fn create_staged(
        format: &'static dyn Format,
        schema: SchemaRef,
        options: WriteOptions,
        stage: Stage,
    ) -> Result<Self> {
        // An empty table of this schema is refused for the same reasons.
        format.encode(&RecordBatch::new_empty(schema.clone()), &mut Vec::new(), &options)?;
        Ok(Self { format, schema, stage, options })
    }

    /// Takes the next rows.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let given = batch.schema();
        let types = |schema: &SchemaRef| {
            schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>()
        };
        if types(&given) != types(&self.schema) {
            return Err(Error::invalid_argument("the batch has another schema than the file")
                .in_format(self.format.id()));
        }
        self.stage.push(batch.num_rows(), batch.columns().to_vec())
    }

    /// Writes the file.
    pub fn finish(self, sink: &mut dyn Sink) -> Result<()> {
        let Self { format, schema, stage, options } = self;
        format.encode(&StagedTable::new(schema, stage), sink, &options)
    }
}
