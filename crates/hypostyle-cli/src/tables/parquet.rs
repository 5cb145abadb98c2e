//! Parquet, by the `parquet` crate.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::ChunkReader;

use super::pick::ROWS;
use super::{Batches, broken};
use crate::failure::Result;

/// Opens a Parquet file.
pub(crate) fn read(file: impl ChunkReader + 'static) -> Result<Batches> {
    let wrong = |err| broken("parquet", &err);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(wrong)?;
    let schema = builder.schema().clone();
    let reader = builder.with_batch_size(ROWS).build().map_err(wrong)?;
    let next = Box::new(reader.map(|batch| batch.map_err(|err| broken("parquet", &err))));
    Ok(Batches { schema, next })
}

/// Writes batches as Parquet with zstd.
pub(crate) struct ParquetWriter<W: Write + Send> {
    inner: parquet::arrow::ArrowWriter<W>,
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(crate) fn try_new(out: W, schema: SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let inner = parquet::arrow::ArrowWriter::try_new(out, schema, Some(properties))
            .map_err(|err| broken("parquet", &err))?;
        Ok(Self { inner })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch).map_err(|err| broken("parquet", &err))
    }

    pub(crate) fn finish(self) -> Result<()> {
        self.inner.close().map(|_| ()).map_err(|err| broken("parquet", &err))
    }
}
