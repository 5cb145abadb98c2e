//! Reads a mostly valid `.onpair` file with correct checksums.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::onpair_file(bytes));
