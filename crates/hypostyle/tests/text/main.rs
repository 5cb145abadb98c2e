//! Tests CSV and JSON Lines through the public API: every table survives a round trip.
//!
//! [`support`] has an independent CSV parser, so that a defect of the reader cannot
//! cancel itself out. The few tests here that cross block boundaries use long cells; the
//! unit tests of the readers try every block size.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests are not covered by clippy.toml"
)]

mod coerce;
mod csv_blocks;
mod csv_errors;
mod csv_hostile;
mod csv_options;
mod csv_types;
mod csv_write;
mod jsonl_read;
mod jsonl_write;
mod law;
mod support;
mod vectors;
