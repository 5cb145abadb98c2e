//! Scans: some columns and rows of a table as Arrow batches, whatever the format.
//!
//! ```text
//! Table ── scan() ──► Scan ── batches() ──► Batches: RecordBatchReader + Send
//!                       └──── decoder() ──► ScanDecoder: the same without I/O
//! ```
//!
//! 1. [`Table`] is an open table. Its schema, row count and statistics come from metadata.
//! 2. [`Scan`] collects the request: columns, predicate, rows, limit, batch size, threads.
//! 3. `plan` resolves it against the schema, and prunes row groups by their statistics.
//! 4. [`ScanDecoder`] decodes one row group after the other: first the columns of the
//!    predicate, then the projected columns of the rows that match. It does no I/O of its
//!    own; if bytes are missing, it says which.
//! 5. [`Batches`] feeds decoders from a [`ByteSource`](crate::source::ByteSource), on as
//!    many threads as the scan asks for, and delivers batches in order.

mod batches;
mod coalesce_batches;
mod decoder;
mod deliveries;
mod filter;
mod open_table;
mod options;
mod partition;
mod plan;
mod projected_columns;
mod request;
mod shared_columns;
mod stats;
mod table;
mod take_rows;
#[cfg(test)]
mod tests;

pub use batches::Batches;
pub use decoder::{ScanDecoder, Step};
pub use options::ColumnRef;
pub use partition::Partition;
pub use request::Scan;
pub use stats::{DamagedRowGroup, ScanStats};
pub use table::Table;
