//! Reads column files whose blocks have any content.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::bent_columns(bytes));
