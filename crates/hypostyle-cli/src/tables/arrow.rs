//! Arrow IPC files and streams, through the `arrow-ipc` crate.

use std::io::{BufReader, Read, Seek, Write};

use arrow_array::RecordBatch;
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{ArrowError, SchemaRef};

use super::{Batches, invalid};
use crate::failure::Result;

/// Opens an IPC file or an IPC stream.
pub(crate) fn read(mut file: impl Read + Seek + 'static) -> Result<Batches> {
    let failed = |err: ArrowError| invalid("arrow", &err);
    let mut magic = [0; 6];
    let is_file = file.read_exact(&mut magic).is_ok() && &magic == b"ARROW1";
    file.rewind()?;
    let file = BufReader::new(file);
    Ok(if is_file {
        let reader = FileReader::try_new(file, None).map_err(failed)?;
        Batches { schema: reader.schema(), next: Box::new(reader.map(move |b| b.map_err(failed))) }
    } else {
        let reader = StreamReader::try_new(file, None).map_err(failed)?;
        Batches { schema: reader.schema(), next: Box::new(reader.map(move |b| b.map_err(failed))) }
    })
}

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

    pub(crate) fn finish(mut self) -> Result<()> {
        Ok(self.inner.finish()?)
    }
}
