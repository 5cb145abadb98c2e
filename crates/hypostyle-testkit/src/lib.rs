//! Generators, laws and sweeps shared by the tests and fuzzers of Hypostyle.
//!
//! - [`batches`]: random tables that a format can hold.
//! - [`conformance`]: the cases under `conformance/`, and what makes them.
//! - [`variants`], [`maps`]: texts that codecs of their own are made for, by [`dice`].
//! - [`content`]: what a table holds, compared bit for bit.
//! - [`laws`]: what is true of every format; tests loop over `formats::ALL`.
//! - [`sweeps`]: a file with every end cut off, and with every byte changed.
//! - [`fuzz`]: the bodies of the fuzz targets, as plain functions.
//! - [`source`]: sources that keep a record, or that are mostly holes.
//! - [`build`]: files put together byte by byte, without the encoders, so that
//!   they may depart from the specs in any way.
//!
//! Everything here panics when a law is broken: that is what tests are for.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests panic when a law is broken")]

pub mod batches;
pub mod build;
pub mod conformance;
pub mod content;
pub mod dice;
pub mod fuzz;
pub mod laws;
pub mod maps;
pub mod source;
pub mod sweeps;
pub mod variants;
