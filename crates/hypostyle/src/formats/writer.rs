//! Batches in, a file out: the push side of [`Format::encode`].

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use hypostyle_core::error::{Error, Result};
use hypostyle_core::format::Format;
use hypostyle_core::options::WriteOptions;
use hypostyle_core::sink::Sink;
use hypostyle_core::spill::{SpillBuffer, SpilledTable};

/// Collects batches and writes them as one file.
///
/// Column files hold a column in one piece, so the file takes shape only in
/// [`Writer::finish`]; until then the rows wait in a [`SpillBuffer`], which can move
/// them out of memory.
#[derive(Debug)]
pub struct Writer {
    format: &'static dyn Format,
    schema: SchemaRef,
    stage: SpillBuffer,
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
        Self::create_with_buffer(format, schema, options, SpillBuffer::in_memory())
    }

    /// Starts a file with this schema, keeping rows in `stage` until the end.
    pub fn create_with_buffer(
        format: &'static dyn Format,
        schema: SchemaRef,
        options: WriteOptions,
        stage: SpillBuffer,
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
        format.encode(&SpilledTable::new(schema, stage), sink, &options)
    }
}
