//! Encodes delimited text as typed columns: codec columnar (§5).
//!
//! 1. `dialect` finds the delimiter, the quoting and the header.
//! 2. `split` splits the lines into fields, and `interned` numbers the distinct cells. `objects`
//!    finds the values of JSON Lines in the fields.
//! 3. `plan` decides which fields share a column and which encodings to try for it; `tuning`
//!    lists the xz tunings to try.
//! 4. `column` encodes a column as a chunk, with the numbers of `decimal`.
//! 5. `row_groups` cuts the chunks at row group borders; `far_repeats` warns it where cuts
//!    separate repeats, and `field_statistics` says what each row group has.
//! 6. `columnar` compresses the chunks and writes the streams.

pub(super) mod column;
pub(super) mod columnar;
pub(super) mod decimal;
pub(super) mod dialect;
pub(super) mod encoded_column;
pub(super) mod far_repeats;
pub(super) mod field_statistics;
pub(super) mod interned;
pub(super) mod objects;
pub(super) mod plan;
pub(super) mod row_groups;
pub(super) mod split;
pub(super) mod tuning;
