//! Delimited text as typed columns: codec columnar (§7.6).
//!
//! `dialect` finds the delimiter and quoting, `split` cuts lines into fields, `interned`
//! numbers the distinct cells of each field, `plan` decides which fields share a column and
//! how each column is encoded, `column` encodes it, and `columnar` writes the streams.

pub(super) mod column;
pub(super) mod columnar;
pub(super) mod decimal;
pub(super) mod dialect;
pub(super) mod interned;
pub(super) mod plan;
pub(super) mod split;
