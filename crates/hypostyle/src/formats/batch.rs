//! Decodes several columns of a file into one batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use hypostyle_core::error::Result;
use hypostyle_core::options::{ReadOptions, resolve_threads};
use hypostyle_core::parallel;

/// Reads of fewer bytes take longer on several threads than on one.
const MIN_PARALLEL_BYTES: u64 = 256 << 10;

/// Decodes columns in parallel and returns them in the order of `columns`.
///
/// `cost` is the approximate memory in bytes that the columns take. The caller has checked
/// that the schema has all of `columns`.
pub(super) fn read(
    schema: &SchemaRef,
    columns: &[usize],
    rows: usize,
    cost: u64,
    options: &ReadOptions,
    decode: impl Fn(usize) -> Result<ArrayRef> + Sync,
) -> Result<RecordBatch> {
    let threads = if cost < MIN_PARALLEL_BYTES { 1 } else { resolve_threads(options.threads) };
    let arrays = parallel::map(columns, threads, |&column| decode(column))?;
    let fields = columns.iter().map(|&column| schema.field(column).clone());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}
