//! Detects the format of bytes, opens and reads them.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::open_any(bytes));
