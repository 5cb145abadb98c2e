//! `hyp` with clusters of processes on this machine, as users run it.
//!
//! Tests with buckets need the program `s3s-fs`, whose path is in the variable
//! `HYPOSTYLE_S3_SERVER`; `cargo xtask test --all` installs it.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a failed test may panic")]

#[expect(dead_code, reason = "the bench has uses for more")]
#[path = "../../../hypostyle-bench/src/sql/queries.rs"]
mod bench_queries;
mod buckets;
mod docs;
mod faults;
mod packing;
mod processes;
mod queries;
mod security;
mod tables;
mod writing;
