//! Integration tests: the laws of every format, sweeps, deviations, refusals and queries.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, outside `#[test]`"
)]

mod archives;
mod at1_append;
mod at1_arrays;
mod at1_bundle;
mod at1_columns;
mod at1_flips;
mod at1_genomes_and_maps;
mod at1_json;
mod at1_logs;
mod at1_objects;
mod at1_queries;
mod at1_tables;
mod at1_types;
mod cross;
mod determinism;
mod deviations;
mod deviations_clmn;
mod deviations_colf;
mod deviations_colm;
mod dictionaries;
mod fuzz_seeds;
mod hostile;
mod laws;
mod onpair_search;
mod predicates;
mod pruning;
mod refusals;
mod remote;
mod rows;
mod sources;
mod streaming;
mod sweeps;
