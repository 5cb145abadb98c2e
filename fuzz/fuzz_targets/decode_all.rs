//! Reads bytes as every format: each must return values or an error, within limits.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::decode_all(bytes));
