//! CSV and JSON Lines, from the outside: what goes in comes out, whatever it is.
//!
//! [`support`] holds a CSV parser of its own, so that a fault in ours cannot
//! hide itself. Blocks are four megabytes; the tests here that cross one are few
//! and made of long cells. The same edges are tried at every block size by the
//! unit tests of the importers.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests are not covered by clippy.toml"
)]

mod csv_blocks;
mod csv_errors;
mod csv_hostile;
mod csv_options;
mod csv_types;
mod csv_write;
mod fit;
mod jsonl_read;
mod jsonl_write;
mod law;
mod support;
mod vectors;
