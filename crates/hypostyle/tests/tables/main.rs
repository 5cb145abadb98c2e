//! Tables of every kind through the one API: `open`, `scan`, `Writer` and `convert`.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside `#[test]`"
)]

#[cfg(feature = "arrow")]
mod arrow_files;
mod coercion;
mod files;
#[cfg(any(feature = "arrow", feature = "parquet"))]
mod hostile;
mod kinds;
#[cfg(feature = "parquet")]
mod parquet_files;
mod predicates;

use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use hypostyle::{FileKind, FormatId, OpenOptions, Result, Table, Writer, WriterOptions};

/// Returns the kinds in which tables can be written.
fn table_kinds() -> impl Iterator<Item = FileKind> {
    FileKind::all().filter(|kind| kind.holds_tables())
}

/// Writes a batch in two parts.
fn written(
    kind: impl Into<FormatId>,
    batch: &RecordBatch,
    options: &WriterOptions,
) -> Result<Vec<u8>> {
    let mut file = Vec::new();
    let mut writer = Writer::create(&mut file, kind, batch.schema(), options)?;
    let half = batch.num_rows() / 2;
    writer.write(&batch.slice(0, half))?;
    writer.write(&batch.slice(half, batch.num_rows() - half))?;
    assert_eq!(writer.finish()?, batch.num_rows() as u64);
    Ok(file)
}

/// Opens bytes as a file of this kind.
fn opened(kind: FileKind, file: Vec<u8>) -> Result<Table> {
    let name = format!("table.{}", kind.extensions()[0]);
    hypostyle::open_source(Arc::new(Bytes::from(file)), &OpenOptions::default().with_name(name))
}

/// Returns all rows of a table as one batch.
fn all_rows(table: &Table) -> Result<RecordBatch> {
    let mut batches = table.scan().batches()?;
    let mut all = Vec::new();
    while let Some(batch) = batches.next_batch()? {
        all.push(batch);
    }
    let schema = all.first().map_or_else(|| batches.schema(), RecordBatch::schema);
    Ok(arrow_select::concat::concat_batches(&schema, &all)?)
}
