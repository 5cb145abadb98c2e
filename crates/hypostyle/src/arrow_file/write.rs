//! Writes Arrow IPC files.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_ipc::writer::FileWriter;
use arrow_schema::SchemaRef;

use hypostyle_core::error::Result;

/// Writes batches as an IPC file.
pub(crate) struct ArrowWriter<W: Write> {
    inner: FileWriter<W>,
}

impl<W: Write> ArrowWriter<W> {
    pub(crate) fn try_new(out: W, schema: &SchemaRef) -> Result<Self> {
        Ok(Self { inner: FileWriter::try_new(out, schema)? })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        Ok(self.inner.write(batch)?)
    }

    pub(crate) fn finish(self) -> Result<W> {
        Ok(self.inner.into_inner()?)
    }
}
