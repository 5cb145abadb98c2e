//! Parquet files, through the `parquet` crate.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;

use super::scan::BATCH_ROWS;
use super::{Batches, invalid};
use crate::failure::Result;

/// Opens a Parquet file.
pub(crate) fn read(file: impl ChunkReader + 'static) -> Result<Batches> {
    let failed = |err| invalid("parquet", &err);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(failed)?;
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(failed)?;
    let next = Box::new(reader.map(|batch| batch.map_err(|err| invalid("parquet", &err))));
    Ok(Batches { schema, next })
}

/// Writes batches as Parquet, compressed with zstd.
pub(crate) struct ParquetWriter<W: Write + Send> {
    inner: parquet::arrow::ArrowWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(crate) fn try_new(out: W, schema: SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let inner = parquet::arrow::ArrowWriter::try_new(out, schema, Some(properties))
            .map_err(|err| invalid("parquet", &err))?;
        Ok(Self { inner })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch).map_err(|err| invalid("parquet", &err))
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.inner.close().map(|_| ()).map_err(|err| invalid("parquet", &err))
    }
}
