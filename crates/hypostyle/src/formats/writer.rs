//! Collects batches and writes them as one file with [`Format::encode`].

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use hypostyle_core::error::{Error, Result};
use hypostyle_core::format::Format;
use hypostyle_core::options::WriteOptions;
use hypostyle_core::sink::Sink;
use hypostyle_core::spill::{SpillBuffer, SpilledTable};

/// Collects batches and writes them as one file.
///
/// A column file stores each column contiguously, so no byte can be written before all rows are
/// known. Until [`Writer::finish`] the rows are in a [`SpillBuffer`], which can move them to a
/// temporary file.
#[derive(Debug)]
pub struct Writer {
    format: &'static dyn Format,
    schema: SchemaRef,
    buffer: SpillBuffer,
    options: WriteOptions,
}

impl Writer {
    /// Starts a file with this schema, and buffers its rows in memory.
    ///
    /// # Errors
    ///
    /// Fails for a schema that the format cannot store, with the column.
    pub fn create(
        format: &'static dyn Format,
        schema: SchemaRef,
        options: WriteOptions,
    ) -> Result<Self> {
        Self::create_with_buffer(format, schema, options, SpillBuffer::in_memory())
    }

    /// Starts a file with this schema, and buffers its rows in `buffer`.
    ///
    /// # Errors
    ///
    /// As [`Writer::create`].
    pub fn create_with_buffer(
        format: &'static dyn Format,
        schema: SchemaRef,
        options: WriteOptions,
        buffer: SpillBuffer,
    ) -> Result<Self> {
        // An empty table shows whether the format accepts the schema.
        format.encode(&RecordBatch::new_empty(schema.clone()), &mut Vec::new(), &options)?;
        Ok(Self { format, schema, buffer, options })
    }

    /// Adds rows.
    ///
    /// # Errors
    ///
    /// Fails if the batch has other types than the file, or if the buffer cannot spill.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let types = |schema: &SchemaRef| {
            schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>()
        };
        if types(&batch.schema()) != types(&self.schema) {
            return Err(Error::invalid_argument("the batch has another schema than the file")
                .in_format(self.format.id()));
        }
        self.buffer.push(batch.num_rows(), batch.columns().to_vec())
    }

    /// Writes the file.
    ///
    /// # Errors
    ///
    /// As [`Format::encode`].
    pub fn finish(self, sink: &mut dyn Sink) -> Result<()> {
        let Self { format, schema, buffer, options } = self;
        format.encode(&SpilledTable::new(schema, buffer), sink, &options)
    }
}
