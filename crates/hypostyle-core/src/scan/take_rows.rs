//! Puts single rows into the order in which the caller named them.

use arrow_array::{RecordBatch, UInt64Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;

use crate::concat::concat_batches;
use crate::error::Result;

/// Returns the rows `order` of a table, of which `batches` has those rows, ascending and
/// each once.
pub(super) fn in_order(
    schema: &SchemaRef,
    batches: &[RecordBatch],
    order: &[u64],
) -> Result<RecordBatch> {
    let schema = batches.first().map_or_else(|| schema.clone(), RecordBatch::schema);
    let rows = concat_batches(&schema, batches)?;
    let mut sorted = order.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let position = |row: &u64| sorted.partition_point(|known| known < row) as u64;
    let indices = UInt64Array::from_iter_values(order.iter().map(position));
    if rows.num_columns() == 0 {
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(order.len()));
        return Ok(RecordBatch::try_new_with_options(schema, Vec::new(), &options)?);
    }
    Ok(take_record_batch(&rows, &indices)?)
}
