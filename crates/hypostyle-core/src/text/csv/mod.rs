//! CSV and TSV (RFC 4180, and the variants in common use).
//!
//! `blocks` cuts the input into blocks of whole rows and `split` finds the cells of each
//! block. `summary` and `cell_summary` infer the types of a whole text, `row_blocks` builds
//! arrays of them.
//! [`Writer`] writes batches back as text. `quote` holds the quoting rules that both
//! directions share.

pub(super) mod blocks;
mod cell_summary;
mod delimiter;
mod quote;
pub(super) mod row_blocks;
pub(super) mod split;
pub(super) mod summary;
pub(super) mod syntax;
#[cfg(test)]
mod tests;
mod write;

pub use delimiter::is_delimiter;
pub use quote::{cell_into, needs_quotes, quote_into, quoted_len, undouble_into, unquote};
pub use write::Writer;

pub use super::options::{Encoding, Ragged};
