//! Generators, laws and sweeps shared by the tests and fuzzers of Hypostyle.
//!
//! - [`batches`]: proptest strategies for tables that a format supports.
//! - [`build`]: builders that write files byte by byte without the encoders, so that a test can
//!   make a file deviate from its spec in any way.
//! - [`conformance`]: generates the files under `conformance/`.
//! - [`content`]: the values of a table, compared bit for bit.
//! - [`fuzz`]: the bodies of the fuzz targets, as plain functions.
//! - [`gen_osm`], [`gen_vcf`]: generators for formats with an AT-1 codec of their own, based on
//!   [`rng`].
//! - [`laws`]: properties of every format; tests loop over `formats::ALL`.
//! - [`predicates`]: the predicates under `conformance/`, with the rows that they match in DuckDB.
//! - [`scans`]: scans in small windows, compared with reading everything at once.
//! - [`source`]: byte sources that record reads, delay them, lack bytes, or are mostly zeros.
//! - [`text_tables`]: the law that a packed text is the same table as the text.
//! - [`sweeps`]: checks of every prefix of a file and of mutations of every byte.
//! - `tpch`: the tables and queries of TPC-H, with the feature of this name.
//!
//! Functions here panic when a law is violated.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "tests panic when a law is violated")]

pub mod batches;
pub mod build;
pub mod conformance;
pub mod content;
pub mod fuzz;
pub mod gen_osm;
pub mod gen_vcf;
pub mod laws;
pub mod predicates;
pub mod rng;
pub mod scans;
pub mod source;
pub mod sweeps;
pub mod text_tables;
#[cfg(feature = "tpch")]
pub mod tpch;
