//! Encodes and decodes a table with every table format.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::roundtrip_all(bytes));
