//! Writes a scan as a file.

use arrow_schema::SchemaRef;

use crate::writer::{Destination, Writer, WriterOptions};
use hypostyle_core::error::Result;
use hypostyle_core::format_id::FormatId;
use hypostyle_core::scan::Scan;

/// Rows of a batch: more than a scan's default, because every batch is a chunk that waits.
const BATCH_ROWS: usize = 64 << 10;

/// Writes the rows of a scan as a file, and returns their number.
///
/// Open text with [`OpenOptions::with_target`](crate::OpenOptions::with_target), so that its
/// columns get types that the target stores.
///
/// # Errors
///
/// Fails if the scan does, and for values that the target cannot store, see [`Writer`].
pub fn convert<'a>(
    scan: Scan,
    to: impl Into<Destination<'a>>,
    format: impl Into<FormatId>,
    options: &WriterOptions,
) -> Result<u64> {
    let mut batches = scan.batch_size(BATCH_ROWS).batches()?;
    let schema: SchemaRef = batches.schema();
    let mut writer = Writer::create(to, format, schema, options)?;
    while let Some(batch) = batches.next_batch()? {
        writer.write(&batch)?;
    }
    writer.finish()
}
