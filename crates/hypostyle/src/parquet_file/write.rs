//! Writes Parquet files.

use std::io::Write;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema, SchemaRef};
use parquet::arrow::{ArrowSchemaConverter, ArrowWriter};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::guard::catch_panics;
use hypostyle_core::error::{Error, Refusal, Result};

/// Bytes of encoded rows after which a row group ends, so that memory is bounded.
const MAX_ROW_GROUP_BYTES: usize = 128 << 20;

/// Writes batches as Parquet, compressed with zstd.
pub(crate) struct ParquetWriter<W: Write + Send> {
    inner: ArrowWriter<W>,
}

/// Refuses a schema with types that Parquet does not have.
pub(crate) fn check_schema(schema: &Schema) -> Result<()> {
    for (index, field) in schema.fields().iter().enumerate() {
        let alone = Schema::new(vec![field.clone()]);
        let convert = || {
            let converted = ArrowSchemaConverter::new().convert(&alone);
            converted.map(drop).map_err(|err| Error::unsupported(err.to_string()))
        };
        if has_union(field.data_type()) || catch_panics("schema", convert).is_err() {
            let why = format!("columns of type {} are not supported", field.data_type());
            let err = Error::refused(Refusal::TypeNotSupported, why, "cast it to text first");
            return Err(err.in_column(index, field.name()));
        }
    }
    Ok(())
}

/// The `parquet` crate panics on unions.
fn has_union(data_type: &DataType) -> bool {
    match data_type {
        DataType::Union(_, _) => true,
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => has_union(item.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_union(field.data_type())),
        _ => false,
    }
}

impl<W: Write + Send> ParquetWriter<W> {
    pub(crate) fn try_new(out: W, schema: &SchemaRef) -> Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .build();
        let inner = ArrowWriter::try_new(out, schema.clone(), Some(properties)).map_err(failed)?;
        Ok(Self { inner })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        self.inner.write(batch).map_err(failed)?;
        if self.inner.in_progress_size() > MAX_ROW_GROUP_BYTES {
            self.inner.flush().map_err(failed)?;
        }
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<W> {
        self.inner.into_inner().map_err(failed)
    }
}

fn failed(err: ParquetError) -> Error {
    match err {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => Error::from(*cause),
            Err(cause) => Error::internal(cause.to_string()),
        },
        other => Error::internal(other.to_string()),
    }
}
