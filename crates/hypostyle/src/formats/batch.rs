//! Some columns of a file as one batch.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use hypostyle_core::error::{Error, Result};
use hypostyle_core::options::{ReadOptions, resolve_threads};
use hypostyle_core::parallel;

/// Bytes below which another thread costs more than it saves.
const WORTH_A_THREAD: u64 = 256 << 10;

/// Decodes columns side by side, in the order in which they are asked for. `cost` is what
/// they take in bytes, roughly.
pub(super) fn read(
    schema: &SchemaRef,
    columns: &[usize],
    rows: usize,
    cost: u64,
    options: &ReadOptions,
    decode: impl Fn(usize) -> Result<ArrayRef> + Sync,
) -> Result<RecordBatch> {
    let threads = match cost {
        0..WORTH_A_THREAD => 1,
        _ => resolve_threads(options.threads),
    };
    let mut arrays = Vec::with_capacity(columns.len());
    let work = |index: usize| match columns.get(index) {
        Some(&column) => decode(column),
        None => Err(Error::invalid_argument("no such column")),
    };
    parallel::in_order(columns.len(), threads, work, |_, array| {
        arrays.push(array);
        Ok(())
    })?;
    let fields = columns.iter().map(|&column| schema.field(column).clone());
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, arrays, &options)?)
}
