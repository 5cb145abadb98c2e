//! Bytes that may be any format: detect, open, read.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::open_any(bytes));
