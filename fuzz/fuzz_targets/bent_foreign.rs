//! Reads a Parquet or an Arrow file with a few changes.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::bent_foreign(bytes));
