//! Reads a valid archive with a few changes behind true checksums.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::bent_archive(bytes));
