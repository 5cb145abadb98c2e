//! CSV and TSV (RFC 4180, and the variants in common use).
//!
//! [`import()`] reads a table in one pass: `blocks` cuts the input into blocks of whole
//! rows, `split` finds the cells of each block, worker threads infer types and build
//! arrays, and the arrays go to a [`SpillBuffer`](crate::spill::SpillBuffer).
//! [`Writer`] writes batches back as text. `quote` holds the quoting rules that both
//! directions share.

pub(super) mod blocks;
mod import;
pub(super) mod options;
mod quote;
pub(super) mod row_blocks;
pub(super) mod split;
pub(super) mod summary;
pub(super) mod syntax;
#[cfg(test)]
mod tests;
mod write;

pub use import::import;
pub use options::{CsvOptions, is_delimiter};
pub use quote::{cell_into, needs_quotes, quote_into, quoted_len, undouble_into, unquote};
pub use write::Writer;

pub use super::options::{Encoding, Ragged};
