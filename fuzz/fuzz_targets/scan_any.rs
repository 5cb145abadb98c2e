//! Opens bytes as a file of any kind, text, Parquet and Arrow too, and scans it in all ways.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::scan_any(bytes));
