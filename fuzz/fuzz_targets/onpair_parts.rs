//! Validates, decodes and searches mostly valid buffers of an OnPair column.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hypostyle_testkit::fuzz::onpair_parts(bytes));
